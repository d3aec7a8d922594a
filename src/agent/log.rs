//! The session's log: what an agent did, in one form for all kinds of agents.
//!
//! Each line says from where in which file it was made, so that reading on after a crash starts where the
//! log ends. When it was made is added by whoever writes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kind::Kind;
use crate::model::id::{AgentId, CommandId, QuestionId};
use crate::model::time::Stamp;
use crate::model::usage::{Tokens, Usd};

/// One line of a session's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// From where it was made.
    pub from: Place,
    /// The sub-agent that it is about, where it is not the session's own agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// What happened.
    #[serde(flatten)]
    pub entry: Entry,
}

/// What was made of one place, and of whom each is; nobody's is the session's own agent's.
pub type Made = Vec<(Option<AgentId>, Entry)>;

/// Makes the lines of the log of what was made of one place. Only the last of them moves on: what a crash cut is read
/// again.
pub fn placed(origin: Origin, (offset, next): (u64, u64), made: Made) -> impl Iterator<Item = LogLine> {
    let count = made.len();
    (0u32..).zip(made).map(move |(part, (agent, entry))| {
        let is_last = part as usize + 1 == count;
        let from = Place { origin, offset, next: if is_last { next } else { offset }, part };
        LogLine { from, agent, entry }
    })
}

impl LogLine {
    /// Makes a line about the session's own agent.
    pub fn new(from: Place, entry: Entry) -> Self {
        Self { from, agent: None, entry }
    }
}

/// Which of a session's streams something was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The agent's standard output.
    Out,
    /// The agent's standard error.
    Err,
    /// What was fed to the agent.
    In,
    /// What the host said.
    Host,
    /// The record of its end.
    Exit,
    /// A command to the agent.
    Command,
    /// A file that the agent's tool writes beside them, by its number in the session.
    Beside(u32),
}

/// A place in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Which stream.
    pub origin: Origin,
    /// Where what was read begins.
    pub offset: u64,
    /// Where reading goes on. For all but the last line made of one place, that place again.
    pub next: u64,
    /// Which of the lines made of this place it is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub part: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
fn is_zero(part: &u32) -> bool {
    *part == 0
}

/// What an agent did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "log", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Entry {
    /// It printed something.
    Output {
        /// What.
        text: String,
        /// How many bytes of it are left out here.
        #[serde(default, skip_serializing_if = "is_none_left_out")]
        cut: u64,
    },
    /// It thought something.
    Thought {
        /// What.
        text: String,
    },
    /// It uses a tool.
    Tool {
        /// Which call, if it has an id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The tool.
        name: String,
        /// What for, in short.
        #[serde(default)]
        input: String,
    },
    /// A tool answered.
    ToolResult {
        /// Which call, if it has an id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Whether it worked, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ok: Option<bool>,
        /// What it said, in short.
        #[serde(default)]
        text: String,
    },
    /// How far it is.
    Progress {
        /// Steps done.
        current: u64,
        /// Steps in all, if it knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<u64>,
        /// What it did last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_action: Option<String>,
    },
    /// What it used.
    Usage(Usage),
    /// It asks something, and waits.
    Question {
        /// Which question.
        id: QuestionId,
        /// What it asks.
        text: String,
        /// The tool that it wants to use, if that is the question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// The answers that it takes; any text where there are none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
        /// What the tool would be given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
        /// What the adapter needs to answer it, for one that comes later.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<Value>,
    },
    /// It does not wait for an answer any more.
    Withdrawn {
        /// To which question.
        id: QuestionId,
        /// Why.
        reason: String,
    },
    /// It answered a command that was said to it.
    Answered {
        /// Which command.
        command: CommandId,
        /// What went wrong, if it was not done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trouble: Option<String>,
    },
    /// Its tool told under which id it keeps the session, or with which model it works.
    Named(Named),
    /// A sub-agent began; the line names it.
    AgentStarted(Started),
    /// A sub-agent ended; the line names it.
    AgentEnded {
        /// How it went.
        status: Status,
        /// What it came to, or what went wrong.
        #[serde(default)]
        text: String,
    },
    /// Its provider takes no more for now.
    Limited(Limited),
    /// Something that this version does not know, as it began.
    Unknown {
        /// What it calls itself.
        what: String,
        /// How it began.
        #[serde(default)]
        text: String,
    },
    /// It says what its work came to.
    Result {
        /// How it went, by its own account.
        status: Status,
        /// In short.
        #[serde(default)]
        summary: String,
    },
    /// It is over, and judged.
    Ended {
        /// How it went.
        status: Status,
        /// What went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

impl Entry {
    /// Gives each text that an agent or its tool made to `each`; not what a question must hand back as it came.
    pub fn each_text(&mut self, each: &mut impl FnMut(&mut String)) {
        match self {
            Self::Output { text, .. }
            | Self::Thought { text }
            | Self::Tool { input: text, .. }
            | Self::ToolResult { text, .. }
            | Self::Question { text, .. }
            | Self::Withdrawn { reason: text, .. }
            | Self::AgentEnded { text, .. }
            | Self::Limited(Limited { text, .. })
            | Self::Unknown { text, .. }
            | Self::Result { summary: text, .. } => each(text),
            Self::Progress { last_action: text, .. }
            | Self::Answered { trouble: text, .. }
            | Self::Ended { error: text, .. } => text.iter_mut().for_each(each),
            Self::AgentStarted(started) => {
                started.title.iter_mut().chain(&mut started.task).for_each(each);
            }
            Self::Usage(_) | Self::Named(_) => {}
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
fn is_none_left_out(cut: &u64) -> bool {
    *cut == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
fn is_own(is_shared: &bool) -> bool {
    !*is_shared
}

/// What a tool told of its session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// The id that the tool keeps it under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The model that works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The turn that runs, where the tool must be told which one is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The tool that keeps the session in its files, where another one speaks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeper: Option<Kind>,
}

/// What is known of a sub-agent that began.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    /// The sub-agent that began it, where it was not the session's own agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<AgentId>,
    /// What it is to do, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is to do, whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What kind of sub-agent it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The model that it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The call that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Whether whoever began it goes on meanwhile.
    #[serde(default, skip_serializing_if = "is_own")]
    pub is_background: bool,
    /// The number of the file beside the streams that is its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<u32>,
    /// Whether it was told that this one can be ended alone.
    #[serde(default, skip_serializing_if = "is_own")]
    pub is_stoppable: bool,
    /// The tool that keeps it in its files, where another one speaks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeper: Option<Kind>,
}

/// A limit of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limited {
    /// Whose limit it is.
    pub provider: String,
    /// When it takes work again, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Stamp>,
    /// In the provider's words.
    #[serde(default)]
    pub text: String,
}

/// What one message used.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// The message: one that is told twice counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The request behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Whether the ids are the provider's own: the same wherever the message is told, so that it counts once
    /// though others read of it too. Else they are the session's.
    #[serde(default, skip_serializing_if = "is_own")]
    pub is_shared: bool,
    /// The model that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Token counts.
    #[serde(default)]
    pub tokens: Tokens,
    /// The part of the cache writes that is kept for an hour: it has a price of its own.
    #[serde(default, skip_serializing_if = "is_none_left_out")]
    pub hour_cache: u64,
    /// Whether it was answered in the model's fast mode, which is dearer.
    #[serde(default, skip_serializing_if = "is_own")]
    pub is_fast: bool,
    /// How often the model's provider searched the web for it.
    #[serde(default, skip_serializing_if = "is_none_left_out")]
    pub searches: u64,
    /// What it cost, where the tool itself says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
    /// Whether it is told of a whole turn: where its messages are read elsewhere, those count instead.
    #[serde(default, skip_serializing_if = "is_own")]
    pub of_turn: bool,
}

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The work is done.
    Done,
    /// It is not.
    Failed,
    /// It is not, and trying again would end the same way.
    FailedForGood,
    /// It is not, since its provider takes no more for now: it goes on when the limit is over.
    Limited,
    /// It was ended by order.
    Cancelled,
    /// It had run as long as it may.
    TimedOut,
}

/// Where reading goes on in each stream, as the lines of a log tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cursor {
    next: BTreeMap<Origin, u64>,
    /// The lines that were made of a place which is to be read again.
    parts: BTreeMap<Origin, (u64, u32)>,
}

impl Cursor {
    /// Notes a line that is in the log.
    pub fn note(&mut self, place: &Place) {
        self.next.insert(place.origin, place.next);
        self.parts.insert(place.origin, (place.offset, place.part + 1));
    }

    /// Returns where to read on.
    pub fn next(&self, origin: Origin) -> u64 {
        self.next.get(&origin).copied().unwrap_or(0)
    }

    /// Returns whether a line that was made again is in the log already.
    pub fn has(&self, place: &Place) -> bool {
        place.offset < self.next(place.origin)
            || self
                .parts
                .get(&place.origin)
                .is_some_and(|(offset, parts)| *offset == place.offset && place.part < *parts)
    }
}
