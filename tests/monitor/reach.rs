//! Every action can be reached, and the help names it.

use std::collections::HashSet;
use std::fmt::Write;

use quarterdeck::monitor::app::ui::Layer;
use quarterdeck::monitor::app::update::palette::matching;
use quarterdeck::monitor::input::action::{Action, Group};
use quarterdeck::monitor::input::keymap::{Context, Keymap};

use super::deck::{Deck, fleet};

#[test]
fn each_action_is_reached_by_a_key_or_by_its_name() {
    let keys = Keymap::built_in();
    for action in Action::ALL {
        let by_key =
            [Context::Normal, Context::Dialog].iter().any(|at| !keys.keys_of(*at, *action).is_empty());
        let by_name = matching(action.name()).contains(action);
        assert!(by_key || by_name, "{} cannot be reached", action.name());
        if action.group() != Group::Dialog {
            assert!(by_name, "the palette does not find {}", action.name());
        }
    }
}

#[test]
fn the_help_names_each_action_with_its_keys() {
    let mut deck = Deck::of(fleet());
    deck.press("?");
    let text = deck.text(120, 200);
    for action in Action::ALL {
        let line = text.lines().find(|line| {
            line.split_whitespace().any(|word| word == action.name()) && line.contains(action.describe())
        });
        let line = line.unwrap_or_else(|| panic!("the help does not name {}", action.name()));
        if let Some(key) = deck.app.keys.hint(*action) {
            assert!(line.contains(&key), "{line:?} does not name {key:?}");
        }
    }
}

#[test]
fn the_help_names_a_key_that_people_know_and_pages_by_what_is_seen() {
    let mut deck = Deck::of(fleet());
    deck.press("?");
    let text = deck.text(100, 30);
    assert!(text.contains("esc close"), "{text}");
    let shown = deck.app.ui.drawn.help_height;
    assert!(shown > 20, "{shown}");
    deck.press("pgdn");
    let [Layer::Help { scroll }] = deck.app.ui.layers.as_slice() else { panic!("{:?}", deck.app.ui.layers) };
    assert_eq!(*scroll, shown - 1, "a line of what was seen stays in sight");
}

#[test]
fn the_help_of_a_narrow_screen_cuts_no_name_and_no_key() {
    let mut deck = Deck::of(fleet());
    deck.press("?");
    let text = deck.text(40, 400);
    let words: HashSet<&str> = text.split_whitespace().collect();
    for action in Action::ALL {
        assert!(words.contains(action.name()), "{} is cut", action.name());
        for key in deck.app.keys.keys_of(Context::Normal, *action) {
            let last = key.split_whitespace().last().unwrap().to_owned();
            assert!(words.contains(last.as_str()), "the key {key} of {} is cut", action.name());
        }
    }
}

#[test]
fn the_help_of_a_small_screen_is_scrolled_to_its_end() {
    let mut deck = Deck::of(fleet());
    deck.press("?");
    let mut seen = String::new();
    for _ in 0..30 {
        let _ = write!(seen, "{}", deck.text(100, 20));
        deck.press("pgdn");
    }
    let words: HashSet<&str> = seen.split_whitespace().collect();
    for action in Action::ALL {
        assert!(words.contains(action.name()), "{} is never seen", action.name());
        let last = action.describe().split_whitespace().last().unwrap();
        assert!(words.contains(last), "what {} does is cut: {last:?} is never seen", action.name());
    }
}

/// The keys of an action as the papers write them.
fn written(keys: &Keymap, action: Action) -> Vec<String> {
    let context = if action.group() == Group::Dialog { Context::Dialog } else { Context::Normal };
    keys.keys_of(context, action).iter().map(|keys| format!("`{keys}`")).collect()
}

#[test]
fn the_papers_name_every_action_with_its_keys() {
    let page = include_str!("../../docs/keys.md");
    let keys = Keymap::built_in();
    for action in Action::ALL {
        let shown = written(&keys, *action).join(" ");
        let row = format!("| {shown} | {} | {} |", action.name(), action.describe());
        assert!(page.contains(&row), "docs/keys.md lacks this row:\n{row}");
    }
}

#[test]
fn every_key_of_the_readme_is_a_key() {
    let readme = include_str!("../../README.md");
    let table = readme.split("| keys | what |").nth(1).unwrap().split("\n\n").next().unwrap();
    let map = Keymap::built_in();
    let known: HashSet<String> = Action::ALL.iter().flat_map(|action| written(&map, *action)).collect();
    let named: Vec<String> = table.split('`').skip(1).step_by(2).map(|key| format!("`{key}`")).collect();
    assert!(named.len() > 25, "{named:?}");
    for key in &named {
        assert!(known.contains(key), "{key} does nothing");
    }
}
