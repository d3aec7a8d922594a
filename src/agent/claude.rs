//! Claude Code: how it is run, what its stream and its transcripts say, and what can be said to it.
//!
//! A session is one file, and each sub-agent, however deep, one beside it. Older versions wrote sub-agents into the
//! session's own file. What is not needed is passed over by its beginning, unparsed: most bytes of a transcript are
//! copies of prompts and requests.

mod chains;
mod doing;
mod line;
pub mod live;
mod note;
mod reader;
mod short;
mod spawns;
mod talk;
mod turn;

pub use reader::{Own, Reader};
pub use talk::Speech;

/// The name of the tool in keys.
pub const TOOL: &str = "claude";
/// The version of the reader: it grows when the same lines say something else.
pub const VERSION: u32 = 7;
