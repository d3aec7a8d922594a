//! Budgets kept: limits that are near are told, and what is above one does not go on.
//!
//! What should stand still is compared with what does, after everything that a budget depends on. So it is the same
//! whether an engine saw the limit being reached, or finds it so in its journal.

use std::time::Duration;

use crate::model::budget::{BUDGET, WARN_AT, dollars, nanos};
use crate::model::command::PauseMode;
use crate::model::event::{Body, payload as p};
use crate::model::id::{CommandId, DelegationId, SessionId, SubtaskId};
use crate::model::status::StatusWord;
use crate::model::time::Stamp;

use super::super::effect::{Effect, Order, TimerKey};
use super::super::state::{Delegation, Phase, Task};
use super::super::{Kernel, Turn};
use super::{Account, Broke, DAY_MS, Limit, RENEWED, Scope, Spent, Stage};

/// One limit, with what was spent of it and what was told of that.
struct Weighed<'a> {
    id: &'a DelegationId,
    subtask: Option<&'a SubtaskId>,
    scope: Scope,
    limit: Limit,
    spent: Spent,
    since: Option<Stamp>,
    account: &'a Account,
    /// A built-in figure, where nobody set a limit: it holds up nothing.
    figure: Option<u64>,
}

impl Turn<'_> {
    /// Looks at every budget that something happened to.
    pub(in super::super) fn keep_budgets(&mut self) {
        if self.kernel.governing.limits_all() && !self.kernel.brief.unweighed.is_empty() {
            // What one spends, all have less.
            self.kernel.unweigh_all();
        }
        while let Some(id) = self.kernel.brief.unweighed.pop_first() {
            let Some(delegation) = self.kernel.delegations.get(&id) else { continue };
            if delegation.is_ended() || delegation.proposal.is_some() {
                continue;
            }
            self.weigh(&id);
            self.hold_sessions(&id);
            self.tell_rest(&id);
        }
    }

    /// Tells what is new of a delegation's limits, and of its steps'.
    fn weigh(&mut self, id: &DelegationId) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        let told = self.kernel.limits_of(delegation, self.tick.at);
        let told: Vec<p::BudgetReached> = told.iter().flat_map(|limit| limit.news(self.tick.at)).collect();
        for news in told {
            self.emit(Body::BudgetReached(news));
        }
        let is_out =
            |delegation: &Delegation| delegation.account.told.contains(&(Scope::Day, Stage::Reached));
        if self.kernel.delegations.get(id).is_some_and(is_out) {
            self.wait_for_tomorrow();
        }
    }

    /// A new day has a new budget.
    fn wait_for_tomorrow(&mut self) {
        let now = self.tick.at.millis();
        let left = DAY_MS - now.rem_euclid(DAY_MS);
        let at_ms = self.due(u64::try_from(left).unwrap_or(0));
        self.effects.push(Effect::SetTimer { key: TimerKey::Day, at_ms, epoch: 0 });
    }

    /// Orders every session of a delegation to stand still or to go on, where it does not.
    fn hold_sessions(&mut self, id: &DelegationId) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        if self.kernel.is_stopping(delegation) {
            return;
        }
        let mut orders: Vec<(SessionId, Order)> = Vec::new();
        for index in &delegation.tally.live {
            let Some(session) = delegation.task(*index).and_then(Task::session) else { continue };
            let is_ours = session.phase == Phase::Started && session.stop.is_none();
            if !is_ours || self.kernel.brief.budget_orders.contains_key(&session.id) {
                continue;
            }
            if self.kernel.goes_on(delegation, *index) {
                orders.push((session.id.clone(), Order::Continue));
            } else if !session.frozen && self.kernel.broke(delegation, Some(*index)).is_some() {
                orders.push((session.id.clone(), Order::Freeze));
            }
        }
        for (session, order) in orders {
            let own = || CommandId::from(format!("budget-{session}-{}", self.kernel.seq));
            let raise = self.kernel.raise_for(&session).filter(|_| order == Order::Continue);
            let id = raise.unwrap_or_else(own);
            self.kernel.brief.budget_orders.insert(session.clone(), id.clone());
            self.effects.push(Effect::Order { session, id, order });
        }
    }

    /// Tells that a delegation stands still, when the last of its agents does; and that it goes on.
    fn tell_rest(&mut self, id: &DelegationId) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        if self.kernel.is_stopping(delegation) {
            return;
        }
        let is_broke = self.kernel.broke(delegation, None).is_some();
        if is_broke && delegation.status == StatusWord::Running && self.kernel.is_still(id) {
            let remaining_ms = self.left_of_delegation(id);
            self.emit(Body::Paused(p::Turn {
                delegation_id: id.clone(),
                reason: Some(BUDGET.into()),
                remaining_ms,
                ..Default::default()
            }));
        } else if !is_broke
            && delegation.status == StatusWord::Paused
            && delegation.broke
            && !self.kernel.is_frozen(delegation, None)
            // A drain lets only what runs go on.
            && (self.kernel.holder(delegation).is_none() || !self.kernel.is_still(id))
        {
            self.resume_delegation(id, None);
        }
    }
}

impl Kernel {
    /// Returns every limit that is told with a delegation.
    fn limits_of<'a>(&'a self, delegation: &'a Delegation, now: Stamp) -> Vec<Weighed<'a>> {
        let figures = &self.governing.settings.limits;
        let figure = |bound: crate::decide::settings::Bound| Some(bound.value).filter(|_| !bound.acts);
        let own = Weighed {
            id: &delegation.id,
            subtask: None,
            scope: Scope::Own,
            limit: delegation.limit(),
            spent: delegation.account.spent,
            since: delegation.account.since,
            account: &delegation.account,
            figure: figure(figures.max_total_tokens),
        };
        let mut all = Vec::new();
        if delegation.parent.is_none() {
            let today = now.millis().div_euclid(DAY_MS) == self.day.number;
            let day = if today { self.day.spent } else { Spent::default() };
            let of_all =
                |scope, limit, spent, since| Weighed { scope, limit, spent, since, figure: None, ..own };
            all.push(of_all(Scope::Day, self.governing.per_day, day, self.day.since));
            all.push(of_all(Scope::Overall, self.governing.overall, self.overall, None));
        }
        // Also one that is tried again later, and one that is over while what it handed on is not.
        let spenders = delegation.tally.spenders.iter().filter_map(|index| delegation.task(*index));
        all.extend(spenders.map(|task| Weighed {
            id: &delegation.id,
            subtask: Some(&task.spec.id),
            scope: Scope::Own,
            limit: delegation.limit_of(task),
            spent: task.account.spent,
            since: task.account.since,
            account: &task.account,
            figure: figure(figures.token_budget_per_child),
        }));
        all.push(own);
        all
    }

    /// Returns whether no session of a delegation, or below it, runs.
    fn is_still(&self, id: &DelegationId) -> bool {
        let delegations = self.tree(id).into_iter().filter_map(|id| self.delegations.get(&id));
        let mut live = delegations.flat_map(|one| one.tally.live.iter().filter_map(|index| one.task(*index)));
        live.all(|task| task.session().is_some_and(|session| session.frozen))
    }

    /// Returns whether somebody's pause keeps a session from running.
    fn is_frozen(&self, delegation: &Delegation, index: Option<u32>) -> bool {
        let (mut at, mut index) = (delegation, index);
        loop {
            let hold = index.and_then(|index| at.task(index)?.hold);
            if [hold, at.hold].contains(&Some(PauseMode::Freeze)) {
                return true;
            }
            let Some(parent) = &at.parent else { return false };
            let Some(above) = self.delegations.get(&parent.delegation) else { return false };
            (at, index) = (above, Some(parent.index));
        }
    }

    /// Returns whether a session stands still only for a budget that is not spent any more.
    pub(in super::super) fn goes_on(&self, delegation: &Delegation, index: u32) -> bool {
        let session = delegation.task(index).and_then(Task::session);
        session.is_some_and(|session| session.frozen && session.broke && session.stop.is_none())
            && self.broke(delegation, Some(index)).is_none()
            && !self.is_frozen(delegation, Some(index))
            && !self.is_stopping(delegation)
    }

    /// Returns whether something waits for a new day.
    pub(in super::super) fn waits_for_tomorrow(&self) -> bool {
        let live = self.delegations.values().filter(|delegation| !delegation.is_ended());
        live.into_iter().any(|delegation| delegation.account.told.contains(&(Scope::Day, Stage::Reached)))
    }

    /// Says which budget is spent, and what helps.
    pub(in super::super) fn broke_words(&self, broke: &Broke) -> String {
        let (limit, spent) = self.measured(broke);
        let Broke { delegation, subtask, scope } = broke;
        let spent = spent_words(limit, &spent);
        match (scope, subtask) {
            (Scope::Own, None) => format!("the budget of {delegation} is spent: {spent}"),
            (Scope::Own, Some(step)) => format!("the budget of {delegation}/{step} is spent: {spent}"),
            (Scope::Day, _) => format!("today's budget of all delegations is spent: {spent}"),
            (Scope::Overall, _) => format!("the budget of all delegations is spent: {spent}"),
        }
    }

    /// Says what lets it go on.
    pub(in super::super) fn broke_help(&self, broke: &Broke) -> String {
        let (limit, _) = self.measured(broke);
        let what = if limit.tokens.is_some() { "tokens" } else { "cost" };
        let Broke { delegation, subtask, scope } = broke;
        let step = subtask.as_ref().map(|step| format!("/{step}")).unwrap_or_default();
        match scope {
            Scope::Own => format!("Raise it (quarterdeck raise {delegation}{step} --{what} …) or cancel it."),
            Scope::Day => format!("Raise limits.max-{what}-per-day, wait until midnight UTC, or cancel it."),
            Scope::Overall => format!("Raise limits.max-{what}-overall, or cancel it."),
        }
    }

    /// Returns what is gone of the budgets of a step and of its delegation, where they are limited.
    pub fn budget_of(&self, id: &DelegationId, subtask: &SubtaskId) -> Option<String> {
        let delegation = self.delegations.get(id)?;
        let index = delegation.index_of(subtask)?;
        let task = delegation.task(index)?;
        if task.is_ended() || self.broke(delegation, Some(index)).is_some() {
            return None;
        }
        let own = (delegation.limit_of(task), task.account.spent, "");
        let whole = (delegation.limit(), delegation.account.spent, " of its delegation");
        let limits = [own, whole].into_iter().filter(|(limit, ..)| limit.is_set());
        let told: Vec<String> = limits
            .map(|(limit, spent, of)| {
                format!("{}{of} used{}", spent_words(limit, &spent), unpriced(limit, &spent))
            })
            .collect();
        Some(told.join(", ")).filter(|told| !told.is_empty())
    }
}

impl Weighed<'_> {
    /// Returns what is to be told of it now.
    fn news(&self, now: Stamp) -> Vec<p::BudgetReached> {
        let was = |stage| self.account.told.contains(&(self.scope, stage));
        let percent = self.spent.percent_of(self.limit);
        let mut news = Vec::new();
        if was(Stage::Reached) && percent < 100 && self.scope != Scope::Own {
            news.push(self.told(RENEWED, "there is room again".into()));
        } else if percent >= 100 && !was(Stage::Reached) {
            let reason = spent_words(self.limit, &self.spent);
            news.push(self.told(Stage::Reached.as_str(), format!("{reason} used")));
        } else if percent >= WARN_AT && !was(Stage::Warned) {
            news.push(self.warning(percent, now));
        }
        if self.limit.cost.is_some() && self.spent.unpriced > 0 && !was(Stage::Unpriced) {
            news.push(self.told(Stage::Unpriced.as_str(), no_price(self.limit)));
        }
        let figure = self.figure.filter(|figure| !self.limit.is_set() && self.spent.tokens >= *figure);
        if let Some(figure) = figure.filter(|_| !was(Stage::Noted)) {
            let used = self.spent.tokens;
            let reason = format!("{used} tokens used; {figure} is a built-in figure, and holds up nothing");
            news.push(self.told(Stage::Noted.as_str(), reason));
        }
        news
    }

    fn warning(&self, percent: u64, now: Stamp) -> p::BudgetReached {
        let forecast = self.forecast(now);
        let limit = self.limit.words();
        let pace = forecast.map(|at| format!("; at this pace all of it by {at}")).unwrap_or_default();
        let told = self.told(Stage::Warned.as_str(), format!("{percent} % of {limit} used{pace}"));
        p::BudgetReached { forecast, ..told }
    }

    /// Returns when it is spent, if it goes on as it went so far.
    fn forecast(&self, now: Stamp) -> Option<Stamp> {
        let took = now.since(self.since?).as_millis();
        let left = |spent: u64, limit: u64| {
            let left = u128::from(limit.checked_sub(spent)?).checked_mul(took)?;
            left.checked_div(u128::from(spent)).filter(|left| *left > 0)
        };
        let tokens = self.limit.tokens.and_then(|limit| left(self.spent.tokens, limit));
        let cost = self.limit.cost.and_then(|limit| left(nanos(self.spent.cost), nanos(limit)));
        let first = tokens.into_iter().chain(cost).min()?;
        Some(now.plus(Duration::from_millis(u64::try_from(first).ok()?)))
    }

    fn told(&self, level: &str, reason: String) -> p::BudgetReached {
        p::BudgetReached {
            delegation_id: self.id.clone(),
            subtask_id: self.subtask.cloned(),
            level: Some(level.into()),
            scope: self.scope.as_str().map(str::to_owned),
            budget: self.limit.budget(),
            tokens_used: Some(self.spent.tokens),
            cost: Some(self.spent.cost),
            unpriced: Some(self.spent.unpriced).filter(|count| *count > 0),
            reason: Some(reason),
            ..Default::default()
        }
    }
}

/// Says what was spent of a limit, by each part that it has.
fn spent_words(limit: Limit, spent: &Spent) -> String {
    let tokens = limit.tokens.map(|most| format!("{} of {most} tokens", spent.tokens));
    let cost = limit.cost.map(|most| format!("{} of {}", dollars(spent.cost), dollars(most)));
    tokens.into_iter().chain(cost).collect::<Vec<_>>().join(", ")
}

/// Says that money is limited and not all of it is known, and what holds then.
fn no_price(limit: Limit) -> String {
    let holds = if limit.tokens.is_some() { "the limit of tokens" } else { "no budget but time" };
    format!(
        "some of its messages have no price: money counts only where one is known, and {holds} holds the rest"
    )
}

fn unpriced(limit: Limit, spent: &Spent) -> String {
    match spent.unpriced {
        0 => String::new(),
        _ if limit.cost.is_none() => String::new(),
        1 => " (1 message has no price)".into(),
        count => format!(" ({count} messages have no price)"),
    }
}
