//! What scheduling needs to know at once: who is ready, how many work, what is left.
//!
//! Each step carries what it counts for ([`Mark`]); [`Kernel::refresh`] replaces it and moves the sums. So an
//! event costs the logarithm of the number of steps, and a recomputation must give the same (`audit`).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::model::command::PauseMode;
use crate::model::id::{DelegationId, SessionId, SubtaskId};
use crate::model::status::StatusWord;

use super::Kernel;
use super::state::{Delegation, State, Task};

/// What the steps of one delegation add up to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    pub by_id: HashMap<SubtaskId, u32>,
    pub live: BTreeSet<u32>,
    pub ready: BTreeSet<u32>,
    /// Sessions that work: one that waits for a delegation below it does not.
    pub busy: u32,
    /// Steps that have not ended.
    pub open: u32,
    /// Steps that wait for nothing but a turn, a timer or a person's resume.
    pub unblocked: u32,
    pub failed: u32,
    pub held: u32,
    /// The steps that have a condition.
    pub conditional: Vec<u32>,
    /// The steps that have spent something.
    pub spenders: BTreeSet<u32>,
    /// Delegations below each step.
    pub children: BTreeMap<u32, BTreeSet<DelegationId>>,
    /// Of those, how many have not ended.
    pub live_children: u32,
}

/// What one step counts for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one bit for each sum, in any combination")]
pub struct Mark {
    live: bool,
    ready: bool,
    busy: bool,
    open: bool,
    unblocked: bool,
    failed: bool,
    held: bool,
}

/// What all delegations add up to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    /// Delegations that could start a step now, the oldest first.
    pub startable: BTreeSet<(u64, DelegationId)>,
    pub busy: u32,
    pub sessions: HashMap<SessionId, (DelegationId, u32)>,
}

impl Mark {
    fn of(task: &Task, live_children: bool) -> Self {
        let (mut live, mut waits, mut ripe, mut ended) = (false, false, false, false);
        // It waits for a person, whatever else it would wait for.
        let is_for_review = task.state == State::Review;
        match &task.state {
            State::Queued => (waits, ripe) = (true, true),
            State::Backoff { .. } => (waits, ripe) = (true, task.ripe),
            State::Live(_) => live = true,
            State::Review => {}
            State::Ended { .. } => ended = true,
        }
        let startable = waits && task.unmet == 0;
        Self {
            live,
            ready: startable
                && ripe
                && task.hold.is_none()
                && task.account.reached().is_none()
                && !live_children,
            busy: live && !live_children,
            open: !ended,
            unblocked: startable || is_for_review,
            failed: task.has_failed(),
            held: task.hold.is_some(),
        }
    }
}

impl Tally {
    fn swap(&mut self, index: u32, before: Mark, after: Mark) {
        let put = |set: &mut BTreeSet<u32>, is: bool| {
            if is {
                set.insert(index)
            } else {
                set.remove(&index)
            };
        };
        if before.live != after.live {
            put(&mut self.live, after.live);
        }
        if before.ready != after.ready {
            put(&mut self.ready, after.ready);
        }
        let sums = [
            (&mut self.busy, before.busy, after.busy),
            (&mut self.open, before.open, after.open),
            (&mut self.unblocked, before.unblocked, after.unblocked),
            (&mut self.failed, before.failed, after.failed),
            (&mut self.held, before.held, after.held),
        ];
        for (sum, was, is) in sums {
            *sum = *sum + u32::from(is) - u32::from(was);
        }
    }
}

impl Kernel {
    /// Counts a step anew.
    pub(super) fn refresh(&mut self, id: &DelegationId, index: u32) {
        let below = self.has_live_children(id, index);
        let Some(delegation) = self.delegations.get_mut(id) else { return };
        let Some(task) = delegation.task_mut(index) else { return };
        let after = Mark::of(task, below);
        let before = std::mem::replace(&mut task.mark, after);
        if before == after {
            return;
        }
        delegation.tally.swap(index, before, after);
        self.index.busy = self.index.busy + u32::from(after.busy) - u32::from(before.busy);
        self.refresh_start(id);
        if before.failed != after.failed {
            self.refresh_below(id);
        } else if before.live != after.live || before.open != after.open {
            // What is below a step depends on whether it runs, and on how it ended.
            for child in self.children_of(id, index) {
                self.refresh_below(&child);
            }
        }
    }

    /// Finds out anew whether a delegation could start a step.
    pub(super) fn refresh_start(&mut self, id: &DelegationId) {
        let Some(delegation) = self.delegations.get(id) else { return };
        let place = (delegation.born, id.clone());
        if self.may_start(delegation) {
            self.index.startable.insert(place);
        } else {
            self.index.startable.remove(&place);
        }
    }

    /// Finds out anew for a delegation and all below it.
    pub(super) fn refresh_below(&mut self, id: &DelegationId) {
        for below in self.tree(id) {
            self.refresh_start(&below);
        }
    }

    fn may_start(&self, delegation: &Delegation) -> bool {
        let tally = &delegation.tally;
        let room = delegation.limits.max_concurrent.is_none_or(|most| tally.busy < most.max(1));
        room && !tally.ready.is_empty()
            && !delegation.is_ended()
            && delegation.proposal.is_none()
            && self.holder(delegation).is_none()
            && self.broke(delegation, None).is_none()
            && !self.is_stopping(delegation)
    }

    /// Counts one delegation more or fewer below the step that handed it over.
    pub(super) fn count_child(&mut self, id: &DelegationId) {
        let Some(child) = self.delegations.get(id) else { return };
        let Some(parent) = child.parent.clone() else { return };
        let Some(above) = self.delegations.get_mut(&parent.delegation) else { return };
        above.tally.children.entry(parent.index).or_default().insert(id.clone());
        let all: Vec<DelegationId> = above.tally.children.values().flatten().cloned().collect();
        let live = all.iter().filter(|child| self.delegations.get(*child).is_some_and(|d| !d.is_ended()));
        let live = u32::try_from(live.count()).unwrap_or(u32::MAX);
        if let Some(above) = self.delegations.get_mut(&parent.delegation) {
            above.tally.live_children = live;
        }
        self.refresh(&parent.delegation, parent.index);
    }

    pub(super) fn children_of(&self, id: &DelegationId, index: u32) -> Vec<DelegationId> {
        let children = self.delegations.get(id).and_then(|above| above.tally.children.get(&index));
        children.into_iter().flatten().cloned().collect()
    }

    fn has_live_children(&self, id: &DelegationId, index: u32) -> bool {
        let Some(above) = self.delegations.get(id).filter(|above| above.tally.live_children > 0) else {
            return false;
        };
        let children = above.tally.children.get(&index).into_iter().flatten();
        children.into_iter().any(|child| self.delegations.get(child).is_some_and(|child| !child.is_ended()))
    }

    /// Returns a delegation and all below it, from the top.
    pub(super) fn tree(&self, id: &DelegationId) -> Vec<DelegationId> {
        let mut found = vec![id.clone()];
        let mut next = 0;
        while let Some(id) = found.get(next) {
            next += 1;
            if let Some(delegation) = self.delegations.get(id) {
                found.extend(delegation.tally.children.values().flatten().cloned());
            }
        }
        found
    }

    /// Returns what holds a delegation's steps back: its own pause, or one above it.
    ///
    /// A drain above lets what runs finish, and all below a running step is part of that.
    pub(super) fn holder(&self, delegation: &Delegation) -> Option<(DelegationId, Option<SubtaskId>)> {
        let holds = |hold: Option<PauseMode>, runs: bool| match hold {
            Some(PauseMode::Freeze) => true,
            Some(PauseMode::Drain) => !runs,
            None => false,
        };
        let (mut at, mut runs) = (delegation, false);
        loop {
            if holds(at.hold, runs) {
                return Some((at.id.clone(), None));
            }
            let parent = at.parent.as_ref()?;
            let above = self.delegations.get(&parent.delegation)?;
            let task = above.task(parent.index)?;
            runs |= task.session().is_some();
            if holds(task.hold, runs) {
                return Some((above.id.clone(), Some(task.spec.id.clone())));
            }
            at = above;
        }
    }

    /// Returns whether a delegation is being ended: cancelled, out of time, failed, or without the attempt
    /// that it was started for.
    pub(super) fn is_stopping(&self, delegation: &Delegation) -> bool {
        let mut at = delegation;
        loop {
            let fails = !at.limits.continue_on_partial_failure && at.tally.failed > 0;
            if at.cancel.is_some() || at.expired || fails {
                return true;
            }
            let Some(parent) = &at.parent else { return false };
            let Some(above) = self.delegations.get(&parent.delegation) else { return true };
            if self.is_orphan(at) {
                return true;
            }
            if above.is_ended() {
                return false;
            }
            at = above;
        }
    }

    /// Returns whether the attempt that started a delegation is over and did not succeed.
    pub(super) fn is_orphan(&self, delegation: &Delegation) -> bool {
        let Some(parent) = &delegation.parent else { return false };
        let above = self.delegations.get(&parent.delegation).and_then(|above| above.task(parent.index));
        let Some(task) = above else { return true };
        let stands = match &task.state {
            State::Live(session) => session.stop.is_none(),
            State::Ended { how, .. } => matches!(how, StatusWord::Done | StatusWord::Partial),
            State::Review => true,
            State::Queued | State::Backoff { .. } => false,
        };
        !(stands && task.attempt == parent.attempt)
    }

    /// Makes every index from what is saved.
    pub(super) fn rebuild(&mut self) {
        self.index = Index::default();
        let ids: Vec<DelegationId> = self.delegations.keys().cloned().collect();
        for delegation in self.delegations.values_mut() {
            delegation.tally = Tally::default();
            link(delegation);
        }
        for id in &ids {
            self.count_child(id);
        }
        for id in &ids {
            let count = self.delegations.get(id).map_or(0, |delegation| delegation.tasks.len());
            for index in 0..u32::try_from(count).unwrap_or(u32::MAX) {
                let task = self.delegations.get(id).and_then(|delegation| delegation.task(index));
                if let Some(session) = task.and_then(Task::session) {
                    self.index.sessions.insert(session.id.clone(), (id.clone(), index));
                }
                self.refresh(id, index);
            }
        }
        for id in &ids {
            self.refresh_start(id);
        }
    }
}

/// Derives who waits for whom.
pub(super) fn link(delegation: &mut Delegation) {
    let ids = delegation.tasks.iter().map(|task| task.spec.id.clone());
    delegation.tally.by_id = ids.zip(0u32..).collect();
    let mut waits = Vec::new();
    for (task, index) in delegation.tasks.iter_mut().zip(0u32..) {
        task.mark = Mark::default();
        (task.dependants, task.unmet) = (Vec::new(), 0);
        if task.spec.when.is_some() {
            delegation.tally.conditional.push(index);
        }
        if task.account.has_spent() {
            delegation.tally.spenders.insert(index);
        }
        for dependency in &task.spec.dependencies {
            if let Some(on) = delegation.tally.by_id.get(dependency) {
                waits.push((*on, index));
            }
        }
    }
    for (on, index) in waits {
        let Some(dependency) = delegation.task_mut(on) else { continue };
        dependency.dependants.push(index);
        let unmet = !dependency.is_met();
        if let Some(task) = delegation.task_mut(index) {
            task.unmet += u32::from(unmet);
        }
    }
}
