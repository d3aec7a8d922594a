//! How its work is judged: by what it said last, never by the exit code alone. A failure of the provider comes as a
//! success that is an error; an interrupt as exit code 0; the end of a process may come without any word.

use std::collections::VecDeque;

use serde_json::Value;

use super::hear::text;
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
    /// A limit was reached since the last message that came through.
    is_limited: bool,
    /// Why it makes no sense to wait for it.
    hopeless: Option<String>,
    /// What the provider said last, where that was an error.
    provider: Option<String>,
    unknown: u64,
}

impl Judge {
    /// Remembers what matters of a line of the log.
    pub(super) fn note(&mut self, line: &LogLine) {
        match &line.entry {
            // The turn of a notification may come to nothing; what was said before stays its word.
            Entry::Result { status: Status::Done, summary } if summary.is_empty() => {
                let said = self.result.take().map(|(_, said)| said).unwrap_or_default();
                self.result = Some((Status::Done, said));
            }
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

    /// Remembers what the provider said instead of an answer; of a sub-agent it is that one's trouble.
    pub(super) fn api_error(&mut self, value: &Value, is_of_agent: bool) {
        if !is_of_agent {
            let said = value.pointer("/message/content/0");
            self.provider = said.map(|block| text(&block["text"]));
        }
    }

    /// Returns whether the tool tries again what cannot succeed: it does so for minutes when its key is not taken.
    pub(super) fn is_hopeless(&mut self, retry: &Value) -> bool {
        let status = retry["error_status"].as_u64();
        let is_key = matches!(status, Some(401 | 403)) || retry["error"] == "authentication_failed";
        if is_key {
            let (status, error) = (status.unwrap_or(401), text(&retry["error"]));
            self.hopeless = Some(format!("The provider does not take its key: {status} {error}."));
        }
        is_key
    }

    /// Judges.
    pub(super) fn verdict(&self, end: &End, has_background: bool) -> Entry {
        let (status, error) = self.judged(end, has_background);
        let error = error.map(|error| match self.unknown {
            0 => error,
            count => format!("{error}\n({count} lines of its stream are unknown to this version.)"),
        });
        Entry::Ended { status, error }
    }

    fn judged(&self, end: &End, has_background: bool) -> (Status, Option<String>) {
        match (end.cause, &self.result) {
            (Cause::NeverRan, _) => (Status::FailedForGood, end.error.clone()),
            (Cause::Lost, _) => (Status::Failed, Some("lost: its host was killed.".into())),
            _ if self.hopeless.is_some() => (Status::FailedForGood, self.hopeless.clone()),
            (_, Some((Status::Done, _))) if !has_background => (Status::Done, None),
            (Cause::Order, _) => (Status::Cancelled, None),
            (Cause::Deadline, _) => (Status::TimedOut, Some("it had run as long as it may.".into())),
            (Cause::Itself, Some((Status::Done, _))) => {
                (Status::Failed, Some("it ended while its sub-agents were at work.".into()))
            }
            (Cause::Itself, Some((_, said))) if self.is_limited => (Status::Limited, Some(said.clone())),
            (Cause::Itself, Some((status, said))) => (*status, Some(said.clone())),
            (Cause::Itself, None) => (Status::Failed, Some(self.without_result(end))),
        }
    }

    fn without_result(&self, end: &End) -> String {
        let mut told = match (end.code, end.signal) {
            (Some(code), _) => format!("it ended without a result, with exit code {code}"),
            (None, Some(signal)) => format!("it ended without a result, by signal {signal}"),
            (None, None) => "it ended without a result, and nobody saw how".into(),
        };
        for line in self.provider.iter().chain(&self.last_errors) {
            told.push('\n');
            told.push_str(line);
        }
        told
    }
}
