//! How the steps of a delegation hang together, by the words that people and files use for it.

use serde::{Deserialize, Serialize};

/// How a task is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Steps at the same time, as their dependencies allow.
    #[default]
    Parallel,
    /// Steps one after the other, each with the result of the one before.
    Sequential,
    /// One argues for, one against, and one concludes.
    Debate,
    /// One makes it, another reads it, until it is approved.
    Review,
    /// Several do the same, and one judges.
    Ensemble,
    /// Not handed over in parts: one agent does all of it.
    Direct,
}

impl Pattern {
    /// Every pattern; where two fit equally well, the earlier one is taken.
    pub const ALL: [Self; 6] =
        [Self::Parallel, Self::Sequential, Self::Debate, Self::Review, Self::Ensemble, Self::Direct];

    /// Returns the pattern's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Parallel => "parallel",
            Self::Sequential => "sequential",
            Self::Debate => "debate",
            Self::Review => "review",
            Self::Ensemble => "ensemble",
            Self::Direct => "direct",
        }
    }

    /// Returns whether it makes a graph of one task by itself: its steps follow from it, not from the task's text.
    pub fn is_woven(self) -> bool {
        matches!(self, Self::Debate | Self::Review | Self::Ensemble)
    }

    /// Returns every name, as a person is told them.
    pub fn names() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }

    /// Returns the pattern with this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pattern| pattern.as_str().eq_ignore_ascii_case(name.trim()))
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
