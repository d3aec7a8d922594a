use quarterdeck::model::command::{CommandFact, ReceiptState};
use quarterdeck::model::fact::EngineFact;
use quarterdeck::model::id::CommandId;

use crate::*;

fn command(model: &mut Model, id: &str, what: CommandFact) -> Delta {
    apply(model, Fact { source: ENGINE, at: Some(at(1)), about: About::Command(id.into(), what) })
}

fn accepted(deadline: Option<i64>) -> CommandFact {
    let deadline = deadline.map(at);
    CommandFact::Accepted { kind: "pause".into(), target: Some(step("x")), by: None, options: None, deadline }
}

fn confirmed() -> CommandFact {
    CommandFact::Confirmed { kind: None, proof: Some("7 of 7 paused".into()), effects: Vec::new() }
}

fn refused() -> CommandFact {
    CommandFact::Refused { kind: None, code: None, reason: Some("it has ended".into()) }
}

fn state<'a>(model: &'a Model, id: &str) -> &'a ReceiptState {
    &model.receipts().get(&CommandId::from(id)).expect("there is a receipt").state
}

#[test]
fn a_receipt_has_one_outcome_and_a_second_one_is_an_anomaly() {
    let mut model = world();
    command(&mut model, "k", accepted(None));
    command(&mut model, "k", confirmed());
    assert!(command(&mut model, "k", confirmed()).is_empty());
    assert!(command(&mut model, "k", accepted(None)).is_empty());
    let delta = command(&mut model, "k", refused());
    assert_eq!(delta, Delta { anomalies: 1, ..Delta::default() });
    assert!(matches!(state(&model, "k"), ReceiptState::Confirmed { .. }));
}

#[test]
fn an_overdue_receipt_may_still_be_confirmed() {
    let mut model = world();
    seen(&mut model, ENGINE, step("x"));
    command(&mut model, "k", accepted(Some(10)));
    assert!(model.advance(at(9)).is_empty());
    let delta = model.advance(at(10));
    assert!(delta.around);
    assert_eq!(delta.changed, [model.find(&step("x")).unwrap()]);
    assert_eq!(*state(&model, "k"), ReceiptState::Overdue);
    command(&mut model, "k", confirmed());
    assert!(matches!(state(&model, "k"), ReceiptState::Confirmed { .. }));
    assert!(model.advance(at(99)).is_empty());
}

#[test]
fn a_command_may_be_refused_without_having_been_accepted_but_not_confirmed() {
    let mut model = world();
    assert_eq!(command(&mut model, "k", refused()).anomalies, 0);
    assert_eq!(command(&mut model, "l", confirmed()).anomalies, 1);
    assert_eq!(misfits(&model, Misfit::UnknownCommand), 1);
    assert_eq!(model.receipts().len(), 2);
}

#[test]
fn only_final_receipts_are_forgotten() {
    let mut model = world();
    seen(&mut model, ENGINE, step("x"));
    for number in 0..300 {
        let id = format!("open-{number}");
        command(&mut model, &id, accepted(None));
    }
    assert_eq!(model.receipts().len(), 300);
    command(&mut model, "open-7", confirmed());
    command(&mut model, "new", accepted(None));
    assert_eq!(model.receipts().len(), 300);
    assert!(!model.receipts().contains_key(&CommandId::from("open-7")));
    let of_step = &node(&model, &step("x")).more().unwrap().receipts;
    assert_eq!(of_step.len(), 300);
    assert!(!of_step.contains(&"open-7".into()));
}

#[test]
fn what_is_told_again_of_the_engine_and_the_settings_is_no_change() {
    let mut model = world();
    for about in [
        About::Engine(EngineFact::Started { pid: Some(7), version: None, epoch: Some(1) }),
        About::Engine(EngineFact::Stopped { why: Some("asked to".into()) }),
        About::Settings(true.into()),
        About::Source(SourceFact::Reset),
    ] {
        let fact = Fact { source: SourceId(9), at: Some(at(1)), about };
        assert!(apply(&mut model, fact.clone()).around);
        assert!(apply(&mut model, fact).is_empty());
    }
    assert_eq!(model.source(SourceId(9)).map(|source| source.engine.pid), Some(None));
}

#[test]
fn receipts_go_with_the_source_that_told_them_and_their_nodes_are_named() {
    let mut model = world();
    seen(&mut model, PLAIN, step("x"));
    command(&mut model, "k", accepted(None));
    let delta = apply(&mut model, Fact::source(ENGINE, SourceFact::Reset));
    assert!(delta.around && model.receipts().is_empty());
    assert_eq!(delta.changed, [model.find(&step("x")).unwrap()]);
    assert!(node(&model, &step("x")).more().unwrap().receipts.is_empty());
}
