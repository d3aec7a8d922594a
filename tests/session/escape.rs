//! Escape artists: whatever an agent does to its processes, an end leaves none.

use std::time::{Duration, Instant};

use quarterdeck::process::signal::{Sent, send};
use quarterdeck::process::tree::{self, Life};
use quarterdeck::session::files::{Reason, What};
use rstest::rstest;
use rustix::process::Signal;

use crate::deck::Deck;

const END: What = What::End { grace_ms: None, patience_ms: None };

/// Ends a session and shows that nothing of it is left.
fn end(deck: &Deck, what: What) -> usize {
    let before = deck.living();
    let did = deck.order("end", what);
    assert_eq!(did.still_running, 0, "{did:?}");
    for process in before.iter().chain(&did.pids) {
        assert!(!tree::is_there(*process), "{process:?} is left");
    }
    let exit = deck.exit();
    assert_eq!((exit.reason, &exit.ended), (Reason::Ended, &did.pids), "the record names all that it ended");
    assert_eq!(deck.living(), []);
    did.count
}

#[rstest]
#[case::a_child(&["child"], 2)]
#[case::a_child_in_a_session_of_its_own(&["child:setsid"], 2)]
#[case::a_daemon(&["child:daemon"], 2)]
#[case::a_crowd(&["child", "child:setsid", "child:daemon", "child:daemon", "child:setsid"], 6)]
fn an_end_leaves_nothing_of(#[case] acts: &[&str], #[case] count: usize) {
    for what in [END, What::Kill] {
        let acts: Vec<&str> = acts.iter().copied().chain(["say:up", "stall"]).collect();
        let deck = Deck::simulated(&acts).start();
        deck.wait_for_output("up");
        deck.wait_for_processes(count);
        assert_eq!(end(&deck, what), count);
    }
}

#[test]
fn an_agent_that_ignores_term_is_killed_after_the_grace() {
    let deck = Deck::simulated(&["ignore-term", "child:daemon", "say:up", "stall"]).grace(200).start();
    deck.wait_for_output("up");
    let asked = Instant::now();
    end(&deck, END);
    assert!(asked.elapsed() >= Duration::from_millis(200), "it was not given its grace");
    assert_eq!(deck.exit().signal, Some(9));
}

#[test]
fn the_grace_of_an_order_counts_and_a_kill_cuts_it_short() {
    let deck = Deck::simulated(&["ignore-term", "say:up", "stall"]).grace(600_000).start();
    deck.wait_for_output("up");
    let order = quarterdeck::session::files::Order { id: "slow".into(), what: END };
    quarterdeck::session::order(&deck.folder, &order).unwrap();
    end(&deck, What::Kill);
}

#[test]
fn an_agent_that_is_stopped_ends() {
    let deck = Deck::simulated(&["child:setsid", "say:up", "stop", "stall"]).start();
    deck.wait_for_output("up");
    let main = deck.main().unwrap();
    deck.wait_for("it to stop", || (tree::look(main.pid)?.life == Life::Stopped).then_some(()));
    end(&deck, END);
    assert_eq!(deck.exit().signal, Some(15), "it was killed, though it could have ended by itself");
}

#[test]
fn an_agent_that_is_frozen_ends() {
    let deck = Deck::simulated(&["child:daemon", "say:up", "stall"]).start();
    deck.wait_for_output("up");
    deck.wait_for_processes(2);
    assert_eq!(deck.order("freeze", What::Freeze).count, 2);
    assert_eq!(end(&deck, END), 2);
    assert_eq!(deck.exit().signal, Some(15));
}

#[test]
fn an_agent_that_closes_its_output_and_lives_on_ends() {
    let deck = Deck::simulated(&["say:up", "close-out", "stall"]).start();
    deck.wait_for_output("up");
    assert_eq!(end(&deck, END), 1);
}

#[rstest]
#[case("while :; do (sleep 0.05 &); done")]
#[case("trap '' TERM; while :; do (sleep 0.05 &); done")]
#[case("loop() { sleep 0.002; loop & }; loop; sleep 1000")]
fn an_agent_that_keeps_starting_others_ends(#[case] script: &str) {
    // Bounded by itself: each of the started ones is gone after a moment.
    let deck = Deck::shell(&format!("echo up; {script}")).grace(100).start();
    deck.wait_for_output("up");
    end(&deck, END);
}

#[test]
fn what_an_agent_leaves_behind_when_it_exits_is_ended_and_named() {
    let deck = Deck::simulated(&["child:setsid", "child:daemon", "say:up", "work:300", "exit:4"]).start();
    deck.wait_for_output("up");
    let exit = deck.exit();
    assert_eq!((exit.reason, exit.code), (Reason::Exited, Some(4)));
    assert_eq!((exit.leftovers.len(), &exit.ended), (2, &exit.leftovers), "{exit:?}");
    assert_eq!(deck.living(), []);
}

#[test]
fn a_child_without_the_mark_in_a_session_of_its_own_ends_too() {
    let deck = Deck::shell("(exec env -i setsid sleep 1000 &) ; echo up; sleep 1000").start();
    deck.wait_for_output("up");
    let host = deck.launched.as_ref().unwrap().process;
    let all =
        deck.wait_for("the unmarked one", || Some(tree::below(&[host.pid])).filter(|all| all.len() == 3));
    let did = deck.order("end", END);
    assert_eq!((did.count, did.still_running), (3, 0));
    assert!(all.iter().all(|seen| send(seen.process, Signal::KILL) == Sent::Gone));
}
