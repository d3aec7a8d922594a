//! Another tool's folder as a source: which files matter, what is read of them, and what was told.
//!
//! A tool is a list of patterns and a pure function. All else, from half-written files to telling only what
//! differs, is the same for all of them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::feed::Batch;
use super::health::Health;
use super::pages::Pages;
use super::sheet::Sheet;
use super::shelf::{Shelf, Wanted};
use super::told::Told;
use crate::model::fact::{Fact, SourceFact, SourceState};
use crate::model::key::{SourceId, SourceKind};
use crate::model::time::Stamp;

/// What is known of a tool's files.
#[derive(Debug)]
pub(super) struct Tool {
    pub kind: SourceKind,
    pub wanted: &'static [Wanted],
    /// The beginnings of the paths below which only the latest are of interest, so that it need not be said where older ones
    /// are not read.
    pub past: &'static [&'static str],
    /// Says what the files mean: pure.
    pub read: fn(&Pages, &mut Sheet),
}

/// One folder of one tool.
pub(super) struct Folder {
    tool: &'static Tool,
    source: SourceId,
    shelf: Shelf,
    told: Told,
    health: Health,
    /// It is introduced when there is something in it.
    is_open: bool,
    refused: Option<&'static str>,
    trouble: Option<String>,
    /// When what was told is no longer so by the time alone.
    until: Option<Stamp>,
    /// What was not even looked for, where that is said here.
    left_out: Option<String>,
}

impl Folder {
    /// Names a folder; nothing is read yet.
    pub fn new(tool: &'static Tool, root: PathBuf, source: SourceId) -> Self {
        Self {
            tool,
            source,
            shelf: Shelf::new(root, tool.wanted),
            told: Told::by(source),
            health: Health::of(source),
            is_open: false,
            refused: None,
            trouble: None,
            until: None,
            left_out: None,
        }
    }

    /// Returns whether any of these paths is in it, or is it.
    pub fn has_any(&self, paths: &BTreeSet<PathBuf>) -> bool {
        paths.iter().any(|path| path.starts_with(self.shelf.root()))
    }

    /// Returns whether it was introduced.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Says what was not even looked for.
    pub fn leave_out(&mut self, what: Option<String>, now: Stamp, batch: &mut Batch) {
        if self.left_out != what {
            self.left_out = what;
            self.health.tell(self.state(now), batch);
        }
    }

    /// Tells what became known since it was last asked.
    pub fn poll(&mut self, now: Stamp, batch: &mut Batch) {
        if !self.shelf.root().is_dir() {
            if self.is_open {
                let what = format!("{} is not there", self.shelf.root().display()).into();
                self.health.tell(SourceState::Missing { what }, batch);
            }
            return;
        }
        let changed = self.shelf.look(now);
        if changed || self.until.is_some_and(|until| until <= now) {
            let mut sheet = Sheet::of(self.source, now);
            (self.tool.read)(&self.shelf.pages, &mut sheet);
            self.until = sheet.until();
            (self.refused, self.trouble) = (sheet.refused(), sheet.trouble());
            if self.refused.is_none() || sheet.is_own() {
                self.open(batch);
            }
            if self.refused.is_none() {
                self.told.tell(sheet.entries(), batch);
            }
        }
        if self.shelf.has_bad() {
            self.open(batch);
        }
        if self.is_open {
            self.health.tell(self.state(now), batch);
        }
    }

    pub fn watched(&self) -> Vec<PathBuf> {
        self.shelf.watched()
    }

    fn open(&mut self, batch: &mut Batch) {
        if !std::mem::replace(&mut self.is_open, true) {
            let root = self.shelf.root().display().to_string().into();
            batch.facts.push(Fact::source(self.source, SourceFact::Opened { kind: self.tool.kind, root }));
        }
    }

    fn state(&self, now: Stamp) -> SourceState {
        if let Some(why) = self.refused {
            return SourceState::Corrupt { since: now, what: why.into() };
        }
        let unread = || self.shelf.left_out(self.tool.past);
        let what = || self.trouble.clone().or_else(|| self.left_out.clone()).or_else(unread);
        match (self.shelf.state(now), what()) {
            (SourceState::Ok, Some(what)) => SourceState::Partial { what: what.into() },
            (state, _) => state,
        }
    }
}

/// Returns what a folder with these files tells: the pure part of a source, for tests.
pub(super) fn facts(
    tool: &Tool,
    files: impl IntoIterator<Item = (String, Vec<u8>)>,
    source: SourceId,
) -> Vec<Fact> {
    let mut sheet = Sheet::of(source, Stamp::from_millis(0));
    (tool.read)(&Pages::read(files), &mut sheet);
    if sheet.refused().is_some() {
        return Vec::new();
    }
    sheet.entries().into_iter().flat_map(|entry| entry.facts).collect()
}
