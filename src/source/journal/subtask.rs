//! What the events of steps, their sessions, their agents and their questions tell.

use super::delegation::ended;
use super::{Teller, report, step};
use crate::model::event::payload as p;
use crate::model::fact::{Action, Clock, Description, NodeFact, Scope, StatusReport, UsageReport, session};
use crate::model::handoff::Handoff;
use crate::model::id::{AgentId, SessionId};
use crate::model::key::{Keys, NodeKey};
use crate::model::name::Name;
use crate::model::node::{Attempt, NodeKind, Question};
use crate::model::words::Field;

const FIELD: Field = Field::Task;

impl Teller<'_> {
    pub(super) fn subtask_started(&mut self, data: p::SubtaskStarted, name: &'static str) {
        let keys = step(&data.delegation_id, &data.subtask_id, data.session_id.as_ref());
        let agent: Option<Name> = data.agent_id.map(Into::into);
        let model: Option<Name> = data.model.map(Into::into);
        let description = Description {
            title: data.title,
            index: data.subtask_index,
            agent: agent.clone(),
            provider: data.provider.map(Into::into),
            model_requested: model.clone(),
            ..Description::default()
        };
        self.node(&keys, NodeFact::Described(Box::new(description)));
        let attempt = Attempt {
            attempt: data.attempt.unwrap_or(0),
            session_id: data.session_id,
            agent,
            model,
            started_at: Some(self.at),
            ..Attempt::default()
        };
        self.node(&keys, NodeFact::Attempted(Box::new(attempt)));
        self.finish_by(&keys, data.deadline);
        if let Some(millis) = data.stale_after_ms {
            self.node(&keys, NodeFact::MaySleep(millis));
        }
        self.status(&keys, report(FIELD, "running", None, data.attempt), name);
    }

    pub(super) fn subtask_progress(&mut self, data: p::SubtaskProgress) {
        let keys = step(&data.delegation_id, &data.subtask_id, data.session_id.as_ref());
        self.progressed(keys, data.progress, data.last_action, data.next_action);
    }

    pub(super) fn subtask_usage(&mut self, data: p::SubtaskUsage) {
        let keys = step(&data.delegation_id, &data.subtask_id, data.session_id.as_ref());
        let scope = if data.of_turn == Some(true) { Scope::Total } else { Scope::Message };
        let usage = UsageReport {
            id: Some(self.usage_id(&keys, data.message_id.as_deref(), data.request_id.as_deref())),
            scope,
            model: data.model.map(Into::into),
            tokens: data.usage.unwrap_or_default(),
            cost: data.cost,
            by_table: data.price_date.is_some(),
            ..UsageReport::default()
        };
        self.used(keys, usage);
    }

    pub(super) fn subtask_turn(&mut self, data: p::SubtaskTurn, word: &'static str, name: &'static str) {
        let keys = step(&data.delegation_id, &data.subtask_id, data.session_id.as_ref());
        self.finish_by(&keys, data.deadline);
        if let Some(result) = data.result {
            self.node(&keys, NodeFact::Returned(result));
        }
        if let Some(quality) = data.quality {
            self.node(&keys, NodeFact::Quality(quality));
        }
        self.status(&keys, report(FIELD, word, data.reason, data.attempt), name);
    }

    pub(super) fn subtask_completed(&mut self, data: p::SubtaskCompleted, name: &'static str) {
        let keys = step(&data.delegation_id, &data.subtask_id, data.session_id.as_ref());
        if let Some(result) = data.result {
            self.node(&keys, NodeFact::Returned(result));
        }
        if let Some(quality) = data.quality {
            self.node(&keys, NodeFact::Quality(quality));
        }
        let end = StatusReport { attempt: data.attempt, why: data.reason, ..ended(FIELD, data.status) };
        self.status(&keys, end, name);
    }

    pub(super) fn subtask_failed(&mut self, data: p::SubtaskFailed, name: &'static str) {
        let keys = step(&data.delegation_id, &data.subtask_id, data.session_id.as_ref());
        if let Some(result) = data.result {
            self.node(&keys, NodeFact::Returned(result));
        }
        let failed = report(FIELD, "failed", data.error, data.attempt);
        self.status(&keys, StatusReport { retryable: data.retryable, ..failed }, name);
    }

    pub(super) fn subtask_retried(&mut self, data: p::SubtaskRetried, name: &'static str) {
        let keys = step(&data.delegation_id, &data.subtask_id, None);
        let description = Description {
            agent: data.agent_id.map(Into::into),
            model_requested: data.model.map(Into::into),
            max_attempts: data.max_attempts,
            ..Description::default()
        };
        self.node(&keys, NodeFact::Described(Box::new(description)));
        self.node(&keys, NodeFact::Status(Box::new(report(FIELD, "queued", None, data.attempt))));
        self.happened(&keys, name, data.reason.map(Into::into));
    }

    pub(super) fn subtask_skipped(&mut self, data: p::SubtaskSkipped, name: &'static str) {
        let keys = step(&data.delegation_id, &data.subtask_id, None);
        if let Some(result) = data.result {
            self.node(&keys, NodeFact::Returned(result));
        }
        self.status(&keys, report(FIELD, "skipped", data.reason, None), name);
    }

    pub(super) fn subtask_reported(&mut self, data: p::SubtaskReported, name: &'static str) {
        let keys = step(&data.delegation_id, &data.subtask_id, data.session_id.as_ref());
        if let Some(result) = data.result {
            self.node(&keys, NodeFact::Returned(result));
        }
        let note = data.reason.or(data.status);
        self.happened(&keys, name, note.map(Into::into));
    }

    pub(super) fn subtask_tree(&mut self, data: p::SubtaskTree, name: &'static str) {
        let keys = step(&data.delegation_id, &data.subtask_id, None);
        let Some(tree) = data.tree else { return };
        let note = tree.reason.as_deref().map_or_else(|| tree.state.as_str().into(), Into::into);
        self.node(&keys, NodeFact::Worked(tree));
        self.happened(&keys, name, Some(note));
    }

    pub(super) fn agent_started(&mut self, data: p::AgentStarted, name: &'static str) {
        let mut keys = agent(&data.session_id, &data.agent_id);
        if let Some(call) = data.tool_use_id {
            keys = keys.and(NodeKey::ToolUse(call.into()));
        }
        if let Some(tool) = data.tool {
            // Only Claude Code's sub-agents are no sessions of their own.
            let own =
                if tool == crate::agent::claude::TOOL { NodeKey::CliAgent } else { NodeKey::CliSession };
            keys = keys.and(own(tool.into(), id_in_files(data.agent_id.as_str()).into()));
        }
        if let (Some(delegation), Some(subtask)) = (&data.delegation_id, &data.subtask_id) {
            let around = step(delegation, subtask, Some(&data.session_id));
            self.node(around, NodeFact::Seen(NodeKind::Subtask));
        }
        self.node(&keys, NodeFact::Seen(NodeKind::Agent));
        if let Some(parent) = &data.parent_agent_id {
            self.node(&keys, NodeFact::Under(Box::new(agent(&data.session_id, parent))));
        }
        if let Some(task) = data.task {
            let handoff = Handoff { context: Some(task), ..Handoff::default() };
            self.node(&keys, NodeFact::HandedOff(Box::new(handoff)));
        }
        let description = Description {
            title: data.title,
            agent: data.agent_type.map(Into::into),
            provider: data.provider.map(Into::into),
            model_effective: data.model.map(Into::into),
            ..Description::default()
        };
        self.node(&keys, NodeFact::Described(Box::new(description)));
        self.status(&keys, report(Field::Session, "running", None, None), name);
    }

    pub(super) fn agent_progress(&mut self, data: p::AgentProgress) {
        let keys = agent(&data.session_id, &data.agent_id);
        self.progressed(keys, data.progress, data.last_action, data.next_action);
    }

    pub(super) fn agent_usage(&mut self, data: p::AgentUsage) {
        let keys = agent(&data.session_id, &data.agent_id);
        let usage = UsageReport {
            id: Some(self.usage_id(&keys, data.message_id.as_deref(), data.request_id.as_deref())),
            model: data.model.map(Into::into),
            tokens: data.usage.unwrap_or_default(),
            cost: data.cost,
            by_table: data.price_date.is_some(),
            ..UsageReport::default()
        };
        self.used(keys, usage);
    }

    pub(super) fn agent_ended(&mut self, data: p::AgentEnded, name: &'static str) {
        let keys = agent(&data.session_id, &data.agent_id);
        if let Some(result) = data.result {
            self.node(&keys, NodeFact::Returned(result));
        }
        let end = StatusReport { why: data.error, ..ended(Field::Session, data.status) };
        self.status(&keys, end, name);
    }

    pub(super) fn asked(&mut self, data: p::Asked, name: &'static str) {
        let keys = asker(&data);
        let question = Question {
            question_id: data.question_id,
            asked_at: Some(self.at),
            text: data.text.map(Into::into),
            tool: data.tool.map(Into::into),
            input: data.input,
            options: data.options.unwrap_or_default(),
        };
        self.happened(&keys, name, question.text.clone());
        self.node(keys, NodeFact::Asked(Box::new(question)));
    }

    pub(super) fn settled(&mut self, data: p::Answered, name: &'static str) {
        if let Some(id) = &data.session_id {
            let keys = Keys::from(session(id));
            self.happened(&keys, name, data.answer.or(data.reason).map(Into::into));
            self.node(keys, NodeFact::Settled(data.question_id));
        }
    }

    pub(super) fn session_intended(&mut self, data: p::SessionIntended) {
        let keys = step(&data.delegation_id, &data.subtask_id, Some(&data.session_id));
        let attempt = Attempt {
            attempt: data.attempt.unwrap_or(0),
            session_id: Some(data.session_id),
            agent: data.agent.map(Into::into),
            model: data.model.map(Into::into),
            intended_at: Some(self.at),
            ..Attempt::default()
        };
        self.node(&keys, NodeFact::Attempted(Box::new(attempt)));
        if data.command.is_some() {
            let description = Description { command: data.command, ..Description::default() };
            self.node(keys, NodeFact::Described(Box::new(description)));
        }
    }

    pub(super) fn session_started(&mut self, data: p::SessionStarted) {
        let mut keys = Keys::from(session(&data.session_id));
        if let (Some(delegation), Some(subtask)) = (&data.delegation_id, &data.subtask_id) {
            keys = step(delegation, subtask, Some(&data.session_id));
        }
        if let (Some(tool), Some(id)) = (data.tool, data.cli_session_id) {
            keys = keys.and(NodeKey::CliSession(tool.into(), id.into()));
        }
        if let (Some(pid), Some(start)) = (data.pid, data.pid_start) {
            keys = keys.and(NodeKey::Process(pid, start));
        }
        let attempt = Attempt {
            attempt: data.attempt.unwrap_or(0),
            session_id: Some(data.session_id),
            started_at: Some(self.at),
            pid: data.pid,
            pid_start: data.pid_start,
            timeout: data.timeout,
            ..Attempt::default()
        };
        self.finish_by(&keys, data.deadline);
        if data.workspace.is_some() {
            let description = Description { workspace: data.workspace, ..Description::default() };
            self.node(&keys, NodeFact::Described(Box::new(description)));
        }
        self.node(keys, NodeFact::Attempted(Box::new(attempt)));
    }

    /// Tells under which id the agent's own tool keeps the session: what is read of its files joins the same node.
    pub(super) fn session_named(&mut self, data: p::SessionNamed) {
        let mut keys = Keys::from(session(&data.session_id));
        if let (Some(delegation), Some(subtask)) = (&data.delegation_id, &data.subtask_id) {
            keys = step(delegation, subtask, Some(&data.session_id));
        }
        if let Some(id) = data.cli_session_id {
            let told = data.tool.into_iter().chain(data.keeper);
            keys =
                told.fold(keys, |keys, tool| keys.and(NodeKey::CliSession(tool.into(), id.as_str().into())));
        }
        let model_effective = data.model.map(Into::into);
        let description = Description { model_effective, ..Description::default() };
        self.node(keys, NodeFact::Described(Box::new(description)));
    }

    pub(super) fn session_ended(&mut self, data: p::SessionEnded, name: &'static str) {
        let keys = Keys::from(session(&data.session_id));
        let attempt = Attempt {
            attempt: data.attempt.unwrap_or(0),
            session_id: Some(data.session_id),
            ended_at: Some(self.at),
            exit_code: data.exit_code,
            signal: data.signal,
            reason: data.reason.as_deref().map(Into::into),
            ..Attempt::default()
        };
        self.node(&keys, NodeFact::Attempted(Box::new(attempt)));
        // A plain end is told by the attempt; one with a reason belongs into the timeline too.
        if let Some(reason) = data.reason {
            self.happened(&keys, name, Some(reason.into()));
        }
    }

    fn progressed(
        &mut self,
        keys: Keys,
        progress: Option<p::Progress>,
        last: Option<String>,
        next: Option<String>,
    ) {
        if let Some(progress) = progress {
            self.node(&keys, NodeFact::Progressed(progress));
        }
        self.node(keys, NodeFact::Active(Action { last, next }));
    }

    fn used(&mut self, keys: Keys, usage: UsageReport) {
        if usage.model.is_some() {
            let description = Description { model_effective: usage.model.clone(), ..Description::default() };
            self.node(&keys, NodeFact::Described(Box::new(description)));
        }
        self.node(keys, NodeFact::Used(Box::new(usage)));
    }

    fn finish_by(&mut self, keys: &Keys, deadline: Option<crate::model::time::Stamp>) {
        if let Some(at) = deadline {
            self.node(keys, NodeFact::Clock(Clock::FinishBy, at));
        }
    }
}

/// Returns the id under which a tool keeps a sub-agent: who speaks for Codex puts the session's own before it.
fn id_in_files(agent: &str) -> &str {
    agent.rsplit_once(":subagent:").map_or(agent, |(_, id)| id)
}

fn agent(session_id: &SessionId, agent_id: &AgentId) -> Keys {
    NodeKey::Agent(session_id.clone(), agent_id.clone()).into()
}

/// A question is kept with its session's step, whichever agent inside asked it: that is where it can be
/// answered, and where its answer, which names the session only, finds it.
fn asker(data: &p::Asked) -> Keys {
    match (&data.delegation_id, &data.subtask_id) {
        (Some(delegation), Some(subtask)) => step(delegation, subtask, Some(&data.session_id)),
        _ => session(&data.session_id).into(),
    }
}
