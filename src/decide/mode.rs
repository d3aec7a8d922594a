//! The modes: what becomes of a wish to hand work over.

use serde::{Deserialize, Serialize};

/// How much happens without a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Agents and the hook hand nothing over.
    Disabled,
    /// What they want to hand over waits for a person.
    #[default]
    Suggest,
    /// What is worth it starts by itself.
    Auto,
    /// As `Auto` where the decision is sure enough, else as `Suggest`.
    Smart,
}

impl Mode {
    pub const ALL: [Self; 4] = [Self::Disabled, Self::Suggest, Self::Auto, Self::Smart];

    /// Returns the mode's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Suggest => "suggest",
            Self::Auto => "auto",
            Self::Smart => "smart",
        }
    }

    /// Returns the mode with this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str().eq_ignore_ascii_case(name.trim()))
    }
}
