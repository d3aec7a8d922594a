use quarterdeck::model::fact::{Clock, Description};
use quarterdeck::model::rollup::Rollup;
use quarterdeck::model::tree::{Fold, TreeView};
use quarterdeck::model::usage::Usd;

use crate::usage::spent;
use crate::*;

fn with_index(index: u32) -> NodeFact {
    NodeFact::Described(Box::new(Description { index: Some(index), ..Description::default() }))
}

#[test]
fn a_step_hangs_under_its_delegation_whatever_anybody_says_later() {
    let mut model = world();
    seen(&mut model, PLAIN, step("x"));
    hang(&mut model, ENGINE, step("x"), delegation("b"));
    assert!(hangs_under(&model, &step("x"), &delegation("a")));
    assert_eq!(misfits(&model, Misfit::SecondParent), 1);
}

#[test]
fn a_step_hangs_under_its_delegation_whatever_anybody_said_before() {
    let mut model = world();
    hang(&mut model, ENGINE, session("s"), delegation("b"));
    seen(&mut model, PLAIN, Keys::from(session("s")).and(step("x")));
    assert!(hangs_under(&model, &session("s"), &delegation("a")));
}

#[test]
fn the_more_trusted_source_says_where_a_node_hangs() {
    let mut model = world();
    note(&mut model, PLAIN, thing("guess"), NodeFact::Seen(NodeKind::Agent));
    hang(&mut model, PLAIN, cli_agent("u"), thing("guess"));
    hang(&mut model, CLAUDE, cli_agent("u"), cli_session("c"));
    assert!(hangs_under(&model, &cli_agent("u"), &cli_session("c")));
    hang(&mut model, PLAIN, cli_agent("u"), thing("guess"));
    assert!(hangs_under(&model, &cli_agent("u"), &cli_session("c")));
    assert_eq!(misfits(&model, Misfit::SecondParent), 1);
}

#[test]
fn a_parent_is_not_less_trusted_when_a_lesser_source_repeats_it() {
    let mut model = world();
    hang(&mut model, CLAUDE, cli_agent("u"), cli_session("c"));
    hang(&mut model, PLAIN, cli_agent("u"), cli_session("c"));
    hang(&mut model, HOOK, cli_agent("u"), thing("guess"));
    assert!(hangs_under(&model, &cli_agent("u"), &cli_session("c")));
}

#[test]
fn a_node_does_not_hang_under_itself_or_what_is_below_it() {
    let mut model = world();
    hang(&mut model, PLAIN, thing("low"), thing("high"));
    hang(&mut model, ENGINE, thing("high"), thing("low"));
    hang(&mut model, ENGINE, thing("high"), thing("high"));
    assert_eq!(misfits(&model, Misfit::Cycle), 2);
    assert!(hangs_under(&model, &thing("low"), &thing("high")));
}

#[test]
fn a_heading_under_which_a_tool_lists_what_it_cannot_place_is_no_second_parent() {
    let mut model = world();
    hang(&mut model, CLAUDE, cli_agent("a"), cli_session("s"));
    let heading = NodeKey::Foreign(PLAIN, "agents of no known session".into());
    note(&mut model, PLAIN, heading.clone(), NodeFact::Seen(NodeKind::Group));
    hang(&mut model, PLAIN, cli_agent("a"), heading);
    assert!(hangs_under(&model, &cli_agent("a"), &cli_session("s")));
    assert_eq!(misfits(&model, Misfit::SecondParent), 0);
    hang(&mut model, PLAIN, cli_agent("a"), cli_session("t"));
    assert_eq!(misfits(&model, Misfit::SecondParent), 1);
}

#[test]
fn siblings_stand_by_index_then_by_when_they_came() {
    let mut model = world();
    for (id, index) in [("x", None), ("y", Some(1)), ("z", Some(0)), ("w", None)] {
        seen(&mut model, ENGINE, step(id));
        if let Some(index) = index {
            let delta = note(&mut model, ENGINE, step(id), with_index(index));
            assert_eq!(delta.moved.len(), 1);
        }
    }
    let ids: Vec<String> =
        node(&model, &delegation("a")).children().iter().map(|ix| model.name_of(*ix)).collect();
    assert_eq!(ids, ["a/z", "a/y", "a/x", "a/w"]);
}

fn names(model: &Model, parent: &NodeKey) -> Vec<String> {
    node(model, parent).children().iter().map(|ix| model.name_of(*ix)).collect()
}

#[test]
fn agents_stand_by_when_their_own_files_say_that_they_were_begun() {
    let mut model = world();
    // Files are read in another order than that in which they were begun. The others stand as they come.
    let begun = [("third", CLAUDE, 30), ("a", PLAIN, 40), ("first", CLAUDE, 10), ("b", PLAIN, 5)];
    for (id, by, begun) in begun {
        hang(&mut model, by, thing(id), thing("above"));
        note(&mut model, by, thing(id), NodeFact::Clock(Clock::Started, at(begun)));
    }
    let expected = |order: [&str; 4]| order.map(|id| thing(id).to_string()).to_vec();
    assert_eq!(names(&model, &thing("above")), expected(["a", "b", "first", "third"]));
    let delta = note(&mut model, CLAUDE, thing("third"), NodeFact::Clock(Clock::Started, at(40)));
    assert_eq!(delta.moved, [], "it stands where it stood");
    // When it was made counts for more than when it was started, whoever says so.
    let delta = note(&mut model, PLAIN, thing("third"), NodeFact::Clock(Clock::Created, at(5)));
    assert_eq!(delta.moved.len(), 1);
    assert_eq!(names(&model, &thing("above")), expected(["a", "b", "third", "first"]));
    note(&mut model, CLAUDE, thing("a"), NodeFact::Clock(Clock::Started, at(40)));
    assert_eq!(names(&model, &thing("above")), expected(["b", "third", "first", "a"]));
}

#[test]
fn who_is_joined_stands_by_when_the_earlier_of_both_was_begun() {
    let mut model = world();
    for (id, begun) in [("one", 10), ("two", 20), ("three", 30)] {
        hang(&mut model, CLAUDE, thing(id), thing("above"));
        note(&mut model, CLAUDE, thing(id), NodeFact::Clock(Clock::Created, at(begun)));
    }
    note(&mut model, PLAIN, cli_agent("a"), NodeFact::Clock(Clock::Created, at(5)));
    seen(&mut model, PLAIN, Keys::from(thing("three")).and(cli_agent("a")));
    let children = node(&model, &thing("above")).children();
    let begun: Vec<_> = children.iter().map(|ix| model.get(*ix).unwrap().clocks.created).collect();
    assert_eq!(begun, [5, 10, 20].map(|millis| Some(at(millis))));
}

#[test]
fn roll_ups_follow_a_subtree_that_moves() {
    let mut model = world();
    tell(&mut model, PLAIN, 1, thing("low"), spent("m1", 10, Some(4)));
    hang(&mut model, PLAIN, thing("low"), thing("old"));
    hang(&mut model, PLAIN, thing("old"), thing("older"));
    hang(&mut model, PLAIN, thing("low"), thing("new"));
    assert_eq!(node(&model, &thing("older")).subtree_spend().cost, Usd(0));
    assert_eq!(node(&model, &thing("older")).rollup().map(Rollup::height), Some(1));
    assert_eq!(node(&model, &thing("new")).subtree_spend().cost, Usd(4));
    assert_eq!(node(&model, &thing("new")).clocks.last_sign, Some(at(1)));
}

/// A file can say this in a few megabytes; it must cost neither the stack nor the square of its length.
#[test]
fn a_chain_of_a_hundred_thousand_nodes_is_held_and_shown() {
    const DEPTH: usize = 100_000;
    let mut model = world();
    let link = |at: usize| thing(&at.to_string());
    for above in (0..DEPTH - 1).rev() {
        let fact = Fact::node(PLAIN, None, link(above + 1), NodeFact::Under(Box::new(link(above).into())));
        let _ = model.apply(fact);
    }
    assert_eq!(node(&model, &link(0)).rollup().map(Rollup::height), Some(DEPTH - 1));
    assert_eq!(model.audit(), Ok(()));

    let mut view = TreeView::new(Fold::Open);
    view.build(&model);
    let lowest = model.find(&link(DEPTH - 1)).unwrap();
    assert_eq!((view.len(), view.row_of(&model, lowest)), (DEPTH, Some(DEPTH - 1)));
    let rows = view.window(&model, DEPTH - 2, 9);
    assert_eq!(rows.iter().map(|row| row.depth).collect::<Vec<_>>(), [DEPTH - 2, DEPTH - 1]);
    view.fold_all(&model, Fold::Closed);
    view.reveal(&model, lowest);
    assert_eq!(view.len(), DEPTH);

    let delta = model.apply(Fact::node(PLAIN, None, link(0), NodeFact::Gone));
    view.update(&model, &delta);
    assert!(model.is_empty() && view.is_empty());
}
