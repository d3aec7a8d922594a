//! The record of a hand-off and the form of its answer: each turn, and a crash in each.

use crate::rules::{end, graph, proof, refusal, running};
use crate::world::{HostState, World, done, failed, names};
use quarterdeck::engine::kernel::effect::{Effect, Order};
use quarterdeck::engine::kernel::input::{Cli, Host, Input, Report, Verdict};
use quarterdeck::model::command::{Limits, Said, Spec, Verb};
use quarterdeck::model::event::Body;
use quarterdeck::model::handoff::{Finding, Handoff, Outcome};
use quarterdeck::model::key::NodeKey;

const HALF_AN_HOUR: u64 = 30 * 60_000;

fn on_record(offer: bool) -> Spec {
    let handoff = Handoff {
        from_agent: Some("coordinator".into()),
        to_agent: Some("executor".into()),
        context: Some("The parser is slow.".into()),
        offer,
        ..Handoff::default()
    };
    Spec { handoff: Some(Box::new(handoff)), ..graph(&[("st-1", &[])]) }
}

/// Says something as the agent of the step does.
fn say(world: &mut World, id: &str, said: Said) -> Vec<Body> {
    let session = world.session("del-a", "st-1");
    let mut command = world.make(id, Verb::Report { said: Box::new(said) }, "del-a", Some("st-1"));
    command.by = Some(format!("agent:{session}"));
    world.give(Input::Command(Box::new(command)))
}

fn evidence() -> Said {
    let result = Outcome {
        evidence: Some("the suite is green".into()),
        files_modified: vec!["src/parser.rs".into()],
        tests_run: Some("41 passed".into()),
        ..Outcome::default()
    };
    Said::Completed { result: Box::new(result) }
}

fn handoff(world: &World) -> Handoff {
    let ix = world.model.find(&NodeKey::Delegation("del-a".into())).unwrap();
    *world.model.get(ix).unwrap().more().unwrap().handoff.clone().unwrap()
}

#[test]
fn whoever_begins_to_work_has_accepted_and_the_record_says_so() {
    let world = running(on_record(false));
    let told = handoff(&world);
    assert_eq!(told.accepted_by.as_deref(), Some("starting"));
    assert_eq!(told.accepted_at, Some(world.at()));
    let prompt = &world.hosts[&world.session("del-a", "st-1")].launch.prompt;
    assert!(prompt.starts_with("# Delegation del-a\n"), "{prompt}");
    assert!(prompt.contains("## Context\n\nThe parser is slow.") && prompt.ends_with("do st-1"), "{prompt}");
    assert!(!prompt.contains("RETURN FORMAT"), "that is for the guide's commands");
}

#[test]
fn an_offer_is_accepted_reported_with_evidence_and_done() {
    let mut world = running(on_record(true));
    assert_eq!(handoff(&world).accepted_at, None, "starting is not accepting here");
    say(&mut world, "early", evidence());
    assert!(refusal(&world, "early").1.contains("not accepted yet"));
    let events = say(&mut world, "yes", Said::Accepted { reason: Some("mine".into()) });
    assert_eq!(names(&events), ["command:accepted", "delegation:accepted", "command:confirmed"]);
    assert_eq!(proof(&world, "yes"), "accepted");
    assert!(handoff(&world).accepted_by.unwrap().starts_with("agent:sess_"));
    say(&mut world, "done", evidence());
    assert_eq!(world.word("del-a", "st-1"), "running", "a word is no proof: its end is");
    let events = end(&mut world, "st-1", done("The parser is fast."));
    let completed = events.iter().find_map(|body| match body {
        Body::SubtaskCompleted(told) => told.result.clone(),
        _ => None,
    });
    let result = completed.unwrap();
    assert_eq!(result.summary.as_deref(), Some("The parser is fast."));
    assert_eq!(result.evidence.as_deref(), Some("the suite is green"));
    assert_eq!(result.tests_run.as_deref(), Some("41 passed"));
    assert_eq!(result.files_modified, ["src/parser.rs"]);
    assert_eq!(world.delegation_word("del-a"), "done");
    world.check_fold();
}

#[test]
fn an_offer_that_nobody_accepts_expires_with_all_that_runs() {
    let mut world = running(on_record(true));
    let session = world.session("del-a", "st-1");
    while world.delegation_word("del-a") != "expired" {
        world.obey_all();
        assert!(world.next_timer() || world.delegation_word("del-a") == "expired");
    }
    assert_eq!(world.now_ms, HALF_AN_HOUR);
    assert!(matches!(world.hosts[&session].state, HostState::Exited(_)), "its session was ended");
    world.check_fold();
}

#[test]
fn an_offer_is_counted_across_a_crash_and_an_accepted_one_never_expires() {
    let mut world = running(on_record(true));
    world.now_ms += 10 * 60_000;
    world.crash();
    assert!(world.next_timer());
    world.obey_all();
    assert_eq!((world.now_ms, world.delegation_word("del-a")), (HALF_AN_HOUR, "expired"));
    let mut world = running(on_record(true));
    say(&mut world, "yes", Said::Accepted { reason: None });
    while world.next_timer() {}
    world.obey_all();
    assert_eq!(world.delegation_word("del-a"), "running");
}

#[test]
fn what_is_turned_down_ends_and_is_rejected_with_its_reason() {
    for written in 0..6 {
        let mut world = running(on_record(false));
        let session = world.session("del-a", "st-1");
        let said = Box::new(Said::Rejected { reason: "not my language".into() });
        let mut command = world.make("no", Verb::Report { said }, "del-a", Some("st-1"));
        command.by = Some(format!("agent:{session}"));
        let input = Input::Command(Box::new(command));
        world.give_and_crash(input.clone(), written);
        world.give(input);
        world.obey_all();
        assert_eq!(world.delegation_word("del-a"), "rejected", "{written} events were written");
        assert_eq!(world.word("del-a", "st-1"), "failed");
        let why = world.kernel.explain(&"del-a".into(), &"st-1".into(), world.at()).unwrap().to_string();
        assert_eq!(why, "failed: rejected: not my language");
        world.check_fold();
    }
}

#[test]
fn only_the_agent_of_the_step_can_report() {
    let mut world = running(on_record(true));
    let said = || Verb::Report { said: Box::new(Said::Accepted { reason: None }) };
    world.command("me", said(), "del-a", Some("st-1"));
    assert!(refusal(&world, "me").1.contains("Only the agent that it was handed to"));
    world.command("nowhere", said(), "del-a", None);
    assert_eq!(refusal(&world, "nowhere").0, "not-found");
    let events = end(&mut world, "st-1", done("fine"));
    assert_eq!(names(&events).last(), Some(&"delegation:completed"));
    world.command("late", said(), "del-a", Some("st-1"));
    assert_eq!(refusal(&world, "late").0, "conflict");
}

fn malformed(enforced: bool, code: &str) -> Verdict {
    let message = "Return is not valid JSON: it begins with \"All\".".to_owned();
    let finding = Finding { code: code.into(), message, warns: false };
    let result =
        Outcome { summary: Some("All is fine.".into()), findings: vec![finding], ..Outcome::default() };
    Verdict::Malformed { result: Box::new(result), is_partial: false, enforced }
}

/// A world in which the step's agent can go on with its session.
fn resumable() -> World {
    let mut world = World::new();
    let spec = Spec { limits: Limits::default(), ..on_record(false) };
    world.command("start", Verb::Start { spec: Box::new(spec) }, "del-a", None);
    let session = world.session("del-a", "st-1");
    let cli = Cli { tool: "claude".into(), session: "abc".into() };
    let host = Host { cli: Some(cli), ..Host::default() };
    world.hosts.get_mut(&session).unwrap().state = HostState::Running { frozen: false };
    world.give(Input::Report(Report::Started { session, host }));
    world
}

#[test]
fn an_answer_in_the_wrong_form_is_asked_for_again_once_in_its_own_session() {
    let mut world = resumable();
    let events = end(&mut world, "st-1", malformed(false, "NOT_JSON"));
    assert_eq!(names(&events), ["session:ended", "delegation:subtask-retried"]);
    assert!(world.next_timer());
    let session = world.session("del-a", "st-1");
    let launch = &world.hosts[&session].launch;
    let (cli, asked) = launch.resume.clone().unwrap();
    assert_eq!((cli.session.as_str(), launch.attempt), ("abc", 2));
    assert!(asked.starts_with("JSON only.") && asked.contains(session.as_str()), "{asked}");
    assert!(launch.prompt.ends_with("## Your answer\n\nAll is fine.\n"), "{}", launch.prompt);
    world.check_fold();
    world.obey_all();
    let events = end(&mut world, "st-1", malformed(false, "NOT_JSON"));
    let told = events.iter().find_map(|body| match body {
        Body::SubtaskCompleted(told) => told.reason.clone(),
        _ => None,
    });
    let told = told.expect("it stands, and what is wrong is said");
    assert!(told.starts_with("Return is not valid JSON") && told.contains(session.as_str()), "{told}");
    assert_eq!(world.delegation_word("del-a"), "done");
    world.check_fold();
}

#[test]
fn a_second_try_that_breaks_leaves_the_first_answer() {
    for verdict in [failed("no network"), Verdict::TimedOut { result: None }] {
        let mut world = resumable();
        end(&mut world, "st-1", malformed(false, "NOT_JSON"));
        assert!(world.next_timer());
        world.obey_all();
        end(&mut world, "st-1", verdict);
        assert_eq!(world.word("del-a", "st-1"), "done");
        let task = &world.kernel.delegations()[&"del-a".into()].tasks[0];
        assert_eq!(task.result.as_deref(), Some("All is fine."));
    }
}

#[test]
fn an_enforced_form_fails_after_one_more_try_and_phantom_work_without_one() {
    let mut world = resumable();
    end(&mut world, "st-1", malformed(true, "NOT_JSON"));
    assert!(world.next_timer());
    world.obey_all();
    end(&mut world, "st-1", malformed(true, "NOT_JSON"));
    assert_eq!(world.word("del-a", "st-1"), "failed");
    let mut world = resumable();
    let events = end(&mut world, "st-1", malformed(true, "PHANTOM_WORK"));
    assert!(names(&events).contains(&"delegation:subtask-failed"), "{events:?}");
    assert_eq!(world.word("del-a", "st-1"), "failed", "no words mend what was never made");
}

#[test]
fn a_timeout_keeps_what_was_said_and_is_no_failure() {
    let mut world = running(on_record(false));
    let partial = Outcome { summary: Some("two of five".into()), ..Outcome::default() };
    let events = end(&mut world, "st-1", Verdict::TimedOut { result: Some(Box::new(partial)) });
    assert_eq!(world.word("del-a", "st-1"), "timed-out");
    let told = events.iter().find_map(|body| match body {
        Body::SubtaskTimedOut(told) => Some((told.reason.clone().unwrap(), told.result.clone().unwrap())),
        _ => None,
    });
    let (reason, result) = told.unwrap();
    assert!(reason.contains("what it had done is kept") && reason.contains("Retry"), "{reason}");
    assert_eq!(result.summary.as_deref(), Some("two of five"));
}

#[test]
fn what_is_turned_down_is_ended_by_order() {
    let mut world = running(on_record(false));
    let session = world.session("del-a", "st-1");
    say(&mut world, "no", Said::Rejected { reason: "no".into() });
    let ends = |effect: &Effect| matches!(effect, Effect::Order { session: of, order: Order::End { .. }, .. } if *of == session);
    assert!(world.last_effects.iter().any(ends), "{:?}", world.last_effects);
}
