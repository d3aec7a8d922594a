//! The rooms keep their walls: who may use whom, how long a file may be.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the source has failed")]

use std::fs;
use std::path::{Path, PathBuf};

/// For each room, the rooms that it may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("synth", &["decide", "model"]),
    ("decide", &["agent", "store", "model"]),
    ("config", &["decide", "agent", "store", "model"]),
    ("store", &["model"]),
    ("agent", &["model"]),
    ("process", &[]),
    ("worktree", &["store", "model"]),
    ("session", &["process", "agent", "store", "model"]),
    ("source", &["process", "agent", "store", "model"]),
    ("setup", &["config", "model"]),
    ("engine", &["config", "worktree", "process", "source", "session", "decide", "agent", "store", "model"]),
    ("report", &["model"]),
    ("control", &["model"]),
    ("monitor", &["report", "control", "config", "source", "session", "decide", "agent", "store", "model"]),
    ("hook", &["config", "decide", "store", "model"]),
    ("shot", &["monitor", "report", "model"]),
    ("serve", &["report", "engine", "config", "source", "decide", "store", "model"]),
];

/// The wall for a file, tests apart.
const LONGEST_FILE: usize = 500;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found
}

/// Returns the code of a file without its tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_owned()
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Returns every file of a room, tests apart.
fn room(name: &str) -> Vec<PathBuf> {
    let folder = src().join(name);
    // A room may be a single file.
    let mut files = if folder.is_dir() { sources(&folder) } else { Vec::new() };
    files.push(src().join(format!("{name}.rs")));
    files.retain(|file| !file.to_string_lossy().ends_with("_tests.rs"));
    files
}

#[test]
fn arrows_point_one_way() {
    let rooms = [
        "model", "synth", "store", "agent", "process", "session", "source", "decide", "config", "engine",
        "report", "serve", "control", "monitor", "shot", "cli", "worktree", "hook",
    ];
    for (name, may_use) in MAY_USE {
        for file in room(name) {
            let code = code(&file);
            assert!(!code.contains("crate::{"), "{}: name one room a line", file.display());
            for other in rooms.iter().filter(|other| *other != name && !may_use.contains(other)) {
                let uses = [format!("crate::{other}::"), format!("crate::{other};")];
                let knows = uses.iter().any(|uses| code.contains(uses.as_str()));
                assert!(!knows, "{} uses {other}, which {name} must not know", file.display());
            }
        }
    }
}

#[test]
fn what_is_pure_touches_no_file_no_clock_and_no_terminal() {
    let forbidden =
        ["std::fs", "std::io", "SystemTime", "Instant", "std::env", "std::thread", "tokio", "print!"];
    for file in ["model", "decide", "report", "synth", "shot"].into_iter().flat_map(room) {
        let code = code(&file);
        for forbidden in forbidden {
            assert!(!code.contains(forbidden), "{} uses {forbidden}", file.display());
        }
    }
}

#[test]
fn a_file_answers_one_question() {
    for file in sources(&src()) {
        let code = code(&file);
        assert!(code.lines().count() <= LONGEST_FILE, "{} is too long", file.display());
        let is_test = file.to_string_lossy().ends_with("_tests.rs");
        assert!(is_test || code.starts_with("//!"), "{} does not say what it is for", file.display());
    }
}
