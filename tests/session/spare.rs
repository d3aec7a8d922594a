//! Whom a host leaves alone: the engine that its agent started, and the hosts of other sessions.

use std::fs;
use std::path::Path;

use quarterdeck::process::signal::{Sent, send};
use quarterdeck::process::tree::{self, Life, Process};
use quarterdeck::session::files::{Reason, What};
use quarterdeck::session::folder::Folder;
use quarterdeck::store::process::boot_id;
use rustix::process::Signal;
use serde_json::json;

use crate::deck::{Deck, program, text};

/// Puts a session where an engine has it: below `sessions` of a state folder.
fn in_state_folder(deck: &mut Deck, root: &Path) {
    let sessions = root.join("state/sessions");
    fs::create_dir_all(&sessions).unwrap();
    deck.folder = Folder(sessions.join(deck.spec.session.as_str()));
}

fn life(process: Process) -> Option<Life> {
    tree::look(process.pid).filter(|seen| seen.process == process).map(|seen| seen.life)
}

fn number(deck: &Deck, name: &str) -> Process {
    deck.wait_for(name, || {
        let pid = fs::read_to_string(deck.temp.path().join(name)).ok()?.trim().parse().ok()?;
        tree::process(pid)
    })
}

#[test]
fn the_engine_below_an_agent_and_its_other_hosts_are_neither_frozen_nor_ended() {
    // The other session's host is started from inside the first one, as an engine there would.
    let mut other = Deck::simulated(&["child:daemon", "say:up", "stall"]);
    let mut deck = Deck::new(&[]);
    let root = deck.temp.path().to_owned();
    in_state_folder(&mut deck, &root);
    in_state_folder(&mut other, &root);
    fs::create_dir(&other.folder.0).unwrap();
    fs::write(other.folder.spec(), serde_json::to_vec(&other.spec).unwrap()).unwrap();
    let (quarterdeck, folder) = (program().display(), text(other.folder.0.clone()));
    let script = format!(
        "sh -c 'echo $$ > engine; sleep 1000 & wait' & env -i {quarterdeck} session-host {folder} & \
         sleep 1000 & while [ ! -e go ]; do sleep 0.02; done; exit 5"
    );
    deck.spec.run.argv = vec!["/bin/sh".into(), "-c".into(), script];
    let deck = deck.grace(300).start();
    let engine = number(&deck, "engine");
    let below = deck.wait_for("what the engine started", || tree::below(&[engine.pid]).first().copied());
    let agents = {
        other.wait_for_output("up");
        other.wait_for_processes(2)
    };
    let holder = json!({ "pid": engine.pid, "start": engine.start, "bootId": boot_id(), "epoch": 1 });
    fs::write(deck.temp.path().join("state/engine.lock"), holder.to_string()).unwrap();
    let spared: Vec<Process> = [engine, below.process].into_iter().chain(agents).collect();

    let did = deck.order("freeze", What::Freeze);
    assert_eq!(did.still_running, 0, "{did:?}");
    assert_eq!(deck.main().and_then(life), Some(Life::Stopped));
    for process in &spared {
        assert_eq!((life(*process), did.pids.contains(process)), (Some(Life::Runs), false), "{process:?}");
    }
    deck.order("continue", What::Continue);
    // It ends by itself; what it leaves behind ends with it, but for these.
    fs::write(deck.temp.path().join("go"), "").unwrap();
    let exit = deck.exit();
    assert_eq!((exit.reason, exit.code), (Reason::Exited, Some(5)));
    assert!(!exit.ended.is_empty() && spared.iter().all(|one| !exit.ended.contains(one)), "{exit:?}");
    for process in &spared {
        assert_eq!(life(*process), Some(Life::Runs), "{process:?}");
    }
    other.order("end", What::Kill);
    assert_eq!(other.exit().reason, Reason::Ended);
    for process in [below.process, engine] {
        assert_ne!(send(process, Signal::KILL), Sent::Refused);
    }
}
