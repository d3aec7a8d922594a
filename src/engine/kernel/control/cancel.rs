//! Cancel: everything below ends, and is confirmed when no process of it is left.

use crate::model::command::{Command, Verb};
use crate::model::event::{Body, payload as p};
use crate::model::id::DelegationId;

use super::super::effect::{Effect, Order};
use super::super::spec::Refusal;
use super::super::state::{State, Undo};
use super::super::{Kernel, Turn};
use super::{KNOWS_ORPHANS, conflict, ended, processes};

impl Kernel {
    pub(super) fn check_cancel(&self, command: &Command) -> Result<(), Refusal> {
        let (delegation, task) = self.target(command)?;
        let reach = self.reach(command);
        let open_below = reach.delegations.iter().any(|id| self.is_open(id));
        let (name, open, word) = match task {
            None => (delegation.id.as_str(), open_below, delegation.status),
            Some((_, task)) => (task.spec.id.as_str(), open_below || !task.is_ended(), task.word()),
        };
        if open { Ok(()) } else { Err(conflict(format!("{name} is {} already.", word.as_str()))) }
    }
}

impl Turn<'_> {
    /// Returns how a cancel is proven; `None` while something of it is open, or what it wants undone is not.
    pub(super) fn cancel_proof(&mut self, command: &Command) -> Option<String> {
        // Delegations end in their own time: with the last of what is below them.
        if self.kernel.reach(command).delegations.iter().any(|id| self.kernel.is_open(id)) {
            return None;
        }
        let wants_undo = matches!(command.verb, Verb::Cancel { rollback: true, .. });
        let undo = if wants_undo { Some(self.undo(command)?) } else { None };
        let pending = self.kernel.pending.get(&command.id)?;
        let count = processes(&pending.proofs);
        let ended = ended(count, KNOWS_ORPHANS);
        let ended = match pending.unstarted {
            0 => ended,
            1 => format!("{ended}, 1 step had not begun"),
            steps => format!("{ended}, {steps} steps had not begun"),
        };
        Some(match undo {
            None => ended,
            Some(Undo::Done { proof }) => format!("{ended}; {proof}"),
            Some(Undo::Failed { why }) => format!("{ended}; nothing was rolled back: {why}"),
        })
    }

    pub(super) fn carry_out_cancel(&mut self, command: &Command) {
        if let Some(subtask) = &command.subtask_id {
            self.cancel_waiting(command, &command.delegation_id, subtask.clone());
        }
        self.end_all(command);
        for id in self.kernel.reach(command).delegations {
            self.touch(&id);
        }
    }

    fn cancel_waiting(
        &mut self,
        command: &Command,
        id: &DelegationId,
        subtask_id: crate::model::id::SubtaskId,
    ) {
        let Verb::Cancel { reason, .. } = &command.verb else { return };
        let Some((_, index)) = self.kernel.place(id, &subtask_id) else { return };
        let waits = |state: &State| matches!(state, State::Queued | State::Backoff { .. } | State::Review);
        if self.kernel.task(id, index).is_some_and(|task| waits(&task.state)) {
            self.emit(Body::SubtaskCancelled(p::SubtaskTurn {
                delegation_id: id.clone(),
                subtask_id,
                reason: reason.clone(),
                by: command.by.clone(),
                ..Default::default()
            }));
        }
    }

    /// Orders every session that a command still waits for to end.
    pub(super) fn end_all(&mut self, command: &Command) {
        let Some(pending) = self.kernel.pending.get(&command.id) else { return };
        let sessions: Vec<_> = pending.waits.iter().cloned().collect();
        for session in sessions {
            let Some(at) = self.locate(&session) else { continue };
            let delegation = self.kernel.delegations.get(&at.delegation);
            let grace_ms = delegation.map_or(0, |delegation| delegation.limits.grace_ms);
            let (id, order) = (command.id.clone(), Order::End { grace_ms });
            self.effects.push(Effect::Order { session, id, order });
        }
    }
}
