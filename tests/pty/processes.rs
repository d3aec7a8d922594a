//! An agent that nobody of ours started: seen as a process, steered by signals, with a look at what it is before.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

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

#[test]
fn a_session_in_another_terminal_is_stopped_continued_and_ended_with_all_that_descends_from_it() {
    let folder = tempfile::tempdir().unwrap();
    // A program of that name which only runs a command, in a session of its own as agents do.
    let claude = folder.path().join("claude");
    fs::copy("/bin/sh", &claude).unwrap();
    let mut command = Command::new(&claude);
    command
        .args(["-c", "setsid sleep 600 & echo there; wait"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let child = loop {
        match command.spawn() {
            // Another test's child has it open for writing still, until that child is another program.
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            child => break child.unwrap(),
        }
    };
    let mut started = Started(child);
    let child = &mut started.0;
    let mut said = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
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
