//! The kernel's transitions, one by one: what follows from what, without a process or a clock.

use std::time::Duration;

use crate::world::{HostState, World, done, exit, failed, host_facts, names};
use quarterdeck::engine::kernel::effect::{Effect, Launch, Order, TimerKey};
use quarterdeck::engine::kernel::explain::Why;
use quarterdeck::engine::kernel::input::{Exit, Input, Observed, Report};
use quarterdeck::engine::kernel::state::CommandOutcome;
use quarterdeck::model::command::{Above, Answer, Limits, Pattern, PauseMode, Spec, StepSpec, Verb};
use quarterdeck::model::event::Body;
use quarterdeck::model::event::payload::Asked;
use rstest::rstest;

const FREEZE: Verb = Verb::Pause { mode: PauseMode::Freeze, reason: None };
const DRAIN: Verb = Verb::Pause { mode: PauseMode::Drain, reason: None };
const CANCEL: Verb = Verb::Cancel { rollback: false, reason: None };
const RETRY: Verb = Verb::Retry { with_failure: false, agent: None, model: None, fresh: false };
const SKIP: Verb = Verb::Skip { reason: None, result: None };

fn step(id: &str, on: &[&str]) -> StepSpec {
    StepSpec {
        id: id.into(),
        prompt: format!("do {id}"),
        dependencies: on.iter().map(|on| (*on).into()).collect(),
        ..StepSpec::default()
    }
}

pub fn graph(steps: &[(&str, &[&str])]) -> Spec {
    let subtasks = steps.iter().map(|(id, on)| step(id, on)).collect();
    let limits = Limits { auto_retry: false, continue_on_partial_failure: true, ..Limits::default() };
    Spec { subtasks, limits, ..Spec::default() }
}

pub fn with(spec: Spec, change: impl FnOnce(&mut Limits)) -> Spec {
    let mut spec = spec;
    change(&mut spec.limits);
    spec
}

pub fn start(world: &mut World, id: &str, spec: Spec) -> Vec<Body> {
    world.command(&format!("start-{id}"), Verb::Start { spec: Box::new(spec) }, id, None)
}

/// A world in which `del-a` has begun, and every agent that could start runs.
pub fn running(spec: Spec) -> World {
    let mut world = World::new();
    start(&mut world, "del-a", spec);
    world.obey_all();
    world
}

pub fn refusal(world: &World, id: &str) -> (String, String) {
    match world.kernel.outcome(&id.into()) {
        Some(CommandOutcome::Refused { code, reason }) => {
            (code.clone().unwrap_or_default(), reason.clone().unwrap_or_default())
        }
        other => panic!("{id} is {other:?}"),
    }
}

pub fn proof(world: &World, id: &str) -> String {
    match world.kernel.outcome(&id.into()) {
        Some(CommandOutcome::Confirmed { proof }) => proof.clone().unwrap_or_default(),
        other => panic!("{id} is {other:?}"),
    }
}

pub fn is_pending(world: &World, id: &str) -> bool {
    world.kernel.outcome(&id.into()) == Some(&CommandOutcome::Accepted)
}

pub fn end(world: &mut World, step: &str, verdict: quarterdeck::engine::kernel::input::Verdict) -> Vec<Body> {
    let session = world.session("del-a", step);
    world.exit(&session, verdict)
}

fn launch(world: &World) -> Launch {
    let mut starts = world.last_effects.iter().filter_map(|effect| match effect {
        Effect::Start(launch) => Some((**launch).clone()),
        _ => None,
    });
    starts.next().expect("something was started")
}

pub fn why(world: &World, step: &str) -> String {
    world.kernel.explain(&"del-a".into(), &step.into(), world.at()).unwrap().to_string()
}

#[test]
fn a_delegation_runs_from_its_start_to_its_end() {
    let mut world = World::new();
    let events = start(&mut world, "del-a", graph(&[("st-1", &[])]));
    assert_eq!(
        names(&events),
        ["command:accepted", "delegation:started", "command:confirmed", "session:intended"]
    );
    let session = world.session("del-a", "st-1");
    assert_eq!(names(&world.obey(&session).unwrap()), ["session:started", "delegation:subtask-started"]);
    let events = world.exit(&session, done("fine"));
    assert_eq!(names(&events), ["session:ended", "delegation:subtask-completed", "delegation:completed"]);
    assert_eq!(world.delegation_word("del-a"), "done");
    world.check_fold();
}

#[rstest]
#[case::empty(Spec::default(), "no subtask")]
#[case::twice(graph(&[("a", &[]), ("a", &[])]), "Two subtasks have the id a")]
#[case::unknown(graph(&[("a", &["b"])]), "depends on b")]
#[case::cycle(graph(&[("a", &["c"]), ("b", &["a"]), ("c", &["b"])]), "lead back to itself")]
#[case::itself(graph(&[("a", &["a"])]), "lead back to itself")]
#[case::name(graph(&[("../a", &[])]), "subtask id")]
fn a_spec_that_could_not_run_is_refused_with_what_to_do(#[case] spec: Spec, #[case] says: &str) {
    let mut world = World::new();
    start(&mut world, "del-a", spec);
    let (code, reason) = refusal(&world, "start-del-a");
    assert_eq!(code, "invalid");
    assert!(reason.contains(says) && reason.contains('\n'), "{reason}");
    assert!(world.kernel.delegations().is_empty());
}

#[test]
fn a_direct_delegation_has_one_step() {
    let mut world = World::new();
    let spec = Spec { pattern: Pattern::Direct, ..graph(&[("a", &[]), ("b", &[])]) };
    start(&mut world, "del-a", spec);
    assert!(refusal(&world, "start-del-a").1.contains("direct"));
}

#[test]
fn each_step_of_a_sequence_gets_the_result_of_the_one_before() {
    let mut world =
        running(Spec { pattern: Pattern::Sequential, ..graph(&[("a", &[]), ("b", &[]), ("c", &[])]) });
    assert_eq!(world.hosts.len(), 1);
    end(&mut world, "a", done("forty-two"));
    let next = launch(&world);
    assert_eq!(next.subtask, "b".into());
    assert_eq!(next.prompt, "do b\n\n## Result of a\n\nforty-two");
}

fn below(parent: &str, role: Option<&str>) -> Spec {
    let mut child = graph(&[("a", &[])]);
    child.subtasks[0].role = role.map(Into::into);
    let above = Above { delegation_id: parent.into(), subtask_id: "a".into() };
    Spec { parent: Some(above), ..child }
}

#[test]
fn what_would_be_too_deep_is_refused() {
    let mut world = running(graph(&[("a", &[])]));
    for (above, id) in [("del-a", "del-b"), ("del-b", "del-c"), ("del-c", "del-d")] {
        start(&mut world, id, below(above, None));
        world.obey_all();
    }
    assert_eq!(world.kernel.delegations().len(), 3);
    let (code, reason) = refusal(&world, "start-del-d");
    assert_eq!(code, "limit");
    assert!(reason.starts_with("This would be 4 levels deep. 3 are allowed."), "{reason}");
}

#[test]
fn a_role_does_not_hand_work_down_to_itself() {
    let mut spec = graph(&[("a", &[])]);
    spec.subtasks[0].role = Some("planner".into());
    let mut world = running(spec);
    start(&mut world, "del-b", below("del-a", Some("planner")));
    assert_eq!(refusal(&world, "start-del-b").0, "limit");
    start(&mut world, "del-c", below("del-a", Some("worker")));
    assert_eq!(proof(&world, "start-del-c"), "done");
}

#[test]
fn only_a_running_step_hands_work_down() {
    let mut world = running(graph(&[("a", &[]), ("b", &["a"])]));
    end(&mut world, "a", done("fine"));
    start(&mut world, "del-b", below("del-a", None));
    assert_eq!(refusal(&world, "start-del-b").0, "conflict");
    start(&mut world, "del-c", below("del-x", None));
    assert_eq!(refusal(&world, "start-del-c").0, "not-found");
}

#[test]
fn limits_hold_for_a_delegation_and_in_total() {
    let many: [(&str, &[&str]); 8] =
        [("a", &[]), ("b", &[]), ("c", &[]), ("d", &[]), ("e", &[]), ("f", &[]), ("g", &[]), ("h", &[])];
    let mut world = running(with(graph(&many), |limits| limits.max_concurrent = Some(2)));
    assert_eq!(world.kernel.busy(), 2);
    assert_eq!(why(&world, "c"), "2 of 2 agents of its delegation busy");
    start(&mut world, "del-b", graph(&many));
    assert_eq!(world.kernel.busy(), 5);
    let why = world.kernel.explain(&"del-b".into(), &"h".into(), world.at()).unwrap();
    assert_eq!(why.to_string(), "5 of 5 agents busy");
    world.give(Input::Settings { settings: serde_json::json!({"maxConcurrent": 7}), by: None });
    assert_eq!(world.kernel.busy(), 7);
}

#[test]
fn an_agent_that_waits_for_what_it_handed_down_leaves_its_place() {
    let mut world = World::new();
    world.give(Input::Settings { settings: serde_json::json!({"maxConcurrent": 1}), by: None });
    start(&mut world, "del-a", graph(&[("a", &[])]));
    world.obey_all();
    start(&mut world, "del-b", below("del-a", None));
    world.obey_all();
    assert_eq!(world.word("del-b", "a"), "running");
    let session = world.session("del-b", "a");
    world.exit(&session, done("below"));
    assert_eq!((world.delegation_word("del-b"), world.kernel.busy()), ("done", 1));
}

#[test]
fn a_failure_is_retried_after_a_growing_wait_and_then_final() {
    let spec = with(graph(&[("a", &[])]), |limits| {
        (limits.auto_retry, limits.max_retries, limits.backoff_ms) = (true, 2, 1_000);
    });
    let mut world = running(spec);
    for wait in [1_000, 2_000] {
        let events = end(&mut world, "a", failed("broken"));
        assert_eq!(
            names(&events),
            ["session:ended", "delegation:subtask-failed", "delegation:subtask-retried"]
        );
        assert_eq!(why(&world, "a"), format!("retry in {} s: broken", wait / 1000));
        let before = world.now_ms;
        assert!(world.next_timer());
        assert_eq!(world.now_ms - before, wait);
        world.obey_all();
    }
    end(&mut world, "a", failed("broken"));
    assert_eq!((world.word("del-a", "a"), world.delegation_word("del-a")), ("failed", "failed"));
}

#[test]
fn a_backoff_has_a_ceiling() {
    let spec = with(graph(&[("a", &[])]), |limits| {
        (limits.auto_retry, limits.max_retries) = (true, 9);
        (limits.backoff_ms, limits.backoff_ceiling_ms) = (1_000, 3_000);
    });
    let mut world = running(spec);
    let mut waits = Vec::new();
    for _ in 0..4 {
        end(&mut world, "a", failed("broken"));
        let before = world.now_ms;
        world.next_timer();
        waits.push(world.now_ms - before);
        world.obey_all();
    }
    assert_eq!(waits, [1_000, 2_000, 3_000, 3_000]);
}

#[test]
fn a_refused_start_spends_no_retry_and_is_given_up_in_the_end() {
    let mut world = World::new();
    start(&mut world, "del-a", graph(&[("a", &[])]));
    for tries in 1..=5 {
        let session = world.session("del-a", "a");
        world.hosts.get_mut(&session).unwrap().state = HostState::NotStarted;
        world.give(Input::Report(Report::NotStarted { session, error: "no room".into() }));
        let task = &world.kernel.delegations()[&"del-a".into()].tasks[0];
        assert_eq!(task.retries, 0);
        assert_eq!(task.is_ended(), tries == 5);
        let why = why(&world, "a");
        assert!(tries == 5 || why.starts_with("retry in ") && why.ends_with(" s: no room"), "{why}");
        world.next_timer();
    }
    assert_eq!(world.delegation_word("del-a"), "failed");
    assert!(why(&world, "a").contains("could not be started in 5 tries"));
}

#[test]
fn a_lost_host_is_swept_first_and_then_retried() {
    let spec = with(graph(&[("a", &[])]), |limits| limits.auto_retry = true);
    let mut world = running(spec);
    let session = world.session("del-a", "a");
    world.hosts.get_mut(&session).unwrap().state = HostState::Gone;
    assert!(world.obey(&session).unwrap().is_empty(), "nothing is known before it was looked for");
    assert_eq!(world.last_effects, [Effect::Sweep { session: session.clone() }]);
    let events = world.obey(&session).unwrap();
    assert_eq!(names(&events), ["session:lost", "delegation:subtask-failed", "delegation:subtask-retried"]);
}

#[test]
fn an_end_with_processes_left_counts_when_they_are_gone() {
    let mut world = running(graph(&[("a", &[])]));
    let session = world.session("del-a", "a");
    let exit = Exit { left: 2, ..exit(done("fine")) };
    let events = world.give(Input::Report(Report::Exited { session: session.clone(), exit }));
    assert!(events.is_empty());
    world.give(Input::Report(Report::Swept { session: session.clone(), pids: vec![3], left: vec![3] }));
    let key = TimerKey::Sweep(session.clone());
    world.give(Input::Timer { key, epoch: 1 });
    assert_eq!(world.last_effects, [Effect::Sweep { session: session.clone() }], "looked for again");
    let events = world.give(Input::Report(Report::Swept { session, pids: vec![4], left: Vec::new() }));
    assert!(names(&events).contains(&"delegation:completed"));
}

#[test]
fn what_cannot_be_ended_is_named_once_and_looked_for_less_and_less_often() {
    let mut world = running(graph(&[("a", &[])]));
    let session = world.session("del-a", "a");
    world.give(Input::Report(Report::Gone { session: session.clone() }));
    let key = TimerKey::Sweep(session.clone());
    let stuck = |_: &World| Report::Swept { session: session.clone(), pids: vec![77], left: vec![77] };
    let mut waits = Vec::new();
    for tries in 1..=8 {
        let report = stuck(&world);
        let events = world.give(Input::Report(report));
        let named = format!("{events:?}").contains("pid 77 cannot be ended");
        assert_eq!(named, tries == 1, "{events:?}");
        // Not at once: else nothing else would ever be done.
        let [Effect::SetTimer { key: set, at_ms, epoch }] = world.last_effects.as_slice() else {
            panic!("{:?}", world.last_effects);
        };
        assert_eq!((set, *epoch), (&key, tries));
        waits.push(at_ms - world.now_ms);
        world.give(Input::Timer { key: key.clone(), epoch: tries });
        assert_eq!(world.last_effects, [Effect::Sweep { session: session.clone() }]);
    }
    assert_eq!(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    assert_eq!(world.word("del-a", "a"), "running", "only when it has ended it is lost");
    let report = Report::Swept { session, pids: vec![78], left: Vec::new() };
    let events = world.give(Input::Report(report));
    assert_eq!(names(&events).first(), Some(&"session:lost"));
    assert!(format!("{events:?}").contains("[77, 78]"), "{events:?}");
}

#[test]
fn a_session_that_could_not_be_looked_at_is_left_alone_until_it_was() {
    let mut world = running(graph(&[("a", &[])]));
    let session = world.session("del-a", "a");
    world.give(Input::Recovered(vec![(session.clone(), Observed::Unknown)]));
    assert_eq!(world.last_effects, [], "an error is no observation");
    assert_eq!(world.word("del-a", "a"), "running");
    world.give(Input::Found(session.clone(), Observed::Gone));
    assert_eq!(world.last_effects, [Effect::Sweep { session }]);
}

#[test]
fn nobody_waits_for_the_timers_of_what_has_ended() {
    let spec = with(graph(&[("a", &[])]), |limits| limits.subtask_timeout_ms = Some(600_000));
    let mut world = running(spec);
    let awaited = |world: &World| {
        let timers = world.timers.iter();
        timers.filter(|(key, (_, epoch))| world.kernel.awaits(key, *epoch)).count()
    };
    assert_eq!((world.timers.len(), awaited(&world)), (1, 1));
    let session = world.session("del-a", "a");
    world.give(Input::Report(Report::Exited { session, exit: exit(done("fine")) }));
    assert_eq!((world.timers.len(), awaited(&world)), (1, 0));
}

#[test]
fn the_proof_of_a_cancel_counts_processes() {
    let mut world = running(graph(&[("a", &[])]));
    world.command("x", CANCEL, "del-a", None);
    let session = world.session("del-a", "a");
    let exit = Exit { pids: vec![7, 8, 9], ..exit(done("ended")) };
    let events = world.give(Input::Report(Report::Exited { session, exit }));
    assert_eq!(proof(&world, "x"), "3 of 3 ended");
    assert!(format!("{events:?}").contains("[7, 8, 9]"), "{events:?}");
}

#[test]
fn a_late_timer_is_ignored() {
    let spec = with(graph(&[("a", &[])]), |limits| {
        (limits.subtask_timeout_ms, limits.auto_retry) = (Some(5_000), true);
    });
    let mut world = running(spec);
    let key = TimerKey::Subtask("del-a".into(), "a".into());
    let (_, epoch) = world.timers[&key];
    end(&mut world, "a", failed("broken"));
    world.timers.remove(&key);
    world.next_timer();
    world.obey_all();
    assert_eq!(world.word("del-a", "a"), "running");
    world.give(Input::Timer { key, epoch });
    assert!(world.last_effects.is_empty(), "it was set for the first attempt");
}

#[test]
fn a_step_out_of_time_is_ended_and_then_timed_out() {
    let spec = with(graph(&[("a", &[])]), |limits| limits.subtask_timeout_ms = Some(5_000));
    let mut world = running(spec);
    world.next_timer();
    assert_eq!(world.now_ms, 5_000);
    let order = Order::End { grace_ms: 10_000 };
    assert!(matches!(&world.last_effects[..], [Effect::Order { order: given, .. }] if *given == order));
    assert_eq!(world.word("del-a", "a"), "running", "not before it has ended");
    world.obey_all();
    assert_eq!((world.word("del-a", "a"), world.delegation_word("del-a")), ("timed-out", "failed"));
}

#[test]
fn a_delegation_out_of_time_ends_everything() {
    let spec = with(graph(&[("a", &[]), ("b", &["a"])]), |limits| limits.timeout_ms = Some(9_000));
    let mut world = running(spec);
    world.next_timer();
    assert_eq!(world.word("del-a", "b"), "cancelled");
    world.obey_all();
    assert_eq!((world.word("del-a", "a"), world.delegation_word("del-a")), ("cancelled", "failed"));
}

#[test]
fn paused_time_is_not_charged_and_the_deadline_moves() {
    let spec = with(graph(&[("a", &[])]), |limits| limits.subtask_timeout_ms = Some(10_000));
    let mut world = running(spec);
    world.now_ms = 4_000;
    world.command("p", FREEZE, "del-a", None);
    world.obey_all();
    world.now_ms = 100_000;
    world.command("r", Verb::Resume, "del-a", None);
    let session = world.session("del-a", "a");
    let events = world.obey(&session).unwrap();
    let Body::SubtaskResumed(turn) = &events[0] else { panic!("{events:?}") };
    assert_eq!(turn.deadline, Some(world.at().plus(Duration::from_secs(6))));
    world.obey_all();
    world.next_timer();
    assert_eq!(world.now_ms, 106_000);
}

#[test]
fn time_waiting_for_a_person_is_not_charged() {
    let spec = with(graph(&[("a", &[])]), |limits| limits.subtask_timeout_ms = Some(10_000));
    let mut world = running(spec);
    let session_id = world.session("del-a", "a");
    world.now_ms = 3_000;
    let asked = Asked { question_id: "q".into(), session_id, ..Asked::default() };
    world.give(Input::Report(Report::Asked(Box::new(asked))));
    assert_eq!(why(&world, "a"), "waits for an answer to q");
    world.next_timer();
    assert!(world.last_effects.is_empty(), "its clock stands");
    world.now_ms = 50_000;
    let answer = Verb::Answer { question_id: "q".into(), answer: Answer::Allow };
    world.command("yes", answer, "del-a", Some("a"));
    world.obey_all();
    assert!(proof(&world, "yes").starts_with("given to sess_"));
    world.next_timer();
    assert_eq!(world.now_ms, 57_000);
}

#[test]
fn a_freeze_is_confirmed_when_every_host_has_answered() {
    let mut world = running(graph(&[("a", &[]), ("b", &[]), ("c", &["a"])]));
    world.command("p", FREEZE, "del-a", None);
    assert!(is_pending(&world, "p"));
    let session = world.session("del-a", "a");
    world.obey(&session);
    assert!(is_pending(&world, "p"));
    assert_eq!((world.word("del-a", "a"), world.delegation_word("del-a")), ("paused", "running"));
    world.obey_all();
    assert_eq!(proof(&world, "p"), "2 of 2 frozen");
    assert_eq!(world.delegation_word("del-a"), "paused");
}

#[test]
fn a_drain_is_confirmed_when_what_ran_has_finished() {
    let mut world = running(graph(&[("a", &[]), ("b", &["a"])]));
    world.command("p", DRAIN, "del-a", None);
    end(&mut world, "a", done("fine"));
    assert_eq!((world.delegation_word("del-a"), world.word("del-a", "b")), ("paused", "queued"));
    assert_eq!(why(&world, "b"), "held by pause of del-a");
    world.command("r", Verb::Resume, "del-a", None);
    world.obey_all();
    assert_eq!(world.word("del-a", "b"), "running");
}

#[test]
fn a_drain_lets_what_a_running_step_handed_down_go_on() {
    let mut world = running(graph(&[("a", &[])]));
    world.command("p", DRAIN, "del-a", None);
    start(&mut world, "del-b", below("del-a", None));
    world.obey_all();
    assert_eq!(world.word("del-b", "a"), "running");
    assert!(is_pending(&world, "p"));
}

#[test]
fn a_pause_of_a_step_reaches_all_below_it_and_nothing_else() {
    let mut world = running(graph(&[("a", &[]), ("b", &[])]));
    start(&mut world, "del-b", below("del-a", None));
    world.obey_all();
    let command = world.make("p", FREEZE, "del-a", Some("a"));
    let preview = world.kernel.preview(&command).unwrap();
    assert_eq!((preview.delegations.len(), preview.subtasks.len(), preview.sessions.len()), (1, 2, 2));
    world.give(Input::Command(Box::new(command)));
    world.obey_all();
    assert_eq!(proof(&world, "p"), "2 of 2 frozen");
    assert_eq!((world.word("del-b", "a"), world.word("del-a", "b")), ("paused", "running"));
    assert_eq!((world.delegation_word("del-b"), world.delegation_word("del-a")), ("paused", "running"));
}

#[test]
fn a_second_pause_while_pausing_is_done_too_and_a_third_is_refused() {
    let mut world = running(graph(&[("a", &[])]));
    world.command("p1", FREEZE, "del-a", None);
    world.command("p2", FREEZE, "del-a", None);
    world.obey_all();
    assert_eq!((proof(&world, "p1"), proof(&world, "p2")), ("1 of 1 frozen".into(), "1 of 1 frozen".into()));
    world.command("p3", FREEZE, "del-a", None);
    assert_eq!(refusal(&world, "p3"), ("conflict".into(), "del-a is paused already.".into()));
}

#[test]
fn a_resume_of_a_half_confirmed_pause_takes_its_place() {
    let mut world = running(graph(&[("a", &[]), ("b", &[])]));
    world.command("p", FREEZE, "del-a", None);
    let session = world.session("del-a", "a");
    world.obey(&session);
    world.command("r", Verb::Resume, "del-a", None);
    assert_eq!(refusal(&world, "p").0, "superseded");
    world.obey_all();
    assert_eq!(proof(&world, "r"), "2 of 2 sessions answered");
    assert_eq!((world.word("del-a", "a"), world.word("del-a", "b")), ("running", "running"));
}

#[test]
fn a_step_held_from_above_is_resumed_above() {
    let mut world = running(graph(&[("a", &[])]));
    world.command("p", FREEZE, "del-a", None);
    world.obey_all();
    world.command("r", Verb::Resume, "del-a", Some("a"));
    assert!(refusal(&world, "r").1.contains("held by the pause of del-a"));
}

#[test]
fn a_pause_during_a_backoff_holds_the_retry() {
    let spec = with(graph(&[("a", &[])]), |limits| limits.auto_retry = true);
    let mut world = running(spec);
    end(&mut world, "a", failed("broken"));
    world.command("p", FREEZE, "del-a", None);
    assert_eq!(proof(&world, "p"), "nothing ran");
    world.next_timer();
    assert_eq!(why(&world, "a"), "held by pause of del-a");
    world.command("r", Verb::Resume, "del-a", None);
    assert!(matches!(
        world.kernel.explain(&"del-a".into(), &"a".into(), world.at()),
        Some(Why::Starting { .. })
    ));
}

#[test]
fn a_cancel_is_confirmed_when_all_below_has_ended() {
    let mut world = running(graph(&[("a", &[]), ("b", &[]), ("c", &["a"])]));
    start(&mut world, "del-b", below("del-a", None));
    world.obey_all();
    world.command("x", CANCEL, "del-a", None);
    assert!(is_pending(&world, "x"));
    assert_eq!(world.word("del-a", "c"), "cancelled");
    world.obey_all();
    assert_eq!(proof(&world, "x"), "3 of 3 ended, 1 step had not begun");
    assert_eq!((world.delegation_word("del-a"), world.delegation_word("del-b")), ("cancelled", "cancelled"));
    world.command("x2", CANCEL, "del-a", None);
    assert_eq!(refusal(&world, "x2"), ("conflict".into(), "del-a is cancelled already.".into()));
}

#[test]
fn a_cancel_during_the_start_reaches_the_session() {
    let mut world = World::new();
    start(&mut world, "del-a", graph(&[("a", &[])]));
    world.command("x", CANCEL, "del-a", Some("a"));
    assert!(is_pending(&world, "x"));
    world.obey_all();
    assert_eq!(proof(&world, "x"), "1 of 1 ended");
    assert_eq!(world.delegation_word("del-a"), "cancelled");
}

#[test]
fn a_cancel_of_something_paused_works_and_voids_the_pause() {
    let mut world = running(graph(&[("a", &[])]));
    world.command("p", FREEZE, "del-a", None);
    world.command("x", CANCEL, "del-a", None);
    assert_eq!(refusal(&world, "p").0, "superseded");
    world.obey_all();
    assert_eq!((world.word("del-a", "a"), world.delegation_word("del-a")), ("cancelled", "cancelled"));
}

#[test]
fn a_cancel_before_the_start_needs_no_order() {
    let mut world = running(graph(&[("a", &[]), ("b", &["a"])]));
    world.command("x", CANCEL, "del-a", Some("b"));
    assert!(world.last_effects.is_empty());
    assert_eq!(proof(&world, "x"), "0 of 0 ended, 1 step had not begun");
}

#[test]
fn the_same_command_acts_once() {
    let mut world = running(graph(&[("a", &[])]));
    world.command("x", CANCEL, "del-a", None);
    assert!(world.command("x", CANCEL, "del-a", None).is_empty());
    world.crash();
    world.obey_all();
    assert!(world.command("x", CANCEL, "del-a", None).is_empty());
}

#[test]
fn what_is_not_there_is_not_found() {
    let mut world = running(graph(&[("a", &[])]));
    world.command("x", CANCEL, "del-x", None);
    assert_eq!(refusal(&world, "x").0, "not-found");
    world.command("y", CANCEL, "del-a", Some("b"));
    assert_eq!(refusal(&world, "y").0, "not-found");
}

#[test]
fn a_failure_stops_the_rest_where_it_should() {
    let spec = with(graph(&[("a", &[]), ("b", &[]), ("c", &["b"])]), |limits| {
        limits.continue_on_partial_failure = false;
    });
    let mut world = running(spec);
    end(&mut world, "a", failed("broken"));
    assert_eq!((world.word("del-a", "b"), world.word("del-a", "c")), ("running", "cancelled"));
    world.command("r", RETRY, "del-a", Some("a"));
    assert_eq!(refusal(&world, "r").0, "conflict", "while it is being stopped");
    world.obey_all();
    assert_eq!(world.delegation_word("del-a"), "failed");
    world.command("r2", RETRY, "del-a", Some("a"));
    world.obey_all();
    assert_eq!(world.delegation_word("del-a"), "running");
    assert_eq!((world.word("del-a", "a"), world.word("del-a", "b")), ("running", "running"));
    assert_eq!(why(&world, "c"), "waits for b");
}

#[test]
fn the_rest_goes_on_where_it_may_and_what_is_blocked_is_cut() {
    let mut world = running(graph(&[("a", &[]), ("b", &[]), ("c", &["a"])]));
    end(&mut world, "a", failed("broken"));
    assert_eq!(why(&world, "c"), "blocked by a, which did not end well");
    end(&mut world, "b", done("fine"));
    assert_eq!((world.word("del-a", "c"), world.delegation_word("del-a")), ("cancelled", "partial"));
}

#[test]
fn a_retry_may_take_another_agent_and_the_failure_along() {
    let mut world = running(graph(&[("a", &[])]));
    end(&mut world, "a", failed("no such file"));
    let verb = Verb::Retry {
        with_failure: true,
        agent: Some("codex".into()),
        model: Some("big".into()),
        fresh: false,
    };
    world.command("r", verb, "del-a", Some("a"));
    let next = launch(&world);
    assert_eq!((next.agent.as_deref(), next.model.as_deref(), next.attempt), (Some("codex"), Some("big"), 2));
    assert_eq!(next.prompt, "do a\n\n## The last attempt failed\n\nno such file");
}

#[test]
fn only_what_ended_badly_is_retried() {
    let mut world = running(graph(&[("a", &[]), ("b", &[])]));
    world.command("r", RETRY, "del-a", Some("a"));
    assert!(refusal(&world, "r").1.starts_with("a is running"));
    end(&mut world, "a", done("fine"));
    world.command("r2", RETRY, "del-a", Some("a"));
    assert!(refusal(&world, "r2").1.starts_with("a is done"));
}

#[test]
fn what_depends_on_a_skipped_step_sees_the_result_that_was_given() {
    let mut world = running(graph(&[("a", &[]), ("b", &["a"])]));
    world.command("s", Verb::Skip { reason: None, result: Some("use main".into()) }, "del-a", Some("a"));
    assert!(is_pending(&world, "s"), "its agent must end first");
    world.obey_all();
    assert_eq!((proof(&world, "s").as_str(), world.word("del-a", "a")), ("1 of 1 ended", "skipped"));
    let next = world.hosts.values().find(|host| host.launch.subtask == "b".into()).unwrap();
    assert_eq!(next.launch.prompt, "do b\n\n## Result of a\n\nuse main");
}

#[test]
fn a_skip_of_a_failed_step_wakes_its_delegation() {
    let mut world = running(graph(&[("a", &[]), ("b", &["a"])]));
    end(&mut world, "a", failed("broken"));
    assert_eq!(world.delegation_word("del-a"), "failed");
    world.command("s", SKIP, "del-a", Some("a"));
    world.obey_all();
    assert_eq!((world.delegation_word("del-a"), world.word("del-a", "b")), ("running", "running"));
}

#[test]
fn a_failed_result_can_be_taken_as_done() {
    let mut world = running(graph(&[("a", &[])]));
    end(&mut world, "a", failed("only warnings"));
    world.command("ok", Verb::Accept { reason: None }, "del-a", Some("a"));
    assert_eq!((world.word("del-a", "a"), world.delegation_word("del-a")), ("done", "done"));
}

#[test]
fn an_agent_without_a_channel_cannot_be_told_anything() {
    let mut world = World::new();
    start(&mut world, "del-a", graph(&[("a", &[])]));
    let session = world.session("del-a", "a");
    let mut host = host_facts();
    host.channel = false;
    world.hosts.get_mut(&session).unwrap().state = HostState::Running { frozen: false };
    world.give(Input::Report(Report::Started { session, host }));
    world.command("t", Verb::Tell { text: "faster".into() }, "del-a", Some("a"));
    let (code, reason) = refusal(&world, "t");
    assert_eq!(code, "unsupported");
    assert!(reason.contains("takes nothing while it runs"));
}

#[test]
fn what_cannot_be_told_in_time_is_refused() {
    let mut world = running(graph(&[("a", &[])]));
    world.command("t", Verb::Tell { text: "faster".into() }, "del-a", Some("a"));
    end(&mut world, "a", done("fine"));
    assert_eq!(refusal(&world, "t").0, "gone");
}

#[test]
fn a_new_engine_starts_what_was_only_intended() {
    let mut world = World::new();
    let command = world.make("s", Verb::Start { spec: Box::new(graph(&[("a", &[])])) }, "del-a", None);
    world.give_and_crash(Input::Command(Box::new(command)), usize::MAX);
    let session = world.session("del-a", "a");
    assert_eq!(launch(&world).session, session, "under the same id");
}

#[test]
fn a_new_engine_gives_pending_orders_again_under_the_same_id() {
    let mut world = running(graph(&[("a", &[])]));
    let command = world.make("p", FREEZE, "del-a", None);
    world.give_and_crash(Input::Command(Box::new(command)), usize::MAX);
    let session = world.session("del-a", "a");
    let order = Effect::Order { session, id: "p".into(), order: Order::Freeze };
    assert!(world.last_effects.contains(&order), "{:?}", world.last_effects);
    world.obey_all();
    assert_eq!(proof(&world, "p"), "1 of 1 frozen");
}

#[test]
fn a_new_engine_takes_in_what_ended_meanwhile() {
    let mut world = running(graph(&[("a", &[]), ("b", &["a"])]));
    let session = world.session("del-a", "a");
    world.hosts.get_mut(&session).unwrap().state = HostState::Exited(exit(done("fine")));
    world.crash();
    assert_eq!((world.word("del-a", "a"), launch(&world).subtask), ("done", "b".into()));
}

#[test]
fn a_session_that_a_new_engine_cannot_see_is_looked_for() {
    let mut world = running(graph(&[("a", &[])]));
    world.kernel = world.fold();
    let session = world.session("del-a", "a");
    world.give(Input::Recovered(Vec::<(_, Observed)>::new()));
    assert_eq!(world.last_effects, [Effect::Sweep { session }]);
    assert_eq!(world.word("del-a", "a"), "running");
}

#[test]
fn a_clock_that_goes_back_writes_no_earlier_moment() {
    let mut world = World::new();
    world.now_ms = 5_000;
    start(&mut world, "del-a", graph(&[("a", &[])]));
    world.now_ms = 1_000;
    world.obey_all();
    let moments: Vec<_> = world.events.iter().map(|event| event.at).collect();
    assert!(moments.is_sorted());
}

#[test]
fn what_was_archived_is_forgotten() {
    use quarterdeck::model::event::{Event, payload::Turn};
    let mut world = running(graph(&[("a", &[])]));
    end(&mut world, "a", done("fine"));
    let gone = Turn { delegation_id: "del-a".into(), ..Turn::default() };
    let seq = world.kernel.seq().next();
    world.kernel.apply(&Event { seq, at: world.at(), body: Body::Archived(gone) });
    assert!(world.kernel.delegations().is_empty());
    world.kernel.audit().unwrap();
}

#[test]
fn the_same_inputs_make_the_same_events() {
    let run = || {
        let mut world = running(graph(&[("a", &[]), ("b", &["a"])]));
        end(&mut world, "a", done("fine"));
        world.obey_all();
        serde_json::to_string(&world.events).unwrap()
    };
    assert_eq!(run(), run());
}
