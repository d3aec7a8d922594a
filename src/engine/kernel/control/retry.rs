//! Retry: a new attempt of what ended badly, with a fresh clock and a fresh count.
//!
//! It does not descend: a new attempt hands its work down anew. What was cut off when its delegation ended
//! comes back with it.

use crate::model::command::{Command, Verb};
use crate::model::event::{Body, payload as p};
use crate::model::id::DelegationId;
use crate::model::status::StatusWord;

use super::super::spec::Refusal;
use super::super::state::{Delegation, State, Task};
use super::super::{Kernel, Turn};
use super::conflict;

impl Kernel {
    pub(super) fn check_retry(&self, command: &Command) -> Result<(), Refusal> {
        let (delegation, task) = self.target(command)?;
        self.check_not_stopping(delegation)?;
        self.check_may_reopen(delegation)?;
        match task {
            Some((_, task)) if !may_retry(task, true) => Err(conflict(format!(
                "{} is {}: only what failed, was cancelled, is partial or is for review can be retried.",
                task.spec.id,
                task.word().as_str()
            ))),
            None if !delegation.tasks.iter().any(|task| may_retry(task, false)) => {
                Err(conflict(format!("{} has no step that failed or was cancelled.", delegation.id)))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Returns whether a step can be tried again.
fn may_retry(task: &Task, by_name: bool) -> bool {
    if task.state == State::Review {
        return true;
    }
    let State::Ended { how, .. } = &task.state else { return false };
    matches!(how, StatusWord::Failed | StatusWord::TimedOut | StatusWord::Cancelled)
        || by_name && *how == StatusWord::Partial
}

/// Returns the steps that a command names.
pub(super) fn named(delegation: &Delegation, command: &Command) -> Vec<u32> {
    match &command.subtask_id {
        Some(subtask) => delegation.index_of(subtask).into_iter().collect(),
        None => (0..u32::try_from(delegation.tasks.len()).unwrap_or(u32::MAX)).collect(),
    }
}

impl Turn<'_> {
    pub(super) fn carry_out_retry(&mut self, command: &Command) {
        let Verb::Retry { with_failure, agent, model, fresh } = &command.verb else { return };
        let Some(delegation) = self.kernel.delegations.get(&command.delegation_id) else { return };
        let by_name = command.subtask_id.is_some();
        let again = named(delegation, command).into_iter();
        let again: Vec<(u32, bool)> = again
            .filter_map(|index| Some((index, delegation.task(index)?)))
            .filter(|(_, task)| may_retry(task, by_name))
            .map(|(index, task)| (index, matches!(task.state, State::Ended { cut: true, .. })))
            .collect();
        for (index, cut) in again {
            let Some(task) = self.kernel.task(&command.delegation_id, index) else { continue };
            let retried = p::SubtaskRetried {
                delegation_id: command.delegation_id.clone(),
                subtask_id: task.spec.id.clone(),
                attempt: Some(task.new_attempt()),
                agent_id: agent.clone().filter(|_| !cut || by_name),
                model: model.clone().filter(|_| !cut || by_name),
                reason: command.by.as_ref().map(|by| format!("asked for by {by}")),
                cause: Some("person".into()),
                with_failure: with_failure.then_some(true),
                fresh: fresh.then_some(true),
                ..Default::default()
            };
            self.emit(Body::SubtaskRetried(retried));
            // What the attempt before handed down is not waited for any more.
            for child in self.kernel.children_of(&command.delegation_id, index) {
                self.touch(&child);
            }
        }
        self.reopen(&command.delegation_id, command.by.clone());
    }

    /// Wakes a delegation that ended, and what was cut off with it.
    pub(super) fn reopen(&mut self, id: &DelegationId, by: Option<String>) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        if delegation.is_ended() {
            let timeout = delegation.limits.timeout_ms;
            self.run_delegation(p::Turn { delegation_id: id.clone(), by, ..Default::default() }, timeout);
        }
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        if delegation.tally.open as usize == delegation.tasks.len() {
            return;
        }
        let cut = delegation.tasks.iter().filter(|task| matches!(task.state, State::Ended { cut: true, .. }));
        let cut: Vec<p::SubtaskRetried> = cut
            .map(|task| p::SubtaskRetried {
                delegation_id: id.clone(),
                subtask_id: task.spec.id.clone(),
                attempt: Some(task.new_attempt()),
                reason: Some("its delegation goes on".into()),
                cause: Some("revived".into()),
                ..Default::default()
            })
            .collect();
        for retried in cut {
            self.emit(Body::SubtaskRetried(retried));
        }
    }
}
