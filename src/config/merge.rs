//! Which value is in force: layers in, for each setting the most specific one's value and which layer that was. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::keys::{KEYS, Key, find};
use super::read::{Values, nested};
use crate::model::command::Limits;
use crate::model::usage::Usd;

/// Where a value comes from; the later in this list, the more specific, and the more it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Nobody said anything.
    BuiltIn,
    /// This person's own file.
    User,
    /// The `delegation` key of the project's `.claude/config.json`.
    Claude,
    /// The project's `quarterdeck.toml`.
    Project,
    /// Said to the running engine, until it is taken back.
    Session,
    /// The task's own `delegationConfig`.
    Task,
    /// Said for this one execution.
    Execution,
}

impl Layer {
    /// Every layer, the least specific first.
    pub const ALL: [Self; 7] =
        [Self::BuiltIn, Self::User, Self::Claude, Self::Project, Self::Session, Self::Task, Self::Execution];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::User => "user",
            Self::Claude => "claude",
            Self::Project => "project",
            Self::Session => "session",
            Self::Task => "task",
            Self::Execution => "execution",
        }
    }

    /// Finds the layer of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.as_str() == name)
    }
}

/// A value that is in force, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct InForce {
    pub value: Value,
    pub layer: Layer,
}

/// The values in force: one for every setting there is.
#[derive(Debug, Clone, PartialEq)]
pub struct Effective {
    values: BTreeMap<&'static str, InForce>,
}

impl Default for Effective {
    fn default() -> Self {
        let built_in = |key: &Key| (key.name, InForce { value: key.default_value(), layer: Layer::BuiltIn });
        Self { values: KEYS.iter().map(built_in).collect() }
    }
}

/// Merges layers, in whatever order they are given.
pub fn merge<'a>(layers: impl IntoIterator<Item = (Layer, &'a Values)>) -> Effective {
    let mut effective = Effective::default();
    for (layer, values) in layers {
        effective.lay(layer, values);
    }
    effective
}

impl Effective {
    /// Lays a layer over or under those that are there, as its place is. Of the same layer twice the later counts.
    pub fn lay(&mut self, layer: Layer, values: &Values) {
        for (name, value) in values {
            match self.values.get_mut(name) {
                Some(known) if known.layer <= layer => *known = InForce { value: value.clone(), layer },
                Some(_) | None => {}
            }
        }
    }

    /// Returns these with a more specific layer over them.
    #[must_use]
    pub fn with(mut self, layer: Layer, values: &Values) -> Self {
        self.lay(layer, values);
        self
    }

    /// Returns every setting with its value, in the order of the table.
    pub fn all(&self) -> impl Iterator<Item = (&'static Key, &InForce)> {
        KEYS.iter().filter_map(|key| Some((key, self.values.get(key.name)?)))
    }

    /// Returns the value in force; none of a name that there is not.
    pub fn get(&self, name: &str) -> Option<&InForce> {
        self.values.get(name)
    }

    /// Returns whether somebody set it: a built-in figure of a budget or a time only warns.
    pub fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some_and(|one| one.layer > Layer::BuiltIn)
    }

    fn value(&self, name: &str) -> Value {
        self.get(name).map(|one| one.value.clone()).unwrap_or_default()
    }

    /// Returns a whole number that is in force.
    pub fn whole(&self, name: &str) -> u64 {
        self.value(name).as_u64().unwrap_or_default()
    }

    /// Returns a whole number that somebody set.
    pub fn set_whole(&self, name: &str) -> Option<u64> {
        self.is_set(name).then(|| self.whole(name))
    }

    /// Returns an amount of money that somebody set.
    pub fn money(&self, name: &str) -> Option<Usd> {
        self.get(name)?.value.as_f64().map(Usd::from_dollars)
    }

    /// Returns whether a switch is on.
    pub fn switch(&self, name: &str) -> bool {
        self.value(name).as_bool().unwrap_or_default()
    }

    /// Returns a word that is in force; empty where there is none.
    pub fn word(&self, name: &str) -> String {
        self.value(name).as_str().unwrap_or_default().to_owned()
    }

    /// Returns a name that somebody set.
    pub fn name(&self, name: &str) -> Option<String> {
        Some(self.word(name)).filter(|name| !name.is_empty())
    }

    /// Returns a list of words that is in force.
    pub fn words(&self, name: &str) -> Vec<String> {
        serde_json::from_value(self.value(name)).unwrap_or_default()
    }

    /// Returns for each agent the words that speak for it.
    pub fn agent_hints(&self) -> BTreeMap<String, Vec<String>> {
        self.lists("agentHints")
    }

    /// Returns a table of lists that is in force.
    pub fn lists(&self, name: &str) -> BTreeMap<String, Vec<String>> {
        serde_json::from_value(self.value(name)).unwrap_or_default()
    }

    /// Returns a table of names that is in force.
    pub fn pairs(&self, name: &str) -> BTreeMap<String, String> {
        serde_json::from_value(self.value(name)).unwrap_or_default()
    }

    /// Returns the settings as nested tables, as the delegation settings have them.
    pub fn tree(&self) -> Value {
        nested(self.values.iter().map(|(name, one)| (*name, &one.value)))
    }

    /// Returns for each setting that somebody set the layer it comes from.
    pub fn layers(&self) -> BTreeMap<&'static str, Layer> {
        let set = self.values.iter().filter(|(_, one)| one.layer > Layer::BuiltIn);
        set.map(|(name, one)| (*name, one.layer)).collect()
    }

    /// Returns the limits of a delegation that says nothing itself: what somebody set acts, what nobody set leaves the
    /// engine's own.
    pub fn limits(&self) -> Limits {
        let mut limits = Limits {
            subtask_timeout_ms: self.set_whole("limits.subtaskTimeout"),
            timeout_ms: self.set_whole("limits.delegationTimeout"),
            ..Limits::default()
        };
        limits.max_retries = u32::try_from(self.whole("recovery.maxRetries")).unwrap_or(limits.max_retries);
        limits.auto_retry = self.switch("recovery.autoRetry");
        limits.continue_on_partial_failure = self.switch("recovery.continueOnPartialFailure");
        limits.rollback_on_failure = self.switch("recovery.rollbackOnFailure");
        // What holds for everything needs not be said again.
        let own = |name: &str| self.get(name).filter(|one| one.layer >= Layer::Task)?.value.as_u64();
        limits.max_depth = own("limits.maxDepth").and_then(|most| u32::try_from(most).ok());
        limits.token_budget = self.set_whole("limits.maxTotalTokens");
        limits.cost_budget = self.money("limits.maxCost");
        limits.step_token_budget = self.set_whole("limits.tokenBudgetPerChild");
        limits.step_cost_budget = self.money("limits.maxCostPerChild");
        limits.quality_threshold = own("qualityThreshold").and_then(|least| u8::try_from(least).ok());
        limits
    }
}

/// Reads settings as an engine told them, and takes those of one layer: so an engine finds again what was said to the
/// one before, and whoever looks at its folder sees the same.
pub fn told(settings: &Value, of: Layer) -> Values {
    let layers = settings.get("layers").and_then(Value::as_object).into_iter().flatten();
    let names = layers.filter(|(_, layer)| layer.as_str() == Some(of.as_str()));
    names
        .filter_map(|(name, _)| {
            let key = find(name)?;
            let value = key.name.split('.').try_fold(settings, |table, part| table.get(part))?;
            Some((key.name, key.check(value)?))
        })
        .collect()
}
