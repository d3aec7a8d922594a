//! Claude Code's own list of its live processes, and which session each of them works on now.
//!
//! `sessions/<pid>.json` names the session that a process began with, or that a person went back to in it
//! (`/resume`). It is not written anew when a person starts afresh in it (`/clear`): the transcript of the new
//! session says so by its beginning, and the old one grows no more.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::folder_name;
use crate::agent::trail::Process;
use crate::model::time::Stamp;
use crate::process::about;
use crate::process::tree::{self, Life};
use crate::source::loose::Loose;
use crate::source::trails::tool::Homes;
use crate::store::plain;

/// No entry of the list is larger.
const LARGEST_ENTRY: u64 = 64 * 1024;
/// How a transcript begins is within so many bytes, before its first answer.
const HEAD: u64 = 64 * 1024;
/// A session that was left may still be written to for a moment.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// The system's and the tool's word on when a process began may differ by so much: a clock may have been set.
const CLOCKS_DIFFER: Duration = Duration::from_mins(1);
/// What a transcript has before its first answer if it was begun by `/clear`. Quotes in what somebody wrote are escaped.
const CLEARED: &[u8] = br#""content":"<command-name>/clear</command-name>"#;
const ANSWERED: &[u8] = br#""type":"assistant""#;

/// The list, and what was found out about transcripts that begin afresh.
#[derive(Debug)]
pub struct Registry {
    sessions: PathBuf,
    projects: PathBuf,
    folders: HashMap<PathBuf, Folder>,
}

/// A process in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The session that it works on.
    pub session: String,
    /// Whether it is there.
    pub process: Process,
    /// Where it works.
    folder: Option<PathBuf>,
    /// When it began.
    began: Option<Stamp>,
}

/// A folder of transcripts as it was last listed.
#[derive(Debug, Default)]
struct Folder {
    changed: Option<SystemTime>,
    /// Whether it was listed again since it changed.
    is_settled: bool,
    begun: HashMap<PathBuf, Begun>,
}

/// How a transcript begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    /// Nothing that tells is written yet.
    Unknown,
    Otherwise,
    /// By `/clear`, then.
    Cleared(Stamp),
}

impl Registry {
    /// Returns the list of this person's Claude Code; nothing is read yet.
    pub fn of(homes: &Homes) -> Option<Self> {
        let config = homes.claude.as_deref()?;
        let (sessions, projects) = (config.join("sessions"), config.join("projects"));
        Some(Self { sessions, projects, folders: HashMap::new() })
    }

    /// Returns the folder of the list.
    pub fn place(&self) -> &Path {
        &self.sessions
    }

    /// Reads the list; `None` where this version keeps none.
    pub fn look(&mut self) -> Option<Vec<Listed>> {
        let list = read(&self.sessions)?;
        let alive = || list.iter().filter(|it| matches!(it.process, Process::Alive { .. }));
        let folders: Vec<PathBuf> = alive().filter_map(|it| self.transcripts(it)).collect();
        self.folders.retain(|folder, _| folders.contains(folder));
        let mut now = Vec::with_capacity(list.len());
        for listed in &list {
            // Of two processes in a folder nobody knows who began the new session.
            let is_alone = alive().filter(|it| it.folder == listed.folder).count() == 1;
            let is_one = is_alone && alive().any(|it| it == listed);
            let session = is_one.then(|| self.begun_in(listed, &list)).flatten();
            now.push(Listed { session: session.unwrap_or_else(|| listed.session.clone()), ..listed.clone() });
        }
        Some(now)
    }

    /// Returns the folder of the transcripts that a process writes.
    fn transcripts(&self, listed: &Listed) -> Option<PathBuf> {
        Some(self.projects.join(folder_name(listed.folder.as_deref()?)))
    }

    /// Returns the session that was begun in a process since the one that the list names, if one was.
    fn begun_in(&mut self, listed: &Listed, list: &[Listed]) -> Option<String> {
        let (folder, since) = (self.transcripts(listed)?, listed.began?);
        let left =
            fs::metadata(folder.join(format!("{}.jsonl", listed.session))).and_then(|it| it.modified());
        let left = left.ok().and_then(stamp_of);
        let known = self.folders.entry(folder.clone()).or_default();
        known.look(&folder, since);
        let is_since = |at: Stamp| at >= since && left.is_none_or(|left| at.plus(LAST_WORDS) >= left);
        let begun = known.begun.iter().filter_map(|(path, begun)| {
            let (Begun::Cleared(at), Some(name)) = (*begun, path.file_stem()?.to_str()) else { return None };
            let is_free = list.iter().all(|listed| listed.session != name);
            (is_free && is_since(at)).then_some((at, name))
        });
        begun.max().map(|(_, session)| session.to_owned())
    }
}

impl Folder {
    /// Looks which of its transcripts that were written since then begin afresh; it is listed again only if it changed.
    fn look(&mut self, folder: &Path, since: Stamp) {
        let changed = fs::metadata(folder).and_then(|it| it.modified()).ok();
        let is_same = changed.is_some() && self.changed == changed;
        if !is_same || !self.is_settled {
            // The system's clock is coarse: what came just after a listing may leave the same time.
            (self.changed, self.is_settled) = (changed, is_same);
            self.list(folder, since);
        }
        for (path, begun) in self.begun.iter_mut().filter(|(_, begun)| **begun == Begun::Unknown) {
            *begun = beginning(path);
        }
    }

    fn list(&mut self, folder: &Path, since: Stamp) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
            let is_session = name.is_some_and(|name| !name.starts_with("agent-"));
            if is_session && !self.begun.contains_key(&path) {
                let written = entry.metadata().and_then(|it| it.modified()).ok().and_then(stamp_of);
                let is_old = written.is_none_or(|written| written < since);
                self.begun.insert(path, if is_old { Begun::Otherwise } else { Begun::Unknown });
            }
        }
    }
}

/// Returns how a transcript begins.
fn beginning(path: &Path) -> Begun {
    let mut head = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let answered = memchr::memmem::find(&head, ANSWERED);
    let before = head.get(..answered.unwrap_or(head.len())).unwrap_or_default();
    let cleared = memchr::memmem::find(before, CLEARED);
    match cleared.and_then(|_| first_time(before)) {
        Some(at) => Begun::Cleared(at),
        None if read.is_err() || answered.is_some() || u64::try_from(head.len()) == Ok(HEAD) => {
            Begun::Otherwise
        }
        None => Begun::Unknown,
    }
}

/// Returns the first moment that a transcript tells.
fn first_time(head: &[u8]) -> Option<Stamp> {
    let name = br#""timestamp":""#;
    let from = memchr::memmem::find(head, name)? + name.len();
    let text = head.get(from..)?.split(|byte| *byte == b'"').next()?;
    Stamp::parse(str::from_utf8(text).ok()?)
}

fn stamp_of(time: SystemTime) -> Option<Stamp> {
    let millis = time.duration_since(UNIX_EPOCH).ok()?.as_millis();
    Some(Stamp::from_millis(i64::try_from(millis).ok()?))
}

/// Reads the entries of the list; one that died without taking itself off is gone.
fn read(folder: &Path) -> Option<Vec<Listed>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.strip_suffix(".json")?.parse::<u32>().ok()) else {
            continue;
        };
        if entry.metadata().map_or(true, |meta| meta.len() > LARGEST_ENTRY) {
            continue;
        }
        let value: Option<Value> = plain::bytes(&entry.path(), LARGEST_ENTRY)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let Some(Value::Object(value)) = value else { continue };
        let entry = Loose(&value);
        let Some(session) = entry.text(&["sessionId"]) else { continue };
        let (folder, began) = (entry.text(&["cwd"]).map(PathBuf::from), entry.stamp(&["startedAt"]));
        let process = process(pid, entry.number(&["procStart"]), began);
        found.push(Listed { session, process, folder, began });
    }
    Some(found)
}

/// Returns whether the process of an entry is there, by when that says it started; its number may be another's by now.
fn process(pid: u32, noted: Option<u64>, began: Option<Stamp>) -> Process {
    match started(pid) {
        Some(start) if noted.map_or_else(|| may_be_it(pid, began), |noted| noted == start) => {
            Process::Alive { pid, start: Some(start) }
        }
        Some(_) => Process::Gone,
        None => unlisted(pid, noted, began),
    }
}

/// Returns when a process started, in ticks since the system did; `None` where that cannot be read, or it has ended and
/// was only not waited for.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold any.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let has_ended = fields.next().is_none_or(|state| matches!(state, "Z" | "X" | "x"));
    fields.nth(18)?.parse().ok().filter(|_| !has_ended)
}

/// Says of a process that `/proc` does not show whether it is there, on systems without `/proc`.
fn unlisted(pid: u32, noted: Option<u64>, began: Option<Stamp>) -> Process {
    let id = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let is_there = !Path::new("/proc/self/stat").exists()
        && id.is_some_and(|id| rustix::process::test_kill_process(id).is_ok())
        && tree::look(pid).is_some_and(|seen| seen.life != Life::Ended);
    if is_there && (noted.is_some() || may_be_it(pid, began)) {
        Process::Alive { pid, start: noted }
    } else {
        Process::Gone
    }
}

/// Returns whether the process that has a number now may be the one of an entry that does not say which: a part of the path
/// of its program, or of the script that it runs, has the tool's name, and it is not younger than the entry.
fn may_be_it(pid: u32, began: Option<Stamp>) -> bool {
    const NAMES: [&str; 2] = ["claude", "claude-code"];
    let Some(known) = about::known(pid) else { return false };
    let is_named = |word: &String| {
        let stem = |part: &str| NAMES.contains(&part.split_once('.').map_or(part, |(stem, _)| stem));
        word.split('/').any(stem)
    };
    let is_younger = |entry: Stamp| {
        about::began(known.process).and_then(stamp_of).is_some_and(|it| it > entry.plus(CLOCKS_DIFFER))
    };
    known.arguments.iter().take(2).any(is_named) && !began.is_some_and(is_younger)
}
