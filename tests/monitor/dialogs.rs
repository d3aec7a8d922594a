//! Dialogs: what is pasted into them, and what they show when they are taller than the screen.

use quarterdeck::monitor::app::effect::{Effect, News, PastEntry};
use quarterdeck::monitor::app::ui::Layer;

use super::deck::{Deck, fleet};

/// Returns the task that was handed over.
fn handed_over(deck: &mut Deck) -> String {
    match std::mem::take(&mut deck.effects).as_slice() {
        [Effect::Delegate(_, handover)] => handover.text.clone(),
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
    let [Effect::Delegate(_, handover)] = deck.effects.as_slice() else { panic!("{:?}", deck.effects) };
    assert_eq!((handover.text.as_str(), handover.agent.as_deref()), ("ab", Some("codex")));
    deck.effects.clear();
    deck.press("f").paste("status:failed\nvat");
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
    deck.press("tab tab tab");
    assert!(deck.text(60, 12).contains("how many at once"));
}

#[test]
fn the_palette_says_at_once_that_nobody_takes_tasks() {
    let mut deck = Deck::without_engine();
    deck.press(":").type_in("/delegate fix it").press("enter");
    assert!(deck.effects.is_empty(), "{:?}", deck.effects);
    assert!(deck.said().starts_with("Cannot delegate: there is no engine here"), "{}", deck.said());
}
