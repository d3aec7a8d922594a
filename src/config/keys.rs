//! The table of settings: name, kind, range, default, and what each does. Everything else is made from it.

use serde_json::{Value, json};

use crate::model::budget::{read_money, read_tokens};

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name, dotted, as the delegation settings spell it; `max-depth` means `maxDepth` too.
    pub name: &'static str,
    pub kind: Kind,
    /// Its value where nobody says otherwise, as JSON.
    pub default: &'static str,
    /// A budget or a time whose built-in figure only warns; set by somebody, it acts.
    pub only_warns: bool,
    /// What it does, in one sentence.
    pub says: &'static str,
}

/// What a setting may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number in a range, with its unit.
    Whole { least: u64, most: u64, unit: &'static str },
    /// On or off.
    Switch,
    /// A list of words.
    Words,
    /// For each agent, the words that speak for it.
    Hints,
    /// For each agent, the name of its model.
    Pairs,
    /// A name, or none.
    Name,
    /// An amount of US dollars, or none.
    Money,
    /// A number of tokens, or none.
    Tokens,
}

const PATTERNS: &[&str] = &["parallel", "sequential", "debate", "review", "ensemble", "direct"];
const HUNDRED: Kind = Kind::Whole { least: 0, most: 100, unit: "" };
const PERCENT: Kind = Kind::Whole { least: 1, most: 100, unit: "%" };
const TOKENS: Kind = Kind::Whole { least: 1, most: 1_000_000_000_000, unit: "tokens" };
/// More than anybody spends here; as a number of nano-dollars it is exact.
const MOST_MONEY: f64 = 1e6;
/// Thirty days at most.
const TIME: Kind = Kind::Whole { least: 1_000, most: 2_592_000_000, unit: "ms" };

const ROUNDS: Kind = Kind::Whole { least: 1, most: 9, unit: "rounds" };

const fn whole(least: u64, most: u64, unit: &'static str) -> Kind {
    Kind::Whole { least, most, unit }
}

const fn key(name: &'static str, kind: Kind, default: &'static str, says: &'static str) -> Key {
    Key { name, kind, default, only_warns: false, says }
}

const fn figure(name: &'static str, kind: Kind, default: &'static str, says: &'static str) -> Key {
    Key { name, kind, default, only_warns: true, says }
}

/// Every setting, in the order in which they are shown.
pub const KEYS: &[Key] = &[
    key(
        "mode",
        Kind::Word(&["disabled", "suggest", "auto", "smart"]),
        r#""suggest""#,
        "What agents ask for is never delegated, waits for a person, starts by itself, or starts by itself where it is sure enough.",
    ),
    key("defaultAgent", Kind::Name, "null", "The agent of a step that names none."),
    key(
        "planner",
        Kind::Name,
        "null",
        "The agent that is asked to split a task; without one it is split by rules.",
    ),
    key(
        "isolation",
        Kind::Word(&["auto", "none", "worktree"]),
        r#""auto""#,
        "Steps work in git work trees of their own where they may meet another, never, or always.",
    ),
    key(
        "afterIsolation",
        Kind::Word(&["ask", "merge", "keep"]),
        r#""ask""#,
        "What an isolated step changed waits for a person, is merged at once, or stays in its work tree.",
    ),
    key("subtaskApproval", Kind::Switch, "false", "A plan waits for a person, whatever the mode."),
    key("qualityThreshold", HUNDRED, "70", "A result below this is for review."),
    key(
        "returnFormat",
        Kind::Word(&["off", "warn", "enforce"]),
        r#""warn""#,
        "What a command of the guide brings back is not checked, is checked and shown, or fails where it has not the form.",
    ),
    key("agentHints", Kind::Hints, "{}", "For each agent, the words in a step that speak for it."),
    key("thresholds.delegationScore", HUNDRED, "60", "The least score with which delegating is suggested."),
    key(
        "thresholds.autoAcceptConfidence",
        HUNDRED,
        "85",
        "The least confidence with which the smart mode starts by itself.",
    ),
    key("thresholds.complexityTrigger", PERCENT, "50", "The complexity that counts as full."),
    key("thresholds.minSubtasks", whole(1, 100, "steps"), "3", "The number of steps that counts as full."),
    key(
        "thresholds.effortHours",
        whole(0, 10_000, "hours"),
        "4",
        "The effort from which a task is worth splitting, for tools that ask; the score has the effort in its complexity.",
    ),
    key("thresholds.contextUtilization", PERCENT, "75", "The use of an agent's context that counts as full."),
    key("limits.maxDepth", whole(1, 5, "levels"), "3", "How deep delegations may be handed down."),
    key(
        "limits.maxConcurrentAgents",
        whole(1, 1_000, "agents"),
        "5",
        "How many agents of all delegations together may work at once.",
    ),
    key("limits.maxChildren", whole(1, 100, "steps"), "7", "How many steps a delegation may be split into."),
    figure(
        "limits.tokenBudgetPerChild",
        TOKENS,
        "1000",
        "What one step may use; below 500 few agents get anything done.",
    ),
    figure("limits.maxTotalTokens", TOKENS, "50000", "What a delegation may use with all below it."),
    key("limits.maxCostPerChild", Kind::Money, "null", "What one step may cost, with what it hands on."),
    key("limits.maxCost", Kind::Money, "null", "What a delegation may cost with all below it."),
    key(
        "limits.maxTokensPerDay",
        Kind::Tokens,
        "null",
        "What all delegations together may use on one day, which begins at midnight UTC.",
    ),
    key("limits.maxCostPerDay", Kind::Money, "null", "What all delegations together may cost on one day."),
    key("limits.maxTokensOverall", Kind::Tokens, "null", "What all delegations together may ever use."),
    key("limits.maxCostOverall", Kind::Money, "null", "What all delegations together may ever cost."),
    figure("limits.subtaskTimeout", TIME, "600000", "How long a step may take."),
    figure("limits.delegationTimeout", TIME, "3600000", "How long a delegation may take."),
    key("limits.acceptTimeout", TIME, "1800000", "How long a proposal waits for a person before it expires."),
    key(
        "patterns.default",
        Kind::Word(PATTERNS),
        r#""parallel""#,
        "How steps hang together where nothing speaks for another way.",
    ),
    key("patterns.debateRounds", ROUNDS, "3", "How many rounds a debate has; the last one is its synthesis."),
    key(
        "patterns.reviewRounds",
        ROUNDS,
        "3",
        "How often something is reviewed at most, until it is approved.",
    ),
    key("patterns.ensembleAnswers", whole(1, 9, "answers"), "3", "How many agents answer before one judges."),
    key(
        "patterns.hints.parallel",
        Kind::Words,
        r#"["concurrent","independent","batch"]"#,
        "Words that speak for steps at the same time.",
    ),
    key(
        "patterns.hints.sequential",
        Kind::Words,
        r#"["depends","after","then","before"]"#,
        "Words that speak for one step after the other.",
    ),
    key(
        "patterns.hints.debate",
        Kind::Words,
        r#"["discuss","evaluate","compare"]"#,
        "Words that speak for a debate.",
    ),
    key(
        "patterns.hints.review",
        Kind::Words,
        r#"["create","write","draft","review"]"#,
        "Words that speak for a maker and reviewers.",
    ),
    key(
        "patterns.hints.ensemble",
        Kind::Words,
        r#"["validate","verify","critical"]"#,
        "Words that speak for several agents on the same step.",
    ),
    key("rules.allowSameLevel", Kind::Switch, "false", "An agent may hand work to another of its own level."),
    key("recovery.autoRetry", Kind::Switch, "true", "A failed step is tried again by itself."),
    key("recovery.maxRetries", whole(0, 100, "times"), "2", "How often a failed step is tried again."),
    key("recovery.rollbackOnFailure", Kind::Switch, "false", "What a failed delegation changed is undone."),
    key(
        "recovery.snapshotTimeout",
        whole(0, 600_000, "ms"),
        "3000",
        "How long a snapshot before and after a step may take, by which it can be rolled back; 0 takes none.",
    ),
    key(
        "recovery.continueOnPartialFailure",
        Kind::Switch,
        "true",
        "When a step fails for good, those that do not depend on it go on.",
    ),
    key("logging.logDecisions", Kind::Switch, "true", "Decisions are written to the journal."),
    key(
        "logging.logProgress",
        Kind::Switch,
        "true",
        "The progress of steps is written to the journal; else nobody sees it.",
    ),
    key(
        "logging.storeHistory",
        Kind::Switch,
        "true",
        "What is over is kept in the history when it leaves the tree.",
    ),
    key(
        "logging.historyRetention",
        whole(1, 3_650, "days"),
        "30",
        "How long the output of sessions that are over is kept, and what hooks remember of them; records are kept.",
    ),
    key(
        "hook.inject",
        Kind::Switch,
        "true",
        "A sub-agent's call that names no model gets the one of its role.",
    ),
    key("hook.models", Kind::Pairs, "{}", "For each agent, the model that its calls get."),
    key("hook.agents", Kind::Words, "[]", "The agents that may be called; empty, any may."),
    key(
        "hook.matrix",
        Kind::Word(&["off", "warn", "enforce"]),
        r#""warn""#,
        "What is done where an agent uses a tool that its role has not.",
    ),
    key(
        "hook.tools",
        Kind::Hints,
        "{}",
        "For each agent, the kinds of tools that it may use, or with ! may not.",
    ),
    key(
        "hook.direct",
        Kind::Word(&["off", "warn", "block"]),
        r#""off""#,
        "What is done where the orchestrator itself changes source files.",
    ),
    key(
        "hook.background",
        Kind::Word(&["off", "warn", "block"]),
        r#""warn""#,
        "What is done where a call would exceed the agents that may work at once.",
    ),
    key(
        "hook.ownership",
        Kind::Word(&["off", "warn", "block"]),
        r#""warn""#,
        "What is done where an agent changes a file that another live one changed.",
    ),
    key("hook.advise", Kind::Switch, "true", "A prompt that is worth delegating is told so to the agent."),
    key("hook.state", Kind::Switch, "true", "A prompt is told what delegations of its session are active."),
    key("hook.record", Kind::Switch, "true", "Every hand-off inside a session is recorded."),
    key(
        "hook.failClosed",
        Kind::Switch,
        "false",
        "A hook that fails denies the call, instead of letting it pass.",
    ),
    key(
        "hook.hold",
        whole(0, 600_000, "ms"),
        "50000",
        "How long a paused call is held before it is denied; less than the tool gives its hooks.",
    ),
    key("ui.showReasoningPanel", Kind::Switch, "true", "The panel beside the tree is open."),
    key("ui.expandProgressTree", Kind::Switch, "false", "What only waits for its turn is unfolded too."),
    key(
        "ui.notificationSound",
        Kind::Switch,
        "false",
        "The terminal rings when something ends or needs you.",
    ),
    key("ui.compactMode", Kind::Switch, "false", "One line for each delegation."),
    key("ui.autoCollapseCompleted", Kind::Switch, "true", "What is done folds by itself."),
    key("ui.showTokenUsage", Kind::Switch, "true", "The tokens are shown below the panel."),
];

/// Other names of settings: those of a task's own configuration, and of earlier versions of the file.
pub const ALIASES: &[(&str, &str)] =
    &[("maxDepth", "limits.maxDepth"), ("maxConcurrent", "limits.maxConcurrentAgents")];

/// Further names that a task's own `delegationConfig` has.
pub const OF_TASK: &[(&str, &str)] = &[
    ("pattern", "patterns.default"),
    ("tokenBudget", "limits.maxTotalTokens"),
    ("costBudget", "limits.maxCost"),
    ("rollbackOnFailure", "recovery.rollbackOnFailure"),
];

/// Returns the setting of a whole, canonical name.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

impl Key {
    /// Returns its value where nobody says otherwise.
    pub fn default_value(&self) -> Value {
        // A test reads every one of them.
        serde_json::from_str(self.default).unwrap_or_default()
    }

    /// Returns the table it is in, and its name there.
    pub fn place(&self) -> (&'static str, &'static str) {
        self.name.rsplit_once('.').unwrap_or(("", self.name))
    }

    /// Returns what it may be, as it is told to a person.
    pub fn range(&self) -> String {
        self.kind.says()
    }

    /// Takes a value as this setting has it, if it may be that.
    pub fn check(&self, value: &Value) -> Option<Value> {
        self.kind.check(value)
    }

    /// Reads what a person typed for it.
    pub fn typed(&self, text: &str) -> Option<Value> {
        let text = text.trim();
        let value = match self.kind {
            Kind::Word(_) | Kind::Name => text.trim_matches('"').into(),
            Kind::Switch => match text {
                "true" | "on" | "yes" => true.into(),
                "false" | "off" | "no" => false.into(),
                _ => return None,
            },
            Kind::Whole { .. } => serde_json::from_str(&text.replace('_', "")).ok()?,
            Kind::Money => read_money(text).ok()?.dollars().into(),
            Kind::Tokens => read_tokens(text).ok()?.into(),
            Kind::Words if !text.starts_with('[') => {
                text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect()
            }
            Kind::Words | Kind::Hints | Kind::Pairs => serde_json::from_str(text).ok()?,
        };
        self.check(&value)
    }
}

impl Kind {
    /// Says what it may be.
    pub fn says(self) -> String {
        match self {
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Whole { least, most, unit: "" } => format!("a whole number from {least} to {most}"),
            Self::Whole { least, most, unit } => format!("a whole number of {unit} from {least} to {most}")
                .replace("number of %", "percentage"),
            Self::Switch => "true or false".into(),
            Self::Words => "a list of words".into(),
            Self::Hints => "a table from agents to lists of words".into(),
            Self::Pairs => "a table from agents to names".into(),
            Self::Name => "the name of an agent".into(),
            Self::Money => "an amount of dollars such as 2.50".into(),
            Self::Tokens => "a whole number of tokens".into(),
        }
    }

    fn check(self, value: &Value) -> Option<Value> {
        match self {
            Self::Word(words) => {
                let word = value.as_str()?;
                words.contains(&word).then(|| word.into())
            }
            Self::Whole { least, most, .. } => {
                let number = whole_number(value)?;
                (least..=most).contains(&number).then(|| number.into())
            }
            Self::Switch => value.as_bool().map(Value::from),
            Self::Words => is_words(value).then(|| value.clone()),
            Self::Hints => value.as_object()?.values().all(is_words).then(|| value.clone()),
            Self::Pairs => value.as_object()?.values().all(Value::is_string).then(|| value.clone()),
            Self::Money => {
                let amount = value.as_f64().filter(|amount| *amount > 0.0 && *amount <= MOST_MONEY)?;
                Some(json!(amount))
            }
            Self::Tokens => TOKENS.check(value),
            Self::Name => value.as_str().filter(|name| !name.trim().is_empty()).map(|name| json!(name)),
        }
    }
}

/// Takes 3 and 3.0 alike: not every writer of JSON tells them apart.
fn whole_number(value: &Value) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let fraction = || {
        let number =
            value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=EXACT).contains(number))?;
        format!("{number:.0}").parse().ok()
    };
    value.as_u64().or_else(fraction)
}

fn is_words(value: &Value) -> bool {
    value.as_array().is_some_and(|words| words.iter().all(Value::is_string))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_one_that_the_setting_may_have() {
        for key in KEYS {
            let default: Value = serde_json::from_str(key.default).unwrap();
            let may_be_none = matches!(key.kind, Kind::Name | Kind::Money | Kind::Tokens);
            let is_none = may_be_none && default.is_null();
            assert!(is_none || key.check(&default) == Some(default), "{}", key.name);
        }
    }

    #[test]
    fn names_are_unique_and_aliases_lead_somewhere() {
        let mut names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KEYS.len());
        for (alias, name) in ALIASES.iter().chain(OF_TASK) {
            assert!(find(name).is_some() && find(alias).is_none(), "{alias}");
        }
    }

    #[test]
    fn what_a_person_types_is_taken_as_the_kind_has_it() {
        let typed = |name, text| find(name).unwrap().typed(text);
        assert_eq!(typed("limits.maxDepth", "4"), Some(json!(4)));
        assert_eq!(typed("limits.maxTotalTokens", "20_000"), Some(json!(20_000)));
        assert_eq!(typed("recovery.autoRetry", "off"), Some(json!(false)));
        assert_eq!(typed("patterns.hints.debate", "weigh, argue"), Some(json!(["weigh", "argue"])));
        assert_eq!(typed("agentHints", r#"{"docs":["links"]}"#), Some(json!({"docs": ["links"]})));
        for (name, text) in [("limits.maxDepth", "6"), ("mode", "manual"), ("recovery.autoRetry", "2")] {
            assert_eq!(typed(name, text), None, "{name}");
        }
    }
}
