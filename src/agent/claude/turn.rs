//! How the last turn of a conversation stands, by what was put in and by how the model stopped.

use serde::{Deserialize, Serialize};

use super::line::Block;
use super::short::typed;

/// What begins so was put in and begins no turn: a command, what it or the shell answered, a note to remember. What a
/// command gives the model shows by what follows; most give it nothing.
const ASIDE: [&str; 6] =
    ["<command-", "<local-command-", "<bash-input>", "<bash-stdout>", "<bash-stderr>", "<user-memory-input>"];

/// How the last turn stands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    Open,
    /// None is open. There is none at first: many commands begin none.
    #[default]
    Over,
    Failed(String),
    Interrupted,
}

/// Returns whether what was put in begins a turn.
pub fn begins(prompt: &str) -> bool {
    !ASIDE.iter().any(|aside| prompt.starts_with(aside))
}

/// Returns whether what nobody typed was given to the model to act on: not the tool's own remark about a command.
pub fn is_given(text: &str) -> bool {
    let text = typed(text);
    !text.is_empty() && !["<local-command-", "Caveat: "].iter().any(|remark| text.starts_with(remark))
}

/// Returns how a turn stands after an answer. Where the reason to stop is not told, a last word is the end, and a
/// call or a thought is not.
pub fn turn(stop: Option<&[u8]>, blocks: &[Block<'_>]) -> Turn {
    match stop {
        Some(b"tool_use" | b"pause_turn") => Turn::Open,
        Some(_) => Turn::Over,
        None if blocks.last().is_some_and(|block| *block.kind == *b"text") => Turn::Over,
        None => Turn::Open,
    }
}
