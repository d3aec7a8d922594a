//! OpenCode: how it is run and what its server tells; what the rows of its database say, and the JSON files that it kept
//! before it had one.
//!
//! A session, its messages and their parts are JSON in both. What is read when, and from where, is the sources'
//! business; here rows become statements and log entries.

pub mod live;
mod row;
mod talk;
mod trail;

use std::sync::Arc;

pub use row::{MessageRow, PartRow, SessionRow};
pub use talk::entries;
pub use trail::{Standing, message, part, session};

use crate::model::key::NodeKey;

/// What the tool is called in keys and on screen.
pub const TOOL: &str = "opencode";

/// Returns the key of a session, a sub-agent's too.
pub fn key(session: &str) -> NodeKey {
    NodeKey::CliSession(TOOL.into(), Arc::from(session))
}
