//! What can be ordered: freeze, continue, end, deadlines.

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use quarterdeck::process::signal::{Sent, send};
use quarterdeck::process::tree::{self, Life};
use quarterdeck::session::files::{Order, Reason, Said, What};
use quarterdeck::session::look::remaining_ms;
use quarterdeck::session::order;
use quarterdeck::store::process::awake_ms;
use rustix::process::Signal;

use crate::deck::{Deck, let_pass, ticks};

const END: What = What::End { grace_ms: None, patience_ms: None };

/// Long enough for a process that runs to be seen running: ten ticks of the processor's clock.
const A_WHILE: Duration = Duration::from_millis(100);

#[test]
fn freeze_stops_the_whole_tree_and_continue_lets_it_go_on() {
    let deck = Deck::simulated(&["child:setsid", "child:daemon", "say:up", "burn:600000"]).start();
    deck.wait_for_output("up");
    deck.wait_for_processes(3);
    let main = deck.main().unwrap();
    deck.wait_for("the agent to use the processor", || (ticks(main) > 3).then_some(()));

    let did = deck.order("freeze", What::Freeze);
    assert_eq!((did.count, did.still_running), (3, 0), "{did:?}");
    let before: Vec<u64> = did.pids.iter().map(|process| ticks(*process)).collect();
    let_pass(A_WHILE);
    let after: Vec<u64> = did.pids.iter().map(|process| ticks(*process)).collect();
    assert_eq!(before, after, "something ran while it was frozen");
    for process in &did.pids {
        assert_eq!(tree::look(process.pid).unwrap().life, Life::Stopped);
    }

    let did = deck.order("continue", What::Continue);
    assert_eq!((did.count, did.still_stopped), (3, 0), "{did:?}");
    let frozen = ticks(main);
    deck.wait_for("the agent to go on", || (ticks(main) > frozen + 3).then_some(()));
}

#[test]
fn freeze_catches_up_with_an_agent_that_keeps_starting_others() {
    let deck = Deck::shell("echo up; while :; do sleep 0.01 & sleep 0.01; done").start();
    deck.wait_for_output("up");
    for round in 0..10 {
        let did = deck.order(&format!("freeze-{round}"), What::Freeze);
        assert_eq!(did.still_running, 0, "{did:?}");
        let living = deck.living();
        assert!(living.iter().all(|process| did.pids.contains(process)), "{living:?} but {did:?}");
        assert_eq!(deck.order(&format!("continue-{round}"), What::Continue).still_stopped, 0);
    }
}

#[test]
fn what_had_stopped_itself_stays_so_when_the_rest_goes_on() {
    let deck = Deck::shell("sleep 1000 & kill -STOP $!; echo $!; wait").start();
    deck.wait_for_output("\n");
    let child: u32 = deck.output().trim().parse().unwrap();
    deck.wait_for("the child to stop", || (tree::look(child)?.life == Life::Stopped).then_some(()));
    assert_eq!(deck.order("freeze", What::Freeze).count, 2);
    assert_eq!(deck.order("continue", What::Continue).still_stopped, 0);
    assert_eq!(tree::look(child).unwrap().life, Life::Stopped);
    assert_eq!(tree::look(deck.main().unwrap().pid).unwrap().life, Life::Runs);
}

#[test]
fn an_order_that_comes_twice_is_obeyed_once() {
    let deck = Deck::simulated(&["stall"]).start();
    deck.order("freeze", What::Freeze);
    order(&deck.folder, &Order { id: "freeze".into(), what: What::Freeze }).unwrap();
    deck.order("last", What::Continue);
    let answers =
        deck.said().iter().filter(|said| matches!(said, Said::Did(did) if did.id == "freeze")).count();
    assert_eq!(answers, 1);
}

#[test]
fn an_order_of_a_later_engine_is_refused_and_one_that_is_half_is_passed_over() {
    let deck = Deck::simulated(&["stall"]).start();
    let mut orders = File::options().append(true).create(true).open(deck.folder.orders()).unwrap();
    orders.write_all(b"{\"id\":\"new\",\"order\":\"dance\",\"tempo\":3}\n{\"id\":\"half\",\"ord").unwrap();
    assert_eq!(deck.order("freeze", What::Freeze).count, 1);
    let said = deck.said();
    assert!(said.iter().any(|said| matches!(said, Said::Refused { id, .. } if id == "new")), "{said:?}");
    assert!(
        said.iter().any(|said| matches!(said, Said::Unreadable { file, .. } if file == "orders")),
        "{said:?}"
    );
}

#[test]
fn an_agent_that_is_asked_to_end_may_say_goodbye() {
    let deck = Deck::shell("trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.01; done").start();
    deck.wait_for_output("up");
    let did = deck.order("end", END);
    assert_eq!(did.still_running, 0);
    let exit = deck.exit();
    assert_eq!((exit.reason, exit.code), (Reason::Ended, Some(5)));
    assert!(deck.output().ends_with("bye\n"));
}

#[test]
fn the_host_keeps_the_deadline_by_itself() {
    let deck = Deck::simulated(&["child:daemon", "stall"]).deadline(300).start();
    let exit = deck.exit();
    assert_eq!(exit.reason, Reason::Deadline);
    assert!(exit.ran_ms >= 300, "{exit:?}");
    assert_eq!(deck.living(), []);
}

#[test]
fn time_frozen_is_not_charged() {
    let started = Instant::now();
    let deck = Deck::simulated(&["stall"]).start();
    deck.order("freeze", What::Freeze);
    let frozen = Instant::now();
    // It has run longer than this already, and is over as soon as its time goes on.
    deck.order("deadline", What::Deadline { remaining_ms: Some(1) });
    let_pass(Duration::from_millis(1200));
    assert_eq!(deck.living().len(), 1, "it was ended while it was frozen");
    let frozen = frozen.elapsed();
    assert_eq!(deck.order("continue", What::Continue).count, 1);
    let exit = deck.exit();
    assert_eq!(exit.reason, Reason::Deadline);
    let charged = Duration::from_millis(exit.ran_ms);
    assert!(charged <= started.elapsed().saturating_sub(frozen), "{exit:?}, frozen for {frozen:?}");
}

#[test]
fn a_deadline_can_be_moved() {
    let deck = Deck::simulated(&["stall"]).deadline(600_000).start();
    deck.order("later", What::Deadline { remaining_ms: None });
    deck.order("now", What::Deadline { remaining_ms: Some(1) });
    assert_eq!(deck.exit().reason, Reason::Deadline);
}

#[test]
fn a_host_says_how_much_time_is_left_and_a_new_engine_takes_its_word() {
    let deck = Deck::simulated(&["stall"]).deadline(600_000).start();
    deck.wait_for("the agent to start", || deck.main());
    let left = || remaining_ms(&deck.folder, awake_ms()).unwrap();
    assert!((590_000..=600_000).contains(&left()), "{}", left());
    let told = deck.order("freeze", What::Freeze).remaining_ms.unwrap();
    let_pass(A_WHILE);
    assert_eq!(left(), told, "the clock of a frozen agent stands");
    let told = deck.order("later", What::Deadline { remaining_ms: Some(900_000) }).remaining_ms;
    assert_eq!((told, left()), (Some(900_000), 900_000), "it stands also with a new deadline");
    deck.order("continue", What::Continue);
    deck.wait_for("the clock to go on", || (left() < 900_000).then_some(()));
    deck.order("without", What::Deadline { remaining_ms: None });
    assert_eq!(remaining_ms(&deck.folder, awake_ms()), None);
}

#[test]
fn an_agent_that_is_being_ended_gets_no_more_time() {
    let deck = Deck::simulated(&["ignore-term", "say:up", "stall"]).grace(600_000).start();
    deck.wait_for_output("up");
    order(&deck.folder, &Order { id: "end".into(), what: END }).unwrap();
    let more = What::Deadline { remaining_ms: Some(1) };
    order(&deck.folder, &Order { id: "more".into(), what: more }).unwrap();
    let is_refused = |said: &Said| matches!(said, Said::Refused { id, .. } if id == "more");
    deck.wait_for("the refusal", || deck.said().iter().any(is_refused).then_some(()));
}

#[test]
fn a_host_that_is_told_to_end_ends_its_agent() {
    let deck = Deck::simulated(&["child:setsid", "say:up", "stall"]).start();
    deck.wait_for_output("up");
    assert_eq!(send(deck.launched.as_ref().unwrap().process, Signal::TERM), Sent::Yes);
    assert_eq!(deck.exit().reason, Reason::Ended);
    assert_eq!(deck.living(), []);
}
