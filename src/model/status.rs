//! The state of a node: sixteen words, and a type in which a wrong combination cannot be written.
//!
//! Only what runs can be overdue or silent, only an offer can lapse, only what failed can be retryable:
//! such data lives inside the state it belongs to. Which foreign word means what is `words`' affair.

use serde::{Deserialize, Serialize};

use super::time::Stamp;

/// The canonical words: what screens, filters, roll-ups and JSON use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatusWord {
    Queued,
    Offered,
    Running,
    Paused,
    Blocked,
    Review,
    Done,
    Partial,
    Failed,
    Rejected,
    Cancelled,
    Skipped,
    Expired,
    TimedOut,
    Stale,
    #[default]
    Unknown,
}

/// Every canonical word with its name, in the order of [`StatusWord`].
pub const WORDS: [(StatusWord, &str); 16] = [
    (StatusWord::Queued, "queued"),
    (StatusWord::Offered, "offered"),
    (StatusWord::Running, "running"),
    (StatusWord::Paused, "paused"),
    (StatusWord::Blocked, "blocked"),
    (StatusWord::Review, "review"),
    (StatusWord::Done, "done"),
    (StatusWord::Partial, "partial"),
    (StatusWord::Failed, "failed"),
    (StatusWord::Rejected, "rejected"),
    (StatusWord::Cancelled, "cancelled"),
    (StatusWord::Skipped, "skipped"),
    (StatusWord::Expired, "expired"),
    (StatusWord::TimedOut, "timed-out"),
    (StatusWord::Stale, "stale"),
    (StatusWord::Unknown, "unknown"),
];

impl StatusWord {
    /// Returns the word as it is written everywhere.
    pub fn as_str(self) -> &'static str {
        WORDS.get(self as usize).map_or("unknown", |(_, name)| name)
    }

    /// Returns whether work may still happen: neither ended nor never to begin.
    pub fn is_live(self) -> bool {
        matches!(
            self,
            Self::Queued
                | Self::Offered
                | Self::Running
                | Self::Paused
                | Self::Blocked
                | Self::Review
                | Self::Stale
        )
    }
}

/// What a node is doing, with the data that belongs to that.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Status {
    /// Nobody told, or with a word that nobody knows.
    #[default]
    Unknown,
    /// Waits for its turn.
    Queued,
    /// Waits to be accepted; `lapsed` since its accept-by passed.
    Offered { lapsed: Option<Stamp> },
    /// Works.
    Running { trouble: Option<Trouble>, why: Option<Box<str>> },
    /// Stopped by somebody, can go on.
    Paused { why: Option<Box<str>> },
    /// Cannot go on by itself.
    Blocked { why: Option<Box<str>> },
    /// Waits for somebody to look at its result.
    Review { why: Option<Box<str>> },
    /// Over.
    Ended { how: Ending, why: Option<Box<str>> },
}

/// What is wrong with something that runs, as the clocks tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// No sign of life for longer than it may be silent.
    Silent { since: Stamp },
    /// Past its deadline.
    Overdue { since: Stamp },
}

/// How something ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Done,
    Partial,
    Failed { retryable: Option<bool> },
    Rejected,
    Cancelled,
    Skipped,
    Expired,
    TimedOut,
}

impl Status {
    /// Returns the canonical word, with what the clocks made of the state.
    pub fn word(&self) -> StatusWord {
        match self {
            Self::Offered { lapsed: Some(_) } => StatusWord::Expired,
            Self::Running { trouble: Some(Trouble::Overdue { .. }), .. } => StatusWord::TimedOut,
            Self::Running { trouble: Some(Trouble::Silent { .. }), .. } => StatusWord::Stale,
            Self::Unknown
            | Self::Queued
            | Self::Offered { .. }
            | Self::Running { .. }
            | Self::Paused { .. }
            | Self::Blocked { .. }
            | Self::Review { .. }
            | Self::Ended { .. } => self.told(),
        }
    }

    /// Returns the canonical word that was told, whatever the clocks say.
    pub fn told(&self) -> StatusWord {
        match self {
            Self::Unknown => StatusWord::Unknown,
            Self::Queued => StatusWord::Queued,
            Self::Offered { .. } => StatusWord::Offered,
            Self::Running { .. } => StatusWord::Running,
            Self::Paused { .. } => StatusWord::Paused,
            Self::Blocked { .. } => StatusWord::Blocked,
            Self::Review { .. } => StatusWord::Review,
            Self::Ended { how, .. } => match how {
                Ending::Done => StatusWord::Done,
                Ending::Partial => StatusWord::Partial,
                Ending::Failed { .. } => StatusWord::Failed,
                Ending::Rejected => StatusWord::Rejected,
                Ending::Cancelled => StatusWord::Cancelled,
                Ending::Skipped => StatusWord::Skipped,
                Ending::Expired => StatusWord::Expired,
                Ending::TimedOut => StatusWord::TimedOut,
            },
        }
    }

    /// Makes the state that a word tells; data that does not belong to it is dropped.
    pub fn from_word(word: StatusWord, why: Option<Box<str>>, retryable: Option<bool>) -> Self {
        let ended = |how, why| Self::Ended { how, why };
        match word {
            StatusWord::Unknown => Self::Unknown,
            StatusWord::Queued => Self::Queued,
            StatusWord::Offered => Self::Offered { lapsed: None },
            // Nobody can tell that something is stale, only that it ran: that it is silent is derived.
            StatusWord::Running | StatusWord::Stale => Self::Running { trouble: None, why },
            StatusWord::Paused => Self::Paused { why },
            StatusWord::Blocked => Self::Blocked { why },
            StatusWord::Review => Self::Review { why },
            StatusWord::Done => ended(Ending::Done, why),
            StatusWord::Partial => ended(Ending::Partial, why),
            StatusWord::Failed => ended(Ending::Failed { retryable }, why),
            StatusWord::Rejected => ended(Ending::Rejected, why),
            StatusWord::Cancelled => ended(Ending::Cancelled, why),
            StatusWord::Skipped => ended(Ending::Skipped, why),
            StatusWord::Expired => ended(Ending::Expired, why),
            StatusWord::TimedOut => ended(Ending::TimedOut, why),
        }
    }

    /// Returns the same state with this trouble; what does not run has none.
    #[must_use]
    pub fn in_trouble(&self, trouble: Trouble) -> Self {
        if let Self::Running { why, .. } = self {
            Self::Running { trouble: Some(trouble), why: why.clone() }
        } else {
            self.clone()
        }
    }

    /// Returns whether it is over.
    pub fn is_ended(&self) -> bool {
        matches!(self, Self::Ended { .. })
    }

    /// Returns the reason that was given for this state.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Running { why, .. }
            | Self::Paused { why }
            | Self::Blocked { why }
            | Self::Review { why }
            | Self::Ended { why, .. } => why.as_deref(),
            Self::Unknown | Self::Queued | Self::Offered { .. } => None,
        }
    }

    /// Returns whether what failed may be tried again, where somebody said so.
    pub fn retryable(&self) -> Option<bool> {
        if let Self::Ended { how: Ending::Failed { retryable }, .. } = self { *retryable } else { None }
    }

    /// Returns the state as it was told, without what the clocks made of it.
    #[must_use]
    pub fn as_told(&self) -> Self {
        match self {
            Self::Offered { .. } => Self::Offered { lapsed: None },
            Self::Running { why, .. } => Self::Running { trouble: None, why: why.clone() },
            Self::Unknown
            | Self::Queued
            | Self::Paused { .. }
            | Self::Blocked { .. }
            | Self::Review { .. }
            | Self::Ended { .. } => self.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_names_itself_and_makes_a_state_of_that_word() {
        for (index, (word, name)) in WORDS.into_iter().enumerate() {
            assert_eq!(word as usize, index);
            assert_eq!(word.as_str(), name);
            assert_eq!(serde_json::to_value(word).unwrap(), name);
            let told = Status::from_word(word, Some("why".into()), Some(true)).told();
            let expected = if word == StatusWord::Stale { StatusWord::Running } else { word };
            assert_eq!(told, expected);
        }
    }
}
