//! The files that an agent's tool writes beside its streams: found where the adapter says, and read on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use crate::agent::brief::{self, Brief};
use crate::agent::kind::Kind;
use crate::agent::log::Origin;
use crate::agent::run::Run;
use crate::agent::{Adapter, Beside, Input};

/// How much of a file is read in one turn, and at once.
const BUDGET: usize = 512 * 1024;
const CHUNK: usize = 64 * 1024;
/// How often a file that is not there yet is looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// So many names of one folder are looked at: a tool's own folders have fewer.
const MOST_NAMES: usize = 100_000;

/// The files of one session, by their numbers.
#[derive(Default)]
pub(super) struct Besides {
    known: BTreeMap<u32, Known>,
    /// The files that were found by looking, and when that was done last.
    found: BTreeSet<PathBuf>,
    looked: Option<Instant>,
}

/// What is known of one file.
struct Known {
    path: Option<PathBuf>,
    at: u64,
    looked: Instant,
}

/// A file that is being read.
pub(super) struct Open {
    file: File,
    at: u64,
    pub is_read: bool,
}

impl Besides {
    /// Returns the files that fit one of these patterns and were not found before.
    pub fn look(&mut self, wanted: &[PathBuf], is_over: bool) -> Vec<PathBuf> {
        let is_due = self.looked.is_none_or(|looked| looked.elapsed() >= LOOK_AGAIN);
        if wanted.is_empty() || !(is_due || is_over) {
            return Vec::new();
        }
        self.looked = Some(Instant::now());
        let fitting = wanted.iter().flat_map(|pattern| all(pattern));
        fitting.filter(|path| self.found.insert(path.clone())).collect()
    }

    /// Opens a file at the place where reading goes on, if there is anything new in it.
    pub fn open(&mut self, beside: &Beside, at: u64, is_over: bool) -> Option<Open> {
        let now = Instant::now();
        let is_new = !self.known.contains_key(&beside.nth);
        let known = self.known.entry(beside.nth).or_insert(Known { path: None, at, looked: now });
        if known.path.is_none() && (is_new || is_over || now.duration_since(known.looked) >= LOOK_AGAIN) {
            known.looked = now;
            known.path = first(&beside.pattern);
        }
        let path = known.path.as_ref()?;
        // Most of the time nothing is new.
        if std::fs::metadata(path).map_or(0, |found| found.len()) <= known.at {
            return None;
        }
        Some(Open { file: File::open(path).ok()?, at: known.at, is_read: false })
    }

    /// Notes how far a file was read.
    pub fn close(&mut self, nth: u32, open: &Open) {
        if let Some(known) = self.known.get_mut(&nth) {
            known.at = open.at;
        }
    }

    /// Returns the folders of the files that were found.
    pub fn folders(&self) -> Vec<PathBuf> {
        let paths = self.known.values().filter_map(|known| known.path.as_ref()?.parent());
        let mut folders: Vec<PathBuf> = paths.map(Path::to_owned).collect();
        folders.dedup();
        folders
    }
}

impl Open {
    /// Reads the next piece; `None` at the end, or when enough was read in this turn.
    pub fn next(&mut self, taken: &mut usize) -> Option<(u64, Vec<u8>)> {
        if *taken >= BUDGET {
            return None;
        }
        let mut chunk = vec![0; CHUNK];
        let read = self.file.read_at(&mut chunk, self.at).unwrap_or(0);
        chunk.truncate(read);
        if read == 0 {
            self.is_read = true;
            return None;
        }
        let offset = self.at;
        (self.at, *taken) = (self.at + read as u64, *taken + read);
        Some((offset, chunk))
    }
}

/// Returns whether the tool has kept anything of the session that is to be gone on with.
pub(super) fn is_there(run: &Run) -> bool {
    let brief = run.files.get(brief::FILE).and_then(|text| serde_json::from_str::<Brief>(text).ok());
    let Some(brief) = brief else { return false };
    match brief.kind {
        // It keeps all sessions in one store, and says itself if one is gone.
        Kind::OpenCode => return brief.session.is_some(),
        // Only the agent itself knows what it kept; if it is nothing, it begins anew.
        Kind::Acp => return true,
        Kind::Command | Kind::Simulated | Kind::Claude | Kind::Codex | Kind::Gemini => {}
    }
    let mut adapter = brief.adapter();
    let is_there = adapter.beside().iter().any(|beside| first(&beside.pattern).is_some());
    let wanted: Vec<PathBuf> = adapter.wanted().iter().flat_map(|pattern| all(pattern)).collect();
    is_there || wanted.iter().any(|path| tells(adapter.as_mut(), path))
}

/// Returns whether a file that was found tells of anything: a tool may begin a file, and go on only with one in which
/// somebody answered.
fn tells(adapter: &mut dyn Adapter, path: &Path) -> bool {
    adapter.found(path);
    let beside = adapter.beside().into_iter().find(|beside| beside.pattern == path);
    let (Some(beside), Ok(bytes)) = (beside, std::fs::read(path)) else { return false };
    let input = Input::Bytes { origin: Origin::Beside(beside.nth), offset: 0, bytes: &bytes };
    !adapter.step(input).log.is_empty()
}

/// Returns the first file that fits a pattern.
fn first(pattern: &Path) -> Option<PathBuf> {
    all(pattern).into_iter().next()
}

/// Returns the files that fit a pattern. A `*` stands for any part of one name.
fn all(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let wanted = match part {
            Component::Normal(name) => name.to_str().filter(|name| name.contains('*')),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        };
        found = match wanted {
            None => found.into_iter().map(|folder| folder.join(part)).filter(|path| path.exists()).collect(),
            Some(wanted) => found.iter().flat_map(|folder| fitting(folder, wanted)).collect(),
        };
    }
    found.retain(|path| path.is_file());
    found
}

fn fitting(folder: &Path, wanted: &str) -> Vec<PathBuf> {
    let Ok(names) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = names.take(MOST_NAMES).flatten();
    names
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| fits(name, wanted)))
        .map(|entry| entry.path())
        .collect()
}

fn fits(name: &str, wanted: &str) -> bool {
    let Some((begin, end)) = wanted.split_once('*') else { return name == wanted };
    let rest = name.strip_prefix(begin);
    rest.is_some_and(|rest| rest.len() >= end.len() && rest.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_its_pattern_and_read_on_where_it_ended() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("projects/-some-where/s1/subagents");
        let beside = Beside { nth: 3, pattern: temp.path().join("projects/*/s1/subagents/agent-a*1.jsonl") };
        let mut besides = Besides::default();
        assert!(besides.open(&beside, 0, true).is_none(), "it is not there yet");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("agent-b1.jsonl"), "other").unwrap();
        std::fs::write(folder.join("agent-a71.jsonl"), "first\n").unwrap();
        let read = |besides: &mut Besides| {
            let mut open = besides.open(&beside, 0, true)?;
            let mut taken = 0;
            let piece = open.next(&mut taken)?;
            assert!(open.next(&mut taken).is_none() && open.is_read);
            besides.close(3, &open);
            Some(piece)
        };
        assert_eq!(read(&mut besides), Some((0, b"first\n".to_vec())));
        assert_eq!(read(&mut besides), None);
        std::fs::write(folder.join("agent-a71.jsonl"), "first\nmore\n").unwrap();
        assert_eq!(read(&mut besides), Some((6, b"more\n".to_vec())));
        assert_eq!(besides.folders(), [folder]);
    }

    #[test]
    fn every_file_that_fits_is_found_once_when_it_has_come_to_be() {
        let temp = tempfile::tempdir().unwrap();
        let wanted = [temp.path().join("chats/s1/*.jsonl")];
        let mut besides = Besides::default();
        assert!(besides.look(&wanted, true).is_empty(), "there is not even a folder");
        std::fs::create_dir_all(temp.path().join("chats/s1/folder.jsonl")).unwrap();
        let write = |name: &str| {
            let path = temp.path().join("chats/s1").join(name);
            std::fs::write(&path, "x").unwrap();
            path
        };
        let one = write("one.jsonl");
        write("other.txt");
        assert_eq!(besides.look(&wanted, true), [one]);
        let two = write("two.jsonl");
        assert!(besides.look(&wanted, false).is_empty(), "it was looked just now");
        assert_eq!(besides.look(&wanted, true), [two]);
        assert!(besides.look(&wanted, true).is_empty());
    }

    #[test]
    fn a_session_in_which_nobody_answered_is_not_gone_on_with() {
        let temp = tempfile::tempdir().unwrap();
        let session = "0a0b0c0d-0000-8000-8000-000000000001".to_owned();
        let brief = Brief {
            session: Some(session.clone()),
            home: Some(temp.path().to_owned()),
            ..Brief::of(Kind::Gemini)
        };
        let files = [(brief::FILE.to_owned(), serde_json::to_string(&brief).unwrap())].into();
        let run = Run { files, ..Run::default() };
        assert!(!is_there(&run), "there is no file");
        let chats = temp.path().join("tmp/project/chats");
        std::fs::create_dir_all(&chats).unwrap();
        let header = format!("{{\"sessionId\":{session:?},\"kind\":\"main\"}}\n");
        let file = chats.join("session-2026-11-17T14-40-0a0b0c0d.jsonl");
        std::fs::write(&file, &header).unwrap();
        assert!(!is_there(&run), "the tool would not find it");
        let answer = r#"{"id":"m1","type":"gemini","content":"Hello","tokens":{"input":1,"output":1}}"#;
        std::fs::write(&file, format!("{header}{answer}\n")).unwrap();
        assert!(is_there(&run));
    }

    #[test]
    fn a_star_stands_for_any_part_of_a_name_and_for_nothing_twice() {
        assert!(fits("rollout-2026-x.jsonl", "rollout-*-x.jsonl") && fits("a", "*"));
        assert!(!fits("ab", "ab*b") && !fits("x", "y"));
    }
}
