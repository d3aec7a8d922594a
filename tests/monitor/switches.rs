//! What each switch of the screen changes, the bell and the mode.

use quarterdeck::config::keys::find;
use quarterdeck::model::fact::{About, Fact};
use quarterdeck::monitor::app::effect::Effect;
use quarterdeck::monitor::app::ui::Settings;
use quarterdeck::monitor::app::update::SETTINGS;

use super::deck::{Deck, ENGINE, delegation, fleet, now, step};
use super::export::with_history;

/// Two delegations: one at work, one that only waits.
fn deck() -> Deck {
    Deck::of([
        delegation("del-a").titled("Migrate").is("running"),
        step("del-a", "st-1").titled("Plan").is("running").spent(12_000, 0.2),
        delegation("del-b").titled("Later").is("queued"),
        step("del-b", "st-1").titled("Wait").is("queued"),
    ])
}

/// Changes a switch in the view of the settings, and comes back to the tree.
fn switch(deck: &mut Deck, name: &str) {
    let row = SETTINGS.iter().position(|(_, setting, _)| *setting == name).unwrap();
    deck.press("6 g").press(&"j ".repeat(row)).press("enter 1");
    assert!(deck.said().starts_with(name), "{}", deck.said());
}

#[test]
fn the_panel_beside_the_tree_is_open_until_it_is_switched_off() {
    let mut deck = deck();
    for shown in [true, false, true] {
        let text = deck.text(160, 40);
        assert_eq!(text.contains("No decision is on record."), shown, "{text}");
        deck.press(", r");
    }
}

#[test]
fn the_tokens_are_shown_until_they_are_switched_off() {
    let mut deck = deck();
    for shown in [true, false, true] {
        let text = deck.text(160, 40);
        assert_eq!(text.contains("no budget set"), shown, "{text}");
        deck.press(", t");
    }
}

#[test]
fn what_only_waits_is_unfolded_where_everything_live_is_to_be() {
    let mut deck = deck();
    assert_eq!(deck.rows(), ["del-a", "del-a/st-1", "del-b"], "what works is open in any case");
    switch(&mut deck, "expandProgressTree");
    assert_eq!(deck.rows(), ["del-a", "del-a/st-1", "del-b", "del-b/st-1"]);
}

#[test]
fn the_screen_begins_with_what_the_table_of_settings_says() {
    let mut screen = Settings::default();
    for (setting, name, _) in SETTINGS {
        if let Some(key) = find(&format!("ui.{name}")) {
            assert_eq!(key.default_value(), serde_json::json!(*setting.of(&mut screen)), "ui.{name}");
        }
    }
}

#[test]
fn a_compact_tree_has_one_line_for_each_delegation() {
    let mut deck = deck();
    switch(&mut deck, "compactMode");
    assert_eq!(deck.rows(), ["del-a", "del-b"]);
    deck.tell([step("del-a", "st-2").titled("More").is("running")]);
    assert_eq!(deck.rows(), ["del-a", "del-b"], "what comes later stays folded too");
    switch(&mut deck, "compactMode");
    assert_eq!(deck.rows(), ["del-a", "del-a/st-1", "del-a/st-2", "del-b"]);
}

#[test]
fn what_is_done_stays_open_where_it_is_not_to_fold() {
    let mut deck = deck();
    switch(&mut deck, "autoCollapseCompleted");
    deck.tell([step("del-a", "st-1").is("done"), delegation("del-a").is("done")]);
    assert_eq!(deck.rows(), ["del-a", "del-a/st-1", "del-b"]);
    switch(&mut deck, "autoCollapseCompleted");
    assert_eq!(deck.rows(), ["del-a", "del-b"]);
}

/// Returns what was told to ring for since the last look.
fn rung(deck: &mut Deck) -> Vec<String> {
    let effects = std::mem::take(&mut deck.effects);
    let rung = effects.into_iter().filter_map(|effect| {
        let Effect::Notify { text, ring: true, .. } = effect else { return None };
        Some(text)
    });
    rung.collect()
}

#[test]
fn the_bell_rings_once_for_what_needs_a_person_or_is_done_and_only_where_it_is_wanted() {
    let news = |deck: &mut Deck| {
        deck.effects.clear();
        deck.tell([step("del-a", "st-1").failed("no disk")]);
        deck.tell([step("del-a", "st-1").failed("no disk")]);
        rung(deck)
    };
    assert_eq!(news(&mut deck()), Vec::<String>::new(), "it is off unless somebody wants it");
    let mut deck = deck();
    switch(&mut deck, "notificationSound");
    assert_eq!(news(&mut deck), ["Plan: failed"]);
    deck.tell([delegation("del-b").is("done").took(120, 60)]);
    assert_eq!(rung(&mut deck).len(), 1, "an end is told too");
    deck.tell([delegation("del-b").titled("Later on")]);
    assert_eq!(rung(&mut deck), Vec::<String>::new(), "a new title is no end");
}

#[test]
fn nothing_turns_by_itself_where_motion_is_not_wanted() {
    let mut deck = Deck::of(fleet());
    let frames = |deck: &mut Deck| {
        let mut seen = std::collections::BTreeSet::new();
        for part in 0..8 {
            deck.clock = now().plus(std::time::Duration::from_millis(part * 125));
            let text = deck.text(120, 40);
            let row = text.lines().find(|line| line.contains("Fix broken doc links")).unwrap();
            seen.extend(row.chars().filter(|c| "◐◓◑◒".contains(*c)));
        }
        seen.len()
    };
    assert_eq!(frames(&mut deck), 4);
    switch(&mut deck, "reducedMotion");
    assert_eq!(frames(&mut deck), 1);
}

#[test]
fn the_mode_is_in_the_header_and_a_key_asks_for_another() {
    let mut deck = Deck::of(fleet());
    deck.press("C-d");
    assert!(!deck.has_form() && deck.said().starts_with("No engine told its mode yet"), "{}", deck.said());
    let settings = quarterdeck::config::Config::default().told();
    deck.facts(vec![Fact { source: ENGINE, at: None, about: About::Settings(settings) }]);
    assert!(deck.text(160, 40).lines().next().unwrap().contains(" mode suggest "));
    deck.press("C-d");
    assert!(deck.has_form(), "one key alone changes nothing");
    deck.effects.clear();
    deck.press("down enter");
    let [Effect::Configure { key, value: Some(value), .. }] = deck.effects.as_slice() else {
        panic!("{:?}", deck.effects)
    };
    assert_eq!(key.name, "mode");
    assert_ne!(value, "suggest");
}

#[test]
fn the_history_is_filtered_by_its_pattern() {
    let mut deck = with_history();
    deck.app.ui.past.entries[1].pattern = Some("debate".into());
    deck.press("f").type_in("pattern:debate").press("enter");
    let text = deck.text(120, 40);
    assert!(text.contains("calc") && !text.contains("Rename the crate"), "{text}");
}
