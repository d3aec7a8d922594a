//! How its work is judged: by what it said last, never by the exit code alone. A failure of the provider comes as a
//! success that is an error; an interrupt as exit code 0; the end of a process may come without any word.

use serde_json::Value;

use super::hear::text;
use crate::agent::evidence::{Evidence, Verdict};
use crate::agent::log::{Entry, LogLine, Status};
use crate::agent::{Cause, End};

/// What is remembered for the verdict.
#[derive(Debug, Default)]
pub(super) struct Judge {
    evidence: Evidence,
    /// Why it makes no sense to wait for it.
    hopeless: Option<String>,
    /// What the provider said last, where that was an error.
    provider: Option<String>,
}

impl Judge {
    /// Remembers what matters of a line of the log.
    pub(super) fn note(&mut self, line: &LogLine) {
        let before = self.evidence.before(line);
        self.evidence.note(line);
        // The turn of a notification may come to nothing; what was said before stays its word.
        if let (Some((_, said)), Some((Status::Done, now))) = (before, &mut self.evidence.result)
            && now.is_empty()
        {
            *now = said;
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
        self.evidence.told(Evidence::outright(end).unwrap_or_else(|| self.judged(end, has_background)))
    }

    fn judged(&self, end: &End, has_background: bool) -> Verdict {
        match (end.cause, &self.evidence.result) {
            _ if self.hopeless.is_some() => (Status::FailedForGood, self.hopeless.clone()),
            (_, Some((Status::Done, _))) if !has_background => (Status::Done, None),
            (Cause::Order, _) => (Status::Cancelled, None),
            (Cause::Deadline, _) => Evidence::too_long(),
            (_, Some((Status::Done, _))) => Evidence::cut_off(),
            (_, Some((_, said))) if self.evidence.is_limited => (Status::Limited, Some(said.clone())),
            (_, Some((status, said))) => (*status, Some(said.clone())),
            (_, None) => (Status::Failed, Some(self.without_result(end))),
        }
    }

    fn without_result(&self, end: &End) -> String {
        let mut told = Evidence::fate("it ended without a result", end);
        if let Some(said) = &self.provider {
            told.push('\n');
            told.push_str(said);
        }
        self.evidence.with_errors(told)
    }
}
