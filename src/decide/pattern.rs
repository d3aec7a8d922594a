//! The patterns in which work can be done, by the words that people and files use for them.

use serde::{Deserialize, Serialize};

/// How a task is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Steps at the same time, as their dependencies allow.
    Parallel,
    /// Steps one after the other.
    Sequential,
    /// Agents argue, then one of them concludes.
    Debate,
    /// One makes it, others read it.
    Review,
    /// Several do the same, and the results are compared.
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
