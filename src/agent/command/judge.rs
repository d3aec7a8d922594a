//! How an agent's work is judged: its own result counts more than its exit code, an order more than both.

use crate::agent::evidence::Evidence;
use crate::agent::log::{Entry, LogLine, Status};
use crate::agent::{Cause, End};

/// What is remembered for the verdict.
#[derive(Debug, Default)]
pub(super) struct Judge {
    evidence: Evidence,
}

impl Judge {
    /// Remembers what matters of a line of the log.
    pub(super) fn note(&mut self, line: &LogLine) {
        self.evidence.note(line);
    }

    /// Judges.
    pub(super) fn verdict(&self, end: &End) -> Entry {
        let (status, error) = match (end.cause, &self.evidence.result) {
            // A program that is not there now may be there the next time.
            (Cause::NeverRan, _) => (Status::Failed, end.error.clone()),
            (Cause::Lost, _) => (Status::Failed, Some("lost: its host was killed.".into())),
            (_, Some((Status::Done, _))) => (Status::Done, None),
            (Cause::Order, _) => (Status::Cancelled, None),
            (Cause::Deadline, _) => Evidence::too_long(),
            (Cause::Itself, Some((status, summary))) => (*status, Some(summary.clone())),
            (Cause::Itself, None) if end.code == Some(0) => (Status::Done, None),
            (Cause::Itself, None) => (Status::Failed, Some(self.failure(end))),
        };
        Entry::Ended { status, error }
    }

    fn failure(&self, end: &End) -> String {
        self.evidence.with_errors(match (end.code, end.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "it ended, and nobody saw how".into(),
        })
    }
}
