use quarterdeck::model::status::StatusWord;
use quarterdeck::model::usage::Usd;

use crate::usage::spent;
use crate::*;

#[test]
fn a_step_its_cli_session_and_its_process_become_one_node_when_somebody_knows() {
    let mut model = world();
    let process = NodeKey::Process(7, 1);
    tell(&mut model, ENGINE, 1, step("x"), is("running"));
    tell(&mut model, CLAUDE, 2, cli_session("c"), spent("m1", 10, Some(1)));
    hang(&mut model, CLAUDE, cli_agent("u"), cli_session("c"));
    tell(&mut model, HOOK, 3, process.clone(), is("running"));
    assert_eq!(model.roots().len(), 3);

    let keys = Keys::from(step("x")).and(session("s")).and(cli_session("c")).and(process.clone());
    let delta = seen(&mut model, ENGINE, keys);

    assert_eq!(delta.joined.len(), 2);
    let ix = model.find(&step("x"));
    for key in [session("s"), cli_session("c"), process] {
        assert_eq!(model.find(&key), ix);
    }
    assert_eq!(model.roots().len(), 1);
    assert!(hangs_under(&model, &cli_agent("u"), &step("x")));
    let step = node(&model, &step("x"));
    assert_eq!(step.kind, NodeKind::Subtask);
    assert_eq!(step.sources(), [ENGINE, CLAUDE, HOOK]);
    assert_eq!(step.claims.len(), 2);
    assert_eq!(step.clocks.last_sign, Some(at(3)));
    assert_eq!(node(&model, &delegation("a")).subtree_spend().cost, Usd(1));
}

#[test]
fn an_agent_under_a_placeholder_session_comes_along_when_the_session_is_a_step() {
    let mut model = world();
    tell(&mut model, CLAUDE, 5, agent("s", "m"), spent("m1", 10, Some(2)));
    assert!(hangs_under(&model, &agent("s", "m"), &session("s")));

    seen(&mut model, ENGINE, Keys::from(step("x")).and(session("s")));

    assert!(hangs_under(&model, &agent("s", "m"), &step("x")));
    assert!(hangs_under(&model, &step("x"), &delegation("a")));
    let top = node(&model, &delegation("a"));
    assert_eq!((top.subtree_spend().cost, top.clocks.last_sign), (Usd(2), Some(at(5))));
    assert_eq!(top.rollup().map(quarterdeck::model::rollup::Rollup::height), Some(2));
}

#[test]
fn nodes_that_cannot_be_one_stay_two() {
    let mut model = world();
    seen(&mut model, ENGINE, step("x"));
    seen(&mut model, ENGINE, step("y"));
    let delta = seen(&mut model, PLAIN, Keys::from(step("x")).and(step("y")));
    assert_eq!(delta, Delta { anomalies: 1, ..Delta::default() });
    assert_ne!(model.find(&step("x")), model.find(&step("y")));
    assert_eq!(misfits(&model, Misfit::Identity), 1);
}

#[test]
fn of_two_on_one_branch_the_upper_stays() {
    let mut model = world();
    hang(&mut model, PLAIN, session("lower"), thing("middle"));
    hang(&mut model, PLAIN, thing("middle"), session("upper"));
    hang(&mut model, PLAIN, agent("lower", "m"), session("lower"));
    let upper = model.find(&session("upper"));
    seen(&mut model, PLAIN, Keys::from(session("lower")).and(session("upper")));
    assert_eq!(model.find(&session("lower")), upper);
    assert!(hangs_under(&model, &thing("middle"), &session("upper")));
    assert!(hangs_under(&model, &agent("lower", "m"), &session("upper")));
}

#[test]
fn a_joined_node_is_at_the_latest_attempt_of_both() {
    let mut model = world();
    tell(&mut model, PLAIN, 1, session("s"), is_in_attempt(3, "running"));
    tell(&mut model, ENGINE, 1, step("x"), is_in_attempt(1, "failed"));
    seen(&mut model, ENGINE, Keys::from(step("x")).and(session("s")));
    assert_eq!(node(&model, &step("x")).attempt, 3);
}

#[test]
fn of_two_claims_of_one_source_the_later_attempt_stands() {
    let mut model = world();
    tell(&mut model, ENGINE, 9, session("s"), is_in_attempt(1, "failed"));
    tell(&mut model, ENGINE, 5, step("x"), is_in_attempt(2, "running"));
    seen(&mut model, ENGINE, Keys::from(step("x")).and(session("s")));
    assert_eq!(word(&model, &step("x")), StatusWord::Running);
}

#[test]
fn a_joined_node_hangs_where_the_more_trusted_source_says() {
    let mut model = world();
    hang(&mut model, PLAIN, cli_session("c"), thing("guess"));
    hang(&mut model, ENGINE, session("s"), delegation("a"));
    seen(&mut model, HOOK, Keys::from(cli_session("c")).and(session("s")));
    assert!(hangs_under(&model, &cli_session("c"), &delegation("a")));
    // And no trusted word is lost: the guess cannot take it back.
    hang(&mut model, PLAIN, session("s"), thing("guess"));
    assert!(hangs_under(&model, &session("s"), &delegation("a")));
}

#[test]
fn joining_makes_no_placeholder_for_an_agent_that_hangs_elsewhere() {
    let mut model = world();
    hang(&mut model, CLAUDE, agent("s", "m"), cli_agent("u"));
    note(&mut model, CLAUDE, session("s"), NodeFact::Gone);
    hang(&mut model, CLAUDE, NodeKey::ToolUse("call".into()), cli_agent("v"));
    seen(&mut model, CLAUDE, Keys::from(agent("s", "m")).and(NodeKey::ToolUse("call".into())));
    assert_eq!(model.find(&session("s")), None);
}
