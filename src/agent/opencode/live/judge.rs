//! How its work is judged: by how its last turn ended, never by the exit code alone.

use super::super::row::Failure;
use crate::agent::evidence::{Evidence, Verdict};
use crate::agent::log::{Entry, LogLine, Status};
use crate::agent::{Cause, End};

/// What is remembered for the verdict.
#[derive(Debug, Default)]
pub(super) struct Judge {
    evidence: Evidence,
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
        self.evidence.note(line);
    }

    /// Judges.
    pub(super) fn verdict(&self, end: &End) -> Entry {
        self.evidence.told(Evidence::outright(end).unwrap_or_else(|| self.judged(end)))
    }

    fn judged(&self, end: &End) -> Verdict {
        match (end.cause, &self.evidence.result) {
            (_, Some((Status::Done, _))) => (Status::Done, None),
            (Cause::Deadline, _) => Evidence::too_long(),
            (Cause::Order, None | Some((Status::Cancelled, _))) => (Status::Cancelled, None),
            // It is ended by order too when it would ask a provider for ever: what was said of that stands.
            (_, Some((_, said))) if self.evidence.is_limited => (Status::Limited, Some(said.clone())),
            // Only the bridge leaves with a failure: then what its server printed tells why.
            (Cause::Itself, Some((status, said))) if end.code != Some(0) => {
                (*status, Some(self.evidence.with_errors(said.clone())))
            }
            (_, Some((status, said))) => (*status, Some(said.clone())),
            (_, None) => (Status::Failed, Some(self.evidence.ended("it ended without a result", end))),
        }
    }
}
