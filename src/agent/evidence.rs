//! What the work of every agent is judged by: what it said of its result, what it printed as errors, and how its process
//! ended. What follows from that is each adapter's own affair.

use std::collections::VecDeque;

use super::log::{Entry, LogLine, Origin, Status};
use super::{Cause, End};

/// How many of the last lines of standard error are told with a failure, and how much of each.
const LAST_LINES: usize = 10;
const LONGEST_LINE: usize = 500;

/// How a session ended, and what went wrong.
pub type Verdict = (Status, Option<String>);

/// What is remembered for the verdict.
#[derive(Debug, Default)]
pub struct Evidence {
    /// What the session's own agent came to, in its words.
    pub result: Option<(Status, String)>,
    /// A limit with an end was reached since the last message that came through.
    pub is_limited: bool,
    last_errors: VecDeque<String>,
    unknown: u64,
}

impl Evidence {
    /// Returns what was said of the result before a line that says it anew.
    pub fn before(&self, line: &LogLine) -> Option<(Status, String)> {
        self.result.clone().filter(|_| matches!(line.entry, Entry::Result { .. }))
    }

    /// Remembers what matters of a line of the log.
    pub fn note(&mut self, line: &LogLine) {
        match &line.entry {
            Entry::Result { status, summary } if line.agent.is_none() => {
                self.result = Some((*status, summary.clone()));
            }
            Entry::Output { text, .. } if line.from.origin == Origin::Err && !text.trim().is_empty() => {
                self.last_errors.push_back(text.chars().take(LONGEST_LINE).collect());
                if self.last_errors.len() > LAST_LINES {
                    self.last_errors.pop_front();
                }
            }
            Entry::Limited(limited) => self.is_limited = limited.until.is_some(),
            Entry::Usage(_) => self.is_limited = false,
            Entry::Unknown { .. } => self.unknown += 1,
            Entry::Output { .. }
            | Entry::Thought { .. }
            | Entry::Tool { .. }
            | Entry::ToolResult { .. }
            | Entry::Progress { .. }
            | Entry::Question { .. }
            | Entry::Withdrawn { .. }
            | Entry::Answered { .. }
            | Entry::Named(_)
            | Entry::AgentStarted(_)
            | Entry::AgentEnded { .. }
            | Entry::Result { .. }
            | Entry::Ended { .. } => {}
        }
    }

    /// Returns the verdict where what the agent said does not matter: it never ran, or nobody saw its end.
    pub fn outright(end: &End) -> Option<Verdict> {
        match end.cause {
            Cause::NeverRan => Some((Status::FailedForGood, end.error.clone())),
            Cause::Lost => Some((Status::Failed, Some("lost: its host was killed.".into()))),
            Cause::Itself | Cause::Order | Cause::Deadline => None,
        }
    }

    /// Returns the verdict on one that ran out of time.
    pub fn too_long() -> Verdict {
        (Status::TimedOut, Some("it had run as long as it may.".into()))
    }

    /// Returns the verdict on one that said it is done, and left while others worked for it.
    pub fn cut_off() -> Verdict {
        (Status::Failed, Some("it ended while its sub-agents were at work.".into()))
    }

    /// Tells how its process ended.
    pub fn fate(what: &str, end: &End) -> String {
        match (end.code, end.signal) {
            (Some(code), _) => format!("{what}, with exit code {code}"),
            (None, Some(signal)) => format!("{what}, by signal {signal}"),
            (None, None) => format!("{what}, and nobody saw how"),
        }
    }

    /// Tells how its process ended, with what it printed as errors.
    pub fn ended(&self, what: &str, end: &End) -> String {
        self.with_errors(Self::fate(what, end))
    }

    /// Adds what it printed as errors.
    pub fn with_errors(&self, mut told: String) -> String {
        for line in &self.last_errors {
            told.push('\n');
            told.push_str(line);
        }
        told
    }

    /// Returns a verdict as it is logged: a failure says too if not all of the stream was understood.
    pub fn told(&self, (status, error): Verdict) -> Entry {
        let error = error.map(|error| match self.unknown {
            0 => error,
            1 => format!("{error}\n(1 line of its stream is unknown to this version.)"),
            count => format!("{error}\n({count} lines of its stream are unknown to this version.)"),
        });
        Entry::Ended { status, error }
    }
}
