//! The patterns that make their own steps: each as its graph, and what every graph of them keeps to.

use quarterdeck::decide::pattern::{Cast, Pattern, steps};
use quarterdeck::decide::settings::Patterns;
use quarterdeck::engine::kernel::spec::expand;
use quarterdeck::model::command::{Spec, StepSpec};
use quarterdeck::model::id::SubtaskId;
use rstest::rstest;

fn made(pattern: Pattern, size: u32, agents: &[&str]) -> Vec<StepSpec> {
    let agents = agents.iter().map(|name| (*name).to_owned()).collect();
    let cast = Cast { rounds: Some(size), answers: Some(size), agents };
    steps(pattern, "THE TASK", &cast, &Patterns::default()).unwrap()
}

/// The graph as lines: who does what, after whom, and on which condition.
fn graph(steps: &[StepSpec]) -> String {
    let line = |step: &StepSpec| {
        let after: Vec<&str> = step.dependencies.iter().map(SubtaskId::as_str).collect();
        let when = step.when.as_ref().map(|when| format!(", if {} says {}", when.step, when.approved));
        let judges = step.judges.map(|judges| format!(", judges {judges:?}"));
        format!(
            "{} ({}, {}) after [{}]{}{}\n",
            step.id,
            step.title.as_deref().unwrap(),
            step.agent.as_deref().unwrap_or("default"),
            after.join(", "),
            when.unwrap_or_default(),
            judges.unwrap_or_default()
        )
    };
    steps.iter().map(line).collect()
}

#[rstest]
#[case("debate-2", Pattern::Debate, 2, &[])]
#[case("debate-3", Pattern::Debate, 3, &["a", "b", "c"])]
#[case("debate-4", Pattern::Debate, 4, &["a", "b"])]
#[case("review-1", Pattern::Review, 1, &[])]
#[case("review-3", Pattern::Review, 3, &["a", "b", "c"])]
#[case("ensemble-2", Pattern::Ensemble, 2, &[])]
#[case("ensemble-4", Pattern::Ensemble, 4, &["a", "b", "c"])]
fn a_pattern_is_this_graph(
    #[case] name: &str,
    #[case] pattern: Pattern,
    #[case] size: u32,
    #[case] agents: &[&str],
) {
    insta::assert_snapshot!(name, graph(&made(pattern, size, agents)));
}

#[rstest]
fn every_step_knows_the_task_and_names_only_what_it_waits_for(
    #[values(Pattern::Debate, Pattern::Review, Pattern::Ensemble)] pattern: Pattern,
    #[values(1, 2, 3, 9)] size: u32,
) {
    let steps = made(pattern, size, &[]);
    for step in &steps {
        assert!(step.prompt.contains("THE TASK"), "{}", step.id);
        let named = step.prompt.split("{result:").skip(1).map(|rest| rest.split('}').next().unwrap());
        for id in named {
            assert!(step.dependencies.iter().any(|on| on.as_str() == id), "{} takes {id}", step.id);
        }
    }
    let spec = Spec { pattern, subtasks: steps.clone(), ..Spec::default() };
    let sound = expand(&spec).unwrap();
    assert_eq!(graph(&sound), graph(&steps), "nothing has to be added, and it is no circle");
}

#[test]
fn the_prompts_of_a_review_are_these() {
    let steps = made(Pattern::Review, 2, &[]);
    let told: Vec<String> = steps.iter().map(|step| format!("--- {}\n{}\n", step.id, step.prompt)).collect();
    insta::assert_snapshot!("review-prompts", told.concat());
}
