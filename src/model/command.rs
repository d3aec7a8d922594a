//! Commands and their receipts: asked, accepted, then confirmed with proof, or refused with a reason.
//!
//! A receipt has three visible endings (confirmed, refused, overdue) and no silent fourth.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::payload::Proof;
use super::id::{CommandId, DelegationId, QuestionId, SubtaskId};
use super::key::{NodeKey, SourceId};
use super::time::Stamp;

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

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Verb {
    Pause { mode: PauseMode },
    Resume,
    Cancel { rollback: bool, reason: Option<String> },
    Retry { with_failure: bool, agent: Option<String>, model: Option<String> },
    Skip { reason: Option<String>, result: Option<String> },
    Approve { subtasks: Option<Vec<SubtaskId>> },
    Reject { reason: Option<String> },
    Answer { question_id: QuestionId, answer: Answer },
    Tell { text: String },
    Accept { reason: Option<String> },
    Rollback { reason: Option<String> },
    Raise { tokens: Option<u64>, cost: Option<super::usage::Usd>, deadline: Option<Stamp> },
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
