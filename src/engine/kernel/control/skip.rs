//! Skip: a step is left out, and what depends on it goes on, with a result in its place where one is given.

use crate::model::command::Command;

use super::super::spec::Refusal;
use super::super::state::{State, Task};
use super::super::{Kernel, Turn};
use super::conflict;
use super::retry::named;

impl Kernel {
    pub(super) fn check_skip(&self, command: &Command) -> Result<(), Refusal> {
        let (delegation, task) = self.target(command)?;
        self.check_not_stopping(delegation)?;
        self.check_may_reopen(delegation)?;
        match task {
            Some((_, task)) if task.is_met() => {
                Err(conflict(format!("{} is {} already.", task.spec.id, task.word().as_str())))
            }
            None if delegation.tasks.iter().all(Task::is_met) => {
                Err(conflict(format!("{} has no step left to skip.", delegation.id)))
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Turn<'_> {
    pub(super) fn carry_out_skip(
        &mut self,
        command: &Command,
        reason: Option<&String>,
        result: Option<&String>,
    ) {
        let id = &command.delegation_id;
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        let now: Vec<_> = named(delegation, command)
            .into_iter()
            .filter_map(|index| delegation.task(index))
            .filter(|task| !task.is_met() && !matches!(task.state, State::Live(_)))
            .map(|task| task.spec.id.clone())
            .collect();
        for subtask in now {
            self.skipped(id, subtask, reason.cloned(), command.by.clone(), result.cloned());
        }
        self.end_all(command);
        self.reopen(id, command.by.clone());
        for below in self.kernel.reach(command).delegations {
            self.touch(&below);
        }
    }
}
