//! Which model a role is for: the table of roles, the tiers that a name's ending asks for, plugin prefixes, old names,
//! and what a project says of its own agents. Pure.
//!
//! A coding agent's sub-agent runs on its caller's model unless the call names one; the caller is usually the dearest.

use std::collections::BTreeMap;
use std::fmt;

/// The models that a call may name, the cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    Haiku,
    Sonnet,
    Opus,
    Fable,
}

impl Tier {
    /// Every tier, the cheapest first.
    pub const ALL: [Self; 4] = [Self::Haiku, Self::Sonnet, Self::Opus, Self::Fable];

    /// Returns the alias that a call names it by.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Haiku => "haiku",
            Self::Sonnet => "sonnet",
            Self::Opus => "opus",
            Self::Fable => "fable",
        }
    }

    /// Returns the tier of a model, by its alias or by its whole id; `None` of another house.
    pub fn of(model: &str) -> Option<Self> {
        let model = model.to_ascii_lowercase();
        let is_part =
            |tier: &Self| model.split(|c: char| !c.is_ascii_alphabetic()).any(|part| part == tier.as_str());
        Self::ALL.into_iter().find(is_part)
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What an agent's model should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A model that a call may name.
    Tier(Tier),
    /// A model that a call cannot name, such as one of another house.
    Id(String),
    /// Its caller's: nothing is put in.
    Inherit,
}

impl Wanted {
    /// Reads what a project, or an agent's own definition, says its model is.
    pub fn read(model: &str) -> Option<Self> {
        let model = model.trim();
        match model {
            "" => None,
            _ if model.eq_ignore_ascii_case("inherit") => Some(Self::Inherit),
            _ => Some(Tier::of(model).map_or_else(|| Self::Id(model.to_owned()), Self::Tier)),
        }
    }
}

/// What is known of agents beside the table: for each name, the model that somebody wrote down for it.
pub type Own = BTreeMap<String, String>;

const OPUS: &[&str] =
    &["analyst", "planner", "architect", "deep-executor", "critic", "code-reviewer", "code-simplifier"];
const HAIKU: &[&str] = &["explore", "style-reviewer", "writer"];
const SONNET: &[&str] = &[
    "debugger",
    "executor",
    "verifier",
    "quality-reviewer",
    "api-reviewer",
    "security-reviewer",
    "performance-reviewer",
    "dependency-expert",
    "test-engineer",
    "quality-strategist",
    "build-fixer",
    "designer",
    "qa-tester",
    "scientist",
    "tracer",
    "git-master",
    "database-expert",
    "devops-engineer",
    "i18n-specialist",
    "accessibility-auditor",
    "api-designer",
    "deployment-manager",
    "opensource-analyzer",
    "tech-selector",
    "product-manager",
    "ux-researcher",
    "information-architect",
    "product-analyst",
    "vision",
    "requirement-clarifier",
    "code-generator",
    "axiom-requirement-analyst",
    "axiom-product-designer",
    "axiom-review-aggregator",
    "axiom-prd-crafter",
    "axiom-system-architect",
    "axiom-evolution-engine",
    "axiom-context-manager",
    "axiom-worker",
    "axiom-ux-director",
    "axiom-product-director",
    "axiom-domain-expert",
    "axiom-tech-lead",
    "axiom-critic",
    "axiom-sub-prd-writer",
    "document-specialist",
];

/// Names that agents had before, and those that they have now.
const ALIASES: &[(&str, &str)] = &[
    ("researcher", "document-specialist"),
    ("tdd-guide", "test-engineer"),
    ("reviewer", "code-reviewer"),
    ("harsh-critic", "critic"),
];

/// Returns an agent's name without the plugin that it comes from.
pub fn bare(agent: &str) -> &str {
    agent.rsplit(':').next().unwrap_or(agent)
}

/// Returns the tier that an agent's role is for, by the table and by the ending of its name.
pub fn tier(agent: &str) -> Option<Tier> {
    let name = bare(agent).trim().to_ascii_lowercase();
    if let Some(tier) = listed(&name) {
        return Some(tier);
    }
    if let Some(base) = name.strip_suffix("-medium") {
        return Some(listed(base).unwrap_or(Tier::Sonnet));
    }
    let is = |ending: &str| name.strip_suffix(ending).is_some_and(|base| !base.is_empty());
    if is("-low") {
        Some(Tier::Haiku)
    } else if is("-high") {
        Some(Tier::Opus)
    } else {
        None
    }
}

fn listed(name: &str) -> Option<Tier> {
    let name = ALIASES.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| *new);
    let tables = [(HAIKU, Tier::Haiku), (SONNET, Tier::Sonnet), (OPUS, Tier::Opus)];
    tables.into_iter().find(|(names, _)| names.contains(&name)).map(|(_, tier)| tier)
}

/// Returns the model that an agent should have: what somebody wrote down for it, else what its role is for.
pub fn wanted(agent: &str, own: &Own) -> Option<Wanted> {
    let by_name = |name: &str| {
        let exact = own.get(name);
        let loose = || own.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, model)| model);
        exact.or_else(loose).and_then(|model| Wanted::read(model))
    };
    by_name(agent).or_else(|| by_name(bare(agent))).or_else(|| tier(agent).map(Wanted::Tier))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("explore", Some(Tier::Haiku))]
    #[case("explore-low", Some(Tier::Haiku))]
    #[case("executor", Some(Tier::Sonnet))]
    #[case("executor-low", Some(Tier::Haiku))]
    #[case("executor-medium", Some(Tier::Sonnet))]
    #[case("executor-high", Some(Tier::Opus))]
    #[case("deep-executor", Some(Tier::Opus))]
    #[case("architect", Some(Tier::Opus))]
    #[case("architect-low", Some(Tier::Haiku))]
    #[case("architect-medium", Some(Tier::Opus))]
    #[case("critic", Some(Tier::Opus))]
    #[case("designer", Some(Tier::Sonnet))]
    #[case("designer-high", Some(Tier::Opus))]
    #[case("writer", Some(Tier::Haiku))]
    #[case("ultrapower:explore", Some(Tier::Haiku))]
    #[case("oh-my-claudecode:Architect", Some(Tier::Opus))]
    #[case("researcher", Some(Tier::Sonnet))]
    #[case("tdd-guide", Some(Tier::Sonnet))]
    #[case("harsh-critic", Some(Tier::Opus))]
    #[case("anything-medium", Some(Tier::Sonnet))]
    #[case("anything-high", Some(Tier::Opus))]
    #[case("general-purpose", None)]
    #[case("-low", None)]
    #[case("", None)]
    fn a_role_has_the_tier_of_the_table_or_of_its_ending(#[case] agent: &str, #[case] wanted: Option<Tier>) {
        assert_eq!(tier(agent), wanted);
    }

    #[test]
    fn no_role_is_listed_twice() {
        let mut all: Vec<&str> = [HAIKU, SONNET, OPUS].concat();
        all.extend(ALIASES.iter().map(|(old, _)| *old));
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(ALIASES.iter().all(|(_, new)| listed(new).is_some()));
    }

    #[rstest]
    #[case("haiku", Some(Tier::Haiku))]
    #[case("Opus", Some(Tier::Opus))]
    #[case("claude-haiku-4-5-20251001", Some(Tier::Haiku))]
    #[case("us.anthropic.claude-sonnet-5-5-v1:0", Some(Tier::Sonnet))]
    #[case("opus[1m]", Some(Tier::Opus))]
    #[case("claude-3-5-haiku", Some(Tier::Haiku))]
    #[case("gpt-6-sol", None)]
    #[case("sonnetish", None)]
    fn a_models_tier_is_a_part_of_its_name(#[case] model: &str, #[case] tier: Option<Tier>) {
        assert_eq!(Tier::of(model), tier);
    }

    #[test]
    fn what_a_project_says_comes_before_the_table_and_the_whole_name_before_the_bare_one() {
        let own: Own = [
            ("explore".to_owned(), "opus".to_owned()),
            ("mine:explore".to_owned(), "inherit".to_owned()),
            ("Docs".to_owned(), "glm-9".to_owned()),
        ]
        .into();
        assert_eq!(wanted("explore", &own), Some(Wanted::Tier(Tier::Opus)));
        assert_eq!(wanted("other:explore", &own), Some(Wanted::Tier(Tier::Opus)));
        assert_eq!(wanted("mine:explore", &own), Some(Wanted::Inherit));
        assert_eq!(wanted("docs", &own), Some(Wanted::Id("glm-9".into())));
        assert_eq!(wanted("executor", &own), Some(Wanted::Tier(Tier::Sonnet)));
        assert_eq!(wanted("somebody", &own), None);
    }
}
