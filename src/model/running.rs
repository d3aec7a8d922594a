//! The process that a node is.

use super::key::NodeKey;

/// A process, as the system shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    pub pid: u32,
    /// When it started, in the system's own measure: its number may be given again.
    pub start: u64,
    /// What was started, as a person would type it.
    pub command: Box<str>,
    /// Whether a shell waits for it and would take the terminal back if it stopped.
    pub is_foreground: bool,
    /// Whether it is still there.
    pub is_alive: bool,
}

impl Running {
    /// Returns the key of this process.
    pub fn key(&self) -> NodeKey {
        NodeKey::Process(self.pid, self.start)
    }
}
