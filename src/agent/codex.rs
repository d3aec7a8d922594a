//! Codex: how it is run (`live`), and what its rollouts say, `sessions/YYYY/MM/DD/rollout-….jsonl` in its home.
//!
//! Each thread has a file of its own, a sub-agent's too: the file says which thread it belongs to and under
//! which one it hangs. Nothing in a line says to which model it was charged: the turn before it does.

mod line;
pub mod live;
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

/// Returns the thread that a rollout belongs to, as its name tells: `rollout-TIME-THREAD.jsonl`.
pub fn thread_of(file_name: &str) -> Option<&str> {
    const ID: usize = 36;
    let name = file_name.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
    name.get(name.len().checked_sub(ID)?..)
}

/// Returns the folder in which a thread was begun, as the first line of its rollout tells.
pub fn workspace_of(first_line: &str) -> Option<String> {
    let record: line::Record<'_> = wire::read(first_line)?;
    wire::part::<line::Meta>(record.payload)?.cwd
}
