//! What is known of each kind of agent: how it is run, what its stream says, what can be said to it.
//!
//! An [`Adapter`] is pure: it is given bytes, ends and commands, and returns log lines and lines for the
//! agent's stdin. It reads no file and no clock, so what a crash interrupted is read again to the same lines.
//! Not for processes: those are the session room's.

pub mod acp;
pub mod brief;
pub mod claude;
pub mod codex;
pub mod command;
pub mod config;
pub mod evidence;
pub mod excerpt;
pub mod gemini;
pub mod kind;
pub mod limit;
pub mod lines;
pub mod log;
pub mod opencode;
pub mod run;
pub mod secrets;
pub mod simulated;
pub mod skim;
mod squeeze;
pub mod trail;
mod uuid;
mod wire;

use std::path::{Path, PathBuf};

use log::{LogLine, Origin};

use crate::model::command::Answer;
use crate::model::id::{AgentId, QuestionId};

/// Turns what an agent's files say into its log, and commands into what its stdin takes.
///
/// `self` is the state; the same inputs from the same state give the same step.
pub trait Adapter: Send {
    /// Takes one input.
    fn step(&mut self, input: Input<'_>) -> Step;

    /// Takes up a line that an earlier adapter of this session made, to go on from there.
    fn recall(&mut self, line: &LogLine);

    /// Returns the files beside the agent's streams that are to be read too. It may grow with every step; a file
    /// keeps its number.
    fn beside(&self) -> Vec<Beside> {
        Vec::new()
    }

    /// Returns where files of the agent may come to be of which nothing else tells; a `*` stands for any part of one
    /// name. Each that fits is told once, by [`Adapter::found`].
    fn wanted(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Takes a file that was found: from now on it may be one of those beside.
    fn found(&mut self, _path: &Path) {}
}

/// A file that the agent's tool itself appends to: a transcript, a rollout, a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    /// Its number in this session: what is read of it comes from [`Origin::Beside`] of that number.
    pub nth: u32,
    /// Where it is. A `*` stands for any part of one name; the first file that fits is read.
    pub pattern: PathBuf,
}

/// What an adapter is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input<'a> {
    /// A piece of a stream; it may end anywhere.
    Bytes {
        /// Which stream.
        origin: Origin,
        /// Where the piece begins.
        offset: u64,
        /// What is in it.
        bytes: &'a [u8],
    },
    /// Something that the host said, by where it stands in `host.jsonl`.
    Notice {
        /// Where its line begins.
        offset: u64,
        /// What it means for the agent.
        notice: &'a Notice,
    },
    /// Something to be said to the agent.
    Command {
        /// The command's id: what is written to stdin for it carries the same.
        id: &'a str,
        /// What.
        command: &'a Command,
    },
    /// The agent has ended, and its streams were read to their end.
    End(&'a End),
}

/// What a host's answer means for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// It runs.
    Started,
    /// It was stopped.
    Frozen,
    /// It goes on.
    Continued,
    /// It was given a line, by this id.
    Fed(String),
    /// It will not be given a line.
    NotFed(String),
}

/// What can be said to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// The answer to its question.
    Answer {
        /// Which question.
        question: QuestionId,
        /// What is answered.
        answer: Answer,
    },
    /// A sentence.
    Tell(String),
    /// To stop what it does and listen.
    Interrupt,
    /// To end one of its sub-agents, and go on without it.
    StopAgent(AgentId),
    /// To go on with another model.
    SetModel(String),
}

/// How an agent's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Why.
    pub cause: Cause,
    /// Its exit code, if it had one.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// What the system said, if it did not start.
    pub error: Option<String>,
}

/// Why an agent's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// By itself.
    Itself,
    /// By an order.
    Order,
    /// By its deadline.
    Deadline,
    /// It never ran.
    NeverRan,
    /// Its host was lost.
    Lost,
}

/// What an adapter makes of an input.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// Lines for the log, in order.
    pub log: Vec<LogLine>,
    /// Lines for the agent's stdin, in order.
    pub stdin: Vec<ForStdin>,
    /// Why a command cannot be said to this agent.
    pub refused: Option<String>,
    /// Its work is over, and it waits for more: its stdin is to be closed, so that it leaves.
    pub close_stdin: bool,
    /// Its work is over, and it may not know how to leave: its stdin is to be closed, and if it is still there some
    /// seconds later, it is to be ended.
    pub is_over: bool,
    /// It will not get anywhere: it is to be ended. What the log says last is why.
    pub end: bool,
}

/// A line for an agent's stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForStdin {
    /// Its id: the same input makes the same id, so it is fed once.
    pub id: String,
    /// What it says.
    pub line: String,
}
