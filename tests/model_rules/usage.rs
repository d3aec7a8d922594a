use quarterdeck::model::fact::{Scope, UsageReport};
use quarterdeck::model::usage::{Basis, Count, Spend, Tokens, Usd, Word};

use crate::*;

fn report(id: Option<&str>, scope: Scope, input: u64, cost: Option<i64>) -> UsageReport {
    UsageReport {
        id: id.map(Into::into),
        scope,
        model: None,
        tokens: Tokens::default().with(Count::Input, input),
        cost: cost.map(Usd),
        ..UsageReport::default()
    }
}

pub fn spent(id: &str, input: u64, cost: Option<i64>) -> NodeFact {
    NodeFact::Used(Box::new(report(Some(id), Scope::Message, input, cost)))
}

fn total(id: Option<&str>, input: u64) -> NodeFact {
    NodeFact::Used(Box::new(report(id, Scope::Total, input, None)))
}

fn own(model: &Model, key: &NodeKey) -> Spend {
    node(model, key).own_spend()
}

fn input(model: &Model, key: &NodeKey) -> Option<u64> {
    own(model, key).tokens().get(Count::Input)
}

#[test]
fn a_message_told_by_two_sources_counts_once() {
    let mut model = world();
    seen(&mut model, ENGINE, Keys::from(step("x")).and(cli_session("c")));
    tell(&mut model, ENGINE, 1, step("x"), spent("m1", 10, Some(3)));
    let delta = tell(&mut model, CLAUDE, 1, cli_session("c"), spent("m1", 10, Some(3)));
    assert!(delta.is_empty(), "{delta:?}");
    assert_eq!((own(&model, &step("x")).cost, own(&model, &step("x")).priced), (Usd(3), 1));
    assert_eq!(node(&model, &delegation("a")).subtree_spend().cost, Usd(3));
}

#[test]
fn what_a_tool_says_itself_goes_before_what_was_computed_whoever_spoke_first() {
    let computed = |cost| {
        let report = report(Some("m1"), Scope::Message, 10, Some(cost));
        NodeFact::Used(Box::new(UsageReport { by_table: true, ..report }))
    };
    for own_first in [true, false] {
        let mut model = world();
        let mut told = [spent("m1", 10, Some(3)), computed(9)];
        if !own_first {
            told.reverse();
        }
        for fact in told {
            tell(&mut model, CLAUDE, 1, cli_session("c"), fact);
        }
        let own = own(&model, &cli_session("c"));
        assert_eq!((own.cost, own.word()), (Usd(3), Some(Word::Tool)));
    }
    let mut model = world();
    tell(&mut model, CLAUDE, 1, cli_session("c"), computed(9));
    assert_eq!(own(&model, &cli_session("c")).word(), Some(Word::Table));
    tell(&mut model, CLAUDE, 1, cli_session("c"), spent("m2", 10, Some(3)));
    assert_eq!(own(&model, &cli_session("c")).word(), Some(Word::Both));
    tell(&mut model, CLAUDE, 1, cli_session("d"), spent("m3", 10, None));
    assert_eq!(own(&model, &cli_session("d")).word(), None);
}

#[test]
fn of_a_streamed_message_the_largest_counts_stand() {
    let mut model = world();
    for input in [5, 9, 7] {
        tell(&mut model, CLAUDE, 1, cli_session("c"), spent("m1", input, None));
    }
    tell(&mut model, CLAUDE, 1, cli_session("c"), spent("m1", 9, Some(2)));
    let own = own(&model, &cli_session("c"));
    assert_eq!((own.tokens().get(Count::Input), own.basis()), (Some(9), Basis::Whole));
}

#[test]
fn a_message_goes_to_the_agent_below_that_sent_it_and_stays_there() {
    let mut model = world();
    hang(&mut model, CLAUDE, cli_agent("u"), cli_session("c"));
    tell(&mut model, CLAUDE, 1, cli_session("c"), spent("m1", 10, None));
    tell(&mut model, CLAUDE, 1, cli_session("c"), spent("m2", 7, None));
    tell(&mut model, CLAUDE, 1, cli_agent("u"), spent("m1", 10, None));
    tell(&mut model, CLAUDE, 1, cli_session("c"), spent("m1", 10, None));
    assert_eq!((input(&model, &cli_agent("u")), input(&model, &cli_session("c"))), (Some(10), Some(7)));
    let session = node(&model, &cli_session("c"));
    assert_eq!(session.subtree_spend().tokens().get(Count::Input), Some(17));
}

#[test]
fn a_message_does_not_go_to_a_node_beside_the_one_that_has_it() {
    let mut model = world();
    tell(&mut model, CLAUDE, 1, cli_agent("u"), spent("m1", 10, None));
    tell(&mut model, CLAUDE, 1, cli_agent("v"), spent("m1", 10, None));
    assert_eq!((input(&model, &cli_agent("u")), input(&model, &cli_agent("v"))), (Some(10), None));
}

#[test]
fn a_total_counts_only_while_no_message_is_known() {
    let mut model = world();
    hang(&mut model, PLAIN, thing("low"), thing("high"));
    note(&mut model, PLAIN, thing("low"), total(Some("t"), 100));
    assert_eq!(node(&model, &thing("high")).subtree_spend().tokens().get(Count::Input), Some(100));
    note(&mut model, PLAIN, thing("low"), spent("m1", 10, None));
    note(&mut model, PLAIN, thing("low"), total(Some("t"), 120));
    assert_eq!(node(&model, &thing("high")).subtree_spend().tokens().get(Count::Input), Some(10));
}

#[test]
fn a_later_total_without_an_id_replaces_the_earlier_one() {
    let mut model = world();
    note(&mut model, PLAIN, thing("t"), total(None, 100));
    note(&mut model, PLAIN, thing("t"), total(None, 120));
    assert_eq!(input(&model, &thing("t")), Some(120));
}

#[test]
fn totals_of_two_models_are_added() {
    let mut model = world();
    for (name, input) in [("opus", 100), ("haiku", 7), ("opus", 110)] {
        let told = UsageReport { model: Some(name.into()), ..report(None, Scope::Total, input, None) };
        note(&mut model, PLAIN, thing("t"), NodeFact::Used(Box::new(told)));
    }
    assert_eq!(input(&model, &thing("t")), Some(117));
}

#[test]
fn no_price_is_not_zero_dollars() {
    let mut model = world();
    note(&mut model, CLAUDE, cli_session("c"), spent("m1", 10, None));
    assert_eq!(own(&model, &cli_session("c")).basis(), Basis::NoPrice);
    note(&mut model, CLAUDE, cli_session("c"), spent("m2", 10, Some(0)));
    assert_eq!(own(&model, &cli_session("c")).basis(), Basis::Partial);
    note(&mut model, CLAUDE, cli_session("c"), spent("m1", 10, Some(0)));
    assert_eq!(own(&model, &cli_session("c")).basis(), Basis::Whole);
    assert_eq!(own(&model, &cli_session("c")).tokens().get(Count::Output), None);
}

#[test]
fn what_a_node_spent_goes_with_it_and_its_messages_may_be_booked_anew() {
    let mut model = world();
    note(&mut model, ENGINE, step("x"), spent("m1", 10, Some(5)));
    note(&mut model, ENGINE, step("x"), NodeFact::Gone);
    assert!(node(&model, &delegation("a")).subtree_spend().is_nothing());
    note(&mut model, ENGINE, step("y"), spent("m1", 10, Some(5)));
    assert_eq!(node(&model, &delegation("a")).subtree_spend().cost, Usd(5));
}

#[test]
fn totals_without_an_id_of_nodes_that_are_joined_count_as_one() {
    let mut model = world();
    note(&mut model, PLAIN, thing("t"), total(None, 100));
    note(&mut model, HOOK, cli_session("c"), total(None, 120));
    seen(&mut model, HOOK, Keys::from(cli_session("c")).and(thing("t")));
    assert_eq!(input(&model, &thing("t")), Some(120));
}
