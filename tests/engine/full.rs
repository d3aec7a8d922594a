//! A disk that is full for a while: nothing that was accepted is lost, nothing is claimed that was not written, agents go
//! on, and when there is room again everything comes to its end.

use std::fs::{self, File};
use std::io::Write;
use std::process::Command;

use crate::deck::{Deck, text, wait_until};

const INNER: &str = "full::inside_a_small_disk";
const AGENTS: &str = r#"
[agents.works]
kind = "simulated"
command = ["--speed", "20", "--steps", "3"]

[agents.slow]
kind = "command"
command = "while [ ! -e go ]; do sleep 0.05; done; echo finished"
"#;

/// Runs the other test on a disk of its own, in a mount namespace that ends with it.
#[test]
fn a_full_disk_costs_nothing_that_was_accepted() {
    let place = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=6m none \"$0\" && exec \"$@\"";
    let probe = |kind: &str| {
        let tried =
            Command::new("unshare").args([kind, "sh", "-c", script]).arg(place.path()).arg("true").output();
        tried.is_ok_and(|tried| tried.status.success())
    };
    // The second is for who is not root, where the system lets them.
    let Some(kind) = ["-m", "-rm"].into_iter().find(|kind| probe(kind)) else {
        eprintln!("SKIPPED: a disk of its own cannot be mounted here, so a full one was not tried.");
        return;
    };
    let program = std::env::current_exe().unwrap();
    let mut inner = Command::new("unshare");
    inner.args([kind, "sh", "-c", script]).arg(place.path()).arg(program);
    inner.args(["--exact", INNER, "--ignored", "--nocapture"]).env("TMPDIR", place.path());
    let output = inner.output().unwrap();
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

/// Fills the disk to the last byte.
fn fill(deck: &Deck) {
    let mut file = File::create(deck.path("filler")).unwrap();
    for size in [64 * 1024, 1024, 1] {
        let block = vec![b'x'; size];
        while file.write_all(&block).is_ok() {}
    }
}

#[test]
#[ignore = "it needs a small disk of its own, which the test above makes"]
fn inside_a_small_disk() {
    let deck = Deck::new();
    fs::write(deck.path("quarterdeck.toml"), AGENTS).unwrap();
    let id = deck.ok(&["delegate", "--agent", "slow", "a long task"]);
    let id = id.lines().next().unwrap();
    wait_until("it runs", || deck.node(&format!("{id}/st-1"))["status"] == "running");
    fill(&deck);
    let refused = deck.run(&["delegate", "--agent", "works", "one more"]);
    let why = text(&refused.stderr);
    assert!(!refused.status.success() && why.contains("No space left on device"), "{why}");
    let cancel = deck.run(&["cancel", id]);
    assert!(!cancel.status.success(), "nothing is confirmed that is not on disk: {}", text(&cancel.stdout));
    assert_eq!(
        deck.node(&format!("{id}/st-1"))["status"],
        "running",
        "what is known can be read all the time"
    );
    assert!(!deck.processes().is_empty(), "the agent goes on");
    fs::remove_file(deck.path("filler")).unwrap();
    let more = deck.ok(&["delegate", "--agent", "works", "one more"]);
    let more = more.lines().next().unwrap();
    fs::write(deck.path("go"), "").unwrap();
    // Whether the cancel was left in the inbox before the disk was full is a matter of bytes: it has one outcome.
    let end = deck.run(&["wait", id]);
    let told = text(&end.stdout);
    assert!(told.contains("done") || told.contains("cancelled"), "{told}{}", text(&end.stderr));
    assert!(deck.ok(&["wait", more]).contains("done"));
    deck.ok(&["doctor", "--folder-only"]);
    wait_until("no process is left", || deck.processes().is_empty());
}
