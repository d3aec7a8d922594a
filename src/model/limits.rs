//! The limits of one delegation: how many at once, how long, how often, how deep, and for how much.

use serde::{Deserialize, Serialize};

use super::budget::Limit;
use super::usage::Usd;

/// The limits of one delegation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// How many of its agents may work at once; else only the limit in total holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtask_timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    pub auto_retry: bool,
    pub max_retries: u32,
    pub backoff_ms: u64,
    pub backoff_ceiling_ms: u64,
    /// Whether the other steps go on when one has failed for good.
    pub continue_on_partial_failure: bool,
    /// Whether what it changed is undone when it fails.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rollback_on_failure: bool,
    /// How long an agent may take to end by itself before it is killed.
    pub grace_ms: u64,
    /// How many levels it may have, itself included; else only the limit of all holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
    /// The tokens that it may use with all below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<u64>,
    /// What it may cost with all below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_budget: Option<Usd>,
    /// The tokens that each of its steps may use, with what it hands on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_token_budget: Option<u64>,
    /// What each of its steps may cost, with what it hands on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_cost_budget: Option<Usd>,
    /// What a result must be worth not to wait for a look, 0 to 100, in place of the setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality_threshold: Option<u8>,
}

impl Limits {
    /// Returns what it may spend with all below it.
    pub fn budget(&self) -> Limit {
        Limit { tokens: self.token_budget, cost: self.cost_budget }
    }

    /// Returns what each of its steps may spend.
    pub fn step_budget(&self) -> Limit {
        Limit { tokens: self.step_token_budget, cost: self.step_cost_budget }
    }

    /// Sets what it may spend, as far as that is said.
    pub fn allow(&mut self, said: Limit) {
        let Limit { tokens, cost } = said.or(self.budget());
        (self.token_budget, self.cost_budget) = (tokens, cost);
    }

    /// Sets what each of its steps may spend, as far as that is said.
    pub fn allow_steps(&mut self, said: Limit) {
        let Limit { tokens, cost } = said.or(self.step_budget());
        (self.step_token_budget, self.step_cost_budget) = (tokens, cost);
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_concurrent: None,
            subtask_timeout_ms: None,
            timeout_ms: None,
            auto_retry: true,
            max_retries: 2,
            backoff_ms: 1_000,
            backoff_ceiling_ms: 60_000,
            continue_on_partial_failure: true,
            rollback_on_failure: false,
            grace_ms: 10_000,
            max_depth: None,
            token_budget: None,
            cost_budget: None,
            step_token_budget: None,
            step_cost_budget: None,
            quality_threshold: None,
        }
    }
}
