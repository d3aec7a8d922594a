//! What a command would touch, before it is given.

use std::collections::BTreeSet;

use crate::model::command::{Command, Verb};
use crate::model::id::{DelegationId, SessionId, SubtaskId};

use super::Kernel;
use super::control::asked;
use super::spec::Refusal;

/// Every node and session that a command would touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preview {
    pub delegations: BTreeSet<DelegationId>,
    pub subtasks: BTreeSet<(DelegationId, SubtaskId)>,
    pub sessions: BTreeSet<SessionId>,
    /// Steps that can no longer run, because they depend on what would end.
    pub stranded: BTreeSet<(DelegationId, SubtaskId)>,
}

impl Kernel {
    /// Returns what a command would touch now, or why it would be refused.
    pub fn preview(&self, command: &Command) -> Result<Preview, Refusal> {
        self.check(command)?;
        let mut preview = Preview::default();
        if let Verb::Start { spec } = &command.verb {
            preview.delegations.insert(command.delegation_id.clone());
            let steps = spec.subtasks.iter().map(|step| (command.delegation_id.clone(), step.id.clone()));
            preview.subtasks.extend(steps);
            return Ok(preview);
        }
        if matches!(command.verb, Verb::Approve { .. }) {
            preview.delegations.insert(command.delegation_id.clone());
            let steps = self.approved_steps(command).into_iter();
            preview.subtasks.extend(steps.map(|step| (command.delegation_id.clone(), step)));
            return Ok(preview);
        }
        if let (Verb::Rollback { .. }, Some(steps)) = (&command.verb, self.undone_by(command)) {
            preview.delegations.insert(command.delegation_id.clone());
            preview.subtasks.extend(steps);
            return Ok(preview);
        }
        if asked(&command.verb).is_some() {
            return Ok(self.preview_allow(command));
        }
        if matches!(command.verb, Verb::Raise { .. }) {
            return Ok(self.preview_raise(command));
        }
        let descends = matches!(
            command.verb,
            Verb::Pause { .. } | Verb::Resume | Verb::Cancel { .. } | Verb::Skip { .. }
        );
        if let Some(subtask) = &command.subtask_id {
            preview.subtasks.insert((command.delegation_id.clone(), subtask.clone()));
        }
        let reach = self.reach(command);
        for id in &reach.delegations {
            let Some(delegation) = self.delegations.get(id) else { continue };
            if !descends && *id != command.delegation_id {
                continue;
            }
            if !delegation.is_ended() || *id == command.delegation_id {
                preview.delegations.insert(id.clone());
            }
            let ended_too = !descends;
            let tasks = delegation.tasks.iter().filter(|task| ended_too || !task.is_ended());
            preview.subtasks.extend(tasks.map(|task| (id.clone(), task.spec.id.clone())));
        }
        if descends
            || matches!(
                command.verb,
                Verb::Tell { .. } | Verb::SetModel { .. } | Verb::Answer { .. } | Verb::CancelAgent { .. }
            )
        {
            preview.sessions.extend(reach.sessions.into_iter().map(|(session, ..)| session));
        }
        if let (Verb::Cancel { .. }, Some(step)) = (&command.verb, &command.subtask_id) {
            let after = self.open_after(&command.delegation_id, step);
            preview.stranded = after.map(|step| (command.delegation_id.clone(), step)).collect();
        }
        Ok(preview)
    }

    /// Returns the steps that have not ended and wait, at whatever distance, for one.
    fn open_after(&self, id: &DelegationId, step: &SubtaskId) -> impl Iterator<Item = SubtaskId> {
        let tasks =
            self.delegations.get(id).map(|delegation| delegation.tasks.as_slice()).unwrap_or_default();
        let index_of = |task: &super::state::Task| task.dependants.clone();
        let mut waiting: Vec<u32> =
            tasks.iter().find(|task| task.spec.id == *step).map(index_of).unwrap_or_default();
        let mut found = BTreeSet::new();
        while let Some(index) = waiting.pop() {
            let Some(task) = usize::try_from(index).ok().and_then(|at| tasks.get(at)) else { continue };
            if !task.is_ended() && found.insert(index) {
                waiting.extend(&task.dependants);
            }
        }
        let ids = found.into_iter().filter_map(|index| tasks.get(usize::try_from(index).ok()?));
        ids.map(|task| task.spec.id.clone()).collect::<Vec<_>>().into_iter()
    }
}
