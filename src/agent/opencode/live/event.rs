//! The lines that come through the bridge: the server's events, and the bridge's own.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::agent::wire;

/// One line.
#[derive(Debug, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, borrow)]
    pub properties: Option<&'a RawValue>,
    /// When it came, as the bridge's clock has it, in milliseconds.
    #[serde(default, deserialize_with = "wire::lenient")]
    pub at: Option<f64>,
}

/// What an event is about: each has some of these.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct About<'a> {
    #[serde(rename = "sessionID", deserialize_with = "wire::lenient")]
    pub session: String,
    #[serde(borrow)]
    pub info: Option<&'a RawValue>,
    #[serde(borrow)]
    pub part: Option<&'a RawValue>,
    #[serde(deserialize_with = "wire::lenient")]
    pub status: Status,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

/// What a session does.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    #[serde(rename = "type")]
    pub kind: String,
    pub attempt: u64,
    pub message: String,
    /// When it asks again, in milliseconds.
    pub next: Option<f64>,
}

/// What a session says of itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Session {
    pub id: String,
    #[serde(rename = "parentID")]
    pub parent: Option<String>,
    pub title: Option<String>,
    pub agent: Option<String>,
}

/// Who a message is, beside what it says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Who {
    pub id: String,
    #[serde(rename = "providerID")]
    pub provider: Option<String>,
}

/// Who a part is, and what a tool tells beside its state.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Piece {
    pub id: String,
    #[serde(deserialize_with = "wire::lenient")]
    pub state: Metadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub metadata: Value,
}

/// How a turn ended.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Turn<'a> {
    pub id: String,
    /// What the server answered.
    pub status: u64,
    /// Its last message with its parts, or what is wrong.
    #[serde(borrow)]
    pub body: Option<&'a RawValue>,
    /// How many turns are not over yet.
    pub open: u64,
}

/// A message with its parts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Whole<'a> {
    #[serde(borrow)]
    pub info: Option<&'a RawValue>,
    #[serde(borrow)]
    pub parts: Vec<&'a RawValue>,
}
