//! What reports about sessions mean for their steps: begun, ended well or badly, lost, asked something.

use crate::decide::contract::text::RECOVERY;
use crate::model::event::{Body, payload as p};
use crate::model::handoff::Outcome;
use crate::model::id::{CommandId, DelegationId, SessionId, SubtaskId};
use crate::model::time::Stamp;

use super::Turn;
use super::effect::{Effect, TimerKey};
use super::fold::CUT;
use super::input::{Did, Exit, Host, Report, Settled, Verdict};
use super::quality::worth;
use super::schedule::timeout;
use super::state::{Phase, Stop, Sweeping, Task};
use super::verdict::Judged;

/// How soon what could not be ended is looked for again, at first; then twice as long each time.
const SWEEP_AGAIN: u64 = 1_000;
/// How often it is looked for at least.
const SWEEP_AT_LEAST: u64 = 60_000;
/// So many processes are named.
const MOST_NAMED: usize = 8;

/// How an attempt came to its end.
enum End {
    Exited(Exit),
    Lost { pids: Vec<u32> },
    NotStarted { error: String },
    Held { until: Stamp, why: String },
}

/// Whether a session ends for itself.
enum Fate {
    /// By its own doing: its end says how.
    Own,
    /// Because a command ended it.
    Stopped(Stop),
    /// Because its delegation was stopped around it.
    Cut,
}

/// A session with its step, as events name them.
#[derive(Clone)]
pub(super) struct Place {
    pub session: SessionId,
    pub delegation: DelegationId,
    pub index: u32,
    pub subtask: SubtaskId,
    pub attempt: u32,
}

impl Turn<'_> {
    pub(super) fn report(&mut self, report: Report) {
        match report {
            Report::Started { session, host } => self.session_started(&session, &host),
            Report::NotStarted { session, error } => self.session_over(&session, End::NotStarted { error }),
            Report::Held { session, until, why } => self.session_over(&session, End::Held { until, why }),
            Report::Exited { session, exit } => self.exited(&session, exit),
            Report::Gone { session } => self.gone(&session),
            Report::Swept { session, pids, left } => self.swept(&session, pids, &left),
            Report::Answered { session, order, did, pids } => self.answered(&session, order, did, pids),
            Report::Fed { session, id, trouble } => self.fed(&session, &id, trouble),
            Report::Asked(asked) => self.asked(*asked),
            Report::Settled { session, question, how } => {
                let (answer, reason) = match how {
                    Settled::Answered(answer) => (Some(answer), None),
                    Settled::Withdrawn(reason) => (None, Some(reason)),
                };
                let told = p::Answered {
                    question_id: question,
                    session_id: Some(session),
                    answer,
                    reason,
                    ..Default::default()
                };
                self.settle_question(told);
            }
            Report::Tree { delegation, subtask, command, tree } => {
                self.tree_came(&delegation, &subtask, command.as_ref(), tree);
            }
            Report::Undone { delegation, command, came } => self.undone(delegation, command, came),
            // The model keeps signs of life; nothing is decided by them.
            Report::Alive { .. } => {}
        }
    }

    pub(super) fn locate(&self, session: &SessionId) -> Option<Place> {
        let (delegation, index) = self.kernel.locate(session)?;
        let task = self.kernel.task(&delegation, index)?;
        let (subtask, attempt) = (task.spec.id.clone(), task.attempt);
        Some(Place { session: session.clone(), delegation, index, subtask, attempt })
    }

    fn phase(&self, at: &Place) -> Option<Phase> {
        Some(self.kernel.task(&at.delegation, at.index)?.session()?.phase)
    }

    pub(super) fn session_started(&mut self, session: &SessionId, host: &Host) {
        let Some(at) = self.locate(session) else { return };
        if self.phase(&at) != Some(Phase::Intended) {
            return;
        }
        let Some(delegation) = self.kernel.delegations.get(&at.delegation) else { return };
        let Some(task) = delegation.task(at.index) else { return };
        let timeout_ms = timeout(delegation, task);
        let remaining = timeout_ms.map(|whole| host.remaining_ms.unwrap_or(whole).min(whole));
        let deadline = remaining.map(|remaining| self.later(remaining));
        let begun = p::SubtaskStarted {
            delegation_id: at.delegation.clone(),
            subtask_id: at.subtask.clone(),
            subtask_index: Some(at.index + 1),
            title: task.spec.title.clone(),
            agent_id: task.spec.agent.clone(),
            model: task.spec.model.clone(),
            session_id: Some(session.clone()),
            attempt: Some(at.attempt),
            deadline,
            ..Default::default()
        };
        if let Some(tree) = host.tree.clone() {
            self.tell_tree(&at.delegation, &at.subtask, None, tree);
        }
        self.emit(Body::SessionStarted(p::SessionStarted {
            session_id: session.clone(),
            delegation_id: Some(at.delegation.clone()),
            subtask_id: Some(at.subtask.clone()),
            attempt: Some(at.attempt),
            pid: host.pid,
            pid_start: host.pid_start,
            boot_id: host.boot_id.clone(),
            deadline,
            timeout: timeout_ms.map(|whole| whole.div_ceil(1000)),
            channel: host.channel.then_some(true),
            tool: host.cli.as_ref().map(|cli| cli.tool.clone()),
            cli_session_id: host.cli.as_ref().map(|cli| cli.session.clone()),
            workspace: host.workspace.clone(),
            ..Default::default()
        }));
        self.emit(Body::SubtaskStarted(begun));
        self.take_by_starting(&at);
        self.run_clock(&at.delegation, at.index, remaining);
    }

    pub(super) fn exited(&mut self, session: &SessionId, exit: Exit) {
        if exit.left == 0 {
            self.session_over(session, End::Exited(exit));
        } else if self.locate(session).is_some() {
            let sweeping = Sweeping { exit: Some(exit), ..Sweeping::default() };
            self.kernel.brief.sweeping.insert(session.clone(), sweeping);
            self.effects.push(Effect::Sweep { session: session.clone() });
        }
    }

    pub(super) fn gone(&mut self, session: &SessionId) {
        if self.locate(session).is_some() && !self.kernel.brief.sweeping.contains_key(session) {
            self.kernel.brief.sweeping.insert(session.clone(), Sweeping::default());
            self.effects.push(Effect::Sweep { session: session.clone() });
        }
    }

    fn swept(&mut self, session: &SessionId, pids: Vec<u32>, left: &[u32]) {
        let Some(sweeping) = self.kernel.brief.sweeping.get_mut(session) else { return };
        sweeping.pids.extend(pids);
        if !left.is_empty() {
            // Only this attempt waits for them: looked for again, less and less often, until none is found.
            let delay = SWEEP_AGAIN.saturating_mul(1 << sweeping.tries.min(6)).min(SWEEP_AT_LEAST);
            sweeping.tries = sweeping.tries.saturating_add(1);
            let (epoch, is_first) = (u64::from(sweeping.tries), sweeping.tries == 1);
            let (key, at_ms) = (TimerKey::Sweep(session.clone()), self.due(delay));
            self.effects.push(Effect::SetTimer { key, at_ms, epoch });
            if is_first {
                self.tell_stuck(session, left);
            }
            return;
        }
        let Some(Sweeping { exit, pids, .. }) = self.kernel.brief.sweeping.remove(session) else { return };
        match exit {
            Some(exit) => {
                let pids = exit.pids.iter().copied().chain(pids).collect();
                self.session_over(session, End::Exited(Exit { pids, left: 0, ..exit }));
            }
            None => self.session_over(session, End::Lost { pids: pids.into_iter().collect() }),
        }
    }

    /// Says who holds up the end of a session.
    fn tell_stuck(&mut self, session: &SessionId, left: &[u32]) {
        let Some(at) = self.locate(session) else { return };
        let pids: Vec<String> = left.iter().take(MOST_NAMED).map(ToString::to_string).collect();
        let (pids, more) = (pids.join(", "), left.len().saturating_sub(MOST_NAMED));
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        self.emit(Body::SubtaskProgress(p::SubtaskProgress {
            delegation_id: at.delegation,
            subtask_id: at.subtask,
            last_action: Some(format!("its host is gone, and pid {pids}{more} cannot be ended; tried again")),
            ..Default::default()
        }));
    }

    /// Looks again for what could not be ended.
    pub(super) fn sweep_due(&mut self, session: &SessionId) {
        self.effects.push(Effect::Sweep { session: session.clone() });
    }

    fn session_over(&mut self, session: &SessionId, end: End) {
        let Some(at) = self.locate(session) else { return };
        let Some(phase) = self.phase(&at) else { return };
        if phase == Phase::Intended && matches!(end, End::Exited(_)) {
            // It ran, and ended before anybody heard of it.
            self.session_started(session, &Host::default());
        }
        let fate = self.fate(&at);
        let expired = self.kernel.brief.expired.contains(session);
        if phase != Phase::Over {
            self.end_session(&at, &end);
        }
        self.verdict(&at, end, fate, expired);
        self.touch(&at.delegation);
        for child in self.kernel.children_of(&at.delegation, at.index) {
            self.touch(&child);
        }
    }

    /// Returns whether a step is ended on purpose: by a command, or with its delegation.
    fn fate(&self, at: &Place) -> Fate {
        let Some(delegation) = self.kernel.delegations.get(&at.delegation) else { return Fate::Own };
        let session = delegation.task(at.index).and_then(Task::session);
        let stop = session.and_then(|session| session.stop.clone());
        match stop.or_else(|| delegation.cancel.clone()) {
            Some(stop) => Fate::Stopped(stop),
            None if self.kernel.is_stopping(delegation) => Fate::Cut,
            None => Fate::Own,
        }
    }

    fn end_session(&mut self, at: &Place, end: &End) {
        let questions: Vec<_> = self
            .kernel
            .task(&at.delegation, at.index)
            .and_then(Task::session)
            .map(|session| session.questions.iter().cloned().collect())
            .unwrap_or_default();
        for question_id in questions {
            self.emit(Body::Withdrawn(p::Answered {
                question_id,
                session_id: Some(at.session.clone()),
                reason: Some("the session ended".into()),
                ..Default::default()
            }));
        }
        let (mut code, mut signal, mut reason, mut pids) = (None, None, None, Vec::new());
        match end {
            End::Exited(exit) => {
                (code, signal, pids) = (exit.code, exit.signal, exit.pids.clone());
            }
            End::Lost { pids: found } => {
                (reason, pids) = (Some("lost".to_owned()), found.clone());
            }
            End::NotStarted { error } => reason = Some(format!("did not start: {error}")),
            End::Held { why, .. } => reason = Some(format!("not started yet: {why}")),
        }
        let ended = p::SessionEnded {
            session_id: at.session.clone(),
            delegation_id: Some(at.delegation.clone()),
            subtask_id: Some(at.subtask.clone()),
            attempt: Some(at.attempt),
            exit_code: code,
            signal,
            reason,
            pids: Some(pids).filter(|pids| !pids.is_empty()),
            ..Default::default()
        };
        let lost = matches!(end, End::Lost { .. });
        self.emit(if lost { Body::SessionLost(ended) } else { Body::SessionEnded(ended) });
    }

    fn verdict(&mut self, at: &Place, end: End, fate: Fate, expired: bool) {
        match fate {
            Fate::Own => {}
            Fate::Stopped(stop) => return self.stopped(at, Some(stop)),
            Fate::Cut => return self.stopped(at, None),
        }
        let task = self.kernel.task(&at.delegation, at.index);
        if let Some(why) = task.and_then(|task| task.rejection.clone()) {
            return self.failed(at, format!("rejected: {why}"), false, None);
        }
        match end {
            End::NotStarted { error } => self.start_refused(at, error),
            End::Held { until, why } => self.hold_until(at, until, why),
            End::Lost { .. } => self.failed_or_kept(at, "lost".into(), true, None),
            End::Exited(exit) if expired => self.timed_out(at, exit.verdict.result()),
            End::Exited(exit) => match exit.verdict {
                Verdict::Done { result } => self.completed(at, None, result),
                Verdict::Partial { result } => self.completed(at, Some("partial"), result),
                Verdict::Malformed { result, is_partial, enforced } => {
                    self.malformed(at, result, is_partial, enforced);
                }
                Verdict::Failed { error, retryable, result } => {
                    self.failed_or_kept(at, error, retryable, result);
                }
                Verdict::TimedOut { result } => self.timed_out(at, result),
                Verdict::Limited { until, error } => self.hold_until(at, until, error),
            },
        }
    }

    fn stopped(&mut self, at: &Place, stop: Option<Stop>) {
        let turn = p::SubtaskTurn {
            delegation_id: at.delegation.clone(),
            subtask_id: at.subtask.clone(),
            session_id: Some(at.session.clone()),
            attempt: Some(at.attempt),
            ..Default::default()
        };
        match stop {
            Some(Stop::Cancelled { reason, by }) => {
                self.emit(Body::SubtaskCancelled(p::SubtaskTurn { reason, by, ..turn }));
            }
            Some(Stop::Skipped { reason, by, result }) => {
                self.skipped(&at.delegation, at.subtask.clone(), reason, by, result);
            }
            None => {
                let reason = Some("its delegation was stopped".to_owned());
                self.emit(Body::SubtaskCancelled(p::SubtaskTurn { reason, mode: Some(CUT.into()), ..turn }));
            }
        }
    }

    pub(super) fn skipped(
        &mut self,
        id: &DelegationId,
        subtask_id: SubtaskId,
        reason: Option<String>,
        by: Option<String>,
        result: Option<String>,
    ) {
        let result = result.map(|summary| Box::new(Outcome { summary: Some(summary), ..Default::default() }));
        let approved = self.kernel.approves_instead(id, &subtask_id, result.as_deref());
        self.emit(Body::SubtaskSkipped(p::SubtaskSkipped {
            delegation_id: id.clone(),
            subtask_id,
            reason,
            by,
            result,
            approved,
            ..Default::default()
        }));
    }

    /// An attempt that only had to say its answer again, and did not, leaves the answer as it was.
    fn failed_or_kept(&mut self, at: &Place, error: String, retryable: bool, result: Option<Box<Outcome>>) {
        if !self.fall_back(at) {
            self.failed(at, error, retryable, result);
        }
    }

    pub(super) fn completed(&mut self, at: &Place, status: Option<&str>, result: Option<Box<Outcome>>) {
        let result = self.kernel.with_report(at, result);
        let judged = self.kernel.judged(at, result.as_deref());
        let score = judged.as_ref().and_then(|judged| judged.verdict.score);
        let worth = worth(status.is_some(), result.as_deref(), score);
        if status.is_none()
            && let Some(why) = self.kernel.lacking(at, worth.as_ref(), judged.as_ref())
        {
            return self.review(at, why, worth.as_ref(), result);
        }
        self.emit(Body::SubtaskCompleted(p::SubtaskCompleted {
            delegation_id: at.delegation.clone(),
            subtask_id: at.subtask.clone(),
            status: status.map(Into::into),
            quality: worth.map(|worth| f64::from(worth.score)),
            approved: judged.as_ref().and_then(Judged::approved),
            reason: judged
                .as_ref()
                .and_then(Judged::says)
                .or_else(|| self.kernel.complaint(at, result.as_deref())),
            result,
            session_id: Some(at.session.clone()),
            attempt: Some(at.attempt),
            ..Default::default()
        }));
        self.settle_tree(&at.delegation, at.index);
    }

    pub(super) fn failed(
        &mut self,
        at: &Place,
        error: String,
        retryable: bool,
        result: Option<Box<Outcome>>,
    ) {
        let result = self.kernel.with_report(at, result);
        self.emit(Body::SubtaskFailed(p::SubtaskFailed {
            delegation_id: at.delegation.clone(),
            subtask_id: at.subtask.clone(),
            error: Some(error),
            retryable: Some(retryable),
            result,
            session_id: Some(at.session.clone()),
            attempt: Some(at.attempt),
            ..Default::default()
        }));
        if retryable {
            self.try_again(&at.delegation, at.index);
        }
    }

    fn timed_out(&mut self, at: &Place, result: Option<Box<Outcome>>) {
        if self.fall_back(at) {
            return;
        }
        let result = self.kernel.with_report(at, result);
        self.emit(Body::SubtaskTimedOut(p::SubtaskTurn {
            delegation_id: at.delegation.clone(),
            subtask_id: at.subtask.clone(),
            reason: Some(RECOVERY.into()),
            result,
            session_id: Some(at.session.clone()),
            attempt: Some(at.attempt),
            ..Default::default()
        }));
        self.try_again(&at.delegation, at.index);
    }

    fn answered(&mut self, session: &SessionId, order: CommandId, did: Did, pids: Vec<u32>) {
        let Some(at) = self.locate(session) else { return };
        if self.phase(&at) == Some(Phase::Intended) {
            // Only a host that runs can answer.
            self.session_started(session, &Host::default());
        }
        match did {
            Did::Froze => self.froze(&at, order, pids),
            Did::Continued => self.continued(&at, order, pids),
            Did::Timed { remaining_ms } => self.timed(&at, order, remaining_ms),
            Did::Other => {}
        }
    }
}
