//! Dialogs: what is pasted into them, and what they show when they are taller than the screen.

use quarterdeck::model::command::{ApprovedStep, Verb};
use quarterdeck::model::fact::NodeFact;
use quarterdeck::model::handoff::{Decision, SubtaskSpec};
use quarterdeck::monitor::app::effect::{Effect, News, PastEntry};
use quarterdeck::monitor::app::ui::Layer;
use rstest::rstest;

use super::deck::{Deck, ENGINE, delegation, fleet, step, words};

/// Returns the task that was handed over.
fn handed_over(deck: &mut Deck) -> String {
    match deck.asked_plans().as_slice() {
        [(_, handover)] => handover.text.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_long_task_that_is_pasted_arrives_whole_with_its_lines() {
    let line = "Fix the link in docs/guide.md and run the tests again, please.";
    let text = vec![line; 64 * 1024 / (line.len() + 1)].join("\r");
    assert!(text.len() > 60_000);
    let mut deck = Deck::of(fleet());
    deck.press("D").type_in("First: ").paste(&text);
    deck.draw(120, 40);
    deck.press("enter");
    assert_eq!(handed_over(&mut deck), format!("First: {}", text.replace('\r', "\n")));
}

#[test]
fn what_is_pasted_goes_where_the_cursor_is() {
    let mut deck = Deck::of(fleet());
    deck.press("D").type_in("ad").press("left").paste("b\r\nc").type_in("!");
    let text = deck.text(120, 40);
    assert!(text.contains("ab↵c!d"), "{text}");
    deck.press("enter");
    assert_eq!(handed_over(&mut deck), "ab\nc!d");
}

#[test]
fn what_is_pasted_is_cleaned_and_one_line_where_one_is_asked_for() {
    let mut deck = Deck::of(fleet());
    deck.press("D tab tab")
        .paste("co\u{1b}]0;evil\u{7}d\u{202e}ex")
        .press("S-tab S-tab")
        .paste("a\u{1b}[2Jb\u{0}");
    deck.press("enter");
    let asked = deck.asked_plans();
    let [(_, handover)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((handover.text.as_str(), handover.agent.as_deref()), ("ab", Some("codex")));
    deck.press("esc f").paste("status:failed\nvat");
    assert_eq!(deck.app.ui.filter, "status:failed vat");
}

#[test]
fn more_than_a_field_keeps_is_said_to_be_cut() {
    let mut deck = Deck::of(fleet());
    deck.press("D").paste(&"x".repeat(70_000));
    assert!(deck.said().contains("its end is cut off"), "{}", deck.said());
}

#[test]
fn what_is_pasted_where_nothing_is_typed_does_nothing() {
    let mut deck = Deck::of(fleet());
    deck.paste("p\rc\rq");
    assert!(deck.effects.is_empty() && deck.app.ui.layers.is_empty());
}

/// A history with one entry of so many steps.
fn with_steps(count: usize) -> Deck {
    let mut deck = Deck::of(fleet());
    deck.press("4");
    let steps: Vec<_> = (1..=count)
        .map(|nth| serde_json::json!({"status": "done", "title": format!("step {nth}.")}))
        .collect();
    let record = serde_json::json!({ "subtasks": steps }).to_string().into();
    let entry = PastEntry { id: "del-1".into(), status: "done".into(), record, ..PastEntry::default() };
    let ticket = deck.app.ui.past.ticket;
    deck.news(News::History { ticket, entries: vec![entry], trouble: None });
    deck.press("enter");
    deck
}

#[test]
fn a_form_to_be_read_scrolls_line_by_line_by_pages_and_to_its_end() {
    let mut deck = with_steps(60);
    let text = deck.text(80, 24);
    assert!(text.contains("step 1.") && text.contains("of 64"), "{text}");
    assert!(!text.contains("step 40."), "{text}");
    deck.press("j");
    assert_eq!(scroll(&deck), Some(1));
    deck.draw(80, 24);
    deck.press("pgdn");
    let text = deck.text(80, 24);
    assert!(!text.contains("step 1.") && text.contains("step 20."), "{text}");
    deck.press("end");
    let text = deck.text(80, 24);
    assert!(text.contains("step 60."), "{text}");
    deck.press("pgdn pgdn");
    assert_eq!(deck.text(80, 24), text, "there is nothing beyond the end");
    deck.press("home");
    assert!(deck.text(80, 24).contains("step 1."));
}

fn scroll(deck: &Deck) -> Option<usize> {
    match deck.app.ui.layers.last() {
        Some(Layer::Form(form)) => form.scroll,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_tall_form_scrolls_by_pages_and_comes_back_to_the_field_that_has_the_keys() {
    let mut deck = Deck::of(fleet());
    deck.press("D");
    let first = deck.text(60, 12);
    assert!(first.contains("what is to be done"), "{first}");
    deck.press("pgdn");
    let second = deck.text(60, 12);
    assert_ne!(second, first);
    assert!(second.contains("parallel"), "{second}");
    deck.press("tab tab tab tab");
    assert!(deck.text(60, 12).contains("how many work side by side"));
}

#[test]
fn the_palette_says_at_once_that_nobody_takes_tasks() {
    let mut deck = Deck::without_engine();
    deck.press(":").type_in("/delegate fix it").press("enter");
    assert!(deck.effects.is_empty(), "{:?}", deck.effects);
    assert!(deck.said().starts_with("Cannot delegate: there is no engine here"), "{}", deck.said());
}

/// A delegation whose steps wait for one another, in a folder of its own.
fn chain() -> Deck {
    let told = quarterdeck::model::fact::Description {
        title: Some("the chain".into()),
        workspace: Some("/work/tree".into()),
        ..Default::default()
    };
    Deck::of([
        delegation("del-c").described(told).is("running"),
        step("del-c", "st-1").titled("first").runs_in("ses-1", 60).spent(2_000, 0.25),
        step("del-c", "st-2").titled("second").is("queued").after(&["st-1"]),
        step("del-c", "st-3").titled("third").is("queued").after(&["st-2"]),
        step("del-c", "st-4").titled("apart").is("queued"),
    ])
}

#[test]
fn a_cancel_says_who_works_with_how_many_processes_and_what_it_cost() {
    let mut deck = chain();
    deck.press("j c");
    let text = deck.text(120, 40);
    assert!(text.contains("1 live with all below: 1 agent with 1 process; spent so far 2.0K"), "{text}");
    assert!(text.contains("$0.25"), "{text}");
}

#[test]
fn a_cancel_counts_what_is_not_committed_and_waits_for_nobody() {
    let mut deck = chain();
    deck.press("j c");
    assert!(deck.text(120, 40).contains("Uncommitted changes: not known yet."));
    let asked = deck.effects.iter().find_map(|effect| {
        let Effect::Changes { ticket, source, workspaces } = effect else { return None };
        Some((*ticket, *source, workspaces.clone()))
    });
    let (ticket, source, workspaces) = asked.expect("the changes are asked for");
    assert_eq!((source, workspaces), (ENGINE, vec!["/work/tree".to_owned()]));
    deck.news(News::Changes { ticket: ticket + 7, text: "another's".into() });
    assert!(!deck.text(120, 40).contains("another's"));
    deck.news(News::Changes { ticket, text: "Uncommitted changes: 3 files in /work/tree\u{1b}[2J".into() });
    let text = deck.text(120, 40);
    assert!(text.contains("3 files in /work/tree") && !text.contains("not known yet"), "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[rstest]
#[case("c enter", &["cancel del-c/st-1"])]
#[case("c tab down enter", &["cancel del-c/st-1", "cancel del-c/st-2", "cancel del-c/st-3"])]
fn a_cancel_takes_those_along_that_wait_for_it_only_where_that_is_said(
    #[case] keys: &str,
    #[case] sent: &[&str],
) {
    let mut deck = chain();
    deck.press("j").press(keys);
    assert_eq!(deck.sent(), sent);
}

#[test]
fn what_nobody_waits_for_has_no_such_choice() {
    let mut deck = chain();
    deck.press("G c");
    let text = deck.text(120, 40);
    assert!(!text.contains("and what waits for it"), "{text}");
}

/// Returns the last question what a rollback would do: its number, and what it would be.
fn foreseen(deck: &Deck) -> (u64, Vec<Verb>) {
    let asked = deck.effects.iter().rev().find_map(|effect| {
        let Effect::Foresee { ticket, commands } = effect else { return None };
        Some((*ticket, commands.iter().map(|(_, command)| command.verb.clone()).collect()))
    });
    asked.unwrap_or_else(|| panic!("it is asked what would be undone"))
}

#[test]
fn a_cancel_says_what_a_rollback_would_undo_and_asks_for_it_where_chosen() {
    let mut deck = chain();
    deck.press("j c");
    let (ticket, verbs) = foreseen(&deck);
    assert_eq!(verbs, [Verb::Cancel { rollback: true, reason: None }]);
    assert!(deck.text(120, 40).contains("looking what that would undo"));
    let told = "Roll back would undo st-1: 2 files back; 1 left alone: b (it was changed since).";
    deck.news(News::Foreseen { ticket, told: Ok(told.into()) });
    let text = deck.text(120, 40);
    assert!(text.contains("Roll back would undo st-1: 2 files back") && !text.contains("looking"), "{text}");
    deck.press("tab tab down enter");
    assert_eq!(deck.commands()[0].verb, Verb::Cancel { rollback: true, reason: None });
}

#[test]
fn what_cannot_be_rolled_back_says_why_before_and_is_not_asked_for() {
    let mut deck = chain();
    deck.press("j c");
    let (ticket, _) = foreseen(&deck);
    let why = "del-c/st-1: this is no git repository.";
    deck.news(News::Foreseen { ticket, told: Err(why.into()) });
    let text = deck.text(120, 40);
    assert!(text.contains("del-c/st-1: this is no git repository."), "{text}");
    deck.press("tab tab down enter");
    assert_eq!(deck.said(), "Cannot roll back: del-c/st-1: this is no git repository.");
    assert!(deck.sent().is_empty() && deck.has_form());
}

#[test]
fn a_failed_step_and_what_is_half_done_are_rolled_back_from_their_dialogs() {
    let mut deck = broken();
    deck.press("j j enter").press("down down down down down enter");
    assert_eq!(deck.sent(), ["rollback del-p/st-2"]);
    let mut deck = broken();
    deck.press("R");
    assert_eq!(foreseen(&deck).1, [Verb::Rollback { reason: None }]);
    deck.press("down down down down down enter");
    assert_eq!(deck.sent(), ["rollback del-p"]);
}

#[test]
fn what_is_done_is_rolled_back_by_a_key_and_what_works_is_not() {
    let mut deck = broken();
    deck.press("j U");
    assert_eq!(foreseen(&deck).1, [Verb::Rollback { reason: None }]);
    deck.type_in("not wanted").press("enter");
    assert_eq!(deck.commands()[0].verb, Verb::Rollback { reason: Some("not wanted".into()) });
    let mut deck = chain();
    deck.press("j U");
    assert!(deck.said().contains("cancel it, with rollback"), "{}", deck.said());
}

#[rstest]
#[case::cancel(chain(), "j c")]
#[case::failure(broken(), "j j enter")]
#[case::failures(broken(), "R")]
fn the_dialogs_of_a_cancel_and_of_failures_are_seen_whole_on_a_small_screen(
    #[case] mut deck: Deck,
    #[case] keys: &str,
) {
    deck.press(keys);
    let (ticket, _) = foreseen(&deck);
    let told = "Roll back would undo st-1, st-2: 12 files back; 2 left alone: src/a.rs (it was changed since), \
                src/b.rs (it was changed since).";
    deck.news(News::Foreseen { ticket, told: Ok(told.into()) });
    let text = deck.text(80, 24);
    assert!(
        !text.contains(" lines 1 to ") && text.contains("roll back") && text.contains("leave it"),
        "{text}"
    );
}

/// A delegation of which two steps failed, one with a session and a word of its agent.
fn broken() -> Deck {
    let mut deck = Deck::of([
        delegation("del-p").titled("half done").is("running"),
        step("del-p", "st-1").titled("good").is("done"),
        step("del-p", "st-2").titled("bad").runs_in("ses-2", 60).failed("3 tests fail"),
        step("del-p", "st-3").titled("worse").failed("no such file"),
    ]);
    deck.app.ui.agents.names = vec!["coder".into(), "simulated".into()];
    deck
}

#[rstest]
#[case("enter", &["retry del-p/st-2"])]
#[case("down enter", &["retry del-p/st-2"])]
#[case("down down enter", &["retry del-p/st-2"])]
#[case("down down down enter", &["skip del-p/st-2"])]
#[case("down down down down enter", &["accept del-p/st-2"])]
fn a_failed_step_is_dealt_with_as_chosen(#[case] keys: &str, #[case] sent: &[&str]) {
    let mut deck = broken();
    deck.press("j j enter").press(keys);
    assert_eq!(deck.sent(), sent);
}

#[test]
fn a_retry_goes_to_another_agent_and_another_model_with_the_failure() {
    let mut deck = broken();
    deck.press("j j enter down tab down tab").type_in("opus-5").press("enter");
    let commands = deck.commands();
    let verb = Verb::Retry {
        with_failure: true,
        agent: Some("coder".into()),
        model: Some("opus-5".into()),
        fresh: false,
    };
    assert_eq!(commands[0].verb, verb);
}

#[test]
fn the_file_that_a_failed_step_left_is_opened_from_its_dialog() {
    let mut deck = broken();
    deck.press("j j enter end");
    deck.effects.clear();
    deck.press("down down down down down down enter");
    assert_eq!(deck.effects, [Effect::EditLog { source: ENGINE, session: "ses-2".into() }]);
    deck.press("j");
    deck.effects.clear();
    deck.press("enter down down down down down down enter");
    assert_eq!(deck.said(), "Cannot open the file: it left none.");
    let opens = |effect: &Effect| matches!(effect, Effect::Edit(_) | Effect::EditLog { .. });
    assert!(!deck.effects.iter().any(opens), "{:?}", deck.effects);
}

#[rstest]
#[case("enter", &["retry del-p/st-2", "retry del-p/st-3"])]
#[case("down down enter", &["skip del-p/st-2", "skip del-p/st-3"])]
#[case("tab down down down enter", &["skip del-p/st-2", "retry del-p/st-3"])]
#[case("down down down down tab tab down enter", &["retry del-p/st-3"])]
#[case("down down down down enter", &[])]
fn of_a_delegation_each_failed_step_is_dealt_with_or_all_at_once(#[case] keys: &str, #[case] sent: &[&str]) {
    let mut deck = broken();
    deck.press("g R");
    let text = deck.text(120, 40);
    assert!(text.contains("retry all failed") && text.contains("bad (st-2): 3 tests fail"), "{text}");
    assert!(text.contains("2 of its steps failed, 1 did not."), "{text}");
    deck.press(keys);
    assert_eq!(deck.sent(), sent, "{}", deck.said());
}

#[test]
fn a_delegation_that_is_over_is_retried_as_a_whole_so_that_what_was_cut_off_comes_back() {
    let mut deck = broken();
    deck.tell([delegation("del-p").is("failed")]);
    deck.press("g R enter");
    assert_eq!(deck.sent(), ["retry del-p"]);
}

#[test]
fn a_proposal_is_taken_whole_by_one_key_and_with_changes_by_another() {
    let plan = || {
        Deck::of([delegation("del-q").titled("the plan").is("offered").proposes(&["one", "two", "three"])])
    };
    let mut deck = plan();
    deck.press("a");
    let commands = deck.commands();
    assert_eq!(
        (words(&commands[0]), &commands[0].verb),
        ("approve del-q".into(), &Verb::Approve { subtasks: None })
    );
    assert!(!deck.has_form());
    let mut deck = plan();
    deck.app.ui.agents.names = vec!["coder".into(), "simulated".into()];
    deck.press("A space down e C-u").type_in("Two, but better").press("tab down enter");
    let text = deck.text(120, 40);
    assert!(text.contains("Two, but better  coder  changed"), "{text}");
    deck.press("enter");
    let taken = |id: &str| ApprovedStep { id: id.into(), ..ApprovedStep::default() };
    let changed =
        ApprovedStep { title: Some("Two, but better".into()), agent: Some("coder".into()), ..taken("st-2") };
    assert_eq!(deck.commands()[0].verb, Verb::Approve { subtasks: Some(vec![changed, taken("st-3")]) });
}

#[test]
fn what_a_proposal_takes_follows_its_ticks_and_what_is_not_known_says_so() {
    let mut deck = Deck::of([delegation("del-q").is("offered").proposes(&["one", "two", "three"])]);
    deck.press("A");
    assert!(deck.text(120, 40).contains("time ~6m00s, tokens ~18.0K, cost –"), "{}", deck.text(120, 40));
    deck.press("space");
    assert!(deck.text(120, 40).contains("time ~4m00s, tokens ~12.0K, cost –"), "{}", deck.text(120, 40));
}

#[test]
fn a_step_keeps_its_title_where_none_is_typed() {
    let mut deck = Deck::of([delegation("del-q").is("offered").proposes(&["one", "two"])]);
    deck.press("A e C-u enter");
    assert_eq!(deck.said(), "A step needs a title.");
    deck.press("esc enter");
    let subtasks = ["st-1", "st-2"].map(|id| ApprovedStep { id: id.into(), ..ApprovedStep::default() });
    assert_eq!(deck.commands()[0].verb, Verb::Approve { subtasks: Some(subtasks.into()) });
}

#[test]
fn several_proposals_are_taken_whole_and_the_steps_of_one_are_not_sent_to_another() {
    let mut deck = Deck::of([
        delegation("del-q").is("offered").proposes(&["one", "two"]),
        delegation("del-r").is("offered").proposes(&["three"]),
    ]);
    deck.press("space space A enter");
    let verbs: Vec<Verb> = deck.commands().into_iter().map(|command| command.verb).collect();
    assert_eq!(verbs, [Verb::Approve { subtasks: None }, Verb::Approve { subtasks: None }]);
}

#[test]
fn a_proposal_that_scored_high_stands_in_a_box_and_any_other_in_its_row() {
    let deck = |score: f64| {
        Deck::of([
            delegation("del-a").titled("at work").is("running"),
            delegation("del-q").titled("the plan").is("offered").proposes_with(score, &["one", "two"]),
        ])
    };
    let mut low = deck(74.9);
    let text = low.text(120, 40);
    assert!(text.contains("the plan") && !text.contains("Proposed"), "{text}");
    let mut high = deck(75.0);
    let text = high.text(120, 40);
    for part in
        ["Proposed · score 75", "2 steps: one, two", "time ~4m00s, tokens ~12.0K, cost –", "2 deal with it"]
    {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    high.press("G");
    assert!(high.text(120, 40).contains("a approve   A approve with changes   d reject"));
    assert!(!high.text(40, 12).contains("score 75"), "a small screen keeps its rows");
    high.tell([delegation("del-q").is("running")]);
    assert!(!high.text(120, 40).contains("Proposed"), "it was taken");
}

#[test]
fn what_needs_me_lists_the_steps_of_a_proposal() {
    let mut deck =
        Deck::of([delegation("del-q").titled("plan").is("offered").proposes_with(80.0, &["one", "two"])]);
    deck.press("2");
    let text = deck.text(120, 40);
    assert!(text.contains("proposes 2 steps, score 80") && text.contains("· two  claude  ~2m00s"), "{text}");
}

#[test]
fn a_step_without_what_comes_before_it_is_named() {
    let spec = |id: &str, dependencies: &[&str]| SubtaskSpec {
        id: id.into(),
        dependencies: dependencies.iter().map(|id| (*id).into()).collect(),
        ..SubtaskSpec::default()
    };
    let subtasks = vec![spec("st-1", &[]), spec("st-2", &["st-1"]), spec("st-3", &[])];
    let decided = NodeFact::Decided(Box::new(Decision { subtasks, ..Decision::default() }));
    let mut deck = Deck::of([delegation("del-q").is("offered").and(decided)]);
    deck.press("A");
    assert!(!deck.text(120, 40).contains("without what comes before"));
    deck.press("space");
    assert!(deck.text(120, 40).contains("without what comes before: st-2"));
    deck.press("down space");
    assert!(!deck.text(120, 40).contains("without what comes before"));
}

#[test]
fn what_is_over_is_not_counted_as_live_and_a_step_that_never_ran_has_spent_nothing() {
    let mut deck = Deck::of([
        delegation("del-a").titled("a").is("running"),
        step("del-a", "st-1").titled("one").failed("broken").spent(2_000, 0.5),
        step("del-a", "st-2").titled("two").is("queued"),
    ]);
    deck.press("g j R");
    let text = deck.text(120, 40);
    assert!(text.contains("Nothing of it is live any more; spent so far 2.0K tokens, $0.50."), "{text}");
    deck.press("esc j c");
    let text = deck.text(120, 40);
    assert!(
        text.contains("1 live with all below, no agent at work; nothing is known to be spent."),
        "{text}"
    );
}

#[test]
fn why_names_other_steps_by_their_titles() {
    let mut deck = Deck::of([
        delegation("del-a").titled("a").is("running"),
        step("del-a", "st-1").titled("Plan").is("running"),
        step("del-a", "st-2").titled("Do").is("queued").after(&["st-1"]),
    ]);
    deck.press("G w");
    let text = deck.text(120, 40);
    assert!(text.contains("It comes after Plan (st-1), which is running."), "{text}");
    let Some(Effect::Explain { ticket, .. }) = deck.effects.last() else { panic!("{:?}", deck.effects) };
    let lines = vec!["del-a/st-2: waits for st-1; 5m of its time".into(), "del-a/st-1: runs".into()];
    deck.news(News::Explained { ticket: *ticket, lines });
    let text = deck.text(120, 40);
    assert!(text.contains("│ Waits for Plan (st-1); 5m of its time."), "{text}");
    assert!(text.contains("│ Plan (st-1): runs."), "{text}");
}

#[test]
fn why_says_once_what_a_step_waits_for_and_that_it_is_the_person() {
    let mut deck = Deck::of([
        delegation("del-a").titled("a").is("running"),
        step("del-a", "st-1").titled("Plan").is("running").asks("q-1", "May I?"),
        step("del-a", "st-2").titled("Do").is("queued").after(&["st-1"]),
    ]);
    deck.press("G w");
    let Some(Effect::Explain { ticket, .. }) = deck.effects.last() else { panic!("{:?}", deck.effects) };
    let lines = vec!["del-a/st-2: waits for st-1".into()];
    deck.news(News::Explained { ticket: *ticket, lines });
    let text = deck.text(120, 40);
    assert!(text.contains("It comes after Plan (st-1), which waits for you."), "{text}");
    assert!(!text.contains("Waits for") && !text.contains("aits for Plan (st-1)"), "{text}");
    let asks = deck.press("esc k w").text(120, 40);
    assert!(asks.contains("It waits for you"), "{asks}");
    assert!(asks.contains("It asks: May I?"), "{asks}");
}
