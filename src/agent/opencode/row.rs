//! The rows, and the JSON in them.

use serde::Deserialize;
use serde_json::Value;

use crate::agent::wire;
use crate::model::time::Stamp;
use crate::model::usage::{Count, Tokens};

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionRow {
    pub id: String,
    pub parent: Option<String>,
    pub title: Option<String>,
    pub agent: Option<String>,
    pub directory: Option<String>,
    pub created: Option<Stamp>,
}

impl SessionRow {
    /// Reads a session that is a JSON file.
    pub fn of_file(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct File {
            id: String,
            #[serde(rename = "parentID")]
            parent: Option<String>,
            title: Option<String>,
            directory: Option<String>,
            #[serde(default, deserialize_with = "wire::lenient")]
            time: Time,
        }
        let file: File = wire::read(text)?;
        let File { id, parent, title, directory, time } = file;
        Some(Self { id, parent, title, agent: None, directory, created: time.created })
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageRow {
    pub id: String,
    pub session: String,
    /// Its JSON.
    pub data: String,
}

impl MessageRow {
    /// Reads a message that is a JSON file: it says by itself whose it is.
    pub fn of_file(text: String) -> Option<Self> {
        #[derive(Deserialize)]
        struct File {
            id: String,
            #[serde(rename = "sessionID")]
            session: String,
        }
        let File { id, session } = wire::read(&text)?;
        Some(Self { id, session, data: text })
    }

    /// Returns whether an agent wrote it, not a person.
    pub fn is_agents(&self) -> bool {
        wire::read::<Message>(&self.data).is_some_and(|message| message.role == "assistant")
    }
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartRow {
    pub session: String,
    /// When it was last written.
    pub updated: Option<Stamp>,
    /// Its JSON.
    pub data: String,
}

impl PartRow {
    /// Returns whether it is whole, not a text that still grows.
    pub fn is_finished(&self) -> bool {
        wire::read::<Part>(&self.data)
            .is_some_and(|part| !matches!(&*part.kind, "text" | "reasoning") || part.time.end.is_some())
    }
}

/// When something began and ended.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Time {
    #[serde(deserialize_with = "wire::lenient")]
    pub created: Option<Stamp>,
    #[serde(deserialize_with = "wire::lenient")]
    pub completed: Option<Stamp>,
    #[serde(deserialize_with = "wire::lenient")]
    pub start: Option<Stamp>,
    #[serde(deserialize_with = "wire::lenient")]
    pub end: Option<Stamp>,
}

/// What a message says of itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    pub role: String,
    #[serde(rename = "modelID")]
    pub model: Option<String>,
    pub agent: Option<String>,
    #[serde(deserialize_with = "wire::lenient")]
    pub time: Time,
    #[serde(deserialize_with = "wire::lenient")]
    pub tokens: Option<Charge>,
    #[serde(deserialize_with = "wire::lenient")]
    pub cost: f64,
    pub finish: Option<String>,
    #[serde(deserialize_with = "wire::lenient")]
    pub error: Option<Failure>,
}

/// What went wrong with a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Failure {
    pub name: String,
    data: Value,
}

impl Failure {
    /// Returns what the provider answered, where it did.
    pub fn status(&self) -> Option<u64> {
        self.data.get("statusCode").and_then(Value::as_u64)
    }

    /// Returns what it says, for a person.
    pub fn words(&self) -> String {
        let message = self.data.get("message").and_then(Value::as_str);
        message.map_or_else(|| self.name.clone(), |message| format!("{}: {message}", self.name))
    }
}

/// What a part says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Part {
    #[serde(rename = "type")]
    pub kind: String,
    pub text: Option<String>,
    pub tool: Option<String>,
    #[serde(rename = "callID")]
    pub call: Option<String>,
    #[serde(deserialize_with = "wire::lenient")]
    pub state: State,
    #[serde(deserialize_with = "wire::lenient")]
    pub time: Time,
    /// Whether it was put in by the program, not by a person or a model.
    pub synthetic: bool,
}

/// How far a tool is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct State {
    pub status: String,
    pub input: Value,
    pub output: Option<String>,
    pub error: Option<String>,
    #[serde(deserialize_with = "wire::lenient")]
    pub time: Time,
}

/// Token counts as OpenCode has them: input without cache, output without reasoning.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Charge {
    #[serde(deserialize_with = "wire::lenient")]
    input: u64,
    #[serde(deserialize_with = "wire::lenient")]
    output: u64,
    #[serde(deserialize_with = "wire::lenient")]
    reasoning: u64,
    #[serde(deserialize_with = "wire::lenient")]
    cache: Cache,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Cache {
    #[serde(deserialize_with = "wire::lenient")]
    read: u64,
    #[serde(deserialize_with = "wire::lenient")]
    write: u64,
}

impl Charge {
    /// Returns the counts as ours: reasoning is part of the output.
    pub fn tokens(&self) -> Tokens {
        Tokens::default()
            .with(Count::Input, self.input)
            .with(Count::Output, self.output.saturating_add(self.reasoning))
            .with(Count::CacheRead, self.cache.read)
            .with(Count::CacheWrite, self.cache.write)
            .with(Count::Reasoning, self.reasoning)
    }
}
