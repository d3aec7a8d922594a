//! The folders of a project in which a tool may have been started.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// How deep a tool's folder may be: services/web/api/.omc is three.
const DEEPEST: usize = 5;
/// A project with more folders is looked at in part.
pub const MOST_FOLDERS: usize = 5_000;

/// Folders that hold nothing a person wrote.
const SKIPPED: &[&str] = &["node_modules", "target", "vendor", "venv", "dist", "build", "__pycache__"];

/// Returns the folders below these and themselves, and whether there are more. Those that are less deep come first, so
/// that a large work tree costs the others at most what lies deep in them.
pub fn folders(tops: Vec<PathBuf>) -> (Vec<PathBuf>, bool) {
    let mut seen: HashSet<PathBuf> = tops.iter().cloned().collect();
    let mut level = tops.clone();
    let mut found = tops;
    for _ in 0..DEEPEST {
        let mut next = Vec::new();
        for folder in level {
            next.extend(below(&folder).into_iter().filter(|folder| seen.insert(folder.clone())));
            if found.len() + next.len() > MOST_FOLDERS {
                found.append(&mut next);
                found.truncate(MOST_FOLDERS);
                return (found, true);
            }
        }
        found.extend(next.iter().cloned());
        level = next;
    }
    (found, false)
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // A link is not followed: it may lead anywhere, also back up.
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut found: Vec<PathBuf> =
        folders.filter(|entry| is_walked(&entry.file_name())).map(|entry| entry.path()).collect();
    found.sort_unstable();
    found
}

fn is_walked(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    !name.starts_with('.') && !SKIPPED.contains(&&*name)
}
