//! What is handed over and what comes back: the hand-off, the decision behind it, the proposed steps and
//! the outcome. Plain data, shared by events, records and nodes; every part keeps the fields it does not
//! know.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event::payload::Budget;
use super::id::{SubtaskId, TaskId};
use super::packed::Packed;
use super::secrets::each_text;
use super::time::Stamp;

/// One proposed or accepted step of a delegation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubtaskSpec {
    pub id: SubtaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complexity: Option<f64>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_duration: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<SubtaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What it may spend, where that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The delegation record's hand-off: who gave what to whom, and under which rules.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Handoff {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_actions: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Stamp>,
    /// Who accepted it, or that it was accepted by starting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_by: Option<String>,
    /// Whether the agent is to accept it before it counts as taken; else it is accepted by starting.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub offer: bool,
    /// The guide's command that this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The task that a command is about.
    #[serde(rename = "task_number", alias = "taskNumber", skip_serializing_if = "Option::is_none")]
    pub task_number: Option<u64>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Handoff {
    /// Gives each text in it to `each`, but for names.
    pub fn each_text(&mut self, each: &mut impl FnMut(&mut String)) {
        self.context.iter_mut().chain(&mut self.expected_output).for_each(&mut *each);
        self.extra.values_mut().for_each(|value| each_text(value, each));
    }
}

/// Why it was delegated, or was not: the control interface's decision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Decision {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub should_delegate: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factors: Option<Factors>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor_contributions: Option<Contributions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggested_pattern: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<SubtaskSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Packed>,
    /// Why it started by itself, waits for a person, or was not started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub course: Option<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Decision {
    /// Gives each text in it to `each`, but for names.
    pub fn each_text(&mut self, each: &mut impl FnMut(&mut String)) {
        self.reasoning.iter_mut().chain(&mut self.course).chain(&mut self.hints).for_each(&mut *each);
        for step in &mut self.subtasks {
            step.title.iter_mut().for_each(&mut *each);
            step.extra.values_mut().for_each(|value| each_text(value, each));
        }
        self.extra.values_mut().for_each(|value| each_text(value, each));
    }
}

/// The six factors of a decision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Factors {
    pub complexity: f64,
    pub context_utilization: f64,
    pub subtask_count: f64,
    pub agent_confidence: f64,
    pub agent_load: f64,
    pub depth_remaining: f64,
}

/// What each factor added to the score.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Contributions {
    pub complexity: f64,
    pub context_utilization: f64,
    pub subtask_count: f64,
    pub confidence: f64,
    pub agent_load: f64,
    pub depth_remaining: f64,
}

/// What came back: the validated return of the delegation guide and the evidence of the protocol.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Outcome {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_modified: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_run: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ReturnedError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_steps: Option<String>,
    /// What is wrong with the return itself, by the contract under which it was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Outcome {
    /// Gives each text in it to `each`, but for names and paths.
    pub fn each_text(&mut self, each: &mut impl FnMut(&mut String)) {
        let own = [&mut self.summary, &mut self.evidence, &mut self.tests_run, &mut self.next_steps];
        own.into_iter().flatten().for_each(&mut *each);
        for artifact in &mut self.artifacts {
            artifact.summary.iter_mut().for_each(&mut *each);
            artifact.extra.values_mut().for_each(|value| each_text(value, each));
        }
        for error in &mut self.errors {
            error.message.iter_mut().chain(&mut error.recommendation).for_each(&mut *each);
            error.extra.values_mut().for_each(|value| each_text(value, each));
        }
        self.findings.iter_mut().for_each(|finding| each(&mut finding.message));
        self.extra.values_mut().for_each(|value| each_text(value, each));
    }
}

/// One thing that is wrong with a return.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Finding {
    /// For programs, such as `NOT_JSON`.
    pub code: String,
    pub message: String,
    /// Only said: the return holds all the same.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub warns: bool,
}

/// Something the agent says it made.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Artifact {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Whether somebody looked and found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An error in the agent's own words.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReturnedError {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recoverable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommendation: Option<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
