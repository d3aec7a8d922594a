//! The settings that this room needs, with the figures that hold where nobody set any.
//!
//! Plain data: whoever reads configuration files fills it. Only [`Bound`] knows more than its value: a figure that
//! is built in warns, one that somebody set acts.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::mode::Mode;
use super::pattern::Pattern;

/// Everything that decision, plan and rules can be told.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    pub mode: Mode,
    pub thresholds: Thresholds,
    pub weights: Weights,
    pub limits: Limits,
    pub patterns: Patterns,
    pub agents: Agents,
    /// Whether every plan waits for a person, whatever the mode.
    pub subtask_approval: bool,
    pub quality: Quality,
}

/// From where on something counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Thresholds {
    /// What a task must score to be handed over, 0 to 100.
    pub delegation_score: f64,
    /// How sure a decision must be to start by itself in mode `smart`, 0 to 100.
    pub auto_accept_confidence: f64,
    /// The complexity that counts in full, 0 to 100.
    pub complexity_trigger: f64,
    /// The number of subtasks that counts in full.
    pub min_subtasks: u32,
    /// The effort from which on a task is worth splitting, in hours.
    pub effort_hours: f64,
    /// The part of its context that an agent must have used for it to count in full, in percent.
    pub context_utilization: f64,
    /// The confidence of an agent below which it counts in full, in percent.
    pub confidence_floor: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            delegation_score: 60.0,
            auto_accept_confidence: 85.0,
            complexity_trigger: 50.0,
            min_subtasks: 3,
            effort_hours: 4.0,
            context_utilization: 75.0,
            confidence_floor: 60.0,
        }
    }
}

/// How much each factor counts; together 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Weights {
    pub complexity: f64,
    pub context_utilization: f64,
    pub subtask_count: f64,
    pub confidence: f64,
    pub agent_load: f64,
    pub depth_remaining: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            complexity: 0.30,
            context_utilization: 0.20,
            subtask_count: 0.15,
            confidence: 0.15,
            agent_load: 0.10,
            depth_remaining: 0.10,
        }
    }
}

/// What must not be exceeded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// How deep work may be handed down, 1 to 5.
    pub max_depth: u32,
    pub max_concurrent_agents: u32,
    /// How many children an agent may have before it hands over no more.
    pub max_children: u32,
    pub token_budget_per_child: Bound,
    pub max_total_tokens: Bound,
    /// The most that a delegation may cost, in millionths of a dollar; nobody limits it by default.
    pub max_cost_micros: Option<u64>,
    pub subtask_timeout: Bound,
    pub delegation_timeout: Bound,
}

impl Limits {
    /// How deep work may be handed down at all.
    pub const DEEPEST: u32 = 5;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_depth: 3,
            max_concurrent_agents: 5,
            max_children: 7,
            token_budget_per_child: Bound::built_in(1_000),
            max_total_tokens: Bound::built_in(50_000),
            max_cost_micros: None,
            subtask_timeout: Bound::built_in(600_000),
            delegation_timeout: Bound::built_in(3_600_000),
        }
    }
}

/// A figure that acts if somebody set it, and warns while it is only built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    pub value: u64,
    pub acts: bool,
}

impl Bound {
    /// A figure that nobody set.
    pub const fn built_in(value: u64) -> Self {
        Self { value, acts: false }
    }

    /// A figure that somebody set.
    pub const fn set(value: u64) -> Self {
        Self { value, acts: true }
    }
}

impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.value)
    }
}

impl<'de> Deserialize<'de> for Bound {
    /// What is written somewhere was set by somebody.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(Self::set)
    }
}

/// Which pattern is taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Patterns {
    /// Where nothing speaks for any other.
    pub default: Pattern,
    /// Words that speak for a pattern, beside the built-in ones.
    pub hints: BTreeMap<Pattern, Vec<String>>,
    /// How many rounds a debate has, its synthesis included.
    pub debate_rounds: u32,
    /// How often something is reviewed at most.
    pub review_rounds: u32,
    /// How many answers an ensemble gives.
    pub ensemble_answers: u32,
}

impl Default for Patterns {
    fn default() -> Self {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self {
            default: Pattern::Parallel,
            hints: BTreeMap::from([
                (Pattern::Parallel, words(&["concurrent", "independent", "batch"])),
                (Pattern::Sequential, words(&["depends", "after", "then", "before"])),
                (Pattern::Debate, words(&["discuss", "evaluate", "compare"])),
                (Pattern::Review, words(&["create", "write", "draft", "review"])),
                (Pattern::Ensemble, words(&["validate", "verify", "critical"])),
            ]),
            debate_rounds: 3,
            review_rounds: 3,
            ensemble_answers: 3,
        }
    }
}

/// Who there is, and who may hand what to whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Agents {
    /// The agents that can be started; while it is empty nobody knows, and any name passes.
    pub known: Vec<String>,
    /// The level of an agent: the lower, the higher up. Who has none is outside the hierarchy.
    pub levels: BTreeMap<String, u32>,
    /// Whether an agent may hand work to another one of its own level.
    pub same_level: bool,
    /// For a category, the agents that may do its work.
    pub routing: BTreeMap<String, Vec<String>>,
    /// For an agent, the words of a task that speak for it.
    pub hints: BTreeMap<String, Vec<String>>,
}

impl Default for Agents {
    fn default() -> Self {
        let levels = [("coordinator", 0), ("investigator", 1), ("executor", 1)];
        let routing: [(&str, &[&str]); 6] = [
            ("development", &["executor"]),
            ("research", &["investigator"]),
            ("governance", &["coordinator"]),
            ("maintenance", &["executor", "investigator"]),
            ("spec-kit", &["investigator"]),
            ("ad-hoc", &["executor", "investigator"]),
        ];
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            known: Vec::new(),
            levels: levels.into_iter().map(|(name, level)| (name.to_owned(), level)).collect(),
            same_level: false,
            routing: routing.into_iter().map(|(name, agents)| (name.to_owned(), names(agents))).collect(),
            hints: BTreeMap::new(),
        }
    }
}

/// What a result must be worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Quality {
    /// Below this a result waits for a look, 0 to 100.
    pub threshold: u8,
}

impl Default for Quality {
    fn default() -> Self {
        Self { threshold: 70 }
    }
}
