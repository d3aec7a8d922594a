use quarterdeck::model::fact::{Action, Clock};
use quarterdeck::model::node::{Question, Running};
use quarterdeck::model::status::{Status, StatusWord, Trouble};
use quarterdeck::model::{ALIVE_MAY_SLEEP, GONE_MAY_SLEEP};

use crate::*;

fn wait(model: &mut Model, millis: i64) -> Delta {
    let delta = model.advance(at(millis));
    assert_eq!(model.audit(), Ok(()));
    delta
}

fn sign() -> NodeFact {
    NodeFact::Active(Action::default())
}

#[test]
fn an_offer_lapses_when_its_time_to_be_accepted_passes() {
    let mut model = world();
    tell(&mut model, ENGINE, 1, delegation("a"), is("offered"));
    note(&mut model, ENGINE, delegation("a"), NodeFact::Clock(Clock::AcceptBy, at(10)));
    assert_eq!(model.next_alarm(), Some(at(10)));
    assert!(wait(&mut model, 9).is_empty());
    assert_eq!(wait(&mut model, 10).changed, model.roots().collect::<Vec<_>>());
    assert_eq!(word(&model, &delegation("a")), StatusWord::Expired);
    tell(&mut model, ENGINE, 11, delegation("a"), is("running"));
    assert_eq!(word(&model, &delegation("a")), StatusWord::Running);
}

#[test]
fn what_runs_past_its_deadline_is_timed_out_until_it_gets_a_later_one() {
    let mut model = world();
    tell(&mut model, ENGINE, 1, step("x"), is("running"));
    note(&mut model, ENGINE, step("x"), NodeFact::Clock(Clock::FinishBy, at(10)));
    let _ = wait(&mut model, 30);
    let since = Trouble::Overdue { since: at(10) };
    assert_eq!(node(&model, &step("x")).status, Status::Running { trouble: Some(since), why: None });
    assert_eq!(node(&model, &delegation("a")).rollup().unwrap().children.of(StatusWord::TimedOut), 1);
    note(&mut model, ENGINE, step("x"), NodeFact::Clock(Clock::FinishBy, at(50)));
    assert!(wait(&mut model, 49).is_empty());
    assert_eq!(word(&model, &step("x")), StatusWord::Running);
}

#[test]
fn who_waits_for_an_answer_is_neither_late_nor_silent() {
    let mut model = world();
    let question = |id: &str| {
        let (question_id, options) = (id.into(), Vec::new());
        let (asked_at, text, tool, input) = (None, None, None, None);
        NodeFact::Asked(Box::new(Question { question_id, asked_at, text, tool, input, options }))
    };
    tell(&mut model, ENGINE, 1, step("x"), is("running"));
    note(&mut model, ENGINE, step("x"), NodeFact::Clock(Clock::FinishBy, at(10)));
    note(&mut model, ENGINE, step("x"), NodeFact::MaySleep(5));
    tell(&mut model, ENGINE, 2, step("x"), question("q1"));
    tell(&mut model, ENGINE, 2, step("x"), question("q2"));
    let _ = wait(&mut model, 30);
    assert_eq!(node(&model, &step("x")).status, Status::Running { trouble: None, why: None });
    tell(&mut model, ENGINE, 40, step("x"), NodeFact::Settled("q1".into()));
    let _ = wait(&mut model, 40);
    assert_eq!(word(&model, &step("x")), StatusWord::Running, "one is open");
    tell(&mut model, ENGINE, 41, step("x"), NodeFact::Settled("q2".into()));
    note(&mut model, ENGINE, step("x"), NodeFact::Clock(Clock::FinishBy, at(49)));
    let _ = wait(&mut model, 45);
    assert_eq!(word(&model, &step("x")), StatusWord::Running, "the time of waiting is no silence");
    let _ = wait(&mut model, 46);
    assert_eq!(word(&model, &step("x")), StatusWord::Stale);
    let _ = wait(&mut model, 49);
    assert_eq!(word(&model, &step("x")), StatusWord::TimedOut);
    tell(&mut model, ENGINE, 50, step("x"), question("q3"));
    assert_eq!(word(&model, &step("x")), StatusWord::Running, "its clock stands");
}

#[test]
fn a_sign_of_life_from_a_grandchild_undoes_silence() {
    let mut model = world();
    tell(&mut model, ENGINE, 1, delegation("a"), is("running"));
    note(&mut model, ENGINE, delegation("a"), NodeFact::MaySleep(5));
    hang(&mut model, CLAUDE, cli_agent("u"), step("x"));
    assert!(wait(&mut model, 5).is_empty());
    let _ = wait(&mut model, 6);
    assert_eq!(word(&model, &delegation("a")), StatusWord::Stale);
    let delta = tell(&mut model, CLAUDE, 8, cli_agent("u"), sign());
    assert_eq!(delta.changed, model.roots().collect::<Vec<_>>());
    assert_eq!(word(&model, &delegation("a")), StatusWord::Running);
    let _ = wait(&mut model, 13);
    assert_eq!(word(&model, &delegation("a")), StatusWord::Stale);
}

#[test]
fn a_deadline_outweighs_silence_in_whichever_order_they_come() {
    let mut model = world();
    tell(&mut model, ENGINE, 1, step("x"), is("running"));
    note(&mut model, ENGINE, step("x"), NodeFact::MaySleep(5));
    note(&mut model, ENGINE, step("x"), NodeFact::Clock(Clock::FinishBy, at(10)));
    let _ = wait(&mut model, 7);
    assert_eq!(word(&model, &step("x")), StatusWord::Stale);
    let _ = wait(&mut model, 10);
    assert_eq!(word(&model, &step("x")), StatusWord::TimedOut);
    tell(&mut model, ENGINE, 11, step("x"), sign());
    let _ = wait(&mut model, 99);
    assert_eq!(word(&model, &step("x")), StatusWord::TimedOut);
}

#[test]
fn what_is_paused_has_no_alarm() {
    let mut model = world();
    note(&mut model, ENGINE, step("x"), NodeFact::MaySleep(5));
    note(&mut model, ENGINE, step("x"), NodeFact::Clock(Clock::FinishBy, at(10)));
    tell(&mut model, ENGINE, 1, step("x"), is("paused"));
    assert_eq!(model.next_alarm(), None);
    tell(&mut model, ENGINE, 2, step("x"), is("running"));
    tell(&mut model, ENGINE, 3, step("x"), is("paused"));
    assert!(wait(&mut model, 99).is_empty());
    assert_eq!(word(&model, &step("x")), StatusWord::Paused);
}

#[test]
fn being_told_again_how_long_it_may_sleep_wakes_nothing() {
    let mut model = world();
    tell(&mut model, ENGINE, 1, step("x"), is("running"));
    note(&mut model, ENGINE, step("x"), NodeFact::MaySleep(5));
    let _ = wait(&mut model, 9);
    assert!(note(&mut model, ENGINE, step("x"), NodeFact::MaySleep(5)).is_empty());
    assert_eq!(word(&model, &step("x")), StatusWord::Stale);
    note(&mut model, ENGINE, step("x"), NodeFact::MaySleep(50));
    assert_eq!(word(&model, &step("x")), StatusWord::Running);
}

#[test]
fn an_alarm_of_a_node_that_is_gone_changes_nothing() {
    let mut model = world();
    tell(&mut model, ENGINE, 1, step("x"), is("running"));
    note(&mut model, ENGINE, step("x"), NodeFact::Clock(Clock::FinishBy, at(10)));
    note(&mut model, ENGINE, step("x"), NodeFact::Gone);
    tell(&mut model, ENGINE, 1, step("y"), is("running"));
    assert!(wait(&mut model, 99).is_empty());
}

/// The process with this number is there, or is no longer.
fn process(pid: u32, is_alive: bool) -> NodeFact {
    let running = Running {
        pid,
        start: 1,
        command: "claude".into(),
        is_foreground: false,
        is_alive,
        beside: Vec::new(),
    };
    NodeFact::Runs(Box::new(running))
}

#[test]
fn the_most_trusted_says_how_long_it_may_sleep_in_whichever_order_they_speak() {
    for order in [[(CLAUDE, 50), (PLAIN, 5)], [(PLAIN, 5), (CLAUDE, 50)]] {
        let mut model = world();
        tell(&mut model, CLAUDE, 1, cli_session("c"), is("running"));
        for (by, millis) in order {
            note(&mut model, by, cli_session("c"), NodeFact::MaySleep(millis));
        }
        let _ = wait(&mut model, 50);
        assert_eq!(word(&model, &cli_session("c")), StatusWord::Running);
        let _ = wait(&mut model, 51);
        assert_eq!(word(&model, &cli_session("c")), StatusWord::Stale);
        // The less trusted one counts when it is the only one that is left.
        note(&mut model, CLAUDE, cli_session("c"), NodeFact::MaySleep(90));
        tell(&mut model, PLAIN, 60, cli_session("c"), is("running"));
        note(&mut model, CLAUDE, cli_session("c"), NodeFact::Gone);
        let _ = wait(&mut model, 65);
        assert_eq!(word(&model, &cli_session("c")), StatusWord::Stale);
    }
}

#[test]
fn of_two_that_are_joined_the_more_patient_word_of_a_source_counts() {
    for (one, two) in [(5, 50), (50, 5)] {
        let mut model = world();
        tell(&mut model, CLAUDE, 1, cli_session("c"), is("running"));
        note(&mut model, CLAUDE, cli_session("c"), NodeFact::MaySleep(one));
        note(&mut model, CLAUDE, session("s"), NodeFact::MaySleep(two));
        seen(&mut model, HOOK, Keys::from(cli_session("c")).and(session("s")));
        assert_eq!(node(&model, &cli_session("c")).clocks.may_sleep, Some(50));
    }
}

#[test]
fn what_has_a_live_process_is_not_stale_and_neither_is_what_works_inside_of_it() {
    let mut model = world();
    let week = i64::try_from(ALIVE_MAY_SLEEP).unwrap();
    for key in [cli_session("c"), cli_agent("u")] {
        tell(&mut model, CLAUDE, 1, key.clone(), is("running"));
        note(&mut model, CLAUDE, key, NodeFact::MaySleep(5));
    }
    let _ = wait(&mut model, 9);
    hang(&mut model, CLAUDE, cli_agent("u"), cli_session("c"));
    let words = |model: &Model| [cli_session("c"), cli_agent("u")].map(|key| word(model, &key));
    assert_eq!(words(&model), [StatusWord::Stale; 2]);
    note(&mut model, HOOK, cli_session("c"), process(7, true));
    let _ = wait(&mut model, week);
    assert_eq!(words(&model), [StatusWord::Running; 2]);
    let _ = wait(&mut model, week + 1);
    assert_eq!(words(&model), [StatusWord::Stale; 2], "nobody works for a week without a word");
    for key in [cli_session("c"), cli_agent("u")] {
        tell(&mut model, CLAUDE, week + 10, key, sign());
    }
    // Another that worked on the same has ended; then this one.
    tell(&mut model, HOOK, week + 11, cli_session("c"), process(6, false));
    let _ = wait(&mut model, week + 99);
    assert_eq!(words(&model), [StatusWord::Running; 2]);
    tell(&mut model, HOOK, week + 100, cli_session("c"), process(7, false));
    let _ = wait(&mut model, week + 100);
    assert_eq!(words(&model), [StatusWord::Stale; 2]);
}

#[test]
fn a_thread_that_nobody_writes_any_more_is_stale_though_its_process_went_on_to_another() {
    let mut model = world();
    note(&mut model, HOOK, cli_session("c"), process(7, true));
    tell(&mut model, CLAUDE, 1, cli_session("c"), is("running"));
    note(&mut model, CLAUDE, cli_session("c"), NodeFact::MaySleep(GONE_MAY_SLEEP));
    let _ = wait(&mut model, 2);
    assert_eq!(word(&model, &cli_session("c")), StatusWord::Stale);
}

#[test]
fn what_is_hung_below_a_live_process_is_not_stale_there() {
    let mut model = world();
    note(&mut model, HOOK, cli_session("c"), process(7, true));
    tell(&mut model, CLAUDE, 1, cli_agent("u"), is("running"));
    note(&mut model, CLAUDE, cli_agent("u"), NodeFact::MaySleep(5));
    let _ = wait(&mut model, 9);
    assert_eq!(word(&model, &cli_agent("u")), StatusWord::Stale);
    hang(&mut model, CLAUDE, cli_agent("u"), cli_session("c"));
    assert_eq!(word(&model, &cli_agent("u")), StatusWord::Running);
    hang(&mut model, CLAUDE, cli_agent("u"), cli_session("d"));
    let _ = wait(&mut model, 9);
    assert_eq!(word(&model, &cli_agent("u")), StatusWord::Stale);
    // The two sessions turn out to be one.
    seen(&mut model, HOOK, Keys::from(cli_session("d")).and(session("s")));
    seen(&mut model, HOOK, Keys::from(cli_session("c")).and(session("s")));
    assert_eq!(word(&model, &cli_agent("u")), StatusWord::Running);
}

#[test]
fn a_live_process_stretches_neither_an_engines_patience_nor_what_a_third_tool_noted_below_it() {
    let mut model = world();
    hang(&mut model, ENGINE, delegation("a"), cli_session("c"));
    hang(&mut model, PLAIN, thing("noted"), cli_session("c"));
    note(&mut model, HOOK, cli_session("c"), process(7, true));
    for (by, key) in [(ENGINE, step("x")), (PLAIN, thing("noted"))] {
        tell(&mut model, by, 1, key.clone(), is("running"));
        note(&mut model, by, key, NodeFact::MaySleep(5));
    }
    note(&mut model, HOOK, step("x"), process(8, true));
    let _ = wait(&mut model, 6);
    assert_eq!(word(&model, &step("x")), StatusWord::Stale);
    assert_eq!(word(&model, &thing("noted")), StatusWord::Stale);
}
