//! What can be known of one process from outside: what was started, where it works, who waits for it.

use std::path::PathBuf;
use std::time::SystemTime;

use super::tree::{self, Process};

/// What is known of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Which one.
    pub process: Process,
    /// Its parent's number.
    pub parent: u32,
    /// What it was started with, the program first.
    pub arguments: Vec<String>,
}

/// Returns the number of every process that can be seen, without a look at any; nothing where that is not cheap.
pub fn pids() -> Vec<u32> {
    tree::pids()
}

/// Returns what is known of a process; nothing of one that has ended, or that is the system's own.
pub fn known(pid: u32) -> Option<Known> {
    let arguments = tree::arguments(pid);
    let arguments: Vec<String> =
        arguments.into_iter().map(|word| String::from_utf8_lossy(&word).into_owned()).collect();
    // The list ends with an empty word.
    let arguments: Vec<String> = arguments.split_last().map(|(_, all)| all.to_vec()).unwrap_or_default();
    let seen = tree::look(pid).filter(|seen| seen.life != tree::Life::Ended)?;
    (!arguments.is_empty()).then_some(Known { process: seen.process, parent: seen.parent, arguments })
}

/// Returns the folder that a process works in, where the system lets us see it.
pub fn folder(pid: u32) -> Option<PathBuf> {
    tree::folder(pid)
}

/// Returns when a process began, to about a second, where the system tells.
pub fn began(process: Process) -> Option<SystemTime> {
    tree::began(process)
}

/// Returns the files that a process has open, where the system lets us see them.
pub fn open_files(pid: u32) -> Vec<PathBuf> {
    tree::open_files(pid)
}

/// Returns whether a shell waits for this process and gives it the terminal: stopped, the shell takes it back.
pub fn is_foreground_job(pid: u32) -> bool {
    tree::seat(pid).is_some_and(|seat| seat.is_foreground_job())
}

/// Returns whether this process descends from another one, or is it.
pub fn is_inside(root: Process) -> bool {
    let mut next = Some(std::process::id());
    let mut steps = 0;
    while let Some(pid) = next.filter(|pid| *pid != 0 && steps < 1000) {
        let Some(seen) = tree::look(pid) else { return false };
        if seen.process == root {
            return true;
        }
        next = Some(seen.parent);
        steps += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_tells_what_it_is_and_where_it_works() {
        let folder_of_it = tempfile::tempdir().unwrap();
        let open = folder_of_it.path().join("open");
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .current_dir(folder_of_it.path())
            .stdin(std::fs::File::create(&open).unwrap())
            .spawn()
            .unwrap();
        // For a moment it is still its parent's copy, and has no command line of its own.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let found = loop {
            match known(child.id()).filter(|known| known.arguments == ["sleep", "60"]) {
                Some(found) => break found,
                None => assert!(std::time::Instant::now() < deadline, "{:?}", known(child.id())),
            }
        };
        assert!(pids().contains(&child.id()));
        assert_eq!(found.parent, std::process::id());
        assert_eq!(folder(child.id()), Some(folder_of_it.path().canonicalize().unwrap()));
        assert!(open_files(child.id()).contains(&open.canonicalize().unwrap()));
        let age = SystemTime::now().duration_since(began(found.process).unwrap()).unwrap_or_default();
        assert!(age < std::time::Duration::from_mins(1), "{age:?}");
        assert!(!is_inside(found.process));
        assert!(is_inside(tree::process(std::process::id()).unwrap()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(known(child.id()), None);
    }

    #[test]
    fn only_a_job_that_a_shell_waits_for_is_a_foreground_job() {
        let seat = |group, session, in_front| tree::Seat { group, session, in_front };
        assert!(seat(20, 10, Some(20)).is_foreground_job());
        assert!(!seat(20, 10, Some(30)).is_foreground_job(), "in the background");
        assert!(!seat(20, 10, None).is_foreground_job(), "no terminal");
        assert!(!seat(10, 10, Some(10)).is_foreground_job(), "nobody behind it");
    }
}
