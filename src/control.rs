//! What can be done to a node, through which channel, or why not. Pure: it asks the model and nothing else.
//!
//! The engine decides for good; this tells a person beforehand which keys make sense, and says of the others
//! why they do not. What another tool runs has no channel here, and says which one that tool has, if any.

mod tools;

use std::sync::Arc;

pub use tools::reason;

use crate::model::budget::BUDGET;
use crate::model::command::{Command, Verb};
use crate::model::fact::SourceState;
use crate::model::id::{AgentId, DelegationId, SubtaskId};
use crate::model::key::{NodeKey, SourceId, SourceKind};
use crate::model::node::{Node, NodeKind};
use crate::model::status::StatusWord;
use crate::model::words::HOOK;
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
    /// Undo what it changed in the project's files.
    Rollback,
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
            Self::Rollback => "rollback",
        }
    }

    /// Returns the signal that does this; the rest takes somebody who listens.
    pub fn signal(self) -> Option<Signal> {
        match self {
            Self::Pause => Some(Signal::Stop),
            Self::Resume => Some(Signal::Continue),
            Self::Cancel => Some(Signal::End),
            Self::Drain
            | Self::Retry
            | Self::Skip
            | Self::Approve
            | Self::Reject
            | Self::Answer
            | Self::Tell
            | Self::Accept
            | Self::Raise
            | Self::Settle
            | Self::Rollback => None,
        }
    }
}

/// What a signal can do to a process that listens to nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    Stop,
    Continue,
    End,
}

impl Signal {
    /// Returns the word for it: that of the control that it carries out.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => Control::Pause.as_str(),
            Self::Continue => Control::Resume.as_str(),
            Self::End => Control::Cancel.as_str(),
        }
    }
}

/// Whom a command goes to: an engine, by its source, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub source: SourceId,
    pub delegation: DelegationId,
    pub step: Option<SubtaskId>,
    /// One agent inside the step's session.
    pub agent: Option<AgentId>,
}

impl Target {
    /// Returns the target as a person would type it.
    pub fn name(&self) -> String {
        match (&self.step, &self.agent) {
            (Some(step), Some(agent)) => format!("{}/{step}/{agent}", self.delegation),
            (Some(step), None) => format!("{}/{step}", self.delegation),
            (None, _) => self.delegation.to_string(),
        }
    }

    /// Returns whether a command is about this.
    pub fn is_of(&self, command: &Command) -> bool {
        let agent =
            if let Verb::CancelAgent { agent_id, .. } = &command.verb { Some(agent_id) } else { None };
        self.delegation == command.delegation_id
            && self.step == command.subtask_id
            && self.agent.as_ref() == agent
    }
}

/// Through what something is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Channel {
    /// An engine of ours is asked.
    Engine(Target),
    /// The process itself is stopped, continued or ended, with all that descends from it.
    Signal(Signal, Signalled),
    /// Its own hook holds or stops it, at its next tool call.
    Hook(Held),
}

impl Channel {
    /// Returns the engine's target, if it goes through one.
    pub fn engine(self) -> Option<Target> {
        if let Self::Engine(target) = self { Some(target) } else { None }
    }
}

/// A session that no engine of ours runs and whose hook is ours, or one agent in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub tool: Arc<str>,
    pub session: Arc<str>,
    pub agent: Option<Arc<str>>,
}

impl Held {
    /// Returns the key of its node.
    pub fn key(&self) -> NodeKey {
        match &self.agent {
            Some(agent) => NodeKey::CliAgent(Arc::clone(&self.tool), Arc::clone(agent)),
            None => NodeKey::CliSession(Arc::clone(&self.tool), Arc::clone(&self.session)),
        }
    }
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
    match target(model, node).or_else(|why| inside(model, ix, what).ok_or(why)) {
        Ok(target) => state_allows(node, &target, what).map(|()| Channel::Engine(target)),
        Err(why) => {
            let refused = || Err(no_channel(model, node, what).unwrap_or(why));
            match (signalled(model, node, what), held(model, ix, what)) {
                (Some(process), _) => process,
                (None, Some(held)) => Ok(Channel::Hook(held)),
                (None, None) => refused(),
            }
        }
    }
}

/// Returns the session or agent whose own hook, as its records show, can hold it or stop it at its next tool call.
fn held(model: &Model, ix: NodeIx, what: Control) -> Option<Held> {
    let node = model.get(ix).filter(|node| !node.status.is_ended())?;
    // What a signal could do is all that a hook can, too.
    what.signal()?;
    let session_of = |node: &Node| {
        node.keys.iter().find_map(|key| {
            let NodeKey::CliSession(tool, session) = key else { return None };
            Some((Arc::clone(tool), Arc::clone(session)))
        })
    };
    let of_agent = node.keys.iter().find_map(|key| {
        let NodeKey::CliAgent(_, agent) = key else { return None };
        Some(Arc::clone(agent))
    });
    let is_hooked = |node: &Node| node.timeline.iter().any(|moment| moment.name.starts_with(HOOK));
    let around: Vec<&Node> =
        std::iter::once(ix).chain(model.ancestors(ix)).filter_map(|ix| model.get(ix)).collect();
    let (tool, session) = around.iter().find_map(|node| session_of(node))?;
    let agent = if session_of(node).is_some() { None } else { Some(of_agent?) };
    around.into_iter().any(is_hooked).then_some(Held { tool, session, agent })
}

/// Returns the process of a node that no engine runs, or why it cannot be signalled; nothing where it is none.
fn signalled(model: &Model, node: &Node, what: Control) -> Option<Result<Channel, String>> {
    let process = node.more()?.running.as_deref().filter(|process| process.is_alive)?;
    let is_paused = node.status.told() == StatusWord::Paused;
    let pid = process.pid;
    let Some(signal) = what.signal() else {
        return Some(Err(no_channel(model, node, what).unwrap_or_else(|| foreign(model, node))));
    };
    let refused = match signal {
        Signal::Stop if process.is_foreground => Some(format!(
            "Process {pid} is the foreground job of a shell: stopped, the shell would take its terminal back. \
             Stop it there, or run it where no shell waits for it."
        )),
        Signal::Stop if is_paused => Some(format!("Process {pid} is stopped already.")),
        Signal::Continue if !is_paused => Some(format!("Process {pid} is not stopped.")),
        Signal::Stop | Signal::Continue | Signal::End => None,
    };
    if let Some(why) = refused {
        return Some(Err(why));
    }
    let process = Signalled { pid, start: process.start, command: process.command.clone() };
    Some(Ok(Channel::Signal(signal, process)))
}

/// Returns the target of an agent inside a session of ours: it can be ended alone, and nothing else.
fn inside(model: &Model, ix: NodeIx, what: Control) -> Option<Target> {
    let keys = &model.get(ix).filter(|_| what == Control::Cancel)?.keys;
    let agent = keys.iter().find_map(|key| if let NodeKey::Agent(_, id) = key { Some(id) } else { None })?;
    let above = model.ancestors(ix).filter_map(|above| model.get(above));
    let step = above.filter_map(|node| target(model, node).ok()).find(|target| target.step.is_some())?;
    Some(Target { agent: Some(agent.clone()), ..step })
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
            NodeKey::Delegation(id) => {
                return Ok(Target { source, delegation: id.clone(), step: None, agent: None });
            }
            NodeKey::Subtask(id, step) => {
                let step = Some(step.clone());
                return Ok(Target { source, delegation: id.clone(), step, agent: None });
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

/// Returns why a tool that is not ours can't be asked for this, where that tool is known.
fn no_channel(model: &Model, node: &Node, what: Control) -> Option<String> {
    let kinds = node.sources().into_iter().filter_map(|source| Some(model.source(source)?.kind));
    let closest = kinds.min_by_key(|kind| kind.rank())?;
    reason(closest, what).map(str::to_owned)
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
        Control::Raise if is_over => refuse("Only what is live has a deadline or a budget to raise."),
        Control::Raise if !has_limit(node) => Err(why_no_limit(node)),
        Control::Settle if !is_over => refuse("Only the work tree of what is over can be settled."),
        Control::Settle => match node.more().and_then(|more| more.tree.as_deref()) {
            Some(tree) if tree.state.is_open() => Ok(()),
            Some(tree) if tree.state != TreeState::None => {
                Err(format!("Its work tree is {} already.", tree.state.as_str()))
            }
            Some(_) | None => Err("It has no work tree of its own.".into()),
        },
        Control::Rollback if !is_over => refuse("It must be over for that: cancel it, with rollback."),
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
        | Control::Raise
        | Control::Rollback => Ok(()),
    }
}

/// Returns whether there is a deadline or a budget to raise.
fn has_limit(node: &Node) -> bool {
    node.clocks.finish_by.is_some() || node.more().is_some_and(|more| more.budget.is_some())
}

fn why_no_limit(node: &Node) -> String {
    let what = "It has neither a deadline nor a budget";
    if node.status.why() == Some(BUDGET) {
        format!("{what}: one above it, or that of all together, is spent.")
    } else {
        format!("{what}.")
    }
}

/// Returns whether it, or something below it, is paused.
fn is_held(node: &Node) -> bool {
    node.status.told() == StatusWord::Paused
        || node.rollup().is_some_and(|below| below.descendants.of(StatusWord::Paused) > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[Control] = &[
        Control::Pause,
        Control::Drain,
        Control::Resume,
        Control::Cancel,
        Control::Retry,
        Control::Skip,
        Control::Approve,
        Control::Reject,
        Control::Answer,
        Control::Tell,
        Control::Accept,
        Control::Raise,
        Control::Settle,
        Control::Rollback,
    ];

    #[test]
    fn every_tool_whose_files_are_only_read_says_for_every_control_why_not() {
        let read_only = [
            (SourceKind::Omc, "oh-my-claudecode"),
            (SourceKind::OmcTeam, "team"),
            (SourceKind::Idumb, "idumb"),
            (SourceKind::MultiAgentTemplate, "template"),
            (SourceKind::ProofChecker, "ProofChecker"),
        ];
        for (tool, name) in read_only {
            for what in ALL {
                let why = reason(tool, *what).unwrap();
                assert!(why.ends_with('.') && why.len() <= 120, "{tool:?} {what:?}: {why}");
            }
            assert!(reason(tool, Control::Cancel).unwrap().contains(name), "{tool:?} is named");
        }
        assert_eq!(reason(SourceKind::Plain, Control::Cancel), None);
    }

    #[test]
    fn the_reason_is_that_of_the_source_which_is_closest_to_the_agent() {
        use crate::model::fact::{Fact, NodeFact, SourceFact};
        let mut model = Model::default();
        let sources = [(SourceId(1), SourceKind::Plain), (SourceId(2), SourceKind::Idumb)];
        let key = NodeKey::CliAgent("claude".into(), "a1".into());
        for (id, kind) in sources {
            let _ = model.apply(Fact::source(id, SourceFact::Opened { kind, root: "/x".into() }));
            let _ = model.apply(Fact::node(id, None, key.clone(), NodeFact::Seen(NodeKind::Agent)));
        }
        let ix = model.find(&key).unwrap();
        assert_eq!(
            channel(&model, ix, Control::Pause).err(),
            reason(SourceKind::Idumb, Control::Pause).map(Into::into)
        );
    }
}
