//! Finding, filtering and sorting.

use quarterdeck::monitor::app::ui::Sort;
use rstest::rstest;

use super::deck::{Deck, fleet};

#[rstest]
#[case("status:failed", &["del-tests", "del-tests/st-2"])]
#[case("is:offered", &["del-plan"])]
#[case("agent:codex", &["del-audit", "del-audit/st-2", "del-tests", "del-tests/st-3"])]
#[case("model:sonnet", &["del-tests", "del-tests/st-2"])]
#[case("kind:delegation pattern:parallel", &["del-tests"])]
#[case("cost>0.5", &["del-tests", "del-tests/st-2"])]
#[case("tokens>18k status:done", &["del-audit", "del-audit/st-1"])]
#[case("agent:codex links", &["del-audit", "del-audit/st-2"])]
#[case("LINKS", &["del-audit", "del-audit/st-2"])]
#[case("zzz", &[])]
fn a_filter_shows_what_passes_and_what_is_above_it(#[case] filter: &str, #[case] rows: &[&str]) {
    let mut deck = Deck::of(fleet());
    deck.press("f").type_in(filter).press("enter");
    assert_eq!(deck.rows(), rows);
}

#[test]
fn a_part_that_means_nothing_is_named() {
    let mut deck = Deck::of(fleet());
    deck.press("f").type_in("colour:red cost>much");
    let text = deck.text(160, 40);
    assert!(text.contains("means nothing: colour:red cost>much"), "{text}");
}

#[test]
fn a_filter_goes_with_escape_and_the_selection_stays() {
    let mut deck = Deck::of(fleet());
    let all = deck.rows();
    deck.press("f").type_in("contract").press("enter j");
    assert_eq!(deck.selected().unwrap(), "del-tests/st-2");
    deck.press("esc");
    assert_eq!(deck.rows(), all);
    assert_eq!(deck.selected().unwrap(), "del-tests/st-2");
}

#[test]
fn a_filter_follows_what_changes() {
    let mut deck = Deck::of(fleet());
    deck.press("f").type_in("status:failed").press("enter");
    deck.tell([super::deck::step("del-audit", "st-2").failed("no")]);
    assert_eq!(deck.rows(), ["del-audit", "del-audit/st-2", "del-tests", "del-tests/st-2"]);
}

#[test]
fn finding_goes_to_the_best_match_then_on_and_back() {
    let mut deck = Deck::of(fleet());
    deck.press("/").type_in("contract");
    assert_eq!(deck.selected().unwrap(), "del-tests/st-2", "while it is typed");
    deck.press("enter");
    deck.press("/ C-u").type_in("test").press("enter");
    let first = deck.selected().unwrap();
    let mut seen = vec![first.clone()];
    for _ in 0..10 {
        deck.press("n");
        let now = deck.selected().unwrap();
        if now == first {
            break;
        }
        seen.push(now);
    }
    assert!(
        seen.contains(&"del-tests/st-3".to_owned()) && seen.contains(&"del-tests/st-2".to_owned()),
        "{seen:?}"
    );
    let second = seen.get(1).cloned();
    deck.press("n N");
    assert_eq!(deck.selected().unwrap(), first, "back again: {second:?}");
}

#[test]
fn finding_opens_what_is_folded_and_escape_goes_back() {
    let mut deck = Deck::of(fleet());
    deck.press("z g");
    assert!(!deck.rows().contains(&"del-audit/st-4".to_owned()));
    deck.press("/").type_in("validation");
    assert_eq!(deck.selected().unwrap(), "del-audit/st-4");
    deck.press("esc");
    assert_eq!(deck.selected().unwrap(), "del-audit");
}

#[test]
fn finding_something_that_is_not_there_says_so() {
    let mut deck = Deck::of(fleet());
    deck.press("/").type_in("qqqq").press("enter n");
    assert!(deck.said().contains("Nothing matches"), "{}", deck.said());
}

#[test]
fn finding_says_while_it_is_typed_and_at_its_end_that_nothing_matches() {
    let mut deck = Deck::of(fleet());
    deck.press("/").type_in("qqqq");
    assert!(deck.text(120, 40).contains("nothing matches"));
    deck.press("C-u").type_in("push");
    assert!(!deck.text(120, 40).contains("nothing matches"));
    deck.press("C-u").type_in("qqqq").press("enter");
    assert_eq!(deck.said(), "Nothing matches \"qqqq\".");
}

#[test]
fn a_filter_that_means_nothing_is_no_filter_and_says_so() {
    let mut deck = Deck::of(fleet());
    let all = deck.rows();
    deck.press("f").type_in("xyz:1").press("enter");
    assert_eq!(deck.rows(), all);
    assert!(deck.said().starts_with("xyz:1 filters nothing."), "{}", deck.said());
    deck.wait(60);
    assert!(!deck.text(120, 40).contains("xyz:1"), "the frame names no filter that is none");
    deck.press("f").type_in("xyz:1 status:failed").press("enter");
    deck.wait(60);
    let text = deck.text(120, 40);
    assert!(text.contains("filter status:failed") && !text.contains("xyz"), "{text}");
}

#[test]
fn a_filter_that_hides_everything_says_so_and_how_it_goes() {
    let mut deck = Deck::of(fleet());
    deck.press("f").type_in("status:zzz").press("enter");
    let text = deck.text(120, 40);
    assert!(
        text.contains("matches the filter status:zzz.") && text.contains("takes the filter off"),
        "{text}"
    );
    deck.press("esc");
    assert!(!deck.text(120, 40).contains("takes the filter off"));
}

#[test]
fn sorting_orders_the_roots_and_folding_still_works() {
    let mut deck = Deck::of(fleet());
    let created = deck.rows();
    deck.press("o o o");
    assert_eq!(deck.app.ui.sort, Sort::Cost);
    let roots = |deck: &mut Deck| -> Vec<String> {
        deck.rows().into_iter().filter(|id| !id.contains("/st-")).collect()
    };
    assert_eq!(roots(&mut deck)[..3], ["del-tests", "del-audit", "del-old"]);
    deck.press("g h");
    assert!(!deck.rows().contains(&"del-tests/st-2".to_owned()), "{:?}", deck.rows());
    deck.press("l");
    assert!(deck.rows().contains(&"del-tests/st-2".to_owned()));
    deck.press("o o");
    assert_eq!(deck.app.ui.sort, Sort::Created);
    assert_eq!(deck.rows(), created);
}

#[test]
fn what_is_sorted_by_state_begins_with_what_needs_somebody() {
    let mut deck = Deck::of(fleet());
    deck.press("o");
    assert_eq!(deck.rows().last().unwrap(), "del-old", "what is over comes last");
}
