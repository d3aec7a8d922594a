//! Merge, keep and discard: what becomes of the work tree of a step that is over. The driver does it, one tree at a
//! time, and tells what came of it; a merge that does not fit leaves everything as it is, and says where.

use std::collections::BTreeSet;

use crate::model::command::{Command, Verb};
use crate::model::event::payload::Proof;
use crate::model::event::{Body, payload as p};
use crate::model::id::{CommandId, DelegationId, SubtaskId};
use crate::model::status::StatusWord;
use crate::model::worktree::{AfterIsolation, TreeState, WorkTree};

use super::super::effect::{Effect, TreeWork};
use super::super::spec::{Code, Refusal};
use super::super::state::{Delegation, Pending, State, Task};
use super::super::{Kernel, Turn};
use super::conflict;

/// So many paths are named in a receipt.
const NAMED: usize = 8;

impl Kernel {
    pub(super) fn check_tree(&self, command: &Command) -> Result<(), Refusal> {
        let (delegation, task) = self.target(command)?;
        let kind = command.verb.kind();
        match task {
            Some((_, task)) => {
                let (id, name) = (&delegation.id, &task.spec.id);
                let Some(tree) = task.tree.as_deref().filter(|tree| tree.state != TreeState::None) else {
                    return Err(conflict(format!("{id}/{name} has no work tree of its own.")));
                };
                if !task.is_ended() {
                    return Err(conflict(format!(
                        "{id}/{name} is {}: wait until it has ended.",
                        task.word().as_str()
                    )));
                }
                if tree.state.is_open() {
                    return Ok(());
                }
                Err(conflict(format!("The work tree of {id}/{name} is {} already.", tree.state.as_str())))
            }
            None if delegation.tasks.iter().any(is_open) => Ok(()),
            None => Err(conflict(format!("{} has no work tree to {kind}.", delegation.id))),
        }
    }

    /// Returns the steps whose work trees a command is about.
    pub(in super::super) fn trees_of(&self, command: &Command) -> BTreeSet<SubtaskId> {
        if !matches!(command.verb, Verb::Merge | Verb::Keep | Verb::Discard) {
            return BTreeSet::new();
        }
        let Some(delegation) = self.delegations.get(&command.delegation_id) else { return BTreeSet::new() };
        let is_meant = |task: &&Task| command.subtask_id.as_ref().is_none_or(|step| task.spec.id == *step);
        let tasks = delegation.tasks.iter().filter(is_meant).filter(|task| is_open(task));
        tasks.map(|task| task.spec.id.clone()).collect()
    }

    /// Takes in what became of a work tree.
    pub(in super::super) fn tree_told(&mut self, data: &p::SubtaskTree) {
        let Some((id, index)) = self.place(&data.delegation_id, &data.subtask_id) else { return };
        let Some(tree) = data.tree.clone() else { return };
        let did = tree.state.as_str().to_owned();
        if let Some(task) = self.task_mut(&id, index) {
            task.tree = Some(tree);
        }
        let Some(pending) = data.command_id.as_ref().and_then(|command| self.pending.get_mut(command)) else {
            return;
        };
        if pending.trees.remove(&data.subtask_id) {
            let (delegation_id, subtask_id) = (Some(id), Some(data.subtask_id.clone()));
            pending.proofs.push(Proof { delegation_id, subtask_id, did: Some(did), ..Proof::default() });
        }
    }

    /// Returns how such a command is proven, or what was in the way.
    pub(super) fn tree_proof(&self, pending: &Pending) -> Result<String, Refusal> {
        let command = &pending.command;
        let done = match work_of(&command.verb) {
            TreeWork::Keep => TreeState::Kept,
            TreeWork::Discard => TreeState::Discarded,
            TreeWork::Merge => TreeState::Merged,
        };
        let of = |proof: &Proof| {
            let (id, index) = self.place(&command.delegation_id, proof.subtask_id.as_ref()?)?;
            let task = self.task(&id, index)?;
            Some((task.spec.id.clone(), task.tree.as_deref()?.clone()))
        };
        let trees: Vec<(SubtaskId, WorkTree)> = pending.proofs.iter().filter_map(of).collect();
        let failed: Vec<String> = trees
            .iter()
            .filter(|(_, tree)| tree.state != done)
            .map(|(step, tree)| match tree.conflicts.as_slice() {
                [] => format!("{step}: {}", tree.reason.as_deref().unwrap_or("it is settled otherwise")),
                paths => format!("{step}: {}", named(paths)),
            })
            .collect();
        let (count, all) = (trees.len() - failed.len(), trees.len());
        if failed.is_empty() {
            let files: u32 = trees.iter().map(|(_, tree)| tree.file_count).sum();
            let word = if files == 1 { "file" } else { "files" };
            return Ok(match trees.as_slice() {
                [(_, WorkTree { path: Some(path), reference: Some(name), .. })]
                    if done == TreeState::Kept =>
                {
                    format!("kept: {path}, {name}")
                }
                _ => format!("{count} of {all} {}, {files} {word}", done.as_str()),
            });
        }
        let list = failed.join("\n");
        Err(Refusal::new(
            Code::Conflict,
            format!("{count} of {all} {}; what does not fit was left as it is.\n{list}", done.as_str()),
        ))
    }

    /// Returns whether another step of its delegation may work at the same time: then each needs files of its own.
    pub fn may_meet_another(&self, id: &DelegationId, step: &SubtaskId) -> bool {
        let Some(delegation) = self.delegations.get(id) else { return false };
        let Some(index) = delegation.index_of(step) else { return false };
        if delegation.tasks.len() < 2 || delegation.limits.max_concurrent == Some(1) {
            return false;
        }
        let below = reached(delegation, index, |task| task.dependants.clone());
        let above = reached(delegation, index, |task| on(delegation, task));
        below.len() + above.len() + 1 < delegation.tasks.len()
    }

    /// Returns the steps that one depends on, at whatever distance, each after those that it depends on itself.
    pub fn before(&self, id: &DelegationId, step: &SubtaskId) -> Vec<SubtaskId> {
        let Some(delegation) = self.delegations.get(id) else { return Vec::new() };
        let Some(index) = delegation.index_of(step) else { return Vec::new() };
        let above = reached(delegation, index, |task| on(delegation, task));
        in_order(delegation, &above)
    }

    /// Returns why a step works in the project's folder though it was to have its own.
    pub fn why_not_isolated(&self, id: &DelegationId, step: &SubtaskId) -> Option<String> {
        let delegation = self.delegations.get(id)?;
        let tree = delegation.task(delegation.index_of(step)?)?.tree.as_deref()?;
        let reason = tree.reason.as_deref().filter(|_| tree.state == TreeState::None)?;
        Some(format!("no work tree of its own: {reason}"))
    }
}

/// Returns what one of the three verbs asks for.
fn work_of(verb: &Verb) -> TreeWork {
    match verb {
        verb if *verb == Verb::Keep => TreeWork::Keep,
        verb if *verb == Verb::Discard => TreeWork::Discard,
        _ => TreeWork::Merge,
    }
}

fn is_open(task: &Task) -> bool {
    task.is_ended() && task.tree.as_deref().is_some_and(|tree| tree.state.is_open())
}

/// Returns the places of the steps that a step depends on.
fn on(delegation: &Delegation, task: &Task) -> Vec<u32> {
    task.spec.dependencies.iter().filter_map(|on| delegation.index_of(on)).collect()
}

/// Returns everything that can be reached from a step.
fn reached(delegation: &Delegation, from: u32, next: impl Fn(&Task) -> Vec<u32>) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut open = delegation.task(from).map(&next).unwrap_or_default();
    while let Some(index) = open.pop() {
        if found.insert(index) {
            open.extend(delegation.task(index).map(&next).unwrap_or_default());
        }
    }
    found
}

/// Puts steps after those that they depend on.
fn in_order(delegation: &Delegation, steps: &BTreeSet<u32>) -> Vec<SubtaskId> {
    let mut open: Vec<u32> = steps.iter().copied().collect();
    let mut ordered = Vec::new();
    while !open.is_empty() {
        let waiting: BTreeSet<u32> = open.iter().copied().collect();
        let is_free = |index: &u32| {
            delegation
                .task(*index)
                .is_none_or(|task| on(delegation, task).iter().all(|on| !waiting.contains(on)))
        };
        let (free, rest): (Vec<u32>, Vec<u32>) = open.iter().partition(|index| is_free(index));
        if free.is_empty() {
            break;
        }
        ordered.extend(free.into_iter().filter_map(|index| Some(delegation.task(index)?.spec.id.clone())));
        open = rest;
    }
    ordered
}

fn named(paths: &[String]) -> String {
    let rest = paths.len().saturating_sub(NAMED);
    let names = paths.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if rest > 0 { format!("{names} and {rest} more") } else { names }
}

impl Turn<'_> {
    pub(super) fn carry_out_tree(&mut self, command: &Command) {
        let Some(pending) = self.kernel.pending.get(&command.id) else { return };
        let Some(delegation) = self.kernel.delegations.get(&command.delegation_id) else { return };
        let what = work_of(&command.verb);
        let meant = pending.trees.iter().filter_map(|step| delegation.index_of(step)).collect();
        for subtask in in_order(delegation, &meant) {
            let (delegation, command) = (command.delegation_id.clone(), Some(command.id.clone()));
            self.effects.push(Effect::Tree { delegation, subtask, command, what });
        }
    }

    /// The driver saw to a work tree, or could not.
    pub(in super::super) fn tree_came(
        &mut self,
        id: &DelegationId,
        subtask: &SubtaskId,
        command: Option<&CommandId>,
        came: Result<Box<WorkTree>, String>,
    ) {
        let Some((_, index)) = self.kernel.place(id, subtask) else {
            // It left meanwhile; who waits must not wait for ever.
            let waits = command.and_then(|command| self.kernel.pending.get(command));
            if let Some(command) = waits.map(|pending| pending.command.clone()) {
                self.refuse(&command, Refusal::new(Code::Gone, "Its delegation has left."));
            }
            return;
        };
        let known = self.kernel.task(id, index).and_then(|task| task.tree.clone());
        let tree = match came {
            Ok(tree) => tree,
            Err(why) => {
                let known = *known.unwrap_or_default();
                Box::new(WorkTree { state: TreeState::Conflict, reason: Some(why), ..known })
            }
        };
        self.tell_tree(id, subtask, command, tree);
    }

    /// Tells where a step works, or what became of that, where it is news.
    pub(in super::super) fn tell_tree(
        &mut self,
        id: &DelegationId,
        subtask: &SubtaskId,
        command: Option<&CommandId>,
        tree: Box<WorkTree>,
    ) {
        let known = self.kernel.place(id, subtask).and_then(|(id, index)| self.kernel.task(&id, index));
        if command.is_none() && known.is_some_and(|task| task.tree.as_deref() == Some(&*tree)) {
            return;
        }
        let (delegation_id, subtask_id) = (id.clone(), subtask.clone());
        let (tree, command_id) = (Some(tree), command.cloned());
        self.emit(Body::SubtaskTree(p::SubtaskTree {
            delegation_id,
            subtask_id,
            tree,
            command_id,
            ..Default::default()
        }));
    }

    /// Does what the project wants done with the work tree of a step that is done. One in which nothing changed goes.
    pub(in super::super) fn settle_tree(&mut self, id: &DelegationId, index: u32) {
        let Some(task) = self.kernel.task(id, index) else { return };
        let is_done = matches!(task.state, State::Ended { how: StatusWord::Done, .. });
        let Some(tree) = task.tree.as_deref().filter(|tree| is_done && tree.state == TreeState::Recorded)
        else {
            return;
        };
        let what = match tree.after {
            _ if tree.file_count == 0 => TreeWork::Discard,
            AfterIsolation::Ask => return,
            AfterIsolation::Merge => TreeWork::Merge,
            AfterIsolation::Keep => TreeWork::Keep,
        };
        let (delegation, subtask) = (id.clone(), task.spec.id.clone());
        self.effects.push(Effect::Tree { delegation, subtask, command: None, what });
    }

    /// Does the same for all that the last engine may not have come to.
    pub(in super::super) fn settle_trees(&mut self) {
        let all = self.kernel.delegations.iter();
        let open = all.flat_map(|(id, delegation)| {
            let tasks = delegation.tasks.iter().zip(0u32..);
            tasks.filter(|(task, _)| is_open(task)).map(|(_, index)| (id.clone(), index))
        });
        let open: Vec<(DelegationId, u32)> = open.collect();
        for (id, index) in open {
            self.settle_tree(&id, index);
        }
    }
}
