//! Controls: each sends exactly its command to exactly its target, or says why it does not.

use quarterdeck::model::budget::Limit;
use quarterdeck::model::command::{Answer, ApprovedStep, CommandFact, PauseMode, Verb};
use quarterdeck::model::event::payload::Budget;
use quarterdeck::model::fact::{NodeFact, StatusReport};
use quarterdeck::model::key::SourceId;
use quarterdeck::model::usage::Usd;
use quarterdeck::model::words::Field;
use quarterdeck::monitor::app::effect::{Effect, Handover, News};
use quarterdeck::monitor::app::sent::SentState;
use quarterdeck::monitor::app::ui::{Layer, View};
use rstest::rstest;

use super::deck::{Deck, ago, delegation, fleet, foreign, step, words};

/// One delegation with a step in each state that matters, and one of another tool.
fn deck() -> Deck {
    Deck::of([
        delegation("del-a").titled("the task").is("running"),
        step("del-a", "st-1").titled("works").runs_in("ses-1", 60).until(ago(-300)),
        step("del-a", "st-2").titled("paused").is("paused"),
        step("del-a", "st-3").titled("broken").failed("it broke"),
        step("del-a", "st-4").titled("done").is("done"),
        step("del-a", "st-5").titled("asks").is("running").asks("q-1", "May I?"),
        delegation("del-b").titled("the proposal").is("offered").proposes(&["one", "two"]),
        foreign("notes").titled("another tool's").is("running"),
    ])
}

/// The keys that lead to each of them from the top.
const WORKS: &str = "j";
const PAUSED: &str = "j j";
const BROKEN: &str = "j j j";
const DONE: &str = "j j j j";
const ASKS: &str = "j j j j j";
const PROPOSAL: &str = "j j j j j j";
const FOREIGN: &str = "G";

#[rstest]
#[case(WORKS, "p", &["pause del-a/st-1"])]
#[case(WORKS, "P", &["pause del-a/st-1"])]
#[case(PAUSED, "r", &["resume del-a/st-2"])]
#[case(WORKS, "c", &[])]
#[case(WORKS, "c enter", &["cancel del-a/st-1"])]
#[case(WORKS, "c esc", &[])]
#[case(BROKEN, "R enter", &["retry del-a/st-3"])]
#[case(BROKEN, "R esc", &[])]
#[case(BROKEN, "s enter", &["skip del-a/st-3"])]
#[case(BROKEN, "! enter", &["accept del-a/st-3"])]
#[case(BROKEN, "enter enter", &["retry del-a/st-3"])]
#[case(PROPOSAL, "a", &["approve del-b"])]
#[case(PROPOSAL, "A enter", &["approve del-b"])]
#[case(PROPOSAL, "d enter", &["reject del-b"])]
#[case(ASKS, "i down enter", &["answer del-a/st-5"])]
#[case(ASKS, "i enter", &[])]
#[case(ASKS, "i y", &[])]
#[case(ASKS, "d down down enter", &["answer del-a/st-5"])]
#[case(ASKS, "enter enter enter", &[])]
#[case(BROKEN, "R y", &[])]
#[case(WORKS, "c tab y", &[])]
#[case("", "p", &["pause del-a"])]
#[case("", "c enter", &["cancel del-a"])]
fn a_control_sends_its_command_and_nothing_else(#[case] to: &str, #[case] keys: &str, #[case] sent: &[&str]) {
    let mut deck = deck();
    deck.press(to).press(keys);
    assert_eq!(deck.sent(), sent, "{to} {keys}: {}", deck.said());
}

#[rstest]
#[case(DONE, "p", "Only what is live can be paused. It is done.")]
#[case(PAUSED, "p", "It is held already. It is paused.")]
#[case(WORKS, "r", "Only what is paused can be resumed. It is running.")]
#[case(DONE, "c", "Only what is live can be cancelled. It is done.")]
#[case(WORKS, "R", "Only what failed can be retried. It is running.")]
#[case(DONE, "s", "A step that is done needs no skipping.")]
#[case("", "s", "Only a step can be skipped.")]
#[case(WORKS, "a", "Only a proposal can be approved or rejected.")]
#[case(WORKS, "i", "It asks nothing.")]
#[case(DONE, "T", "Only a running agent can be told.")]
#[case(FOREIGN, "p", "Told by a plain store, which takes no commands from here.")]
#[case(FOREIGN, "c", "Told by a plain store, which takes no commands from here.")]
#[case(PAUSED, "+", "It has neither a deadline nor a budget.")]
fn what_cannot_be_done_says_why_and_sends_nothing(#[case] to: &str, #[case] keys: &str, #[case] why: &str) {
    let mut deck = deck();
    deck.press(to).press(keys);
    assert!(deck.sent().is_empty());
    assert!(!deck.has_form(), "no dialog for what cannot be done");
    assert!(deck.said().contains(why), "{:?} does not say {why:?}", deck.said());
    assert!(deck.app.ui.outbox.sent.is_empty(), "nothing waits for an answer that cannot come");
}

#[test]
fn nothing_is_aimed_at_where_no_node_is_on_screen() {
    for view in ["3", "4", "6"] {
        let mut deck = deck();
        deck.press(WORKS).press(view).press("p c");
        assert!(deck.sent().is_empty(), "view {view}");
        assert!(!deck.has_form(), "view {view}");
        assert!(deck.said().contains("Nothing is selected"), "{}", deck.said());
    }
}

#[test]
fn a_filter_that_hides_everything_leaves_nothing_to_act_on() {
    let mut deck = deck();
    deck.press(WORKS).press("f").type_in("zzz").press("enter p");
    assert!(deck.rows().is_empty());
    assert!(deck.sent().is_empty(), "what is not seen is not paused");
    deck.press("esc p");
    assert_eq!(deck.sent(), ["pause del-a/st-1"], "and it is found again");
}

#[test]
fn pause_freezes_and_drain_lets_finish() {
    let mut deck = deck();
    deck.press(WORKS).press("p P");
    let verbs: Vec<Verb> = deck.commands().into_iter().map(|command| command.verb).collect();
    let [
        Verb::Pause { mode: PauseMode::Freeze, reason: None },
        Verb::Pause { mode: PauseMode::Drain, reason: None },
    ] = &verbs[..]
    else {
        panic!("{verbs:?}");
    };
}

#[test]
fn a_command_acts_on_all_marked_and_names_those_that_it_cannot() {
    let mut deck = deck();
    deck.press(WORKS).press("space space space p");
    assert_eq!(deck.sent(), ["pause del-a/st-1"], "of the three only one can be paused");
    deck.press("c");
    let text = deck.text(120, 40);
    assert!(text.contains("Cancel 2 at once"), "{text}");
    assert!(text.contains("works  del-a/st-1") && text.contains("paused  del-a/st-2"), "{text}");
    assert!(text.contains("Only what is live can be cancelled."), "{text}");
    deck.press("enter");
    assert_eq!(deck.sent(), ["cancel del-a/st-1", "cancel del-a/st-2"]);
}

#[test]
fn each_command_has_an_id_of_its_own() {
    let mut deck = deck();
    deck.press(WORKS).press("p p p");
    let mut ids: Vec<String> = deck.commands().iter().map(|command| command.id.to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[test]
fn text_typed_into_a_form_is_text_and_no_action() {
    let mut deck = deck();
    deck.press(WORKS).press("T").type_in("stop it now: q y n c").press("enter");
    let commands = deck.commands();
    let [command] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!(command.verb, Verb::Tell { text: "stop it now: q y n c".into() });
    assert_eq!(words(command), "tell del-a/st-1");
    assert!(deck.app.ui.layers.is_empty());
}

#[test]
fn an_empty_sentence_is_not_told() {
    let mut deck = deck();
    deck.press(WORKS).press("T enter");
    assert!(deck.sent().is_empty());
    assert!(deck.has_form(), "the form stays, to be filled in");
    assert_eq!(deck.said(), "Type a sentence first.");
}

#[test]
fn a_reason_goes_with_the_command() {
    let mut deck = deck();
    deck.press(WORKS).press("c").type_in("wrong branch").press("enter");
    let commands = deck.commands();
    assert_eq!(commands[0].verb, Verb::Cancel { reason: Some("wrong branch".into()), rollback: false });
}

#[test]
fn a_retry_asks_how() {
    let mut deck = deck();
    deck.press(BROKEN).press("R down tab").type_in("codex").press("enter");
    let commands = deck.commands();
    let verb = Verb::Retry { with_failure: true, agent: Some("codex".into()), model: None, fresh: false };
    assert_eq!(commands[0].verb, verb);
}

#[rstest]
#[case("down enter", Answer::Allow)]
#[case("down down enter", Answer::Deny)]
#[case("down down down enter", Answer::AllowForSession)]
fn a_question_is_answered_as_chosen(#[case] keys: &str, #[case] answer: Answer) {
    let mut deck = deck();
    deck.press(ASKS).press("i").press(keys);
    let commands = deck.commands();
    assert_eq!(commands[0].verb, Verb::Answer { question_id: "q-1".into(), answer });
}

#[test]
fn a_question_offers_what_it_takes_and_nothing_else() {
    let offered = |options: &[&str]| {
        let asks = step("del-a", "st-1").titled("works").is("running").asks_for("q-9", "Where?", options);
        let mut deck = Deck::of([delegation("del-a").titled("the task").is("running"), asks]);
        deck.press("j i");
        deck
    };
    let permission = offered(&["allow", "deny"]).text(120, 40);
    for (part, is_there) in [("allow  this once", true), ("deny in words", true), ("for this session", false)]
    {
        assert_eq!(permission.contains(part), is_there, "{part:?} in\n{permission}");
    }
    let mut choice = offered(&["main", "a copy"]);
    let text = choice.text(120, 40);
    for (part, is_there) in [("main", true), ("a copy", true), ("answer in words", true), ("allow", false)] {
        assert_eq!(text.contains(part), is_there, "{part:?} in\n{text}");
    }
    choice.press("down down enter");
    let answer = Answer::Text("a copy".into());
    assert_eq!(choice.commands()[0].verb, Verb::Answer { question_id: "q-9".into(), answer });
}

#[test]
fn words_typed_into_a_question_are_the_answer_and_never_allow_anything() {
    let mut deck = deck();
    // The first letter would be the key that sends: it is typed instead.
    deck.press(ASKS).press("i").type_in("yes, on the copy").press("enter");
    let answer = Answer::Text("yes, on the copy".into());
    assert_eq!(deck.commands()[0].verb, Verb::Answer { question_id: "q-1".into(), answer });
}

#[test]
fn words_beside_another_choice_are_refused_and_kept() {
    let mut deck = deck();
    deck.press(ASKS).press("i down tab").type_in("no").press("enter");
    assert!(deck.sent().is_empty());
    assert!(deck.has_form() && deck.said().contains("chose allow"), "{}", deck.said());
}

#[test]
fn a_command_with_an_id_acts_on_that_one_whatever_is_marked() {
    let mut deck = deck();
    deck.press(WORKS).press("space").press(":").type_in("/delegation pause del-a/st-5").press("enter");
    assert_eq!(deck.sent(), ["pause del-a/st-5"]);
}

#[test]
fn what_hangs_below_another_marked_one_is_commanded_once() {
    let mut deck = deck();
    deck.press("space space p");
    assert_eq!(deck.sent(), ["pause del-a"]);
}

#[test]
fn a_receipt_stands_on_its_row_and_a_refusal_is_not_hidden_by_a_success() {
    let mut deck = deck();
    deck.press(WORKS).press("p").press("j r");
    let ids: Vec<_> = deck.app.ui.outbox.sent.iter().map(|sent| sent.id.clone()).collect();
    assert!(deck.text(120, 40).contains("… pause"), "{}", deck.text(120, 40));
    for id in &ids {
        deck.command(id, accepted());
    }
    deck.command(
        &ids[0],
        CommandFact::Refused { kind: None, code: None, reason: Some("no such step".into()) },
    );
    deck.command(
        &ids[1],
        CommandFact::Confirmed { kind: None, proof: Some("1 of 1".into()), effects: Vec::new() },
    );
    let text = deck.text(120, 40);
    assert!(text.contains("✖ pause") && text.contains("✔ resume"), "{text}");
    assert!(text.contains("refused: no such step   and 1 confirmed"), "{text}");
}

#[test]
fn steps_of_a_proposal_are_unticked_one_by_one() {
    let mut deck = deck();
    deck.press(PROPOSAL).press("A space enter");
    let commands = deck.commands();
    assert_eq!(
        commands[0].verb,
        Verb::Approve { subtasks: Some(vec![ApprovedStep { id: "st-2".into(), ..ApprovedStep::default() }]) }
    );
}

#[test]
fn a_proposal_without_a_tick_is_not_approved_whole() {
    let mut deck = deck();
    deck.press(PROPOSAL).press("A space down space enter");
    assert!(deck.sent().is_empty());
    assert!(deck.has_form());
    assert!(deck.said().contains("Tick at least one step"), "{}", deck.said());
}

#[test]
fn a_deadline_is_raised_by_what_is_typed() {
    let mut deck = deck();
    deck.press(WORKS).press("+").type_in("ten").press("enter");
    assert!(deck.sent().is_empty());
    assert!(deck.said().contains("no length of time"), "{}", deck.said());
    deck.press("C-u").type_in("10m").press("enter");
    let commands = deck.commands();
    let verb = Verb::Raise { tokens: None, cost: None, deadline: None, by_ms: Some(600_000) };
    assert_eq!(commands[0].verb, verb);
}

/// A delegation that may spend this much, and a step of it that spent some.
fn budgeted(budget: Budget, spent: u64, word: &'static str) -> Deck {
    let report = StatusReport { why: Some("budget".into()), ..StatusReport::of(Field::Delegation, word) };
    Deck::of([
        delegation("del-a")
            .titled("the task")
            .and(NodeFact::Budgeted(Box::new(budget)))
            .and(NodeFact::Status(Box::new(report))),
        step("del-a", "st-1").titled("works").runs_in("ses-1", 60).spent(spent, 1.2),
    ])
}

#[test]
fn a_budget_that_is_spent_needs_somebody_and_is_raised_by_what_is_typed() {
    let most = Budget { tokens: Some(50_000), ..Budget::default() };
    let mut deck = budgeted(most, 52_000, "paused");
    deck.press("2");
    let needs = deck.text(120, 40);
    assert!(
        needs.contains("spent") && needs.contains("its budget is spent: 52.0K of 50.0K, 104% gone"),
        "{needs}"
    );
    assert!(needs.contains("Waits for you") && needs.contains("raise it"), "{needs}");
    deck.press("enter");
    assert!(deck.has_form(), "{}", deck.said());
    assert!(deck.text(120, 40).contains("Its budget: 52.0K of 50.0K tokens used."), "{}", deck.text(120, 40));
    deck.type_in("lots").press("enter");
    assert!(deck.sent().is_empty());
    assert!(deck.said().contains("write it as 50000, 200k"), "{}", deck.said());
    deck.press("C-u").type_in("80k").press("enter");
    let verb = Verb::Raise { tokens: Some(80_000), cost: None, deadline: None, by_ms: None };
    assert_eq!(deck.commands()[0].verb, verb);
}

#[test]
fn a_budget_that_is_near_its_end_is_worth_a_look_and_money_is_typed_with_its_sign() {
    let most = Budget { cost: Some(Usd::from_dollars(1.4)), ..Budget::default() };
    let mut deck = budgeted(most, 900, "running");
    deck.press("2");
    let needs = deck.text(120, 40);
    assert!(needs.contains("Worth a look") && needs.contains("$1.20 of $1.40, 85% gone"), "{needs}");
    deck.press("+").type_in("$5").press("enter");
    let cost = Some(Usd::from_dollars(5.0));
    assert_eq!(deck.commands()[0].verb, Verb::Raise { tokens: None, cost, deadline: None, by_ms: None });
}

#[test]
fn cancel_asks_the_kernel_what_it_would_touch_and_a_late_answer_is_dropped() {
    let mut deck = deck();
    deck.press(WORKS).press("c esc c");
    let asked = deck
        .effects
        .iter()
        .filter_map(|effect| if let Effect::Preview { ticket, .. } = effect { Some(*ticket) } else { None });
    let tickets: Vec<u64> = asked.collect();
    let [first, second] = tickets.as_slice() else { panic!("each asks once: {tickets:?}") };
    deck.news(News::Previewed { ticket: *first, lines: vec!["late and wrong".into()] });
    assert!(!deck.text(120, 40).contains("late and wrong"));
    deck.news(News::Previewed { ticket: *second, lines: vec!["2 agents end".into()] });
    assert!(deck.text(120, 40).contains("2 agents end"));
}

#[test]
fn answers_to_earlier_questions_are_dropped() {
    let mut deck = deck();
    deck.press("4 1 4");
    let tickets: Vec<u64> = deck
        .effects
        .iter()
        .filter_map(|effect| if let Effect::History { ticket } = effect { Some(*ticket) } else { None })
        .collect();
    let [first, second] = tickets.as_slice() else { panic!("{tickets:?}") };
    let old = News::History { ticket: *first, entries: Vec::new(), trouble: Some("old".into()) };
    deck.news(old);
    assert!(!deck.app.ui.past.is_read);
    deck.news(News::History { ticket: *second, entries: Vec::new(), trouble: None });
    assert!(deck.app.ui.past.is_read);
}

fn accepted() -> CommandFact {
    CommandFact::Accepted { kind: "pause".into(), target: None, by: None, options: None, deadline: None }
}

#[test]
fn a_command_is_asked_then_accepted_then_confirmed() {
    let mut deck = deck();
    deck.press(WORKS).press("p");
    let id = deck.commands()[0].id.clone();
    assert!(deck.text(120, 40).contains("pause del-a/st-1: asked, waiting"));
    deck.command(&id, accepted());
    assert!(deck.text(120, 40).contains("pause del-a/st-1: accepted, not confirmed yet"));
    deck.command(
        &id,
        CommandFact::Confirmed { kind: None, proof: Some("3 of 3 stopped".into()), effects: Vec::new() },
    );
    assert!(deck.text(120, 40).contains("pause del-a/st-1: confirmed, 3 of 3 stopped"));
    deck.wait(30);
    assert!(!deck.text(120, 40).contains("confirmed"), "an ending does not stay for ever");
}

#[test]
fn a_refusal_says_why_and_silence_is_shown_as_such() {
    let mut deck = deck();
    deck.press(WORKS).press("p");
    let id = deck.commands()[0].id.clone();
    deck.wait(11);
    assert_eq!(deck.app.ui.outbox.sent[0].state, SentState::Late);
    assert!(deck.text(120, 40).contains("no answer yet; it may still happen"));
    let why = CommandFact::Refused { kind: None, code: None, reason: Some("it has just ended".into()) };
    deck.command(&id, why);
    assert!(deck.text(120, 40).contains("pause del-a/st-1: refused: it has just ended"));
}

#[test]
fn a_command_that_could_not_be_handed_over_says_so() {
    let mut deck = deck();
    deck.press(WORKS).press("p");
    let command = Box::new(deck.commands().remove(0));
    deck.news(News::NotSent { command, why: "the inbox is full".into() });
    assert!(deck.text(120, 40).contains("pause del-a/st-1: not sent: the inbox is full"));
}

#[test]
fn what_needs_me_is_dealt_with_in_its_list_and_stays_under_the_keys() {
    let mut deck = Deck::of(fleet());
    deck.press("2");
    assert_eq!(deck.selected().unwrap(), "del-audit/st-3");
    deck.press("j");
    assert_eq!(deck.selected().unwrap(), "del-plan");
    // A question is more urgent: it comes above, and must not slip under the keys.
    deck.tell([step("del-audit", "st-2").asks("q-2", "Which file?")]);
    assert_eq!(deck.selected().unwrap(), "del-plan");
    deck.press("a");
    assert_eq!(deck.sent(), ["approve del-plan"]);
    // What is dealt with goes; the next one takes its place.
    deck.tell([delegation("del-plan").is("running")]);
    assert_eq!(deck.selected().unwrap(), "del-tests/st-2");
    deck.press("enter enter");
    assert_eq!(deck.sent(), ["retry del-tests/st-2"]);
}

#[test]
fn marks_of_the_tree_do_not_act_in_a_list_that_does_not_show_them() {
    let mut deck = Deck::of(fleet());
    deck.press("j space 2 j a");
    assert_eq!(deck.sent(), ["approve del-plan"]);
}

#[test]
fn from_the_sessions_a_key_leads_to_the_tree() {
    let mut deck = Deck::of(fleet());
    deck.wait(1);
    deck.press("5");
    assert_eq!(deck.selected().unwrap(), "del-tests/st-3", "the overdue one is first");
    deck.press("enter");
    assert_eq!((deck.view(), deck.selected().unwrap()), (View::Tree, "del-tests/st-3".into()));
}

#[test]
fn a_session_that_ends_leaves_the_list() {
    let mut deck = Deck::of(fleet());
    deck.press("5");
    assert_eq!(deck.app.ui.sessions.len(), 3);
    deck.tell([step("del-tests", "st-3").and(NodeFact::Gone)]);
    assert_eq!(deck.app.ui.sessions.len(), 2);
}

#[rstest]
#[case("/delegate -p sequential do it", Handover { text: "do it".into(), pattern: Some("sequential".into()), ..Handover::default() })]
#[case("/delegate -a 3 --agent codex fix  the links", Handover { text: "fix the links".into(), agent: Some("codex".into()), agents: Some(3), ..Handover::default() })]
#[case("/direct just do it", Handover { text: "just do it".into(), pattern: Some("direct".into()), ..Handover::default() })]
fn the_palette_takes_what_is_typed_elsewhere(#[case] typed: &str, #[case] handover: Handover) {
    let mut deck = deck();
    deck.press(":").type_in(typed).press("enter");
    assert_eq!(deck.effects, [Effect::Delegate(Some(SourceId(0)), Box::new(handover))]);
}

#[test]
fn the_palette_takes_depth_and_budget_and_sets_the_mode() {
    let mut deck = deck();
    deck.press(":").type_in("/delegate -d 2 -b 900 x").press("enter");
    let handover = Handover {
        text: "x".into(),
        depth: Some(2),
        budget: Some(Limit { tokens: Some(900), cost: None }),
        ..Handover::default()
    };
    assert_eq!(deck.effects, [Effect::Delegate(Some(SourceId(0)), Box::new(handover))]);
    deck.effects.clear();
    deck.press(":").type_in("/delegation config --mode=auto").press("enter");
    let [Effect::Configure { key, value, layer, .. }] = deck.effects.as_slice() else {
        panic!("{:?}", deck.effects)
    };
    assert_eq!((key.name, value.as_ref().unwrap().as_str()), ("mode", Some("auto")));
    assert_eq!(layer.as_str(), "session");
}

#[rstest]
#[case("/delegate", "/delegate needs a task.")]
#[case("/delegate -p", "-p needs a value.")]
#[case("/delegate -a many x", "\"many\" is no number of agents.")]
#[case("/nonsense", "/nonsense is no command.")]
#[case("/delegation dance", "/delegation dance is no command.")]
#[case("/delegation cancel nobody", "No delegation's id begins with \"nobody\".")]
fn the_palette_says_what_is_wrong(#[case] typed: &str, #[case] why: &str) {
    let mut deck = deck();
    deck.press(":").type_in(typed).press("enter");
    assert!(deck.effects.is_empty());
    assert!(deck.said().contains(why), "{}", deck.said());
}

#[test]
fn the_palette_gives_a_hint_without_doing_anything() {
    let mut deck = deck();
    deck.press(":").type_in("/delegation hint Fix the typo").press("enter");
    assert!(deck.effects.is_empty());
    assert!(deck.said().contains("Task appears suitable for direct execution"), "{}", deck.said());
}

#[test]
fn the_palette_runs_actions_by_name_and_slash_commands_on_ids() {
    let mut deck = deck();
    deck.press(":").type_in("view-settings").press("enter");
    assert_eq!(deck.view(), View::Settings);
    deck.press(":").type_in("/delegation cancel del-a").press("enter");
    assert!(deck.has_form());
    deck.press("enter");
    assert_eq!(deck.sent(), ["cancel del-a"]);
}

#[test]
fn nothing_is_delegated_where_nobody_takes_tasks() {
    let mut deck = Deck::without_engine();
    deck.press("D");
    assert!(!deck.has_form());
    assert!(deck.said().starts_with("Cannot delegate: there is no engine here"), "{}", deck.said());
    assert!(!deck.text(120, 40).contains("hands a task to an agent"));
}

#[test]
fn a_page_key_in_a_dialog_moves_nothing_behind_it() {
    let mut deck = deck();
    deck.press(BROKEN).press("R pgdn home");
    let [Layer::Form(_)] = deck.app.ui.layers.as_slice() else { panic!("{:?}", deck.app.ui.layers) };
    deck.press("esc");
    assert_eq!(deck.selected().unwrap(), "del-a/st-3");
    deck.press("? pgdn end");
    assert_eq!(deck.selected().unwrap(), "del-a/st-3");
    deck.press("f1");
    assert!(deck.app.ui.layers.is_empty(), "the help's key closes it too");
}

#[test]
fn settings_are_switched_and_kept_where_the_person_says() {
    let mut deck = deck();
    deck.press("6 j enter");
    assert!(deck.app.ui.settings.compact_mode);
    deck.press("G enter down enter");
    let [Effect::Save { text, .. }] = deck.effects.as_slice() else { panic!("{:?}", deck.effects) };
    assert!(text.contains("compactMode = true"), "{text}");
}

#[test]
fn a_form_names_keys_that_work_while_text_is_typed() {
    let mut deck = deck();
    deck.press(WORKS).press("c");
    let text = deck.text(120, 40);
    assert!(text.contains("enter cancel it") && text.contains("esc leave it"), "{text}");
}
