//! Commands and their receipts: asked, accepted, then confirmed with proof, or refused with a reason.
//!
//! A receipt has three visible endings (confirmed, refused, overdue) and no silent fourth.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::payload::Proof;
use super::handoff::{Decision, Handoff, Outcome};
use super::id::{AgentId, CommandId, DelegationId, QuestionId, SubtaskId, TaskId};
use super::key::{NodeKey, SourceId};
use super::time::Stamp;
use super::usage::Usd;
use super::worktree::Isolation;

pub use super::limits::Limits;
pub use super::pattern::Pattern;

/// Something that a person or a program wants done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Command {
    /// The same id never acts twice.
    pub id: CommandId,
    #[serde(flatten)]
    pub verb: Verb,
    pub delegation_id: DelegationId,
    /// One subtask, with all below it; else the whole delegation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtask_id: Option<SubtaskId>,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub at: Stamp,
}

/// What `by` begins with where no person asks.
pub const BY_AGENT: &str = "agent";
pub const BY_HOOK: &str = "hook";

impl Command {
    /// Returns whether `by` names this kind of asker: the word alone, or with a name behind a colon.
    pub fn is_by(&self, kind: &str) -> bool {
        let rest = self.by.as_deref().and_then(|by| by.strip_prefix(kind));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    }
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Verb {
    /// Begins the delegation that the command names.
    Start {
        spec: Box<Spec>,
    },
    Pause {
        mode: PauseMode,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Resume,
    Cancel {
        rollback: bool,
        reason: Option<String>,
    },
    Retry {
        with_failure: bool,
        agent: Option<String>,
        model: Option<String>,
        /// Begins anew, and does not go on with the agent's own session of the last attempt.
        #[serde(default, skip_serializing_if = "is_false")]
        fresh: bool,
    },
    /// Ends one agent inside the session of the step that the command names; the session goes on.
    CancelAgent {
        agent_id: AgentId,
        reason: Option<String>,
    },
    Skip {
        reason: Option<String>,
        result: Option<String>,
    },
    /// Takes a proposal: these of its steps and no others, in this order; without a list all, as proposed.
    Approve {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subtasks: Option<Vec<ApprovedStep>>,
    },
    Reject {
        reason: Option<String>,
    },
    Answer {
        question_id: QuestionId,
        answer: Answer,
    },
    Tell {
        text: String,
    },
    /// Lets a running agent go on with another model.
    SetModel {
        model: String,
    },
    Accept {
        reason: Option<String>,
    },
    Rollback {
        reason: Option<String>,
    },
    /// What the agent of a step says of its hand-off: that it takes it, has done it, or does not take it.
    Report {
        said: Box<Said>,
    },
    /// Brings what an isolated step changed into the project's files.
    Merge,
    /// Leaves the work tree of an isolated step to the person.
    Keep,
    /// Removes the work tree of an isolated step.
    Discard,
    /// Moves deadlines, with all below: to a moment, or by so much. Or raises the budget of what is named: to so
    /// much in all. Never to less.
    Raise {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Usd>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Stamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_ms: Option<u64>,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Verb {
    /// Returns the verb's name on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Start { .. } => "start",
            Self::Pause { .. } => "pause",
            Self::Resume => "resume",
            Self::Cancel { .. } => "cancel",
            Self::Retry { .. } => "retry",
            Self::CancelAgent { .. } => "cancel-agent",
            Self::Skip { .. } => "skip",
            Self::Approve { .. } => "approve",
            Self::Reject { .. } => "reject",
            Self::Answer { .. } => "answer",
            Self::Tell { .. } => "tell",
            Self::SetModel { .. } => "set-model",
            Self::Accept { .. } => "accept",
            Self::Rollback { .. } => "rollback",
            Self::Report { .. } => "report",
            Self::Merge => "merge",
            Self::Keep => "keep",
            Self::Discard => "discard",
            Self::Raise { .. } => "raise",
        }
    }
}

/// What a delegation is to do, and within which limits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    pub pattern: Pattern,
    /// The running step that hands this over, if it is not a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Above>,
    /// The names from the root down to who hands this over; taken from the parent where there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// Where its agents work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Whether its steps work in work trees of their own; else the agent's, then the project's setting holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Why it is handed over, where that was weighed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Box<Decision>>,
    /// Who hands what to whom, and under which rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Box<Handoff>>,
    /// Whether it waits for a person, whoever asks for it and in whichever mode.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub propose: bool,
    /// The mode that holds for this one, in place of the engine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    pub limits: Limits,
    pub subtasks: Vec<StepSpec>,
}

/// The step that a nested delegation hangs under.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Above {
    pub delegation_id: DelegationId,
    pub subtask_id: SubtaskId,
}

/// One step of a delegation that is to be run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StepSpec {
    pub id: SubtaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub prompt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it is in the hierarchy; a role does not hand work down to itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<SubtaskId>,
    /// Whether it is done at all; else it is left out, and what depends on it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// Whether its answer is a verdict on what it depends on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judges: Option<Judges>,
    /// In place of the delegation's limit for a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// A condition on the verdict of a step before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct When {
    pub step: SubtaskId,
    /// What its verdict must be.
    pub approved: bool,
}

/// What a step that judges is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judges {
    /// Whether it is good as it is, and what it is worth.
    Approval,
    /// Only what it is worth.
    Score,
}

/// A step of a proposal that is taken, with what a person changed of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "ApprovedForm", rename_all = "camelCase")]
pub struct ApprovedStep {
    pub id: SubtaskId,
    /// In place of the proposed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// In place of the proposed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl ApprovedStep {
    /// Returns a proposed step with what a person changed of it; another title is another task.
    pub fn changed(&self, proposed: &StepSpec) -> StepSpec {
        let mut step = proposed.clone();
        if let Some(title) = self.title.as_ref().filter(|title| !title.trim().is_empty()) {
            let old = proposed.title.as_deref().filter(|old| !old.is_empty());
            step.prompt = match old.and_then(|old| proposed.prompt.strip_prefix(old)) {
                Some(rest) => format!("{title}{rest}"),
                None => format!("{title}\n\n{}", proposed.prompt),
            };
            step.title = Some(title.clone());
        }
        step.agent = self.agent.clone().or(step.agent);
        step
    }
}

/// The ways to write it: a step with its changes, or its id alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum ApprovedForm {
    Id(SubtaskId),
    Step {
        id: SubtaskId,
        #[serde(default)]
        title: Option<String>,
        #[serde(default)]
        agent: Option<String>,
    },
}

impl From<ApprovedForm> for ApprovedStep {
    fn from(form: ApprovedForm) -> Self {
        match form {
            ApprovedForm::Id(id) => Self { id, ..Self::default() },
            ApprovedForm::Step { id, title, agent } => Self { id, title, agent },
        }
    }
}

/// What an agent says of what was handed to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "kebab-case")]
pub enum Said {
    Accepted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Done, with what speaks for it; its end is the proof.
    Completed {
        result: Box<Outcome>,
    },
    Rejected {
        reason: String,
    },
}

impl Said {
    /// Gives each text in it to `each`, but for names and paths.
    pub fn each_text(&mut self, each: &mut impl FnMut(&mut String)) {
        match self {
            Self::Accepted { reason } => reason.iter_mut().for_each(each),
            Self::Completed { result } => result.each_text(each),
            Self::Rejected { reason } => each(reason),
        }
    }
}

/// How a pause treats what runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseMode {
    /// Stop every process now.
    #[default]
    Freeze,
    /// Let what runs finish, start nothing new.
    Drain,
}

/// What a person says to an agent's question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    Allow,
    Deny,
    AllowForSession,
    Text(String),
}

/// What can become known of a command.
#[derive(Debug, Clone, PartialEq)]
pub enum CommandFact {
    Accepted {
        kind: String,
        target: Option<NodeKey>,
        by: Option<String>,
        options: Option<Value>,
        deadline: Option<Stamp>,
    },
    Confirmed {
        kind: Option<String>,
        proof: Option<String>,
        effects: Vec<Proof>,
    },
    Refused {
        kind: Option<String>,
        code: Option<String>,
        reason: Option<String>,
    },
}

/// What is known of a command that was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// Whose command it is; a record needs not say so, being read from there.
    #[serde(skip)]
    pub source: SourceId,
    pub command_id: CommandId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<NodeKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Stamp>,
    #[serde(flatten)]
    pub state: ReceiptState,
}

/// How far a command is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum ReceiptState {
    /// The engine will do it.
    Accepted,
    /// It was to be done by now, and nobody told that it was. Derived, and undone by a late confirmation.
    Overdue,
    /// It is done, and this is the proof.
    Confirmed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Stamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Box<str>>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        effects: Vec<Proof>,
    },
    /// It will not be done, and this is why.
    Refused {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Stamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Box<str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Box<str>>,
    },
}

impl ReceiptState {
    /// Returns whether nothing more can be told.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Confirmed { .. } | Self::Refused { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_is_approved_is_written_with_its_changes_or_by_its_id_alone() {
        let told = r#"{"kind":"approve","subtasks":["st-2",{"id":"st-1","title":"Map","agent":"codex"}]}"#;
        let verb: Verb = serde_json::from_str(told).unwrap();
        let steps = vec![
            ApprovedStep { id: "st-2".into(), ..ApprovedStep::default() },
            ApprovedStep { id: "st-1".into(), title: Some("Map".into()), agent: Some("codex".into()) },
        ];
        assert_eq!(verb, Verb::Approve { subtasks: Some(steps) });
        let again: Verb = serde_json::from_str(&serde_json::to_string(&verb).unwrap()).unwrap();
        assert_eq!(again, verb);
        let whole: Verb = serde_json::from_str(r#"{"kind":"approve"}"#).unwrap();
        assert_eq!(whole, Verb::Approve { subtasks: None });
    }
}
