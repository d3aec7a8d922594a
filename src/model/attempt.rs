//! One attempt of a step.

use serde::{Deserialize, Serialize};

use super::id::SessionId;
use super::name::Name;
use super::time::Stamp;

/// One attempt of a subtask: one session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Attempt {
    pub attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intended_at: Option<Stamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Stamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Stamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid_start: Option<u64>,
    /// Seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Why its session was lost or ended, where that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Box<str>>,
}

impl Attempt {
    /// Fills in what `later` tells.
    pub(super) fn update(&mut self, later: Self) {
        fn set<T>(mine: &mut Option<T>, told: Option<T>) {
            if told.is_some() {
                *mine = told;
            }
        }
        set(&mut self.session_id, later.session_id);
        set(&mut self.agent, later.agent);
        set(&mut self.model, later.model);
        set(&mut self.intended_at, later.intended_at);
        set(&mut self.started_at, later.started_at);
        set(&mut self.ended_at, later.ended_at);
        set(&mut self.pid, later.pid);
        set(&mut self.pid_start, later.pid_start);
        set(&mut self.timeout, later.timeout);
        set(&mut self.exit_code, later.exit_code);
        set(&mut self.signal, later.signal);
        set(&mut self.reason, later.reason);
    }
}
