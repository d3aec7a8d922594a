//! What the kernel wants done, as data. It is done only after the step's events are on disk.

use std::fmt;

use crate::model::command::Answer;
use crate::model::event::Body;
use crate::model::id::{AgentId, CommandId, DelegationId, QuestionId, SessionId, SubtaskId};
use crate::model::time::Stamp;

use super::input::Cli;

/// What came of one input.
#[must_use]
#[derive(Debug, Clone)]
pub struct Step {
    /// The moment of all its events.
    pub at: Stamp,
    /// To be written first, in one piece. The kernel has taken them in already.
    pub events: Vec<Body>,
    /// To be done then, in this order.
    pub effects: Vec<Effect>,
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Starts a session, unless it was started before.
    Start(Box<Launch>),
    /// Orders a session's host to do something; an order of the same id is carried out once.
    Order { session: SessionId, id: CommandId, order: Order },
    /// Says something to an agent, once for each id.
    Feed { session: SessionId, id: CommandId, say: Say },
    /// Sends [`super::input::Input::Timer`] at a moment of the awake clock; replaces the key's earlier timer.
    SetTimer { key: TimerKey, at_ms: u64, epoch: u64 },
    /// Looks for what a session's host left behind and ends it; a host that comes later must not begin.
    Sweep { session: SessionId },
    /// Merges, leaves or removes the work tree of a step; [`super::input::Report::Tree`] tells what came of it.
    Tree { delegation: DelegationId, subtask: SubtaskId, command: Option<CommandId>, what: TreeWork },
    /// Undoes what these steps changed, once for each key; [`super::input::Report::Undone`] tells what came of it.
    Undo {
        delegation: DelegationId,
        command: Option<CommandId>,
        key: String,
        steps: Vec<(DelegationId, SubtaskId)>,
    },
}

/// What can be done with the work tree of a step that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeWork {
    Merge,
    Keep,
    Discard,
}

/// One attempt of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    pub session: SessionId,
    pub delegation: DelegationId,
    pub subtask: SubtaskId,
    pub attempt: u32,
    pub agent: Option<String>,
    pub model: Option<String>,
    /// Where it stands, as JSON: the guide's context.
    pub context: String,
    /// What is appended to the prompt where the agent is held to a form of its answer.
    pub form: String,
    /// Whether it is one of the guide's commands, which ask for that form.
    pub is_guided: bool,
    /// What it is in the hierarchy.
    pub role: Option<String>,
    /// Whole: with the results of the steps before, and of the attempt before where that was asked for.
    pub prompt: String,
    pub workspace: Option<String>,
    pub depth: u32,
    pub path: Vec<String>,
    /// The agent's own session of an earlier attempt, and what to say there instead of the whole prompt.
    pub resume: Option<(Cli, String)>,
    /// The time it has; its host keeps to it even when no engine runs.
    pub timeout_ms: Option<u64>,
    pub grace_ms: u64,
}

/// What a host can be ordered to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Freeze,
    Continue,
    End {
        grace_ms: u64,
    },
    Kill,
    CloseStdin,
    /// The time that is left from now on; `None` while its clock stands.
    Deadline {
        remaining_ms: Option<u64>,
    },
}

/// What can be said to an agent; its adapter knows in which words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Say {
    Answer { question: QuestionId, answer: Answer },
    Tell(String),
    StopAgent(AgentId),
    SetModel(String),
}

/// What a timer is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerKey {
    /// A step's time is up.
    Subtask(DelegationId, SubtaskId),
    /// A step may be tried again.
    Retry(DelegationId, SubtaskId),
    /// A delegation's time is up.
    Delegation(DelegationId),
    /// An offer was not accepted in time.
    Offer(DelegationId),
    /// A new day has a new budget.
    Day,
    /// What a lost session left behind, and could not be ended, is looked for again.
    Sweep(SessionId),
}

impl fmt::Display for TimerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Subtask(delegation, subtask) => write!(f, "deadline of {delegation}/{subtask}"),
            Self::Retry(delegation, subtask) => write!(f, "retry of {delegation}/{subtask}"),
            Self::Delegation(delegation) => write!(f, "deadline of {delegation}"),
            Self::Offer(delegation) => write!(f, "end of the offer {delegation}"),
            Self::Day => f.write_str("end of the day"),
            Self::Sweep(session) => write!(f, "next look for what {session} left"),
        }
    }
}
