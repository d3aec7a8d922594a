//! Follows a state folder live: the newest snapshot, then the journal from there on, then what is appended.
//!
//! It writes nothing and needs no engine. Whatever happens to the files (rotation, compaction, a cut tail,
//! replacement, salvage, deletion), it ends up with the model that the engine has at the same place, or
//! keeps the last good state and says what is wrong: what was told is taken back only for something
//! better. Reading on costs what was appended.

mod place;
mod unpack;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::feed::{Batch, Feed};
use super::health::Health;
use super::watch::FILES_TOO;
use crate::model::fact::{Fact, SourceFact, SourceState};
use crate::model::id::{JournalId, Seq};
use crate::model::key::{SourceId, SourceKind};
use crate::model::time::Stamp;
use crate::store::disk::{Disk, RealDisk, Stat};
use crate::store::error::Error;
use crate::store::folder::StateFolder;
use place::{Place, Stop};
use unpack::Unpacking;

/// A compaction may remove files while they are read, but not again and again.
const TRIES: usize = 4;

/// A state folder that is being followed.
pub struct Follower {
    disk: Arc<dyn Disk>,
    folder: StateFolder,
    source: SourceId,
    place: Option<Place>,
    /// The snapshot that is being told, at the beginning.
    unpacking: Option<Unpacking>,
    has_begun: bool,
    /// What was told last: of which journal, and up to where.
    told: Option<(Option<JournalId>, Seq)>,
    health: Health,
    /// The files as they were when a fresh look at them found nothing better than what was told.
    refused: Option<Signature>,
    is_open: bool,
}

/// Every file that matters: what changes any of them changes this.
type Signature = Vec<(PathBuf, Stat)>;

/// What a fresh look found.
enum Fresh {
    /// Nothing was ever written.
    Nothing,
    /// All of it, or as much as is read at once.
    Good(Place),
    /// As much as can be read, and what is wrong with the rest.
    Damaged(Option<Place>, Seq, String),
}

impl Follower {
    /// Makes a follower of a folder; nothing is read yet, and the folder need not be there.
    pub fn new(folder: StateFolder, source: SourceId) -> Self {
        Self::on(Arc::new(RealDisk), folder, source)
    }

    /// Makes a follower on another file layer.
    pub fn on(disk: Arc<dyn Disk>, folder: StateFolder, source: SourceId) -> Self {
        let health = Health::of(source);
        Self {
            disk,
            folder,
            source,
            place: None,
            unpacking: None,
            has_begun: false,
            told: None,
            health,
            refused: None,
            is_open: false,
        }
    }

    /// Returns the last event that was told.
    pub fn seq(&self) -> Seq {
        self.told.as_ref().map_or(Seq(0), |(_, seq)| *seq)
    }

    /// Reads on from where it is; where that does not work, looks afresh.
    fn update(&mut self, now: Stamp, batch: &mut Batch) {
        if self.unpack(batch) {
            return;
        }
        if let Some(place) = &mut self.place {
            let read = place.read_on(&*self.disk, &self.folder, self.source, &mut batch.facts);
            self.told = Some((place.journal.clone(), place.last));
            if let Ok(more) = read {
                batch.more = more;
                self.refused = None;
                return self.health.tell(SourceState::Ok, batch);
            }
        }
        let files = self.signature();
        if self.refused.as_ref() == Some(&files) {
            return;
        }
        self.refused = None;
        for _ in 0..TRIES {
            let mut facts = Vec::new();
            match self.look_afresh(&mut facts, batch) {
                Ok(fresh) => return self.settle(fresh, facts, files, now, batch),
                Err(Stop::Reload) => {}
                Err(Stop::Failed(error)) if is_gone(&error) => {}
                Err(Stop::Failed(error)) => return self.refuse(&error.to_string(), files, now, batch),
                Err(Stop::Damaged(what)) => return self.refuse(&what, files, now, batch),
            }
        }
        let what = "snapshot and journal do not belong together, or change too fast to be read";
        self.refuse(what, files, now, batch);
    }

    /// At the beginning, tells the snapshot a part at a time; returns whether that is what this batch is for.
    ///
    /// Whatever does not go well here is left to a look at everything, which says what is wrong.
    fn unpack(&mut self, batch: &mut Batch) -> bool {
        if !std::mem::replace(&mut self.has_begun, true)
            && let Ok(Some((unpacking, place))) = Place::begin(&*self.disk, &self.folder)
        {
            self.told = Some((place.journal.clone(), Seq(0)));
            (self.unpacking, self.place) = (Some(unpacking), Some(place));
        }
        let Some(unpacking) = &mut self.unpacking else { return false };
        let Ok(more) = unpacking.tell(self.source, &mut batch.facts) else {
            // What was told of it is taken back when all of it is known.
            (self.unpacking, self.place) = (None, None);
            return false;
        };
        if !more {
            self.unpacking = None;
        }
        batch.more = true;
        true
    }

    /// Reads everything that there is, from the newest snapshot on.
    fn look_afresh(&self, facts: &mut Vec<Fact>, batch: &mut Batch) -> Result<Fresh, Stop> {
        let disk = &*self.disk;
        let Some((known, place)) = Place::load(disk, &self.folder, self.source, facts)? else {
            return Ok(Fresh::Nothing);
        };
        let Some(mut place) = place else {
            let what =
                format!("there is a snapshot, but no segment in {}", self.folder.journal_dir().display());
            return Ok(Fresh::Damaged(None, known, what));
        };
        loop {
            match place.read_on(disk, &self.folder, self.source, facts) {
                // What was told before may be taken back only once all of the new is known.
                Ok(true) if self.told.is_some() => {}
                Ok(more) => {
                    batch.more = more;
                    return Ok(Fresh::Good(place));
                }
                Err(Stop::Damaged(what)) => {
                    let seq = place.last.max(known);
                    return Ok(Fresh::Damaged(Some(place), seq, what));
                }
                Err(other) => return Err(other),
            }
        }
    }

    /// Takes over what a fresh look found, if it is better than what was told.
    fn settle(&mut self, fresh: Fresh, facts: Vec<Fact>, files: Signature, now: Stamp, batch: &mut Batch) {
        match fresh {
            Fresh::Nothing => {
                let root = self.folder.root.display();
                let is_there = self.folder.root.is_dir();
                let what = match (is_there, &self.told) {
                    (true, _) => format!("no journal in {root} yet"),
                    (false, None) => format!("no {root} yet"),
                    (false, Some(_)) => format!("{root} is gone"),
                };
                self.refused = Some(files);
                self.health.tell(SourceState::Missing { what: what.into() }, batch);
            }
            Fresh::Good(place) => {
                let told = (place.journal.clone(), place.last);
                self.take_over(Some(place), told, facts, batch);
                self.health.tell(SourceState::Ok, batch);
            }
            Fresh::Damaged(place, seq, what) => {
                let journal = place.as_ref().and_then(|place| place.journal.clone());
                let is_better = match &self.told {
                    None => true,
                    Some((known, last)) => seq > *last || (journal.is_some() && journal != *known),
                };
                if is_better {
                    self.take_over(place, (journal, seq), facts, batch);
                }
                self.refuse(&what, files, now, batch);
            }
        }
    }

    fn take_over(
        &mut self,
        place: Option<Place>,
        told: (Option<JournalId>, Seq),
        facts: Vec<Fact>,
        batch: &mut Batch,
    ) {
        if self.told.is_some() {
            batch.facts.push(Fact::source(self.source, SourceFact::Reset));
        }
        batch.facts.extend(facts);
        (self.place, self.told) = (place, Some(told));
    }

    /// Says what is wrong, and does not look again before something changes.
    fn refuse(&mut self, what: &str, files: Signature, now: Stamp, batch: &mut Batch) {
        let what = what.lines().next().unwrap_or_default().into();
        self.refused = Some(files);
        self.health.tell(SourceState::Corrupt { since: now, what }, batch);
    }

    fn signature(&self) -> Signature {
        let mut files = Vec::new();
        for folder in [self.folder.journal_dir(), self.folder.snapshot_dir()] {
            // What cannot be listed or looked at is told by the look itself.
            let names = self.disk.list(&folder).unwrap_or_default();
            let paths = names.into_iter().map(|name| folder.join(name));
            files.extend(paths.filter_map(|path| Some((path.clone(), self.disk.stat(&path).ok()??))));
        }
        files
    }
}

impl Feed for Follower {
    fn poll(&mut self, now: Stamp) -> Batch {
        let mut batch = Batch::default();
        if !self.is_open {
            self.is_open = true;
            let root = self.folder.project().display().to_string().into();
            let opened = SourceFact::Opened { kind: SourceKind::Engine, root };
            batch.facts.push(Fact::source(self.source, opened));
        }
        self.update(now, &mut batch);
        batch
    }

    fn watched(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.folder.journal_dir(), self.folder.root.clone()];
        paths.extend(self.folder.root.parent().map(Path::to_owned));
        if FILES_TOO && let Some(place) = &self.place {
            paths.push(place.path().to_owned());
        }
        paths
    }
}

/// A file that was there a moment ago is not any more: compaction, or somebody removed it.
fn is_gone(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}
