//! Raise of a budget: what is named may spend more, and what stood still for it goes on.

use crate::model::budget::dollars;
use crate::model::command::{Command, Verb};
use crate::model::event::payload::Proof;
use crate::model::event::{Body, payload as p};
use crate::model::id::{CommandId, SessionId};

use super::super::budget::{Limit, RAISED, Spent};
use super::super::govern::check_person;
use super::super::spec::{Code, Refusal};
use super::super::state::Pending;
use super::super::{Kernel, Preview, Turn};
use super::conflict;
use super::raise::raise_proof;

/// What a raise did to a node.
const ALLOWED: &str = "budget raised";

/// Returns the budget that a raise asks for, where it is about one.
pub(in super::super) fn asked(verb: &Verb) -> Option<Limit> {
    let Verb::Raise { tokens, cost, .. } = verb else { return None };
    Some(Limit { tokens: *tokens, cost: *cost }).filter(|it| it.is_set())
}

impl Kernel {
    pub(super) fn check_allow(&self, command: &Command, asked: Limit) -> Result<(), Refusal> {
        if matches!(command.verb, Verb::Raise { deadline: Some(_), .. } | Verb::Raise { by_ms: Some(_), .. })
        {
            let reason = "A raise is of a deadline or of a budget.\nGive two commands.";
            return Err(Refusal::new(Code::Invalid, reason));
        }
        check_person(command)?;
        let (delegation, task) = self.target(command)?;
        self.check_not_stopping(delegation)?;
        let (name, over, word) = match task {
            None => (delegation.id.to_string(), delegation.is_ended(), delegation.status),
            Some((index, task)) => {
                // What it handed on may outlive it.
                let below = self.children_of(&delegation.id, index);
                let over = task.is_ended() && !below.iter().any(|id| self.is_open(id));
                (format!("{}/{}", delegation.id, task.spec.id), over, task.word())
            }
        };
        if over {
            return Err(conflict(format!("{name} is {}: it spends nothing more.", word.as_str())));
        }
        let (limit, spent) = self.limit_named(command);
        if asked.tokens.is_some() && limit.tokens.is_none() || asked.cost.is_some() && limit.cost.is_none() {
            let what = if asked.tokens.is_some() && limit.tokens.is_none() { "tokens" } else { "money" };
            let else_held = self.broke(delegation, task.map(|(index, _)| index));
            let help =
                else_held.map(|broke| format!("\n{}. {}", self.broke_words(&broke), self.broke_help(&broke)));
            let help = help.unwrap_or_else(|| "\nNothing holds it back there.".into());
            return Err(conflict(format!("{name} has no budget of {what} to raise.{help}")));
        }
        if asked.tokens.is_some_and(|asked| Some(asked) <= limit.tokens)
            || asked.cost.is_some_and(|asked| Some(asked) <= limit.cost)
        {
            let has = limit.words();
            return Err(conflict(format!("{name} may spend {has} already.\nA raise only gives more.")));
        }
        if spent.percent_of(asked) >= 100 {
            let used =
                asked.tokens.map_or_else(|| dollars(spent.cost), |_| format!("{} tokens", spent.tokens));
            return Err(conflict(format!("{name} has used {used} already.\nRaise it above that.")));
        }
        Ok(())
    }

    /// Returns the limit that a command names, and what is spent of it.
    fn limit_named(&self, command: &Command) -> (Limit, Spent) {
        match self.target(command) {
            Ok((delegation, None)) => (delegation.limit(), delegation.account.spent),
            Ok((delegation, Some((_, task)))) => (delegation.limit_of(task), task.account.spent),
            Err(_) => Default::default(),
        }
    }

    pub(in super::super) fn preview_allow(&self, command: &Command) -> Preview {
        let mut preview = Preview::default();
        match &command.subtask_id {
            None => drop(preview.delegations.insert(command.delegation_id.clone())),
            Some(step) => drop(preview.subtasks.insert((command.delegation_id.clone(), step.clone()))),
        }
        for (session, id, index) in self.reach(command).sessions {
            let task = self.task(&id, index);
            let is_still = |session: &super::super::state::Session| session.frozen && session.broke;
            if task.and_then(|task| task.session()).is_some_and(is_still) {
                preview.subtasks.extend(task.map(|task| (id, task.spec.id.clone())));
                preview.sessions.insert(session);
            }
        }
        preview
    }

    /// Notes for the command that raised a budget what it did, and who is to go on for it.
    pub(in super::super) fn note_raise(&mut self, data: &p::BudgetReached) {
        let Some(id) = data.command_id.as_ref().filter(|_| data.level.as_deref() == Some(RAISED)) else {
            return;
        };
        let Some(pending) = self.pending.get(id) else { return };
        let sessions = self.reach(&pending.command).sessions;
        let on = sessions.into_iter().filter(|(_, id, index)| {
            self.delegations.get(id).is_some_and(|delegation| self.goes_on(delegation, *index))
        });
        let on: Vec<SessionId> = on.map(|(session, ..)| session).collect();
        let Some(pending) = self.pending.get_mut(id) else { return };
        pending.waits.extend(on);
        pending.proofs.push(Proof {
            delegation_id: Some(data.delegation_id.clone()),
            subtask_id: data.subtask_id.clone(),
            did: Some(ALLOWED.into()),
            ..Proof::default()
        });
    }

    /// Lets no raise wait for a session that stands still for another reason since.
    pub(in super::super) fn release_raises(&mut self) {
        let raises = self.pending.iter().filter(|(_, pending)| asked(&pending.command.verb).is_some());
        let stuck: Vec<(CommandId, Vec<SessionId>)> = raises
            .map(|(id, pending)| {
                let stays = |session: &&SessionId| {
                    let place = self.locate(session);
                    !place.is_some_and(|(id, index)| {
                        self.delegations.get(&id).is_some_and(|delegation| self.goes_on(delegation, index))
                    })
                };
                (id.clone(), pending.waits.iter().filter(stays).cloned().collect())
            })
            .collect();
        for (id, sessions) in stuck {
            let Some(pending) = self.pending.get_mut(&id) else { continue };
            pending.waits.retain(|session| !sessions.contains(session));
        }
    }

    /// Returns the raise that waits for a session to go on.
    pub(in super::super) fn raise_for(&self, session: &SessionId) -> Option<CommandId> {
        let is_it =
            |pending: &Pending| asked(&pending.command.verb).is_some() && pending.waits.contains(session);
        self.pending.iter().find(|(_, pending)| is_it(pending)).map(|(id, _)| id.clone())
    }

    /// Returns how a raise is proven, of time or of a budget; `None` if nothing was raised.
    pub(super) fn proof_of_raise(&self, pending: &Pending) -> Option<String> {
        match asked(&pending.command.verb) {
            Some(_) => self.allow_proof(pending),
            None => raise_proof(&pending.proofs),
        }
    }

    fn allow_proof(&self, pending: &Pending) -> Option<String> {
        let did =
            |what: &str| pending.proofs.iter().filter(|proof| proof.did.as_deref() == Some(what)).count();
        if did(ALLOWED) == 0 {
            return None;
        }
        let (limit, spent) = self.limit_named(&pending.command);
        let limit = limit.words();
        let spent = format!("{} tokens and {} used", spent.tokens, dollars(spent.cost));
        let continued = did("continued");
        let on =
            if continued > 0 { format!(", {continued} of {continued} continued") } else { String::new() };
        let (delegation, task) = self.target(&pending.command).ok()?;
        let still = self.broke(delegation, task.map(|(index, _)| index));
        let still = still.map(|broke| format!("; {}", self.broke_words(&broke))).unwrap_or_default();
        Some(format!("budget now {limit}, {spent}{on}{still}"))
    }
}

impl Turn<'_> {
    pub(super) fn carry_out_allow(&mut self, command: &Command, asked: Limit) {
        let done = self.kernel.pending.get(&command.id).is_some_and(|pending| !pending.proofs.is_empty());
        if done || self.kernel.check_allow(command, asked).is_err() {
            return;
        }
        let (limit, spent) = self.kernel.limit_named(command);
        let limit = asked.or(limit);
        self.emit(Body::BudgetReached(p::BudgetReached {
            delegation_id: command.delegation_id.clone(),
            subtask_id: command.subtask_id.clone(),
            level: Some(RAISED.into()),
            budget: limit.budget(),
            tokens_used: Some(spent.tokens),
            cost: Some(spent.cost),
            reason: Some(format!("raised to {}", limit.words())),
            by: command.by.clone(),
            command_id: Some(command.id.clone()),
            ..Default::default()
        }));
    }
}
