use quarterdeck::model::node::Running;
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

const SYSTEM: SourceId = SourceId(9);

/// A model in which the system shows process 7, which works on the session `old`.
fn at_work(keys: Keys) -> Model {
    let mut model = world();
    let opened = SourceFact::Opened { kind: SourceKind::Process, root: "this machine".into() };
    let _ = model.apply(Fact::source(SYSTEM, opened));
    tell(&mut model, CLAUDE, 1, cli_session("old"), is("running"));
    seen(&mut model, CLAUDE, keys.and(NodeKey::Process(7, 1)));
    let (pid, start, command) = (7, 1, "claude".into());
    let running = Running { pid, start, command, is_foreground: false, is_alive: true, beside: Vec::new() };
    tell(&mut model, SYSTEM, 2, NodeKey::Process(7, 1), is("paused"));
    note(&mut model, SYSTEM, NodeKey::Process(7, 1), NodeFact::Runs(Box::new(running)));
    model
}

#[test]
fn a_process_that_works_on_another_session_now_goes_there_and_the_two_stay_two() {
    let process = NodeKey::Process(7, 1);
    // Whoever says so, and by whichever key it knows the process.
    let ways = [
        (CLAUDE, Keys::from(cli_session("new")).and(process.clone())),
        (SYSTEM, Keys::from(process.clone()).and(cli_session("new"))),
    ];
    for (by, keys) in ways {
        for is_known in [true, false] {
            let mut model = at_work(cli_session("old").into());
            assert_eq!(word(&model, &cli_session("old")), StatusWord::Paused);
            if is_known {
                tell(&mut model, CLAUDE, 3, cli_session("new"), is("running"));
            }
            seen(&mut model, by, keys.clone());
            let lives =
                |id: &str| node(&model, &cli_session(id)).more().is_some_and(|more| more.running.is_some());
            assert_ne!(model.find(&cli_session("old")), model.find(&cli_session("new")));
            assert_eq!(model.find(&process), model.find(&cli_session("new")));
            assert_eq!((lives("old"), lives("new")), (false, true));
            assert_eq!(word(&model, &cli_session("old")), StatusWord::Running, "as its files say");
            assert_eq!(misfits(&model, Misfit::Identity), 0);
        }
    }
}

#[test]
fn what_only_its_process_was_known_by_goes_when_the_process_works_on_something_else() {
    let mut model = world();
    let opened = SourceFact::Opened { kind: SourceKind::Process, root: "this machine".into() };
    let _ = model.apply(Fact::source(SYSTEM, opened));
    let keys = |id| Keys::from(NodeKey::Process(7, 1)).and(cli_session(id));
    seen(&mut model, SYSTEM, keys("old"));
    seen(&mut model, SYSTEM, keys("new"));
    assert_eq!((model.find(&cli_session("old")), model.len()), (None, 1));
}

#[test]
fn two_sessions_in_the_process_of_a_step_are_both_the_steps() {
    let mut model = at_work(Keys::from(step("x")).and(cli_session("old")));
    seen(&mut model, CLAUDE, Keys::from(cli_session("new")).and(NodeKey::Process(7, 1)));
    assert_eq!(model.find(&cli_session("new")), model.find(&step("x")));
    assert_eq!(model.find(&NodeKey::Process(7, 1)), model.find(&step("x")));
}
