//! Agents inside sessions, and the limits of their providers.

use std::time::Duration;

use quarterdeck::model::command::Verb;
use quarterdeck::model::fact::{About, EngineFact, Fact, NodeFact, StatusReport};
use quarterdeck::model::key::{Keys, NodeKey, SourceId};
use quarterdeck::model::node::NodeKind;
use quarterdeck::model::words::Field;

use super::deck::{Deck, ago, delegation, now, step};

const ENGINE: SourceId = SourceId(0);

/// A step that runs, and an agent inside its session.
fn deck() -> Deck {
    let mut deck = Deck::of([
        delegation("del-a").titled("the task").is("running"),
        step("del-a", "st-1").titled("works").runs_in("ses-1", 60),
    ]);
    let keys = || Keys::from(NodeKey::Agent("ses-1".into(), "agent-7".into()));
    let above = Keys::from(NodeKey::Subtask("del-a".into(), "st-1".into()));
    let facts = [
        NodeFact::Seen(NodeKind::Agent),
        NodeFact::Under(Box::new(above)),
        NodeFact::Status(Box::new(StatusReport::of(Field::Session, "running"))),
    ];
    deck.facts(facts.map(|fact| Fact::node(ENGINE, Some(ago(10)), keys(), fact)).to_vec());
    deck
}

#[test]
fn a_cancel_on_an_agent_inside_a_session_is_for_that_agent_alone() {
    let mut deck = deck();
    deck.press("j j c enter");
    let commands = deck.commands();
    let [command] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!(command.verb, Verb::CancelAgent { agent_id: "agent-7".into(), reason: None });
    assert_eq!(command.delegation_id.as_str(), "del-a");
    assert_eq!(command.subtask_id.as_ref().map(quarterdeck::model::id::SubtaskId::as_str), Some("st-1"));
}

#[test]
fn nothing_else_can_be_done_to_an_agent_inside_a_session_and_it_says_so() {
    let mut deck = deck();
    deck.press("j j p");
    assert!(deck.commands().is_empty());
    assert!(deck.said().contains("act on the step above it"), "{}", deck.said());
}

#[test]
fn a_limit_of_a_provider_is_in_the_first_line_until_it_is_over() {
    let mut deck = deck();
    let until = now().plus(Duration::from_mins(90));
    let limited = EngineFact::Limited { provider: "anthropic".into(), until, reason: None };
    deck.facts(vec![Fact { source: ENGINE, at: Some(now()), about: About::Engine(limited) }]);
    let first = |deck: &mut Deck| deck.text(120, 30).lines().next().unwrap().to_owned();
    assert!(first(&mut deck).contains("anthropic limit until 12:00:00"), "{}", first(&mut deck));
    deck.wait(2 * 3600);
    assert!(!first(&mut deck).contains("limit"), "{}", first(&mut deck));
}
