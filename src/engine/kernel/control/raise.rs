//! Raise: a deadline moves.

use crate::model::command::Command;
use crate::model::event::{Body, payload as p};
use crate::model::id::CommandId;
use crate::model::status::StatusWord;
use crate::model::time::Stamp;

use super::super::spec::{Code, Refusal};
use super::super::state::{Clock, Phase, Task};
use super::super::{Kernel, Turn};
use super::conflict;
use super::pause::turn;

impl Kernel {
    pub(super) fn check_raise(&self, command: &Command, deadline: Option<Stamp>) -> Result<(), Refusal> {
        let (delegation, task) = self.target(command)?;
        if deadline.is_none() {
            let reason = "This engine keeps no budgets yet.\nGive a deadline.";
            return Err(Refusal::new(Code::Unsupported, reason));
        }
        self.check_not_stopping(delegation)?;
        let (name, runs, word) = match task {
            None => (delegation.id.as_str(), !delegation.is_ended(), delegation.status),
            Some((_, task)) => {
                let session = task.session().filter(|session| session.stop.is_none());
                let runs = session.is_some_and(|session| session.phase == Phase::Started);
                (task.spec.id.as_str(), runs, task.word())
            }
        };
        if runs { Ok(()) } else { Err(conflict(format!("{name} is {}: it has no deadline.", word.as_str()))) }
    }
}

impl Turn<'_> {
    pub(super) fn carry_out_raise(&mut self, command: &Command, deadline: Option<Stamp>) {
        let Some(deadline) = deadline else { return };
        let left = u64::try_from(deadline.since(self.tick.at).as_millis()).unwrap_or(u64::MAX);
        let id = &command.delegation_id;
        let Some(subtask) = &command.subtask_id else {
            self.raise_delegation(command, left);
            return;
        };
        let Some((_, index)) = self.kernel.place(id, subtask) else { return };
        let Some(session) = self.kernel.task(id, index).and_then(Task::session) else { return };
        let (frozen, stands) = (session.frozen, session.frozen || !session.questions.is_empty());
        let session = session.id.clone();
        let Some(at) = self.locate(&session) else { return };
        let clock = if stands {
            Clock { deadline: None, remaining_ms: Some(left) }
        } else {
            Clock { deadline: Some(self.later(left)), remaining_ms: None }
        };
        let turn = turn(&at, None, Vec::new(), clock);
        self.emit(if frozen { Body::SubtaskPaused(turn) } else { Body::SubtaskResumed(turn) });
        self.kernel.brief.expired.remove(&session);
        if !stands {
            self.deadline_order(&session, CommandId::from(format!("{}-deadline", command.id)), Some(left));
            self.run_clock(id, index, Some(left));
        }
    }

    fn raise_delegation(&mut self, command: &Command, left: u64) {
        let id = &command.delegation_id;
        let paused =
            self.kernel.delegations.get(id).is_some_and(|delegation| delegation.status == StatusWord::Paused);
        if paused {
            self.emit(Body::Paused(p::Turn {
                delegation_id: id.clone(),
                by: command.by.clone(),
                remaining_ms: Some(left),
                ..Default::default()
            }));
        } else {
            self.resume_delegation(id, command.by.clone(), Some(left));
        }
    }
}
