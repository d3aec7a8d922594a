//! Whatever is pressed and whatever is told, in whatever order: nothing panics, and what is kept adds up.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use quarterdeck::model::delta::Delta;
use quarterdeck::model::node::Node;
use quarterdeck::model::status::WORDS;
use quarterdeck::model::time::Stamp;
use quarterdeck::model::usage::Spend;
use quarterdeck::monitor::app::needs::Need;
use quarterdeck::monitor::app::sessions::is_session;
use quarterdeck::monitor::app::stance::Stances;
use quarterdeck::monitor::app::ui::View;
use quarterdeck::monitor::input::action::Action;
use ratatui::layout::Rect;

use super::deck::{Deck, fleet};
use super::model_facts::{Step, steps};

#[derive(Debug, Clone)]
enum Move {
    Do(Action),
    Press(&'static str),
    Type(&'static str),
    World(Step),
    Draw(u16, u16),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let keys = vec!["enter", "esc", "tab", "up", "down", "space", "pgdn", "backspace", "y", "n"];
    let one = prop_oneof![
        6 => select(Action::ALL.to_vec()).prop_map(Move::Do),
        3 => select(keys).prop_map(Move::Press),
        1 => select(vec!["a", "st", "status:failed", "cost>1", "漢字", "/delegate x"]).prop_map(Move::Type),
        6 => steps(2).prop_filter_map("one", |mut steps| steps.pop()).prop_map(Move::World),
        2 => (1u16..=200, 1u16..=60).prop_map(|(width, height)| Move::Draw(width, height)),
    ];
    vec(one, 1..60)
}

fn play(deck: &mut Deck, one: Move) {
    match one {
        Move::Do(action) => drop(deck.app.act(action, deck.clock)),
        Move::Press(key) => drop(deck.press(key)),
        Move::Type(text) => drop(deck.type_in(text)),
        Move::World(Step::Tell(fact)) => deck.facts(vec![*fact]),
        Move::World(Step::Wait(until)) => {
            deck.clock = deck.clock.max(until);
            deck.wait(1);
        }
        Move::Draw(width, height) => {
            let buffer = deck.draw(width, height);
            assert_eq!(buffer.area, Rect::new(0, 0, width, height));
        }
    }
}

fn check(deck: &mut Deck) {
    let rows = deck.rows().len();
    let (ui, model) = (&deck.app.ui, &deck.app.model);
    // The selection is a row, or there is none.
    match ui.tree.selected {
        Some(_) => assert!(ui.tree.selected_row(model).is_some(), "what is selected is not on screen"),
        None => assert_eq!(rows, 0, "something could be selected"),
    }
    assert_eq!(ui.tree.len(), rows);
    assert!(ui.tree.offset <= rows.saturating_sub(1), "{} of {rows}", ui.tree.offset);
    assert!(ui.tree.marked.iter().all(|ix| model.get(*ix).is_some()), "a mark on nothing");
    // What is kept by what changed equals a count of everything.
    let mut needs: Vec<_> =
        model.nodes().filter_map(|(ix, node)| Need::of(model, node).map(|need| (need, ix))).collect();
    let mut kept: Vec<_> = ui.needs.iter().collect();
    needs.sort();
    kept.sort();
    assert_eq!(kept, needs);
    for need in Need::ALL {
        assert_eq!(ui.needs.count(need), needs.iter().filter(|(one, _)| *one == need).count());
    }
    let mut sessions: Vec<_> = model.nodes().filter(|(_, node)| is_session(node)).map(|(ix, _)| ix).collect();
    let mut kept: Vec<_> = ui.sessions.iter().collect();
    sessions.sort();
    kept.sort();
    assert_eq!(kept, sessions);
    let mut counted = Stances::default();
    let everything = Delta { added: model.nodes().map(|(ix, _)| ix).collect(), ..Delta::default() };
    counted.update(model, &everything);
    assert_eq!(ui.stances, counted);
    for (ix, _) in model.nodes() {
        let is_asking = |node: &Node| {
            !node.status.is_ended() && node.more().is_some_and(|more| !more.questions.is_empty())
        };
        let asks = model.subtree(ix).skip(1).any(|(_, node)| is_asking(node));
        assert_eq!(ui.stances.asks_below(ix), asks);
    }
    let mut spend = Spend::default();
    for root in model.roots() {
        spend.add(&model.get(root).unwrap().subtree_spend());
    }
    assert_eq!(ui.totals.spend, spend);
    for (word, name) in WORDS {
        let counted: u32 = model
            .roots()
            .map(|root| {
                let node = model.get(root).unwrap();
                let below = node.rollup().map_or(0, |rollup| rollup.descendants.of(word));
                let is_empty = node.rollup().is_none_or(|rollup| rollup.descendants.total() == 0);
                let alone = is_empty || node.kind != quarterdeck::model::node::NodeKind::Delegation;
                below + u32::from(alone && node.status.word() == word)
            })
            .sum();
        assert_eq!(ui.totals.of(word), counted, "{name}");
    }
    // A list points at a row of its own.
    if matches!(ui.view, View::NeedsMe | View::Sessions) {
        let len = if ui.view == View::NeedsMe { ui.needs.len() } else { ui.sessions.len() };
        assert_eq!(ui.selected(model).is_some(), len > 0, "{:?}", ui.view);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 800, failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn any_keys_and_any_facts_leave_a_screen_that_adds_up(all in moves()) {
        let mut deck = Deck::new();
        deck.clock = Stamp::from_millis(20);
        for one in all {
            let told = format!("{one:?}");
            play(&mut deck, one);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&mut deck)));
            prop_assert!(result.is_ok(), "after {}", told);
        }
    }

    #[test]
    fn any_state_is_drawn_at_any_size(all in moves(), width in 1u16..=200, height in 1u16..=60) {
        let mut deck = Deck::of(fleet());
        for one in all {
            play(&mut deck, one);
        }
        let buffer = deck.draw(width, height);
        prop_assert_eq!(buffer.area, Rect::new(0, 0, width, height));
    }
}

#[test]
fn every_view_and_dialog_is_drawn_at_every_small_size() {
    for keys in ["1", "2", "3", "4", "5", "6", "?", ":", "c", "D", "/", "f", "w", "x", "G a"] {
        let mut deck = Deck::of(fleet());
        deck.press(keys);
        for width in 1..24 {
            for height in 1..14 {
                deck.draw(width, height);
            }
        }
    }
}
