//! What is said in passing: read, and in nobody's way.

use quarterdeck::model::fact::{Fact, SourceFact, SourceState};

use super::deck::{Deck, ENGINE, fleet};

/// Returns the lines of the screen but the two at its foot, where news may stand.
fn above(text: &str) -> Vec<&str> {
    text.lines().take(text.lines().count() - 2).collect()
}

#[test]
fn news_takes_the_place_of_older_news_and_errors_stay() {
    let mut deck = Deck::of(fleet());
    deck.press("o o o");
    assert_eq!(deck.app.ui.toasts.len(), 1, "{:?}", deck.app.ui.toasts);
    assert_eq!(deck.said(), "Sorted by cost.");
    deck.app.ui.say("It did not work.", true, deck.clock);
    deck.app.ui.say("It did not work.", true, deck.clock);
    deck.press("o");
    let said: Vec<&str> = deck.app.ui.toasts.iter().map(|toast| toast.text.as_str()).collect();
    assert_eq!(said, ["It did not work.", "Sorted by title."]);
}

#[test]
fn news_covers_nothing_that_the_screen_says() {
    let mut deck = Deck::of(fleet());
    deck.press("o o");
    deck.app.ui.toasts.clear();
    let before = deck.text(120, 14);
    deck.app.ui.say("Sorted by recent.", false, deck.clock);
    let after = deck.text(120, 14);
    assert!(after.contains("Sorted by recent."), "{after}");
    assert_eq!(above(&before), above(&after), "it stands on the line of the receipts");
    // A second one stands on the frame, beside what the frame says.
    deck.app.ui.say("It did not work.", true, deck.clock);
    let both = deck.text(120, 14);
    assert!(both.contains("Sorted by recent.") && both.contains("It did not work."), "{both}");
    assert!(both.contains("by recent · ") && both.contains(" of 12 "), "the counter is still read:\n{both}");
}

#[test]
fn while_a_receipt_is_shown_news_stands_on_the_frame() {
    let mut deck = Deck::of(fleet());
    deck.press("p");
    let receipt = "asked, waiting";
    assert!(deck.text(120, 40).contains(receipt));
    deck.app.ui.say("Sorted by recent.", false, deck.clock);
    let text = deck.text(120, 40);
    assert!(text.contains(receipt) && text.contains("Sorted by recent."), "{text}");
}

#[test]
fn why_something_cannot_be_done_is_not_cut() {
    let mut deck = Deck::of(fleet());
    deck.press("p");
    let why =
        "Cannot skip: it is one of the steps that all the others of this delegation wait for, so retry.";
    deck.app.ui.say(why, true, deck.clock);
    assert!(deck.text(120, 40).contains(why));
}

#[test]
fn news_leaves_no_half_of_what_is_said_of_the_sources() {
    let mut deck = Deck::of(fleet());
    let trouble =
        SourceState::Corrupt { since: deck.clock, what: "it is no registry of sessions at all".into() };
    deck.facts(vec![Fact::source(ENGINE, SourceFact::State(trouble))]);
    let last = |deck: &mut Deck| deck.text(120, 14).lines().nth(12).unwrap().to_owned();
    assert!(last(&mut deck).contains("cannot be read since"), "{}", last(&mut deck));
    deck.app.ui.say(
        "Cannot pause: told by somebody who takes no commands from here, at all.",
        true,
        deck.clock,
    );
    let line = last(&mut deck);
    assert!(line.contains("from here, at all.  ") && line.trim_end().ends_with('…'), "{line}");
    let (_, beside) = line.split_once("at all.").unwrap();
    assert!(beside.trim_start().starts_with("engine"), "it begins with its beginning: {line}");
}
