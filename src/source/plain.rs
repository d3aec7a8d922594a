//! A delegation store and a session registry that somebody else writes: a `delegations.json` and a
//! `registry.json` with no journal.
//!
//! Both are read again when they change, and what differs from last time is told. Bad JSON keeps the last
//! good state and says so. The two files are two sources: where they disagree, it shows.

mod document;
mod registry;
mod store;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::feed::{Batch, Feed};
use super::whole::{Look, Whole};
use crate::model::fact::{Fact, NodeFact, SourceFact, SourceState};
use crate::model::key::{NodeKey, SourceId, SourceKind};
use crate::model::time::Stamp;
use crate::store::disk::{Disk, RealDisk};

/// Which source numbers the two files have.
#[derive(Debug, Clone, Copy)]
pub struct PairIds {
    pub store: SourceId,
    pub registry: SourceId,
}

/// A store and a registry, or one of them.
pub struct Plain {
    disk: Arc<dyn Disk>,
    store: Option<File>,
    registry: Option<File>,
    ids: PairIds,
    /// Which delegation each task has, for sessions that name only a task.
    tasks: HashMap<String, NodeKey>,
    store_is_ours: bool,
}

/// One of the two files, and what was told of it.
struct File {
    whole: Whole,
    source: SourceId,
    /// A checksum of each entry that was told, by its key: what is the same need not be told again.
    told: HashMap<NodeKey, u32>,
    state: Option<SourceState>,
    is_open: bool,
    /// The last good reading.
    value: Option<Value>,
}

/// What a reading found: the entries with their facts, and what could not be read.
#[derive(Default)]
struct Reading {
    entries: Vec<Entry>,
    trouble: Option<String>,
    /// Whether our own engine wrote it, so that its delegations have their own keys.
    is_ours: bool,
}

/// One record or session: the key it is known by, a checksum of what it says, and what it tells.
struct Entry {
    key: NodeKey,
    crc: u32,
    facts: Vec<Fact>,
}

impl Plain {
    /// Names a pair; nothing is read yet, and the files need not be there.
    pub fn new(store: Option<PathBuf>, registry: Option<PathBuf>, ids: PairIds) -> Self {
        let store = store.map(|path| File::new(path, ids.store));
        let registry = registry.map(|path| File::new(path, ids.registry));
        Self { disk: Arc::new(RealDisk), store, registry, ids, tasks: HashMap::new(), store_is_ours: false }
    }
}

impl File {
    fn new(path: PathBuf, source: SourceId) -> Self {
        let whole = Whole::new(path);
        Self { whole, source, told: HashMap::new(), state: None, is_open: false, value: None }
    }

    /// Looks at the file; returns whether there is another good reading than before.
    fn look(&mut self, disk: &dyn Disk, now: Stamp, batch: &mut Batch) -> bool {
        if !std::mem::replace(&mut self.is_open, true) {
            let root = self.whole.path().display().to_string().into();
            batch.facts.push(Fact::source(self.source, SourceFact::Opened { kind: SourceKind::Plain, root }));
        }
        match self.whole.look(disk, now) {
            Look::Same => false,
            Look::Content(bytes) => match document::last(&bytes) {
                Ok((value, warning)) => {
                    self.value = Some(value);
                    self.tell_state(warning.map_or(SourceState::Ok, partial), batch);
                    true
                }
                Err(what) => {
                    self.tell_state(SourceState::Corrupt { since: now, what: what.into() }, batch);
                    false
                }
            },
            Look::Missing => {
                let what = format!("{} is not there", self.whole.path().display()).into();
                self.tell_state(SourceState::Missing { what }, batch);
                false
            }
            Look::Failed(error) => {
                let what = format!("cannot read {}: {error}", self.whole.path().display()).into();
                self.tell_state(SourceState::Corrupt { since: now, what }, batch);
                false
            }
        }
    }

    fn tell_state(&mut self, state: SourceState, batch: &mut Batch) {
        // Since when it is corrupt is since it was first found so.
        let stays_corrupt =
            matches!((&self.state, &state), (Some(SourceState::Corrupt { .. }), SourceState::Corrupt { .. }));
        if !stays_corrupt && self.state.as_ref() != Some(&state) {
            self.state = Some(state.clone());
            batch.facts.push(Fact::source(self.source, SourceFact::State(state)));
        }
    }

    /// Tells what differs from what was told before.
    fn tell(&mut self, found: Reading, batch: &mut Batch) {
        if let Some(trouble) = found.trouble {
            self.tell_state(partial(trouble), batch);
        }
        let mut gone = std::mem::take(&mut self.told);
        for entry in found.entries {
            if gone.remove(&entry.key) != Some(entry.crc) {
                batch.facts.extend(entry.facts);
            }
            self.told.insert(entry.key, entry.crc);
        }
        let mut gone: Vec<NodeKey> = gone.into_keys().collect();
        gone.sort_unstable();
        batch.facts.extend(gone.into_iter().map(|key| Fact::node(self.source, None, key, NodeFact::Gone)));
    }
}

impl Feed for Plain {
    fn poll(&mut self, now: Stamp) -> Batch {
        let mut batch = Batch::default();
        let mut store_changed = false;
        if let Some(file) = &mut self.store
            && file.look(&*self.disk, now, &mut batch)
            && let Some(value) = &file.value
        {
            let found = store::entries(value, self.ids.store, &mut self.tasks);
            self.store_is_ours = found.is_ours;
            file.tell(found, &mut batch);
            store_changed = true;
        }
        if let Some(file) = &mut self.registry {
            // A session may belong to a task that the store has only now.
            let changed = file.look(&*self.disk, now, &mut batch) || store_changed;
            if let (true, Some(value)) = (changed, &file.value) {
                let naming = registry::Naming { ids: self.ids, ours: self.store_is_ours, tasks: &self.tasks };
                let found = registry::entries(value, &naming);
                file.tell(found, &mut batch);
            }
        }
        batch
    }

    fn watched(&self) -> Vec<PathBuf> {
        let files = self.store.iter().chain(&self.registry).map(|file| file.whole.path());
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
