//! Tasks that an orchestrator hands to another provider's agent, whose answers then come in its own session: each is
//! a child of its own, with its provider's name.
//!
//! What the orchestrator says itself is marked as such. What is not marked is an answer: of the provider that the
//! message names, else of the one in whose mode the session is, else of the task that was handed over last.

use agent_client_protocol_schema::v1::{ToolCall, ToolCallStatus};
use serde_json::Value;

use super::calls::Told;
use super::{AcpAdapter, How, LONGEST_ID, LONGEST_TEXT, Made, cut};
use crate::agent::excerpt;
use crate::agent::log::{Entry, Started, Status};
use crate::model::id::AgentId;

/// How a change of the mode stands in the log.
pub(super) const MODE: &str = "mode";
/// What an orchestrator calls itself.
const ORCHESTRATORS: [&str; 3] = ["fm_orchestrator", "conversational_setup", "orchestrator"];
const PROVIDERS: [&str; 2] = ["codex", "claude"];

/// Returns whether a word is a provider's, as we write it.
pub(super) fn is_provider(word: &str) -> bool {
    PROVIDERS.contains(&word)
}

/// Returns the provider that a word means: a mode, an argument, a mark on a message.
fn provider(word: &str) -> Option<&'static str> {
    match word.to_lowercase().replace('-', "_").as_str() {
        "codex" => Some("codex"),
        "claude" | "claude_code" => Some("claude"),
        _ => None,
    }
}

/// Returns a mark on a message: it stands on the message, or inside its content.
fn mark<'a>(update: &'a Value, name: &str) -> Option<&'a str> {
    let at = |path: &str| update.pointer(path).and_then(|meta| meta.get(name)).and_then(Value::as_str);
    at("/_meta").or_else(|| at("/content/_meta"))
}

/// Returns whether a message is marked as the orchestrator's own.
pub(super) fn is_orchestrator(update: &Value) -> bool {
    mark(update, "source").is_some_and(|source| ORCHESTRATORS.contains(&source))
}

impl AcpAdapter {
    /// Takes a call that hands a task over; returns whether it is one.
    pub(super) fn hands_over(&mut self, call: &ToolCall, made: &mut Made) -> bool {
        let input = call.raw_input.as_ref().unwrap_or(&Value::Null);
        let argument = |name: &str| input[name].as_str().filter(|said| !said.is_empty());
        let to = match call.name.as_deref().unwrap_or(&call.title) {
            "delegate.run" => {
                let is_claude = argument("provider").is_some_and(|to| to.to_lowercase().contains("claude"));
                if is_claude { "claude" } else { "codex" }
            }
            "codex.run" => "codex",
            "claude_code.run" | "claude-code.run" | "claude.run" => "claude",
            _ => return false,
        };
        let id = AgentId::from(call.tool_call_id.to_string().as_str());
        if id.as_str().is_empty() || id.as_str().len() > LONGEST_ID || self.agents.contains_key(&id) {
            return true;
        }
        let task = argument("user_prompt");
        let title = argument("description").or(task).and_then(excerpt::title);
        let started = Started {
            title,
            task: task.map(|task| cut(task, LONGEST_TEXT)),
            kind: Some(to.into()),
            call: Some(id.to_string()),
            ..Started::default()
        };
        self.begin(&id, started, made);
        true
    }

    /// Takes what is told of such a call later; returns whether it is one. That the call is completed says only that
    /// the task was taken, unless it was answered before.
    pub(super) fn handed_call(&mut self, id: &str, told: &Told, made: &mut Made) -> bool {
        let id = AgentId::from(id);
        let Some(child) = self.agents.get(&id) else { return false };
        if !matches!(child.how, How::Handed { .. }) {
            return false;
        }
        let said = told.output.as_ref().map(excerpt::brief_value).unwrap_or_default();
        match told.status {
            Some(ToolCallStatus::Failed) => self.end_handed(&id, Status::Failed, Some(said), made),
            Some(ToolCallStatus::Completed) if self.has_answered(&id) => {
                self.end_handed(&id, Status::Done, None, made);
            }
            _ => {}
        }
        true
    }

    /// Returns the child that answers in a session of its own, which the first task without one gets.
    pub(super) fn handed_in(&mut self, session: &str) -> Option<AgentId> {
        let is_its = |how: &How, wanted: Option<&str>| matches!(how, How::Handed { session, .. } if session.as_deref() == wanted);
        let known = self.agents.iter().find(|(_, child)| is_its(&child.how, Some(session)));
        if let Some((id, _)) = known {
            return Some(id.clone());
        }
        let open = self.agents.iter_mut().filter(|(_, child)| !child.has_ended && is_its(&child.how, None));
        let (id, child) = open.min_by_key(|(_, child)| child.nth)?;
        if let How::Handed { session: own, .. } = &mut child.how {
            *own = Some(session.to_owned());
        }
        Some(id.clone())
    }

    /// Returns the child that a message of the agent's own session is an answer of.
    pub(super) fn handed_to(&self, update: &Value) -> Option<AgentId> {
        if is_orchestrator(update) {
            return None;
        }
        let is_message = update["sessionUpdate"] == "agent_message_chunk";
        let told = mark(update, "provider").and_then(provider);
        let by_mode = self.mode.as_deref().and_then(provider);
        let open = || {
            self.agents.iter().filter(|(_, child)| {
                !child.has_ended && matches!(&child.how, How::Handed { session: None, .. })
            })
        };
        let latest_of = |wanted: Option<&str>| {
            let is_of =
                |how: &How| matches!(how, How::Handed { provider, .. } if Some(provider.as_str()) == wanted);
            open()
                .filter(|(_, child)| wanted.is_none() || is_of(&child.how))
                .max_by_key(|(_, child)| child.nth)
        };
        let found = match told.or(by_mode) {
            Some(wanted) => latest_of(Some(wanted)).or_else(|| latest_of(None)),
            // What it thinks and does between is the orchestrator's, unless another's mode is in force.
            None if is_message => latest_of(None),
            None => None,
        };
        found.map(|(id, _)| id.clone())
    }

    /// Takes a change of the mode: into another provider's, or back.
    pub(super) fn mode_changed(&mut self, to_mode: &str, offset: u64, made: &mut Made) {
        let (left, entered) = (self.mode.as_deref().and_then(provider), provider(to_mode));
        if self.mode.as_deref() == Some(to_mode) {
            return;
        }
        let id = Some(format!("mode@{offset}"));
        made.push((None, Entry::Tool { id: id.clone(), name: MODE.into(), input: excerpt::brief(to_mode) }));
        made.push((None, Entry::ToolResult { id, ok: Some(true), text: String::new() }));
        if let Some(left) = left.filter(|left| entered != Some(left)) {
            for id in self.open_of(|to, session| to == left && session.is_none()) {
                self.end_handed(&id, Status::Done, None, made);
            }
        }
        let Some(entered) = entered else { return };
        if self.open_of(|to, _| to == entered).is_empty() {
            let id = AgentId::from(format!("mode-{offset}").as_str());
            let (kind, call) = (Some(entered.to_owned()), Some(id.to_string()));
            self.begin(&id, Started { kind, call, ..Started::default() }, made);
        }
    }

    /// The orchestrator speaks again: what answered before it, in no mode of its own, has answered.
    pub(super) fn end_what_answered(&mut self, made: &mut Made) {
        if self.mode.as_deref().and_then(provider).is_some() {
            return;
        }
        for id in self.open_of(|_, session| session.is_none()) {
            if self.has_answered(&id) {
                self.end_handed(&id, Status::Done, None, made);
            }
        }
    }

    /// The orchestrator's turn is over; only a task in whose provider's mode the session still is goes on.
    pub(super) fn end_with_turn(&mut self, is_done: bool, made: &mut Made) {
        let current = self.mode.as_deref().and_then(provider);
        let status = if is_done { Status::Done } else { Status::Cancelled };
        for id in self.open_of(|to, _| !is_done || Some(to) != current) {
            self.end_handed(&id, status, None, made);
        }
    }

    fn open_of(&self, is_it: impl Fn(&str, Option<&str>) -> bool) -> Vec<AgentId> {
        let open = self.agents.iter().filter(|(_, child)| !child.has_ended);
        let fits = |how: &How| matches!(how, How::Handed { provider, session } if is_it(provider, session.as_deref()));
        open.filter(|(_, child)| fits(&child.how)).map(|(id, _)| id.clone()).collect()
    }

    fn has_answered(&self, id: &AgentId) -> bool {
        self.chunks.has_of(id) || self.agents.get(id).is_some_and(|child| !child.said.is_empty())
    }

    fn end_handed(&mut self, id: &AgentId, status: Status, why: Option<String>, made: &mut Made) {
        let text = cut(&why.unwrap_or_else(|| self.last_words(Some(id))), LONGEST_TEXT);
        made.push((Some(id.clone()), Entry::AgentEnded { status, text }));
        if let Some(child) = self.agents.get_mut(id) {
            child.has_ended = true;
        }
    }
}
