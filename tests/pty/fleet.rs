//! Finding one's way through a fleet with the keys.

use std::path::Path;

use crate::screen::{COLUMNS, LINES, Screen, quarterdeck};

/// Makes up a fleet in the folder.
pub fn synth(folder: &Path, arguments: &[&str]) {
    let made = assert_cmd::Command::new(env!("CARGO_BIN_EXE_quarterdeck"))
        .args(["synth", ".quarterdeck"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

#[test]
fn folds_tabs_views_help_palette_and_find_answer_to_their_keys() {
    let folder = tempfile::tempdir().unwrap();
    synth(folder.path(), &["--ended", "3", "--live", "2", "--seed", "1"]);
    let mut screen = Screen::run(quarterdeck(folder.path(), &["--reduced-motion"]));
    screen.shows("store ok");
    screen.shows("├");
    screen.keys("z");
    screen.hides("├");
    screen.keys("Z");
    screen.shows("├");
    for (key, name) in
        [("2", "Needs me"), ("3", "Overview"), ("4", "History"), ("5", "Sessions"), ("6", "Settings")]
    {
        screen.keys(key);
        screen.shows(&format!("╭ {name} "));
    }
    screen.keys("1");
    screen.shows("╭ Delegations ");
    // The tab in front has its whole name, the others are cut where there is no room.
    screen.keys("]");
    screen.shows(" Thoughts ");
    screen.keys("[");
    screen.shows(" Why ");
    screen.keys("?");
    screen.shows("╭ Keys ");
    screen.shows("go to the first row");
    screen.keys("\u{1b}");
    screen.hides("╭ Keys ");
    screen.keys(":");
    screen.shows("fold-all");
    screen.keys("view-sessions\r");
    screen.shows("╭ Sessions ");
    screen.keys("1/");
    screen.keys("login\r");
    screen.wait_for("the login flow is selected", |screen| {
        let ground = |row: u16| screen.cell(row, 2).map(vt100::Cell::bgcolor);
        // The frame has the ground of what is not selected.
        (2..LINES - 3)
            .zip(screen.rows(0, COLUMNS).skip(2))
            .any(|(row, line)| line.contains("login") && !line.contains("/login") && ground(row) != ground(1))
    });
    screen.keys("q");
    screen.shows("left with 0");
}

#[test]
fn a_storm_of_resizes_ends_in_a_whole_screen() {
    let folder = tempfile::tempdir().unwrap();
    synth(folder.path(), &["--ended", "3", "--live", "2"]);
    let mut screen = Screen::run(quarterdeck(folder.path(), &["--reduced-motion"]));
    screen.shows("store ok");
    for view in ["1", "2", "3", "4", "5", "6", "1?", "\u{1b}", ":", "\u{1b}"] {
        screen.keys(view);
        for (columns, lines) in [(80, 24), (2, 2), (61, 3), (3, 50), (200, 60), (40, 12)] {
            screen.resize(columns, lines);
        }
        screen.resize_and_see(2, 2);
        screen.resize_and_see(99, 7);
    }
    screen.keys("1");
    screen.resize(COLUMNS, LINES);
    screen.wait_for("a whole screen", |screen| {
        let at = |row, column| screen.cell(row, column).map(vt100::Cell::contents).unwrap_or_default();
        at(1, 0) == "╭"
            && at(LINES - 3, 0) == "╰"
            && at(1, COLUMNS - 1) == "╮"
            && at(LINES - 3, COLUMNS - 1) == "╯"
    });
    screen.shows("store ok");
    screen.shows("? help");
    screen.keys("q");
    screen.shows("left with 0");
    screen.is_given_back();
}

#[test]
fn a_key_that_comes_with_a_resize_and_the_end_of_a_long_paste_are_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    synth(folder.path(), &["--ended", "1", "--live", "1"]);
    let mut screen = Screen::run(quarterdeck(folder.path(), &["--reduced-motion"]));
    screen.shows("store ok");
    for round in 0..20 {
        screen.resize(if round % 2 == 0 { 100 } else { COLUMNS }, LINES);
        screen.keys(if round % 2 == 0 { "3" } else { "1" });
        screen.shows(if round % 2 == 0 { "╭ Overview " } else { "╭ Delegations " });
    }
    // As terminals send what is pasted: it is there when its end is.
    screen.keys(":");
    screen.shows("fold-all");
    screen.keys(&format!("\u{1b}[200~{}\u{1b}[201~", "x".repeat(6000)));
    screen.shows("xxxxxxxx");
    screen.keys("\u{1b}");
    screen.hides("xxxxxxxx");
    screen.keys("q");
    screen.shows("left with 0");
}
