//! Verdicts of steps that judge, and steps that are left out because of one.
//!
//! What a verdict came to is part of the event that ends its step: a replay does not read the answer again.

use super::attempt::Place;
use super::state::{Delegation, State, Task};
use super::{Kernel, Turn};
use crate::decide::verdict::{self, Verdict};
use crate::model::command::Judges;
use crate::model::event::{Body, payload as p};
use crate::model::handoff::Outcome;
use crate::model::id::{DelegationId, SubtaskId};
use crate::model::status::StatusWord;

/// What a step that judges said, and whether anybody acts on it.
pub(super) struct Judged {
    pub verdict: Verdict,
    kind: Judges,
    /// Another step is done only if this one does not approve.
    is_followed: bool,
}

impl Judged {
    /// Returns whether it approves, where it was asked that.
    pub fn approved(&self) -> Option<bool> {
        (self.kind == Judges::Approval).then_some(self.verdict.approved == Some(true))
    }

    /// Returns what is told of it, where it was asked whether it approves.
    pub fn says(&self) -> Option<String> {
        self.approved().map(|_| self.verdict.says().to_owned())
    }

    /// Returns whether what it does not approve is seen to by another step.
    pub fn is_acted_on(&self) -> bool {
        self.is_followed && self.approved() == Some(false)
    }

    /// Returns why a person must look, if nobody else does.
    pub fn refuses(&self) -> Option<&'static str> {
        (self.approved() == Some(false) && !self.is_followed).then(|| self.verdict.says())
    }
}

/// What a condition comes to.
enum Holds {
    Yes,
    No { why: String, approved: Option<bool> },
}

impl Kernel {
    /// Reads what a step says that judges.
    pub(super) fn judged(&self, at: &Place, result: Option<&Outcome>) -> Option<Judged> {
        let delegation = self.delegations.get(&at.delegation)?;
        let task = delegation.task(at.index)?;
        let kind = task.spec.judges?;
        let follows = |index: &u32| {
            let when = delegation.task(*index).and_then(|task| task.spec.when.as_ref());
            when.is_some_and(|when| when.step == at.subtask)
        };
        let is_followed = task.dependants.iter().any(follows);
        Some(Judged { verdict: verdict::read(result), kind, is_followed })
    }

    /// Returns whether a step that is left out approves: only what is put in its place can say so.
    pub(super) fn approves_instead(
        &self,
        id: &DelegationId,
        subtask: &SubtaskId,
        result: Option<&Outcome>,
    ) -> Option<bool> {
        let (_, index) = self.place(id, subtask)?;
        let asked = self.task(id, index)?.spec.judges == Some(Judges::Approval);
        result.filter(|_| asked).map(|result| verdict::read(Some(result)).approved == Some(true))
    }
}

/// Returns whether a step whose dependencies are met is to be done.
fn holds(delegation: &Delegation, task: &Task) -> Holds {
    let Some(when) = &task.spec.when else { return Holds::Yes };
    let before = delegation.index_of(&when.step).and_then(|index| delegation.task(index));
    let Some(before) = before else { return Holds::Yes };
    match before.approved {
        Some(approved) if approved == when.approved => Holds::Yes,
        Some(approved) => {
            let why = if approved { "approved" } else { "not approved" };
            Holds::No { why: why.into(), approved: Some(approved) }
        }
        // Nobody asks for anything more.
        None if matches!(before.state, State::Ended { how: StatusWord::Skipped, .. }) => {
            Holds::No { why: format!("{} was skipped", when.step), approved: None }
        }
        None if when.approved => {
            Holds::No { why: format!("{} gave no verdict", when.step), approved: Some(false) }
        }
        None => Holds::Yes,
    }
}

impl Turn<'_> {
    /// Leaves out the steps whose condition does not hold, and what hangs on their conditions.
    pub(super) fn leave_out(&mut self, id: &DelegationId) {
        while let Some(skipped) = self.kernel.delegations.get(id).and_then(unwanted) {
            self.emit(Body::SubtaskSkipped(skipped));
        }
    }
}

/// Returns the first step that could begin and is not to.
fn unwanted(delegation: &Delegation) -> Option<p::SubtaskSkipped> {
    delegation.tally.conditional.iter().find_map(|index| {
        let task = delegation.task(*index)?;
        if task.state != State::Queued || task.unmet > 0 {
            return None;
        }
        match holds(delegation, task) {
            Holds::Yes => None,
            Holds::No { why, approved } => Some(p::SubtaskSkipped {
                delegation_id: delegation.id.clone(),
                subtask_id: task.spec.id.clone(),
                reason: Some(why),
                approved,
                ..Default::default()
            }),
        }
    })
}
