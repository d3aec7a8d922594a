//! A place in a journal that somebody else writes, and how to read on from there.
//!
//! Every line is checked: its checksum, its place, and that each segment continues the one before. What is
//! to be done when something does not fit is the follower's affair.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::unpack::{Parts, Unpacking};
use crate::model::fact::{Fact, SourceFact};
use crate::model::id::{JournalId, Seq};
use crate::model::key::SourceId;
use crate::model::record::{ModelRecord, restore};
use crate::source::journal;
use crate::source::tail::{Lost, Piece, Tail, Tailed};
use crate::store::disk::Disk;
use crate::store::error::{Error, Result};
use crate::store::folder::StateFolder;
use crate::store::line::{LONGEST_DRAFT, check};
use crate::store::segment::{self, BadHeader, Header};
use crate::store::snapshot::{self, Snapshot};

/// How many bytes of journal make one batch: enough to be fast, little enough to draw between.
const BUDGET: usize = 1024 * 1024;
/// No line of the journal is longer.
const LONGEST_LINE: usize = LONGEST_DRAFT + 1024;

/// Where in the journal it is.
pub(super) struct Place {
    /// Which journal; `None` before a header was read.
    pub journal: Option<JournalId>,
    /// The last event that was read.
    pub last: Seq,
    last_crc: Option<u32>,
    tail: Tail,
    /// The first place of the segment that `tail` reads, and how many of its lines were read.
    first: Seq,
    lines: u64,
    /// Events up to here are in the snapshot.
    known: Seq,
}

/// Why reading cannot go on.
pub(super) enum Stop {
    /// The files are no longer those that were read.
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

impl Place {
    /// Begins with the newest snapshot: returns what is to be told of it, and the place in the journal after
    /// it. `None` where there are not both.
    pub fn begin(disk: &dyn Disk, folder: &StateFolder) -> Result<Option<(Unpacking, Self)>, Stop> {
        let Some(snapshot) = snapshot::newest::<Parts>(disk, folder)? else { return Ok(None) };
        let segments = segment::list(disk, folder)?;
        let at = segments.partition_point(|first| *first <= snapshot.seq.next()).saturating_sub(1);
        let Some(first) = segments.get(at).copied() else { return Ok(None) };
        let unpacking = Unpacking::new(snapshot.model, snapshot.seq);
        let tail = open(disk, folder, first)?;
        let (journal, known) = (Some(snapshot.journal), snapshot.seq);
        let last = Seq(first.0.saturating_sub(1));
        Ok(Some((unpacking, Self { journal, last, last_crc: None, tail, first, lines: 0, known })))
    }

    /// Tells the newest snapshot; returns how far it goes, and the place in the journal after it. `None`
    /// where there is neither a snapshot nor a segment.
    pub fn load(
        disk: &dyn Disk,
        folder: &StateFolder,
        source: SourceId,
        facts: &mut Vec<Fact>,
    ) -> Result<Option<(Seq, Option<Self>)>, Stop> {
        let snapshot: Option<Snapshot<ModelRecord>> = snapshot::newest(disk, folder)?;
        let known = snapshot.as_ref().map_or(Seq(0), |snapshot| snapshot.seq);
        let segments = segment::list(disk, folder)?;
        let at = segments.partition_point(|first| *first <= known.next()).saturating_sub(1);
        if snapshot.is_none() && segments.is_empty() {
            return Ok(None);
        }
        let mut journal = None;
        if let Some(snapshot) = snapshot {
            journal = Some(snapshot.journal);
            restore::model_facts(snapshot.model, source, facts);
            facts.push(Fact::source(source, SourceFact::Reached(known)));
        }
        let Some(first) = segments.get(at).copied() else { return Ok(Some((known, None))) };
        let tail = open(disk, folder, first)?;
        let last = Seq(first.0.saturating_sub(1));
        let place = Self { journal, last, last_crc: None, tail, first, lines: 0, known };
        Ok(Some((known, Some(place))))
    }

    /// Returns the file that it is in.
    pub fn path(&self) -> &Path {
        self.tail.path()
    }

    /// Tells what was appended, in the next segments too; returns whether there is more already.
    pub fn read_on(
        &mut self,
        disk: &dyn Disk,
        folder: &StateFolder,
        source: SourceId,
        facts: &mut Vec<Fact>,
    ) -> Result<bool, Stop> {
        loop {
            let mut fault = None;
            let (tail, mut reading) = self.split();
            let path = reading.path.clone();
            let ended = tail.read(disk, BUDGET, &mut |piece| match reading.take(piece, source, facts) {
                Ok(()) => ControlFlow::Continue(()),
                Err(stop) => {
                    fault = Some(stop);
                    ControlFlow::Break(())
                }
            });
            match (fault, ended.map_err(Error::io("read", &path))?) {
                (Some(stop), _) => return Err(stop),
                (None, Tailed::More) => return Ok(true),
                (None, Tailed::Held) => return Ok(false),
                (None, Tailed::Lost(Lost::Replaced | Lost::Shrunk)) => return Err(Stop::Reload),
                // A segment that is gone was compacted away: the next one tells whether all of it was read.
                (None, end @ (Tailed::End | Tailed::Lost(Lost::Gone))) => {
                    if self.lines == 0 {
                        // A segment gets its name after its header is on disk.
                        return Err(self.split().1.damaged(0, "it has no header"));
                    }
                    if !self.next_segment(disk, folder)? {
                        return if end == Tailed::End { Ok(false) } else { Err(Stop::Reload) };
                    }
                }
            }
        }
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
        self.tail = open(disk, folder, next)?;
        (self.first, self.lines) = (next, 0);
        Ok(true)
    }

    /// Takes the place apart, so that the tail can be read while its lines are taken.
    fn split(&mut self) -> (&mut Tail, Reading<'_>) {
        let path = self.tail.path().to_owned();
        let reading = Reading {
            journal: &mut self.journal,
            last: &mut self.last,
            last_crc: &mut self.last_crc,
            lines: &mut self.lines,
            path,
            first: self.first,
            known: self.known,
        };
        (&mut self.tail, reading)
    }
}

/// A place without its tail.
struct Reading<'a> {
    journal: &'a mut Option<JournalId>,
    last: &'a mut Seq,
    last_crc: &'a mut Option<u32>,
    lines: &'a mut u64,
    path: PathBuf,
    first: Seq,
    known: Seq,
}

impl Reading<'_> {
    fn take(&mut self, piece: Piece<'_>, source: SourceId, facts: &mut Vec<Fact>) -> Result<(), Stop> {
        let (line, offset) = match piece {
            Piece::Line(line, offset) => (line, offset),
            Piece::TooLong(offset) => return Err(self.damaged(offset, "a line without end")),
        };
        if *self.lines == 0 {
            self.header(line)?;
        } else {
            let frame = check(line).map_err(|fault| self.damaged(offset, &fault.to_string()))?;
            if frame.seq != self.last.next() {
                return Err(Stop::Reload);
            }
            if frame.seq > self.known {
                journal::line_facts(line, frame.seq, source, facts);
            }
            (*self.last, *self.last_crc) = (frame.seq, Some(frame.crc));
        }
        *self.lines += 1;
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
            let (from, to) = (self.known.next(), header.first.0.saturating_sub(1));
            return Err(self.damaged(0, &format!("events {from} to {to}, which come before it, are missing")));
        }
        *self.journal = Some(header.journal);
        Ok(())
    }

    fn damaged(&self, offset: u64, what: &str) -> Stop {
        let (path, line, seq) = (self.path.display(), *self.lines + 1, self.last.next());
        Stop::Damaged(format!("{path} is damaged at line {line}, seq {seq}, byte {offset}: {what}"))
    }
}

fn open(disk: &dyn Disk, folder: &StateFolder, first: Seq) -> Result<Tail> {
    let path = folder.segment(first);
    Tail::open(disk, &path, 0, LONGEST_LINE).map_err(Error::io("read", &path))
}
