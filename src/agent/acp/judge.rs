//! How its work is judged: by the reason for which its last turn stopped, never by the exit code alone.

use std::collections::VecDeque;

use agent_client_protocol_schema::v1::{Error, ErrorCode, StopReason};
use serde_json::Value;

use super::{LONGEST_TEXT, cut};
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
    unknown: u64,
}

impl Judge {
    /// Remembers what matters of a line of the log.
    pub(super) fn note(&mut self, line: &LogLine) {
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
            | Entry::Result { .. }
            | Entry::Ended { .. } => {}
        }
    }

    /// Judges.
    pub(super) fn verdict(&self, end: &End, has_children: bool) -> Entry {
        let (status, error) = self.judged(end, has_children);
        let error = error.map(|error| match self.unknown {
            0 => error,
            count => format!("{error}\n({count} of its messages are unknown to this version.)"),
        });
        Entry::Ended { status, error }
    }

    fn judged(&self, end: &End, has_children: bool) -> (Status, Option<String>) {
        match (end.cause, &self.result) {
            (Cause::NeverRan, _) => (Status::FailedForGood, end.error.clone()),
            (Cause::Lost, _) => (Status::Failed, Some("lost: its host was killed.".into())),
            (_, Some((Status::Done, _))) if !has_children => (Status::Done, None),
            // It was ended because it will not get anywhere: why is its result.
            (_, Some((Status::FailedForGood, said))) => (Status::FailedForGood, Some(said.clone())),
            (Cause::Order, Some((Status::Failed, said)))
            | (Cause::Itself, Some((Status::Cancelled, said))) => (Status::Failed, Some(said.clone())),
            (Cause::Order, Some((Status::Cancelled, said))) => (Status::Cancelled, Some(said.clone())),
            (Cause::Order, _) => (Status::Cancelled, None),
            (Cause::Deadline, _) => (Status::TimedOut, Some("it had run as long as it may.".into())),
            (Cause::Itself, Some((Status::Done, _))) => {
                (Status::Failed, Some("it ended while its sub-agents were at work.".into()))
            }
            (Cause::Itself, Some((status, said))) => (*status, Some(said.clone())),
            (Cause::Itself, None) => (Status::Failed, Some(self.without_result(end))),
        }
    }

    fn without_result(&self, end: &End) -> String {
        let mut told = match (end.code, end.signal) {
            (Some(code), _) => format!("it ended before its turn did, with exit code {code}"),
            (None, Some(signal)) => format!("it ended before its turn did, by signal {signal}"),
            (None, None) => "it ended before its turn did, and nobody saw how".into(),
        };
        for line in &self.last_errors {
            told.push('\n');
            told.push_str(line);
        }
        told
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
