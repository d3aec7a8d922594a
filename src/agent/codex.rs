//! Codex: what its rollouts say, `sessions/YYYY/MM/DD/rollout-….jsonl` in its home.
//!
//! Each thread has a file of its own, a sub-agent's too: the file says which thread it belongs to and under
//! which one it hangs. Nothing in a line says to which model it was charged: the turn before it does.

mod line;
mod replay;
mod talk;
mod trail;

use std::sync::Arc;

pub use talk::Conversation;
pub use trail::Rollout;

use super::wire;
use crate::model::key::NodeKey;

/// What the tool is called in keys and on screen.
pub const TOOL: &str = "codex";

/// Returns the key of a thread.
pub fn key(thread: &str) -> NodeKey {
    NodeKey::CliSession(TOOL.into(), Arc::from(thread))
}
