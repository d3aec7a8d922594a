//! The engine's memory: what it writes down is on disk before it counts, and the model is what was written.
//!
//! The book keeps journal, model, snapshot, history and the two derived views in step. It is the only
//! writer of a state folder. What is decided, and when, is not its affair.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::model::Model;
use crate::model::delta::Delta;
use crate::model::event::{Body, Event, payload};
use crate::model::fact::{Fact, SourceFact};
use crate::model::id::Seq;
use crate::model::key::{SourceId, SourceKind};
use crate::model::record::{ModelRecord, model_record, restore, tree_records};
use crate::model::ripe::{ripe, ripe_sessions};
use crate::model::time::Stamp;
use crate::source::hooked::forgotten;
use crate::source::journal;
use crate::store::disk::Disk;
use crate::store::error::{Error, Result};
use crate::store::folder::StateFolder;
use crate::store::journal::{Journal, Place};
use crate::store::line::Draft;
use crate::store::recover::Recovered;
use crate::store::{Store, compact, retention, views};

mod view;

/// The journal is the only source of the engine's own model.
pub const SOURCE: SourceId = SourceId(0);

/// Output is kept for weeks: nobody needs it gone to the hour.
const TRIM_GAP: Duration = Duration::from_hours(6);

/// How many facts of a replay are held at once.
const FACTS: usize = 8192;

/// What is written down and kept, as the settings have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keeping {
    /// Whether the progress of steps is written to the journal.
    pub progress: bool,
    /// Whether the record of what is over is kept when it leaves the tree.
    pub history: bool,
    /// How long the output of sessions is.
    pub output: Duration,
}

impl Default for Keeping {
    fn default() -> Self {
        Self { progress: true, history: true, output: retention::KEPT_FOR }
    }
}

/// The open book of one state folder.
pub struct Book {
    store: Store,
    model: Model,
    seq: Seq,
    /// When the last snapshot was written, or the book opened.
    compacted: Stamp,
    dirty_since: Option<Stamp>,
    views_written: Option<Stamp>,
    /// When old session output was last looked for.
    trimmed: Option<Stamp>,
    keeping: Keeping,
}

impl Book {
    /// Opens a folder: what was acknowledged before is there again.
    pub fn open(folder: StateFolder, disk: Arc<dyn Disk>, now: Stamp) -> Result<(Self, Recovered)> {
        let (store, recovered) = Store::open(folder, disk, now)?;
        let mut model = Model::default();
        let root = store.folder.project().display().to_string().into();
        let _ = model.apply(Fact::source(SOURCE, SourceFact::Opened { kind: SourceKind::Engine, root }));
        let mut known = Seq(0);
        if let Some(snapshot) = &recovered.snapshot {
            known = snapshot.seq;
            let record: ModelRecord = serde_json::from_str(snapshot.model.get()).map_err(|error| {
                Error::from(Error::damaged(&store.folder.snapshot(known), error.to_string()))
            })?;
            let mut facts = Vec::new();
            restore::model_facts(record, SOURCE, &mut facts);
            facts.push(Fact::source(SOURCE, SourceFact::Reached(known)));
            let _ = model.apply_all(facts);
        }
        let mut book = Self {
            store,
            model,
            seq: known,
            compacted: now,
            dirty_since: Some(now),
            views_written: None,
            trimmed: None,
            keeping: Keeping::default(),
        };
        book.replay(known)?;
        Ok((book, recovered))
    }

    /// Returns everything that is known.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the last event that is in the model.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Returns the folder's store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Writes events down, in one piece; they are on disk and in the model when this returns.
    pub fn write(&mut self, now: Stamp, events: impl IntoIterator<Item = (Stamp, Body)>) -> Result<Delta> {
        let events: Vec<(Stamp, Body)> = events.into_iter().collect();
        let drafts: Result<Vec<Draft>> = events.iter().map(|(at, body)| Draft::new(*at, body)).collect();
        self.write_drafts(now, drafts?, events)
    }

    /// Writes events down as [`Book::write`] does, where they are encoded already.
    pub(super) fn write_drafts(
        &mut self,
        now: Stamp,
        drafts: Vec<Draft>,
        events: Vec<(Stamp, Body)>,
    ) -> Result<Delta> {
        let written = self.store.journal.append(drafts, Place::Exactly(self.seq.next())).wait()?;
        let mut facts = Vec::new();
        for (seq, (at, body)) in (written.first.0..).zip(events) {
            journal::facts(Event { seq: Seq(seq), at, body }, SOURCE, &mut facts);
        }
        self.seq = written.last;
        self.dirty_since.get_or_insert(now);
        Ok(self.model.apply_all(facts))
    }

    /// Takes in what is to be kept from now on.
    pub fn keep(&mut self, keeping: Keeping) {
        self.keeping = keeping;
    }

    /// Returns what is kept.
    pub fn keeping(&self) -> Keeping {
        self.keeping
    }

    /// Lets time pass in the model.
    pub fn advance(&mut self, now: Stamp) -> Delta {
        self.model.advance(now)
    }

    /// Does what is due: moves old delegations to the history, compacts, writes the views, and removes what
    /// sessions printed long ago.
    pub fn tidy(&mut self, now: Stamp) -> Result<Delta> {
        let delta = self.archive(now)?;
        self.housekeep(now, || Ok(RawValue::NULL.to_owned()))?;
        Ok(delta)
    }

    /// Does what is due with the files: compacts, writes the views, removes what sessions printed long ago.
    /// `kernel` is what the engine needs beside the model to go on from here.
    pub fn housekeep(&mut self, now: Stamp, kernel: impl FnOnce() -> Result<Box<RawValue>>) -> Result<()> {
        if self.store.compaction_due(now.since(self.compacted)) {
            self.compact_with(now, kernel()?)?;
        }
        if self.dirty_since.is_some_and(|dirty| views::due(dirty, self.views_written) <= now) {
            self.write_views(now)?;
        }
        if self.trimmed.is_none_or(|last| now.since(last) >= TRIM_GAP) {
            let live = view::live_sessions(&self.model);
            retention::trim(&*self.store.disk, &self.store.folder, &live, self.keeping.output, now)?;
            self.trimmed = Some(now);
        }
        Ok(())
    }

    /// Moves the delegations that ended long ago into the history.
    pub fn archive(&mut self, now: Stamp) -> Result<Delta> {
        let leaving = self.leaving(now)?;
        if leaving.is_empty() { Ok(Delta::default()) } else { self.write(now, leaving) }
    }

    /// Writes the delegations that ended long ago into the history, and returns the events that say so.
    ///
    /// Their records are on disk before the journal says that they left; after a crash in between they are
    /// written again, and the later line replaces the earlier.
    pub fn leaving(&self, now: Stamp) -> Result<Vec<(Stamp, Body)>> {
        let mut leaving = Vec::new();
        let mut records = Vec::new();
        for (ix, id) in ripe(&self.model, now) {
            for record in tree_records(&self.model, ix) {
                if let Some(id) = &record.delegation_id {
                    records.push((id.clone(), raw("a record for the history", &record)?));
                }
            }
            let gone = payload::Turn { delegation_id: id, ..payload::Turn::default() };
            leaving.push((now, Body::Archived(gone)));
        }
        if self.keeping.history {
            self.store.history.append(&records)?;
        }
        for (tool, session) in ripe_sessions(&self.model, now) {
            leaving.push((now, Body::HookRecorded(Box::new(forgotten(&tool, &session, now)))));
        }
        Ok(leaving)
    }

    /// Writes a snapshot, and removes what it makes unneeded.
    pub fn compact(&mut self, now: Stamp) -> Result<compact::Compacted> {
        self.compact_with(now, RawValue::NULL.to_owned())
    }

    /// Writes a snapshot with what the engine needs beside the model.
    pub fn compact_with(&mut self, now: Stamp, kernel: Box<RawValue>) -> Result<compact::Compacted> {
        let model = raw("the model", &model_record(&self.model, SOURCE))?;
        let removed = self.store.compact(self.seq, model, kernel)?;
        self.compacted = now;
        Ok(removed)
    }

    /// Writes `delegations.json` and `registry.json`.
    pub fn write_views(&mut self, now: Stamp) -> Result<()> {
        let disk = &*self.store.disk;
        let folder = &self.store.folder;
        let delegations = view::delegations(&self.model, self.seq);
        let registry = view::registry(&self.model);
        views::replace(disk, &folder.delegations_json(), &pretty("delegations.json", &delegations)?)?;
        views::replace(disk, &folder.registry_json(), &pretty("registry.json", &registry)?)?;
        (self.dirty_since, self.views_written) = (None, Some(now));
        Ok(())
    }

    fn replay(&mut self, after: Seq) -> Result<()> {
        let Self { store, model, .. } = self;
        let mut facts = Vec::new();
        let last = store.replay(after, |seq, line| {
            journal::line_facts(line, seq, SOURCE, &mut facts);
            if facts.len() > FACTS {
                let _ = model.apply_all(facts.drain(..));
            }
        })?;
        let _ = model.apply_all(facts);
        self.seq = last;
        Ok(())
    }
}

/// Encodes a value for a snapshot or the history.
pub(super) fn raw(what: &str, value: &impl Serialize) -> Result<Box<RawValue>> {
    serde_json::value::to_raw_value(value).map_err(|source| Error::Encode { what: what.to_owned(), source })
}

fn pretty(what: &str, value: &impl Serialize) -> Result<Vec<u8>> {
    let mut text =
        serde_json::to_vec_pretty(value).map_err(|source| Error::Encode { what: what.to_owned(), source })?;
    text.push(b'\n');
    Ok(text)
}
