//! The terminal is given back whatever happens.

use std::io;

use quarterdeck::monitor::term::{Stage, Terminal};

use crate::screen::{Screen, command};

/// The name of the test below, as the program of the tests knows it.
const PANICS: &str = "terminal::in_a_terminal_a_panic_while_it_draws";
const ELSEWHERE: &str = "terminal::in_a_terminal_a_panic_of_a_thread";

#[test]
#[ignore = "it needs a terminal of its own: the tests below give it one"]
fn in_a_terminal_a_panic_while_it_draws() {
    let mut terminal = Terminal::take().unwrap();
    terminal
        .draw(&mut |area, buf| buf.set_string(area.x, area.y, "drawn", ratatui::style::Style::new()))
        .unwrap();
    // The test that reads the screen presses a key when it has seen the frame.
    io::stdin().lines().next();
    terminal.draw(&mut |_, _| panic!("the mast broke")).unwrap();
}

#[test]
#[ignore = "it needs a terminal of its own: the tests below give it one"]
fn in_a_terminal_a_panic_of_a_thread() {
    let mut terminal = Terminal::take().unwrap();
    terminal
        .draw(&mut |area, buf| buf.set_string(area.x, area.y, "drawn", ratatui::style::Style::new()))
        .unwrap();
    let _ = std::thread::spawn(|| panic!("the mast broke")).join();
    loop {
        // A loop that knows nothing of it would go on for ever.
        std::thread::park();
    }
}

fn in_a_terminal(name: &str) -> (tempfile::TempDir, Screen) {
    let folder = tempfile::tempdir().unwrap();
    let me = std::env::current_exe().unwrap();
    let arguments = ["--exact", name, "--ignored", "--nocapture", "--test-threads", "1"];
    let screen = Screen::run(command(folder.path(), me.to_str().unwrap(), &arguments));
    (folder, screen)
}

#[test]
fn a_panic_gives_the_terminal_back_and_leaves_a_message_that_can_be_read() {
    let (_folder, mut screen) = in_a_terminal(PANICS);
    screen.shows("drawn");
    screen.is_taken();
    screen.keys("\n");
    screen.shows("left with 101");
    screen.is_given_back();
    screen.shows("the mast broke");
    screen.hides("drawn");
}

#[test]
fn a_panic_of_a_thread_ends_the_program_instead_of_leaving_it_without_a_terminal() {
    let (_folder, screen) = in_a_terminal(ELSEWHERE);
    screen.shows("left with 101");
    screen.is_given_back();
    screen.shows("the mast broke");
}

#[cfg(target_os = "linux")]
#[test]
fn a_stop_from_outside_gives_the_terminal_back_and_going_on_takes_it_again() {
    use crate::deck::wait_until;
    use crate::opens::{empty_project, monitor_pid};
    use crate::screen::quarterdeck;
    use rustix::process::Signal;

    let folder = empty_project();
    let mut screen = Screen::run(quarterdeck(folder.path(), &[]));
    screen.shows("Nothing is delegated here yet.");
    let pid = monitor_pid(folder.path());
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap()
    };
    for round in 0..2 {
        // By a signal from outside, then by its key.
        if round == 0 {
            Screen::signal(pid, Signal::TSTP);
        } else {
            screen.keys("\u{1a}");
        }
        screen.is_given_back();
        wait_until("it is stopped", || state() == 'T');
        Screen::signal(pid, Signal::CONT);
        screen.shows("Nothing is delegated here yet.");
        screen.is_taken();
    }
    screen.keys("\u{c}");
    screen.shows("Nothing is delegated here yet.");
    screen.keys("q");
    screen.shows("left with 0");
    screen.is_given_back();
    let asked = screen.raw().windows(4).any(|bytes| bytes == b"\x1b[6n");
    assert!(!asked, "the terminal is asked for its cursor, and need not answer");
}
