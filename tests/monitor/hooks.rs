//! Sessions that no engine runs and whose hook is ours: word is left for it, and its own record is the receipt.

use quarterdeck::model::event::payload::HookRecorded;
use quarterdeck::model::fact::Fact;
use quarterdeck::model::id::{CommandId, Seq};
use quarterdeck::monitor::app::effect::Effect;
use quarterdeck::monitor::app::sent::SentState;
use quarterdeck::source::hooked;

use super::deck::{Deck, ENGINE, now};

fn record(kind: &str, command_id: Option<CommandId>, reason: &str) -> Vec<Fact> {
    let record = HookRecorded {
        id: format!("{kind}-s1"),
        kind: kind.into(),
        session: "s1".into(),
        tool: Some("claude".into()),
        reason: Some(reason.into()),
        at: Some(now()),
        command_id,
        ..HookRecorded::default()
    };
    let mut facts = Vec::new();
    hooked::facts(&record, ENGINE, None, Seq(7), &mut facts);
    facts
}

fn deck() -> Deck {
    let mut deck = Deck::of([]);
    deck.facts(record("session-started", None, "startup"));
    deck
}

/// Returns what was left for hooks since this was last asked.
fn holds(deck: &mut Deck) -> Vec<(CommandId, &'static str, String)> {
    let effects = std::mem::take(&mut deck.effects);
    let of = |effect| {
        let Effect::Hold { id, what, held } = effect else { return None };
        Some((id, what.as_str(), held.key().to_string()))
    };
    effects.into_iter().filter_map(of).collect()
}

#[test]
fn a_pause_says_when_it_will_be_and_is_confirmed_by_the_hook() {
    let mut deck = deck();
    deck.press("p");
    let left = holds(&mut deck);
    let [(id, "pause", on)] = left.as_slice() else { panic!("{left:?}") };
    assert_eq!(on, "claude:s1");
    let screen = deck.text(140, 30);
    assert!(screen.contains("pause claude:s1 at its next tool call"), "{screen}");
    assert!(matches!(deck.app.ui.outbox.foremost().unwrap().state, SentState::Accepted));
    deck.facts(record("held", Some(id.clone()), "Paused by a person."));
    let sent = deck.app.ui.outbox.foremost().unwrap().state.clone();
    let is_told = matches!(&sent, SentState::Confirmed { proof, .. } if proof == "Paused by a person.");
    assert!(is_told, "{sent:?}");
    let screen = deck.text(140, 30);
    assert!(screen.contains("Paused by a person."), "{screen}");
}

#[test]
fn a_cancel_is_asked_for_first_and_a_record_of_another_command_confirms_nothing() {
    let mut deck = deck();
    deck.press("c");
    assert!(holds(&mut deck).is_empty() && !deck.app.ui.layers.is_empty());
    deck.press("enter");
    let left = holds(&mut deck);
    let [(id, "cancel", _)] = left.as_slice() else { panic!("{left:?}") };
    deck.facts(record("stopped", Some("cmd-other".into()), "Told to stop."));
    assert!(matches!(deck.app.ui.outbox.foremost().unwrap().state, SentState::Accepted));
    deck.facts(record("stopped", Some(id.clone()), "Told to stop."));
    assert!(matches!(deck.app.ui.outbox.foremost().unwrap().state, SentState::Confirmed { .. }));
}
