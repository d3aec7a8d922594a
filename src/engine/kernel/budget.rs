//! Budgets: what was spent, each message once, and which limit that reached.
//!
//! A usage counts for its step, for the delegation, and for every step and delegation above: what is handed on is paid
//! for by who hands it on. All of it is folded from the journal, so an engine that reads the same output again after a
//! crash charges nothing twice: the message is known by its id.

mod keep;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use crate::model::budget::Limit;
use crate::model::budget::counted;
use crate::model::event::{Body, payload as p};
use crate::model::fact::UsageReport;
use crate::model::id::{DelegationId, SubtaskId};
use crate::model::time::Stamp;
use crate::model::usage::{Tokens, Usd};

use super::Kernel;
use super::state::{Delegation, Task};

/// A day, in milliseconds. Days begin at midnight UTC: the journal knows no other zone.
pub(super) const DAY_MS: i64 = 86_400_000;

/// What was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spent {
    /// As budgets count them.
    pub tokens: u64,
    /// As far as there is a price.
    pub cost: Usd,
    /// How many messages have no price.
    pub unpriced: u64,
}

/// Whose limit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Of the step or the delegation itself.
    Own,
    /// Of all delegations on one day.
    Day,
    /// Of all delegations that there ever were.
    Overall,
}

/// What was told of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// A figure that nobody set is passed.
    Noted,
    /// Some of what was spent has no price, and money is limited.
    Unpriced,
    /// It is near.
    Warned,
    /// It is reached: nothing goes on.
    Reached,
}

/// The level of a limit that was raised by a command.
pub(super) const RAISED: &str = "raised";
/// The level of a limit that holds no more: another day, or another setting.
pub(super) const RENEWED: &str = "renewed";

impl Stage {
    /// Returns its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Noted => "noted",
            Self::Unpriced => "unpriced",
            Self::Warned => "warned",
            Self::Reached => "reached",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Noted, Self::Unpriced, Self::Warned, Self::Reached]
            .into_iter()
            .find(|one| one.as_str() == name)
    }
}

impl Scope {
    pub(super) fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Own => None,
            Self::Day => Some("day"),
            Self::Overall => Some("overall"),
        }
    }

    fn named(name: Option<&str>) -> Self {
        [Self::Day, Self::Overall].into_iter().find(|one| one.as_str() == name).unwrap_or(Self::Own)
    }
}

/// What a step or a delegation spent with all below it, and what was told of that.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Account {
    #[serde(skip_serializing_if = "is_default")]
    pub spent: Spent,
    /// Since when it spends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Stamp>,
    /// What a person raised its limits to.
    #[serde(skip_serializing_if = "is_default")]
    pub raised: Limit,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub told: BTreeSet<(Scope, Stage)>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What all delegations spent on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Day {
    /// Counted from 1970.
    pub number: i64,
    pub spent: Spent,
    pub since: Option<Stamp>,
}

/// One message that was charged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    tokens: Tokens,
    /// What the agent's tool says that it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    told: Option<Usd>,
    /// What it costs by a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    computed: Option<Usd>,
}

impl Charge {
    fn new(tokens: Tokens, cost: Option<Usd>, by_table: bool) -> Self {
        Self { tokens, told: cost.filter(|_| !by_table), computed: cost.filter(|_| by_table) }
    }

    /// Takes in what is said of the same message now: of each the larger is right.
    fn and(&self, fresh: &Self) -> Self {
        Self {
            tokens: self.tokens.max(&fresh.tokens),
            told: self.told.max(fresh.told),
            computed: self.computed.max(fresh.computed),
        }
    }

    /// Returns what it cost; what a tool says itself goes before what was computed.
    fn cost(&self) -> Option<Usd> {
        self.told.or(self.computed)
    }
}

/// A budget that is spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broke {
    pub delegation: DelegationId,
    pub subtask: Option<SubtaskId>,
    pub scope: Scope,
}

impl Account {
    pub(super) fn is_default(&self) -> bool {
        is_default(self)
    }

    /// Returns whether anything was charged to it.
    pub(super) fn has_spent(&self) -> bool {
        self.spent != Spent::default()
    }

    /// Returns which of its limits is reached.
    pub(super) fn reached(&self) -> Option<Scope> {
        let mut scopes = [Scope::Own, Scope::Day, Scope::Overall].into_iter();
        scopes.find(|scope| self.told.contains(&(*scope, Stage::Reached)))
    }
}

impl Delegation {
    /// Returns what it may spend with all below it.
    pub fn limit(&self) -> Limit {
        self.account.raised.or(self.limits.budget())
    }

    /// Returns what one of its steps may spend.
    pub fn limit_of(&self, task: &Task) -> Limit {
        task.account.raised.or(self.limits.step_budget())
    }
}

/// What a message adds to what is known of it.
#[derive(Clone, Copy)]
struct More {
    tokens: u64,
    cost: i64,
    unpriced: i64,
}

impl Spent {
    /// Returns how many hundredths of a limit it is.
    pub fn percent_of(&self, limit: Limit) -> u64 {
        limit.percent(self.tokens, self.cost)
    }

    fn add(&mut self, more: More) {
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.cost = Usd(self.cost.0.saturating_add(more.cost));
        self.unpriced = self.unpriced.saturating_add_signed(more.unpriced);
    }
}

impl Kernel {
    pub(super) fn charge_step(&mut self, data: &p::SubtaskUsage, at: Stamp) {
        let Some(place) = self.place(&data.delegation_id, &data.subtask_id) else { return };
        let id = UsageReport::id_of(data.message_id.as_deref(), data.request_id.as_deref());
        let fresh = Charge::new(data.usage.unwrap_or_default(), data.cost, data.price_date.is_some());
        self.charge(place, id.as_deref(), &fresh, at);
    }

    pub(super) fn charge_agent(&mut self, data: &p::AgentUsage, at: Stamp) {
        let Some(place) = self.locate(&data.session_id) else { return };
        let id = UsageReport::id_of(data.message_id.as_deref(), data.request_id.as_deref());
        let fresh = Charge::new(data.usage.unwrap_or_default(), data.cost, data.price_date.is_some());
        self.charge(place, id.as_deref(), &fresh, at);
    }

    /// Charges what a message used more than was charged for it already. One without an id is known by its event.
    fn charge(&mut self, (id, index): (DelegationId, u32), message: Option<&str>, fresh: &Charge, at: Stamp) {
        let own = self.seq.0.to_string();
        let Some(delegation) = self.delegations.get_mut(&id) else { return };
        let message = message.unwrap_or(&own);
        let known = delegation.charges.get(message).cloned();
        let whole = known.as_ref().map_or_else(|| fresh.clone(), |known| known.and(fresh));
        if known.as_ref() == Some(&whole) {
            return;
        }
        let costs = |charge: &Charge| charge.cost().map_or(0, |cost| cost.0.max(0));
        let lacks = |charge: &Charge| i64::from(charge.cost().is_none());
        let before = known.as_ref().map_or((0, 0, 0), |one| (counted(&one.tokens), costs(one), lacks(one)));
        let more = More {
            tokens: counted(&whole.tokens).saturating_sub(before.0),
            cost: costs(&whole).saturating_sub(before.1),
            unpriced: lacks(&whole) - before.2,
        };
        delegation.charges.insert(message.to_owned(), whole);
        self.add_to_all(id, index, more, at);
    }

    /// Adds to everybody who pays for it, from a step to the top.
    fn add_to_all(&mut self, id: DelegationId, index: u32, more: More, at: Stamp) {
        self.overall.add(more);
        let number = at.millis().div_euclid(DAY_MS);
        if self.day.number != number {
            self.day = Day { number, ..Day::default() };
        }
        self.day.spent.add(more);
        self.day.since.get_or_insert(at);
        let mut place = Some((id, index));
        while let Some((id, index)) = place {
            let Some(delegation) = self.delegations.get_mut(&id) else { return };
            let started = delegation.started;
            delegation.account.spent.add(more);
            delegation.account.since.get_or_insert(started);
            if let Some(task) = delegation.task_mut(index) {
                task.account.spent.add(more);
                task.account.since.get_or_insert(started);
                if task.account.has_spent() {
                    delegation.tally.spenders.insert(index);
                }
            }
            place = delegation.parent.as_ref().map(|above| (above.delegation.clone(), above.index));
            self.brief.unweighed.insert(id);
        }
    }

    /// Takes in what was told of a limit.
    pub(super) fn budget_told(&mut self, data: &p::BudgetReached) {
        let index = data.subtask_id.as_ref().map(|step| self.place(&data.delegation_id, step).map(|at| at.1));
        let Some(delegation) = self.delegations.get_mut(&data.delegation_id) else { return };
        let account = match index {
            None => &mut delegation.account,
            Some(index) => match index.and_then(|index| delegation.task_mut(index)) {
                Some(task) => &mut task.account,
                None => return,
            },
        };
        let scope = Scope::named(data.scope.as_deref());
        let level = data.level.as_deref().unwrap_or_default();
        if let Some(stage) = Stage::named(level) {
            account.told.insert((scope, stage));
            if stage == Stage::Reached {
                account.told.insert((scope, Stage::Warned));
            }
        } else if level == RAISED || level == RENEWED {
            account.told.retain(|(of, stage)| *of != scope || *stage == Stage::Unpriced);
            if let Some(budget) = data.budget.as_ref().filter(|_| level == RAISED) {
                account.raised = Limit::from(budget).or(account.raised);
            }
        } else {
            return;
        }
        if let Some(index) = index.flatten() {
            let id = data.delegation_id.clone();
            self.refresh(&id, index);
            for child in self.children_of(&id, index) {
                self.refresh_below(&child);
            }
        }
        self.refresh_below(&data.delegation_id);
        self.note_raise(data);
        self.release_raises();
    }

    /// Returns the spent budget that holds a delegation, or one of its steps, back: its own, or one above it.
    pub(super) fn broke(&self, delegation: &Delegation, index: Option<u32>) -> Option<Broke> {
        let (mut at, mut index) = (delegation, index);
        loop {
            let task = index.and_then(|index| at.task(index));
            if let Some((task, scope)) = task.and_then(|task| Some((task, task.account.reached()?))) {
                let subtask = Some(task.spec.id.clone());
                return Some(Broke { delegation: at.id.clone(), subtask, scope });
            }
            if let Some(scope) = at.account.reached() {
                return Some(Broke { delegation: at.id.clone(), subtask: None, scope });
            }
            let parent = at.parent.as_ref()?;
            (at, index) = (self.delegations.get(&parent.delegation)?, Some(parent.index));
        }
    }

    /// Returns what is limited, and what was spent of it.
    pub(super) fn measured(&self, broke: &Broke) -> (Limit, Spent) {
        let Some(delegation) = self.delegations.get(&broke.delegation) else { return Default::default() };
        let task = broke.subtask.as_ref().and_then(|step| delegation.task(delegation.index_of(step)?));
        match (broke.scope, task) {
            (Scope::Own, Some(task)) => (delegation.limit_of(task), task.account.spent),
            (Scope::Own, None) => (delegation.limit(), delegation.account.spent),
            (Scope::Day, _) => (self.governing.per_day, self.day.spent),
            (Scope::Overall, _) => (self.governing.overall, self.overall),
        }
    }

    /// Remembers which budgets must be looked at, since something happened that they depend on.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other event says anything about a budget")]
    pub(super) fn unweigh(&mut self, body: &Body) {
        match body {
            Body::Started(data) => self.unweigh_around(&data.delegation_id.clone()),
            Body::SessionStarted(data) => {
                if let Some((id, _)) = self.locate(&data.session_id) {
                    self.unweigh_around(&id);
                }
            }
            Body::SessionEnded(p::SessionEnded { delegation_id: Some(id), .. })
            | Body::SessionLost(p::SessionEnded { delegation_id: Some(id), .. })
            | Body::CommandAccepted(p::CommandAccepted { delegation_id: Some(id), .. }) => {
                self.unweigh_around(id);
            }
            Body::SubtaskPaused(data) | Body::SubtaskResumed(data) => {
                self.unweigh_around(&data.delegation_id);
            }
            Body::Paused(data) | Body::Resumed(data) => self.unweigh_around(&data.delegation_id),
            Body::BudgetReached(data) => self.unweigh_around(&data.delegation_id),
            Body::SettingsChanged(_) => self.unweigh_all(),
            _ => {}
        }
    }

    /// Everything above and below.
    fn unweigh_around(&mut self, id: &DelegationId) {
        let mut above = self.delegations.get(id);
        while let Some(parent) = above.and_then(|delegation| delegation.parent.as_ref()) {
            self.brief.unweighed.insert(parent.delegation.clone());
            above = self.delegations.get(&parent.delegation);
        }
        let below = self.tree(id);
        self.brief.unweighed.extend(below);
    }

    pub(super) fn unweigh_all(&mut self) {
        let live = self.delegations.values().filter(|delegation| !delegation.is_ended());
        let ids: Vec<DelegationId> = live.map(|delegation| delegation.id.clone()).collect();
        self.brief.unweighed.extend(ids);
    }
}
