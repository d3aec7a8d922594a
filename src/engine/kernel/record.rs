//! The record of a hand-off: taken by a word or by starting, done with evidence, turned down, or lapsed; and an answer
//! that has not the form that was asked for.

use super::attempt::Place;
use super::effect::{Effect, Order, TimerKey};
use super::spec::{Code, Refusal};
use super::state::{Delegation, Task};
use super::{Kernel, Turn};
use crate::decide::contract::{Expected, complaint, is_of_form};
use crate::model::command::{BY_AGENT, Command, Said};
use crate::model::event::{Body, payload as p};
use crate::model::handoff::Outcome;
use crate::model::id::{CommandId, DelegationId, SessionId};
use crate::model::time::Stamp;

/// The level of an offer that nobody accepted in time.
pub(super) const ACCEPTANCE: &str = "acceptance";
/// Why an attempt is made that is only asked for the form of its answer.
pub(super) const FORM: &str = "form";
/// How a hand-off was taken that nobody said a word about.
const BY_STARTING: &str = "starting";

impl Kernel {
    /// Refuses what only the agent of a running step can say.
    pub(super) fn check_report(&self, command: &Command, said: &Said) -> Result<(), Refusal> {
        let place = command.subtask_id.as_ref().and_then(|step| self.place(&command.delegation_id, step));
        let found = place.and_then(|(id, index)| Some((self.delegations.get(&id)?, self.task(&id, index)?)));
        let Some((delegation, task)) = found else {
            let reason = format!("There is no such step in {}.\nName the step.", command.delegation_id);
            return Err(Refusal::new(Code::NotFound, reason));
        };
        let conflict = |reason: String| Err(Refusal::new(Code::Conflict, reason));
        let step = &task.spec.id;
        let Some(session) = task.session().filter(|session| session.stop.is_none()) else {
            let word = task.word().as_str();
            return conflict(format!("{step} is {word}: only the agent that works on it can report."));
        };
        if command.by.as_deref() != Some(&format!("{BY_AGENT}:{}", session.id)) {
            let reason = "Only the agent that it was handed to can say that.\nRun it inside that agent.";
            return Err(Refusal::new(Code::Limit, reason));
        }
        if self.is_stopping(delegation) {
            return conflict(format!("{} is being stopped.", delegation.id));
        }
        match said {
            Said::Rejected { .. } if task.report.is_some() => {
                conflict(format!("{step} was reported as done already.\nSay what is left in your answer."))
            }
            Said::Accepted { .. } | Said::Completed { .. } if task.rejection.is_some() => {
                conflict(format!("{step} was rejected already."))
            }
            Said::Completed { .. } if delegation.taken.is_none() && is_offer(delegation) => {
                conflict(format!("{} is not accepted yet.\nAccept it first.", delegation.id))
            }
            Said::Accepted { .. } | Said::Completed { .. } | Said::Rejected { .. } => Ok(()),
        }
    }

    /// Returns until when an offer can be accepted, while it can.
    pub(super) fn offered_until(&self, id: &DelegationId) -> Option<Stamp> {
        let delegation = self.delegations.get(id)?;
        let is_open = delegation.proposal.is_none()
            && !delegation.is_ended()
            && !delegation.lapsed
            && delegation.taken.is_none();
        delegation.offer_until.filter(|_| is_open && is_offer(delegation))
    }

    /// Takes in that a hand-off was taken.
    pub(super) fn taken(&mut self, data: &p::Taken, at: Stamp) {
        if let Some(delegation) = self.delegations.get_mut(&data.delegation_id) {
            delegation.taken.get_or_insert(at);
        }
    }

    /// Takes in what an agent said of its hand-off.
    pub(super) fn reported(&mut self, data: &p::SubtaskReported) {
        let Some((id, index)) = self.place(&data.delegation_id, &data.subtask_id) else { return };
        let Some(task) = self.task_mut(&id, index) else { return };
        if data.status.as_deref() == Some("rejected") {
            task.rejection = Some(data.reason.clone().unwrap_or_default());
        } else {
            task.report.clone_from(&data.result);
        }
    }

    /// Returns a result with what the agent reported beside it; what is said last counts.
    pub(super) fn with_report(&self, at: &Place, result: Option<Box<Outcome>>) -> Option<Box<Outcome>> {
        let report = self.task(&at.delegation, at.index).and_then(|task| task.report.clone());
        let Some(report) = report else { return result };
        let mut whole = result.unwrap_or_default();
        let Outcome { summary, evidence, files_modified, tests_run, .. } = *report;
        whole.summary = whole.summary.or(summary);
        whole.evidence = whole.evidence.or(evidence);
        whole.tests_run = whole.tests_run.or(tests_run);
        for file in files_modified {
            if !whole.files_modified.contains(&file) {
                whole.files_modified.push(file);
            }
        }
        Some(whole)
    }

    /// Returns everything that is wrong with a return, by name of its agent and session.
    pub(super) fn complaint(&self, at: &Place, result: Option<&Outcome>) -> Option<String> {
        let agent = self.task(&at.delegation, at.index).and_then(|task| task.spec.agent.clone());
        let agent = agent.as_deref().unwrap_or("the default agent");
        complaint(&result?.findings, Expected { agent, session: at.session.as_str() })
    }
}

fn is_offer(delegation: &Delegation) -> bool {
    delegation.handoff.as_ref().is_some_and(|handoff| handoff.offer)
}

/// Returns what a confirmed report is told to be.
pub(super) fn report_proof(said: &Said) -> &'static str {
    match said {
        Said::Accepted { .. } => "accepted",
        Said::Completed { .. } => "reported as done; its end is the proof",
        Said::Rejected { .. } => "rejected; this session ends now",
    }
}

/// Returns why nobody took it, where all that failed was turned down.
pub(super) fn turned_down(delegation: &Delegation) -> Option<String> {
    let failed: Vec<&Task> = delegation.tasks.iter().filter(|task| task.has_failed()).collect();
    let reasons: Option<Vec<&str>> = failed.iter().map(|task| task.rejection.as_deref()).collect();
    reasons.filter(|reasons| !reasons.is_empty()).map(|reasons| reasons.join("; "))
}

impl Turn<'_> {
    pub(super) fn carry_out_report(&mut self, command: &Command, said: &Said) {
        let Some(subtask) = &command.subtask_id else { return };
        let Some((id, index)) = self.kernel.place(&command.delegation_id, subtask) else { return };
        let Some(task) = self.kernel.task(&id, index) else { return };
        let Some(session) = task.session().map(|session| session.id.clone()) else { return };
        let (attempt, is_told) = (task.attempt, task.report.is_some() || task.rejection.is_some());
        let (status, reason, result) = match said {
            Said::Accepted { reason } => {
                return self.take_hand_off(&id, &session, command.by.clone(), reason.clone());
            }
            Said::Completed { result } => ("completed", None, Some(result.clone())),
            Said::Rejected { reason } => ("rejected", Some(reason.clone()), None),
        };
        if result.is_some() {
            self.take_hand_off(&id, &session, command.by.clone(), Some("reported as done".into()));
        }
        // A report may be made again while its agent works; a turning down is said once.
        if !is_told || result.is_some() {
            self.emit(Body::SubtaskReported(p::SubtaskReported {
                delegation_id: id.clone(),
                subtask_id: subtask.clone(),
                session_id: Some(session),
                attempt: Some(attempt),
                status: Some(status.into()),
                reason,
                by: command.by.clone(),
                result,
                ..Default::default()
            }));
        }
        self.end_rejected(&id, index);
    }

    /// Ends the session of a step that its agent turned down.
    pub(super) fn end_rejected(&mut self, id: &DelegationId, index: u32) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        let grace_ms = delegation.limits.grace_ms;
        let Some(task) = delegation.task(index).filter(|task| task.rejection.is_some()) else { return };
        let Some(session) = task.session().map(|session| session.id.clone()) else { return };
        let id = CommandId::from(format!("rejected-{session}"));
        self.effects.push(Effect::Order { session, id, order: Order::End { grace_ms } });
    }

    /// Writes down that a hand-off was taken, once.
    fn take_hand_off(
        &mut self,
        id: &DelegationId,
        session: &SessionId,
        by: Option<String>,
        reason: Option<String>,
    ) {
        let Some(delegation) = self.kernel.delegations.get(id) else { return };
        if delegation.taken.is_some() || delegation.handoff.is_none() {
            return;
        }
        let subtask_id = self.locate(session).map(|at| at.subtask);
        self.emit(Body::Taken(p::Taken {
            delegation_id: id.clone(),
            subtask_id,
            session_id: Some(session.clone()),
            by,
            reason,
            ..Default::default()
        }));
    }

    /// Whoever begins to work has taken it, unless a word was asked for.
    pub(super) fn take_by_starting(&mut self, at: &Place) {
        let Some(delegation) = self.kernel.delegations.get(&at.delegation) else { return };
        if !is_offer(delegation) {
            let why = Some("it began to work without saying so".to_owned());
            self.take_hand_off(&at.delegation, &at.session, Some(BY_STARTING.into()), why);
        }
    }

    /// Lets the time in which an offer can be accepted run: by the wall clock, as it was told.
    pub(super) fn run_offer_clock(&mut self, id: &DelegationId) {
        let Some(until) = self.kernel.offered_until(id) else { return };
        let left = u64::try_from(until.since(self.tick.at).as_millis()).unwrap_or(u64::MAX);
        let (key, at_ms) = (TimerKey::Offer(id.clone()), self.due(left));
        self.effects.push(Effect::SetTimer { key, at_ms, epoch: 0 });
    }

    /// An offer can no longer be accepted: all of it is ended.
    pub(super) fn offer_due(&mut self, id: &DelegationId) {
        match self.kernel.offered_until(id) {
            Some(until) if until > self.tick.at => self.run_offer_clock(id),
            Some(_) => {
                self.emit(Body::BudgetReached(p::BudgetReached {
                    delegation_id: id.clone(),
                    level: Some(ACCEPTANCE.into()),
                    ..Default::default()
                }));
                self.touch(id);
            }
            None => {}
        }
    }

    /// What came back does not have the form that was asked for: asked for again once, where the agent can go on with
    /// its session; then it stands or fails, as the contract says.
    pub(super) fn malformed(&mut self, at: &Place, result: Box<Outcome>, is_partial: bool, enforced: bool) {
        let task = self.kernel.task(&at.delegation, at.index);
        let may_ask = task.is_some_and(|task| task.cli.is_some() && task.kept.is_none());
        if may_ask && result.findings.iter().any(is_of_form) {
            let why = self.kernel.complaint(at, Some(&result));
            let mut result = result;
            if enforced {
                result.extra.insert(ENFORCED.into(), true.into());
            }
            return self.ask_for_the_form(at, result, why);
        }
        self.settle_form(at, result, is_partial, enforced);
    }

    /// An attempt that only had to say it again did not: what it answered first counts. Returns what there is to judge
    /// where it was no such attempt.
    pub(super) fn fall_back(&mut self, at: &Place) -> bool {
        let task = self.kernel.task(&at.delegation, at.index);
        let Some(kept) = task.and_then(|task| task.kept.clone()) else { return false };
        let enforced = kept.extra.contains_key(ENFORCED);
        let is_partial = kept.extra.get("status").and_then(|status| status.as_str()) == Some("partial");
        self.settle_form(at, kept, is_partial, enforced);
        true
    }

    fn settle_form(&mut self, at: &Place, mut result: Box<Outcome>, is_partial: bool, enforced: bool) {
        result.extra.remove(ENFORCED);
        match self.kernel.complaint(at, Some(&result)).filter(|_| enforced) {
            Some(why) => self.failed(at, why, false, Some(result)),
            None => self.completed(at, is_partial.then_some("partial"), Some(result)),
        }
    }
}

/// What a kept answer is marked with that is to fail if nothing better comes.
pub(super) const ENFORCED: &str = "contractEnforced";
