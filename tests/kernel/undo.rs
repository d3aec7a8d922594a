//! Rollback, as the kernel decides on it: when it may be, when it is confirmed, and what asks for it without a command.

use crate::rules::{graph, refusal, running, with};
use crate::world::{World, done, failed};
use quarterdeck::engine::kernel::state::CommandOutcome;
use quarterdeck::model::command::Verb;
use quarterdeck::model::event::Body;
use quarterdeck::model::status::StatusWord;

const ROLLBACK: Verb = Verb::Rollback { reason: None };
const CANCEL: Verb = Verb::Cancel { rollback: true, reason: None };

fn proof(world: &World, id: &str) -> String {
    match world.kernel.outcome(&id.into()) {
        Some(CommandOutcome::Confirmed { proof }) => proof.clone().unwrap_or_default(),
        other => panic!("{id} is {other:?}"),
    }
}

/// A world in which two steps ended one after the other, the second as said.
fn ended(well: bool) -> World {
    let mut world = running(graph(&[("one", &[]), ("two", &["one"])]));
    let session = world.session("del-a", "one");
    world.exit(&session, done("fine"));
    world.obey_all();
    let session = world.session("del-a", "two");
    world.exit(&session, if well { done("fine") } else { failed("broken") });
    world.obey_all();
    world
}

fn steps(world: &World) -> Vec<String> {
    world
        .undos
        .front()
        .map(|(.., steps)| steps.iter().map(|(_, step)| step.to_string()).collect())
        .unwrap_or_default()
}

#[test]
fn a_rollback_is_confirmed_when_it_is_done_with_what_came_back_and_what_did_not() {
    let mut world = ended(true);
    world.command("r", ROLLBACK, "del-a", None);
    assert_eq!(world.kernel.outcome(&"r".into()), Some(&CommandOutcome::Accepted));
    assert_eq!(steps(&world), ["one", "two"]);
    let told = world.see_to_undo(true).unwrap();
    assert_eq!(proof(&world, "r"), "2 steps undone, 1 file back; 1 left alone: b (it was changed since)");
    let [Body::RolledBack(event), Body::CommandConfirmed(receipt)] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert_eq!(event.subtasks, Some(vec!["one".into(), "two".into()]));
    let did: Vec<&str> =
        receipt.effects.iter().flatten().filter_map(|effect| effect.did.as_deref()).collect();
    assert_eq!(did, ["restored a", "left alone b: it was changed since"]);
    world.check_fold();
}

#[test]
fn what_cannot_be_undone_is_refused_with_the_reason() {
    let mut world = ended(true);
    world.command("r", ROLLBACK, "del-a", Some("two"));
    assert_eq!(steps(&world), ["two"]);
    world.see_to_undo(false).unwrap();
    let (code, reason) = refusal(&world, "r");
    assert_eq!(
        (code.as_str(), reason.as_str()),
        ("conflict", "Nothing was rolled back: there is no snapshot.")
    );
    world.check_fold();
}

#[test]
fn what_works_or_never_began_is_not_rolled_back() {
    let mut world = running(graph(&[("one", &[]), ("two", &["one"])]));
    world.command("live", ROLLBACK, "del-a", None);
    assert!(refusal(&world, "live").1.contains("cancel it with rollback"));
    world.command("step", ROLLBACK, "del-a", Some("one"));
    assert!(refusal(&world, "step").1.contains("running"));
    world.command("c", Verb::Cancel { rollback: false, reason: None }, "del-a", Some("two"));
    world.obey_all();
    world.command("never", ROLLBACK, "del-a", Some("two"));
    assert!(refusal(&world, "never").1.contains("nothing to undo"));
    assert!(world.undos.is_empty());
}

#[test]
fn a_cancel_with_rollback_undoes_when_all_has_ended_and_is_confirmed_then() {
    let mut world = running(graph(&[("one", &[]), ("two", &["one"])]));
    world.command("c", CANCEL, "del-a", None);
    assert!(world.undos.is_empty(), "an agent still works");
    world.obey_all();
    assert_eq!(world.kernel.outcome(&"c".into()), Some(&CommandOutcome::Accepted));
    let told = world.events.iter().find_map(|event| match &event.body {
        Body::Cancelled(data) => Some(data.rolled_back),
        _ => None,
    });
    assert_eq!(told, Some(Some(true)));
    assert_eq!(steps(&world), ["one"], "the other never began");
    world.see_to_undo(true).unwrap();
    let proof = proof(&world, "c");
    assert!(
        proof.ends_with("; 1 step undone, 1 file back; 1 left alone: b (it was changed since)"),
        "{proof}"
    );
    world.check_fold();
}

#[test]
fn a_cancel_is_confirmed_and_says_so_where_nothing_could_be_undone() {
    let mut world = running(graph(&[("one", &[])]));
    world.command("c", CANCEL, "del-a", None);
    world.obey_all();
    world.see_to_undo(false).unwrap();
    assert!(proof(&world, "c").ends_with("nothing was rolled back: there is no snapshot"));
}

#[test]
fn a_new_engine_orders_it_again_under_the_same_key_and_only_what_is_pending() {
    let mut world = ended(true);
    world.command("r", ROLLBACK, "del-a", None);
    let before = world.undos.front().cloned();
    world.crash();
    assert_eq!(world.undos.front().cloned(), before);
    assert_eq!(world.undos.len(), 1);
    world.see_to_undo(true).unwrap();
    world.crash();
    assert!(world.undos.is_empty());
}

#[test]
fn a_failed_delegation_is_undone_by_itself_only_where_it_wants_that() {
    assert!(ended(false).undos.is_empty());
    let spec = with(graph(&[("one", &[])]), |limits| limits.rollback_on_failure = true);
    let mut world = running(spec);
    let session = world.session("del-a", "one");
    world.exit(&session, failed("broken"));
    assert_eq!(world.kernel.delegations()[&"del-a".into()].status, StatusWord::Failed);
    let first = world.undos.front().cloned();
    assert_eq!(steps(&world), ["one"]);
    world.crash();
    assert_eq!(world.undos.front().cloned(), first, "the next engine does it, under the same key");
    let told = world.see_to_undo(true).unwrap();
    assert!(matches!(told.as_slice(), [Body::RolledBack(_)]), "{told:?}");
    world.crash();
    assert!(world.undos.is_empty(), "once");
    world.check_fold();
}

#[test]
fn a_delegation_that_goes_on_before_that_is_not_undone_by_the_next_engine() {
    let spec = with(graph(&[("one", &[])]), |limits| limits.rollback_on_failure = true);
    let mut world = running(spec);
    let session = world.session("del-a", "one");
    world.exit(&session, failed("broken"));
    let retry = Verb::Retry { with_failure: false, agent: None, model: None, fresh: false };
    world.command("again", retry, "del-a", Some("one"));
    world.crash();
    assert!(world.undos.is_empty());
}
