//! Rollback: what steps changed in the project's own files is undone, once they are over. The driver does it and tells
//! what came of it; a cancel that asks for it is confirmed after that, and a delegation that fails may ask by its limits.

use crate::model::command::{Command, Verb};
use crate::model::event::payload::Proof;
use crate::model::event::{Body, payload as p};
use crate::model::id::{CommandId, DelegationId, SubtaskId};
use crate::model::rollback::Rollback;

use super::super::effect::Effect;
use super::super::spec::Refusal;
use super::super::state::{Delegation, Owed, Undo};
use super::super::{Kernel, Turn};
use super::conflict;

/// So many of each kind are in a receipt; the event has more.
const IN_RECEIPT: usize = 100;

impl Kernel {
    pub(super) fn check_rollback(&self, command: &Command) -> Result<(), Refusal> {
        let (delegation, task) = self.target(command)?;
        let is_open_below = self.reach(command).delegations.iter().any(|id| self.is_open(id));
        let (name, is_open, word) = match task {
            None => (delegation.id.to_string(), is_open_below, delegation.status),
            Some((_, task)) => {
                let name = format!("{}/{}", delegation.id, task.spec.id);
                (name, is_open_below || !task.is_ended(), task.word())
            }
        };
        if is_open {
            return Err(conflict(format!(
                "{name} is {}.\nWait until it has ended, or cancel it with rollback.",
                word.as_str()
            )));
        }
        if self.steps_below(command).is_empty() {
            return Err(conflict(format!("Nothing of {name} has begun, so there is nothing to undo.")));
        }
        Ok(())
    }

    /// Returns the steps that a command wants undone; `None` for one that wants nothing undone.
    pub fn undone_by(&self, command: &Command) -> Option<Vec<(DelegationId, SubtaskId)>> {
        matches!(command.verb, Verb::Rollback { .. } | Verb::Cancel { rollback: true, .. })
            .then(|| self.steps_below(command))
    }

    /// Returns every step that a command is about and that has begun, with those below.
    fn steps_below(&self, command: &Command) -> Vec<(DelegationId, SubtaskId)> {
        let mut found = Vec::new();
        if let Some(step) = &command.subtask_id {
            found.push((command.delegation_id.clone(), step.clone()));
        }
        for delegation in self.reach(command).delegations.iter().filter_map(|id| self.delegations.get(id)) {
            found.extend(delegation.tasks.iter().map(|task| (delegation.id.clone(), task.spec.id.clone())));
        }
        let has_begun = |(id, step): &(DelegationId, SubtaskId)| {
            let task = self.place(id, step).and_then(|(id, index)| self.task(&id, index));
            task.is_some_and(|task| task.attempt > 0)
        };
        found.retain(has_begun);
        found
    }

    /// Returns whether somebody who cancels a delegation wants it undone.
    pub(in super::super) fn is_rolled_back(&self, id: &DelegationId) -> bool {
        let commands = self.pending.values().map(|pending| &pending.command);
        let mut wanting =
            commands.filter(|command| matches!(command.verb, Verb::Cancel { rollback: true, .. }));
        wanting.any(|command| self.reach(command).delegations.contains(id))
    }

    /// A delegation that failed may want to be undone.
    pub(in super::super) fn owe_rollback(&mut self, id: &DelegationId) {
        if let Some(delegation) = self.delegations.get_mut(id) {
            // What a nested one changed its parent may still need, and it works around it.
            let is_owed = delegation.limits.rollback_on_failure && delegation.parent.is_none();
            delegation.owed = is_owed.then_some(Owed::Rollback);
        }
    }

    pub(in super::super) fn rolled_back(&mut self, data: &p::RolledBack) {
        let rollback = data.rollback.as_deref().cloned().unwrap_or_default();
        self.undo_told(&data.delegation_id, data.command_id.as_ref(), Undo::Done { proof: rollback.says() });
        let Some(pending) = data.command_id.as_ref().and_then(|id| self.pending.get_mut(id)) else { return };
        let of = |did: String| Proof {
            delegation_id: Some(data.delegation_id.clone()),
            did: Some(did),
            ..Proof::default()
        };
        let back = rollback.restored.iter().map(|one| format!("{} {}", one.note, one.name));
        let left = rollback.left.iter().map(|one| format!("left alone {}: {}", one.name, one.note));
        let cannot = rollback.cannot.iter().map(|one| format!("not undone {}: {}", one.name, one.note));
        let all = back.take(IN_RECEIPT).chain(left.take(IN_RECEIPT)).chain(cannot.take(IN_RECEIPT));
        pending.proofs.extend(all.map(of));
    }

    pub(in super::super) fn rollback_failed(&mut self, data: &p::RollbackFailed) {
        let why = data.reason.clone().unwrap_or_default();
        self.undo_told(&data.delegation_id, data.command_id.as_ref(), Undo::Failed { why });
    }

    fn undo_told(&mut self, id: &DelegationId, command: Option<&CommandId>, undo: Undo) {
        let Some(command) = command else {
            if let Some(delegation) = self.delegations.get_mut(id) {
                delegation.owed = None;
            }
            return;
        };
        if let Some(pending) = self.pending.get_mut(command) {
            pending.undo = Some(undo);
        }
    }
}

impl Turn<'_> {
    /// Orders what a command wants undone, once in the life of an engine; returns what came of it, if that is known.
    pub(super) fn undo(&mut self, command: &Command) -> Option<Undo> {
        let pending = self.kernel.pending.get(&command.id)?;
        if let Some(undo) = &pending.undo {
            return Some(undo.clone());
        }
        if self.kernel.brief.undoing.insert(command.id.clone()) {
            let (delegation, id) = (command.delegation_id.clone(), command.id.clone());
            let steps = self.kernel.steps_below(command);
            let key = id.to_string();
            self.effects.push(Effect::Undo { delegation, command: Some(id), key, steps });
        }
        None
    }

    /// Returns how a rollback is proven; `None` while it is under way, or where it is refused with what stood in the way.
    pub(super) fn rollback_proof(&mut self, command: &Command) -> Option<String> {
        match self.undo(command)? {
            Undo::Done { proof } => Some(proof),
            Undo::Failed { why } => {
                self.refuse(command, conflict(format!("Nothing was rolled back: {why}.")));
                None
            }
        }
    }

    /// Undoes what a failed delegation changed, if it wants that.
    pub(in super::super) fn undo_failed(&mut self, id: &DelegationId) {
        let owes =
            |delegation: &&Delegation| delegation.owed == Some(Owed::Rollback) && delegation.is_ended();
        let Some(delegation) = self.kernel.delegations.get(id).filter(owes) else { return };
        let key = format!("failed-{id}-{}", delegation.epoch);
        let begun = delegation.tasks.iter().filter(|task| task.attempt > 0);
        let mut steps: Vec<_> = begun.map(|task| (id.clone(), task.spec.id.clone())).collect();
        for below in self.kernel.tree(id).iter().skip(1).filter_map(|id| self.kernel.delegations.get(id)) {
            let begun = below.tasks.iter().filter(|task| task.attempt > 0);
            steps.extend(begun.map(|task| (below.id.clone(), task.spec.id.clone())));
        }
        self.effects.push(Effect::Undo { delegation: id.clone(), command: None, key, steps });
    }

    /// The driver undid what was asked for, or could not.
    pub(in super::super) fn undone(
        &mut self,
        delegation_id: DelegationId,
        command: Option<CommandId>,
        came: Result<Box<Rollback>, String>,
    ) {
        let pending = command.as_ref().and_then(|id| self.kernel.pending.get(id));
        let by = pending.and_then(|pending| pending.command.by.clone());
        let reason = match pending.map(|pending| &pending.command.verb) {
            Some(Verb::Rollback { reason } | Verb::Cancel { reason, .. }) => reason.clone(),
            Some(_) => None,
            None => Some("it failed".to_owned()),
        };
        let id = delegation_id.clone();
        self.emit(match came {
            Ok(rollback) => Body::RolledBack(p::RolledBack {
                delegation_id,
                reason,
                subtasks: Some(rollback.own.clone()),
                rollback: Some(rollback),
                by,
                command_id: command,
                ..Default::default()
            }),
            Err(why) => Body::RollbackFailed(p::RollbackFailed {
                delegation_id,
                reason: Some(why),
                command_id: command,
                ..Default::default()
            }),
        });
        self.touch(&id);
    }
}
