//! Which models cost more than which: only families that are known, and only within one family. Of anything
//! else nothing is said.

use std::sync::LazyLock;

use crate::decide::models::{self, Tier};
use crate::model::node::{Models, Node};
use crate::model::price::Prices;

/// Read once: a frame must not wait for it.
static PRICES: LazyLock<Prices> = LazyLock::new(Prices::built_in);

const CLAUDE: &str = "claude";

/// Models of the house whose names are no words of their own, the cheapest first; a name belongs to the first that it
/// contains.
const GPT: [&str; 3] = ["-nano", "-mini", "gpt-"];

/// Why a model is dearer than it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dearer {
    /// Than the one that was asked for or put in.
    ThanAsked,
    /// Than the agent's role needs.
    ThanNeeded,
}

impl Dearer {
    /// Says it in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::ThanAsked => "dearer than asked for",
            Self::ThanNeeded => "dearer than its role needs",
        }
    }
}

/// Returns a model's family and its place in it.
fn tier(model: &str) -> Option<(&'static str, usize)> {
    if let Some(tier) = Tier::of(model) {
        return Some((CLAUDE, tier as usize));
    }
    let model = model.to_lowercase();
    let place = GPT.iter().position(|part| model.contains("gpt-") && model.contains(part))?;
    Some(("gpt", place))
}

/// Returns whether what ran costs more than what was wanted.
pub fn dearer(ran: &Models, agent: Option<&str>) -> Option<Dearer> {
    let (family, place) = tier(ran.effective.as_deref()?)?;
    let wanted = ran.injected.as_deref().or(ran.requested.as_deref());
    match wanted.map(tier) {
        Some(Some((wanted_family, wanted))) => {
            (wanted_family == family && place > wanted).then_some(Dearer::ThanAsked)
        }
        // What a role needs is written down for the models of one house only.
        None if family == CLAUDE => (place > models::tier(agent?)? as usize).then_some(Dearer::ThanNeeded),
        // What was asked for is in no table, or nothing was: it cannot be compared.
        Some(None) | None => None,
    }
}

/// Returns about how many times as much what ran costs as what was wanted; of a wanted tier, as the model of that tier
/// and of the same age.
pub fn times(ran: &Models, agent: Option<&str>) -> Option<f64> {
    let effective = ran.effective.as_deref()?;
    let wanted = ran.injected.as_deref().or(ran.requested.as_deref());
    let of_its_age = |tier: Tier| {
        let own = Tier::of(effective)?;
        Some(effective.to_lowercase().replace(own.as_str(), tier.as_str()))
    };
    let cheaper = match wanted {
        Some(wanted) if PRICES.of(wanted).is_some() => wanted.to_owned(),
        Some(wanted) => of_its_age(Tier::of(wanted)?)?,
        None => of_its_age(models::tier(agent?)?)?,
    };
    PRICES.times(effective, &cheaper).filter(|times| *times > 1.0)
}

/// Returns whether a node's model costs more than what was wanted.
pub fn dearer_of(node: &Node) -> Option<Dearer> {
    dearer(&node.model, node.agent.as_deref())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(Some("sonnet"), "claude-opus-4-1", None, Some(Dearer::ThanAsked))]
    #[case(Some("opus"), "claude-haiku-4", None, None)]
    #[case(Some("sonnet"), "claude-sonnet-4", None, None)]
    #[case(Some("gpt-5-mini"), "gpt-5-codex", None, Some(Dearer::ThanAsked))]
    #[case(Some("gpt-5-nano"), "gpt-5-mini", None, Some(Dearer::ThanAsked))]
    #[case(Some("haiku"), "gpt-5", None, None)]
    #[case(Some("inherit"), "claude-opus-4", Some("writer"), None)]
    #[case(None, "claude-sonnet-4", Some("explore"), Some(Dearer::ThanNeeded))]
    #[case(None, "claude-opus-4", Some("omc:executor-medium"), Some(Dearer::ThanNeeded))]
    #[case(None, "claude-opus-4", Some("executor-high"), None)]
    #[case(None, "claude-opus-4", Some("debugger"), Some(Dearer::ThanNeeded))]
    #[case(None, "claude-fable-5", Some("architect"), Some(Dearer::ThanNeeded))]
    #[case(None, "claude-opus-4", Some("harsh-critic"), None)]
    #[case(None, "gpt-5", Some("explore"), None)]
    #[case(None, "gemini-pro", Some("explore"), None)]
    #[case(Some("sonnet"), "llama-mini", None, None)]
    fn a_dearer_model_is_named_only_where_the_table_knows_both(
        #[case] requested: Option<&str>,
        #[case] effective: &str,
        #[case] agent: Option<&str>,
        #[case] expected: Option<Dearer>,
    ) {
        let models = Models {
            requested: requested.map(Into::into),
            injected: None,
            effective: Some(effective.into()),
        };
        assert_eq!(dearer(&models, agent), expected);
    }

    #[rstest]
    #[case(None, "claude-opus-5-5", Some("explore"), Some(40.0))]
    #[case(Some("sonnet"), "claude-opus-5-5", None, Some(2.0))]
    #[case(Some("claude-haiku-4-5"), "claude-opus-4-5-20251101", None, Some(5.0))]
    #[case(Some("opus"), "claude-opus-5-5", None, None)]
    #[case(Some("sonnet"), "claude-opus-99", None, None)]
    #[case(None, "claude-opus-5-5", Some("somebody"), None)]
    fn how_much_dearer_it_is_follows_from_the_table_of_prices(
        #[case] requested: Option<&str>,
        #[case] effective: &str,
        #[case] agent: Option<&str>,
        #[case] expected: Option<f64>,
    ) {
        let models = Models {
            requested: requested.map(Into::into),
            injected: None,
            effective: Some(effective.into()),
        };
        assert_eq!(times(&models, agent), expected);
    }

    #[test]
    fn what_a_hook_put_in_counts_for_what_was_asked() {
        let models = Models {
            requested: Some("haiku".into()),
            injected: Some("opus".into()),
            effective: Some("claude-opus-4".into()),
        };
        assert_eq!(dearer(&models, None), None);
    }
}
