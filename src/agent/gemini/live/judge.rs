//! How its work is judged: by its result, never by the exit code alone. Ended by a signal it leaves with exit code 0 and
//! no result; after a failure of the provider with the status of its answer, as far as a code can hold that.

use crate::agent::evidence::{Evidence, Verdict};
use crate::agent::log::{Entry, LogLine, Origin, Status};
use crate::agent::{Cause, End};

/// What it leaves with when nothing that is tried again would change it: its key, its input, its sandbox, its settings,
/// a folder that it does not trust.
const FOR_GOOD: [i32; 5] = [41, 42, 44, 52, 55];

/// What is remembered for the verdict.
#[derive(Debug, Default)]
pub(super) struct Judge {
    evidence: Evidence,
}

impl Judge {
    /// Remembers what matters of a line of the log.
    pub(super) fn note(&mut self, line: &LogLine) {
        // Where in its own program something went wrong says nothing to a person.
        if matches!(&line.entry, Entry::Output { text, .. } if line.from.origin == Origin::Err && text.trim_start().starts_with("at "))
        {
            return;
        }
        let stopped = self.evidence.before(line).filter(|(status, _)| *status != Status::Done);
        self.evidence.note(line);
        // What stopped it stands, whatever the end calls itself.
        if let (Some(stopped), Some((status, now))) = (stopped, &self.evidence.result)
            && (*status == Status::Done || now.is_empty())
        {
            self.evidence.result = Some(stopped);
        }
    }

    /// Judges.
    pub(super) fn verdict(&self, end: &End) -> Entry {
        self.evidence.told(Evidence::outright(end).unwrap_or_else(|| self.judged(end)))
    }

    fn judged(&self, end: &End) -> Verdict {
        match (end.cause, &self.evidence.result) {
            (_, Some((Status::Done, _))) => (Status::Done, None),
            (Cause::Order, _) => (Status::Cancelled, None),
            (Cause::Deadline, _) => Evidence::too_long(),
            (_, Some((status, said))) => (*status, Some(said.clone())),
            (_, None) => {
                let for_good = end.code.is_some_and(|code| FOR_GOOD.contains(&code));
                let status = if for_good { Status::FailedForGood } else { Status::Failed };
                (status, Some(self.evidence.ended("it ended without a result", end)))
            }
        }
    }
}
