//! Silence explained: each answer has its evidence, and the order in which they are believed.

use quarterdeck::model::fact::{Action, NodeFact, StatusReport};
use quarterdeck::model::node::{Attempt, Question};
use quarterdeck::model::words::Field;
use quarterdeck::monitor::view::panel::silence::{Silence, explain, log_of};

use crate::world::*;

/// Returns the words for a step that has run since second 10 and last gave a sign at second 590.
fn words(deck: &Deck) -> Option<String> {
    let (_, node) = deck.selected();
    explain(&deck.model, &deck.ui.stances, node, log_of(&deck.ui.log, node), deck.scene().now)
        .map(|silence| silence.words())
}

fn running() -> Deck {
    let mut deck = fleet();
    deck.select(&step("st-2"));
    deck
}

#[test]
fn only_what_runs_is_explained() {
    let mut deck = running();
    assert_eq!(words(&deck).as_deref(), Some("working, last sign 10s ago"));
    deck.select(&step("st-1"));
    assert_eq!(words(&deck), None);
    deck.select(&step("st-4"));
    assert_eq!(words(&deck), None);
}

#[test]
fn a_tool_without_its_answer_is_where_it_is() {
    let mut deck = running();
    deck.log("ses-2", vec![(560, tool("t", "Bash", "cargo test"))]);
    assert_eq!(words(&deck).as_deref(), Some("in tool Bash for 40s"));
    deck.ui.log.extend(vec![quarterdeck::monitor::app::effect::LogEntry {
        at: Some(at(570)),
        agent: None,
        entry: answer("t", true, "ok"),
    }]);
    assert_eq!(words(&deck).as_deref(), Some("thinking for 40s"));
}

#[test]
fn a_call_that_is_as_old_as_the_silence_is_no_work() {
    let mut deck = running();
    deck.tell(ENGINE, 590, step("st-2"), NodeFact::MaySleep(120_000));
    deck.log("ses-2", vec![(590, tool("t", "Bash", "cargo test"))]);
    deck.advance(600);
    assert_eq!(words(&deck).as_deref(), Some("in tool Bash for 10s"));
    deck.advance(950);
    let expected = "no sign since 03:43:10, for 6m00s; tool Bash has not answered; whether its process 4102 lives is not known";
    assert_eq!(words(&deck).as_deref(), Some(expected));
}

#[test]
fn the_log_of_another_session_is_no_evidence() {
    let mut deck = running();
    deck.log("ses-1", vec![(560, tool("t", "Bash", "cargo test"))]);
    assert_eq!(words(&deck).as_deref(), Some("working, last sign 10s ago"));
}

#[test]
fn a_thought_is_thinking_until_it_is_silent_for_too_long() {
    let mut deck = running();
    deck.tell(ENGINE, 590, step("st-2"), NodeFact::MaySleep(120_000));
    deck.log("ses-2", vec![(590, thought("hm"))]);
    deck.advance(600);
    assert_eq!(words(&deck).as_deref(), Some("thinking for 10s"));
    deck.advance(950);
    assert_eq!(
        words(&deck).as_deref(),
        Some("no sign since 03:43:10, for 6m00s; whether its process 4102 lives is not known")
    );
}

#[test]
fn a_live_process_is_said_to_be_alive_and_a_dead_one_gone() {
    let mut deck = running();
    deck.tell(
        PROCESS,
        590,
        step("st-2"),
        NodeFact::Status(Box::new(StatusReport::of(Field::Session, "running"))),
    );
    deck.advance(950);
    assert_eq!(words(&deck).as_deref(), Some("no sign since 03:43:10, for 6m00s; its process 4102 is alive"));
    let exit = Attempt { attempt: 1, signal: Some(9), ended_at: Some(at(940)), ..Attempt::default() };
    deck.tell(ENGINE, 940, step("st-2"), NodeFact::Attempted(Box::new(exit)));
    assert_eq!(words(&deck).as_deref(), Some("process gone (pid 4102): ended by signal 9"));
}

#[test]
fn an_open_question_waits_for_you_whatever_else_is_so() {
    let mut deck = running();
    let question = Question {
        question_id: "q".into(),
        asked_at: None,
        text: Some("May I delete docs?\nAll of it.".into()),
        tool: None,
        input: None,
        options: Vec::new(),
    };
    deck.log("ses-2", vec![(560, tool("t", "Bash", "cargo test"))]);
    deck.tell(ENGINE, 595, step("st-2"), NodeFact::Asked(Box::new(question)));
    assert_eq!(words(&deck).as_deref(), Some("waiting for you: May I delete docs?"));
}

#[test]
fn a_limit_is_told_with_its_end_where_that_was_said() {
    let mut deck = running();
    let said = |text: &str| NodeFact::Active(Action { last: Some(text.into()), next: None });
    deck.tell(ENGINE, 595, step("st-2"), said("Rate limit reached, waits until 14:02"));
    assert_eq!(words(&deck).as_deref(), Some("rate-limited until 14:02"));
    deck.tell(ENGINE, 596, step("st-2"), said("usage limit: waits"));
    assert_eq!(words(&deck).as_deref(), Some("rate-limited"));
}

#[test]
fn a_parent_is_never_silent_while_something_below_works() {
    let mut deck = fleet();
    deck.tell(ENGINE, 2, delegation(), NodeFact::MaySleep(60_000));
    deck.advance(2_000);
    let expected = "waiting for Fix broken doc links (running)";
    assert_eq!(words(&deck).as_deref(), Some(expected));
    let (_, node) = deck.selected();
    let silence = explain(&deck.model, &deck.ui.stances, node, None, at(2_000)).unwrap();
    assert!(matches!(silence, Silence::WaitsForChild { others: 0, .. }), "{silence:?}");
}
