//! G1: what was acknowledged survives `kill -9`.
//!
//! The test starts itself as a process that appends and says each place that was acknowledged, and kills
//! it at a moment that differs each round.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use quarterdeck::model::id::Seq;
use quarterdeck::store::disk::{Disk, RealDisk};
use quarterdeck::store::folder::StateFolder;
use quarterdeck::store::journal::Journal;

use crate::support::{append, compact, open, recover};

/// Set in a process that this test program starts as its own child.
pub const FOLDER: &str = "QD_STORE_TEST_FOLDER";

/// Starts one test of this program as a process of its own.
pub fn start(test: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn child_that_appends_until_it_is_killed() {
    let Some(root) = std::env::var_os(FOLDER) else { return };
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let (store, _) = open(&disk, &StateFolder::at(root)).unwrap();
    // Not through the harness: a line must be out before the next append.
    let mut out = std::io::stdout();
    for round in 1.. {
        let next = store.journal.durable().0 + 1;
        let written = append(&store, next..=next + round % 3).unwrap();
        writeln!(out, "\nack {}", written.last).unwrap();
        out.flush().unwrap();
        if round % 16 == 0 {
            compact(&store).unwrap();
        }
    }
}

#[test]
fn what_was_acknowledged_survives_kill_9() {
    let temp = tempfile::tempdir().unwrap();
    let folder = StateFolder::at(temp.path().join("state"));
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let rounds = std::env::var("QD_KILL_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(200);
    let mut ends = HashSet::new();
    for round in 0..rounds {
        let mut child = start("killed::child_that_appends_until_it_is_killed", &folder.root);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = 0;
        let mut acks = 0;
        // A different number each round, so that the kill meets every step, compaction too.
        let enough = 1 + round * 7 % 40;
        for line in lines {
            let Some(seq) = line.unwrap().strip_prefix("ack ").map(str::parse) else { continue };
            acknowledged = seq.unwrap();
            acks += 1;
            if acks == enough {
                // It goes on meanwhile: what it says until it is dead counts too.
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        let (count, _) = recover(&disk, &folder).unwrap();
        assert!(count >= acknowledged, "round {round}: {count} recovered, {acknowledged} acknowledged");
        ends.insert(Seq(count));
    }
    assert_eq!(ends.len(), rounds);
}
