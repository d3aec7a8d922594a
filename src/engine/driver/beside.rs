//! The files that an agent's tool writes beside its streams: found where the adapter says, and read on.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use crate::agent::Beside;
use crate::agent::brief::{self, Brief};
use crate::agent::kind::Kind;
use crate::agent::run::Run;

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
    // Only the agent itself knows what it kept; if it is nothing, it begins anew.
    if brief.as_ref().is_some_and(|brief| brief.kind == Kind::Acp) {
        return true;
    }
    let files = brief.map(|brief| brief.adapter().beside()).unwrap_or_default();
    files.iter().any(|beside| first(&beside.pattern).is_some())
}

/// Returns the first file that fits a pattern. A `*` stands for any part of one name.
fn first(pattern: &Path) -> Option<PathBuf> {
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
    found.into_iter().find(|path| path.is_file())
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
    fn a_star_stands_for_any_part_of_a_name_and_for_nothing_twice() {
        assert!(fits("rollout-2026-x.jsonl", "rollout-*-x.jsonl") && fits("a", "*"));
        assert!(!fits("ab", "ab*b") && !fits("x", "y"));
    }
}
