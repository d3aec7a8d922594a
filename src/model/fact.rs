//! Facts: the closed list of what can become known, whatever source it comes from.
//!
//! Only a fact changes the model, and a fact says one thing. It is a claim, not a command: the model
//! believes it, joins nodes by it, or keeps it as an anomaly.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::anomaly::Anomaly;
use super::command::CommandFact;
use super::event::payload::{Budget, Progress};
use super::handoff::{Decision, Handoff, Outcome};
use super::id::{CommandId, DelegationId, QuestionId, Seq, SessionId, SubtaskId, TaskId};
use super::key::{Keys, NodeKey, SourceId, SourceKind};
use super::name::Name;
use super::node::{Attempt, Moment, NodeKind, Question, Running};
use super::sealed::Sealed;
use super::time::Stamp;
use super::usage::{Context, Spend, Tokens, Usd};
use super::words::Field;
use super::worktree::WorkTree;

/// One thing that became known.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// Who says so.
    pub source: SourceId,
    /// When it was so, where the source tells.
    pub at: Option<Stamp>,
    /// What is so.
    pub about: About,
}

/// What a fact is about.
#[derive(Debug, Clone, PartialEq)]
pub enum About {
    Node(Keys, NodeFact),
    /// Several things of one node, each with its own moment: the node is looked for once.
    Several(Keys, Vec<(Option<Stamp>, NodeFact)>),
    Source(SourceFact),
    Command(CommandId, CommandFact),
    Engine(EngineFact),
    /// The settings in force, whole.
    Settings(Value),
    /// What a source could not fit into any other fact, so that a person sees it.
    Anomaly(Anomaly),
}

/// What can become known of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeFact {
    /// It exists, and is of this kind.
    Seen(NodeKind),
    /// It hangs under that node.
    Under(Box<Keys>),
    /// Who and what it is.
    Described(Box<Description>),
    HandedOff(Box<Handoff>),
    /// What was handed over is taken, by somebody or by its start.
    Taken(Option<Box<str>>),
    Decided(Box<Decision>),
    Status(Box<StatusReport>),
    /// One of its attempts.
    Attempted(Box<Attempt>),
    Progressed(Progress),
    /// It gave a sign of life, perhaps by doing something.
    Active(Action),
    /// One of its clocks was set.
    Clock(Clock, Stamp),
    /// The process that it is.
    Runs(Box<Running>),
    /// How long it may be silent before it counts as stale, in milliseconds.
    MaySleep(u64),
    Used(Box<UsageReport>),
    /// What many messages used: as if each were told alone, at a part of the cost.
    UsedAll(Vec<UsageReport>),
    /// The same, of messages that nobody need look at one by one.
    UsedSealed(Sealed),
    /// How full its context is.
    Filled(Context),
    Budgeted(Box<Budget>),
    Returned(Box<Outcome>),
    /// Where it works, and what became of what it changed there.
    Worked(Box<WorkTree>),
    Quality(f64),
    Asked(Box<Question>),
    /// A question needs no answer any more.
    Settled(QuestionId),
    /// Something for its timeline.
    Happened(Moment),
    /// It is no longer there, with all below it.
    Gone,
}

/// Who and what a node is; what is `None` is not told.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Description {
    pub title: Option<String>,
    pub agent: Option<Name>,
    pub provider: Option<Name>,
    pub model_requested: Option<Name>,
    pub model_injected: Option<Name>,
    pub model_effective: Option<Name>,
    pub pattern: Option<Name>,
    /// Its place among its siblings.
    pub index: Option<u32>,
    pub task: Option<TaskId>,
    pub path: Option<Vec<String>>,
    /// As its source counts it; where it hangs tells it too.
    pub depth: Option<u32>,
    pub depends_on: Option<Vec<SubtaskId>>,
    /// How many steps it is to have, where they are not known yet.
    pub expected_steps: Option<u32>,
    pub estimate_ms: Option<u64>,
    pub max_attempts: Option<u32>,
    pub workspace: Option<String>,
    /// The command of the delegation guide, such as `implement`.
    pub command: Option<String>,
    /// Whether another node speaks: what it is called is then as it says itself, whichever comes first.
    pub is_hearsay: bool,
}

/// A status word, where it stood, and what was said with it.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusReport {
    pub field: Field,
    /// The raw word.
    pub word: Cow<'static, str>,
    pub why: Option<String>,
    pub retryable: Option<bool>,
    /// The attempt that this was said of, where known.
    pub attempt: Option<u32>,
}

impl StatusReport {
    /// Makes a report of a bare word.
    pub fn of(field: Field, word: impl Into<Cow<'static, str>>) -> Self {
        Self { field, word: word.into(), why: None, retryable: None, attempt: None }
    }
}

/// What a node does now and will do next; what is `None` is not told.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Action {
    pub last: Option<String>,
    pub next: Option<String>,
}

/// The clocks that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    Created,
    Started,
    Ended,
    /// An offer expires.
    AcceptBy,
    /// The deadline.
    FinishBy,
}

/// Tokens that were used.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UsageReport {
    /// Message and request id: what is told twice with the same id counts once.
    pub id: Option<Arc<str>>,
    pub scope: Scope,
    pub model: Option<Name>,
    pub tokens: Tokens,
    /// The part of the cache writes that is kept for an hour: it has a price of its own.
    pub hour_cache: u64,
    /// Whether it was answered in the model's fast mode, which is dearer.
    pub is_fast: bool,
    /// How often the model's provider searched the web for it: each time has a price.
    pub searches: u64,
    pub cost: Option<Usd>,
    /// Whether the cost is computed from a table of prices; else it is the tool's own figure.
    pub by_table: bool,
    pub sent: Sent,
}

/// What a source knows of who sent a message that several nodes have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sent {
    #[default]
    Unknown,
    /// This node: it moves here from whoever only repeats it.
    Here,
    /// Another one: here it is only repeated, and stays where it is. A total that is paid elsewhere, by the messages that
    /// it is of, is shown and never counts.
    Elsewhere,
}

impl UsageReport {
    /// Returns what it adds to a sum.
    pub fn spend(&self) -> Spend {
        let spend = Spend::message(self.tokens, self.cost);
        if self.by_table { spend.by_table() } else { spend }
    }

    /// Joins message and request id to the id that a usage counts under.
    ///
    /// A message id that is one of a kind is enough: who repeats the message in another conversation may do so under
    /// a request of its own. Other ids may be counted anew with every request.
    pub fn id_of(message: Option<&str>, request: Option<&str>) -> Option<Arc<str>> {
        match (message, request) {
            (None, None) => None,
            (Some(message), None) => Some(message.into()),
            (Some(message), Some(_)) if is_one_of_a_kind(message) => Some(message.into()),
            (message, Some(request)) => Some([message.unwrap_or_default(), "+", request].concat().into()),
        }
    }
}

/// Returns whether a message id is an Anthropic one: `msg_01` and 22 letters, `msg_bdrk_01…`.
fn is_one_of_a_kind(message: &str) -> bool {
    const SHORTEST: usize = 24;
    message.starts_with("msg_") && message.len() >= SHORTEST
}

/// What a usage report covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// One message or request; they are added.
    #[default]
    Message,
    /// All of a session so far; used only while no message is known.
    Total,
}

/// What can become known of a source.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceFact {
    /// It is there: its first fact.
    Opened { kind: SourceKind, root: Arc<str> },
    /// How well it can be read.
    State(SourceState),
    /// Everything up to this event was told.
    Reached(Seq),
    /// What it told before is void; it tells everything anew.
    Reset,
}

/// How well a source can be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SourceState {
    #[default]
    Ok,
    /// It is being read for the first time; what there is so far is shown.
    Loading { done: u32, total: u32 },
    /// Some of it cannot be read.
    Partial { what: Box<str> },
    /// It cannot be read now; what is shown is the last good state.
    Corrupt { since: Stamp, what: Box<str> },
    /// There is nothing to read.
    Missing { what: Box<str> },
    /// Nobody reads it any more.
    Stopped { why: Box<str> },
}

/// What can become known of the engine.
#[derive(Debug, Clone, PartialEq)]
pub enum EngineFact {
    Started {
        pid: Option<u32>,
        version: Option<String>,
        epoch: Option<u64>,
    },
    Stopped {
        why: Option<String>,
    },
    /// A provider takes nothing more until then.
    Limited {
        provider: String,
        until: Stamp,
        reason: Option<String>,
    },
}

impl Fact {
    /// Makes a fact about a node.
    pub fn node(source: SourceId, at: Option<Stamp>, keys: impl Into<Keys>, what: NodeFact) -> Self {
        Self { source, at, about: About::Node(keys.into(), what) }
    }

    /// Makes a fact about the source itself.
    pub fn source(source: SourceId, what: SourceFact) -> Self {
        Self { source, at: None, about: About::Source(what) }
    }
}

/// Returns the key of a delegation or, where a subtask is named, of that subtask.
pub fn target(delegation: &DelegationId, subtask: Option<&SubtaskId>) -> NodeKey {
    match subtask {
        Some(subtask) => NodeKey::Subtask(delegation.clone(), subtask.clone()),
        None => NodeKey::Delegation(delegation.clone()),
    }
}

/// Returns the key of an attempt's session.
pub fn session(id: &SessionId) -> NodeKey {
    NodeKey::Session(id.clone())
}
