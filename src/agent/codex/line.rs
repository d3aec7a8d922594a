//! The shapes of a rollout's lines: `{"timestamp","type","payload"}`, and the payloads that say something.
//!
//! Everything is optional, since a file may be older or newer than any version that was looked at.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::agent::lines::Line;
use crate::agent::wire;
use crate::model::time::Stamp;
use crate::model::usage::{Count, Tokens};

/// A line, its payload not yet read: most payloads are long and say nothing that is shown.
#[derive(Debug, Deserialize)]
pub(super) struct Record<'a> {
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub payload: Option<&'a RawValue>,
}

impl<'a> Record<'a> {
    /// Reads a line; `None` for one that is cut, or is something else.
    pub fn of(line: &'a Line) -> Option<Self> {
        if line.cut > 0 {
            return None;
        }
        wire::read(std::str::from_utf8(&line.bytes).ok()?)
    }

    /// Returns when it was written.
    pub fn at(&self) -> Option<Stamp> {
        wire::stamp(self.timestamp)
    }
}

/// Which thread a file belongs to.
#[derive(Debug, Deserialize)]
pub(super) struct Meta {
    pub id: String,
    pub parent_thread_id: Option<String>,
    pub forked_from_id: Option<String>,
    #[serde(default, deserialize_with = "wire::lenient")]
    pub timestamp: Option<Stamp>,
    pub cwd: Option<String>,
    pub agent_nickname: Option<String>,
    #[serde(default)]
    source: Value,
}

/// What a sub-agent's file says of how it was spawned.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Spawn {
    pub parent_thread_id: Option<String>,
    pub depth: Option<u32>,
    pub agent_path: Option<String>,
    pub agent_nickname: Option<String>,
    pub agent_role: Option<String>,
}

impl Meta {
    /// Returns how it was spawned; `None` for a thread that a person began.
    pub fn spawn(&self) -> Option<Spawn> {
        let subagent = self.source.get("subagent")?;
        // Reviews and compactions have a word here, and are agents all the same.
        Some(
            subagent.get("thread_spawn").and_then(|spawn| Spawn::deserialize(spawn).ok()).unwrap_or_default(),
        )
    }
}

/// What a turn is run with.
#[derive(Debug, Deserialize)]
pub(super) struct TurnContext<'a> {
    #[serde(borrow)]
    pub turn_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub model: Option<Cow<'a, str>>,
}

/// An event: of each kind, the fields that matter.
#[derive(Debug, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub turn_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub info: Option<&'a RawValue>,
    #[serde(borrow)]
    pub item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub last_agent_message: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub message: Option<Cow<'a, str>>,
}

/// What went wrong with a turn.
#[derive(Debug, Deserialize)]
pub(super) struct Failure {
    pub message: Option<String>,
}

/// Something that a turn brought about.
#[derive(Debug, Deserialize)]
pub(super) struct TurnItem<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "wire::lenient")]
    pub receiver_agents: Vec<Receiver>,
    pub prompt: Option<String>,
    pub agent_thread_id: Option<String>,
    pub agent_path: Option<String>,
}

/// A sub-agent that was spawned.
#[derive(Debug, Deserialize)]
pub(super) struct Receiver {
    pub thread_id: String,
    pub agent_nickname: Option<String>,
}

/// What was said to the model, or by it.
#[derive(Debug, Deserialize)]
pub(super) struct Item<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "wire::lenient")]
    pub summary: Vec<Piece>,
    #[serde(borrow)]
    pub name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub call_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    action: Option<&'a RawValue>,
    #[serde(borrow)]
    pub output: Option<&'a RawValue>,
}

impl Item<'_> {
    /// Returns the tool that is used, if it is a call.
    pub fn tool(&self) -> Option<&str> {
        match &*self.kind {
            "function_call" | "custom_tool_call" => self.name.as_deref().or(Some("tool")),
            "local_shell_call" => Some("shell"),
            "web_search_call" => Some("web_search"),
            "tool_search_call" => Some("tool_search"),
            _ => None,
        }
    }

    /// Returns what a call is made with; of text that is JSON, what it says.
    pub fn input(&self) -> Value {
        let raw = self.arguments.or(self.input).or(self.action);
        let value: Value = wire::part(raw).unwrap_or_default();
        let inner = value.as_str().and_then(wire::read::<Value>).filter(Value::is_object);
        inner.unwrap_or(value)
    }
}

/// A piece of a message.
#[derive(Debug, Deserialize)]
pub(super) struct Piece {
    pub text: Option<String>,
}

/// Returns the text of a message's pieces.
pub(super) fn text_of(content: Option<&RawValue>) -> String {
    let pieces: Vec<Piece> = wire::part(content).unwrap_or_default();
    let texts: Vec<String> = pieces.into_iter().filter_map(|piece| piece.text).collect();
    texts.join("\n")
}

/// What one response was charged.
#[derive(Debug, Deserialize)]
pub(super) struct UsageRecord<'a> {
    #[serde(borrow)]
    pub thread_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub turn_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub response_id: Option<Cow<'a, str>>,
    pub usage: Charge,
    pub thread_token_usage: Option<Charge>,
}

/// What a thread was charged so far, and for its last response.
#[derive(Debug, Deserialize)]
pub(super) struct Counted {
    pub total_token_usage: Option<Charge>,
    pub last_token_usage: Option<Charge>,
    #[serde(default, deserialize_with = "wire::lenient")]
    pub model_context_window: Option<u64>,
}

/// Token counts as Codex has them: input with what was read from a cache, output with reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(super) struct Charge {
    #[serde(rename = "input_tokens", deserialize_with = "wire::lenient")]
    input: u64,
    #[serde(rename = "cached_input_tokens", deserialize_with = "wire::lenient")]
    cached: u64,
    #[serde(rename = "cache_write_input_tokens", deserialize_with = "wire::lenient")]
    written: u64,
    #[serde(rename = "output_tokens", deserialize_with = "wire::lenient")]
    output: u64,
    #[serde(rename = "reasoning_output_tokens", deserialize_with = "wire::lenient")]
    reasoning: u64,
    #[serde(rename = "total_tokens", deserialize_with = "wire::lenient")]
    pub total: u64,
}

impl Charge {
    /// Returns the counts as ours: each token in one of them only, reasoning apart.
    pub fn tokens(&self) -> Tokens {
        let cached = self.cached.saturating_add(self.written);
        Tokens::default()
            .with(Count::Input, self.input.saturating_sub(cached))
            .with(Count::Output, self.output)
            .with(Count::CacheRead, self.cached)
            .with(Count::CacheWrite, self.written)
            .with(Count::Reasoning, self.reasoning)
    }
}
