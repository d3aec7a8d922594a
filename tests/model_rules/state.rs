use quarterdeck::model::event::payload::Progress;
use quarterdeck::model::fact::{Action, Clock};
use quarterdeck::model::status::StatusWord;

use crate::*;

#[test]
fn sources_that_disagree_are_both_kept_and_the_more_trusted_is_believed() {
    let mut model = world();
    seen(&mut model, ENGINE, Keys::from(step("x")).and(cli_session("c")));
    tell(&mut model, ENGINE, 1, step("x"), is("paused"));
    tell(&mut model, CLAUDE, 9, cli_session("c"), is("running"));
    let step = node(&model, &step("x"));
    assert_eq!(step.status.word(), StatusWord::Paused);
    let dissent: Vec<_> = step.dissent().map(|claim| (claim.source, claim.status.word())).collect();
    assert_eq!(dissent, [(CLAUDE, StatusWord::Running)]);
}

#[test]
fn the_end_that_a_source_tells_counts_only_while_that_source_is_believed() {
    let mut model = world();
    let ended = |millis| NodeFact::Clock(Clock::Ended, at(millis));
    let end = |model: &Model| node(model, &thing("t")).clocks.ended;
    tell(&mut model, CLAUDE, 9, thing("t"), is("running"));
    tell(&mut model, PLAIN, 5, thing("t"), is("done"));
    note(&mut model, PLAIN, thing("t"), ended(5));
    assert_eq!((word(&model, &thing("t")), end(&model)), (StatusWord::Running, None), "it still works");
    tell(&mut model, CLAUDE, 12, thing("t"), is("done"));
    note(&mut model, PLAIN, thing("t"), ended(6));
    assert_eq!(end(&model), Some(at(12)), "who is believed knows when");
    note(&mut model, CLAUDE, thing("t"), ended(11));
    assert_eq!(end(&model), Some(at(11)));
    let nobody = NodeKey::Foreign(CLAUDE, "u".into());
    note(&mut model, CLAUDE, nobody.clone(), is("done"));
    note(&mut model, PLAIN, nobody.clone(), ended(7));
    assert_eq!(node(&model, &nobody).clocks.ended, Some(at(7)), "who is believed does not say when");
}

#[test]
fn of_two_sources_that_are_trusted_alike_the_later_is_believed() {
    let mut model = world();
    let other = SourceId(9);
    let _ = model.apply(Fact::source(other, SourceFact::Opened { kind: SourceKind::Plain, root: "".into() }));
    tell(&mut model, PLAIN, 5, thing("t"), is("running"));
    tell(&mut model, other, 3, thing("t"), is("queued"));
    assert_eq!(word(&model, &thing("t")), StatusWord::Running);
    tell(&mut model, other, 7, thing("t"), is("done"));
    assert_eq!(word(&model, &thing("t")), StatusWord::Done);
}

#[test]
fn a_source_is_trusted_by_what_it_turns_out_to_be() {
    let mut model = world();
    let late = SourceId(9);
    tell(&mut model, late, 1, step("x"), is("running"));
    tell(&mut model, PLAIN, 2, step("x"), is("done"));
    assert_eq!(word(&model, &step("x")), StatusWord::Done);
    apply(&mut model, Fact::source(late, SourceFact::Opened { kind: SourceKind::Engine, root: "".into() }));
    assert_eq!(word(&model, &step("x")), StatusWord::Running);
}

#[test]
fn an_older_word_of_the_same_source_is_out_of_order() {
    let mut model = world();
    tell(&mut model, CLAUDE, 5, cli_session("c"), is("done"));
    let delta = tell(&mut model, CLAUDE, 4, cli_session("c"), is("running"));
    assert_eq!(delta, Delta { anomalies: 1, ..Delta::default() });
    assert_eq!(misfits(&model, Misfit::OutOfOrder), 1);
}

#[test]
fn a_retry_raises_the_attempt_and_late_words_of_the_old_one_change_nothing() {
    let mut model = world();
    tell(&mut model, ENGINE, 1, step("x"), is_in_attempt(1, "failed"));
    tell(&mut model, ENGINE, 2, step("x"), is_in_attempt(2, "running"));
    assert_eq!(node(&model, &step("x")).attempt, 2);
    assert_eq!(node(&model, &step("x")).clocks.ended, None);
    let delta = tell(&mut model, CLAUDE, 3, step("x"), is_in_attempt(1, "done"));
    assert_eq!(delta, Delta { anomalies: 1, ..Delta::default() });
    assert_eq!(misfits(&model, Misfit::OldAttempt), 1);
    assert_eq!(word(&model, &step("x")), StatusWord::Running);
}

#[test]
fn a_step_of_ours_that_ended_stays_ended_until_it_is_retried() {
    let mut model = world();
    tell(&mut model, ENGINE, 1, step("x"), is_in_attempt(1, "done"));
    tell(&mut model, ENGINE, 2, step("x"), is("running"));
    assert_eq!((word(&model, &step("x")), misfits(&model, Misfit::AfterEnd)), (StatusWord::Done, 1));
    tell(&mut model, ENGINE, 3, step("x"), is_in_attempt(2, "running"));
    assert_eq!(word(&model, &step("x")), StatusWord::Running);
}

#[test]
fn another_tool_may_start_the_same_agent_again() {
    let mut model = world();
    tell(&mut model, CLAUDE, 1, cli_session("c"), is("done"));
    tell(&mut model, CLAUDE, 2, cli_session("c"), is("running"));
    let node = node(&model, &cli_session("c"));
    assert_eq!((node.status.word(), node.clocks.ended), (StatusWord::Running, None));
}

#[test]
fn a_word_that_nobody_knows_is_kept_as_it_was_written() {
    let mut model = world();
    tell(&mut model, PLAIN, 1, thing("t"), is("Sung \u{1b}[31m"));
    let claim = &node(&model, &thing("t")).claims[0];
    assert_eq!(claim.status.word(), StatusWord::Unknown);
    assert!(claim.raw.as_deref().is_some_and(|raw| raw.starts_with("Sung") && !raw.contains('\u{1b}')));
}

#[test]
fn more_done_than_there_is_is_nonsense() {
    let mut model = world();
    let told = Progress { current: Some(2), total: Some(3), percent: None };
    note(&mut model, ENGINE, step("x"), NodeFact::Progressed(told));
    note(&mut model, ENGINE, step("x"), NodeFact::Progressed(Progress { current: Some(9), ..told }));
    assert_eq!(node(&model, &step("x")).progress().and_then(|progress| progress.percent), Some(66));
    assert_eq!(misfits(&model, Misfit::Nonsense), 1);
}

#[test]
fn an_older_action_is_no_news() {
    let mut model = world();
    let act = |what: &str| NodeFact::Active(Action { last: Some(what.into()), next: None });
    tell(&mut model, CLAUDE, 5, cli_session("c"), act("reads"));
    assert!(tell(&mut model, CLAUDE, 4, cli_session("c"), act("thinks")).is_empty());
    assert_eq!(node(&model, &cli_session("c")).last_action.as_deref(), Some("reads"));
}

#[test]
fn who_was_held_and_of_whom_nothing_is_said_any_more_is_held_no_more() {
    let mut model = world();
    seen(&mut model, ENGINE, session("s"));
    hang(&mut model, CLAUDE, cli_agent("a"), session("s"));
    seen(&mut model, PLAIN, cli_agent("a"));
    tell(&mut model, CLAUDE, 1, cli_agent("a"), is("running"));
    tell(&mut model, ENGINE, 2, session("s"), is("paused"));
    assert_eq!(word(&model, &cli_agent("a")), StatusWord::Paused);
    apply(&mut model, Fact::source(CLAUDE, SourceFact::Reset));
    assert_eq!(word(&model, &cli_agent("a")), StatusWord::Unknown);
    assert_eq!(model.audit(), Ok(()));
}

#[test]
fn what_a_person_ended_is_not_paused_by_what_the_system_showed_before() {
    let (system, person) = (SourceId(8), SourceId(9));
    let mut model = world();
    for (id, kind) in [(system, SourceKind::Process), (person, SourceKind::Person)] {
        apply(&mut model, Fact::source(id, SourceFact::Opened { kind, root: "".into() }));
    }
    tell(&mut model, CLAUDE, 1, cli_session("c"), NodeFact::Seen(NodeKind::Session));
    tell(&mut model, CLAUDE, 1, cli_session("c"), is("running"));
    hang(&mut model, CLAUDE, cli_agent("u"), cli_session("c"));
    tell(&mut model, CLAUDE, 1, cli_agent("u"), is("running"));
    tell(&mut model, system, 5, cli_session("c"), is("paused"));
    let words = |model: &Model| [cli_session("c"), cli_agent("u")].map(|key| node(model, &key).status.word());
    assert_eq!(words(&model), [StatusWord::Paused; 2]);
    // All its processes are gone by then, though nobody looked again.
    for key in [cli_session("c"), cli_agent("u")] {
        tell(&mut model, person, 7, key, is("cancelled"));
    }
    assert_eq!(words(&model), [StatusWord::Cancelled; 2]);
    // Resumed, and stopped again.
    tell(&mut model, system, 9, cli_session("c"), is("paused"));
    assert_eq!(words(&model)[0], StatusWord::Paused);
}
