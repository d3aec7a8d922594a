//! How its work is judged: by its result, never by the exit code alone. Ended by a signal it leaves with exit code 0 and
//! no result; after a failure of the provider with the status of its answer, as far as a code can hold that.

use std::collections::VecDeque;

use crate::agent::log::{Entry, LogLine, Origin, Status};
use crate::agent::{Cause, End};

/// How many of the last lines of standard error are told with a failure, and how much of each.
const LAST_LINES: usize = 10;
const LONGEST_LINE: usize = 500;
/// What it leaves with when nothing that is tried again would change it: its key, its input, its sandbox, its settings,
/// a folder that it does not trust.
const FOR_GOOD: [i32; 5] = [41, 42, 44, 52, 55];

/// What is remembered for the verdict.
#[derive(Debug, Default)]
pub(super) struct Judge {
    result: Option<(Status, String)>,
    last_errors: VecDeque<String>,
    unknown: u64,
}

impl Judge {
    /// Remembers what matters of a line of the log.
    pub(super) fn note(&mut self, line: &LogLine) {
        match &line.entry {
            Entry::Result { status, summary } => {
                // What stopped it stands, whatever the end calls itself.
                let stopped = self.result.take().filter(|(status, _)| *status != Status::Done);
                self.result = match stopped {
                    Some(stopped) if *status == Status::Done || summary.is_empty() => Some(stopped),
                    _ => Some((*status, summary.clone())),
                };
            }
            Entry::Output { text, .. } if line.from.origin == Origin::Err => {
                // Where in its own program something went wrong says nothing to a person.
                if text.trim().is_empty() || text.trim_start().starts_with("at ") {
                    return;
                }
                self.last_errors.push_back(text.chars().take(LONGEST_LINE).collect());
                if self.last_errors.len() > LAST_LINES {
                    self.last_errors.pop_front();
                }
            }
            Entry::Unknown { .. } => self.unknown += 1,
            Entry::Output { .. }
            | Entry::Thought { .. }
            | Entry::Tool { .. }
            | Entry::ToolResult { .. }
            | Entry::Progress { .. }
            | Entry::Usage(_)
            | Entry::Question { .. }
            | Entry::Withdrawn { .. }
            | Entry::Answered { .. }
            | Entry::Named(_)
            | Entry::AgentStarted(_)
            | Entry::AgentEnded { .. }
            | Entry::Limited(_)
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
            (Cause::Order, _) => (Status::Cancelled, None),
            (Cause::Deadline, _) => (Status::TimedOut, Some("it had run as long as it may.".into())),
            (Cause::Itself, Some((status, said))) => (*status, Some(said.clone())),
            (Cause::Itself, None) => {
                let for_good = end.code.is_some_and(|code| FOR_GOOD.contains(&code));
                let status = if for_good { Status::FailedForGood } else { Status::Failed };
                (status, Some(self.without_result(end)))
            }
        }
    }

    fn without_result(&self, end: &End) -> String {
        let mut told = match (end.code, end.signal) {
            (Some(code), _) => format!("it ended without a result, with exit code {code}"),
            (None, Some(signal)) => format!("it ended without a result, by signal {signal}"),
            (None, None) => "it ended without a result, and nobody saw how".into(),
        };
        for line in &self.last_errors {
            told.push('\n');
            told.push_str(line);
        }
        told
    }
}
