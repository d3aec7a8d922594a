//! Budgets: what is charged and how often, what is told, what stands still, and what lets it go on.

use std::time::Duration;

use crate::rules::{end, graph, is_pending, proof, refusal, running, start, why, with};
use crate::world::{HostState, World, done, names};
use quarterdeck::engine::kernel::effect::{Effect, Order};
use quarterdeck::engine::kernel::input::Input;
use quarterdeck::model::command::{Above, Limits, PauseMode, Spec, Verb};
use quarterdeck::model::event::Body;
use quarterdeck::model::event::payload::BudgetReached;
use quarterdeck::model::id::SessionId;
use quarterdeck::model::usage::Usd;
use rstest::rstest;
use serde_json::json;

const FREEZE: Verb = Verb::Pause { mode: PauseMode::Freeze, reason: None };
const DRAIN: Verb = Verb::Pause { mode: PauseMode::Drain, reason: None };
const CANCEL: Verb = Verb::Cancel { rollback: false, reason: None };

fn tokens(most: u64) -> impl FnOnce(&mut Limits) {
    move |limits| limits.token_budget = Some(most)
}

fn raise(tokens: u64) -> Verb {
    Verb::Raise { tokens: Some(tokens), cost: None, deadline: None, by_ms: None }
}

/// What was told of budgets, without what nobody set.
fn told(events: &[Body]) -> Vec<BudgetReached> {
    let budgets = events.iter().filter_map(|event| match event {
        Body::BudgetReached(data) => Some(data.clone()),
        _ => None,
    });
    budgets.filter(|data| data.level.as_deref() != Some("noted")).collect()
}

fn levels(events: &[Body]) -> Vec<String> {
    told(events).into_iter().filter_map(|data| data.level).collect()
}

/// Two steps at once, a third after the first; each with a session that runs.
fn two() -> Spec {
    graph(&[("a", &[]), ("b", &[]), ("c", &["a"])])
}

fn is_frozen(world: &World, session: &SessionId) -> bool {
    world.hosts[session].state == HostState::Running { frozen: true }
}

/// A world in which a step of `del-a` handed `del-b` down, and that one `del-c`.
fn nested(spec: Spec) -> World {
    let mut world = running(spec);
    for (above, id) in [("del-a", "del-b"), ("del-b", "del-c")] {
        let parent = Some(Above { delegation_id: above.into(), subtask_id: "a".into() });
        start(&mut world, id, Spec { parent, ..graph(&[("a", &[])]) });
        world.obey_all();
    }
    world
}

#[test]
fn at_eighty_percent_it_is_told_when_and_at_a_hundred_all_stand_still() {
    let mut world = running(with(two(), tokens(1_000)));
    let (a, b) = (world.session("del-a", "a"), world.session("del-a", "b"));
    world.now_ms = 60_000;
    assert!(levels(&world.uses(&a, "m1", 790, None)).is_empty());
    let warned = told(&world.uses(&b, "m2", 10, None));
    assert_eq!(warned.len(), 1);
    assert_eq!((warned[0].level.as_deref(), warned[0].tokens_used), (Some("warned"), Some(800)));
    let forecast = world.at().plus(Duration::from_secs(15));
    assert_eq!(warned[0].forecast, Some(forecast), "800 took a minute, 200 are left");
    assert!(levels(&world.uses(&a, "m3", 10, None)).is_empty(), "it is told once");

    let reached = world.uses(&a, "m4", 190, None);
    assert_eq!(levels(&reached), ["reached"]);
    let orders =
        world.last_effects.iter().filter(|one| matches!(one, Effect::Order { order: Order::Freeze, .. }));
    assert_eq!(orders.count(), 2, "with the very report that reached it");
    world.obey_all();
    assert!(is_frozen(&world, &a) && is_frozen(&world, &b));
    assert_eq!((world.delegation_word("del-a"), world.word("del-a", "a")), ("paused", "paused"));
    let paused = |event: &Body| match event {
        Body::Paused(data) => data.reason.clone(),
        Body::SubtaskPaused(data) => data.reason.clone(),
        _ => None,
    };
    let reasons: Vec<String> = world.events.iter().filter_map(|event| paused(&event.body)).collect();
    assert_eq!(reasons, ["budget", "budget", "budget"], "both steps, and the delegation");
    assert!(
        why(&world, "a").starts_with("frozen: the budget of del-a is spent: 1000 of 1000 tokens. Raise it")
    );

    // One of them had ended just then: nothing is started for it.
    end(&mut world, "a", done("fine"));
    assert!(why(&world, "c").starts_with("held: the budget of del-a is spent"), "{}", why(&world, "c"));
    assert_eq!(world.hosts.len(), 2);
    world.check_fold();
}

#[test]
fn a_raise_lets_all_go_on_and_its_receipt_waits_for_that() {
    let mut world = running(with(two(), tokens(1_000)));
    let (a, b) = (world.session("del-a", "a"), world.session("del-a", "b"));
    world.uses(&a, "m1", 1_200, None);
    world.obey_all();
    world.command("again", Verb::Resume, "del-a", None);
    let (code, reason) = refusal(&world, "again");
    assert_eq!(code, "conflict");
    assert!(reason.contains("1200 of 1000 tokens") && reason.contains("quarterdeck raise del-a --tokens"));

    for (id, wrong, says) in
        [("less", 900, "may spend 1000 tokens already"), ("spent", 1_200, "has used 1200 tokens already")]
    {
        world.command(id, raise(wrong), "del-a", None);
        assert!(refusal(&world, id).1.contains(says), "{}", refusal(&world, id).1);
    }
    let events = world.command("up", raise(2_000), "del-a", None);
    assert_eq!(
        names(&events)[..3],
        ["command:accepted", "delegation:budget", "delegation:resumed"],
        "{:?}",
        names(&events)
    );
    assert!(is_pending(&world, "up"), "nobody has gone on yet");
    world.obey_all();
    assert_eq!(proof(&world, "up"), "budget now 2000 tokens, 1200 tokens and $0.00 used, 2 of 2 continued");
    assert!(!is_frozen(&world, &a) && !is_frozen(&world, &b));
    assert_eq!((world.delegation_word("del-a"), world.word("del-a", "b")), ("running", "running"));
    assert_eq!(levels(&world.uses(&b, "m2", 400, None)), ["warned"], "the new limit is told anew");
    assert_eq!(levels(&world.uses(&b, "m3", 500, None)), ["reached"]);
    world.obey_all();
    assert!(is_frozen(&world, &a) && is_frozen(&world, &b), "a second time too");
    world.check_fold();
}

#[test]
fn what_is_read_twice_is_charged_once_wherever_the_engine_dies() {
    // Between reading and writing, between writing and deciding, and after any event of the decision.
    for written in 0..6 {
        let mut world = running(with(two(), tokens(1_000)));
        let a = world.session("del-a", "a");
        world.uses(&a, "m1", 600, Some(0.25));
        if written > 0 {
            world.record_usage(&a, "m2", 500, Some(0.25));
        }
        let alive = Input::Report(quarterdeck::engine::kernel::input::Report::Alive { session: a.clone() });
        world.give_and_crash(alive, written);
        // The next engine reads the same output from where its log ended, or from the beginning.
        for (message, used) in [("m1", 600), ("m2", 500), ("m1", 600), ("m2", 500)] {
            world.uses(&a, message, used, Some(0.25));
        }
        let spent = world.kernel.delegations()[&"del-a".into()].account.spent;
        assert_eq!((spent.tokens, spent.cost), (1_100, Usd::from_dollars(0.5)), "died after {written}");
        world.obey_all();
        assert!(is_frozen(&world, &a), "died after {written}");
        assert_eq!(world.delegation_word("del-a"), "paused");
        world.check_fold();
    }
}

#[test]
fn a_message_that_grows_is_charged_for_what_it_grew() {
    let mut world = running(with(two(), tokens(1_000)));
    let a = world.session("del-a", "a");
    for used in [10, 500, 700, 700, 300] {
        world.uses(&a, "m1", used, None);
    }
    assert_eq!(world.kernel.delegations()[&"del-a".into()].account.spent.tokens, 700);
    world.uses(&a, "m1", 700, Some(0.5));
    let spent = world.kernel.delegations()[&"del-a".into()].account.spent;
    assert_eq!((spent.cost, spent.unpriced), (Usd::from_dollars(0.5), 0), "its price came later");
}

#[test]
fn a_raise_is_done_once_though_the_engine_dies_at_any_event() {
    for written in 0..6 {
        let mut world = running(with(two(), tokens(1_000)));
        let a = world.session("del-a", "a");
        world.uses(&a, "m1", 1_000, None);
        world.obey_all();
        let command = world.make("up", raise(5_000), "del-a", None);
        world.give_and_crash(Input::Command(Box::new(command.clone())), written);
        world.give(Input::Command(Box::new(command)));
        world.obey_all();
        assert!(proof(&world, "up").contains("2 of 2 continued"), "{written}: {}", proof(&world, "up"));
        assert!(!is_frozen(&world, &a), "died after {written}");
        assert_eq!(world.delegation_word("del-a"), "running", "died after {written}");
        world.check_fold();
    }
}

#[test]
fn who_hands_on_pays_for_it_and_all_below_stand_still() {
    let mut world = nested(with(graph(&[("a", &[]), ("b", &[])]), tokens(1_000)));
    let sessions = ["del-a", "del-b", "del-c"].map(|id| world.session(id, "a"));
    world.uses(&sessions[2], "m1", 600, None);
    world.uses(&sessions[1], "m2", 300, None);
    let spent = |id: &str| world.kernel.delegations()[&id.into()].account.spent.tokens;
    assert_eq!(["del-a", "del-b", "del-c"].map(spent), [900, 900, 600]);
    world.uses(&sessions[2], "m3", 100, None);
    world.obey_all();
    for session in &sessions {
        assert!(is_frozen(&world, session));
    }
    assert_eq!(["del-a", "del-b", "del-c"].map(|id| world.delegation_word(id)), ["paused"; 3]);
    let below = world.kernel.explain(&"del-c".into(), &"a".into(), world.at()).unwrap().to_string();
    assert!(below.contains("the budget of del-a is spent"), "{below}");
    world.command("there", raise(9_000), "del-c", None);
    assert!(refusal(&world, "there").1.contains("raise del-a --tokens"), "{}", refusal(&world, "there").1);
    world.command("up", raise(9_000), "del-a", None);
    world.obey_all();
    assert!(proof(&world, "up").ends_with("4 of 4 continued"), "{}", proof(&world, "up"));
    assert_eq!(["del-a", "del-b", "del-c"].map(|id| world.delegation_word(id)), ["running"; 3]);
    world.check_fold();
}

#[test]
fn nothing_is_handed_on_from_a_step_whose_budget_is_spent() {
    let mut world = running(with(two(), tokens(1_000)));
    let a = world.session("del-a", "a");
    world.uses(&a, "m1", 1_000, None);
    let parent = Some(Above { delegation_id: "del-a".into(), subtask_id: "a".into() });
    start(&mut world, "del-b", Spec { parent, ..graph(&[("a", &[])]) });
    let (code, reason) = refusal(&world, "start-del-b");
    assert_eq!(code, "limit");
    assert!(reason.contains("the budget of del-a is spent"), "{reason}");
}

#[test]
fn the_budget_of_a_step_holds_that_step_and_what_it_handed_on() {
    let spec = with(graph(&[("a", &[]), ("b", &[])]), |limits| limits.step_token_budget = Some(500));
    let mut world = nested(spec);
    let (a, b, below) =
        (world.session("del-a", "a"), world.session("del-a", "b"), world.session("del-c", "a"));
    world.uses(&b, "m1", 490, None);
    assert_eq!(levels(&world.uses(&below, "m2", 500, None)), ["reached"]);
    world.obey_all();
    assert!(is_frozen(&world, &a) && is_frozen(&world, &below) && !is_frozen(&world, &b));
    assert_eq!((world.delegation_word("del-a"), world.delegation_word("del-c")), ("running", "paused"));
    assert!(why(&world, "a").contains("raise del-a/a --tokens"), "{}", why(&world, "a"));
    world.command("up", raise(600), "del-a", Some("a"));
    world.obey_all();
    assert!(proof(&world, "up").contains("3 of 3 continued"), "{}", proof(&world, "up"));
    world.uses(&b, "m3", 10, None);
    world.obey_all();
    assert!(is_frozen(&world, &b), "the other one has its own");
    world.check_fold();
}

#[test]
fn a_failed_step_whose_budget_is_spent_is_not_tried_again_until_it_is_raised() {
    let spec = with(graph(&[("a", &[])]), |limits| {
        (limits.step_token_budget, limits.auto_retry, limits.backoff_ms) = (Some(500), true, 1);
    });
    let mut world = running(spec);
    let a = world.session("del-a", "a");
    world.record_usage(&a, "m1", 700, None);
    world.exit(&a, crate::world::failed("broken"));
    world.next_timer();
    assert_eq!(world.hosts.len(), 1);
    assert!(why(&world, "a").starts_with("held: the budget of del-a/a is spent"), "{}", why(&world, "a"));
    world.command("up", raise(900), "del-a", Some("a"));
    assert_eq!(world.hosts.len(), 2, "it goes on at once");
}

#[test]
fn a_figure_that_nobody_set_only_warns() {
    let mut world = running(graph(&[("a", &[])]));
    let a = world.session("del-a", "a");
    let events = world.uses(&a, "m1", 60_000, None);
    let noted: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Body::BudgetReached(data) => Some((data.level.as_deref().unwrap(), data.subtask_id.is_some())),
            _ => None,
        })
        .collect();
    assert_eq!(noted, [("noted", true), ("noted", false)], "of the step, and of the delegation");
    world.uses(&a, "m2", 60_000, None);
    world.obey_all();
    assert_eq!(world.delegation_word("del-a"), "running");
    world.command("up", raise(900_000), "del-a", None);
    assert!(refusal(&world, "up").1.contains("no budget of tokens to raise"));
    world.check_fold();
}

#[test]
fn money_is_limited_as_far_as_it_is_known_and_that_is_said() {
    let mut world = running(with(two(), |limits| limits.cost_budget = Some(Usd::from_dollars(1.0))));
    let a = world.session("del-a", "a");
    let unpriced = told(&world.uses(&a, "m1", 5_000, None));
    assert_eq!(unpriced[0].level.as_deref(), Some("unpriced"));
    let reason = unpriced[0].reason.as_deref().unwrap();
    assert!(reason.contains("no price") && reason.contains("no budget but time holds the rest"), "{reason}");
    assert_eq!(unpriced.len(), 1);
    assert!(told(&world.uses(&a, "m2", 5_000, None)).is_empty(), "it is said once");
    let of_step = world.kernel.budget_of(&"del-a".into(), &"a".into()).unwrap();
    assert_eq!(of_step, "$0.00 of $1.00 of its delegation used (2 messages have no price)");
    assert_eq!(levels(&world.uses(&a, "m3", 1, Some(0.85))), ["warned"]);
    assert_eq!(levels(&world.uses(&a, "m4", 1, Some(0.20))), ["reached"]);
    world.obey_all();
    assert!(is_frozen(&world, &a));
    let cost = Some(Usd::from_dollars(3.0));
    world.command("up", Verb::Raise { tokens: None, cost, deadline: None, by_ms: None }, "del-a", None);
    world.obey_all();
    assert!(proof(&world, "up").starts_with("budget now $3.00, "), "{}", proof(&world, "up"));
}

#[test]
fn only_a_person_raises_a_budget_and_one_thing_at_a_time() {
    let mut world = running(with(two(), tokens(1_000)));
    let mut command = world.make("mine", raise(9_000), "del-a", None);
    command.by = Some("agent:st-1".into());
    world.give(Input::Command(Box::new(command)));
    assert!(refusal(&world, "mine").1.contains("Only a person can raise it"));
    let both = Verb::Raise { tokens: Some(9_000), cost: None, deadline: None, by_ms: Some(5) };
    world.command("both", both, "del-a", None);
    assert_eq!(refusal(&world, "both").0, "invalid");
}

#[rstest]
#[case::before(true)]
#[case::after(false)]
fn somebodys_pause_outlives_the_budgets(#[case] before: bool) {
    let mut world = running(with(two(), tokens(1_000)));
    let a = world.session("del-a", "a");
    if before {
        world.command("p", FREEZE, "del-a", None);
        world.obey_all();
    }
    world.uses(&a, "m1", 1_000, None);
    world.obey_all();
    if !before {
        world.command("p", FREEZE, "del-a", None);
        world.obey_all();
    }
    assert_eq!(proof(&world, "p"), "2 of 2 frozen");
    world.command("up", raise(2_000), "del-a", None);
    world.obey_all();
    assert!(!proof(&world, "up").contains("continued"), "{}", proof(&world, "up"));
    assert!(is_frozen(&world, &a));
    assert_eq!(world.delegation_word("del-a"), "paused");
    world.command("r", Verb::Resume, "del-a", None);
    world.obey_all();
    assert!(!is_frozen(&world, &a));
    assert_eq!(world.delegation_word("del-a"), "running");
    world.check_fold();
}

#[test]
fn a_pause_that_comes_while_a_raise_waits_lets_its_receipt_end() {
    let mut world = running(with(two(), tokens(1_000)));
    let a = world.session("del-a", "a");
    world.uses(&a, "m1", 1_000, None);
    world.obey_all();
    world.command("up", raise(2_000), "del-a", None);
    assert!(is_pending(&world, "up"));
    world.command("p", FREEZE, "del-a", None);
    assert!(!is_pending(&world, "up"), "it was raised; that it goes on is another's affair now");
    world.obey_all();
    assert!(is_frozen(&world, &a));
    world.check_receipts();
}

#[test]
fn a_drain_lets_what_ran_out_go_on_after_a_raise_and_end() {
    let mut world = running(with(two(), tokens(1_000)));
    let a = world.session("del-a", "a");
    world.command("d", DRAIN, "del-a", None);
    world.uses(&a, "m1", 1_000, None);
    world.obey_all();
    assert!(is_frozen(&world, &a));
    world.command("up", raise(2_000), "del-a", None);
    world.obey_all();
    assert!(!is_frozen(&world, &a));
    for step in ["a", "b"] {
        end(&mut world, step, done("fine"));
    }
    assert_eq!((world.delegation_word("del-a"), world.hosts.len()), ("paused", 2), "nothing new began");
    world.check_fold();
}

#[test]
fn what_stands_still_for_a_budget_can_be_cancelled() {
    let mut world = running(with(two(), tokens(1_000)));
    let a = world.session("del-a", "a");
    world.uses(&a, "m1", 1_000, None);
    world.obey_all();
    world.command("c", CANCEL, "del-a", None);
    world.obey_all();
    assert_eq!(world.delegation_word("del-a"), "cancelled");
    world.check_receipts();
    world.check_fold();
}

#[test]
fn its_time_stands_while_a_budget_holds_it() {
    let mut world = running(with(graph(&[("a", &[])]), |limits| {
        (limits.token_budget, limits.subtask_timeout_ms) = (Some(1_000), Some(60_000));
    }));
    let a = world.session("del-a", "a");
    world.now_ms = 20_000;
    world.uses(&a, "m1", 1_000, None);
    world.obey_all();
    world.now_ms = 500_000;
    world.command("up", raise(2_000), "del-a", None);
    world.obey_all();
    world.next_timer();
    assert_eq!(world.now_ms, 540_000, "forty seconds were left");
}

fn settings(limits: &serde_json::Value) -> Input {
    let names = limits.as_object().unwrap().keys();
    let layers: serde_json::Map<String, serde_json::Value> =
        names.map(|name| (format!("limits.{name}"), "project".into())).collect();
    Input::Settings { settings: json!({ "limits": limits, "layers": layers }), by: None }
}

#[test]
fn a_days_budget_is_of_all_delegations_and_is_new_the_next_day() {
    let mut world = running(two());
    world.give(settings(&json!({ "maxTokensPerDay": 1_000 })));
    start(&mut world, "del-z", graph(&[("a", &[])]));
    world.obey_all();
    let (a, z) = (world.session("del-a", "a"), world.session("del-z", "a"));
    world.uses(&a, "m1", 500, None);
    assert_eq!(levels(&world.uses(&z, "m2", 500, None)), ["reached", "reached"], "of each delegation");
    world.obey_all();
    assert!(is_frozen(&world, &a) && is_frozen(&world, &z));
    assert!(why(&world, "a").contains("today's budget of all delegations is spent: 1000 of 1000 tokens"));
    start(&mut world, "del-n", graph(&[("a", &[])]));
    assert_eq!(world.hosts.len(), 3, "a new one waits too");
    world.command("up", raise(5_000), "del-a", None);
    assert!(refusal(&world, "up").1.contains("limits.max-tokens-per-day"));

    world.crash();
    while world.timers.keys().any(|key| key.to_string() == "end of the day") {
        world.next_timer();
    }
    assert_eq!(world.at().millis() % 86_400_000, 0, "midnight");
    world.obey_all();
    assert!(!is_frozen(&world, &a) && !is_frozen(&world, &z));
    assert_eq!((world.delegation_word("del-z"), world.hosts.len()), ("running", 4));
    world.check_fold();
}

#[test]
fn the_budget_of_all_holds_until_the_setting_is_raised() {
    let mut world = running(two());
    world.give(settings(&json!({ "maxCostOverall": 1.5 })));
    let a = world.session("del-a", "a");
    assert_eq!(levels(&world.uses(&a, "m1", 10, Some(2.0))), ["reached"]);
    world.obey_all();
    assert!(is_frozen(&world, &a));
    assert!(why(&world, "a").contains("$2.00 of $1.50"), "{}", why(&world, "a"));
    world.give(settings(&json!({ "maxCostOverall": 5.0 })));
    world.obey_all();
    assert!(!is_frozen(&world, &a));
    assert_eq!(world.delegation_word("del-a"), "running");
    world.check_fold();
}

#[test]
fn one_slot_is_enough_for_three_levels() {
    let mut world = World::new();
    world.give(settings(&json!({ "maxConcurrentAgents": 1 })));
    start(&mut world, "del-a", graph(&[("a", &[])]));
    world.obey_all();
    for (above, id) in [("del-a", "del-b"), ("del-b", "del-c")] {
        let parent = Some(Above { delegation_id: above.into(), subtask_id: "a".into() });
        start(&mut world, id, Spec { parent, ..graph(&[("a", &[]), ("b", &[])]) });
        world.obey_all();
    }
    assert_eq!(world.kernel.busy(), 1, "who waits for what it handed on holds no slot");
    let mut ended = 0;
    while let Some(session) = works(&world) {
        assert!(world.kernel.busy() <= 1);
        world.exit(&session, done("fine"));
        world.obey_all();
        ended += 1;
    }
    assert_eq!((ended, world.hosts.len()), (5, 5));
    assert_eq!(["del-a", "del-b", "del-c"].map(|id| world.delegation_word(id)), ["done"; 3]);
}

/// Returns a session that runs and waits for nothing that it handed on.
fn works(world: &World) -> Option<SessionId> {
    let waits = |session: &SessionId| {
        let (id, index) = world.kernel.locate(session).unwrap();
        world.kernel.delegations().values().any(|below| {
            let parent = below.parent.as_ref();
            !below.is_ended() && parent.is_some_and(|at| at.delegation == id && at.index == index)
        })
    };
    let mut running = world.hosts.iter().filter(|(_, host)| matches!(host.state, HostState::Running { .. }));
    running.find(|(session, _)| !waits(session)).map(|(session, _)| session.clone())
}
