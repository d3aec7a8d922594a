//! Proposals, modes, the rules of handing on, and results that are for review.

use std::time::Duration;

use crate::rules::{end, graph, proof, refusal, running, with};
use crate::world::{World, done, names};
use quarterdeck::decide::rules::{self, Request};
use quarterdeck::decide::settings::Settings;
use quarterdeck::engine::kernel::input::{Input, Verdict};
use quarterdeck::model::command::{Above, ApprovedStep, Command, Pattern, PauseMode, Spec, StepSpec, Verb};
use quarterdeck::model::event::payload::EngineTurn;
use quarterdeck::model::event::{Body, Event};
use quarterdeck::model::handoff::{Artifact, Decision, Handoff, Outcome};
use quarterdeck::model::id::Seq;
use quarterdeck::model::key::NodeKey;
use rstest::rstest;
use serde_json::{Value, json};

const HALF_AN_HOUR: u64 = 1_800_000;
const REJECT: Verb = Verb::Reject { reason: None };

fn approve(steps: &[&str]) -> Verb {
    let taken = |id: &&str| ApprovedStep { id: (*id).into(), ..ApprovedStep::default() };
    Verb::Approve { subtasks: Some(steps.iter().map(taken).collect()) }
}

fn all() -> Verb {
    Verb::Approve { subtasks: None }
}

fn titled(spec: Spec) -> Spec {
    let mut spec = spec;
    for step in &mut spec.subtasks {
        step.title = Some(step.prompt.clone());
    }
    spec
}

/// A world in which `del-a` was proposed.
fn proposed(spec: Spec) -> World {
    let mut world = World::new();
    let spec = Box::new(Spec { propose: true, ..titled(spec) });
    world.command("start", Verb::Start { spec }, "del-a", None);
    world
}

fn chain() -> Spec {
    graph(&[("a", &[]), ("b", &["a"]), ("c", &[])])
}

fn start_by(world: &mut World, by: &str, spec: Spec) -> Vec<Body> {
    let command = world.make("start", Verb::Start { spec: Box::new(spec) }, "del-a", None);
    let command = Command { by: Some(by.into()), ..command };
    world.give(Input::Command(Box::new(command)))
}

fn set(world: &mut World, mut settings: Value) {
    let layers: serde_json::Map<String, Value> =
        settings.as_object().unwrap().keys().map(|name| (name.clone(), json!("session"))).collect();
    settings["layers"] = layers.into();
    world.give(Input::Settings { settings, by: None });
}

fn node<T>(world: &World, look: impl Fn(&quarterdeck::model::node::Node) -> T) -> T {
    let ix = world.model.find(&NodeKey::Delegation("del-a".into())).unwrap();
    look(world.model.get(ix).unwrap())
}

#[test]
fn a_proposal_waits_and_says_why_and_until_when() {
    let mut world = World::new();
    let spec = Box::new(Spec { propose: true, ..chain() });
    let events = world.command("start", Verb::Start { spec }, "del-a", None);
    assert_eq!(
        names(&events),
        ["command:accepted", "delegation:proposed", "delegation:decision", "command:confirmed"]
    );
    assert_eq!(proof(&world, "start"), "proposed. It waits for you, as was asked for.");
    assert_eq!((world.delegation_word("del-a"), world.hosts.len()), ("offered", 0));
    let until = world.at().plus(Duration::from_millis(HALF_AN_HOUR));
    assert_eq!(node(&world, |node| node.clocks.accept_by), Some(until));
    let why = world.kernel.explain(&"del-a".into(), &"b".into(), world.at()).unwrap();
    assert_eq!(why.to_string(), format!("waits for approval until {until}"));
    world.check_fold();
}

#[test]
fn what_is_approved_runs_to_its_end() {
    let mut world = proposed(chain());
    let events = world.command("yes", all(), "del-a", None);
    assert_eq!(names(&events[..3]), ["command:accepted", "delegation:approved", "delegation:started"]);
    assert_eq!(proof(&world, "yes"), "3 steps approved");
    world.obey_all();
    for step in ["a", "b", "c"] {
        world.obey_all();
        end(&mut world, step, done("fine"));
    }
    assert_eq!(world.delegation_word("del-a"), "done");
    while world.next_timer() {}
    assert_eq!(world.delegation_word("del-a"), "done", "the clock of the proposal is over");
    world.check_fold();
}

#[test]
fn some_steps_are_approved_in_another_order_with_other_words_and_agents() {
    let mut world = proposed(chain());
    let changed =
        ApprovedStep { id: "c".into(), title: Some("do it well".into()), agent: Some("codex".into()) };
    let steps = vec![changed, ApprovedStep { id: "a".into(), ..ApprovedStep::default() }];
    world.command("yes", Verb::Approve { subtasks: Some(steps) }, "del-a", None);
    let tasks = &world.kernel.delegations()[&"del-a".into()].tasks;
    let told: Vec<_> = tasks
        .iter()
        .map(|task| (task.spec.id.as_str(), task.spec.prompt.as_str(), task.spec.agent.as_deref()))
        .collect();
    assert_eq!(told, [("c", "do it well", Some("codex")), ("a", "do a", None)]);
    let left = world.model.find(&NodeKey::Subtask("del-a".into(), "b".into())).unwrap();
    assert_eq!(world.model.get(left).unwrap().status.told().as_str(), "skipped");
    world.check_fold();
}

#[test]
fn a_sequence_is_a_sequence_of_what_was_approved_of_it() {
    let spec = Spec { pattern: Pattern::Sequential, ..graph(&[("a", &[]), ("b", &[]), ("c", &[])]) };
    let mut world = proposed(spec);
    world.command("yes", approve(&["c", "a"]), "del-a", None);
    let tasks = &world.kernel.delegations()[&"del-a".into()].tasks;
    assert_eq!(tasks[0].spec.dependencies, []);
    assert_eq!(tasks[1].spec.dependencies, ["c".into()]);
}

#[rstest]
#[case(approve(&["b", "c"]), "invalid", "b depends on a, which is left out.\nApprove both, or leave both out.")]
#[case(approve(&["a", "z"]), "not-found", "del-a has no step z")]
#[case(approve(&["a", "a"]), "invalid", "a is approved twice.\nName it once.")]
#[case(approve(&[]), "invalid", "No step is approved.\nName some, or reject it.")]
#[case(Verb::Resume, "conflict", "del-a waits for approval.\nApprove or reject it first.")]
#[case(Verb::Pause { mode: PauseMode::Freeze, reason: None }, "conflict", "del-a waits for approval.\nApprove or reject it first.")]
fn what_makes_no_plan_is_refused_and_the_proposal_waits_on(
    #[case] verb: Verb,
    #[case] code: &str,
    #[case] reason: &str,
) {
    let mut world = proposed(chain());
    world.command("no", verb, "del-a", None);
    assert_eq!(refusal(&world, "no"), (code.into(), reason.into()));
    assert_eq!(world.delegation_word("del-a"), "offered");
    let only = Command { by: Some("agent:sess_1".into()), ..world.make("me", all(), "del-a", None) };
    world.give(Input::Command(Box::new(only)));
    assert!(refusal(&world, "me").1.starts_with("Only a person can approve it, and agent:sess_1 asks."));
}

#[test]
fn what_is_rejected_never_begins() {
    let mut world = proposed(chain());
    world.command("no", Verb::Reject { reason: Some("too dear".into()) }, "del-a", None);
    assert_eq!((world.delegation_word("del-a"), world.word("del-a", "a")), ("rejected", "cancelled"));
    assert_eq!(node(&world, |node| node.status.why().map(str::to_owned)).as_deref(), Some("too dear"));
    for (id, verb) in [
        ("1", all()),
        ("2", REJECT),
        ("3", Verb::Retry { with_failure: false, agent: None, model: None, fresh: false }),
    ] {
        world.command(id, verb, "del-a", None);
        assert_eq!(refusal(&world, id).0, "conflict");
    }
    assert!(!world.next_timer() || world.delegation_word("del-a") == "rejected");
    assert!(world.hosts.is_empty());
    world.check_fold();
}

#[test]
fn what_nobody_approves_in_time_expires_and_time_asleep_does_not_count() {
    let mut world = proposed(chain());
    world.now_ms += HALF_AN_HOUR - 1_000;
    world.asleep_ms += 7_200_000;
    world.give(Input::Woke);
    assert_eq!(world.delegation_word("del-a"), "offered");
    let until = world.at().plus(Duration::from_secs(1));
    assert_eq!(node(&world, |node| node.clocks.accept_by), Some(until), "the moment was told anew");
    assert!(world.next_timer());
    assert_eq!((world.delegation_word("del-a"), world.now_ms), ("expired", HALF_AN_HOUR));
    assert_eq!(world.word("del-a", "c"), "cancelled");
    world.check_fold();
}

#[test]
fn a_proposal_survives_the_engine_and_the_machine() {
    let mut world = proposed(chain());
    world.now_ms += 60_000;
    world.crash();
    assert_eq!(world.delegation_word("del-a"), "offered");
    assert_eq!(world.timers.values().map(|(at, _)| *at).collect::<Vec<_>>(), [HALF_AN_HOUR]);
    // Another boot: the awake clock began anew, and what was left at the last event is left.
    let seq = Seq(world.events.len() as u64 + 1);
    world.now_ms += 3_600_000;
    let boot = EngineTurn { boot_id: Some("other".into()), ..EngineTurn::default() };
    let event = Event { seq, at: world.at(), body: Body::EngineStarted(boot) };
    world.events.push(event);
    world.crash();
    assert_eq!(world.delegation_word("del-a"), "offered");
    world.command("yes", all(), "del-a", None);
    assert_eq!(world.delegation_word("del-a"), "running");
}

#[rstest]
fn an_answer_is_given_once_though_the_engine_dies_at_any_event(
    #[values(all(), approve(&["a", "b"]), REJECT)] verb: Verb,
    #[values(1, 2, 3, 4, 5, 6)] written: usize,
) {
    let mut world = proposed(chain());
    let command = world.make("answer", verb.clone(), "del-a", None);
    world.give_and_crash(Input::Command(Box::new(command)), written);
    assert!(!proof(&world, "answer").is_empty());
    let rejected = verb == REJECT;
    assert_eq!(world.delegation_word("del-a"), if rejected { "rejected" } else { "running" });
    world.check_fold();
}

#[rstest]
fn an_expiry_is_told_once_though_the_engine_dies_at_any_event(#[values(0, 1, 2, 3)] written: usize) {
    let mut world = proposed(chain());
    let (key, (at, epoch)) = world.timers.clone().into_iter().next().unwrap();
    world.now_ms = at;
    world.give_and_crash(Input::Timer { key, epoch }, written);
    assert_eq!(world.delegation_word("del-a"), "expired");
    let told = world.events.iter().filter(|event| matches!(event.body, Body::Expired(_))).count();
    assert_eq!(told, 1);
}

fn weighed(delegates: bool, confidence: f64) -> Box<Decision> {
    let score = Some(if delegates { 70.0 } else { 40.0 });
    Box::new(Decision {
        should_delegate: Some(delegates),
        confidence: Some(confidence),
        score,
        ..Decision::default()
    })
}

#[test]
fn a_decision_is_told_unless_that_is_switched_off() {
    for (logs, told) in [(true, 1), (false, 0)] {
        let mut world = World::new();
        let settings =
            json!({ "logging": { "logDecisions": logs }, "layers": { "logging.logDecisions": "session" } });
        world.give(Input::Settings { settings, by: None });
        let events = start_by(&mut world, "me", Spec { decision: Some(weighed(true, 90.0)), ..chain() });
        assert_eq!(names(&events).iter().filter(|name| **name == "delegation:decision").count(), told);
    }
}

/// For disabled, suggest, auto and smart: what becomes of what an agent asks for.
#[rstest]
#[case(Some(weighed(true, 90.0)), ["limit", "offered", "running", "running"])]
#[case(Some(weighed(true, 60.0)), ["limit", "offered", "running", "offered"])]
#[case(Some(weighed(false, 90.0)), ["limit", "offered", "offered", "offered"])]
#[case(None, ["limit", "offered", "offered", "offered"])]
fn modes_govern_what_agents_ask_for_and_a_person_is_the_yes(
    #[case] decision: Option<Box<Decision>>,
    #[case] expected: [&str; 4],
) {
    for (mode, expected) in ["disabled", "suggest", "auto", "smart"].into_iter().zip(expected) {
        let spec = || Spec { decision: decision.clone(), ..chain() };
        let mut world = World::new();
        set(&mut world, json!({ "mode": mode }));
        start_by(&mut world, "agent:sess_1", spec());
        if expected == "limit" {
            let (code, why) = refusal(&world, "start");
            assert_eq!(code, expected);
            assert!(why.starts_with("Delegation is disabled for agents and hooks"), "{why}");
        } else {
            assert_eq!(world.delegation_word("del-a"), expected, "{mode}");
            let why =
                node(&world, |node| node.more().unwrap().decision.as_ref().unwrap().course.clone().unwrap());
            assert!(proof(&world, "start").ends_with(&why), "{why}");
        }
        let mut world = World::new();
        set(&mut world, json!({ "mode": mode }));
        start_by(&mut world, "me", spec());
        assert_eq!(world.delegation_word("del-a"), "running", "{mode}");
    }
}

#[test]
fn subtask_approval_holds_a_persons_start_too_and_the_time_is_a_setting() {
    let mut world = World::new();
    let settings = json!({ "subtaskApproval": true, "limits": { "acceptTimeout": 5_000 },
        "layers": { "subtaskApproval": "project", "limits.acceptTimeout": "project" } });
    world.give(Input::Settings { settings, by: None });
    start_by(&mut world, "me", chain());
    assert_eq!(world.delegation_word("del-a"), "offered");
    world.save();
    world.next_timer();
    assert_eq!((world.delegation_word("del-a"), world.now_ms), ("expired", 5_000));
    world.check_fold();
}

#[test]
fn engine_and_rules_have_one_set_of_messages() {
    let told = |request: &Request| rules::check(request, &Settings::default())[0].to_string();
    let nested = |role: &str, category: Option<&str>| {
        let mut spec = graph(&[("a", &[])]);
        spec.subtasks[0].role = Some("coordinator".into());
        let mut world = running(spec);
        let above = Above { delegation_id: "del-a".into(), subtask_id: "a".into() };
        let step =
            StepSpec { id: "x".into(), prompt: "x".into(), role: Some(role.into()), ..StepSpec::default() };
        let handoff = Handoff { category: category.map(Into::into), ..Handoff::default() };
        let spec = Spec {
            parent: Some(above),
            subtasks: vec![step],
            handoff: Some(Box::new(handoff)),
            ..Spec::default()
        };
        world.command("down", Verb::Start { spec: Box::new(spec) }, "del-b", None);
        (world.kernel.outcome(&"down".into()).cloned(), world)
    };
    let (_, world) = nested("coordinator", None);
    let request = Request {
        from: Some("coordinator".into()),
        to: "coordinator".into(),
        role: Some("coordinator".into()),
        path: vec!["coordinator".into()],
        depth: 2,
        ..Request::default()
    };
    assert_eq!(refusal(&world, "down"), ("limit".into(), told(&request)));
    let (_, world) = nested("executor", Some("research"));
    let request = Request {
        to: "executor".into(),
        role: Some("executor".into()),
        category: Some("research".into()),
        ..request
    };
    assert_eq!(refusal(&world, "down"), ("limit".into(), told(&request)));
    let (_, world) = nested("executor", Some("development"));
    assert!(world.kernel.delegations().contains_key(&"del-b".into()));
}

#[test]
fn a_delegation_may_allow_fewer_levels_than_the_engine() {
    let mut world = running(with(graph(&[("a", &[])]), |limits| limits.max_depth = Some(1)));
    let above = Above { delegation_id: "del-a".into(), subtask_id: "a".into() };
    let spec = Spec { parent: Some(above), ..graph(&[("x", &[])]) };
    world.command("down", Verb::Start { spec: Box::new(spec) }, "del-b", None);
    let (code, why) = refusal(&world, "down");
    assert_eq!(code, "limit");
    assert!(why.starts_with("This would be 2 levels deep. 1 are allowed."), "{why}");
}

#[test]
fn a_proposal_below_a_step_holds_its_end_and_goes_with_it() {
    let mut world = running(graph(&[("a", &[])]));
    let above = Above { delegation_id: "del-a".into(), subtask_id: "a".into() };
    let spec = Spec { parent: Some(above), propose: true, ..graph(&[("x", &[])]) };
    world.command("down", Verb::Start { spec: Box::new(spec.clone()) }, "del-b", None);
    end(&mut world, "a", done("asked for more"));
    assert_eq!((world.delegation_word("del-a"), world.delegation_word("del-b")), ("running", "offered"));
    world.command("yes", all(), "del-b", None);
    world.obey_all();
    let session = world.session("del-b", "x");
    world.exit(&session, done("fine"));
    assert_eq!((world.delegation_word("del-a"), world.delegation_word("del-b")), ("done", "done"));

    let mut world = running(graph(&[("a", &[])]));
    world.command("down", Verb::Start { spec: Box::new(spec) }, "del-b", None);
    world.command("stop", Verb::Cancel { rollback: false, reason: None }, "del-a", None);
    world.obey_all();
    assert_eq!((world.delegation_word("del-a"), world.delegation_word("del-b")), ("cancelled", "cancelled"));
}

fn poor() -> Verdict {
    let missing = Artifact { path: Some("report.md".into()), exists: Some(false), ..Artifact::default() };
    let result = Outcome { summary: Some("made it".into()), artifacts: vec![missing], ..Outcome::default() };
    Verdict::Done { result: Some(Box::new(result)) }
}

#[test]
fn a_result_below_the_threshold_waits_for_a_look() {
    let mut world = running(graph(&[("a", &[]), ("b", &["a"])]));
    let events = end(&mut world, "a", poor());
    assert_eq!(names(&events), ["session:ended", "delegation:subtask-review"]);
    assert_eq!((world.word("del-a", "a"), world.delegation_word("del-a")), ("review", "running"));
    let why = world.kernel.explain(&"del-a".into(), &"a".into(), world.at()).unwrap().to_string();
    assert_eq!(
        why,
        "waits for a look at its result: quality 50, 70 is needed: 1 of 1 artifacts are not there (-50)"
    );
    world.crash();
    world.command("ok", Verb::Accept { reason: None }, "del-a", Some("a"));
    world.obey_all();
    assert_eq!((world.word("del-a", "a"), world.word("del-a", "b")), ("done", "running"));
    assert!(world.hosts.values().any(|host| host.launch.prompt.contains("made it")), "it is handed on");
    let tested = Outcome { tests_run: Some("3 passed".into()), ..Outcome::default() };
    let events = end(&mut world, "b", Verdict::Done { result: Some(Box::new(tested)) });
    let Some(Body::Completed(completed)) = events.last() else { panic!("{events:?}") };
    assert_eq!(completed.quality, Some(75.0), "the mean of 50 and 100");
    world.check_fold();
}

#[test]
fn a_poor_result_is_rejected_retried_or_cancelled_by_a_person() {
    let reviewed = || {
        let mut world = running(graph(&[("a", &[])]));
        end(&mut world, "a", poor());
        world
    };
    let mut world = reviewed();
    world.command("no", Verb::Reject { reason: Some("nothing there".into()) }, "del-a", Some("a"));
    assert_eq!((world.word("del-a", "a"), world.delegation_word("del-a")), ("failed", "failed"));
    let mut world = reviewed();
    world.command(
        "again",
        Verb::Retry { with_failure: true, agent: None, model: None, fresh: false },
        "del-a",
        Some("a"),
    );
    world.obey_all();
    assert_eq!(world.word("del-a", "a"), "running");
    let mut world = reviewed();
    world.command("stop", Verb::Cancel { rollback: false, reason: None }, "del-a", None);
    assert_eq!((world.word("del-a", "a"), world.delegation_word("del-a")), ("cancelled", "cancelled"));
    let mut world = running(graph(&[("a", &[])]));
    world.command("no", REJECT, "del-a", Some("a"));
    assert_eq!(refusal(&world, "no").1, "a is running: only a step that is for review can be rejected.");
}

#[test]
fn error_recovery_flows_the_recovery_settings_try_a_poor_result_again_before_a_person_looks() {
    let spec = with(graph(&[("a", &[])]), |limits| {
        (limits.auto_retry, limits.max_retries) = (true, 1);
        limits.quality_threshold = Some(60);
    });
    let mut world = running(spec);
    let events = end(&mut world, "a", poor());
    assert_eq!(names(&events), ["session:ended", "delegation:subtask-review", "delegation:subtask-retried"]);
    world.next_timer();
    world.obey_all();
    let told = world.hosts.values().any(|host| host.launch.prompt.contains("1 of 1 artifacts are not there"));
    assert!(told, "the next attempt knows what was not good enough");
    end(&mut world, "a", poor());
    assert_eq!(world.word("del-a", "a"), "review", "no retry is left");
}
