//! The rules of handing on, in one place: who may hand what to whom, how deep, how much. Engine and hook ask here,
//! and show the same words.
//!
//! Every rule that does not hold gives a [`Verdict`]: what, why, and what to do instead. Levels, self and categories
//! bind only agents that have a level; others (claude, codex and whoever is on the path) are bounded by depth.

mod budget;
mod hierarchy;
mod reach;

use std::fmt;

use super::settings::Settings;

/// How hard a rule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Force {
    /// Said, and nothing else.
    Advisory,
    /// Said loudly; the work goes on.
    Warned,
    /// It does not happen.
    Enforced,
}

impl Force {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Advisory => "advisory",
            Self::Warned => "warned",
            Self::Enforced => "enforced",
        }
    }
}

/// The rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    UnknownAgent,
    SelfDelegation,
    Upward,
    SameLevel,
    Cycle,
    Category,
    Depth,
    Children,
    ChildTokens,
    TotalTokens,
    Cost,
}

impl Rule {
    /// Returns the rule's name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::UnknownAgent => "UNKNOWN_AGENT",
            Self::SelfDelegation => "SELF_DELEGATION",
            Self::Upward => "UPWARD_DELEGATION",
            Self::SameLevel => "SAME_LEVEL",
            Self::Cycle => "CYCLE_DETECTED",
            Self::Category => "CATEGORY_MISMATCH",
            Self::Depth => "MAX_DEPTH_EXCEEDED",
            Self::Children => "MAX_CHILDREN_EXCEEDED",
            Self::ChildTokens => "CHILD_BUDGET",
            Self::TotalTokens => "TOTAL_BUDGET",
            Self::Cost => "COST_LIMIT",
        }
    }
}

/// Who wants to hand what to whom.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// The agent that hands it on; nobody where a person does.
    pub from: Option<String>,
    pub to: String,
    /// What the receiver is in the hierarchy, if it is anything.
    pub role: Option<String>,
    /// The roles above, from the root down.
    pub path: Vec<String>,
    /// How deep the new step would be; what a person starts has 1.
    pub depth: u32,
    pub category: Option<String>,
    /// How many children the giver has already.
    pub children: u32,
    /// The tokens that the new step may use, where somebody says.
    pub tokens_wanted: Option<u64>,
    /// What the whole tree has used so far.
    pub tokens_spent: u64,
    pub cost_spent_micros: u64,
}

/// A rule that does not hold, and how hard it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub rule: Rule,
    pub force: Force,
    /// What does not go.
    pub what: String,
    pub why: String,
    /// What to do instead.
    pub instead: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}\n{}", self.what, self.why, self.instead)
    }
}

/// Returns every rule that does not hold, the hardest first.
pub fn check(request: &Request, settings: &Settings) -> Vec<Verdict> {
    let mut verdicts = hierarchy::check(request, &settings.agents);
    verdicts.extend(reach::check(request, &settings.limits));
    verdicts.extend(budget::check(request, &settings.limits));
    // Within one force, as the rules are written here.
    verdicts.sort_by_key(|verdict| (std::cmp::Reverse(verdict.force), verdict.rule));
    verdicts
}

/// Returns the rule that forbids it, if one does.
pub fn refusal(verdicts: &[Verdict]) -> Option<&Verdict> {
    verdicts.iter().find(|verdict| verdict.force == Force::Enforced)
}

pub use hierarchy::{level, role, stays_with};

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
