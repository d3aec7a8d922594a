//! How its work is judged: by how its last turn ended, never by the exit code: a server that is told to leave leaves
//! with 0, whatever became of the work.

use serde_json::Value;

use crate::agent::evidence::{Evidence, Verdict};
use crate::agent::log::{Entry, LogLine, Status};
use crate::agent::{Cause, End};

/// What is remembered for the verdict.
#[derive(Debug, Default)]
pub(super) struct Judge {
    evidence: Evidence,
    /// Its thread has a name: the prompt may be said.
    has_thread: bool,
    /// Why it makes no sense to wait for it.
    hopeless: Option<String>,
}

impl Judge {
    /// Remembers what matters of a line of the log.
    pub fn note(&mut self, line: &LogLine) {
        self.evidence.note(line);
        if let (Entry::Named(named), None) = (&line.entry, &line.agent) {
            self.has_thread |= named.session.is_some();
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
        self.evidence.told(Evidence::outright(end).unwrap_or_else(|| self.judged(end, is_cut_off)))
    }

    fn judged(&self, end: &End, is_cut_off: bool) -> Verdict {
        match (end.cause, &self.evidence.result) {
            _ if self.hopeless.is_some() => (Status::FailedForGood, self.hopeless.clone()),
            (_, Some((Status::Done, _))) if !is_cut_off => (Status::Done, None),
            (Cause::Order, _) => (Status::Cancelled, None),
            (Cause::Deadline, _) => Evidence::too_long(),
            (_, Some((Status::Done, _))) => Evidence::cut_off(),
            (_, Some((_, said))) if self.evidence.is_limited => (Status::Limited, Some(said.clone())),
            (_, Some((status, said))) => (*status, Some(said.clone())),
            (_, None) => {
                (Status::Failed, Some(self.evidence.ended("it ended in the middle of its work", end)))
            }
        }
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
