//! How a node is recognised: by any of several keys, told by any source, in any order.
//!
//! The engine knows a step by delegation and subtask, its host by session and process, the agent's own
//! files by the tool's session and agent ids. A fact may carry any of them, and two nodes that turn out
//! to share one are joined.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::id::{AgentId, DelegationId, SessionId, SubtaskId};

/// What a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// Our own engine's journal.
    Engine,
    /// What our hook wrote from inside an agent's session.
    Hook,
    /// A running process, as the system shows it.
    Process,
    /// What a person did to an agent that no engine runs, and nobody else could write down.
    Person,
    Claude,
    Codex,
    #[serde(rename = "opencode")]
    OpenCode,
    Gemini,
    Acp,
    Omc,
    OmcTeam,
    Idumb,
    MultiAgentTemplate,
    #[serde(rename = "proofchecker")]
    ProofChecker,
    /// A store and a registry that somebody else writes.
    Plain,
    /// A source that nobody introduced.
    Unknown,
}

impl SourceKind {
    /// Returns how far this source is believed where two disagree: the lower, the more.
    ///
    /// The engine acts and therefore knows; the system and the agents' own files come next; what a third
    /// tool noted about an agent last. A person who ended an agent and the agent's own files are believed alike, so the
    /// later word stands: who was ended may be resumed.
    pub fn rank(self) -> u8 {
        match self {
            Self::Engine => 0,
            Self::Process => 1,
            Self::Claude | Self::Codex | Self::OpenCode | Self::Gemini | Self::Acp | Self::Person => 2,
            Self::Hook => 3,
            Self::Omc | Self::OmcTeam | Self::Idumb | Self::MultiAgentTemplate | Self::ProofChecker => 4,
            Self::Plain => 5,
            Self::Unknown => 6,
        }
    }

    /// Returns whether it is what an agent itself writes down of its work.
    pub fn is_agents_own(self) -> bool {
        matches!(self, Self::Claude | Self::Codex | Self::OpenCode | Self::Gemini | Self::Acp)
    }

    /// Returns the word for this source in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Hook => "hook",
            Self::Process => "process",
            Self::Person => "person",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Gemini => "gemini",
            Self::Acp => "acp",
            Self::Omc => "omc",
            Self::OmcTeam => "omc-team",
            Self::Idumb => "idumb",
            Self::MultiAgentTemplate => "multi-agent-template",
            Self::ProofChecker => "proofchecker",
            Self::Plain => "plain",
            Self::Unknown => "unknown",
        }
    }
}

/// Which source a fact comes from; numbers are given out by whoever assembles the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceId(pub u16);

/// Stands between a foreign delegation's id and its step's; no id has it, and it is shown as a slash.
pub const STEP_MARK: char = '\u{1f}';

/// One name of a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NodeKey {
    /// A delegation of ours.
    Delegation(DelegationId),
    /// A step of a delegation of ours.
    Subtask(DelegationId, SubtaskId),
    /// One attempt: a session of our engine.
    Session(SessionId),
    /// An agent inside a session of our engine.
    Agent(SessionId, AgentId),
    /// A session, by the tool and the id that the tool gives it.
    CliSession(Arc<str>, Arc<str>),
    /// An agent, by the tool and the id that the tool gives it.
    CliAgent(Arc<str>, Arc<str>),
    /// The call that spawned an agent.
    ToolUse(Arc<str>),
    /// A process: its number and when it started, since numbers are used again.
    Process(u32, u64),
    /// Anything else, by the id that its source gives it.
    Foreign(SourceId, Arc<str>),
}

impl NodeKey {
    /// Returns whether one node cannot have both keys: they name different things for certain.
    pub fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Delegation(_), Self::Delegation(_))
            | (Self::Subtask(..), Self::Subtask(..))
            | (Self::Agent(..), Self::Agent(..))
            | (Self::CliAgent(..), Self::CliAgent(..)) => self != other,
            (Self::Delegation(_), Self::Subtask(..)) | (Self::Subtask(..), Self::Delegation(_)) => true,
            // A step may have several sessions, processes and calls: one for each attempt.
            (Self::Foreign(one, _), Self::Foreign(two, _)) => one == two && self != other,
            _ => false,
        }
    }
}

impl NodeKey {
    /// Returns whether an engine of ours gave this key.
    pub fn is_engines(&self) -> bool {
        matches!(self, Self::Delegation(_) | Self::Subtask(..) | Self::Session(_) | Self::Agent(..))
    }

    /// Returns whether both are keys that the same tool gave.
    pub fn is_of_same_tool(&self, other: &Self) -> bool {
        let tool = |key: &Self| match key {
            Self::CliSession(tool, _) | Self::CliAgent(tool, _) => Some(Arc::clone(tool)),
            Self::Delegation(_)
            | Self::Subtask(..)
            | Self::Session(_)
            | Self::Agent(..)
            | Self::ToolUse(_)
            | Self::Process(..)
            | Self::Foreign(..) => None,
        };
        tool(self).is_some_and(|one| tool(other) == Some(one))
    }

    /// Returns the id, if this is the key of a delegation of ours.
    pub fn delegation(&self) -> Option<&DelegationId> {
        if let Self::Delegation(id) = self { Some(id) } else { None }
    }

    /// Returns the ids, if this is the key of a step of ours.
    pub fn subtask(&self) -> Option<(&DelegationId, &SubtaskId)> {
        if let Self::Subtask(delegation, id) = self { Some((delegation, id)) } else { None }
    }
}

impl fmt::Display for NodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delegation(id) => write!(f, "{id}"),
            Self::Subtask(delegation, id) => write!(f, "{delegation}/{id}"),
            Self::Session(id) => write!(f, "{id}"),
            Self::Agent(session, id) => write!(f, "{session}/{id}"),
            Self::CliSession(tool, id) | Self::CliAgent(tool, id) => write!(f, "{tool}:{id}"),
            Self::ToolUse(id) => write!(f, "call:{id}"),
            Self::Process(pid, start) => write!(f, "pid:{pid}@{start}"),
            Self::Foreign(_, id) => write!(f, "{}", id.replace(STEP_MARK, "/")),
        }
    }
}

/// The keys that a fact carries: at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// The key that the source itself uses.
    pub first: NodeKey,
    /// Others of the same node.
    pub more: Vec<NodeKey>,
}

impl Keys {
    /// Returns these keys and one more.
    #[must_use]
    pub fn and(mut self, key: NodeKey) -> Self {
        self.more.push(key);
        self
    }

    /// Returns all keys, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &NodeKey> {
        std::iter::once(&self.first).chain(&self.more)
    }
}

impl From<NodeKey> for Keys {
    fn from(first: NodeKey) -> Self {
        Self { first, more: Vec::new() }
    }
}

impl From<NodeKey> for Cow<'_, Keys> {
    fn from(key: NodeKey) -> Self {
        Self::Owned(key.into())
    }
}

impl From<Keys> for Cow<'_, Keys> {
    fn from(keys: Keys) -> Self {
        Self::Owned(keys)
    }
}

impl<'a> From<&'a Keys> for Cow<'a, Keys> {
    fn from(keys: &'a Keys) -> Self {
        Self::Borrowed(keys)
    }
}
