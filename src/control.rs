//! What can be done to a node, through which channel, or why not. Pure: it asks the model and nothing else.
//!
//! The engine decides for good; this tells a person beforehand which keys make sense, and says of the others
//! why they do not. What another tool runs has no channel here, and says which one that tool has, if any.

mod process;
mod tools;

use std::sync::Arc;

pub use process::{Inside, Signalled, inside_of};
use process::{Unsent, signalled};
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
    /// The process itself is stopped, continued or ended, with those beside it and all that descends from them.
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

/// Returns through what this can be done, or why it cannot.
pub fn channel(model: &Model, ix: NodeIx, what: Control) -> Result<Channel, String> {
    let node = model.get(ix).ok_or("It is no longer there.")?;
    match target(model, node).or_else(|why| inside(model, ix, what).ok_or(why)) {
        Ok(target) => state_allows(node, &target, what).map(|()| Channel::Engine(target)),
        Err(why) => outside(model, ix, what).unwrap_or_else(|| {
            let known = no_channel(model, node, what).or_else(|| unreached(model, ix, what));
            Err(known.unwrap_or(why))
        }),
    }
}

/// Returns through what a session that no engine runs is reached: its process, else its hook; nothing where neither is
/// known.
fn outside(model: &Model, ix: NodeIx, what: Control) -> Option<Result<Channel, String>> {
    let held = holdable(model, ix, what).filter(|_| is_hooked(model, ix));
    match (signalled(model, model.get(ix)?, what), held) {
        // Where a signal would do harm, or nothing, its hook still can.
        (Some(Err(Unsent::Other(_))) | None, Some(held)) => Some(Ok(Channel::Hook(held))),
        (Some(signalled), _) => Some(signalled.map_err(Unsent::why)),
        (None, None) => None,
    }
}

/// Returns whether a hook of ours was heard of a node, or of anything above it.
fn is_hooked(model: &Model, ix: NodeIx) -> bool {
    let mut around = std::iter::once(ix).chain(model.ancestors(ix)).filter_map(|ix| model.get(ix));
    around.any(|node| node.timeline.iter().any(|moment| moment.name.starts_with(HOOK)))
}

/// Returns the session or agent that its own hook, where it has one, can hold or stop at its next tool call: it may still
/// make one.
pub fn holdable(model: &Model, ix: NodeIx, what: Control) -> Option<Held> {
    let node = model.get(ix).filter(|node| !node.status.is_ended() && !is_gone(model, node))?;
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
    let mut around = std::iter::once(ix).chain(model.ancestors(ix)).filter_map(|ix| model.get(ix));
    let (tool, session) = around.find_map(session_of)?;
    let agent = if session_of(node).is_some() { None } else { Some(of_agent?) };
    Some(Held { tool, session, agent })
}

/// Returns whether the process that worked on a node is known to be gone.
fn is_gone(model: &Model, node: &Node) -> bool {
    model.lives(node) == Some(false)
}

/// Returns why an agent's own session, or an agent in it, cannot be reached; nothing of what an engine runs.
fn unreached(model: &Model, ix: NodeIx, what: Control) -> Option<String> {
    let node = model.get(ix)?;
    let is_native =
        |key: &NodeKey| matches!(key, NodeKey::CliSession(..) | NodeKey::CliAgent(..) | NodeKey::Process(..));
    if !node.keys.iter().any(is_native) || node.keys.iter().any(NodeKey::is_engines) {
        return None;
    }
    if let Some(step) = model.ancestors(ix).find_map(|above| target(model, model.get(above)?).ok()) {
        return Some(format!("It works inside {}: act on that.", step.name()));
    }
    let running = node.more().and_then(|more| more.running.as_deref());
    if what.signal().is_none() {
        let process = match running {
            Some(process) if process.is_alive => format!("{} on it", process.works()),
            Some(_) | None => no_process(model, node),
        };
        return Some(format!("No engine runs it, and {} takes one: {process}.", what.as_str()));
    }
    let word = node.status.word().as_str();
    if node.status.is_ended() {
        return Some(format!("It is over ({word}), and no process of it is known."));
    }
    let lives =
        |node: &Node| node.more()?.running.as_deref().filter(|process| process.is_alive).map(|it| it.pid);
    if let Some(pid) = model.ancestors(ix).find_map(|above| lives(model.get(above)?)) {
        return Some(format!("It works inside process {pid}: act on the session above it."));
    }
    if is_gone(model, node) {
        return Some(format!("It is {word}: {}.", no_process(model, node)));
    }
    let sign = no_sign(node);
    Some(format!(
        "It is {word}: no process and no hook of it is known{sign}. `quarterdeck init` sets the hook up."
    ))
}

/// Says that no process works on a node, and since when nothing was heard of it.
fn no_process(model: &Model, node: &Node) -> String {
    let process = if is_gone(model, node) { "its process is gone" } else { "no process of it is known" };
    format!("{process}{}", no_sign(node))
}

/// Says since when nothing was heard of what is not over; to the second, since a line on screen is short.
fn no_sign(node: &Node) -> String {
    let sign = node.clocks.last_sign.filter(|_| !node.status.is_ended()).map(|at| at.to_string());
    let whole = sign.as_deref().map(|at| at.split_once('.').map_or(at, |(whole, _)| whole));
    whole.map_or_else(String::new, |at| format!(", no sign since {}Z", at.trim_end_matches('Z')))
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

    /// A session of Claude with a process, which may be `foreground` or `stopped`; a hook was heard of it (`hooked`), and
    /// holds it (`held`).
    fn session(is: &[&str]) -> (Model, NodeIx) {
        use crate::model::event::payload::HookRecorded;
        use crate::model::fact::{Fact, NodeFact, SourceFact, StatusReport};
        use crate::model::node::Running;
        use crate::model::time::Stamp;
        use crate::model::words::Field;
        let (claude, system, hook) = (SourceId(1), SourceId(2), SourceId(3));
        let kinds = [(claude, SourceKind::Claude), (system, SourceKind::Process), (hook, SourceKind::Hook)];
        let opened = |(id, kind)| Fact::source(id, SourceFact::Opened { kind, root: "/x".into() });
        let mut facts: Vec<Fact> = kinds.into_iter().map(opened).collect();
        let key = NodeKey::CliSession("claude".into(), "s1".into());
        let at = Some(Stamp::from_millis(1_790_000_000_000));
        let of = |word: &str| NodeFact::Status(Box::new(StatusReport::of(Field::Session, word.to_owned())));
        let is_foreground = is.contains(&"foreground");
        let running = Running {
            pid: 4711,
            start: 9,
            command: "claude".into(),
            is_foreground,
            is_alive: true,
            beside: Vec::new(),
        };
        facts.push(Fact::node(claude, at, key.clone(), NodeFact::Seen(NodeKind::Session)));
        facts.push(Fact::node(claude, at, key.clone(), of("running")));
        facts.push(Fact::node(
            system,
            at,
            key.clone(),
            of(if is.contains(&"stopped") { "paused" } else { "running" }),
        ));
        facts.push(Fact::node(system, at, key.clone(), NodeFact::Runs(Box::new(running))));
        let records = [("hooked", "session-started"), ("held", "held")];
        for (_, kind) in records.into_iter().filter(|(so, _)| is.contains(so)) {
            let record =
                HookRecorded { kind: kind.into(), session: "s1".into(), at, ..HookRecorded::default() };
            crate::source::hooked::facts(&record, hook, None, crate::model::id::Seq(0), &mut facts);
        }
        let mut model = Model::default();
        let _ = model.apply_all(facts);
        let ix = model.find(&key).unwrap();
        (model, ix)
    }

    #[test]
    fn where_a_signal_would_do_harm_or_nothing_a_hook_that_was_heard_does_it() {
        let by = |(model, ix): &(Model, NodeIx), what| match channel(model, *ix, what) {
            Ok(Channel::Signal(..)) => "signal",
            Ok(Channel::Hook(_)) => "hook",
            Ok(Channel::Engine(_)) => "engine",
            Err(_) => "nothing",
        };
        let behind = session(&["hooked"]);
        assert_eq!(["signal", "signal"], [Control::Pause, Control::Cancel].map(|what| by(&behind, what)));
        let in_front = session(&["foreground", "hooked"]);
        assert_eq!(["hook", "signal"], [Control::Pause, Control::Cancel].map(|what| by(&in_front, what)));
        let unheard = session(&["foreground"]);
        assert_eq!(by(&unheard, Control::Pause), "nothing");
        // Who is held by a hook has a process that works: a signal would not let it go.
        assert_eq!(by(&session(&["foreground", "hooked", "held"]), Control::Resume), "hook");
        assert_eq!(by(&session(&["stopped", "hooked"]), Control::Resume), "signal");
        assert_eq!(by(&session(&["stopped", "hooked"]), Control::Pause), "nothing");
    }

    #[test]
    fn what_is_over_or_whose_process_is_gone_is_reached_by_nobody_and_says_so() {
        use crate::model::fact::{Fact, NodeFact, StatusReport};
        use crate::model::words::Field;
        let refused = |fact: NodeFact, what| {
            let (mut model, ix) = session(&["hooked"]);
            let running = model.get(ix).and_then(|node| node.more()?.running.clone()).unwrap();
            let gone = crate::model::node::Running { is_alive: false, ..*running };
            let key = NodeKey::CliSession("claude".into(), "s1".into());
            let _ = model.apply(Fact::node(SourceId(2), None, key.clone(), NodeFact::Runs(Box::new(gone))));
            let _ = model.apply(Fact::node(SourceId(2), None, key.clone(), NodeFact::Gone));
            let _ = model.apply(Fact::node(SourceId(1), None, key, fact));
            channel(&model, ix, what).unwrap_err()
        };
        let over = NodeFact::Status(Box::new(StatusReport::of(Field::Session, "completed")));
        assert_eq!(refused(over, Control::Cancel), "It is over (done), and no process of it is known.");
        let silent = || NodeFact::Seen(NodeKind::Session);
        let sign = "no sign since 2026-09-21T14:13:20Z";
        assert_eq!(refused(silent(), Control::Pause), format!("It is running: its process is gone, {sign}."));
        assert_eq!(
            refused(silent(), Control::Retry),
            format!("No engine runs it, and retry takes one: its process is gone, {sign}.")
        );
    }

    #[test]
    fn what_ends_with_a_process_is_what_works_in_it_and_is_known_by_more_than_the_process() {
        use crate::model::fact::{Description, Fact, NodeFact, StatusReport};
        use crate::model::words::Field;
        let (mut model, ix) = session(&[]);
        let agent = |id: &str| NodeKey::CliAgent("claude".into(), id.into());
        let above = || model.get(ix).unwrap().keys.first().unwrap().clone();
        let says = |id: &str, what| Fact::node(SourceId(1), None, agent(id), what);
        let of = |word: &str| NodeFact::Status(Box::new(StatusReport::of(Field::Session, word.to_owned())));
        let folder = Description { workspace: Some("/shop".into()), ..Description::default() };
        let keys = crate::model::key::Keys::from(above()).and(NodeKey::Process(4711, 9));
        let mut facts = vec![Fact::node(SourceId(1), None, keys, NodeFact::Described(Box::new(folder)))];
        for (id, word) in [("works", "running"), ("over", "completed")] {
            facts.extend([says(id, NodeFact::Under(Box::new(above().into()))), says(id, of(word))]);
        }
        let alone = NodeKey::Process(4712, 9);
        facts.push(Fact::node(SourceId(2), None, alone, of("alive")));
        let session = above();
        let _ = model.apply_all(facts);
        let of = |pid| {
            inside_of(&model, &Signalled { pid, start: 9, command: "claude".into(), beside: Vec::new() })
        };
        let inside = Inside { keys: vec![session, agent("works")], folders: vec!["/shop".into()] };
        assert_eq!(of(4711), inside);
        assert_eq!(of(4712).keys, []);
        assert_eq!(of(4713), Inside::default());
    }
}
