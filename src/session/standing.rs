//! The variables that tell an agent where it stands, beside the session's mark: what it hands on with this program
//! hangs under its own step, and what it reports is said of that step.

/// The delegation that it works for.
pub const DELEGATION: &str = "QUARTERDECK_DELEGATION";
/// Its step in it.
pub const SUBTASK: &str = "QUARTERDECK_SUBTASK";
/// What it is called: its role, else its name.
pub const AGENT: &str = "QUARTERDECK_AGENT";
/// The guide's context, as JSON.
pub const CONTEXT: &str = "QUARTERDECK_CONTEXT";
/// The state folder: an agent may work anywhere.
pub const FOLDER: &str = "QUARTERDECK_DIR";
/// This program: it may not be on the agent's path.
pub const PROGRAM: &str = "QUARTERDECK_PROGRAM";
