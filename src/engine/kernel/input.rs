//! What the kernel is told: commands, reports about sessions, timers, and what a new engine found.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::command::Command;
use crate::model::event::payload::Asked;
use crate::model::handoff::Outcome;
use crate::model::id::{CommandId, DelegationId, QuestionId, SessionId, SubtaskId};
use crate::model::rollback::Rollback;
use crate::model::time::Stamp;
use crate::model::worktree::WorkTree;

use super::effect::TimerKey;

/// The moment of a step, and the randomness that it may use: the kernel has neither by itself.
#[derive(Debug, Clone, Copy)]
pub struct Tick {
    /// The wall clock. One that goes back is held at the last moment that was written.
    pub at: Stamp,
    /// Milliseconds on the clock that counts only while the machine is awake, the same for every engine of
    /// this boot.
    pub awake_ms: u64,
    /// Fresh random bits; ids of new sessions come from them.
    pub seed: u64,
}

impl Tick {
    /// Returns the moment so much later.
    pub(super) fn later(&self, span_ms: u64) -> Stamp {
        self.at.plus(Duration::from_millis(span_ms))
    }

    /// Returns the moment so much later on the awake clock.
    pub(super) fn due(&self, span_ms: u64) -> u64 {
        self.awake_ms.saturating_add(span_ms)
    }
}

/// Something that the kernel must answer to.
#[derive(Debug, Clone)]
pub enum Input {
    Command(Box<Command>),
    Report(Report),
    /// A timer that an effect asked for has run out.
    Timer {
        key: TimerKey,
        epoch: u64,
    },
    /// A new engine looked at every session that [`super::Kernel::expected`] names.
    Recovered(Vec<(SessionId, Observed)>),
    /// What a new engine could not look at before was looked at since.
    Found(SessionId, Observed),
    /// The machine slept, or its wall clock was set: deadlines are other moments now.
    Woke,
    /// The settings in force, whole; the kernel's are in `limits`.
    Settings {
        settings: Value,
        by: Option<String>,
    },
}

/// What became known of a session.
#[derive(Debug, Clone)]
pub enum Report {
    /// Its host runs the agent.
    Started { session: SessionId, host: Host },
    /// It was not started, and nothing of it runs.
    NotStarted { session: SessionId, error: String },
    /// It was not started, since nothing is started on its provider until then.
    Held { session: SessionId, until: Stamp, why: String },
    /// The agent has ended, as its host recorded.
    Exited { session: SessionId, exit: Exit },
    /// The host is gone without a record of the end.
    Gone { session: SessionId },
    /// What a host left behind was looked for and ended, but for those that are left.
    Swept { session: SessionId, pids: Vec<u32>, left: Vec<u32> },
    /// The host carried out an order.
    Answered { session: SessionId, order: CommandId, did: Did, pids: Vec<u32> },
    /// A line was given to the agent, or could not be.
    Fed { session: SessionId, id: CommandId, trouble: Option<String> },
    /// The agent asks something; the ids of its step are filled in here.
    Asked(Box<Asked>),
    /// A question needs no answer any more.
    Settled { session: SessionId, question: QuestionId, how: Settled },
    /// What became of a step's work tree, or why nothing did.
    Tree {
        delegation: DelegationId,
        subtask: SubtaskId,
        command: Option<CommandId>,
        tree: Result<Box<WorkTree>, String>,
    },
    /// What was undone for a delegation, or why nothing was.
    Undone { delegation: DelegationId, command: Option<CommandId>, came: Result<Box<Rollback>, String> },
    /// A sign of life.
    Alive { session: SessionId },
}

/// What runs an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    pub pid: Option<u32>,
    pub pid_start: Option<u64>,
    pub boot_id: Option<String>,
    /// Whether something can be said to the agent while it runs.
    pub channel: bool,
    /// How much of its time is left, where the host tells.
    pub remaining_ms: Option<u64>,
    /// The agent's own session, where that is known before it tells.
    pub cli: Option<Cli>,
    /// Where the agent works, where that is known.
    pub workspace: Option<String>,
    /// The work tree of its own that it works in, where that is news.
    pub tree: Option<Box<WorkTree>>,
}

/// A session of an agent's own tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cli {
    pub tool: String,
    /// The id that the tool keeps it under.
    pub session: String,
}

/// How an agent ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Exit {
    pub verdict: Verdict,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The processes that were ended with it.
    pub pids: Vec<u32>,
    /// How many of its processes may still be there.
    pub left: u32,
    /// Its last words, as it said them.
    pub said: Option<String>,
}

/// What an agent's end means, as its adapter judged.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Done {
        result: Option<Box<Outcome>>,
    },
    Partial {
        result: Option<Box<Outcome>>,
    },
    Failed {
        error: String,
        retryable: bool,
        result: Option<Box<Outcome>>,
    },
    /// With what it had said by then.
    TimedOut {
        result: Option<Box<Outcome>>,
    },
    /// It came back, and what it brought breaks the contract under which it was asked for.
    Malformed {
        result: Box<Outcome>,
        is_partial: bool,
        /// Whether that makes it fail.
        enforced: bool,
    },
    /// Its provider takes nothing more until then: that is no failure of the step, and costs no retry.
    Limited {
        until: Stamp,
        error: String,
    },
}

impl Verdict {
    /// Returns what it brought, whatever it means.
    pub(super) fn result(self) -> Option<Box<Outcome>> {
        match self {
            Self::Done { result }
            | Self::Partial { result }
            | Self::TimedOut { result }
            | Self::Failed { result, .. } => result,
            Self::Malformed { result, .. } => Some(result),
            Self::Limited { .. } => None,
        }
    }
}

/// What a host did on an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Did {
    /// None of the session's processes runs.
    Froze,
    /// All of them may run.
    Continued,
    /// It keeps another deadline: so much is left.
    Timed { remaining_ms: Option<u64> },
    /// Anything that its end, its clock or its stdin will tell by itself.
    Other,
}

/// How a question was settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    Answered(String),
    Withdrawn(String),
}

/// What a new engine found of a session that should be there.
#[derive(Debug, Clone)]
pub enum Observed {
    /// No host ever began: it may be started, under the same id.
    NeverRan,
    /// Its host lives.
    Running(Host),
    /// It ended meanwhile.
    Exited(Exit),
    /// Its host died without a record.
    Gone,
    /// It could not be looked at; that says nothing about it, and [`Input::Found`] will.
    Unknown,
}
