//! The patterns in which work can be done, and those that make the steps of one task by themselves.
//!
//! Each of those is a function from a task to one graph: steps, what they depend on, and prompts that name the
//! results they take ([`super::template`]). Whoever runs the graph knows nothing of patterns.

mod debate;
mod ensemble;
mod review;

use super::settings::Patterns;
use crate::model::command::{StepSpec, When};
use crate::model::id::SubtaskId;

pub use crate::model::pattern::Pattern;

/// How large a pattern is to be, and who takes part, where somebody said so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cast {
    /// How many rounds a debate or a review has.
    pub rounds: Option<u32>,
    /// How many answers an ensemble gives.
    pub answers: Option<u32>,
    /// Who takes part, in turn; where nobody is named, whoever is the default.
    pub agents: Vec<String>,
}

/// The most rounds and answers that can be asked for.
pub const MOST_ROUNDS: u32 = 9;
pub const MOST_ANSWERS: u32 = 9;

impl Cast {
    /// Returns who does the step of this number, counted from 0.
    pub fn agent(&self, nth: usize) -> Option<String> {
        let nth = nth.checked_rem(self.agents.len())?;
        self.agents.get(nth).cloned()
    }

    /// Gives every step that names no agent one of those who take part, in turn.
    pub fn assign(&self, steps: &mut [StepSpec]) {
        for (nth, step) in steps.iter_mut().filter(|step| step.agent.is_none()).enumerate() {
            step.agent = self.agent(nth);
        }
    }
}

/// Returns the steps of a pattern that makes them by itself; none where the steps come from the task.
pub fn steps(pattern: Pattern, whole: &str, cast: &Cast, settings: &Patterns) -> Option<Vec<StepSpec>> {
    let rounds = |otherwise: u32| cast.rounds.unwrap_or(otherwise).clamp(1, MOST_ROUNDS);
    match pattern {
        Pattern::Debate => Some(debate::steps(whole, rounds(settings.debate_rounds), cast)),
        Pattern::Review => Some(review::steps(whole, rounds(settings.review_rounds), cast)),
        Pattern::Ensemble => {
            // Each who is named answers at least once.
            let named = u32::try_from(cast.agents.len()).ok().filter(|count| *count > 1);
            let answers = cast.answers.or(named).unwrap_or(settings.ensemble_answers);
            Some(ensemble::steps(whole, answers.clamp(1, MOST_ANSWERS), cast))
        }
        Pattern::Parallel | Pattern::Sequential | Pattern::Direct => None,
    }
}

/// A step in the making.
fn step(id: &str, title: String, prompt: String, after: &[&str], agent: Option<String>) -> StepSpec {
    StepSpec {
        id: id.into(),
        title: Some(title),
        prompt,
        agent,
        dependencies: after.iter().map(|id| SubtaskId::from(*id)).collect(),
        ..StepSpec::default()
    }
}

/// A step that is done only if that one did not approve.
fn unless_approved(step: StepSpec, by: &str) -> StepSpec {
    StepSpec { when: Some(When { step: by.into(), approved: false }), ..step }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_take_part_in_turn_and_steps_that_name_one_keep_it() {
        let cast = Cast { agents: vec!["a".into(), "b".into()], ..Cast::default() };
        let mut steps = vec![
            step("1", String::new(), String::new(), &[], None),
            step("2", String::new(), String::new(), &[], Some("own".into())),
            step("3", String::new(), String::new(), &[], None),
            step("4", String::new(), String::new(), &[], None),
        ];
        cast.assign(&mut steps);
        let agents: Vec<_> = steps.iter().map(|step| step.agent.as_deref().unwrap()).collect();
        assert_eq!(agents, ["a", "own", "b", "a"]);
        assert_eq!(Cast::default().agent(3), None);
    }

    #[test]
    fn what_is_asked_for_is_kept_within_bounds() {
        let settings = Patterns::default();
        let count = |pattern, rounds, answers| {
            let cast = Cast { rounds, answers, agents: Vec::new() };
            steps(pattern, "x", &cast, &settings).map(|steps| steps.len())
        };
        assert_eq!(count(Pattern::Debate, None, None), Some(5));
        assert_eq!(count(Pattern::Debate, Some(0), None), count(Pattern::Debate, Some(1), None));
        assert_eq!(count(Pattern::Review, Some(u32::MAX), None), Some(18));
        assert_eq!(count(Pattern::Ensemble, None, Some(u32::MAX)), Some(10));
        assert_eq!(count(Pattern::Parallel, Some(2), Some(2)), None);
    }
}
