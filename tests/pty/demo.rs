//! The demo: a fleet that lives, and leaves nothing behind.

use std::fs;
use std::path::Path;

use crate::screen::{Screen, quarterdeck};

/// Returns every process that works in the folder, or was told its path.
fn processes_of(folder: &Path) -> Vec<(u32, String)> {
    let path = folder.to_str().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        let is_inside = fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
        if is_inside || words.contains(path) {
            found.push((pid, words));
        }
    }
    found
}

#[test]
fn the_demo_shows_agents_at_work_and_leaves_no_process_and_no_folder_behind() {
    let folder = tempfile::tempdir().unwrap();
    let temp = folder.path().join("tmp");
    fs::create_dir(&temp).unwrap();
    let mut command = quarterdeck(folder.path(), &["demo", "--reduced-motion"]);
    command.env("TMPDIR", &temp);
    let mut screen = Screen::run(command);
    screen.shows("billing-service");
    screen.shows("Audit cleanup, phase 1");
    screen.shows("Port the importer");
    screen.shows("running");
    screen.shows("$0.");
    assert_eq!(fs::read_dir(&temp).unwrap().count(), 1);
    let at_work = processes_of(&temp);
    assert!(at_work.len() >= 3, "the engine, a host and an agent: {at_work:?}");
    screen.keys("q");
    screen.shows("left with 0");
    assert_eq!(processes_of(&temp), [], "{}", screen.text());
    assert_eq!(fs::read_dir(&temp).unwrap().count(), 0, "{}", screen.text());
    let list = folder.path().join("state/quarterdeck/engines");
    assert_eq!(fs::read_dir(list).unwrap().count(), 0, "no engine is left in the list of a person's engines");
    screen.is_given_back();
}
