//! Gemini CLI: how it is run, what its stream says, and what its chat files say, `tmp/PROJECT/chats/session-….jsonl` in
//! its home.
//!
//! A file is a header, then messages and patches; a message is written again, under the same id, when its tools
//! have answered. A sub-agent has a file of its own, in a folder named after the session that invoked it. Older
//! versions write one JSON document instead, which says the same.

mod document;
pub mod live;
mod record;
mod talk;
mod trail;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use document::Document;
pub use talk::Conversation;
pub use trail::Chat;

use serde_json::Value;

use crate::model::key::NodeKey;

/// What the tool is called in keys and on screen.
pub const TOOL: &str = "gemini";

/// Returns the key of a session, a sub-agent's too.
pub fn key(session: &str) -> NodeKey {
    NodeKey::CliSession(TOOL.into(), Arc::from(session))
}

/// Returns what a sub-agent's answer says: one of a single text is that text.
fn answer_of(summary: &str) -> String {
    let read = serde_json::from_str::<BTreeMap<String, Value>>(summary);
    let only = read.ok().filter(|fields| fields.len() == 1).and_then(|fields| fields.into_values().next());
    only.as_ref().and_then(Value::as_str).unwrap_or(summary).to_owned()
}
