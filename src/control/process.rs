//! A process that no engine of ours runs: what a signal to it reaches, what works in it, and why it is not signalled.

use std::path::PathBuf;

use super::{Channel, Control, Signal};
use crate::model::key::{NodeKey, SourceKind};
use crate::model::node::{Beside, Node, processes};
use crate::model::status::StatusWord;
use crate::model::{Model, NodeIx};

/// A process that no engine of ours runs, with those that work on the same session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signalled {
    pub pid: u32,
    /// When it started, in the system's own measure.
    pub start: u64,
    /// What was started, as a person would type it.
    pub command: Box<str>,
    /// Those that work on the same session: one that is left out would go on with it.
    pub beside: Vec<Beside>,
}

impl Signalled {
    /// Returns the key of its node.
    pub fn key(&self) -> NodeKey {
        NodeKey::Process(self.pid, self.start)
    }

    /// Returns each that is signalled: its number, when it started, and its command.
    pub fn each(&self) -> impl Iterator<Item = (u32, u64, &str)> {
        let beside = self.beside.iter().map(|other| (other.pid, other.start, &*other.command));
        std::iter::once((self.pid, self.start, &*self.command)).chain(beside)
    }

    /// Names all of them by their numbers.
    pub fn named(&self) -> String {
        processes(self.each().map(|(pid, ..)| pid))
    }
}

/// What works in a process, and therefore ends with it: told so that it can be kept who ended it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inside {
    /// The sessions and agents that have not ended by themselves, of those that their own files tell of.
    pub keys: Vec<NodeKey>,
    /// The folders of whose tree they are a part.
    pub folders: Vec<PathBuf>,
}

/// Returns what works in a process now.
pub fn inside_of(model: &Model, process: &Signalled) -> Inside {
    let Some(top) = model.find(&process.key()) else { return Inside::default() };
    let has_files = |node: &Node| {
        let mut kinds = node.sources().into_iter().filter_map(|source| Some(model.source(source)?.kind));
        kinds.any(SourceKind::is_agents_own)
    };
    // What the system alone knows is gone with its process, and needs no word.
    let ends = |(_, node): &(NodeIx, &Node)| !node.status.is_ended() && has_files(node);
    let is_named =
        |key: &&NodeKey| matches!(key, NodeKey::CliSession(..) | NodeKey::CliAgent(..) | NodeKey::ToolUse(_));
    let named = |(_, node): (NodeIx, &Node)| node.keys.iter().find(is_named).cloned();
    let keys = model.subtree(top).filter(ends).filter_map(named).collect();
    let folder = model.get(top).and_then(|node| node.more()?.workspace.as_deref()).map(PathBuf::from);
    Inside { keys, folders: folder.into_iter().collect() }
}

/// Why a process is not signalled.
pub(super) enum Unsent {
    /// It is so already, or takes somebody who listens.
    Never(String),
    /// A signal is the wrong means: another may do.
    Other(String),
}

impl Unsent {
    pub fn why(self) -> String {
        let (Self::Never(why) | Self::Other(why)) = self;
        why
    }
}

/// Returns the process of a node that no engine runs, or why it cannot be signalled; nothing where it is none.
pub(super) fn signalled(model: &Model, node: &Node, what: Control) -> Option<Result<Channel, Unsent>> {
    let process = node.more()?.running.as_deref().filter(|process| process.is_alive)?;
    let signal = what.signal()?;
    let is_stopped = is_stopped(model, node);
    let mut in_front = process.beside.iter().filter(|it| it.is_foreground && !it.is_stopped).map(|it| it.pid);
    let in_front = process.is_foreground.then_some(process.pid).or_else(|| in_front.next());
    let is_any_stopped = is_stopped || process.beside.iter().any(|it| it.is_stopped);
    let (start, command, beside) = (process.start, process.command.clone(), process.beside.clone());
    let process = Signalled { pid: process.pid, start, command, beside };
    let (named, verb) = (process.named(), if process.beside.is_empty() { "is" } else { "are" });
    let named = named.replacen('p', "P", 1);
    let refused = match (signal, in_front) {
        (Signal::Stop, Some(pid)) => Some(Unsent::Other(format!(
            "Process {pid} is the foreground job of a shell: stopped, the shell would take its terminal back. \
             Stop it there, or run it where no shell waits for it."
        ))),
        (Signal::Stop, None) if is_stopped => Some(Unsent::Never(format!("{named} {verb} stopped already."))),
        (Signal::Continue, _) if !is_any_stopped => {
            Some(Unsent::Other(format!("{named} {verb} not stopped.")))
        }
        (Signal::Stop | Signal::Continue | Signal::End, _) => None,
    };
    Some(match refused {
        Some(why) => Err(why),
        None => Ok(Channel::Signal(signal, process)),
    })
}

/// Returns whether a process is stopped: as the system shows it, where that is told, for a hook that holds a session stops none.
fn is_stopped(model: &Model, node: &Node) -> bool {
    let is_system = |source| model.source(source).is_some_and(|source| source.kind == SourceKind::Process);
    let seen = node.claims.iter().find(|claim| is_system(claim.source)).map(|claim| &claim.status);
    seen.unwrap_or(&node.status).told() == StatusWord::Paused
}
