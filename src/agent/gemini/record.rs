//! The shapes of a chat file's lines: a header, a message, or a patch of either.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::agent::lines::Line;
use crate::agent::wire;
use crate::model::time::Stamp;
use crate::model::usage::{Count, Tokens};

/// A line: which of the three it is shows in which fields it has.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub header: Option<Header>,
    pub patch: Option<Patch>,
    /// One message; or all of them, as older versions write a chat.
    pub messages: Vec<Message>,
}

/// The fields that tell what a line is.
#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(rename = "sessionId", borrow)]
    session: Option<&'a RawValue>,
    #[serde(rename = "type", borrow)]
    by: Option<&'a RawValue>,
    #[serde(rename = "$set", borrow)]
    patch: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
}

impl Record {
    /// Reads a line; `None` for one that is cut, or is something else.
    pub fn of(line: &Line) -> Option<Self> {
        if line.cut > 0 {
            return None;
        }
        let text = std::str::from_utf8(&line.bytes).ok()?;
        Self::read(text).or_else(|| Self::read(&wire::last_of_each(text)?))
    }

    /// Reads it, unless it says twice what it is.
    fn read(text: &str) -> Option<Self> {
        let shape: Shape<'_> = wire::read(text)?;
        let messages = shape.messages.and_then(|messages| wire::read_last::<Vec<Message>>(messages.get()));
        let mut messages = messages.unwrap_or_default();
        messages.extend(shape.by.and_then(|_| wire::read_last(text)));
        let header = shape.session.and_then(|_| wire::read_last(text));
        let patch = shape.patch.and_then(|patch| wire::read_last(patch.get()));
        Some(Self { header, patch, messages })
    }
}

/// Whose chat it is.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Header {
    pub session_id: Option<String>,
    #[serde(deserialize_with = "wire::lenient")]
    pub start_time: Option<Stamp>,
    pub kind: Option<String>,
    #[serde(deserialize_with = "wire::lenient")]
    pub directories: Vec<String>,
    pub summary: Option<String>,
}

/// What is said anew of the chat.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Patch {
    #[serde(deserialize_with = "wire::lenient")]
    pub last_updated: Option<Stamp>,
    #[serde(deserialize_with = "wire::lenient")]
    pub messages: Vec<Message>,
    pub summary: Option<String>,
}

/// A message, as it stands now.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Message {
    pub id: Option<String>,
    #[serde(deserialize_with = "wire::lenient")]
    pub timestamp: Option<Stamp>,
    #[serde(rename = "type")]
    pub by: Option<String>,
    pub content: Value,
    #[serde(deserialize_with = "wire::lenient")]
    pub thoughts: Vec<Thought>,
    #[serde(deserialize_with = "wire::lenient")]
    pub tokens: Option<Charge>,
    pub model: Option<String>,
    #[serde(deserialize_with = "wire::lenient")]
    pub tool_calls: Vec<Call>,
}

impl Message {
    /// Returns its text; what tools answered is none.
    pub fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
                texts.join("\n")
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
        }
    }
}

/// A thought, in two parts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Thought {
    pub subject: String,
    pub description: String,
}

/// A tool that was used, and what came of it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Call {
    pub id: Option<String>,
    pub name: String,
    pub args: Value,
    pub status: Option<String>,
    #[serde(deserialize_with = "wire::lenient")]
    pub timestamp: Option<Stamp>,
    /// The session of the sub-agent that it invoked.
    pub agent_id: Option<String>,
    result: Value,
}

impl Call {
    /// Returns what the tool answered.
    pub fn answer(&self) -> Option<&str> {
        let answers = self.result.as_array()?.iter();
        answers.filter_map(|answer| answer.pointer("/functionResponse/response")).find_map(|response| {
            response.get("output").or_else(|| response.get("error")).and_then(Value::as_str)
        })
    }

    /// Returns why a sub-agent ended, by the word in what the call answered.
    pub fn termination(&self) -> Option<&str> {
        let answer = self.answer()?;
        let (_, after) = answer.split_once("Termination Reason: ")?;
        after.split_whitespace().next()
    }
}

/// Token counts as Gemini has them: input with what was read from a cache, output without thoughts.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Charge {
    #[serde(deserialize_with = "wire::lenient")]
    input: u64,
    #[serde(deserialize_with = "wire::lenient")]
    output: u64,
    #[serde(deserialize_with = "wire::lenient")]
    cached: u64,
    #[serde(deserialize_with = "wire::lenient")]
    thoughts: u64,
    #[serde(deserialize_with = "wire::lenient")]
    tool: u64,
    #[serde(deserialize_with = "wire::lenient")]
    total: u64,
}

impl Charge {
    /// Returns the counts as ours: each token in one of them only, reasoning apart.
    pub fn tokens(&self) -> Tokens {
        Tokens::default()
            .with(Count::Input, self.input.saturating_sub(self.cached).saturating_add(self.tool))
            .with(Count::Output, self.output.saturating_add(self.thoughts))
            .with(Count::CacheRead, self.cached)
            .with(Count::Reasoning, self.thoughts)
    }

    /// Returns how much of the context is taken.
    pub fn used(&self) -> u64 {
        self.total
    }
}
