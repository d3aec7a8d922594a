//! What is said in passing: read, and in nobody's way.

use quarterdeck::model::command::CommandFact;
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

/// Returns the line of the receipts.
fn foot(deck: &mut Deck, wide: u16) -> String {
    deck.text(wide, 30).lines().nth(28).unwrap().to_owned()
}

#[test]
fn the_newest_word_wins_over_the_receipt_of_an_older_command() {
    let mut deck = Deck::of(fleet());
    deck.press("p");
    let id = deck.commands().last().unwrap().id.clone();
    let proof = Some("3 of 3 stopped".into());
    deck.command(&id, CommandFact::Confirmed { kind: None, proof, effects: Vec::new() });
    assert!(foot(&mut deck, 120).contains("confirmed, 3 of 3 stopped"));
    deck.wait(2);
    deck.press("G p");
    let text = foot(&mut deck, 120);
    assert!(text.contains("Cannot pause: ") && !text.contains("confirmed"), "{text}");
    let whole = deck.text(120, 30);
    assert!(whole.contains("confirmed, 3 of 3 stopped"), "it moves up where there is room:\n{whole}");
    // What the engine says after it is newer again.
    deck.wait(1);
    deck.press("g p");
    let why = "it does not stand still".to_owned();
    let id = deck.commands().last().unwrap().id.clone();
    deck.command(&id, CommandFact::Refused { kind: None, reason: Some(why), code: None });
    let text = foot(&mut deck, 120);
    assert!(text.contains("refused: it does not stand still"), "{text}");
    assert!(deck.text(120, 30).contains("Cannot pause: "), "and an error stays until it was read");
}

#[test]
fn a_short_word_leaves_nothing_of_the_receipt_that_it_covers() {
    for wide in [80, 120, 200] {
        let mut deck = Deck::of(fleet());
        deck.press("p");
        let id = deck.commands().last().unwrap().id.clone();
        let proof = Some("3 of 3 processes of it are stopped, and none of them runs".into());
        deck.command(&id, CommandFact::Confirmed { kind: None, proof, effects: Vec::new() });
        deck.wait(2);
        deck.app.ui.say("Cannot pause.", true, deck.clock);
        let line = foot(&mut deck, wide);
        let (_, beside) = line.split_once("Cannot pause.").unwrap();
        let is_left =
            ["confirmed", "processes", "none of them runs", " s)"].iter().any(|part| beside.contains(part));
        assert!(!is_left, "{wide}: {line}");
    }
}

#[test]
fn why_something_is_refused_is_wrapped_where_the_line_is_too_short() {
    let why = "Process 4242 is the foreground job of a shell: stopped by a signal it would leave that shell with a \
               terminal that nobody reads. Stop it there with ctrl-z, and go on with fg.";
    let read = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for wide in [60, 80, 100, 120, 140, 200] {
        let mut said = Deck::of(fleet());
        said.app.ui.say(format!("Cannot pause: {why}"), true, said.clock);
        let mut refused = Deck::of(fleet());
        refused.press("p");
        let id = refused.commands().last().unwrap().id.clone();
        refused.command(&id, CommandFact::Refused { kind: None, reason: Some(why.into()), code: None });
        for deck in [&mut said, &mut refused] {
            let text = deck.text(wide, 30);
            // Each line of the notice begins at the left edge; what is beside it is not of it.
            let lines: Vec<&str> = text.lines().collect();
            let rows = &lines[lines.len() - 6..lines.len() - 1];
            let all = read(&rows.join(" "));
            let last = read(why).split(' ').rev().take(3).map(str::to_owned).collect::<Vec<_>>();
            assert!(
                last.iter().all(|word| all.contains(word.as_str())) && all.contains("foreground"),
                "{wide}: {text}"
            );
            assert!(lines[0].contains("billing") || wide < 80, "{text}");
        }
    }
}

#[test]
fn a_warning_about_a_source_takes_the_room_that_the_line_has() {
    let mut deck = Deck::of(fleet());
    let what =
        "not read: the 14 oldest of 2014 transcripts, since all of them together are too large to keep";
    let state = SourceState::Partial { what: what.into() };
    deck.facts(vec![Fact::source(ENGINE, SourceFact::State(state))]);
    assert!(foot(&mut deck, 160).contains(what), "{}", foot(&mut deck, 160));
    let cut = foot(&mut deck, 90);
    assert!(cut.contains("… (3 shows all)"), "{cut}");
}
