//! Names of things: every id is its own type, so that one cannot be passed for another.
//!
//! Ids that come from outside are opaque: any text is accepted and kept. Only where an id is about to
//! become a file name must it pass [`file_name`]; nothing else may build a path from an id.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::time::Stamp;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Returns the id as it was written.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Returns whether anything else holds the same copy.
            pub fn is_shared(&self) -> bool {
                Arc::strong_count(&self.0) > 1
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    /// One task handed over: `del-` and 8 lowercase letters and digits.
    DelegationId,
    /// One step of a delegation; unique within it only.
    SubtaskId,
    /// One attempt of one subtask: `sess_<unix seconds>_<6 lowercase letters and digits>`.
    SessionId,
    /// An agent inside a session, by the id its own tool gives it.
    AgentId,
    /// A command that a person or a program gave.
    CommandId,
    /// A question that an agent asked.
    QuestionId,
    /// The task behind a delegation, by whatever name its owner uses.
    TaskId,
    /// The state folder's journal; a new one means that everything read before is void.
    JournalId,
}

impl DelegationId {
    /// Makes an id of our own form from a random number.
    pub fn mint(random: u64) -> Self {
        Self(format!("del-{}", base36(random, 8)).into())
    }
}

impl SessionId {
    /// Makes an id of our own form from the moment and a random number.
    pub fn mint(now: Stamp, random: u64) -> Self {
        Self(format!("sess_{}_{}", now.millis().div_euclid(1000), base36(random, 6)).into())
    }
}

fn base36(mut random: u64, digits: usize) -> String {
    (0..digits)
        .map(|_| {
            let digit = (random % 36) as u32;
            random /= 36;
            char::from_digit(digit, 36).unwrap_or('0')
        })
        .collect()
}

/// The place of an event in the journal: 1, 2, 3 … without a gap. 0 is before the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// Returns the place after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Longest id that may become a file name; file systems take 255 bytes, and we add suffixes.
const LONGEST_FILE_NAME: usize = 128;

/// Returns the id if it is safe as one component of a path, else what is wrong with it.
pub fn file_name(id: &str) -> Result<&str, &'static str> {
    if id.is_empty() {
        return Err("is empty");
    }
    if id.len() > LONGEST_FILE_NAME {
        return Err("is longer than 128 bytes");
    }
    if id.starts_with(['.', '-']) {
        return Err("starts with a dot or a dash");
    }
    if !id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-')) {
        return Err("has a character other than letters, digits, '.', '_' and '-'");
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minted_ids_have_the_documented_form() {
        let id = DelegationId::mint(u64::MAX);
        assert_eq!(id.as_str().len(), 12);
        assert!(id.as_str().starts_with("del-"));
        assert!(id.as_str().chars().skip(4).all(|c| c.is_ascii_digit() || c.is_ascii_lowercase()));
        let session = SessionId::mint(Stamp::from_millis(1_735_460_684_123), 7);
        assert_eq!(session.as_str(), "sess_1735460684_700000");
    }

    #[test]
    fn ids_that_would_escape_the_folder_are_no_file_names() {
        for bad in ["", ".", "..", "../x", "a/b", "a\\b", "a\0b", "-rf", ".hidden", "é", &"x".repeat(129)] {
            assert!(file_name(bad).is_err(), "{bad:?} passed");
        }
        for good in ["del-1", "sess_1_a", "3f2c-…".trim_end_matches('…'), "a.b"] {
            assert_eq!(file_name(good), Ok(good));
        }
    }
}
