//! A store and a registry that somebody else writes: what is changed by hand is on the screen.

use std::fs;

use crate::screen::{Screen, quarterdeck};

fn store(status: &str) -> String {
    format!(
        r#"{{"version":"1.0.0","delegations":[
            {{"id":"d1","taskId":"t1","title":"Write the parser","status":"{status}",
              "subtasks":[{{"id":"s1","title":"Lexer","status":"running"}}]}}]}}"#
    )
}

#[test]
fn files_that_are_edited_by_hand_change_the_tree_and_broken_ones_keep_the_last_good_state() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("d.json", &store("running"));
    let mut screen = Screen::run(quarterdeck(folder.path(), &["--store", "d.json", "--registry", "r.json"]));
    screen.shows("Write the parser");
    screen.shows("Lexer");
    write("r.json", r#"{"sess_1_abcdef":{"subagent":"scribe","task_number":"t1","status":"running"}}"#);
    screen.shows("scribe");
    write("d.json", &store("running").replace("Lexer", "Tokens and their places"));
    screen.shows("Tokens and their");
    screen.hides("Lexer");
    write("d.json", "{\"delegations\": [");
    screen.shows("cannot be read since");
    screen.shows("Tokens and their");
    // Controls of a pair that nobody answers for say why they do nothing.
    screen.keys("gp");
    screen.shows("Cannot pause");
    write("d.json", &store("completed"));
    screen.hides("cannot be read since");
    screen.shows("✔ Write the parser");
    // Set back by hand: it is live again, and so in the final tree.
    write("d.json", &store("running"));
    screen.hides("✔ Write the parser");
    screen.keys("q");
    screen.shows("left with 0");
    assert!(screen.text().contains("Write the parser"), "{}", screen.text());
}
