//! How its work is judged: by how its last turn ended, never by the exit code: a server that is told to leave leaves
//! with 0, whatever became of the work.

use std::collections::VecDeque;

use serde_json::Value;

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
    /// Its thread has a name: the prompt may be said.
    has_thread: bool,
    /// A limit was reached since the last response that came through.
    is_limited: bool,
    /// Why it makes no sense to wait for it.
    hopeless: Option<String>,
    unknown: u64,
}

impl Judge {
    /// Remembers what matters of a line of the log.
    pub fn note(&mut self, line: &LogLine) {
        match (&line.entry, &line.agent) {
            (Entry::Result { status, summary }, None) => self.result = Some((*status, summary.clone())),
            (Entry::Output { text, .. }, _) if line.from.origin == Origin::Err && !text.trim().is_empty() => {
                self.last_errors.push_back(text.chars().take(LONGEST_LINE).collect());
                if self.last_errors.len() > LAST_LINES {
                    self.last_errors.pop_front();
                }
            }
            (Entry::Named(named), None) => self.has_thread |= named.session.is_some(),
            (Entry::Limited(limited), _) => self.is_limited = limited.until.is_some(),
            (Entry::Usage(_), _) => self.is_limited = false,
            (Entry::Unknown { .. }, _) => self.unknown += 1,
            _ => {}
        }
    }

    /// Returns whether it told of its thread.
    pub fn has_begun(&self) -> bool {
        self.has_thread
    }

    /// Gives it up: it would try again what cannot succeed.
    pub fn give_up(&mut self, why: String) {
        self.hopeless = Some(why);
    }

    /// Judges.
    pub fn verdict(&self, end: &End, is_cut_off: bool) -> Entry {
        let (status, error) = self.judged(end, is_cut_off);
        let error = error.map(|error| match self.unknown {
            0 => error,
            count => format!("{error}\n({count} lines of its stream are unknown to this version.)"),
        });
        Entry::Ended { status, error }
    }

    fn judged(&self, end: &End, is_cut_off: bool) -> (Status, Option<String>) {
        match (end.cause, &self.result) {
            (Cause::NeverRan, _) => (Status::FailedForGood, end.error.clone()),
            (Cause::Lost, _) => (Status::Failed, Some("lost: its host was killed.".into())),
            _ if self.hopeless.is_some() => (Status::FailedForGood, self.hopeless.clone()),
            (_, Some((Status::Done, _))) if !is_cut_off => (Status::Done, None),
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
            (Some(code), _) => format!("it ended in the middle of its work, with exit code {code}"),
            (None, Some(signal)) => format!("it ended in the middle of its work, by signal {signal}"),
            (None, None) => "it ended in the middle of its work, and nobody saw how".into(),
        };
        for line in &self.last_errors {
            told.push('\n');
            told.push_str(line);
        }
        told
    }
}

/// What went wrong with a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    /// In the provider's words, as far as they are passed on.
    pub words: String,
    pub status: Status,
    pub is_limit: bool,
    /// The provider does not take its key.
    pub is_key: bool,
}

impl Trouble {
    /// Reads the error of a turn.
    pub fn read(error: &Value) -> Self {
        let (info, said) = (&error["codexErrorInfo"], error["message"].as_str().unwrap_or_default());
        // While it tries again the message counts the tries, and the details say why.
        let details = error["additionalDetails"].as_str().filter(|details| !details.is_empty());
        let (words, kind) = unwrapped(details.unwrap_or(said));
        let http = info.as_object().and_then(|info| info.values().next()?["httpStatusCode"].as_u64());
        let name = info.as_str().unwrap_or_default();
        let is_key = matches!(http, Some(401 | 403)) || name == "unauthorized";
        let for_good = is_key
            || matches!(http, Some(400 | 404 | 413 | 422))
            || kind.as_deref() == Some("invalid_request_error")
            || matches!(
                name,
                "badRequest"
                    | "modelNotFound"
                    | "contextWindowExceeded"
                    | "sessionBudgetExceeded"
                    | "cyberPolicy"
            );
        let status = if for_good { Status::FailedForGood } else { Status::Failed };
        let words = if words.is_empty() { "its turn failed, and it did not say why".into() } else { words };
        Self { words, status, is_limit: name == "usageLimitExceeded", is_key }
    }
}

/// Returns the words of a message that is the provider's answer as it came, and the kind of error that it names.
fn unwrapped(message: &str) -> (String, Option<String>) {
    let answer = serde_json::from_str::<Value>(message).ok();
    let error = answer.as_ref().map(|answer| &answer["error"]);
    match error.and_then(|error| Some((error["message"].as_str()?, error["type"].as_str()))) {
        Some((words, kind)) => {
            let told = kind.map_or_else(|| words.to_owned(), |kind| format!("{kind}: {words}"));
            (told, kind.map(str::to_owned))
        }
        None => (message.to_owned(), None),
    }
}
