//! What agents ask, and the clocks that stand meanwhile.

use std::collections::BTreeSet;

use crate::rules::{graph, proof, refusal, running, with};
use crate::world::{World, names};
use quarterdeck::engine::kernel::effect::{Effect, Order};
use quarterdeck::engine::kernel::input::{Input, Report};
use quarterdeck::model::command::{Answer, Verb};
use quarterdeck::model::event::Body;
use quarterdeck::model::event::payload::Asked;

fn ask(world: &mut World, step: &str, question: &str, from: u64) -> Vec<Body> {
    let session_id = world.session("del-a", step);
    let asked = Asked { question_id: question.into(), session_id, from: Some(from), ..Asked::default() };
    world.give(Input::Report(Report::Asked(Box::new(asked))))
}

fn yes(question: &str) -> Verb {
    Verb::Answer { question_id: question.into(), answer: Answer::Allow }
}

/// Returns the clock orders among the last effects, with their ids.
fn clock_orders(world: &World) -> Vec<(String, Option<u64>)> {
    let orders = world.last_effects.iter().filter_map(|effect| match effect {
        Effect::Order { id, order: Order::Deadline { remaining_ms }, .. } => {
            Some((id.to_string(), *remaining_ms))
        }
        _ => None,
    });
    orders.collect()
}

#[test]
fn each_asking_of_the_same_question_stops_and_starts_the_hosts_clock() {
    let spec = with(graph(&[("a", &[])]), |limits| limits.subtask_timeout_ms = Some(10_000));
    let mut world = running(spec);
    let mut ids = BTreeSet::new();
    for nth in 1..=3 {
        ask(&mut world, "a", "q1", nth * 100);
        let asked = clock_orders(&world);
        assert_eq!(asked.iter().map(|(_, left)| *left).collect::<Vec<_>>(), [None], "asking {nth}");
        world.now_ms += 60_000;
        world.command(&format!("c{nth}"), yes("q1"), "del-a", None);
        let session = world.session("del-a", "a");
        // The host first hears that its clock stands, then feeds the answer.
        world.obey(&session);
        world.obey(&session);
        let settled = clock_orders(&world);
        assert_eq!(settled.iter().map(|(_, left)| *left).collect::<Vec<_>>(), [Some(10_000)], "asking {nth}");
        world.obey_all();
        ids.extend(asked.into_iter().chain(settled).map(|(id, _)| id));
    }
    assert_eq!(ids.len(), 6, "a host does nothing for an id that it knows: {ids:?}");
}

#[test]
fn a_question_that_is_read_again_after_its_answer_is_not_asked_again() {
    let mut world = running(graph(&[("a", &[])]));
    ask(&mut world, "a", "q1", 100);
    world.command("c", yes("q1"), "del-a", None);
    world.obey_all();
    assert!(ask(&mut world, "a", "q1", 100).is_empty(), "the line at 100 was heard");
    assert_eq!(names(&ask(&mut world, "a", "q1", 200)), ["question:asked"], "the line at 200 is another");
}

#[test]
fn a_new_engine_stops_the_clock_of_who_asks_once_more() {
    let spec = with(graph(&[("a", &[])]), |limits| limits.subtask_timeout_ms = Some(10_000));
    let mut world = running(spec);
    let asked =
        Asked { question_id: "q1".into(), session_id: world.session("del-a", "a"), ..Asked::default() };
    world.give_and_crash(Input::Report(Report::Asked(Box::new(asked))), usize::MAX);
    let [(_, None)] = clock_orders(&world)[..] else { panic!("{:?}", world.last_effects) };
}

#[test]
fn an_answer_that_several_agents_wait_for_names_its_step() {
    let mut world = running(graph(&[("a", &[]), ("b", &[])]));
    ask(&mut world, "a", "q1", 1);
    ask(&mut world, "b", "q1", 1);
    world.command("both", yes("q1"), "del-a", None);
    let (code, reason) = refusal(&world, "both");
    assert_eq!(code, "conflict");
    assert!(reason.contains("del-a/a, del-a/b"), "{reason}");
    world.command("one", yes("q1"), "del-a", Some("a"));
    world.command("other", yes("q1"), "del-a", Some("b"));
    world.command("again", yes("q1"), "del-a", Some("b"));
    assert!(refusal(&world, "again").1.contains("being answered"));
    world.obey_all();
    assert!(proof(&world, "one") != proof(&world, "other"), "each to its own session");
}

#[test]
fn an_agent_has_at_most_32_open_questions() {
    let mut world = running(graph(&[("a", &[])]));
    let asked = (1..=40).filter(|nth| !ask(&mut world, "a", &format!("q{nth}"), *nth).is_empty()).count();
    assert_eq!(asked, 32);
    world.command("c", yes("q1"), "del-a", None);
    world.obey_all();
    assert_eq!(names(&ask(&mut world, "a", "q41", 41)), ["question:asked"]);
}
