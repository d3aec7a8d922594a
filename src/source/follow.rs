//! Follows a state folder live: the newest snapshot, then the journal from there on, then what is appended.
//!
//! It writes nothing and needs no engine. Whatever happens to the files (rotation, compaction, a cut tail,
//! replacement, salvage, deletion), it ends up with the model that the engine has at the same place, or
//! keeps the last good state and says what is wrong. Reading on costs what was appended.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::feed::{Batch, Feed};
use super::journal;
use super::tail::{Lost, Piece, Tail, Tailed};
use super::watch::FILES_TOO;
use crate::model::event::Event;
use crate::model::fact::{Fact, SourceFact, SourceState};
use crate::model::id::{JournalId, Seq};
use crate::model::key::{SourceId, SourceKind};
use crate::model::record::{ModelRecord, restore};
use crate::model::time::Stamp;
use crate::store::disk::{Disk, RealDisk};
use crate::store::error::{Error, Result};
use crate::store::folder::StateFolder;
use crate::store::line::{LONGEST_DRAFT, check};
use crate::store::segment::{self, BadHeader, Header};
use crate::store::snapshot::{self, Snapshot};

/// How many bytes of journal make one batch: enough to be fast, little enough to draw between.
const BUDGET: usize = 2 * 1024 * 1024;
/// No line of the journal is longer.
const LONGEST_LINE: usize = LONGEST_DRAFT + 1024;

/// A state folder that is being followed.
pub struct Follower {
    disk: Arc<dyn Disk>,
    folder: StateFolder,
    source: SourceId,
    place: Option<Place>,
    /// What was told of the source's state.
    state: Option<SourceState>,
    /// The damage that was found last.
    damage: Option<String>,
    is_open: bool,
}

/// Where in the journal it is.
struct Place {
    journal: Option<JournalId>,
    tail: Tail,
    /// The first place of the segment that `tail` reads.
    first: Seq,
    has_header: bool,
    /// The last event that was read, and its checksum where that is known.
    last: Seq,
    last_crc: Option<u32>,
    /// Events up to here are in the snapshot.
    known: Seq,
}

/// Why reading cannot go on.
enum Stop {
    /// What was read before no longer counts: start over.
    Reload,
    /// The files are damaged here.
    Damaged(String),
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Follower {
    /// Makes a follower of a folder; nothing is read yet, and the folder need not be there.
    pub fn new(folder: StateFolder, source: SourceId) -> Self {
        Self::on(Arc::new(RealDisk), folder, source)
    }

    /// Makes a follower on another file layer.
    pub fn on(disk: Arc<dyn Disk>, folder: StateFolder, source: SourceId) -> Self {
        Self { disk, folder, source, place: None, state: None, damage: None, is_open: false }
    }

    /// Returns the last event that was told.
    pub fn seq(&self) -> Seq {
        self.place.as_ref().map_or(Seq(0), |place| place.last)
    }

    fn tell(&self, what: SourceFact, batch: &mut Batch) {
        batch.facts.push(Fact::source(self.source, what));
    }

    fn tell_state(&mut self, state: SourceState, batch: &mut Batch) {
        // Since when it is corrupt is since it was first found so.
        let same = match (&self.state, &state) {
            (Some(SourceState::Corrupt { what: old, .. }), SourceState::Corrupt { what: new, .. }) => {
                old == new
            }
            (old, new) => old.as_ref() == Some(new),
        };
        if !same {
            self.state = Some(state.clone());
            self.tell(SourceFact::State(state), batch);
        }
    }

    /// Starts over: the newest snapshot, and the place in the journal after it.
    fn load(&mut self, batch: &mut Batch) -> Result<bool> {
        let snapshot: Option<Snapshot<ModelRecord>> = snapshot::newest(&*self.disk, &self.folder)?;
        let known = snapshot.as_ref().map_or(Seq(0), |snapshot| snapshot.seq);
        let segments = segment::list(&*self.disk, &self.folder)?;
        let at = segments.partition_point(|first| *first <= known.next()).saturating_sub(1);
        if snapshot.is_none() && segments.is_empty() {
            return Ok(false);
        }
        let mut journal = None;
        if let Some(snapshot) = snapshot {
            journal = Some(snapshot.journal.clone());
            restore::model_facts(snapshot.model, self.source, &mut batch.facts);
            self.tell(SourceFact::Reached(known), batch);
        }
        let Some(first) = segments.get(at).copied() else { return Ok(true) };
        let path = self.folder.segment(first);
        let tail = Tail::open(&*self.disk, &path, 0, LONGEST_LINE).map_err(Error::io("read", &path))?;
        let last = Seq(first.0.saturating_sub(1));
        self.place = Some(Place { journal, tail, first, has_header: false, last, last_crc: None, known });
        Ok(true)
    }

    /// Reads on from the present place, into the next segments too.
    fn read_on(&mut self, batch: &mut Batch) -> Result<(), Stop> {
        let Some(place) = &mut self.place else { return Ok(()) };
        loop {
            let mut fault = None;
            let source = self.source;
            let facts = &mut batch.facts;
            let (tail, mut reading) = place.split();
            let ended =
                tail.read(&*self.disk, BUDGET, &mut |piece| match reading.take(piece, source, facts) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(stop) => {
                        fault = Some(stop);
                        ControlFlow::Break(())
                    }
                });
            let path = place.tail.path().to_owned();
            match (fault, ended.map_err(Error::io("read", &path))?) {
                (Some(stop), _) => return Err(stop),
                (None, Tailed::More) => {
                    batch.more = true;
                    return Ok(());
                }
                (None, Tailed::Held) => return Ok(()),
                (None, Tailed::Lost(Lost::Replaced | Lost::Shrunk)) => return Err(Stop::Reload),
                // A segment that is gone was compacted away: the next one tells whether all of it was read.
                (None, end @ (Tailed::End | Tailed::Lost(Lost::Gone))) => {
                    if !place.next_segment(&*self.disk, &self.folder)? {
                        return if end == Tailed::End { Ok(()) } else { Err(Stop::Reload) };
                    }
                }
            }
        }
    }

    fn update(&mut self, now: Stamp, batch: &mut Batch) {
        /// A compaction may remove files while they are read, but not again and again.
        const TRIES: usize = 4;
        let told_before = batch.facts.len();
        for _ in 0..TRIES {
            let loaded = if self.place.is_some() { Ok(true) } else { self.load(batch) };
            let outcome = match loaded {
                Ok(true) => self.read_on(batch),
                Ok(false) => {
                    let what = format!("no journal in {} yet", self.folder.root.display()).into();
                    return self.tell_state(SourceState::Missing { what }, batch);
                }
                Err(error) => Err(Stop::Failed(error)),
            };
            match outcome {
                Ok(()) => {
                    self.damage = None;
                    return self.tell_state(SourceState::Ok, batch);
                }
                Err(Stop::Damaged(what)) if self.damage.as_ref() == Some(&what) => {
                    return self.corrupt(now, &what, batch);
                }
                // Perhaps the file was rewritten under us: damage counts when a fresh look finds it too.
                Err(Stop::Damaged(what)) => self.damage = Some(what),
                Err(Stop::Failed(error)) if !is_gone(&error) => {
                    return self.corrupt(now, &error.to_string(), batch);
                }
                Err(Stop::Reload | Stop::Failed(_)) => {
                    if !self.folder.root.is_dir() {
                        let what = format!("{} is gone", self.folder.root.display()).into();
                        return self.tell_state(SourceState::Missing { what }, batch);
                    }
                }
            }
            self.place = None;
            // What the reset would undo need not be told at all.
            batch.facts.truncate(told_before);
            batch.more = false;
            self.tell(SourceFact::Reset, batch);
        }
        self.corrupt(
            now,
            "snapshot and journal do not belong together, or change too fast to be read",
            batch,
        );
    }

    fn corrupt(&mut self, now: Stamp, what: &str, batch: &mut Batch) {
        let what = what.lines().next().unwrap_or_default().into();
        self.tell_state(SourceState::Corrupt { since: now, what }, batch);
    }
}

impl Feed for Follower {
    fn poll(&mut self, now: Stamp) -> Batch {
        let mut batch = Batch::default();
        if !self.is_open {
            self.is_open = true;
            let root = self.folder.root.parent().unwrap_or(&self.folder.root).display().to_string().into();
            self.tell(SourceFact::Opened { kind: SourceKind::Engine, root }, &mut batch);
        }
        self.update(now, &mut batch);
        batch
    }

    fn watched(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.folder.journal_dir(), self.folder.root.clone()];
        paths.extend(self.folder.root.parent().map(Path::to_owned));
        if FILES_TOO && let Some(place) = &self.place {
            paths.push(place.tail.path().to_owned());
        }
        paths
    }
}

/// The place without its tail, so that the tail can be read while lines are taken.
struct Reading<'a> {
    journal: &'a mut Option<JournalId>,
    path: PathBuf,
    first: Seq,
    has_header: &'a mut bool,
    last: &'a mut Seq,
    last_crc: &'a mut Option<u32>,
    known: Seq,
}

impl Place {
    fn split(&mut self) -> (&mut Tail, Reading<'_>) {
        let path = self.tail.path().to_owned();
        let reading = Reading {
            journal: &mut self.journal,
            path,
            first: self.first,
            has_header: &mut self.has_header,
            last: &mut self.last,
            last_crc: &mut self.last_crc,
            known: self.known,
        };
        (&mut self.tail, reading)
    }

    /// Goes on to the segment that begins where this one ended, if it is there.
    fn next_segment(&mut self, disk: &dyn Disk, folder: &StateFolder) -> Result<bool> {
        let next = self.last.next();
        if next == self.first {
            return Ok(false);
        }
        let path = folder.segment(next);
        if disk.stat(&path).map_err(Error::io("look for", &path))?.is_none() {
            return Ok(false);
        }
        self.tail = Tail::open(disk, &path, 0, LONGEST_LINE).map_err(Error::io("read", &path))?;
        (self.first, self.has_header) = (next, false);
        Ok(true)
    }
}

impl Reading<'_> {
    fn take(&mut self, piece: Piece<'_>, source: SourceId, facts: &mut Vec<Fact>) -> Result<(), Stop> {
        let (line, offset) = match piece {
            Piece::Line(line, offset) => (line, offset),
            Piece::TooLong(offset) => return Err(self.damaged(offset, "a line without end")),
        };
        if !*self.has_header {
            return self.header(line);
        }
        let frame = check(line).map_err(|fault| self.damaged(offset, &fault.to_string()))?;
        if frame.seq != self.last.next() {
            return Err(Stop::Reload);
        }
        (*self.last, *self.last_crc) = (frame.seq, Some(frame.crc));
        if frame.seq <= self.known {
            return Ok(());
        }
        match Event::read(line) {
            Ok(event) => journal::facts(event, source, facts),
            Err(error) => return Err(self.damaged(offset, &error.to_string())),
        }
        Ok(())
    }

    fn header(&mut self, line: &[u8]) -> Result<(), Stop> {
        let header = Header::read(line).map_err(|bad| match bad {
            BadHeader::Newer(format) => Stop::Failed(Error::Newer { path: self.path.clone(), format }),
            BadHeader::Damaged(what) => self.damaged(0, &what),
        })?;
        let same_journal = self.journal.as_ref().is_none_or(|journal| *journal == header.journal);
        let follows = self.last_crc.is_none_or(|crc| crc == header.prev_crc);
        if !same_journal || !follows || header.first != self.first {
            return Err(Stop::Reload);
        }
        if header.first > self.known.next() && self.last_crc.is_none() {
            let what = format!("the journal begins at {}, after {} events that are missing", header.first, {
                header.first.0 - self.known.0 - 1
            });
            return Err(self.damaged(0, &what));
        }
        *self.journal = Some(header.journal);
        *self.has_header = true;
        Ok(())
    }

    fn damaged(&self, offset: u64, what: &str) -> Stop {
        let seq = self.last.next();
        Stop::Damaged(format!("{} is damaged at seq {seq}, byte {offset}: {what}", self.path.display()))
    }
}

/// A file that was there a moment ago is not any more: compaction, or somebody removed it.
fn is_gone(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}
