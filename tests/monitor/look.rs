//! What every view and dialog looks like, as text and as styles, at four sizes.

use insta::assert_snapshot;
use quarterdeck::model::fact::{NodeFact, UsageReport};
use quarterdeck::model::usage::{Count, Tokens};
use quarterdeck::shot;
use rstest::rstest;

use super::deck::{Deck, fleet, session};
use super::export::with_history;

/// Each screen: its name, and the keys that lead to it.
const SCREENS: [(&str, &str); 20] = [
    ("tree", ""),
    ("needs-me", "2"),
    ("needs-me-failure", "2 j j"),
    ("overview", "3"),
    ("sessions", "5"),
    ("settings", "6"),
    ("help", "?"),
    ("palette", ":"),
    ("find", "/ t e s t"),
    ("filter", "f x : y"),
    ("cancel", "c"),
    ("retry", "/ c o n t r a c t enter R"),
    ("failure", "/ c o n t r a c t enter enter"),
    ("question", "/ p u s h enter enter"),
    ("approve", "/ s p l i t enter A"),
    ("change-a-step", "/ s p l i t enter A e"),
    ("failures", "/ i n v o i c e enter R"),
    ("delegate", "D"),
    ("export", "x"),
    ("keep-settings", "6 G enter"),
];

#[test]
fn plain_characters_are_all_that_is_drawn_where_nothing_else_can_be_shown() {
    for (wide, high) in [(40, 12), (80, 24), (120, 40), (200, 60)] {
        for (name, keys) in SCREENS {
            let mut deck = Deck::of(fleet());
            deck.app.ui.settings.ascii = true;
            deck.wait(1);
            deck.draw(wide, high);
            deck.press(keys);
            for _ in 0..7 {
                let text = deck.text(wide, high);
                let odd: String = text.chars().filter(|c| !c.is_ascii()).collect();
                assert!(odd.is_empty(), "{odd:?} in {name} at {wide}x{high}\n{text}");
                if !keys.is_empty() {
                    break;
                }
                deck.press("]");
            }
        }
    }
}

fn shots(name: &str, deck: &mut Deck, (width, height): (u16, u16)) {
    let buffer = deck.draw(width, height);
    let theme = &deck.app.theme;
    let both = format!("{}\n{}", shot::text(&buffer), shot::styles(&buffer, theme));
    assert_snapshot!(format!("{name}-{width}x{height}"), both);
}

#[rstest]
#[case((40, 12))]
#[case((80, 24))]
#[case((120, 40))]
#[case((200, 60))]
fn every_view_and_dialog(#[case] size: (u16, u16)) {
    for (name, keys) in SCREENS {
        let mut deck = Deck::of(fleet());
        deck.wait(1);
        deck.draw(size.0, size.1);
        deck.press(keys);
        shots(name, &mut deck, size);
    }
    shots("history", &mut with_history(), size);
    shots("empty", &mut Deck::new(), size);
}

#[test]
fn a_known_price_is_shown_on_every_screen_that_has_a_column_for_it() {
    let of = |id: &str, dollars: f64| session("claude", id).titled(id).is("running").spent(4000, dollars);
    let unpriced = |id: &str| {
        let report = UsageReport {
            id: Some(format!("{id} unpriced").into()),
            tokens: Tokens::default().with(Count::Input, 10),
            ..UsageReport::default()
        };
        session("claude", id).titled(id).is("running").and(NodeFact::Used(Box::new(report)))
    };
    let all = [of("one", 150.0), of("two", 1000.0), of("three", 12.0), unpriced("three"), unpriced("four")];
    let mut deck = Deck::of(all);
    let shown = [("one", "$150"), ("two", "$1000"), ("three", "≥$12"), ("four", "no price")];
    for wide in 76..200 {
        let text = deck.text(wide, 30);
        for (title, price) in shown {
            let row = text.lines().find(|line| line.contains(&format!(" {title} "))).unwrap();
            let row = row.split('│').nth(1).unwrap_or(row);
            let short = price == "no price" && row.contains("$?");
            assert!((row.contains(price) || short) && !row.contains('–'), "{wide}: {row}");
        }
    }
}
