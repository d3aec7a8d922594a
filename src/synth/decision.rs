//! Why something was delegated, made up: the factors by the dice, the score by the rule that real ones follow.

use super::cast::Dice;
use crate::decide::factors;
use crate::decide::settings::Settings;
use crate::model::handoff::{Decision, Factors};

/// What a task must score to be delegated.
const THRESHOLD: f64 = 60.0;

/// Makes up why a task of so many steps was delegated; the same for the same seed.
pub fn decision(pattern: &str, steps: usize, seed: u64) -> Decision {
    let mut dice = Dice::new(seed);
    let mut between = |least: u32, most: u32| {
        f64::from(least + u32::try_from(dice.below(u64::from(most - least + 1))).unwrap_or(0))
    };
    let factors = Factors {
        complexity: between(52, 94),
        context_utilization: between(45, 88),
        subtask_count: f64::from(u32::try_from(steps).unwrap_or(u32::MAX)),
        agent_confidence: between(61, 84),
        agent_load: between(0, 60),
        depth_remaining: between(1, 3),
    };
    let confidence = between(68, 93);
    let added = factors::contributions(&factors, &Settings::default());
    let score = factors::score(&added);
    Decision {
        should_delegate: Some(score >= THRESHOLD),
        confidence: Some(confidence),
        score: Some(score),
        factors: Some(factors),
        factor_contributions: Some(added),
        suggested_pattern: Some(pattern.into()),
        reasoning: Some(reasoning(pattern).into()),
        metadata: Some(serde_json::json!({ "threshold": THRESHOLD }).into()),
        ..Decision::default()
    }
}

fn reasoning(pattern: &str) -> &'static str {
    match pattern {
        "parallel" => "Several steps that do not need each other's context",
        "sequential" => "Each step needs the result of the one before",
        "review" => "What one agent writes another one should read before it counts",
        "debate" => "There are several good ways: two agents argue before one is taken",
        "direct" => "One agent can do all of it in one go",
        _ => "It is too much for one context",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_is_the_sum_of_what_each_factor_added_and_varies_with_the_seed() {
        let scores: Vec<f64> = (0..40)
            .map(|seed| {
                let made = decision("parallel", 4, seed);
                let added = made.factor_contributions.unwrap();
                let sum = added.complexity
                    + added.context_utilization
                    + added.subtask_count
                    + added.confidence
                    + added.agent_load
                    + added.depth_remaining;
                assert!((sum - made.score.unwrap()).abs() <= 0.5, "{sum} is not {:?}", made.score);
                assert_eq!(made.should_delegate, Some(true));
                made.score.unwrap()
            })
            .collect();
        let (least, most) =
            (scores.iter().copied().fold(100.0, f64::min), scores.iter().copied().fold(0.0, f64::max));
        assert!(most - least > 10.0 && least >= THRESHOLD && most <= 100.0, "{scores:?}");
        assert_eq!(decision("parallel", 4, 7), decision("parallel", 4, 7));
    }
}
