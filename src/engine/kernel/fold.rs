//! What each event does to the state: the only place that changes it.

use crate::model::budget::BUDGET;
use crate::model::command::{PauseMode, Verb};
use crate::model::event::payload::{self as p, Proof};
use crate::model::event::{Body, Event};
use crate::model::id::{DelegationId, SessionId, SubtaskId};
use crate::model::status::StatusWord;
use crate::model::time::Stamp;

use super::Kernel;
use super::govern::Governing;
use super::input::Cli;
use super::record::{ACCEPTANCE, FORM};
use super::state::{Clock, Pending, Phase, Session, State, Task};

/// The mark of a step that ended only because its delegation did.
pub(super) const CUT: &str = "cut";
/// The level of a delegation whose time is up.
pub(super) const DEADLINE: &str = "deadline";
/// Why a step is tried again whose result was not worth enough.
pub(super) const QUALITY: &str = "quality";
/// What a raise did to a node.
pub(super) const RAISED: &str = "deadline moved";

impl Kernel {
    /// Takes in an event.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other events change nothing that is decided here"
    )]
    pub fn apply(&mut self, event: &Event) {
        self.seq = event.seq;
        let last = self.at;
        // Before it is taken in: what ends with it is still found.
        self.unweigh(&event.body);
        self.at = Some(self.at.map_or(event.at, |last| last.max(event.at)));
        match &event.body {
            Body::Proposed(data) => self.proposed(data, event.seq, event.at),
            Body::Approved(data) => self.approved(&data.delegation_id),
            Body::Started(data) => self.started(data, event.seq, event.at),
            Body::Taken(data) => self.taken(data, event.at),
            Body::SubtaskReported(data) => self.reported(data),
            Body::Paused(data) => self.turned(data, StatusWord::Paused),
            Body::Resumed(data) => self.turned(data, StatusWord::Running),
            Body::Cancelled(data) => self.ended(&data.delegation_id, StatusWord::Cancelled),
            Body::Completed(data) => {
                let partial = data.status.as_deref() == Some("partial");
                let word = if partial { StatusWord::Partial } else { StatusWord::Done };
                self.ended(&data.delegation_id, word);
            }
            Body::Failed(data) => {
                self.ended(&data.delegation_id, StatusWord::Failed);
                self.owe_rollback(&data.delegation_id);
            }
            Body::Expired(data) => self.ended(&data.delegation_id, StatusWord::Expired),
            Body::Rejected(data) => self.ended(&data.delegation_id, StatusWord::Rejected),
            Body::BudgetReached(data) if matches!(data.level.as_deref(), Some(DEADLINE | ACCEPTANCE)) => {
                if let Some(delegation) = self.delegations.get_mut(&data.delegation_id) {
                    delegation.expired = true;
                    delegation.lapsed = data.level.as_deref() == Some(ACCEPTANCE);
                }
                self.refresh_below(&data.delegation_id);
            }
            Body::BudgetReached(data) => self.budget_told(data),
            Body::Archived(data) => self.archived(&data.delegation_id),
            Body::SessionIntended(data) => self.intended(data),
            Body::SessionStarted(data) => self.session_started(data),
            Body::SessionNamed(data) => self.session_named(data),
            Body::AgentEnded(data) => self.agent_ended(data),
            Body::SessionEnded(data) | Body::SessionLost(data) => self.session_ended(data),
            Body::Asked(data) => self.asked(data),
            Body::Answered(data) | Body::Withdrawn(data) => self.answered(data),
            Body::CommandAccepted(data) => self.accepted(data, event.at),
            Body::CommandConfirmed(data) => self.confirmed(data, event.at),
            Body::CommandRefused(data) => self.refused(data, event.at),
            Body::SettingsChanged(data) => self.settings(data),
            Body::HookRecorded(data) => self.hooked(&data.id),
            Body::EngineStarted(data) => self.engine_started(data.boot_id.as_ref(), last, event.at),
            Body::SubtaskUsage(data) => self.charge_step(data, event.at),
            Body::AgentUsage(data) => self.charge_agent(data, event.at),
            body => self.apply_subtask(body),
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other events change nothing that is decided here"
    )]
    fn apply_subtask(&mut self, body: &Body) {
        match body {
            Body::SubtaskPaused(data) => self.subtask_turned(data, true),
            Body::SubtaskResumed(data) => self.subtask_turned(data, false),
            Body::SubtaskCompleted(data) => {
                let partial = data.status.as_deref() == Some("partial");
                let how = if partial { StatusWord::Partial } else { StatusWord::Done };
                let result = data.result.as_ref().and_then(|result| result.summary.clone());
                self.subtask_ended(&data.delegation_id, &data.subtask_id, how, |task| {
                    task.result = result.or(task.result.take());
                    task.quality = data.quality.or(task.quality);
                    task.approved = data.approved;
                });
            }
            Body::SubtaskReview(data) => {
                let result = data.result.as_ref().and_then(|result| result.summary.clone());
                self.subtask_ended(&data.delegation_id, &data.subtask_id, StatusWord::Review, |task| {
                    task.state = State::Review;
                    task.error.clone_from(&data.reason);
                    (task.result, task.quality) = (result, data.quality);
                });
            }
            Body::SubtaskFailed(data) => {
                let result = data.result.as_ref().and_then(|result| result.summary.clone());
                self.subtask_ended(&data.delegation_id, &data.subtask_id, StatusWord::Failed, |task| {
                    task.error.clone_from(&data.error);
                    task.retryable = data.retryable.unwrap_or(false);
                    task.result = result;
                });
            }
            Body::SubtaskSkipped(data) => {
                let result = data.result.as_ref().and_then(|result| result.summary.clone());
                self.subtask_ended(&data.delegation_id, &data.subtask_id, StatusWord::Skipped, |task| {
                    task.result = result;
                    task.error.clone_from(&data.reason);
                    task.approved = data.approved;
                });
            }
            Body::SubtaskTimedOut(data) => {
                let result = data.result.as_ref().and_then(|result| result.summary.clone());
                self.subtask_ended(&data.delegation_id, &data.subtask_id, StatusWord::TimedOut, |task| {
                    task.error.clone_from(&data.reason);
                    task.retryable = true;
                    task.result = result.or(task.result.take());
                });
            }
            Body::SubtaskCancelled(data) => self.subtask_cancelled(data),
            Body::SubtaskRetried(data) => self.retried(data),
            Body::SubtaskTree(data) => self.tree_told(data),
            Body::RolledBack(data) => self.rolled_back(data),
            Body::RollbackFailed(data) => self.rollback_failed(data),
            _ => {}
        }
    }

    fn turned(&mut self, data: &p::Turn, word: StatusWord) {
        let Some(delegation) = self.delegations.get_mut(&data.delegation_id) else { return };
        if delegation.is_ended() {
            (delegation.cancel, delegation.expired, delegation.lapsed) = (None, false, false);
            // Whoever wakes it again asks nobody to accept it, and wants nothing undone.
            (delegation.offer_until, delegation.owed) = (None, None);
        }
        delegation.status = word;
        delegation.broke = word == StatusWord::Paused && data.reason.as_deref() == Some(BUDGET);
        delegation.epoch += 1;
        let paused = word == StatusWord::Paused;
        delegation.clock = Clock {
            deadline: data.deadline.filter(|_| !paused),
            due_ms: data.due_ms.filter(|_| !paused),
            remaining_ms: data.remaining_ms.filter(|_| paused),
        };
        self.count_child(&data.delegation_id);
        self.refresh_below(&data.delegation_id);
        let pending = data.command_id.as_ref().and_then(|command| self.pending.get_mut(command));
        if let Some(pending) = pending {
            let (delegation_id, did) = (Some(data.delegation_id.clone()), Some(RAISED.into()));
            pending.proofs.push(Proof { delegation_id, did, ..Proof::default() });
        }
    }

    /// Where the machine was started anew, the awake clock began again: what is left is taken from the wall
    /// clock as it was at the last event before. So the time between that event and the power cut is not
    /// charged, and nor is the time that the machine was off.
    fn engine_started(&mut self, boot: Option<&String>, last: Option<Stamp>, at: Stamp) {
        if boot.is_some() && self.boot.as_ref() == boot {
            return;
        }
        let was_off = last.filter(|_| boot.is_some()).map(|last| at.since(last)).unwrap_or_default();
        self.boot = boot.cloned();
        for delegation in self.delegations.values_mut() {
            let clock = &mut delegation.clock;
            clock.due_ms = None;
            clock.deadline = clock.deadline.map(|deadline| deadline.plus(was_off));
        }
    }

    fn ended(&mut self, id: &DelegationId, word: StatusWord) {
        let Some(delegation) = self.delegations.get_mut(id) else { return };
        (delegation.status, delegation.hold, delegation.clock) = (word, None, Clock::default());
        delegation.epoch += 1;
        self.count_child(id);
        self.refresh_below(id);
    }

    fn archived(&mut self, id: &DelegationId) {
        for gone in self.tree(id) {
            let Some(delegation) = self.delegations.remove(&gone) else { continue };
            self.index.startable.remove(&(delegation.born, gone.clone()));
            self.index.busy = self.index.busy.saturating_sub(delegation.tally.busy);
            for session in delegation.tasks.iter().filter_map(Task::session) {
                self.index.sessions.remove(&session.id);
            }
            if let Some(parent) = &delegation.parent
                && let Some(above) = self.delegations.get_mut(&parent.delegation)
                && let Some(children) = above.tally.children.get_mut(&parent.index)
            {
                children.remove(&gone);
                if children.is_empty() {
                    above.tally.children.remove(&parent.index);
                }
            }
        }
    }

    fn intended(&mut self, data: &p::SessionIntended) {
        let Some((id, index)) = self.place(&data.delegation_id, &data.subtask_id) else { return };
        let is_drain =
            |pending: &Pending| matches!(pending.command.verb, Verb::Pause { mode: PauseMode::Drain, .. });
        let drains: Vec<_> = self
            .pending
            .iter()
            .filter(|(_, pending)| is_drain(pending) && self.is_within(&id, index, &pending.command))
            .map(|(command, _)| command.clone())
            .collect();
        for command in drains {
            if let Some(pending) = self.pending.get_mut(&command) {
                pending.waits.insert(data.session_id.clone());
            }
        }
        let at = self.at;
        let Some(task) = self.task_mut(&id, index) else { return };
        task.account.since = task.account.since.or(at);
        task.attempt = data.attempt.unwrap_or_else(|| task.next_attempt());
        task.ripe = false;
        (task.report, task.rejection) = (None, None);
        task.epoch += 1;
        task.state = State::Live(Box::new(Session {
            id: data.session_id.clone(),
            phase: Phase::Intended,
            frozen: false,
            broke: false,
            stop: None,
            channel: false,
            clock: Clock::default(),
            questions: std::collections::BTreeSet::new(),
            heard: None,
        }));
        self.index.sessions.insert(data.session_id.clone(), (id.clone(), index));
        self.refresh(&id, index);
    }

    fn session_started(&mut self, data: &p::SessionStarted) {
        let Some((id, index)) = self.locate(&data.session_id) else { return };
        let Some(task) = self.task_mut(&id, index) else { return };
        (task.refused_starts, task.with_failure, task.refusal) = (0, false, None);
        task.epoch += 1;
        if let Some(session) = task.session_mut() {
            session.phase = Phase::Started;
            session.channel = data.channel.unwrap_or(false);
            session.clock = Clock::running(data.deadline);
        }
        task.cli = cli_of(data.tool.as_ref(), data.cli_session_id.as_ref()).or(task.cli.take());
    }

    fn session_named(&mut self, data: &p::SessionNamed) {
        let Some((id, index)) = self.locate(&data.session_id) else { return };
        if let Some(task) = self.task_mut(&id, index) {
            task.cli = cli_of(data.tool.as_ref(), data.cli_session_id.as_ref()).or(task.cli.take());
        }
    }

    /// Whoever cancelled an agent waits for its end.
    fn agent_ended(&mut self, data: &p::AgentEnded) {
        for pending in self.pending.values_mut() {
            let is_it = |verb: &Verb| matches!(verb, Verb::CancelAgent { agent_id, .. } if *agent_id == data.agent_id);
            if is_it(&pending.command.verb) && pending.waits.remove(&data.session_id) {
                pending.proofs.push(Proof {
                    delegation_id: Some(pending.command.delegation_id.clone()),
                    subtask_id: pending.command.subtask_id.clone(),
                    session_id: Some(data.session_id.clone()),
                    did: Some(format!("agent {} ended", data.agent_id)),
                    ..Proof::default()
                });
            }
        }
    }

    fn session_ended(&mut self, data: &p::SessionEnded) {
        let Some((id, index)) = self.locate(&data.session_id) else { return };
        if let Some(session) = self.task_mut(&id, index).and_then(Task::session_mut) {
            session.phase = Phase::Over;
            session.questions.clear();
        }
        let proof = Proof {
            delegation_id: data.delegation_id.clone(),
            subtask_id: data.subtask_id.clone(),
            session_id: Some(data.session_id.clone()),
            did: Some("ended".into()),
            pids: data.pids.clone(),
            ..Proof::default()
        };
        for pending in self.pending.values_mut() {
            if pending.waits.remove(&data.session_id) {
                pending.proofs.push(proof.clone());
            }
        }
        self.brief.due.remove(&data.session_id);
        self.brief.stopped.remove(&data.session_id);
        self.brief.sweeping.remove(&data.session_id);
    }

    fn asked(&mut self, data: &p::Asked) {
        let Some((id, index)) = self.locate(&data.session_id) else { return };
        let Some(task) = self.task_mut(&id, index) else { return };
        let Some(session) = task.session_mut() else { return };
        session.questions.insert(data.question_id.clone());
        session.heard = session.heard.max(data.from);
        if data.remaining_ms.is_some() {
            session.clock = Clock::standing(data.remaining_ms);
            task.epoch += 1;
            self.brief.due.remove(&data.session_id);
        }
    }

    fn answered(&mut self, data: &p::Answered) {
        let Some((id, index)) = data.session_id.as_ref().and_then(|session| self.locate(session)) else {
            return;
        };
        if let Some(session) = self.task_mut(&id, index).and_then(Task::session_mut) {
            session.questions.remove(&data.question_id);
        }
    }

    fn subtask_turned(&mut self, data: &p::SubtaskTurn, frozen: bool) {
        let Some((id, index)) = self.place(&data.delegation_id, &data.subtask_id) else { return };
        let Some(task) = self.task_mut(&id, index) else { return };
        let Some(session) = task.session_mut() else { return };
        session.frozen = frozen;
        session.broke = frozen && data.reason.as_deref() == Some(BUDGET);
        session.clock = if data.remaining_ms.is_some() {
            Clock::standing(data.remaining_ms)
        } else {
            Clock::running(data.deadline)
        };
        let session = session.id.clone();
        task.epoch += 1;
        let Some(pending) = data.command_id.as_ref().and_then(|command| self.pending.get_mut(command)) else {
            return;
        };
        let raises = matches!(pending.command.verb, Verb::Raise { tokens: None, cost: None, .. });
        let did = match frozen {
            _ if raises => RAISED,
            true => "frozen",
            false => "continued",
        };
        if pending.waits.remove(&session) || raises {
            pending.proofs.push(Proof {
                delegation_id: Some(data.delegation_id.clone()),
                subtask_id: Some(data.subtask_id.clone()),
                session_id: Some(session),
                did: Some(did.into()),
                pids: data.pids.clone(),
                ..Proof::default()
            });
        }
    }

    fn subtask_cancelled(&mut self, data: &p::SubtaskTurn) {
        let Some((id, index)) = self.place(&data.delegation_id, &data.subtask_id) else { return };
        if data.session_id.is_none() {
            let within: Vec<_> = self
                .pending
                .iter()
                .filter(|(_, pending)| {
                    matches!(pending.command.verb, Verb::Cancel { .. })
                        && self.is_within(&id, index, &pending.command)
                })
                .map(|(command, _)| command.clone())
                .collect();
            for command in within {
                if let Some(pending) = self.pending.get_mut(&command) {
                    pending.unstarted += 1;
                }
            }
        }
        let cut = data.mode.as_deref() == Some(CUT);
        self.subtask_ended(&data.delegation_id, &data.subtask_id, StatusWord::Cancelled, |task| {
            task.state = State::Ended { how: StatusWord::Cancelled, cut };
        });
    }

    fn subtask_ended(
        &mut self,
        id: &DelegationId,
        subtask: &SubtaskId,
        how: StatusWord,
        more: impl FnOnce(&mut Task),
    ) {
        let Some((id, index)) = self.place(id, subtask) else { return };
        let Some(task) = self.task_mut(&id, index) else { return };
        let was_met = task.is_met();
        let session = task.session().map(|session| session.id.clone());
        task.state = State::Ended { how, cut: false };
        (task.hold, task.ripe, task.kept) = (None, false, None);
        task.epoch += 1;
        more(task);
        let dependants = if task.is_met() && !was_met { task.dependants.clone() } else { Vec::new() };
        if let Some(session) = session {
            self.forget_session(&session);
        }
        self.refresh(&id, index);
        for dependant in dependants {
            if let Some(task) = self.task_mut(&id, dependant) {
                task.unmet = task.unmet.saturating_sub(1);
            }
            self.refresh(&id, dependant);
        }
    }

    fn retried(&mut self, data: &p::SubtaskRetried) {
        let Some((id, index)) = self.place(&data.delegation_id, &data.subtask_id) else { return };
        let Some(task) = self.task_mut(&id, index) else { return };
        let session = task.session().map(|session| session.id.clone());
        task.promised = data.attempt.unwrap_or_else(|| task.new_attempt());
        task.state = data.retry_at.map_or(State::Queued, |until| State::Backoff { until });
        (task.ripe, task.approved) = (false, None);
        task.epoch += 1;
        let was_held = matches!(data.cause.as_deref(), Some("start" | "limit"));
        task.refusal = data.reason.clone().filter(|_| was_held);
        match data.cause.as_deref() {
            Some("failure" | QUALITY) => task.retries += 1,
            Some("start") => task.refused_starts += 1,
            // Its provider's limit is no failure of the step.
            Some("limit") => {}
            Some(FORM) => task.kept.clone_from(&data.result),
            Some(_) | None => (task.retries, task.refused_starts) = (0, 0),
        }
        if let Some(agent) = &data.agent_id {
            task.spec.agent = Some(agent.clone());
        }
        if let Some(model) = &data.model {
            task.spec.model = Some(model.clone());
        }
        task.with_failure |= data.with_failure.unwrap_or(false);
        if data.fresh == Some(true) {
            task.cli = None;
        }
        if let Some(session) = session {
            self.forget_session(&session);
        }
        self.refresh(&id, index);
    }

    fn settings(&mut self, data: &p::SettingsChanged) {
        // Journals of earlier versions have them without their table.
        let number = |old: &str, name: &str| {
            let settings = data.settings.as_ref()?;
            let value = settings.get("limits").and_then(|limits| limits.get(name)).or(settings.get(old))?;
            u32::try_from(value.as_u64()?).ok()
        };
        if let Some(settings) = &data.settings {
            self.governing = Governing::of(settings);
            self.settings = Some(settings.clone());
        }
        if let Some(most) = number("maxConcurrent", "maxConcurrentAgents") {
            self.limits.max_concurrent = most.max(1);
        }
        if let Some(deepest) = number("maxDepth", "maxDepth") {
            self.limits.max_depth = deepest.clamp(1, 5);
        }
    }

    pub(super) fn place(&self, id: &DelegationId, subtask: &SubtaskId) -> Option<(DelegationId, u32)> {
        let delegation = self.delegations.get(id)?;
        Some((delegation.id.clone(), delegation.index_of(subtask)?))
    }

    pub(super) fn task_mut(&mut self, id: &DelegationId, index: u32) -> Option<&mut Task> {
        self.delegations.get_mut(id)?.task_mut(index)
    }

    fn forget_session(&mut self, session: &SessionId) {
        self.index.sessions.remove(session);
        self.brief.due.remove(session);
        self.brief.expired.remove(session);
        self.brief.stopped.remove(session);
        self.brief.sweeping.remove(session);
        self.brief.budget_orders.remove(session);
    }
}

fn cli_of(tool: Option<&String>, session: Option<&String>) -> Option<Cli> {
    Some(Cli { tool: tool?.clone(), session: session?.clone() })
}
