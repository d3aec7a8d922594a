//! What it takes to run an agent: the part of a session's spec that the agent's kind decides.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How an agent is run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The folder in which it runs.
    pub cwd: PathBuf,
    /// All of its environment, but for the session's mark.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// What it reads on stdin.
    #[serde(default)]
    pub stdin: Stdin,
    /// Files for it in the session's folder, by name: written before it starts.
    #[serde(skip)]
    pub files: BTreeMap<String, String>,
}

/// What an agent reads on stdin.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stdin {
    /// Nothing.
    #[default]
    None,
    /// A file of the session's folder, then its end.
    File(String),
    /// What the engine gives while it runs.
    Pipe,
}
