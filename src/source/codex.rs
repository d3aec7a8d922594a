//! Codex: where its rollouts are, and which of their writers live.
//!
//! Those of threads that were put away lie in a folder of their own, all at its top.
//!
//! The folder of its locks tells: a writer holds the lock of its thread, and one that was killed leaves the file
//! but not the lock. Who holds which lock the system says; no lock is tried, since that could be in a writer's way.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::trails::tool::{Homes, Sort, Tool};
use crate::agent::codex::{Rollout, thread_of, workspace_of};
use crate::agent::trail::{Process, Trail};
use crate::model::key::SourceKind;
use crate::store::plain;
use crate::store::process::start_of;

/// The first line of a rollout has the instructions in it; it is not read beyond this.
const LONGEST_FIRST_LINE: u64 = 1024 * 1024;

/// Where its rollouts are, and where those are that were put away.
const SESSIONS: &str = "sessions";
const ARCHIVED: &str = "archived_sessions";

/// What is known of Codex' files.
pub struct Codex {
    sessions: PathBuf,
    archived: PathBuf,
    locks: PathBuf,
    /// The writer of each thread; `None` while no version that locks has run here.
    writers: Option<HashMap<String, Process>>,
}

impl Codex {
    /// Names the files of a person; `None` without a home.
    pub fn new(homes: &Homes) -> Option<Self> {
        let home = homes.codex.as_ref()?;
        let (sessions, archived) = (home.join(SESSIONS), home.join(ARCHIVED));
        Some(Self { sessions, archived, locks: home.join("thread-writer-locks"), writers: None })
    }
}

impl Tool for Codex {
    fn kind(&self) -> SourceKind {
        SourceKind::Codex
    }

    fn version(&self) -> u32 {
        5
    }

    fn root(&self) -> &Path {
        &self.sessions
    }

    fn tops(&self) -> Vec<PathBuf> {
        vec![self.sessions.clone(), self.archived.clone()]
    }

    fn sort(&self, path: &Path, is_folder: bool) -> Sort {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        // Years, months and days.
        let is_date = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        match (is_folder, thread_of(name)) {
            (true, _) if path == self.sessions || path == self.archived || is_date => Sort::Folder,
            (false, Some(_)) => Sort::Trail,
            (_, _) => Sort::Other,
        }
    }

    fn place(&self, trail: &Path) -> Option<PathBuf> {
        let mut line = String::new();
        let file = plain::open(trail).ok()?.0.take(LONGEST_FIRST_LINE);
        BufReader::new(file).read_line(&mut line).ok()?;
        workspace_of(&line).map(PathBuf::from)
    }

    fn open(&self, _trail: &Path, state: Option<&Value>) -> Box<dyn Trail> {
        Box::new(state.map(Rollout::resume).unwrap_or_default())
    }

    fn look_around(&mut self) -> bool {
        let writers = writers(&self.locks);
        let changed = self.writers != writers;
        self.writers = writers;
        changed
    }

    fn around(&self) -> Option<PathBuf> {
        self.locks.is_dir().then(|| self.locks.clone())
    }

    fn process(&self, trail: &Path) -> Process {
        let name = trail.file_name().and_then(OsStr::to_str).unwrap_or_default();
        match (&self.writers, thread_of(name)) {
            (Some(writers), Some(thread)) => writers.get(thread).copied().unwrap_or(Process::Gone),
            (_, _) => Process::Unknown,
        }
    }
}

/// Returns the file in which a thread can be read.
pub fn transcript(homes: &Homes, thread: &str) -> Option<PathBuf> {
    let home = homes.codex.as_ref()?;
    // The last one is taken first.
    let mut folders = vec![home.join(ARCHIVED), home.join(SESSIONS)];
    let is_it = |name: &str| thread_of(name) == Some(thread);
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
        let name = |path: &PathBuf| path.file_name().and_then(OsStr::to_str).is_some_and(is_it);
        if let Some(found) = entries.iter().find(|path| name(path)) {
            return Some(found.clone());
        }
        // The newest first: the last one is taken next.
        entries.sort();
        folders.extend(entries.into_iter().filter(|path| path.is_dir()));
    }
    None
}

/// Returns who holds which thread's lock.
fn writers(locks: &Path) -> Option<HashMap<String, Process>> {
    let entries: Vec<_> = fs::read_dir(locks).ok()?.flatten().collect();
    // Where the system does not tell who holds a lock, a file that is there may be anything.
    let held = if entries.is_empty() { None } else { fs::read_to_string("/proc/locks").ok() };
    let holders = held.as_deref().map(holders);
    let mut writers = HashMap::new();
    for entry in entries {
        let name = entry.file_name();
        let thread = name.to_str().and_then(|name| name.strip_suffix(".lock"));
        let (Some(thread), Ok(meta)) = (thread, entry.metadata()) else { continue };
        let writer = match &holders {
            None => Process::Unknown,
            Some(holders) => match holders.get(&meta.ino()) {
                None => Process::Gone,
                Some(0) => Process::Unknown,
                Some(pid) => Process::Alive { pid: *pid, start: start_of(*pid) },
            },
        };
        writers.insert(thread.to_owned(), writer);
    }
    Some(writers)
}

/// Returns which process holds a lock on which inode, as `/proc/locks` tells:
/// `10: FLOCK  ADVISORY  WRITE 19062 fe:00:10084541 0 EOF`. A process that cannot be seen from here has number 0.
fn holders(locks: &str) -> HashMap<u64, u32> {
    let lock = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip_while(|word| *word != "FLOCK").skip(3);
        let (pid, place) = (words.next()?, words.next()?);
        let inode = place.rsplit(':').next()?.parse().ok()?;
        Some((inode, pid.parse().unwrap_or(0)))
    };
    locks.lines().filter_map(lock).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_by_its_inode() {
        let told = "1: POSIX  ADVISORY  READ 19062 fe:00:10085370 128 128\n\
                    2: FLOCK  ADVISORY  WRITE 19062 fe:00:10084541 0 EOF\n\
                    2: -> FLOCK  ADVISORY  WRITE 7 fe:00:9 0 EOF\n\
                    3: FLOCK  ADVISORY  WRITE -1 fe:00:8 0 EOF\nnonsense\n";
        assert_eq!(holders(told), HashMap::from([(10_084_541, 19_062), (9, 7), (8, 0)]));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_lock_that_is_held_is_a_living_writer_and_a_file_that_nobody_holds_a_dead_one() {
        let folder = tempfile::tempdir().unwrap();
        let homes = Homes { codex: Some(folder.path().to_owned()), ..Homes::default() };
        let mut codex = Codex::new(&homes).unwrap();
        let [mine, dead, none] =
            ["0001", "0002", "0003"].map(|id| format!("01a1e557-bc72-77c0-8b9b-57ec488b{id}"));
        let trail = |id: &str| PathBuf::from(format!("/x/rollout-2026-11-16T17-11-35-{id}.jsonl"));
        assert!(!codex.look_around());
        assert_eq!(codex.process(&trail(&mine)), Process::Unknown, "no version here locks");
        let locks = folder.path().join("thread-writer-locks");
        fs::create_dir(&locks).unwrap();
        let lock = |id: &str| fs::File::create(locks.join(format!("{id}.lock"))).unwrap();
        let held = lock(&mine);
        held.lock().unwrap();
        drop(lock(&dead));
        assert!(codex.look_around());
        let pid = std::process::id();
        assert_eq!(codex.process(&trail(&mine)), Process::Alive { pid, start: start_of(pid) });
        assert_eq!(codex.process(&trail(&dead)), Process::Gone);
        assert_eq!(codex.process(&trail(&none)), Process::Gone);
        drop(held);
        assert!(codex.look_around());
        assert_eq!(codex.process(&trail(&mine)), Process::Gone);
    }
}
