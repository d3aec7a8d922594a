//! How an agent's work is judged: its own result counts more than its exit code, an order more than both.

use std::collections::VecDeque;

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
            | Entry::Unknown { .. }
            | Entry::Ended { .. } => {}
        }
    }

    /// Judges.
    pub(super) fn verdict(&self, end: &End) -> Entry {
        let (status, error) = match (end.cause, &self.result) {
            (Cause::NeverRan, _) => (Status::Failed, end.error.clone()),
            (Cause::Lost, _) => (Status::Failed, Some("lost: its host was killed.".into())),
            (_, Some((Status::Done, _))) => (Status::Done, None),
            (Cause::Order, _) => (Status::Cancelled, None),
            (Cause::Deadline, _) => (Status::TimedOut, Some("it had run as long as it may.".into())),
            (Cause::Itself, Some((status, summary))) => (*status, Some(summary.clone())),
            (Cause::Itself, None) if end.code == Some(0) => (Status::Done, None),
            (Cause::Itself, None) => (Status::Failed, Some(self.failure(end))),
        };
        Entry::Ended { status, error }
    }

    fn failure(&self, end: &End) -> String {
        let mut told = match (end.code, end.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "it ended, and nobody saw how".into(),
        };
        for line in &self.last_errors {
            told.push('\n');
            told.push_str(line);
        }
        told
    }
}
