//! The files that older versions keep: `session/PROJECT/SESSION.json`, `message/SESSION/MESSAGE.json` and
//! `part/MESSAGE/PART.json`, each of them one row. They are read while there is no database.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::agent::opencode::{self, MessageRow, PartRow, SessionRow};
use crate::agent::trail::{Process, Said, patience};
use crate::model::fact::NodeFact;
use crate::source::trails::tool::Scope;
use crate::store::plain;

/// So many sessions are told at once.
const AT_ONCE: usize = 50;
/// So many sessions are looked into each time: those that were touched last.
const LATEST: usize = 16;
/// No row is larger.
const LARGEST: u64 = 8 * 1024 * 1024;

type Seen = (SystemTime, u64);

/// The files of an older version.
pub struct Files {
    root: PathBuf,
    /// What each file was when it was last read.
    seen: HashMap<PathBuf, Seen>,
    /// What each session was when it was last looked into.
    touched: HashMap<PathBuf, Seen>,
    /// Sessions that are to be read, the next one last.
    queue: Vec<PathBuf>,
    /// How many the first reading has, while it lasts.
    first: Option<usize>,
    has_begun: bool,
    /// The folders of the sessions that changed last.
    lively: Vec<PathBuf>,
}

impl Files {
    /// Names the folder of the files.
    pub fn new(root: PathBuf) -> Self {
        let (seen, touched) = (HashMap::new(), HashMap::new());
        Self { root, seen, touched, queue: Vec::new(), first: None, has_begun: false, lively: Vec::new() }
    }

    /// Returns whether there are any.
    pub fn are_there(&self) -> bool {
        self.root.join("session").is_dir()
    }

    /// Returns the folders in which something is most likely to happen.
    pub fn liveliest(&self) -> Vec<PathBuf> {
        let mut folders = self.lively.clone();
        folders.extend(list(&self.root.join("session")));
        folders
    }

    /// Says what is new, the newest sessions first; returns whether there is more.
    pub fn read(&mut self, scope: &Scope, say: &mut Vec<Said>) -> bool {
        if self.queue.is_empty() {
            self.look();
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            self.first = Some(self.queue.len());
        }
        for _ in 0..AT_ONCE {
            let Some(path) = self.queue.pop() else { break };
            self.session(&path, scope, say);
        }
        self.first = self.first.filter(|_| !self.queue.is_empty());
        !self.queue.is_empty()
    }

    /// Returns how many sessions of how many were told, while the first reading lasts.
    pub fn done(&self) -> Option<(usize, usize)> {
        self.first.map(|all| (all.saturating_sub(self.queue.len()), all))
    }

    /// Looks for sessions to read: those that were touched, and always the latest, since a message that is written
    /// anew touches neither its session nor its folder.
    fn look(&mut self) {
        let projects = list(&self.root.join("session"));
        let mut sessions: Vec<(Seen, PathBuf)> = projects
            .iter()
            .flat_map(|project| list(project))
            .filter_map(|path| Some((self.touched(&path)?, path)))
            .collect();
        sessions.sort();
        let old = sessions.len().saturating_sub(LATEST);
        for (nth, (touched, path)) in sessions.into_iter().enumerate() {
            if self.touched.insert(path.clone(), touched) != Some(touched) || nth >= old {
                self.queue.push(path);
            }
        }
    }

    /// Returns when a session was last written to: its file, or the folder of its messages.
    fn touched(&self, path: &Path) -> Option<Seen> {
        let own = seen(path)?;
        let messages = path.file_stem().map(|id| self.root.join("message").join(id));
        Some(messages.and_then(|folder| seen(&folder)).map_or(own, |folder| folder.max(own)))
    }

    fn session(&mut self, path: &Path, scope: &Scope, say: &mut Vec<Said>) {
        let Some(row) = text(path).and_then(|text| SessionRow::of_file(&text)) else { return };
        if !scope.has(Path::new(row.directory.as_deref().unwrap_or_default())) {
            return;
        }
        if self.is_news(path) {
            opencode::session(&row, say);
            // As with the database: only silence tells that one was killed.
            let patience = NodeFact::MaySleep(patience(Process::Unknown));
            say.push(Said::of(None, opencode::key(&row.id), patience));
        }
        let folder = self.root.join("message").join(&row.id);
        let mut messages = list(&folder);
        // Their ids begin with the time.
        messages.sort();
        for path in messages {
            if !self.is_news(&path) {
                continue;
            }
            let Some(message) = text(&path).and_then(MessageRow::of_file) else { continue };
            opencode::message(&message, row.created, say);
            if message.is_agents() {
                self.parts(&message, say);
            }
        }
        self.lively.retain(|known| *known != folder);
        self.lively.insert(0, folder);
        self.lively.truncate(AT_ONCE);
    }

    fn parts(&mut self, message: &MessageRow, say: &mut Vec<Said>) {
        let mut parts = list(&self.root.join("part").join(&message.id));
        parts.sort();
        for path in parts.into_iter().filter(|path| self.is_news(path)).collect::<Vec<_>>() {
            if let Some(data) = text(&path) {
                let session = message.session.clone();
                opencode::part(&PartRow { session, updated: None, data }, say);
            }
        }
    }

    /// Returns whether a file is another than it was, and notes that it was read.
    fn is_news(&mut self, path: &Path) -> bool {
        let now = seen(path);
        now.is_some_and(|now| self.seen.insert(path.to_owned(), now) != Some(now))
    }
}

fn seen(path: &Path) -> Option<Seen> {
    let meta = fs::metadata(path).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}

/// Returns what is in a folder; nothing of one that is not there.
fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_part = |path: &Path| path.is_dir() || path.extension() == Some(OsStr::new("json"));
    entries.map(|entry| entry.path()).filter(|path| is_part(path)).collect()
}

fn text(path: &Path) -> Option<String> {
    plain::text(path, LARGEST).ok()
}
