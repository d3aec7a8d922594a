//! An agent that nobody of ours started: seen as a process, steered by signals, with a look at what it is before.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use quarterdeck::model::time::Stamp;
use quarterdeck::process::tree::{self, Life};
use quarterdeck::process::whole::{GRACE, Whole};

use crate::screen::{Screen, quarterdeck};

/// What a test started, ended with all below it when the test is over, however that ends.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(whole) = tree::process(self.0.id()).and_then(|process| Whole::of(process).ok()) {
            let _ = whole.end(GRACE);
        }
        let _ = self.0.wait();
    }
}

/// Starts a program that is called as an agent is and only runs a command, in a session of its own as agents do; it is there
/// with all below it when this returns.
fn claude(folder: &Path) -> Started {
    let claude = folder.join("claude");
    fs::copy("/bin/sh", &claude).unwrap();
    let mut command = Command::new(&claude);
    command
        .args(["-c", "setsid sleep 600 & echo there; wait"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = loop {
        match command.spawn() {
            // Another test's child has it open for writing still, until that child is another program.
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            child => break child.unwrap(),
        }
    };
    let mut said = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
    Started(child)
}

#[test]
fn a_session_in_another_terminal_is_stopped_continued_and_ended_with_all_that_descends_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut started = claude(folder.path());
    let child = &mut started.0;
    let pid = child.id();
    let lives = || {
        let below = tree::below(&[pid]).into_iter().map(|seen| seen.life);
        below.chain(tree::look(pid).map(|seen| seen.life)).collect::<Vec<_>>()
    };
    assert_eq!(lives().len(), 2, "{:?}", lives());
    let mut screen = Screen::run(quarterdeck(folder.path(), &[]));
    screen.shows("claude in ");
    screen.keys("gp");
    screen.shows(&format!("pid {pid}"));
    screen.shows("setsid sleep 600");
    screen.keys("\r");
    screen.shows(&format!("pause process {pid}: confirmed, 2 of 2 stopped"));
    assert!(lives().iter().all(|life| *life == Life::Stopped), "{:?}", lives());
    screen.shows("1 paused");
    screen.keys("r\r");
    screen.shows(&format!("resume process {pid}: confirmed, 2 of 2 continue"));
    assert!(lives().iter().all(|life| *life == Life::Runs), "{:?}", lives());
    screen.hides("1 paused");
    screen.keys("c\r");
    screen.shows(&format!("cancel process {pid}: confirmed, 2 ended"));
    assert!(lives().iter().all(|life| *life == Life::Ended), "{:?}", lives());
    child.wait().unwrap();
    screen.hides("claude in ");
    screen.keys("q");
    screen.shows("left with 0");
}

#[test]
fn a_session_that_was_cancelled_by_a_signal_is_cancelled_also_after_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let started = claude(&root);
    let (pid, cwd) = (started.0.id(), root.display().to_string());
    let home = root.join(".claude");
    let name = cwd.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    for below in ["sessions".to_owned(), format!("projects/{name}")] {
        fs::create_dir_all(home.join(below)).unwrap();
    }
    let entry = format!(r#"{{"pid":{pid},"sessionId":"s1","cwd":"{cwd}"}}"#);
    fs::write(home.join(format!("sessions/{pid}.json")), entry).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = Stamp::from_millis(i64::try_from(now.as_millis()).unwrap());
    let line = format!(
        r#"{{"type":"user","uuid":"u","sessionId":"s1","timestamp":"{now}","cwd":"{cwd}","message":{{"role":"user","content":"Mend it."}}}}"#
    );
    fs::write(home.join(format!("projects/{name}/s1.jsonl")), format!("{line}\n")).unwrap();
    let mut screen = Screen::run(quarterdeck(&root, &[]));
    screen.shows("Mend it.");
    screen.shows("1 running");
    screen.keys("gc\r");
    screen.shows(&format!("cancel process {pid}: confirmed, 2 ended"));
    screen.shows("you ended its process");
    screen.hides("stale");
    screen.keys("q");
    screen.shows("left with 0");
    drop(screen);
    let mut screen = Screen::run(quarterdeck(&root, &[]));
    screen.shows("you ended its process");
    screen.hides("stale");
    screen.keys("q");
    screen.shows("left with 0");
}
