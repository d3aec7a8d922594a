//! What can be done to a node, through which channel, or why not. Pure: it asks the model and nothing else.
//!
//! The engine decides for good; this tells a person beforehand which keys make sense, and says of the others
//! why they do not. A node that another tool wrote has no channel here yet, and says so.

use crate::model::command::Command;
use crate::model::fact::SourceState;
use crate::model::id::{DelegationId, SubtaskId};
use crate::model::key::{NodeKey, SourceId, SourceKind};
use crate::model::node::{Node, NodeKind};
use crate::model::status::StatusWord;
use crate::model::worktree::TreeState;
use crate::model::{Model, NodeIx};

/// What a person can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Control {
    Pause,
    Drain,
    Resume,
    Cancel,
    Retry,
    Skip,
    Approve,
    Reject,
    Answer,
    Tell,
    Accept,
    Raise,
    /// Merge, keep or discard what it changed in a work tree of its own.
    Settle,
}

impl Control {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Drain => "drain",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Skip => "skip",
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Answer => "answer",
            Self::Tell => "tell",
            Self::Accept => "accept",
            Self::Raise => "raise",
            Self::Settle => "settle",
        }
    }
}

/// Whom a command goes to: an engine, by its source, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub source: SourceId,
    pub delegation: DelegationId,
    pub step: Option<SubtaskId>,
}

impl Target {
    /// Returns the target as a person would type it.
    pub fn name(&self) -> String {
        match &self.step {
            Some(step) => format!("{}/{step}", self.delegation),
            None => self.delegation.to_string(),
        }
    }

    /// Returns whether a command is about this.
    pub fn is_of(&self, command: &Command) -> bool {
        self.delegation == command.delegation_id && self.step == command.subtask_id
    }
}

/// Through what something is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Channel {
    /// An engine of ours is asked.
    Engine(Target),
    /// The process itself is stopped, continued or ended, with all that descends from it.
    Signal(Signalled),
}

/// A process that no engine of ours runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signalled {
    pub pid: u32,
    /// When it started, in the system's own measure.
    pub start: u64,
    /// What was started, as a person would type it.
    pub command: Box<str>,
}

impl Signalled {
    /// Returns the key of its node.
    pub fn key(&self) -> NodeKey {
        NodeKey::Process(self.pid, self.start)
    }
}

/// Returns through what this can be done, or why it cannot.
pub fn channel(model: &Model, ix: NodeIx, what: Control) -> Result<Channel, String> {
    let node = model.get(ix).ok_or("It is no longer there.")?;
    match target(model, node) {
        Ok(target) => state_allows(node, &target, what).map(|()| Channel::Engine(target)),
        Err(why) => signalled(model, node, what).unwrap_or(Err(why)).map(Channel::Signal),
    }
}

/// Returns the process of a node that no engine runs, or why it cannot be signalled; nothing where it is none.
fn signalled(model: &Model, node: &Node, what: Control) -> Option<Result<Signalled, String>> {
    let process = node.more()?.running.as_deref().filter(|process| process.is_alive)?;
    let is_paused = node.status.told() == StatusWord::Paused;
    let pid = process.pid;
    let refused = match what {
        Control::Pause if process.is_foreground => Some(format!(
            "Process {pid} is the foreground job of a shell: stopped, the shell would take its terminal back. \
             Stop it there, or run it where no shell waits for it."
        )),
        Control::Pause if is_paused => Some(format!("Process {pid} is stopped already.")),
        Control::Resume if !is_paused => Some(format!("Process {pid} is not stopped.")),
        Control::Pause | Control::Resume | Control::Cancel => None,
        Control::Drain
        | Control::Retry
        | Control::Skip
        | Control::Approve
        | Control::Reject
        | Control::Answer
        | Control::Tell
        | Control::Accept
        | Control::Raise
        | Control::Settle => Some(foreign(model, node)),
    };
    Some(match refused {
        Some(why) => Err(why),
        None => Ok(Signalled { pid, start: process.start, command: process.command.clone() }),
    })
}

/// Returns the engine and the id of a node that one of ours runs.
pub fn target(model: &Model, node: &Node) -> Result<Target, String> {
    let engine = node
        .sources()
        .into_iter()
        .find(|source| model.source(*source).is_some_and(|source| source.kind == SourceKind::Engine));
    let Some(source) = engine else { return Err(foreign(model, node)) };
    if let Some(SourceState::Stopped { why }) = model.source(source).map(|source| &source.state) {
        return Err(format!("Its folder is no longer read: {why}"));
    }
    for key in &node.keys {
        match key {
            NodeKey::Delegation(id) => return Ok(Target { source, delegation: id.clone(), step: None }),
            NodeKey::Subtask(id, step) => {
                return Ok(Target { source, delegation: id.clone(), step: Some(step.clone()) });
            }
            NodeKey::Session(_)
            | NodeKey::Agent(..)
            | NodeKey::CliSession(..)
            | NodeKey::CliAgent(..)
            | NodeKey::ToolUse(_)
            | NodeKey::Process(..)
            | NodeKey::Foreign(..) => {}
        }
    }
    Err(match node.kind {
        NodeKind::Agent | NodeKind::Session => {
            "A sub-agent inside its agent's session: act on the step above it.".into()
        }
        NodeKind::Group | NodeKind::Subtask | NodeKind::Delegation => {
            "It has no id that an engine knows.".into()
        }
    })
}

fn foreign(model: &Model, node: &Node) -> String {
    let by = node.sources().first().and_then(|source| model.source(*source));
    let by = by.map_or("another tool", |source| {
        if source.kind == SourceKind::Plain { "a plain store" } else { source.kind.as_str() }
    });
    format!("Told by {by}, which takes no commands from here.")
}

fn state_allows(node: &Node, target: &Target, what: Control) -> Result<(), String> {
    let word = node.status.word();
    let is_over = node.status.is_ended();
    let is_step = target.step.is_some();
    let refuse = |why: &str| Err(format!("{why} It is {}.", word.as_str()));
    match what {
        Control::Pause | Control::Drain if is_over => refuse("Only what is live can be paused."),
        Control::Pause | Control::Drain if word == StatusWord::Paused => refuse("It is held already."),
        Control::Resume if is_over || !is_held(node) => refuse("Only what is paused can be resumed."),
        Control::Cancel if is_over => refuse("Only what is live can be cancelled."),
        Control::Retry if !is_over || word == StatusWord::Done => refuse("Only what failed can be retried."),
        Control::Skip if !is_step => refuse("Only a step can be skipped."),
        Control::Skip if matches!(word, StatusWord::Done | StatusWord::Skipped) => {
            refuse("A step that is done needs no skipping.")
        }
        Control::Approve | Control::Reject if word != StatusWord::Offered => {
            refuse("Only a proposal can be approved or rejected.")
        }
        Control::Answer if node.more().is_none_or(|more| more.questions.is_empty()) => {
            Err("It asks nothing.".into())
        }
        Control::Tell if is_over || word == StatusWord::Queued => refuse("Only a running agent can be told."),
        Control::Accept if !is_over && word != StatusWord::Review || word == StatusWord::Done => {
            refuse("Only a failed or reviewed result can be accepted.")
        }
        Control::Raise if is_over => refuse("Only what is live has a deadline to raise."),
        Control::Raise if node.clocks.finish_by.is_none() => Err("It has no deadline.".into()),
        Control::Settle if !is_over => refuse("Only the work tree of what is over can be settled."),
        Control::Settle => match node.more().and_then(|more| more.tree.as_deref()) {
            Some(tree) if tree.state.is_open() => Ok(()),
            Some(tree) if tree.state != TreeState::None => {
                Err(format!("Its work tree is {} already.", tree.state.as_str()))
            }
            Some(_) | None => Err("It has no work tree of its own.".into()),
        },
        Control::Pause
        | Control::Drain
        | Control::Resume
        | Control::Cancel
        | Control::Retry
        | Control::Skip
        | Control::Approve
        | Control::Reject
        | Control::Answer
        | Control::Tell
        | Control::Accept
        | Control::Raise => Ok(()),
    }
}

/// Returns whether it, or something below it, is paused.
fn is_held(node: &Node) -> bool {
    node.status.told() == StatusWord::Paused
        || node.rollup().is_some_and(|below| below.descendants.of(StatusWord::Paused) > 0)
}
