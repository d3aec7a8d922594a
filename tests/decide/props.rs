//! What holds for any task.

use std::time::Duration;

use proptest::prelude::*;
use quarterdeck::decide::decision::{Options, decide, to_json, to_text};
use quarterdeck::decide::decompose::{MOST, decompose};
use quarterdeck::decide::hint::hint;
use quarterdeck::decide::settings::Settings;
use quarterdeck::decide::task::{Agent, Task};
use quarterdeck::model::handoff::Decision;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

use crate::now;

/// What is faster than this cannot be compared.
const FLOOR: Duration = Duration::from_millis(1);

fn decided(task: &Task, agent: Option<&Agent>) -> Decision {
    decide(task, agent, Options::default(), &Settings::default(), now())
}

fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[0-9]{1,12}[.)] ?.{0,20}",
        " {0,4}[-*+•] .{0,30}",
        "(Then|After|Once|depends on) .{0,20}",
        "(api|all|then|review|Implement|Add) [a-z]{0,9}[.;!?]",
        ".{0,60}",
        "```",
    ];
    prop::collection::vec(line, 0..20).prop_map(|lines| lines.join("\n"))
}

prop_compose! {
    fn tasks()(
        title in ".{0,40}",
        description in lines(),
        acceptance in prop::collection::vec(".{0,20}", 0..12),
        requires in prop::collection::vec("[a-z]{1,5}", 0..8),
        hours in prop::option::of(prop::num::f64::ANY),
        phase in prop::option::of("(research|planning|design|implementation|testing|validation|other)"),
        category in prop::option::of("(research|governance|other)"),
        children in 0_usize..3,
    ) -> Task {
        Task { title, description, acceptance, requires, hours, phase, category, children, ..Task::default() }
    }
}

prop_compose! {
    fn agents()(
        confidence in prop::option::of(prop::num::f64::ANY),
        queue in prop::option::of((prop::num::f64::ANY, prop::num::f64::ANY)),
        children in 0_usize..20,
        max_children in prop::option::of(prop::num::f64::ANY),
        tokens_used in prop::option::of(prop::num::f64::ANY),
        max_tokens in prop::option::of(prop::num::f64::ANY),
        depth in 0_u32..9,
    ) -> Agent {
        Agent { confidence, queue, children, max_children, tokens_used, max_tokens, depth, ..Agent::default() }
    }
}

proptest! {
    #[test]
    fn a_score_is_between_nothing_and_a_hundred_and_nothing_panics(task in tasks(), agent in agents()) {
        let decision = decided(&task, Some(&agent));
        let (score, sure) = (decision.score.unwrap(), decision.confidence.unwrap());
        prop_assert!((0.0..=100.0).contains(&score), "{score}");
        prop_assert!((50.0..=100.0).contains(&sure), "{sure}");
        let factors = decision.factors.as_ref().unwrap();
        for percent in [factors.complexity, factors.context_utilization, factors.agent_confidence, factors.agent_load] {
            prop_assert!((0.0..=100.0).contains(&percent), "{factors:?}");
        }
        // What goes over the wire is there again.
        let told = to_json(&decision);
        prop_assert_eq!(&serde_json::from_value::<Decision>(told.clone()).unwrap().score, &decision.score);
        let _ = (to_text(&decision), hint(&task, &Settings::default()));
    }

    #[test]
    fn more_subtasks_never_lower_the_score(task in tasks(), agent in agents(), more in 1_usize..5) {
        let score = |task: &Task| decided(task, Some(&agent)).score.unwrap();
        let mut larger = task.clone();
        larger.acceptance.extend((0..more).map(|nth| format!("more {nth}")));
        prop_assert!(score(&larger) >= score(&task));
        let mut longer = task.clone();
        longer.description.extend((0..more).map(|nth| format!("\n- more {nth}")));
        prop_assert!(score(&longer) >= score(&task));
    }

    #[test]
    fn a_plan_is_short_distinct_and_without_a_circle(task in tasks()) {
        let plan = decompose(&task, &Settings::default());
        prop_assert!((2..=MOST).contains(&plan.subtasks.len()), "{plan:?}");
        let ids: std::collections::BTreeSet<_> = plan.subtasks.iter().map(|step| &step.id).collect();
        prop_assert_eq!(ids.len(), plan.subtasks.len());
        // Take away what waits for nothing, until nothing is left.
        let mut left: Vec<_> = plan.subtasks.iter().collect();
        while !left.is_empty() {
            let waits: Vec<_> = left.iter().map(|step| step.id.clone()).collect();
            let before = left.len();
            left.retain(|step| step.dependencies.iter().any(|id| waits.contains(id)));
            prop_assert!(left.len() < before, "a circle in {:?}", plan);
        }
        for step in &plan.subtasks {
            prop_assert!(step.dependencies.iter().all(|id| ids.contains(id)));
            prop_assert!(!step.title.as_deref().unwrap().trim().is_empty());
            prop_assert!((0.0..=100.0).contains(&step.complexity.unwrap()));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = decided(&Task::from_text(&text), None);
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            let _ = (Task::read(&value), Agent::read(&value));
        }
    }

    #[test]
    fn an_estimate_is_never_negative_nor_absurd(estimate in ".{0,30}") {
        let task = Task::read(&serde_json::json!({"title": "x", "estimate": estimate})).unwrap();
        prop_assert!(task.effort() >= 0.0 && task.effort().is_finite());
    }
}

/// How long this thread has worked: others that use the machine do not count.
fn worked() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(spent.tv_sec).unwrap(), u32::try_from(spent.tv_nsec).unwrap())
}

/// Texts that are hard to look through, each of about this size.
fn hard(size: usize) -> [String; 10] {
    [
        "x".repeat(size),
        " ".repeat(size),
        "all then ".repeat(size / 9),
        "- a\n".repeat(size / 4),
        "1. after 1\n".repeat(size / 11),
        "9".repeat(size),
        "Add it. ".repeat(size / 8),
        "\u{fffd}\u{0}\u{202e}ß".repeat(size / 9),
        format!("- {}\n- {}", "after ".repeat(size / 12), "add ".repeat(size / 8)),
        "```\n".repeat(size / 4),
    ]
}

#[test]
fn a_megabyte_of_anything_is_decided() {
    for text in hard(1 << 20) {
        let acceptance = vec![text.clone(), text.clone() + "b"];
        let decision = decided(&Task { acceptance, description: text, ..Task::from_text("x") }, None);
        assert!((2..=MOST).contains(&decision.subtasks.len()) || decision.should_delegate == Some(false));
        assert!((0.0..=100.0).contains(&decision.score.unwrap()));
    }
}

#[test]
fn a_text_costs_as_much_more_as_it_is_longer() {
    let of = |text: &str| {
        let task = Task { description: text.to_owned(), ..Task::from_text("x") };
        let times = (0..3).map(|_| {
            let start = worked();
            let _ = decided(&task, None);
            worked().checked_sub(start).unwrap()
        });
        times.min().unwrap()
    };
    for (short, long) in hard(1 << 14).iter().zip(&hard(1 << 17)) {
        let (short_took, took) = (of(short).max(FLOOR), of(long));
        // Eight times the text: eight times the time, not sixty-four times.
        let begin: String = long.chars().take(12).collect();
        assert!(took < short_took * 32, "{begin:?}… took {took:?} after {short_took:?}");
    }
}
