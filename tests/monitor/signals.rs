//! Processes that no engine runs: signalled after a look at what they are, with an ending that is shown.

use quarterdeck::control::Signal;
use quarterdeck::model::fact::NodeFact;
use quarterdeck::model::id::CommandId;
use quarterdeck::model::node::{Beside, Running};
use quarterdeck::monitor::app::effect::{Effect, News};
use quarterdeck::monitor::app::sent::SentState;

use super::deck::{Deck, foreign, session};

fn running(is_foreground: bool) -> Running {
    let (command, beside) = ("claude --resume x".into(), Vec::new());
    Running { pid: 4711, start: 99, command, is_foreground, is_alive: true, beside }
}

fn deck(is_foreground: bool) -> Deck {
    let runs = NodeFact::Runs(Box::new(running(is_foreground)));
    Deck::of([foreign("native").titled("a session").is("running").and(runs)])
}

/// Returns what was signalled since this was last asked.
fn signals(deck: &mut Deck) -> Vec<(CommandId, Signal, u32)> {
    let effects = std::mem::take(&mut deck.effects);
    let of = |effect| {
        let Effect::Signal { id, what, process, .. } = effect else { return None };
        Some((id, what, process.pid))
    };
    effects.into_iter().filter_map(of).collect()
}

#[test]
fn a_process_is_signalled_only_after_its_number_and_command_were_shown() {
    for (key, what) in [("p", Signal::Stop), ("c", Signal::End)] {
        let mut deck = deck(false);
        deck.press(key);
        let screen = deck.text(100, 30);
        assert!(screen.contains("4711") && screen.contains("claude --resume x"), "{screen}");
        deck.press("esc");
        assert!(signals(&mut deck).is_empty());
        deck.press(key).press("enter");
        let sent: Vec<_> = signals(&mut deck).into_iter().map(|(_, what, pid)| (what, pid)).collect();
        assert_eq!(sent, [(what, 4711)]);
    }
}

#[test]
fn all_processes_of_a_session_are_shown_before_they_are_signalled_together() {
    let other =
        Beside { pid: 4712, start: 98, command: "claude -c".into(), is_foreground: false, is_stopped: false };
    let running = Running { beside: vec![other], ..running(false) };
    let node = foreign("native").titled("a session").is("running");
    let mut deck = Deck::of([node.and(NodeFact::Runs(Box::new(running)))]);
    deck.press("c");
    let screen = deck.text(100, 30);
    for shown in ["End 2 processes", "pid 4711  claude --resume x", "pid 4712  claude -c"] {
        assert!(screen.contains(shown), "{shown}: {screen}");
    }
    deck.press("enter");
    let effects = std::mem::take(&mut deck.effects);
    let [Effect::Signal { process, .. }] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(
        process.each().map(|(pid, start, _)| (pid, start)).collect::<Vec<_>>(),
        [(4711, 99), (4712, 98)]
    );
    let screen = deck.text(120, 30);
    assert!(screen.contains("cancel processes 4711 and 4712"), "{screen}");
}

#[test]
fn what_became_of_a_signal_is_shown_as_its_receipt() {
    for done in [Ok("3 of 3 stopped".to_owned()), Err("process 4711 has ended".to_owned())] {
        let mut deck = deck(false);
        deck.press("p").press("enter");
        let (id, ..) = signals(&mut deck).remove(0);
        let told = done.clone().unwrap_or_else(|why| why);
        let is_confirmed = done.is_ok();
        deck.news(News::Signalled { id, done });
        let sent = deck.app.ui.outbox.foremost().unwrap();
        assert_eq!(matches!(sent.state, SentState::Confirmed { .. }), is_confirmed);
        let screen = deck.text(120, 30);
        assert!(screen.contains(&told), "{screen}");
    }
}

#[test]
fn the_foreground_job_of_a_shell_is_not_offered_a_pause_and_the_reason_is_told() {
    let mut deck = deck(true);
    deck.press("p");
    assert!(signals(&mut deck).is_empty());
    assert!(deck.app.ui.layers.is_empty());
    let screen = deck.text(160, 30);
    assert!(screen.contains("foreground job of a shell"), "{screen}");
}

#[test]
fn the_view_of_sessions_shows_the_processes_that_the_system_shows() {
    let other =
        Beside { pid: 4712, start: 98, command: "claude -c".into(), is_foreground: false, is_stopped: false };
    let of = |running: Running| {
        let told = session("claude", "native").titled("a session").is("running");
        let mut deck = Deck::of([told.and(NodeFact::Runs(Box::new(running)))]);
        deck.press("5");
        deck.text(160, 30)
    };
    let screen = of(Running { beside: vec![other], ..running(false) });
    let row = screen.lines().find(|line| line.contains("native")).unwrap();
    assert!(row.contains(" 4711 "), "{screen}");
    assert!(screen.contains("processes 4711 and 4712"), "{screen}");
    assert!(of(running(false)).contains("process 4711 "));
    assert!(!of(Running { is_alive: false, ..running(false) }).contains("4711"), "it is gone");
}
