//! Opening, and leaving everything as it was.

use std::fs;

use rustix::process::Signal;

use crate::screen::{Screen, quarterdeck};

/// Returns a folder in which there is no project yet, and which is in none.
pub fn empty_project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    // A folder of its own, so that a work tree around the temporary folder does not matter.
    fs::create_dir(folder.path().join(".quarterdeck")).unwrap();
    folder
}

/// Returns the process of the program that the shell in the terminal runs.
pub fn monitor_pid(folder: &std::path::Path) -> u32 {
    fs::read_to_string(folder.join("monitor.pid")).unwrap().trim().parse().unwrap()
}

#[test]
fn an_empty_project_opens_and_says_how_to_begin_and_quitting_leaves_the_terminal_as_it_was() {
    let folder = empty_project();
    let mut screen = Screen::run(quarterdeck(folder.path(), &[]));
    screen.shows("Nothing is delegated here yet.");
    screen.shows("hands a task to an agent");
    screen.is_taken();
    screen.keys("q");
    screen.shows("left with 0");
    screen.is_given_back();
}

#[test]
fn the_mouse_is_given_back_too() {
    let folder = empty_project();
    let mut screen = Screen::run(quarterdeck(folder.path(), &[]));
    screen.shows("Nothing is delegated here yet.");
    screen.keys("m");
    screen.wait_for("the mouse is taken", |screen| {
        screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None
    });
    screen.keys("q");
    screen.shows("left with 0");
    screen.is_given_back();
}

#[test]
fn the_final_tree_stays_in_the_scrollback() {
    let folder = tempfile::tempdir().unwrap();
    let made = assert_cmd::Command::new(env!("CARGO_BIN_EXE_quarterdeck"))
        .args(["synth", ".quarterdeck", "--ended", "0", "--live", "1", "--subtasks", "3"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let mut screen = Screen::run(quarterdeck(folder.path(), &[]));
    screen.shows("store ok");
    screen.keys("q");
    screen.shows("left with 0");
    screen.is_given_back();
    let text = screen.text();
    assert!(text.contains("├") && text.contains("└") && text.contains("1 delegation"), "{text}");
}

#[test]
fn a_signal_to_end_quits_as_the_key_does() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let folder = empty_project();
        let screen = Screen::run(quarterdeck(folder.path(), &[]));
        screen.shows("Nothing is delegated here yet.");
        Screen::signal(monitor_pid(folder.path()), signal);
        screen.shows("left with 0");
        screen.is_given_back();
    }
}

#[test]
fn the_terminal_is_asked_for_its_ground_and_its_answer_is_no_key() {
    let folder = empty_project();
    let mut screen = Screen::run(quarterdeck(folder.path(), &[]));
    screen.shows("Nothing is delegated here yet.");
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    let (asked, drawn) = (raw.find("\x1b]11;?\x1b\\"), raw.find("Quarterdeck"));
    assert!(asked.is_some() && drawn < asked, "it is drawn, then asked: {drawn:?} {asked:?}");
    // A light ground: everything is drawn anew for it, and the tab and the view stay as they were.
    screen.keys("\x1b]11;rgb:ffff/ffff/ffff\x1b\\");
    screen.wait_for("dark ink for a light ground", |screen| {
        let (lines, columns) = screen.size();
        let mut cells = (0..lines.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
        let letter = cells.find_map(|(row, column)| {
            let cell = screen.cell(row, column)?;
            (cell.contents() == "Q").then(|| cell.fgcolor())
        });
        matches!(letter, Some(vt100::Color::Rgb(red, green, blue)) if red.max(green).max(blue) < 0x80)
    });
    screen.shows("Nothing is delegated here yet.");
    screen.keys("q");
    screen.shows("left with 0");
    screen.is_given_back();
}
