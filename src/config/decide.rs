//! The settings as the room of decisions takes them. Pure.

use super::merge::{Effective, Layer, merge, told};
use super::project::Config;
use super::read::Values;
use crate::decide::mode::Mode;
use crate::decide::pattern::Pattern;
use crate::decide::settings::{Bound, Settings};
use crate::model::budget::nanos;
use serde::de::DeserializeOwned;
use serde_json::Value;

impl Config {
    /// Returns what decision, plan and rules are told: the settings in force, and the agents there are.
    pub fn deciding(&self) -> Settings {
        let mut settings = deciding(&self.settings());
        settings.agents.known = self.agents.keys().cloned().collect();
        settings
    }
}

/// Returns the settings that an engine told to be in force.
pub fn of_told(settings: &Value) -> Effective {
    let layers = Layer::ALL.map(|layer| (layer, told(settings, layer)));
    merge(layers.iter().map(|(layer, values): &(Layer, Values)| (*layer, values)))
}

/// Returns what decision, plan and rules are told by settings alone.
pub fn deciding(from: &Effective) -> Settings {
    let mut to = Settings::default();
    to.mode = word::<Mode>(from, "mode").unwrap_or(to.mode);
    to.subtask_approval = from.switch("subtaskApproval");
    to.quality.threshold = u8::try_from(from.whole("qualityThreshold")).unwrap_or(100);
    let thresholds = &mut to.thresholds;
    thresholds.delegation_score = number(from, "thresholds.delegationScore");
    thresholds.auto_accept_confidence = number(from, "thresholds.autoAcceptConfidence");
    thresholds.complexity_trigger = number(from, "thresholds.complexityTrigger");
    thresholds.min_subtasks = count(from, "thresholds.minSubtasks");
    thresholds.effort_hours = number(from, "thresholds.effortHours");
    thresholds.context_utilization = number(from, "thresholds.contextUtilization");
    let limits = &mut to.limits;
    limits.max_depth = count(from, "limits.maxDepth");
    limits.max_concurrent_agents = count(from, "limits.maxConcurrentAgents");
    limits.max_children = count(from, "limits.maxChildren");
    limits.token_budget_per_child = bound(from, "limits.tokenBudgetPerChild");
    limits.max_total_tokens = bound(from, "limits.maxTotalTokens");
    limits.max_cost_micros = from.money("limits.maxCost").map(|most| nanos(most) / 1_000);
    limits.subtask_timeout = bound(from, "limits.subtaskTimeout");
    limits.delegation_timeout = bound(from, "limits.delegationTimeout");
    to.patterns.default = word::<Pattern>(from, "patterns.default").unwrap_or(to.patterns.default);
    for (pattern, words) in &mut to.patterns.hints {
        if let Ok(Value::String(name)) = serde_json::to_value(pattern) {
            *words = from.words(&format!("patterns.hints.{name}"));
        }
    }
    to.patterns.debate_rounds = count(from, "patterns.debateRounds");
    to.patterns.review_rounds = count(from, "patterns.reviewRounds");
    to.patterns.ensemble_answers = count(from, "patterns.ensembleAnswers");
    to.agents.same_level = from.switch("rules.allowSameLevel");
    to.agents.hints = from.agent_hints();
    to
}

fn word<T: DeserializeOwned>(from: &Effective, name: &str) -> Option<T> {
    serde_json::from_value(from.get(name)?.value.clone()).ok()
}

fn count(from: &Effective, name: &str) -> u32 {
    u32::try_from(from.whole(name)).unwrap_or(u32::MAX)
}

fn number(from: &Effective, name: &str) -> f64 {
    f64::from(count(from, name))
}

fn bound(from: &Effective, name: &str) -> Bound {
    Bound { value: from.whole(name), acts: from.is_set(name) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::merge::{Layer, merge};
    use super::super::read::Values;
    use super::*;

    #[test]
    fn both_tables_of_built_in_figures_are_the_same() {
        assert_eq!(deciding(&Effective::default()), Settings::default());
    }

    #[test]
    fn what_somebody_sets_reaches_the_decision_and_acts() {
        let values: Values = [
            ("mode", json!("smart")),
            ("limits.maxTotalTokens", json!(50_000)),
            ("limits.maxDepth", json!(2)),
            ("patterns.default", json!("review")),
            ("patterns.hints.debate", json!(["weigh"])),
            ("rules.allowSameLevel", json!(true)),
            ("agentHints", json!({"docs": ["links"]})),
            ("thresholds.delegationScore", json!(40)),
        ]
        .into();
        let told = deciding(&merge([(Layer::Project, &values)]));
        assert_eq!((told.mode, told.patterns.default), (Mode::Smart, Pattern::Review));
        assert_eq!(told.limits.max_total_tokens, Bound::set(50_000));
        assert!(!told.limits.subtask_timeout.acts && told.agents.same_level);
        assert_eq!(told.patterns.hints[&Pattern::Debate], ["weigh"]);
        assert_eq!(told.agents.hints["docs"], ["links"]);
        assert!((told.thresholds.delegation_score - 40.0).abs() < f64::EPSILON && told.limits.max_depth == 2);
    }
}
