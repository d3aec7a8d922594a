//! Proposals: what must wait for a person is offered, and then approved, rejected, or expires.
//!
//! A proposal is a delegation that has not begun: its steps are there and none of them may start. It keeps what was
//! asked for as it was asked for, so that another order or fewer steps make a sound plan again.

use std::collections::BTreeSet;

use crate::decide::decision::{Options, decide};
use crate::decide::mode::{Asker, Course, Mode, Wish, course};
use crate::decide::task;
use crate::decide::words::counted;
use crate::model::command::{ApprovedStep, Command, Spec, StepSpec, Verb};
use crate::model::event::{Body, payload as p};
use crate::model::handoff::Decision;
use crate::model::id::{DelegationId, SubtaskId};
use crate::model::status::StatusWord;

use super::super::govern::{asker, check_person};
use super::super::spec::{Code, Refusal, expand};
use super::super::state::{Delegation, State};
use super::super::{Kernel, Turn};
use super::conflict;
use super::start::Stance;

/// What becomes of a wish to start, and why: the decision is there where one was needed or given.
pub(super) type Opening = (Course, Option<Box<Decision>>);

impl Kernel {
    /// Returns what an approval came to: how many steps begin, or why none do.
    pub(super) fn approve_proof(&self, command: &Command) -> Result<String, Refusal> {
        let begun = self.delegations.get(&command.delegation_id);
        let begun = begun.filter(|begun| begun.proposal.is_none());
        let begun = begun.ok_or_else(|| Refusal::new(Code::Gone, "It ended before it could begin."))?;
        Ok(counted(begun.tasks.len(), "step") + " approved")
    }

    /// Says what becomes of a start: it begins, waits for a person, or does not happen.
    pub(super) fn opening(&self, command: &Command, spec: &Spec, depth: u32) -> Opening {
        let settings = &self.governing.settings;
        let own_mode = spec.mode.as_deref().and_then(Mode::from_name);
        let wish = Wish {
            by: asker(command),
            mode: own_mode.unwrap_or(settings.mode),
            propose: spec.propose,
            subtask_approval: settings.subtask_approval,
            sure_from: settings.thresholds.auto_accept_confidence,
        };
        let is_held = wish.propose || wish.subtask_approval || wish.by != Asker::Person;
        let weigh = || {
            let agent = task::Agent { depth: depth.saturating_sub(1), ..task::Agent::default() };
            let options = Options { include_subtasks: false, ..Options::default() };
            Box::new(decide(&task_of(spec), Some(&agent), options, settings, command.at))
        };
        let decision = spec.decision.clone().or_else(|| is_held.then(weigh));
        let course = match &decision {
            Some(decision) => course(&wish, decision),
            None => course(&wish, &Decision::default()),
        };
        let decision = decision.map(|mut decision| {
            decision.course = Some(course.why().to_owned());
            decision
        });
        (course, decision)
    }

    /// Refuses what can be done only to something that was approved.
    pub(super) fn check_approved(&self, command: &Command) -> Result<(), Refusal> {
        let proposed = self.delegations.get(&command.delegation_id).filter(|one| one.proposal.is_some());
        let Some(delegation) = proposed else { return Ok(()) };
        let id = &delegation.id;
        Err(conflict(if delegation.is_ended() {
            format!("{id} was proposed and never began.\nHand it over again.")
        } else {
            format!("{id} waits for approval.\nApprove or reject it first.")
        }))
    }

    fn check_offered(&self, command: &Command) -> Result<&Delegation, Refusal> {
        check_person(command)?;
        let (delegation, step) = self.target(command)?;
        let (id, is_approval) = (&delegation.id, matches!(command.verb, Verb::Approve { .. }));
        let done = if is_approval { "approved" } else { "rejected" };
        if delegation.status != StatusWord::Offered {
            let word = delegation.status.as_str();
            return Err(conflict(format!("{id} is {word}: only a proposal can be {done}.")));
        }
        if step.is_some() {
            let reason = format!("A proposal is {done} as a whole.\nName {id}, and the steps that you want.");
            return Err(Refusal::new(Code::Invalid, reason));
        }
        self.check_not_stopping(delegation)?;
        Ok(delegation)
    }

    pub(super) fn check_approve(
        &self,
        command: &Command,
        steps: Option<&[ApprovedStep]>,
    ) -> Result<(), Refusal> {
        chosen(self.check_offered(command)?, steps).map(|_| ())
    }

    pub(super) fn check_reject(&self, command: &Command) -> Result<(), Refusal> {
        if command.subtask_id.is_none() {
            return self.check_offered(command).map(|_| ());
        }
        check_person(command)?;
        let (delegation, task) = self.target(command)?;
        self.check_not_stopping(delegation)?;
        match task {
            Some((_, task)) if task.state != State::Review => Err(conflict(format!(
                "{} is {}: only a step that is for review can be rejected.",
                task.spec.id,
                task.word().as_str()
            ))),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the steps that an approval takes.
    pub(in super::super) fn approved_steps(&self, command: &Command) -> Vec<SubtaskId> {
        let Verb::Approve { subtasks } = &command.verb else { return Vec::new() };
        let spec = self.delegations.get(&command.delegation_id);
        let spec = spec.and_then(|delegation| chosen(delegation, subtasks.as_deref()).ok());
        spec.map(|spec| spec.subtasks.into_iter().map(|step| step.id).collect()).unwrap_or_default()
    }
}

/// Returns what a spec asks for, as a task that can be weighed.
fn task_of(spec: &Spec) -> task::Task {
    let (title, first) = (spec.title.clone().unwrap_or_default(), spec.subtasks.first());
    let prompt = first.map(|step| step.prompt.as_str()).unwrap_or_default();
    if spec.subtasks.len() < 2 {
        let whole = task::Task::from_text(prompt);
        return if title.is_empty() || title == whole.title {
            whole
        } else {
            task::Task { title, description: prompt.to_owned(), ..whole }
        };
    }
    let line = |step: &StepSpec| {
        let told = step.title.as_deref().or(step.prompt.lines().next()).unwrap_or_default();
        format!("- {told}\n")
    };
    task::Task { title, description: spec.subtasks.iter().map(line).collect(), ..task::Task::default() }
}

/// Returns what of a proposal is to run: the steps that are named, in their order, with what was changed of them.
fn chosen(delegation: &Delegation, steps: Option<&[ApprovedStep]>) -> Result<Spec, Refusal> {
    let invalid = |reason: String| Refusal::new(Code::Invalid, reason);
    let Some(proposal) = delegation.proposal.as_deref() else {
        return Err(conflict(format!("{} is no proposal.", delegation.id)));
    };
    let Some(steps) = steps else { return Ok(proposal.clone()) };
    if steps.is_empty() {
        return Err(invalid("No step is approved.\nName some, or reject it.".into()));
    }
    let mut taken = Vec::new();
    let mut seen = BTreeSet::new();
    for step in steps {
        let Some(proposed) = proposal.subtasks.iter().find(|one| one.id == step.id) else {
            let reason = format!("{} has no step {}", delegation.id, step.id);
            return Err(Refusal::new(Code::NotFound, reason));
        };
        if !seen.insert(&step.id) {
            return Err(invalid(format!("{} is approved twice.\nName it once.", step.id)));
        }
        taken.push(step.changed(proposed));
    }
    for step in &taken {
        if let Some(on) = step.dependencies.iter().find(|on| !seen.contains(on)) {
            return Err(invalid(format!(
                "{} depends on {on}, which is left out.\nApprove both, or leave both out.",
                step.id
            )));
        }
    }
    let spec = Spec { subtasks: taken, ..proposal.clone() };
    expand(&spec)?;
    Ok(spec)
}

impl Turn<'_> {
    /// Offers a delegation, and lets the time in which it can be approved run.
    pub(super) fn propose(&mut self, command: &Command, spec: Spec, stance: Stance, why: String) {
        let id = &command.delegation_id;
        let by = command.by.clone();
        let Some(proposed) = self.kernel.proposing(id, spec, stance, (why, by), self.tick) else { return };
        self.emit(proposed);
        self.run_delegation_clock(id);
    }

    pub(super) fn carry_out_approve(&mut self, command: &Command, steps: Option<&[ApprovedStep]>) {
        let id = &command.delegation_id;
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        let Ok(mut spec) = chosen(delegation, steps) else { return };
        // The proposal was told with it.
        spec.handoff.clone_from(&delegation.handoff);
        let taken: Vec<SubtaskId> = spec.subtasks.iter().map(|step| step.id.clone()).collect();
        let left_out: Vec<SubtaskId> = delegation
            .tasks
            .iter()
            .filter(|task| !task.is_ended() && !taken.contains(&task.spec.id))
            .map(|task| task.spec.id.clone())
            .collect();
        let stance = Stance { depth: delegation.depth, path: delegation.path.clone() };
        let is_told = delegation.status == StatusWord::Queued;
        for step in left_out {
            self.skipped(id, step, Some("left out when it was approved".into()), command.by.clone(), None);
        }
        if !is_told {
            self.emit(Body::Approved(p::Approved {
                delegation_id: id.clone(),
                by: command.by.clone(),
                subtasks: Some(taken),
                ..Default::default()
            }));
        }
        self.begin(id, spec, stance);
    }

    pub(super) fn carry_out_reject(&mut self, command: &Command, reason: Option<&String>) {
        let id = &command.delegation_id;
        let Some(subtask) = &command.subtask_id else {
            let turn = p::Turn {
                delegation_id: id.clone(),
                reason: reason.cloned(),
                by: command.by.clone(),
                ..Default::default()
            };
            return self.withdraw(id, "its proposal was rejected", Body::Rejected(turn));
        };
        let Some((_, index)) = self.kernel.place(id, subtask) else { return };
        let Some(task) = self.kernel.task(id, index).filter(|task| task.state == State::Review) else {
            return;
        };
        let why = reason.map_or_else(|| "its result was rejected".into(), |why| format!("rejected: {why}"));
        let failed = p::SubtaskFailed {
            delegation_id: id.clone(),
            subtask_id: subtask.clone(),
            error: Some(why),
            retryable: Some(false),
            attempt: Some(task.attempt),
            ..Default::default()
        };
        self.emit(Body::SubtaskFailed(failed));
    }

    /// Nobody approved it in time.
    pub(in super::super) fn expire(&mut self, id: &DelegationId) {
        let turn = p::Turn {
            delegation_id: id.clone(),
            reason: Some("nobody approved it in time".into()),
            ..Default::default()
        };
        self.withdraw(id, "its proposal expired", Body::Expired(turn));
    }

    /// Ends a proposal: its steps first, so that a crash in between leaves something that is still to be ended.
    fn withdraw(&mut self, id: &DelegationId, why: &str, ending: Body) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        if delegation.status != StatusWord::Offered {
            return;
        }
        let above = delegation.parent.as_ref().map(|parent| parent.delegation.clone());
        self.cut_rest(id, why);
        self.emit(ending);
        if let Some(above) = above {
            self.touch(&above);
        }
    }

    /// Tells anew until when a proposal can be approved, where that is another moment than was told.
    pub(in super::super) fn retell_proposal(&mut self, id: &DelegationId, left: u64, is_told: bool) {
        if left == 0 {
            return self.expire(id);
        }
        if !is_told {
            let plan = p::Plan {
                expires_at: Some(self.later(left)),
                due_ms: Some(self.due(left)),
                ..Default::default()
            };
            self.emit(Body::Proposed(p::Proposed {
                delegation_id: id.clone(),
                plan: Some(Box::new(plan)),
                ..Default::default()
            }));
        }
        self.run_delegation_clock(id);
    }
}
