//! Moving, folding and marking: the selection is a node, and stays one.

use rstest::rstest;

use super::deck::{Deck, delegation, step};

/// Two delegations of three steps and one without.
fn deck() -> Deck {
    let mut told = Vec::new();
    for id in ["del-a", "del-b"] {
        told.push(delegation(id).titled(id).is("running"));
        told.extend(["st-1", "st-2", "st-3"].map(|nth| step(id, nth).titled(nth).is("running")));
    }
    told.push(delegation("del-c").titled("del-c").is("running"));
    Deck::of(told)
}

#[rstest]
#[case("", "del-a")]
#[case("j", "del-a/st-1")]
#[case("down down", "del-a/st-2")]
#[case("j j k", "del-a/st-1")]
#[case("k", "del-a")]
#[case("G", "del-c")]
#[case("G j", "del-c")]
#[case("G g", "del-a")]
#[case("end home", "del-a")]
#[case("pgdn", "del-c")]
#[case("pgdn pgup", "del-a")]
#[case("j h", "del-a")]
#[case("l", "del-a/st-1")]
#[case("h j", "del-b")]
#[case("h l l", "del-a/st-1")]
#[case("z j", "del-b")]
#[case("j j z", "del-a")]
#[case("z Z j", "del-a/st-1")]
fn keys_move_the_selection(#[case] keys: &str, #[case] selected: &str) {
    let mut deck = deck();
    deck.press(keys);
    assert_eq!(deck.selected().as_deref(), Some(selected), "after {keys:?}");
}

#[test]
fn the_selection_sticks_to_its_node_while_rows_come_and_go_above_it() {
    let mut deck = deck();
    deck.press("z j");
    assert_eq!(deck.selected().unwrap(), "del-b");
    let place =
        |deck: &Deck| deck.app.ui.tree.selected_row(&deck.app.model).unwrap() - deck.app.ui.tree.offset;
    deck.draw(120, 12);
    let before = place(&deck);
    for nth in 1..30 {
        let name = format!("st-{}", nth + 10);
        deck.tell([step("del-a", &name).titled(&name).is("running")]);
        assert_eq!(deck.selected().unwrap(), "del-b");
    }
    deck.press("Z");
    assert_eq!(deck.selected().unwrap(), "del-b");
    deck.draw(120, 12);
    deck.tell([step("del-a", "st-99").titled("late").is("running")]);
    assert_eq!(deck.selected().unwrap(), "del-b");
    assert!(place(&deck) <= before.max(deck.app.ui.tree.height), "it is on screen");
    assert!(deck.text(120, 12).contains("del-b"), "{}", deck.text(120, 12));
}

#[test]
fn what_is_done_folds_by_itself_and_a_person_s_fold_stays() {
    let mut deck = deck();
    assert_eq!(deck.rows().len(), 9);
    deck.tell(["st-1", "st-2"].map(|nth| step("del-b", nth).is("done")));
    deck.tell([delegation("del-b").is("done")]);
    assert_eq!(deck.rows().len(), 9, "something in del-b goes on: it stays in sight");
    deck.tell([step("del-b", "st-3").is("failed")]);
    assert_eq!(deck.rows().len(), 6, "del-b is folded");
    // A person opens it: it stays open, whatever comes.
    deck.press("G k l");
    assert_eq!(deck.selected().unwrap(), "del-b");
    deck.tell([step("del-b", "st-1").is("done"), delegation("del-b").is("done")]);
    assert_eq!(deck.rows().len(), 9);
    // A person folds what is live: it stays folded.
    deck.press("g h");
    deck.tell([step("del-a", "st-1").titled("again"), delegation("del-a").is("running")]);
    assert_eq!(deck.rows().len(), 6);
}

#[test]
fn a_selection_that_folds_away_goes_up_to_what_hides_it() {
    let mut deck = deck();
    deck.press("G k");
    assert_eq!(deck.selected().unwrap(), "del-b/st-3");
    deck.tell(["st-1", "st-2", "st-3"].map(|nth| step("del-b", nth).is("done")));
    deck.tell([delegation("del-b").is("done")]);
    assert_eq!(deck.selected().unwrap(), "del-b");
}

#[test]
fn a_node_that_leaves_hands_the_selection_to_its_neighbour() {
    let mut deck = deck();
    deck.press("j j");
    deck.tell([step("del-a", "st-2").and(quarterdeck::model::fact::NodeFact::Gone)]);
    assert_eq!(deck.selected().unwrap(), "del-a/st-3");
}

#[rstest]
#[case("space", &["del-a"])]
#[case("space space", &["del-a", "del-a/st-1"])]
#[case("space k space", &[])]
#[case("j space j j V", &["del-a/st-1", "del-a/st-2", "del-a/st-3", "del-b"])]
#[case("space space u", &[])]
#[case("space esc", &[])]
fn marks_are_set_taken_back_and_spread(#[case] keys: &str, #[case] marked: &[&str]) {
    let mut deck = deck();
    deck.press(keys);
    let model = &deck.app.model;
    let mut ids: Vec<String> =
        deck.app.ui.tree.marked.iter().map(|ix| model.get(*ix).unwrap().keys[0].to_string()).collect();
    ids.sort();
    assert_eq!(ids, marked, "after {keys:?}");
}

#[test]
fn a_narrow_screen_shows_the_panel_on_enter_and_the_tree_on_escape() {
    let mut deck = deck();
    deck.draw(80, 24);
    deck.press("G enter");
    assert!(!deck.text(80, 24).contains("Delegations"), "the panel has the screen");
    deck.press("esc");
    assert!(deck.text(80, 24).contains("Delegations"));
}
