//! How its work is judged: by the reason for which its last turn stopped, never by the exit code alone.

use agent_client_protocol_schema::v1::{Error, ErrorCode, StopReason};
use serde_json::Value;

use super::{LONGEST_TEXT, cut};
use crate::agent::evidence::{Evidence, Verdict};
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
    pub(super) fn verdict(&self, end: &End, has_children: bool) -> Entry {
        self.evidence.told(Evidence::outright(end).unwrap_or_else(|| self.judged(end, has_children)))
    }

    fn judged(&self, end: &End, has_children: bool) -> Verdict {
        match (end.cause, &self.evidence.result) {
            (_, Some((Status::Done, _))) if !has_children => (Status::Done, None),
            // It was ended because it will not get anywhere: why is its result.
            (_, Some((Status::FailedForGood, said))) => (Status::FailedForGood, Some(said.clone())),
            (Cause::Order, Some((Status::Failed, said)))
            | (Cause::Itself, Some((Status::Cancelled, said))) => (Status::Failed, Some(said.clone())),
            (Cause::Order, Some((Status::Cancelled, said))) => (Status::Cancelled, Some(said.clone())),
            (Cause::Order, _) => (Status::Cancelled, None),
            (Cause::Deadline, _) => Evidence::too_long(),
            (_, Some((Status::Done, _))) => Evidence::cut_off(),
            (_, Some((status, said))) => (*status, Some(said.clone())),
            (_, None) => (Status::Failed, Some(self.evidence.ended("it ended before its turn did", end))),
        }
    }
}

/// Returns what a turn came to by the reason for which it stopped.
pub(super) fn stopped(reason: StopReason, said: &str) -> Entry {
    let why = |what: &str| {
        let said = said.trim();
        if said.is_empty() { what.to_owned() } else { format!("{what} It said last: {said}") }
    };
    let (status, summary) = match reason {
        StopReason::EndTurn => (Status::Done, said.trim().to_owned()),
        StopReason::MaxTokens => (Status::Failed, why("it reached the most tokens that it may use.")),
        StopReason::MaxTurnRequests => {
            (Status::Failed, why("it reached the most requests that a turn may have."))
        }
        StopReason::Refusal => (Status::FailedForGood, why("it refused to go on.")),
        StopReason::Cancelled => (Status::Cancelled, why("its turn was cancelled.")),
        _ => (Status::Failed, why("its turn stopped for a reason that is unknown to this version.")),
    };
    Entry::Result { status, summary: cut(&summary, LONGEST_TEXT) }
}

/// Returns what an error means, in the agent's words.
pub(super) fn failed(what: &str, error: &Value) -> Entry {
    let (said, code) = in_its_words(error);
    let for_good =
        matches!(code, Some(ErrorCode::AuthRequired | ErrorCode::InvalidParams | ErrorCode::MethodNotFound));
    let status = if for_good { Status::FailedForGood } else { Status::Failed };
    let summary = cut(&format!("{what}{said}"), LONGEST_TEXT);
    Entry::Result { status, summary }
}

/// Returns an error's words: what it adds is often all that it says.
pub(super) fn in_its_words(error: &Value) -> (String, Option<ErrorCode>) {
    let Ok(read) = serde_json::from_value::<Error>(error.clone()) else {
        return (error.to_string(), None);
    };
    let more = match &read.data {
        Some(Value::String(text)) => Some(text.clone()),
        Some(data @ Value::Object(fields)) => {
            let told = ["details", "message", "error"].iter().find_map(|name| fields.get(*name)?.as_str());
            Some(told.map_or_else(|| data.to_string(), str::to_owned))
        }
        Some(Value::Null) | None => None,
        Some(data) => Some(data.to_string()),
    };
    let said = match more.filter(|more| !read.message.contains(more.as_str())) {
        Some(more) => format!("{}: {more}", read.message),
        None => read.message,
    };
    (said, Some(read.code))
}
