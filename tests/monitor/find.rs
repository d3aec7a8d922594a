//! Finding, filtering and sorting.

use quarterdeck::monitor::app::places::Places;
use quarterdeck::monitor::app::search::{SLICE, Search, Wanted};
use quarterdeck::monitor::app::ui::Sort;
use rstest::rstest;

use super::deck::{Deck, delegation, fleet, step};

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
    deck.tell([step("del-audit", "st-2").failed("no")]);
    assert_eq!(deck.rows(), ["del-audit", "del-audit/st-2", "del-tests", "del-tests/st-2"]);
}

#[test]
fn a_filter_looks_at_some_nodes_between_two_frames_and_never_at_all_of_them() {
    let mut deck = Deck::of((0..3 * SLICE).map(|nth| {
        let word = if nth % 1000 == 999 { "failed" } else { "queued" };
        delegation(&format!("del-{nth}")).titled("one of many").is(word)
    }));
    deck.press("f").type_in("status:failed");
    assert!(deck.rows().len() < 3 * SLICE / 1000, "a key does not wait for all of them");
    assert!(deck.text(120, 40).contains("searching"));
    for _ in 0..2 {
        assert!(deck.app.ui.is_looking());
        deck.wait(0);
    }
    assert!(!deck.app.ui.is_looking());
    assert_eq!(deck.rows().len(), 3 * SLICE / 1000);
    deck.tell([delegation("del-7").is("failed"), delegation("del-999").is("running")]);
    assert!(!deck.app.ui.is_looking(), "what changes is looked at, and nothing else");
    let rows = deck.rows();
    assert!(rows.contains(&"del-7".to_owned()) && !rows.contains(&"del-999".to_owned()), "{rows:?}");
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

#[test]
fn what_is_sorted_stays_so_as_things_change_and_a_filter_keeps_the_order() {
    let mut deck = Deck::of(fleet());
    deck.press("o o o");
    let cheap = deck.rows().last().unwrap().clone();
    deck.tell([delegation(&cheap).spent(9, 99.0), delegation("del-new").titled("new").spent(9, 50.0)]);
    assert_eq!(deck.rows()[..2], [cheap.clone(), "del-new".to_owned()]);
    deck.tell([step("del-new", "st-1").titled("below").is("running").spent(9, 70.0)]);
    assert_eq!(deck.rows()[..2], ["del-new", "del-new/st-1"]);
    // The same order as one that is made of everything at once.
    let kept = deck.rows();
    deck.press("o o o o o");
    assert_eq!(deck.app.ui.sort, Sort::Cost);
    assert_eq!(deck.rows(), kept);
    deck.press("f").type_in("cost>0.5").press("enter");
    assert_eq!(deck.rows(), ["del-new", "del-new/st-1", &*cheap, "del-tests", "del-tests/st-2"]);
    deck.tell([step("del-new", "st-1").is("done"), delegation("del-new").is("done")]);
    deck.press("esc G");
    assert_eq!(deck.selected().as_ref(), deck.rows().last());
    assert_eq!(deck.rows().len(), kept.len() - 1, "what is done folded meanwhile, all else is as it was");
}

/// A monitor with so many delegations that no single turn looks at them all.
fn large() -> Deck {
    let mut deck = Deck::new();
    let many = 3 * SLICE;
    deck.tell((0..many).map(|nth| {
        let (id, title) = if nth == many / 2 {
            ("needle".to_owned(), "the needle".to_owned())
        } else {
            (nth.to_string(), format!("task {nth}"))
        };
        delegation(&format!("del-{id}")).titled(&title).is("done")
    }));
    deck.press("g");
    deck
}

/// Lets the search go on as the loop does when nothing else is to be done; returns how often.
fn search_on(deck: &mut Deck) -> usize {
    let mut turns = 0;
    while deck.app.ui.search.is_some() {
        deck.app.tick(deck.clock);
        turns += 1;
    }
    turns
}

#[test]
fn a_search_of_many_rows_goes_on_between_frames_and_no_turn_looks_at_more_than_a_slice() {
    let mut deck = large();
    let first = deck.selected();
    deck.press("/").type_in("needle");
    assert_eq!(deck.selected(), first, "it has not looked at every row yet");
    assert!(deck.text(120, 40).contains("searching"));
    let turns = search_on(&mut deck);
    assert_eq!(turns, 2, "each looks at {SLICE} rows, and the key had the first turn");
    assert_eq!(deck.selected().unwrap(), "del-needle");
}

#[test]
fn a_newer_search_takes_the_place_of_one_that_goes_on_and_escape_ends_it() {
    let mut deck = large();
    deck.press("/").type_in("needlx");
    deck.press("backspace");
    search_on(&mut deck);
    assert_eq!(deck.selected().unwrap(), "del-needle");
    deck.press("esc /").type_in("task");
    assert!(deck.app.ui.search.is_some());
    deck.press("esc");
    assert!(deck.app.ui.search.is_none());
}

#[test]
fn a_search_that_was_left_to_itself_says_that_nothing_matches() {
    let mut deck = large();
    deck.press("/").type_in("qqqq").press("enter");
    assert_eq!(deck.said(), "", "it is not known yet");
    search_on(&mut deck);
    assert_eq!(deck.said(), "Nothing matches \"qqqq\".");
    deck.press("n");
    assert!(deck.app.ui.search.is_some());
    search_on(&mut deck);
    assert_eq!(deck.said(), "Nothing matches \"qqqq\".");
}

proptest::proptest! {
    #[test]
    fn what_is_found_in_slices_is_what_is_found_at_once(
        titles in proptest::collection::vec("[a-c]{1,4}", 1..60),
        text in "[a-c]{1,3}",
        slice in 1usize..9,
    ) {
        let told = titles.iter().enumerate();
        let deck = Deck::of(told.map(|(nth, title)| delegation(&format!("del-{nth}")).titled(title).is("done")));
        let (model, places) = (&deck.app.model, Places::default());
        for wanted in [Wanted::Best, Wanted::First] {
            let search = || Search::new(&text, wanted, model.roots().collect());
            let whole = search().look(model, &places, usize::MAX);
            let mut sliced = search();
            let found = std::iter::from_fn(|| Some(sliced.look(model, &places, slice))).find_map(|found| found);
            proptest::prop_assert_eq!(whole, found);
        }
    }
}
