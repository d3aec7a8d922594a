//! What accepting a command does to the state, how far it reaches, and what is remembered of it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::model::command::{Command, PauseMode, Verb};
use crate::model::event::payload as p;
use crate::model::id::{CommandId, DelegationId, SessionId};
use crate::model::time::Stamp;

use super::Kernel;
use super::control::asked;
use super::state::{CommandOutcome, Known, Pending, Stop, Task, digest};

/// So many commands are remembered for certain.
const KNOWN: usize = 10_000;
/// For so long a command is remembered for certain.
const REMEMBERED: Duration = Duration::from_hours(24);

/// Everything that a command is about.
#[derive(Debug, Clone, Default)]
pub(super) struct Reach {
    /// The delegation and all below it; of a step, all below it.
    pub delegations: Vec<DelegationId>,
    /// Every session among them.
    pub sessions: Vec<(SessionId, DelegationId, u32)>,
}

impl Kernel {
    pub(super) fn accepted(&mut self, data: &p::CommandAccepted, at: Stamp) {
        let kind = data.kind.clone().unwrap_or_default();
        let known = Known {
            kind,
            outcome: CommandOutcome::Accepted,
            delegation: data.delegation_id.clone(),
            subtask: data.subtask_id.clone(),
            digest: digest(data.options.as_ref()),
        };
        self.known.insert(data.command_id.clone(), known);
        self.order.push_back((at, data.command_id.clone()));
        let verb = data.options.clone().and_then(|options| serde_json::from_value::<Verb>(options).ok());
        let (Some(verb), Some(delegation_id)) = (verb, data.delegation_id.clone()) else { return };
        let command = Command {
            id: data.command_id.clone(),
            verb,
            delegation_id,
            subtask_id: data.subtask_id.clone(),
            by: data.by.clone(),
            at,
        };
        let waits = self.take_hold(&command);
        let trees = self.trees_of(&command);
        let pending = Pending { command, waits, proofs: Vec::new(), unstarted: 0, trees, undo: None };
        self.pending.insert(data.command_id.clone(), pending);
    }

    pub(super) fn confirmed(&mut self, data: &p::CommandConfirmed, at: Stamp) {
        let outcome = CommandOutcome::Confirmed { proof: data.proof.clone() };
        let kind = data.kind.clone().unwrap_or_default();
        let known = Known { kind, outcome, delegation: None, subtask: None, digest: None };
        self.concluded(&data.command_id, known, at);
    }

    pub(super) fn refused(&mut self, data: &p::CommandRefused, at: Stamp) {
        let known = Known {
            kind: data.kind.clone().unwrap_or_default(),
            outcome: CommandOutcome::Refused { code: data.code.clone(), reason: data.reason.clone() },
            delegation: data.delegation_id.clone(),
            subtask: data.subtask_id.clone(),
            digest: data.digest.clone(),
        };
        self.concluded(&data.command_id, known, at);
    }

    pub(super) fn hooked(&mut self, id: &str) {
        if self.hooked_ids.insert(id.to_owned()) {
            self.hooked.push_back(id.to_owned());
        }
        while self.hooked.len() > KNOWN
            && let Some(oldest) = self.hooked.pop_front()
        {
            self.hooked_ids.remove(&oldest);
        }
    }

    fn concluded(&mut self, id: &CommandId, concluded: Known, at: Stamp) {
        self.pending.remove(id);
        if let Some(known) = self.known.get_mut(id) {
            known.outcome = concluded.outcome;
        } else {
            self.known.insert(id.clone(), concluded);
            self.order.push_back((at, id.clone()));
        }
        while self.known.len() > KNOWN
            && let Some((oldest, id)) = self.order.front()
            && at.since(*oldest) > REMEMBERED
            && !self.pending.contains_key(id)
        {
            self.known.remove(id);
            self.order.pop_front();
        }
    }

    /// Does to the state what accepting a command means, and returns the sessions that it waits for.
    fn take_hold(&mut self, command: &Command) -> BTreeSet<SessionId> {
        let reach = self.reach(command);
        let by = command.by.clone();
        match &command.verb {
            Verb::Pause { mode, .. } => {
                self.set_hold(command, Some(*mode));
                self.release_raises();
            }
            Verb::Resume => {
                self.set_hold(command, None);
                self.release(&reach);
            }
            Verb::Cancel { reason, .. } => {
                let stop = Stop::Cancelled { reason: reason.clone(), by };
                self.stop_below(&reach.delegations, &stop);
                self.stop_sessions(&reach.sessions, &stop);
            }
            Verb::Skip { reason, result } => {
                let above =
                    Stop::Cancelled { reason: Some("the step above was skipped".into()), by: by.clone() };
                let is_own = |id: &DelegationId| *id == command.delegation_id;
                let (own, below): (Vec<_>, Vec<_>) =
                    reach.sessions.iter().cloned().partition(|(_, id, _)| is_own(id));
                let delegations: Vec<_> =
                    reach.delegations.iter().filter(|id| !is_own(id)).cloned().collect();
                self.stop_below(&delegations, &above);
                self.stop_sessions(&below, &above);
                let stop = Stop::Skipped { reason: reason.clone(), by, result: result.clone() };
                self.stop_sessions(&own, &stop);
            }
            Verb::Answer { question_id, .. } => {
                let asked = |task: &Task| task.session().is_some_and(|s| s.questions.contains(question_id));
                return self.one_session(command, asked);
            }
            Verb::Tell { .. } | Verb::SetModel { .. } | Verb::CancelAgent { .. } => {
                return self.one_session(command, |_| true);
            }
            // Who goes on for a raised budget is known when it is raised.
            Verb::Raise { .. } if asked(&command.verb).is_some() => return BTreeSet::new(),
            Verb::Raise { .. } => return self.timed_hosts(command),
            Verb::Start { .. }
            | Verb::Retry { .. }
            | Verb::Approve { .. }
            | Verb::Reject { .. }
            | Verb::Accept { .. }
            | Verb::Rollback { .. }
            | Verb::Report { .. }
            | Verb::Merge
            | Verb::Keep
            | Verb::Discard => return BTreeSet::new(),
        }
        for id in &reach.delegations {
            self.refresh_below(id);
        }
        self.refresh_below(&command.delegation_id);
        let resumes = matches!(command.verb, Verb::Resume);
        let waits = reach.sessions.into_iter();
        // Nobody's resume lets something go on whose budget is spent.
        let waits = waits.filter(|(_, id, index)| !(resumes && self.is_broke(id, *index)));
        waits.map(|(session, ..)| session).collect()
    }

    fn is_broke(&self, id: &DelegationId, index: u32) -> bool {
        self.delegations.get(id).is_some_and(|delegation| self.broke(delegation, Some(index)).is_some())
    }

    /// Returns everything that a command is about.
    pub(super) fn reach(&self, command: &Command) -> Reach {
        let mut reach = Reach::default();
        let id = &command.delegation_id;
        match &command.subtask_id {
            None => reach.delegations = self.tree(id),
            Some(subtask) => {
                let Some((id, index)) = self.place(id, subtask) else { return reach };
                if let Some(session) = self.task(&id, index).and_then(Task::session) {
                    reach.sessions.push((session.id.clone(), id.clone(), index));
                }
                for child in self.children_of(&id, index) {
                    reach.delegations.extend(self.tree(&child));
                }
            }
        }
        for delegation in reach.delegations.iter().filter_map(|id| self.delegations.get(id)) {
            for index in &delegation.tally.live {
                if let Some(session) = delegation.task(*index).and_then(Task::session) {
                    reach.sessions.push((session.id.clone(), delegation.id.clone(), *index));
                }
            }
        }
        reach
    }

    /// Returns whether a step is among what a command is about.
    pub(super) fn is_within(&self, id: &DelegationId, index: u32, command: &Command) -> bool {
        let (mut id, mut index) = (id.clone(), index);
        loop {
            let Some(delegation) = self.delegations.get(&id) else { return false };
            if id == command.delegation_id {
                match &command.subtask_id {
                    None => return true,
                    Some(subtask) => {
                        if delegation.task(index).is_some_and(|task| task.spec.id == *subtask) {
                            return true;
                        }
                    }
                }
            }
            let Some(parent) = &delegation.parent else { return false };
            (id, index) = (parent.delegation.clone(), parent.index);
        }
    }

    /// Returns whether all that `inner` is about is among what `outer` is about.
    pub(super) fn covers(&self, outer: &Command, inner: &Command) -> bool {
        match &inner.subtask_id {
            Some(subtask) => self
                .place(&inner.delegation_id, subtask)
                .is_some_and(|(id, index)| self.is_within(&id, index, outer)),
            None => {
                outer.subtask_id.is_none() && outer.delegation_id == inner.delegation_id
                    || self
                        .delegations
                        .get(&inner.delegation_id)
                        .and_then(|delegation| delegation.parent.as_ref())
                        .is_some_and(|parent| self.is_within(&parent.delegation, parent.index, outer))
            }
        }
    }

    fn set_hold(&mut self, command: &Command, hold: Option<PauseMode>) {
        match &command.subtask_id {
            None => {
                if let Some(delegation) = self.delegations.get_mut(&command.delegation_id) {
                    delegation.hold = hold;
                }
            }
            Some(subtask) => {
                let Some((id, index)) = self.place(&command.delegation_id, subtask) else { return };
                if let Some(task) = self.task_mut(&id, index) {
                    task.hold = hold;
                }
                self.refresh(&id, index);
            }
        }
    }

    /// Takes away every hold.
    fn release(&mut self, reach: &Reach) {
        for id in &reach.delegations {
            let Some(delegation) = self.delegations.get_mut(id) else { continue };
            delegation.hold = None;
            if delegation.tally.held == 0 {
                continue;
            }
            let mut held = Vec::new();
            for (task, index) in delegation.tasks.iter_mut().zip(0u32..) {
                if task.hold.take().is_some() {
                    held.push(index);
                }
            }
            for index in held {
                self.refresh(id, index);
            }
        }
    }

    fn stop_below(&mut self, delegations: &[DelegationId], stop: &Stop) {
        for id in delegations {
            if let Some(delegation) = self.delegations.get_mut(id)
                && !delegation.is_ended()
            {
                delegation.cancel = Some(stop.clone());
            }
        }
    }

    fn stop_sessions(&mut self, sessions: &[(SessionId, DelegationId, u32)], stop: &Stop) {
        for (_, id, index) in sessions {
            if let Some(session) = self.task_mut(id, *index).and_then(Task::session_mut) {
                session.stop = Some(stop.clone());
            }
        }
    }

    fn one_session(&self, command: &Command, is_it: impl Fn(&Task) -> bool) -> BTreeSet<SessionId> {
        let found = self
            .reach(command)
            .sessions
            .into_iter()
            .find(|(_, id, index)| self.task(id, *index).is_some_and(&is_it));
        found.into_iter().map(|(session, ..)| session).collect()
    }
}
