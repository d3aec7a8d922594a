//! How its work is judged: by how its last turn ended, never by the exit code alone.

use std::collections::VecDeque;

use super::super::row::Failure;
use crate::agent::log::{Entry, LogLine, Origin, Status};
use crate::agent::{Cause, End};

/// How many of the last lines of standard error are told with a failure, and how much of each.
const LAST_LINES: usize = 10;
const LONGEST_LINE: usize = 500;

/// What is remembered for the verdict.
#[derive(Debug, Default)]
pub(super) struct Judge {
    result: Option<(Status, String)>,
    last_errors: VecDeque<String>,
    /// A limit with an end was reached since the last message that came through.
    is_limited: bool,
    unknown: u64,
}

/// Says what went wrong with a message, and whether trying again would end the same way.
pub(super) fn failure(error: &Failure) -> (Status, String) {
    let status = match (error.name.as_str(), error.status()) {
        ("MessageAbortedError", _) => Status::Cancelled,
        ("ProviderAuthError", _) | (_, Some(400 | 401 | 403 | 404 | 413 | 422)) => Status::FailedForGood,
        _ => Status::Failed,
    };
    let words = match error.status() {
        Some(status) => format!("The provider answered {status}. {}", error.words()),
        None => error.words(),
    };
    (status, words)
}

impl Judge {
    /// Remembers what matters of a line of the log.
    pub(super) fn note(&mut self, line: &LogLine) {
        match &line.entry {
            Entry::Result { status, summary } => self.result = Some((*status, summary.clone())),
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
            | Entry::Ended { .. } => {}
        }
    }

    /// Judges.
    pub(super) fn verdict(&self, end: &End) -> Entry {
        let (status, error) = self.judged(end);
        let error = error.map(|error| match self.unknown {
            0 => error,
            count => format!("{error}\n({count} lines of its stream are unknown to this version.)"),
        });
        Entry::Ended { status, error }
    }

    fn judged(&self, end: &End) -> (Status, Option<String>) {
        match (end.cause, &self.result) {
            (Cause::NeverRan, _) => (Status::FailedForGood, end.error.clone()),
            (Cause::Lost, _) => (Status::Failed, Some("lost: its host was killed.".into())),
            (_, Some((Status::Done, _))) => (Status::Done, None),
            (Cause::Deadline, _) => (Status::TimedOut, Some("it had run as long as it may.".into())),
            (Cause::Order, None | Some((Status::Cancelled, _))) => (Status::Cancelled, None),
            // It is ended by order too when it would ask a provider for ever: what was said of that stands.
            (Cause::Itself | Cause::Order, Some((_, said))) if self.is_limited => {
                (Status::Limited, Some(said.clone()))
            }
            // Only the bridge leaves with a failure: then what its server printed tells why.
            (Cause::Itself, Some((status, said))) if end.code != Some(0) => {
                (*status, Some(self.with_errors(said.clone())))
            }
            (Cause::Itself | Cause::Order, Some((status, said))) => (*status, Some(said.clone())),
            (Cause::Itself, None) => (Status::Failed, Some(self.without_result(end))),
        }
    }

    fn without_result(&self, end: &End) -> String {
        let told = match (end.code, end.signal) {
            (Some(code), _) => format!("it ended without a result, with exit code {code}"),
            (None, Some(signal)) => format!("it ended without a result, by signal {signal}"),
            (None, None) => "it ended without a result, and nobody saw how".into(),
        };
        self.with_errors(told)
    }

    fn with_errors(&self, mut told: String) -> String {
        for line in &self.last_errors {
            told.push('\n');
            told.push_str(line);
        }
        told
    }
}
