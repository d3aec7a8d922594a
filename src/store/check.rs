//! What `doctor` says of a state folder: everything in it, looked at, and nothing changed.
//!
//! Findings are sentences for people. Whether the engine would start is decided by the same [`verify`] that
//! it uses itself, so the two never disagree.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::disk::{Disk, read};
use super::error::{Damage, Error, Result};
use super::folder::StateFolder;
use super::history::{Cursor, History};
use super::lock;
use super::recover::{Verified, verify};
use super::salvage::unfinished;
use super::segment;
use crate::model::id::Seq;

/// The permission bits of everybody but the owner.
const OTHERS: u32 = 0o077;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing is lost and nothing is stopped.
    Note,
    /// Something is damaged, or unsafe.
    Wrong,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// The file or folder.
    pub file: PathBuf,
    /// The line, where there is one.
    pub line: Option<u64>,
    /// What was found.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Looks at everything in a state folder; reads only, and needs no lock.
pub fn check(disk: &Arc<dyn Disk>, folder: &StateFolder) -> Vec<Finding> {
    let mut check = Check { disk: &**disk, folder, findings: Vec::new() };
    let looked = check.folder();
    check.note(looked);
    let looked = check.lock();
    check.note(looked);
    let looked = check.segments();
    check.note(looked);
    let last = check.journal();
    let last = check.note(last).flatten();
    for view in [folder.delegations_json(), folder.registry_json()] {
        let looked = check.view(&view, last);
        check.note(looked);
    }
    let looked = check.history(&History::new(Arc::clone(disk), folder));
    check.note(looked);
    let looked = check.inbox();
    check.note(looked);
    let looked = check.leftovers();
    check.note(looked);
    check.findings
}

struct Check<'a> {
    disk: &'a dyn Disk,
    folder: &'a StateFolder,
    findings: Vec<Finding>,
}

impl Check<'_> {
    /// What cannot even be looked at is a finding too, and the rest is looked at all the same.
    fn note<T>(&mut self, looked: Result<T>) -> Option<T> {
        match looked {
            Ok(found) => return Some(found),
            Err(Error::Io { attempt, path, source }) => {
                let hint = "Check who owns it, its permissions, and whether it is a file or a folder.";
                self.find(Level::Wrong, &path, format!("cannot {attempt} it: {source}"), Some(hint));
            }
            Err(other) => {
                let root = self.folder.root.clone();
                self.find(Level::Wrong, &root, other.to_string(), None);
            }
        }
        None
    }

    fn find(&mut self, level: Level, file: &Path, what: impl Into<String>, hint: Option<&str>) {
        let hint = hint.map(Into::into);
        self.findings.push(Finding { level, file: file.to_owned(), line: None, what: what.into(), hint });
    }

    fn folder(&mut self) -> Result<()> {
        let root = &self.folder.root;
        match self.disk.stat(root).map_err(Error::io("look at", root))? {
            Some(stat) if stat.mode & OTHERS != 0 => {
                let what = format!("others on this machine may enter it (mode {:o})", stat.mode);
                let hint = format!(
                    "If it came with the project, remove it. If it is yours: chmod 700 {}",
                    root.display()
                );
                self.find(Level::Wrong, root, what, Some(&hint));
            }
            Some(_) | None => self.find(Level::Ok, root, "only its owner may enter it", None),
        }
        let ignore = self.folder.gitignore();
        match read(self.disk, &ignore) {
            Ok(content) if content.trim_ascii() == b"*" => {
                self.find(Level::Ok, &ignore, "no commit takes the folder along", None);
            }
            Ok(_) | Err(_) => {
                let hint = "Write a single line into it: *";
                self.find(Level::Note, &ignore, "a commit may take the folder along", Some(hint));
            }
        }
        Ok(())
    }

    fn lock(&mut self) -> Result<()> {
        let path = self.folder.engine_lock();
        if self.disk.stat(&path).map_err(Error::io("look at", &path))?.is_some() {
            read(self.disk, &path).map_err(Error::io("read", &path))?;
        }
        let what = match lock::holder(self.disk, self.folder) {
            Some(holder) => format!("the engine runs: pid {}, epoch {}", holder.pid, holder.epoch),
            None => "no engine runs".into(),
        };
        self.find(Level::Ok, &path, what, None);
        Ok(())
    }

    /// Counts what is in each segment; what it means for the start is said by [`Check::journal`].
    fn segments(&mut self) -> Result<()> {
        for first in segment::list(self.disk, self.folder)? {
            let survey = segment::survey(self.disk, self.folder, first)?;
            let found = match (survey.records, survey.bad_lines) {
                (records, 0) => format!("{records} events from seq {first}"),
                (records, bad) => format!("{records} events from seq {first}; not readable: {bad} lines"),
            };
            let level = if survey.header.is_ok() && survey.fault.is_none() { Level::Ok } else { Level::Note };
            self.find(level, &survey.path, found, None);
        }
        Ok(())
    }

    /// Says whether the engine would start; returns the last event, if that is known.
    fn journal(&mut self) -> Result<Option<Seq>> {
        let journal = self.folder.journal_dir();
        if let Some(place) = unfinished(self.disk, self.folder)? {
            let what = "a salvage was interrupted; the next start of the engine finishes it";
            self.find(Level::Note, &place, what, None);
            return Ok(None);
        }
        match verify(self.disk, self.folder) {
            Ok(found) => {
                self.verified(&journal, &found);
                Ok(Some(found.last))
            }
            Err(Error::Damaged(damage)) => {
                let Damage { file, line, seq, hint, what, .. } = *damage;
                let what = seq.map_or(what.clone(), |seq| format!("damaged at seq {seq}: {what}"));
                let hint = Some(hint.to_owned());
                self.findings.push(Finding { level: Level::Wrong, file, line, what, hint });
                Ok(None)
            }
            Err(Error::Newer { path, format }) => {
                let what = format!("it was written by a newer Quarterdeck (format {format})");
                self.find(Level::Wrong, &path, what, Some("Upgrade Quarterdeck."));
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }

    fn verified(&mut self, journal: &Path, found: &Verified) {
        let snapshot = found.snapshot.as_ref().map_or(Seq(0), |snapshot| snapshot.seq);
        let what = format!("whole up to seq {}, with a snapshot at seq {snapshot}", found.last);
        self.find(Level::Ok, journal, what, None);
        if let Some(torn) = &found.torn {
            let what = format!("its end was never acknowledged: {}", torn.fault.what);
            let hint = Some("The next start of the engine saves it aside and goes on.".to_owned());
            let (file, line) = (torn.segment.clone(), Some(torn.fault.line));
            self.findings.push(Finding { level: Level::Note, file, line, what, hint });
        }
        for (path, why) in &found.bad_snapshots {
            let hint = "Nothing is lost: the journal holds it all. The engine sets it aside when it starts.";
            self.find(Level::Note, path, why.as_str(), Some(hint));
        }
    }

    fn view(&mut self, path: &Path, last: Option<Seq>) -> Result<()> {
        #[derive(Deserialize)]
        struct View {
            seq: Option<Seq>,
        }
        let hint = Some("Nothing is lost: it is made from the journal, and the engine writes it anew.");
        let bytes = match read(self.disk, path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other.map_err(Error::io("read", path))?,
        };
        match (serde_json::from_slice::<View>(&bytes), last) {
            (Err(error), _) => self.find(Level::Note, path, format!("it cannot be read: {error}"), hint),
            (Ok(View { seq: Some(seq) }), Some(last)) if seq > last => {
                let what = format!("it is at seq {seq}, but the journal ends at seq {last}");
                let hint = "The journal has lost events that were on disk; keep a copy of this file.";
                self.find(Level::Wrong, path, what, Some(hint));
            }
            (Ok(_), _) => self.find(Level::Ok, path, "it can be read", None),
        }
        Ok(())
    }

    fn history(&mut self, history: &History) -> Result<()> {
        const PAGE: usize = 1000;
        let path = self.folder.history();
        let (mut records, mut skipped) = (0, 0);
        let mut cursor = Some(Cursor::default());
        while let Some(from) = cursor.take() {
            let page = history.page(from, PAGE)?;
            records += page.records.len();
            skipped += page.skipped;
            cursor = page.next;
        }
        if skipped > 0 {
            let what = format!("{records} records, and {skipped} lines that cannot be read");
            self.find(Level::Wrong, &path, what, Some("They are skipped; the others are served."));
        } else if records > 0 {
            self.find(Level::Ok, &path, format!("{records} records"), None);
        }
        Ok(())
    }

    fn inbox(&mut self) -> Result<()> {
        let inbox = self.folder.inbox_dir();
        for name in self.disk.list(&inbox).map_err(Error::io("list", &inbox))? {
            let path = inbox.join(&name);
            if path.extension() != Some("json".as_ref()) {
                continue;
            }
            let content = match read(self.disk, &path) {
                // The engine took it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other.map_err(Error::io("read", &path))?,
            };
            match serde_json::from_slice::<serde::de::IgnoredAny>(&content) {
                Ok(_) => self.find(Level::Note, &path, "a command that waits for the engine", None),
                Err(error) => {
                    let hint = "The engine sets it aside and goes on.";
                    self.find(Level::Wrong, &path, format!("a command that is no JSON: {error}"), Some(hint));
                }
            }
        }
        Ok(())
    }

    /// Finds what a crash or a repair left behind.
    fn leftovers(&mut self) -> Result<()> {
        let folder = self.folder;
        let places = [folder.root.clone(), folder.journal_dir(), folder.snapshot_dir(), folder.inbox_dir()];
        for place in places {
            for name in self.disk.list(&place).map_err(Error::io("list", &place))? {
                let path = place.join(&name);
                let what = if name.contains(".torn-") {
                    "the end of a segment that was never acknowledged"
                } else if name.contains(".bad-") {
                    "a file that could not be read, set aside"
                } else if path.extension() == Some("tmp".as_ref()) {
                    "a file that was not finished"
                } else {
                    continue;
                };
                let hint = Some("Nothing reads it; remove it when you no longer want to look at it.");
                self.find(Level::Note, &path, what, hint);
            }
        }
        Ok(())
    }
}
