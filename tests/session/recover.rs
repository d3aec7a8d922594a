//! What a new engine finds: hosts that live, hosts that were killed, folders that were never taken.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use quarterdeck::process::signal::{Sent, send};
use quarterdeck::process::tree::{self, Process};
use quarterdeck::session::files::{Said, Spec, What};
use quarterdeck::session::folder::Folder;
use quarterdeck::session::{State, launch, look, sweep};
use rustix::process::Signal;

use crate::deck::{Deck, living, program};

/// Set in a process that this test program starts as its own child.
const FOLDER: &str = "QD_SESSION_TEST_FOLDER";

#[test]
fn of_twenty_hosts_for_one_folder_one_starts_the_agent() {
    let mut deck = Deck::simulated(&["say:up", "stall"]);
    deck.launch();
    let mut others: Vec<_> = (0..19).map(|_| launch(&deck.folder, &deck.spec, program()).unwrap()).collect();
    let mut all = vec![deck.launched.take().unwrap()];
    all.append(&mut others);
    deck.wait_for_output("up");
    // All but the one that has the folder leave by themselves.
    deck.wait_for("nineteen to leave", || {
        let left = all.iter_mut().filter_map(|host| host.left().unwrap()).collect::<Vec<_>>();
        assert!(left.iter().all(|code| *code == 3), "{left:?}");
        (left.len() == 19).then_some(())
    });
    assert_eq!(deck.output(), "up\n");
    assert_eq!(deck.living().len(), 1);
    let State::Running { host: Some(host) } = look(&deck.folder).unwrap() else { panic!("no host") };
    assert!(all.iter().any(|launched| launched.process == host.process));
    deck.order("kill", What::Kill);
    deck.exit();
    deck.wait_for("the last to leave", || {
        all.iter_mut().all(|host| host.left().unwrap().is_some()).then_some(())
    });
    // One that comes late leaves too, and what is recorded stays.
    let mut late = launch(&deck.folder, &deck.spec, program()).unwrap();
    deck.wait_for("the late one to leave", || late.left().unwrap());
    assert_eq!(deck.output(), "up\n");
}

#[test]
fn a_folder_that_nobody_took_never_ran() {
    let deck = Deck::simulated(&["stall"]);
    assert_eq!(look(&deck.folder).unwrap(), State::NeverRan);
    std::fs::create_dir(&deck.folder.0).unwrap();
    std::fs::write(deck.folder.spec(), "{").unwrap();
    assert_eq!(look(&deck.folder).unwrap(), State::NeverRan);
    // The half of a spec that a dead engine left is no obstacle.
    let deck = deck.start();
    assert!(matches!(look(&deck.folder).unwrap(), State::Running { .. }));
}

#[test]
fn looking_at_a_folder_does_not_keep_its_host_from_taking_it() {
    for _ in 0..10 {
        let mut deck = Deck::new(&["true"]);
        deck.launch();
        deck.wait_for("the end", || {
            // Without a pause, so that one of these meets the host at its lock.
            (0..1000).find_map(|_| matches!(look(&deck.folder).unwrap(), State::Exited(_)).then_some(()))
        });
        assert_eq!(deck.launched.as_mut().and_then(|host| host.left().unwrap()).unwrap_or(0), 0);
    }
}

#[test]
fn child_that_launches_and_waits_to_be_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Folder(PathBuf::from(folder));
    let spec: Spec =
        serde_json::from_slice(&std::fs::read(folder.0.with_extension("spec")).unwrap()).unwrap();
    let _launched = launch(&folder, &spec, program()).unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn the_engines_death_leaves_host_and_agent_running() {
    let deck = Deck::simulated(&["child:daemon", "say:up", "echo", "exit:6"])
        .stdin(quarterdeck::agent::run::Stdin::Pipe);
    std::fs::write(deck.folder.0.with_extension("spec"), serde_json::to_vec(&deck.spec).unwrap()).unwrap();
    let mut engine = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "recover::child_that_launches_and_waits_to_be_killed", "--test-threads=1"])
        .env(FOLDER, &deck.folder.0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    deck.wait_for_output("up");
    engine.kill().unwrap();
    engine.wait().unwrap();
    let State::Running { host: Some(host) } = look(&deck.folder).unwrap() else { panic!("no host") };
    assert!(tree::is_there(host.process) && tree::is_there(deck.main().unwrap()));
    // The next engine goes on where the last one was.
    quarterdeck::session::feed(&deck.folder, "1", "hello").unwrap();
    deck.wait_for_output("heard: hello\n");
    deck.order("close", What::CloseStdin);
    let exit = deck.exit();
    assert_eq!((exit.code, exit.leftovers.len()), (Some(6), 1));
}

#[test]
fn a_killed_host_is_lost_and_what_it_left_is_swept() {
    let deck = Deck::simulated(&["child:setsid", "child:daemon", "ignore-term", "say:up", "stall"]).start();
    deck.wait_for_output("up");
    let all = deck.wait_for_processes(3);
    assert_eq!(send(deck.launched.as_ref().unwrap().process, Signal::KILL), Sent::Yes);
    let pids = lost(&deck);
    assert_eq!(pids, [deck.main().unwrap()]);
    let swept = sweep(&deck.spec.session, &pids);
    assert_eq!((swept.ended.len(), swept.left.len()), (3, 0), "{swept:?}");
    assert!(all.iter().all(|process| swept.ended.contains(process)));
    assert_eq!(living(&deck.spec.session, &pids), []);
}

#[test]
fn a_process_without_the_mark_is_swept_by_the_hosts_list() {
    let deck = Deck::shell("(exec env -i setsid sleep 1000 &) ; echo up; sleep 1000").start();
    deck.wait_for_output("up");
    let host = deck.launched.as_ref().unwrap().process;
    deck.wait_for("the unmarked one", || (tree::below(&[host.pid]).len() == 3).then_some(()));
    let listed = deck.wait_for("the host's list", || {
        deck.said()
            .into_iter()
            .find_map(|said| if let Said::Pids { pids } = said { Some(pids) } else { None })
    });
    assert_eq!(send(host, Signal::KILL), Sent::Yes);
    let pids = lost(&deck);
    assert_eq!(pids.len(), 3);
    let swept = sweep(&deck.spec.session, &pids);
    assert_eq!((swept.ended, swept.left), (listed, Vec::new()));
}

#[test]
fn a_listed_number_that_another_process_has_now_is_not_swept() {
    let deck = Deck::simulated(&["stall"]).start();
    let other = Deck::simulated(&["stall"]).start();
    let theirs = other.main().unwrap();
    let listed = Process { start: theirs.start - 1, ..theirs };
    assert_eq!(send(deck.launched.as_ref().unwrap().process, Signal::KILL), Sent::Yes);
    let mut pids = lost(&deck);
    pids.push(listed);
    let swept = sweep(&deck.spec.session, &pids);
    assert_eq!(swept.ended, [deck.main().unwrap()]);
    assert!(tree::is_there(theirs));
}

/// Waits until the host's end is noticed; returns the processes that it had spoken of.
fn lost(deck: &Deck) -> Vec<Process> {
    deck.wait_for("the host to be gone", || match look(&deck.folder).unwrap() {
        State::Lost { pids, .. } => Some(pids),
        State::NeverRan | State::Running { .. } | State::Exited(_) => None,
    })
}
