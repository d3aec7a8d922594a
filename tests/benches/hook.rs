//! What a hook costs an agent's session: from spawn to exit, beside the least that any program of ours could take.
//! With a journal of a hundred thousand events in the folder, which it must not read.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measuring program: it stops where something is wrong, and prints what it finds"
)]

#[expect(dead_code, reason = "other benches use the rest")]
#[path = "floors.rs"]
mod floors;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use floors::{Floor, median, report, timed};

const PROGRAM: &str = env!("CARGO_BIN_EXE_quarterdeck");
const TURNS: usize = 60;
/// A fleet of so many delegations has more than a hundred thousand events.
const FLEET: &[&str] = &["--ended", "1600", "--live", "4", "--subtasks", "6"];

fn main() -> ExitCode {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join(".quarterdeck");
    let made = Command::new(PROGRAM).arg("synth").arg(&folder).args(FLEET).status().unwrap();
    assert!(made.success(), "the journal could not be made");
    // In turns, so that a busy moment of the machine meets all of them.
    let (mut least, mut calls, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..TURNS {
        least.push(timed(|| bare(temp.path())));
        calls.push(timed(|| hook(temp.path(), &call(temp.path(), turn, "Agent"))));
        others.push(timed(|| hook(temp.path(), &call(temp.path(), turn, "Bash"))));
    }
    let (least, calls, others) = (median(least), median(calls), median(others));
    println!(
        "       a hand-off: {:.2} ms; any other tool: {:.2} ms; --version and a sync: {:.2} ms",
        calls * 1e3,
        others * 1e3,
        least * 1e3
    );
    report([
        ("hook at a hand-off, beside --version and one sync", calls / least, Floor::AtMost(2.0)),
        ("hook at any other tool, beside --version and one sync", others / least, Floor::AtMost(2.0)),
    ])
}

fn call(folder: &Path, turn: usize, tool: &str) -> String {
    let cwd = folder.display();
    format!(
        r#"{{"session_id":"s","transcript_path":"/nowhere/s.jsonl","cwd":"{cwd}","hook_event_name":"PreToolUse","tool_name":"{tool}","tool_use_id":"toolu_{turn}","tool_input":{{"description":"Look","prompt":"Look around","subagent_type":"explore","command":"ls"}}}}"#
    )
}

fn program(folder: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.current_dir(folder).env_clear().env("HOME", folder).stdout(Stdio::null());
    command
}

/// The least: the program starts and ends, and one line is on disk.
fn bare(folder: &Path) {
    assert!(program(folder).arg("--version").status().unwrap().success());
    let mut file = File::options().append(true).create(true).open(folder.join("synced")).unwrap();
    file.write_all(&[b'x'; 300]).unwrap();
    file.sync_data().unwrap();
}

fn hook(folder: &Path, input: &str) {
    let mut child = program(folder).args(["hook", "PreToolUse"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}
