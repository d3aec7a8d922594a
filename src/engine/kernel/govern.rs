//! What the settings in force say to the kernel: the mode, the rules, how long a proposal waits.
//!
//! They come with an event like everything else, so that a replay decides as the engine did.

use serde_json::Value;

use super::budget::Limit;
use super::spec::{Code, Refusal};
use crate::config::Effective;
use crate::config::decide::{deciding, of_told};
use crate::decide::mode::Asker;
use crate::decide::settings::Settings;
use crate::model::command::{BY_AGENT, BY_HOOK, Command};

/// The settings that the kernel decides by.
#[derive(Debug, Clone)]
pub struct Governing {
    pub settings: Settings,
    /// How long a proposal waits for a person.
    pub accept_ms: u64,
    /// What all delegations together may spend on a day, and ever.
    pub per_day: Limit,
    pub overall: Limit,
    /// Whether decisions are written to the journal as events of their own.
    pub logs_decisions: bool,
}

impl Default for Governing {
    fn default() -> Self {
        Self::of(&Value::Null)
    }
}

impl Governing {
    /// Reads what an engine told; what it does not say is as built in.
    pub(super) fn of(told: &Value) -> Self {
        let effective = of_told(told);
        Self {
            settings: deciding(&effective),
            per_day: limit(&effective, "limits.maxTokensPerDay", "limits.maxCostPerDay"),
            overall: limit(&effective, "limits.maxTokensOverall", "limits.maxCostOverall"),
            accept_ms: effective.whole("limits.acceptTimeout"),
            logs_decisions: effective.switch("logging.logDecisions"),
        }
    }
}

impl Governing {
    /// Returns whether all delegations together are limited.
    pub(super) fn limits_all(&self) -> bool {
        self.per_day.is_set() || self.overall.is_set()
    }
}

fn limit(effective: &Effective, tokens: &str, cost: &str) -> Limit {
    Limit { tokens: effective.set_whole(tokens), cost: effective.money(cost) }
}

/// Returns who asks for something.
pub(super) fn asker(command: &Command) -> Asker {
    if command.is_by(BY_AGENT) {
        Asker::Agent
    } else if command.is_by(BY_HOOK) {
        Asker::Hook
    } else {
        Asker::Person
    }
}

/// Refuses what only a person may do.
pub(super) fn check_person(command: &Command) -> Result<(), Refusal> {
    if asker(command) == Asker::Person {
        return Ok(());
    }
    let by = command.by.as_deref().unwrap_or_default();
    let reason =
        format!("Only a person can {} it, and {by} asks.\nWait until somebody does.", command.verb.kind());
    Err(Refusal::new(Code::Limit, reason))
}
