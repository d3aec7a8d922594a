//! Accept: a result that failed, or is only partial, is taken as done.

use crate::model::command::{Command, Judges};
use crate::model::event::{Body, payload as p};
use crate::model::status::StatusWord;

use super::super::spec::Refusal;
use super::super::state::{State, Task};
use super::super::{Kernel, Turn};
use super::conflict;
use super::retry::named;

impl Kernel {
    pub(super) fn check_accept(&self, command: &Command) -> Result<(), Refusal> {
        let (delegation, task) = self.target(command)?;
        self.check_not_stopping(delegation)?;
        self.check_may_reopen(delegation)?;
        match task {
            Some((_, task)) if !may_accept(task) => Err(conflict(format!(
                "{} is {}: only what failed, timed out, is partial or is for review can be accepted.",
                task.spec.id,
                task.word().as_str()
            ))),
            None if !delegation.tasks.iter().any(may_accept) => {
                Err(conflict(format!("{} has no step that failed.", delegation.id)))
            }
            Some(_) | None => Ok(()),
        }
    }
}

fn may_accept(task: &Task) -> bool {
    matches!(
        task.state,
        State::Review
            | State::Ended { how: StatusWord::Failed | StatusWord::TimedOut | StatusWord::Partial, .. }
    )
}

impl Turn<'_> {
    pub(super) fn carry_out_accept(&mut self, command: &Command, _reason: Option<&String>) {
        let id = &command.delegation_id;
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        let done: Vec<p::SubtaskCompleted> = named(delegation, command)
            .into_iter()
            .filter_map(|index| delegation.task(index))
            .filter(|task| may_accept(task))
            .map(|task| p::SubtaskCompleted {
                delegation_id: id.clone(),
                subtask_id: task.spec.id.clone(),
                attempt: Some(task.attempt),
                // Whoever takes a verdict as done takes what it is about.
                approved: (task.spec.judges == Some(Judges::Approval)).then_some(true),
                ..Default::default()
            })
            .collect();
        for accepted in done {
            self.emit(Body::SubtaskCompleted(accepted));
        }
        self.reopen(id, command.by.clone());
    }
}
