//! Steps that judge, and steps that hang on what they say.

use crate::rules::{end, refusal, running};
use crate::world::{HostState, World, done, exit, names};
use quarterdeck::decide::pattern::{Cast, Pattern, steps};
use quarterdeck::decide::settings::Patterns;
use quarterdeck::engine::kernel::effect::Effect;
use quarterdeck::engine::kernel::input::{Input, Report};
use quarterdeck::model::command::{Judges, Limits, Spec, StepSpec, Verb, When};
use quarterdeck::model::event::Body;

fn spec(pattern: Pattern, rounds: u32) -> Spec {
    let cast = Cast { rounds: Some(rounds), answers: Some(rounds), agents: Vec::new() };
    let subtasks = steps(pattern, "Write the notes", &cast, &Patterns::default()).unwrap();
    let limits = Limits { auto_retry: false, ..Limits::default() };
    Spec { pattern, subtasks, limits, ..Spec::default() }
}

/// Lets the next step end so, and what then can begin run.
fn next(world: &mut World, step: &str, answer: &str) -> Vec<Body> {
    let events = end(world, step, done(answer));
    world.obey_all();
    events
}

fn words(world: &World) -> Vec<String> {
    let tasks = &world.kernel.delegations()[&"del-a".into()].tasks;
    tasks.iter().map(|task| format!("{} {}", task.spec.id, task.word().as_str())).collect()
}

fn why(world: &World, step: &str) -> String {
    world.kernel.explain(&"del-a".into(), &step.into(), world.at()).unwrap().to_string()
}

fn prompt(world: &World, step: &str) -> String {
    world.hosts[&world.session("del-a", step)].launch.prompt.clone()
}

#[test]
fn what_is_approved_at_once_is_revised_by_nobody() {
    let mut world = running(spec(Pattern::Review, 3));
    next(&mut world, "draft", "the notes");
    assert!(prompt(&world, "review-1").contains("## The result\n\nthe notes\n\n"));
    let events = next(&mut world, "review-1", "Good.\nVERDICT: approved\nSCORE: 90");
    assert_eq!(
        names(&events),
        [
            "session:ended",
            "delegation:subtask-completed",
            "delegation:subtask-skipped",
            "delegation:subtask-skipped",
            "delegation:subtask-skipped",
            "delegation:subtask-skipped",
            "delegation:completed"
        ]
    );
    assert_eq!(why(&world, "review-3"), "skipped: approved");
    assert_eq!(world.delegation_word("del-a"), "done");
    let Some(Body::Completed(told)) = events.last() else { panic!("{events:?}") };
    assert_eq!(told.quality, Some(90.0), "what the reviewer gives is what it is worth");
    world.check_fold();
}

#[test]
fn texts_flow_from_round_to_round_until_it_is_approved() {
    let mut world = running(spec(Pattern::Review, 3));
    next(&mut world, "draft", "first text");
    next(&mut world, "review-1", "Too short.\nVERDICT: changes needed\nSCORE: 30");
    let told = prompt(&world, "revise-2");
    assert!(told.contains("first text") && told.contains("Too short."), "{told}");
    next(&mut world, "revise-2", "second text");
    let told = prompt(&world, "review-2");
    assert!(
        told.contains("second text") && told.contains("Too short.") && !told.contains("first text"),
        "{told}"
    );
    next(&mut world, "review-2", "APPROVED");
    assert_eq!(
        words(&world),
        [
            "draft done",
            "review-1 done",
            "revise-2 done",
            "review-2 done",
            "revise-3 skipped",
            "review-3 skipped"
        ]
    );
    assert_eq!(world.delegation_word("del-a"), "done");
}

#[test]
fn what_is_never_approved_waits_for_a_person_and_no_judge_is_asked_again() {
    let mut spec = spec(Pattern::Review, 2);
    spec.limits = Limits::default();
    let mut world = running(spec);
    next(&mut world, "draft", "a");
    next(&mut world, "review-1", "hm");
    next(&mut world, "revise-2", "b");
    next(&mut world, "review-2", "VERDICT: rejected\nSCORE: 20");
    assert_eq!(world.word("del-a", "review-2"), "review");
    assert_eq!(
        why(&world, "review-2"),
        "waits for a look at its result: not approved; quality 20, 70 is needed: judged 20"
    );
    world.crash();
    assert_eq!(world.word("del-a", "review-2"), "review", "a new engine does not ask again either");
    world.command("accept", Verb::Accept { reason: None }, "del-a", Some("review-2"));
    assert_eq!(world.delegation_word("del-a"), "done");
    world.check_fold();
}

#[test]
fn an_unclear_verdict_is_no_approval_and_says_so() {
    let mut world = running(spec(Pattern::Review, 1));
    next(&mut world, "draft", "a");
    next(&mut world, "review-1", "It could be approved, or not.");
    assert_eq!(
        why(&world, "review-1"),
        "waits for a look at its result: it does not say whether it approves, so it does not"
    );
    world.command("no", Verb::Reject { reason: Some("thin".into()) }, "del-a", Some("review-1"));
    assert_eq!(world.word("del-a", "review-1"), "failed");
    let mut world = running(spec(Pattern::Review, 2));
    next(&mut world, "draft", "a");
    let events = next(&mut world, "review-1", "It could be approved, or not.");
    let said = events.iter().find_map(|event| match event {
        Body::SubtaskCompleted(told) => Some((told.approved, told.reason.clone().unwrap())),
        _ => None,
    });
    assert_eq!(said, Some((Some(false), "it does not say whether it approves, so it does not".into())));
    assert_eq!(world.word("del-a", "revise-2"), "running");
}

#[test]
fn approved_but_not_worth_enough_waits_for_a_person_with_all_that_follows() {
    let mut world = running(spec(Pattern::Review, 2));
    next(&mut world, "draft", "a");
    next(&mut world, "review-1", "VERDICT: approved\nSCORE: 55");
    assert_eq!((world.word("del-a", "review-1"), world.word("del-a", "revise-2")), ("review", "queued"));
    world.command("accept", Verb::Accept { reason: None }, "del-a", Some("review-1"));
    assert_eq!(world.word("del-a", "review-2"), "skipped", "a person approved");
    assert_eq!(world.delegation_word("del-a"), "done");
}

#[test]
fn a_judge_of_an_ensemble_sees_every_answer_and_its_score_counts() {
    let mut world = running(spec(Pattern::Ensemble, 2));
    next(&mut world, "answer-2", "blue");
    next(&mut world, "answer-1", "green");
    let told = prompt(&world, "judge");
    assert!(told.contains("## Answer 1\n\ngreen\n\n## Answer 2\n\nblue\n\n"), "{told}");
    next(&mut world, "judge", "Green.\nSCORE: 40");
    assert_eq!(why(&world, "judge"), "waits for a look at its result: quality 40, 70 is needed: judged 40");
    world.command(
        "again",
        Verb::Retry { with_failure: true, agent: None, model: None, fresh: false },
        "del-a",
        Some("judge"),
    );
    world.obey_all();
    next(&mut world, "judge", "Green, surely.\nSCORE: 80");
    assert_eq!(world.delegation_word("del-a"), "done");
}

#[test]
fn a_debate_is_a_chain_in_which_each_answers_the_other() {
    let mut world = running(spec(Pattern::Debate, 3));
    for (step, hears) in [
        ("for-1", ""),
        ("against-1", "said by for-1"),
        ("for-2", "said by against-1"),
        ("against-2", "said by for-2"),
    ] {
        assert!(prompt(&world, step).contains(hears), "{step}: {}", prompt(&world, step));
        next(&mut world, step, &format!("said by {step}"));
    }
    let told = prompt(&world, "synthesis");
    let all = ["said by for-1", "said by against-1", "said by for-2", "said by against-2"];
    assert!(all.iter().all(|said| told.contains(said)), "{told}");
}

#[test]
fn a_review_that_a_person_leaves_out_asks_for_nothing_more_unless_something_is_said_instead() {
    let skip = |result: Option<&str>| Verb::Skip { reason: None, result: result.map(Into::into) };
    let mut world = running(spec(Pattern::Review, 2));
    next(&mut world, "draft", "a");
    world.command("skip", skip(None), "del-a", Some("review-1"));
    world.obey_all();
    assert_eq!(why(&world, "revise-2"), "skipped: review-1 was skipped");
    assert_eq!(world.delegation_word("del-a"), "done");
    let mut world = running(spec(Pattern::Review, 2));
    next(&mut world, "draft", "a");
    world.command("skip", skip(Some("Add an example.\nVERDICT: changes needed")), "del-a", Some("review-1"));
    world.obey_all();
    assert!(prompt(&world, "revise-2").contains("Add an example."));
}

#[test]
fn an_engine_that_dies_after_any_event_of_a_verdict_leaves_the_same_end() {
    for written in 0..9 {
        let mut world = running(spec(Pattern::Review, 3));
        next(&mut world, "draft", "a");
        let session = world.session("del-a", "review-1");
        let exit = exit(done("VERDICT: approved\nSCORE: 88"));
        world.hosts.get_mut(&session).unwrap().state = HostState::Exited(exit.clone());
        world.give_and_crash(Input::Report(Report::Exited { session, exit }), written);
        world.obey_all();
        assert_eq!(world.delegation_word("del-a"), "done", "after {written} events");
        assert!(words(&world)[2..].iter().all(|word| word.ends_with("skipped")), "{:?}", words(&world));
        let skipped = world.events.iter().filter(|event| matches!(event.body, Body::SubtaskSkipped(_)));
        assert_eq!(skipped.count(), 4, "each is left out once");
        world.check_fold();
    }
}

#[test]
fn a_condition_makes_its_step_wait_and_whoever_it_names_is_asked() {
    let step = |id: &str, when: Option<When>| StepSpec {
        id: id.into(),
        prompt: "x".into(),
        when,
        ..StepSpec::default()
    };
    let when = |step: &str, approved| Some(When { step: step.into(), approved });
    let subtasks =
        vec![step("check", None), step("ship", when("check", true)), step("mend", when("check", false))];
    let mut world = running(Spec { subtasks, ..Spec::default() });
    let starts = world.last_effects.iter().filter(|effect| matches!(effect, Effect::Start(_))).count();
    assert_eq!((starts, world.word("del-a", "ship")), (0, "queued"));
    let tasks = &world.kernel.delegations()[&"del-a".into()].tasks;
    assert_eq!(tasks[0].spec.judges, Some(Judges::Approval));
    next(&mut world, "check", "no verdict at all");
    assert_eq!(words(&world), ["check done", "ship skipped", "mend running"]);
    assert_eq!(why(&world, "ship"), "skipped: not approved");
    let nobody = Spec { subtasks: vec![step("a", when("b", true))], ..Spec::default() };
    world.command("wrong", Verb::Start { spec: Box::new(nobody) }, "del-b", None);
    assert!(refusal(&world, "wrong").1.contains("a depends on b, which is no subtask here"));
}
