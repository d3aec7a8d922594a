//! Clocks: deadlines that are raised, time that is not charged, and what a crash leaves of both.

use std::time::Duration;

use crate::rules::{end, graph, is_pending, proof, refusal, running, with};
use crate::world::{World, done, host_facts};
use quarterdeck::engine::kernel::input::{Host, Input, Observed, Report};
use quarterdeck::model::command::{Answer, PauseMode, Spec, Verb};
use quarterdeck::model::event::payload::{Asked, EngineTurn};
use quarterdeck::model::event::{Body, Event};
use quarterdeck::model::id::Seq;
use quarterdeck::model::key::NodeKey;
use quarterdeck::model::time::Stamp;

const FREEZE: Verb = Verb::Pause { mode: PauseMode::Freeze, reason: None };

#[test]
fn a_raised_deadline_moves_the_timer() {
    let spec = with(graph(&[("a", &[])]), |limits| limits.subtask_timeout_ms = Some(5_000));
    let mut world = running(spec);
    let deadline = Some(world.at().plus(Duration::from_mins(1)));
    world.command("up", raise(deadline, None), "del-a", Some("a"));
    assert!(is_pending(&world, "up"), "its host has not said that it keeps the new one");
    world.obey_all();
    assert_eq!(proof(&world, "up"), "1 of 1 deadlines moved");
    assert_eq!(told_deadline(&world, "a"), deadline, "the model's deadline moved too");
    world.next_timer();
    assert_eq!(world.now_ms, 60_000);
}

fn raise(deadline: Option<Stamp>, by_ms: Option<u64>) -> Verb {
    Verb::Raise { tokens: None, cost: None, deadline, by_ms }
}

/// Returns the deadline that the model has for a step of `del-a`.
fn told_deadline(world: &World, step: &str) -> Option<Stamp> {
    let key = NodeKey::Subtask("del-a".into(), step.into());
    world.model.get(world.model.find(&key).unwrap()).unwrap().clocks.finish_by
}

fn timed(spec: Spec, step_ms: Option<u64>, whole_ms: Option<u64>) -> World {
    running(with(spec, |limits| {
        (limits.subtask_timeout_ms, limits.timeout_ms) = (step_ms, whole_ms);
    }))
}

#[test]
fn a_raise_of_a_delegation_moves_every_deadline_below_it() {
    let mut world = timed(graph(&[("a", &[]), ("b", &[]), ("c", &["a"])]), Some(5_000), Some(20_000));
    world.now_ms = 1_000;
    world.command("up", raise(None, Some(3_000)), "del-a", None);
    world.obey_all();
    assert_eq!(proof(&world, "up"), "3 of 3 deadlines moved", "two sessions and the delegation");
    let due = |world: &World| world.timers.values().map(|(at, _)| *at).collect::<Vec<_>>();
    assert_eq!(due(&world), [8_000, 8_000, 23_000]);
}

#[test]
fn a_raise_while_paused_counts_from_the_resume() {
    let mut world = timed(graph(&[("a", &[])]), Some(5_000), Some(20_000));
    world.now_ms = 4_000;
    world.command("p", FREEZE, "del-a", None);
    world.obey_all();
    world.now_ms = 50_000;
    world.command("up", raise(None, Some(10_000)), "del-a", None);
    world.obey_all();
    assert_eq!(proof(&world, "up"), "2 of 2 deadlines moved");
    assert_eq!((world.word("del-a", "a"), world.delegation_word("del-a")), ("paused", "paused"));
    world.now_ms = 100_000;
    world.command("r", Verb::Resume, "del-a", None);
    world.obey_all();
    world.next_timer();
    assert_eq!(world.now_ms, 111_000, "one second was left, and ten were given");
}

#[test]
fn a_raise_is_done_once_though_the_engine_dies_at_any_event() {
    for written in 0..4 {
        let mut world = timed(graph(&[("a", &[])]), Some(5_000), Some(20_000));
        let command = world.make("up", raise(None, Some(3_000)), "del-a", None);
        world.give_and_crash(Input::Command(Box::new(command.clone())), written);
        world.give(Input::Command(Box::new(command)));
        world.obey_all();
        assert_eq!(proof(&world, "up"), "2 of 2 deadlines moved", "{written}");
        let mut due: Vec<u64> = world.timers.values().map(|(at, _)| *at).collect();
        due.sort_unstable();
        assert_eq!(due, [8_000, 23_000], "{written}");
    }
}

#[test]
fn a_raise_without_a_deadline_to_move_is_refused() {
    let mut world = running(graph(&[("a", &[]), ("b", &["a"])]));
    world.command("none", raise(None, Some(1_000)), "del-a", None);
    assert_eq!(refusal(&world, "none").0, "conflict");
    world.command("queued", raise(None, Some(1_000)), "del-a", Some("b"));
    assert_eq!(refusal(&world, "queued").0, "conflict");
    world.command("budget", raise(None, None), "del-a", None);
    assert_eq!(refusal(&world, "budget").0, "invalid");
    let mut world = timed(graph(&[("a", &[])]), Some(5_000), None);
    let sooner = Some(world.at().plus(Duration::from_secs(2)));
    world.command("less", raise(sooner, None), "del-a", Some("a"));
    assert_eq!(refusal(&world, "less").0, "conflict");
    end(&mut world, "a", done("fine"));
    world.command("late", raise(None, Some(1_000)), "del-a", None);
    assert_eq!(refusal(&world, "late").0, "conflict");
}

#[test]
fn a_raise_says_before_what_it_would_move() {
    let world = timed(graph(&[("a", &[]), ("b", &["a"])]), Some(5_000), Some(20_000));
    let command = world.make("up", raise(None, Some(3_000)), "del-a", None);
    let preview = world.kernel.preview(&command).unwrap();
    let steps: Vec<&str> = preview.subtasks.iter().map(|(_, step)| step.as_str()).collect();
    assert_eq!((preview.delegations.len(), steps, preview.sessions.len()), (1, vec!["a"], 1));
}

#[test]
fn what_ends_before_its_deadline_moved_is_told_so() {
    let mut world = timed(graph(&[("a", &[])]), Some(5_000), None);
    world.command("up", raise(None, Some(3_000)), "del-a", Some("a"));
    end(&mut world, "a", done("fine"));
    assert_eq!(refusal(&world, "up").0, "gone");
}

#[test]
fn a_raise_while_an_agent_waits_for_a_person_is_kept_for_the_answer() {
    let mut world = timed(graph(&[("a", &[])]), Some(5_000), None);
    let asked =
        Asked { question_id: "q".into(), session_id: world.session("del-a", "a"), ..Asked::default() };
    world.give(Input::Report(Report::Asked(Box::new(asked))));
    world.obey_all();
    world.now_ms = 60_000;
    world.command("up", raise(None, Some(3_000)), "del-a", Some("a"));
    assert_eq!(proof(&world, "up"), "1 of 1 deadlines moved");
    world.command("yes", Verb::Answer { question_id: "q".into(), answer: Answer::Allow }, "del-a", None);
    world.obey_all();
    world.next_timer();
    assert_eq!(world.now_ms, 68_000);
}

#[test]
fn a_start_that_was_accepted_goes_on_though_the_engine_died_at_once() {
    for written in 1..4 {
        let mut world = World::new();
        let command = world.make("s", Verb::Start { spec: Box::new(graph(&[("a", &[])])) }, "del-a", None);
        world.give_and_crash(Input::Command(Box::new(command.clone())), written);
        assert!(world.give(Input::Command(Box::new(command))).is_empty(), "its id is known");
        assert_eq!(proof(&world, "s"), "done", "{written}");
        world.obey_all();
        assert_eq!(world.word("del-a", "a"), "running", "{written}");
        assert_eq!(world.hosts.len(), 1, "{written}");
    }
}

#[test]
fn time_asleep_is_not_charged_also_when_the_engine_died_in_it() {
    let mut world = timed(graph(&[("a", &[])]), Some(5_000), Some(20_000));
    world.now_ms = 1_000;
    world.kernel = world.fold();
    (world.asleep_ms, world.now_ms) = (3_600_000, 2_000);
    let session = world.session("del-a", "a");
    let host = Host { remaining_ms: Some(3_000), ..host_facts() };
    world.give(Input::Recovered(vec![(session, Observed::Running(host))]));
    let mut due: Vec<u64> = world.timers.values().map(|(at, _)| *at).collect();
    due.sort_unstable();
    assert_eq!(due, [5_000, 20_000], "of this boot's awake clock");
    assert_eq!(told_deadline(&world, "a"), Some(world.at().plus(Duration::from_secs(3))));
}

#[test]
fn a_sleep_moves_the_deadlines_that_people_see() {
    let mut world = timed(graph(&[("a", &[])]), Some(5_000), Some(20_000));
    (world.asleep_ms, world.now_ms) = (3_600_000, 1_000);
    world.give(Input::Woke);
    assert_eq!(told_deadline(&world, "a"), Some(world.at().plus(Duration::from_secs(4))));
    let due: Vec<u64> = world.timers.values().map(|(at, _)| *at).collect();
    assert_eq!(due, [5_000, 20_000]);
}

#[test]
fn time_that_the_machine_was_off_is_not_charged() {
    let mut world = timed(graph(&[("a", &[])]), None, Some(20_000));
    let boot = |world: &mut World, id: &str| {
        let turn = EngineTurn { boot_id: Some(id.into()), ..EngineTurn::default() };
        let (seq, at) = (Seq(world.events.len() as u64 + 1), world.at());
        world.events.push(Event { seq, at, body: Body::EngineStarted(turn) });
        world.kernel = world.fold();
    };
    boot(&mut world, "first");
    world.now_ms = 5_000;
    boot(&mut world, "first");
    // Off for an hour; the awake clock begins anew.
    (world.asleep_ms, world.now_ms) = (3_600_000, 10);
    boot(&mut world, "second");
    world.give(Input::Recovered(vec![(world.session("del-a", "a"), Observed::Gone)]));
    let due: Vec<u64> = world.timers.values().map(|(at, _)| *at).collect();
    assert_eq!(due, [15_010], "fifteen seconds were left at the last event");
}
