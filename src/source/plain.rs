//! A delegation store and a session registry that somebody else writes: a `delegations.json` and a
//! `registry.json` with no journal.
//!
//! Both are read again when they change, and what differs from last time is told. Bad JSON keeps the last
//! good state and says so. The two files are two sources: where they disagree, it shows.

mod registry;
mod store;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::document::{Document, Found};
use super::feed::{Batch, Feed};
use super::health::Health;
use super::told::{Entry, Told};
use crate::model::fact::{Fact, SourceFact, SourceState};
use crate::model::key::{NodeKey, SourceId, SourceKind};
use crate::model::time::Stamp;

/// Which source numbers the two files have.
#[derive(Debug, Clone, Copy)]
pub struct PairIds {
    pub store: SourceId,
    pub registry: SourceId,
}

/// A store and a registry, or one of them.
pub struct Plain {
    store: Option<File>,
    registry: Option<File>,
    ids: PairIds,
    /// Which delegation each task has, for sessions that name only a task.
    tasks: HashMap<String, NodeKey>,
    store_is_ours: bool,
}

/// One of the two files, and what was told of it.
struct File {
    document: Document,
    source: SourceId,
    told: Told,
    health: Health,
    is_open: bool,
    /// The last reading that was JSON, and what was odd about it.
    value: Option<Value>,
    warning: Option<String>,
}

/// What a reading found: the entries with their facts, and what could not be read.
#[derive(Default)]
struct Reading {
    entries: Vec<Entry>,
    /// What of it could not be read.
    trouble: Option<String>,
    /// Why all of it is something else than expected: then nothing of it counts.
    refused: Option<String>,
    /// Whether our own engine wrote it, so that its delegations have their own keys.
    is_ours: bool,
}

impl Plain {
    /// Names a pair; nothing is read yet, and the files need not be there.
    pub fn new(store: Option<PathBuf>, registry: Option<PathBuf>, ids: PairIds) -> Self {
        let store = store.map(|path| File::new(path, ids.store));
        let registry = registry.map(|path| File::new(path, ids.registry));
        Self { store, registry, ids, tasks: HashMap::new(), store_is_ours: false }
    }
}

impl File {
    fn new(path: PathBuf, source: SourceId) -> Self {
        Self {
            document: Document::new(path),
            source,
            told: Told::by(source),
            health: Health::of(source),
            is_open: false,
            value: None,
            warning: None,
        }
    }

    /// Looks at the file; returns whether there is another good reading than before.
    fn look(&mut self, now: Stamp, batch: &mut Batch) -> bool {
        if !std::mem::replace(&mut self.is_open, true) {
            let root = self.document.path().display().to_string().into();
            batch.facts.push(Fact::source(self.source, SourceFact::Opened { kind: SourceKind::Plain, root }));
        }
        match self.document.look() {
            Found::Same => false,
            Found::News(value, warning) => {
                (self.value, self.warning) = (Some(value), warning);
                true
            }
            Found::Bad(what) => {
                self.health.tell(SourceState::Corrupt { since: now, what: what.into() }, batch);
                false
            }
            Found::Missing => {
                let what = format!("{} is not there", self.document.path().display()).into();
                self.health.tell(SourceState::Missing { what }, batch);
                false
            }
        }
    }

    /// Tells what differs from what was told before.
    fn tell(&mut self, found: Reading, now: Stamp, batch: &mut Batch) {
        if let Some(what) = found.refused {
            return self.health.tell(SourceState::Corrupt { since: now, what: what.into() }, batch);
        }
        let trouble = found.trouble.or_else(|| self.warning.clone());
        self.health.tell(trouble.map_or(SourceState::Ok, partial), batch);
        self.told.tell(found.entries, batch);
    }
}

impl Feed for Plain {
    fn poll(&mut self, now: Stamp) -> Batch {
        let mut batch = Batch::default();
        let mut store_changed = false;
        if let Some(file) = &mut self.store
            && file.look(now, &mut batch)
            && let Some(value) = &file.value
        {
            let found = store::entries(value, self.ids.store, &mut self.tasks);
            self.store_is_ours = found.is_ours;
            file.tell(found, now, &mut batch);
            store_changed = true;
        }
        if let Some(file) = &mut self.registry {
            let changed = file.look(now, &mut batch);
            // A session may belong to a task that the store has only now.
            let again = changed || (store_changed && !file.health.is_corrupt());
            if let (true, Some(value)) = (again, &file.value) {
                let naming = registry::Naming { ids: self.ids, ours: self.store_is_ours, tasks: &self.tasks };
                let found = registry::entries(value, &naming);
                file.tell(found, now, &mut batch);
            }
        }
        batch
    }

    fn watched(&self) -> Vec<PathBuf> {
        let files = self.store.iter().chain(&self.registry).map(|file| file.document.path());
        let mut paths: Vec<PathBuf> = files.map(folder_of).collect();
        paths.dedup();
        paths
    }
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

fn partial(what: String) -> SourceState {
    SourceState::Partial { what: what.into() }
}

/// Returns a checksum of what an entry says, and of what else its facts depend on.
fn crc_of(value: &Value, context: &str) -> u32 {
    crc32fast::hash(format!("{value}{context}").as_bytes())
}
