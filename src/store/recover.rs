//! Opening a journal: read everything that is there, decide what it means, repair only what was never
//! acknowledged, and begin a new epoch.
//!
//! [`verify`] reads only and decides; [`recover`] carries the decision out, under the engine's lock. The
//! invariant: a record that was acknowledged is kept, or the start is refused with its place named. Nothing
//! is ever replaced by an empty state.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use super::disk::{Disk, copy_aside};
use super::error::{Damage, Error, Result};
use super::folder::{StateFolder, aside};
use super::salvage::Salvaged;
use super::segment::{self, BadHeader, BadRecord, Header, LONGEST_HEADER, Segment, Survey};
use super::snapshot::{self, Snapshot, Snapshots};
use crate::model::id::{JournalId, Seq};
use crate::model::time::Stamp;

/// What a journal holds, after it was read as a whole.
#[derive(Debug)]
pub struct Verified {
    /// The newest snapshot that verifies.
    pub snapshot: Option<Snapshot>,
    /// Snapshots that do not verify, and why.
    pub bad_snapshots: Vec<(PathBuf, String)>,
    /// Which journal it is; `None` if nothing was ever written.
    pub journal: Option<JournalId>,
    /// The highest epoch that wrote.
    pub epoch: u64,
    /// The last record.
    pub last: Seq,
    /// The checksum of the last record.
    pub last_crc: u32,
    /// The end that was never acknowledged.
    pub torn: Option<Torn>,
}

/// The end of a journal that was written but never acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    /// The file.
    pub segment: PathBuf,
    /// The place and what is wrong there; everything from here on goes.
    pub fault: BadRecord,
    /// Where the file ends.
    pub len: u64,
}

/// What recovery found and did.
#[derive(Debug)]
pub struct Recovered {
    /// The state to start from.
    pub snapshot: Option<Snapshot>,
    /// The last event that is there; those after the snapshot are read from the journal.
    pub last: Seq,
    /// This opening's epoch.
    pub epoch: u64,
    /// Which journal it is.
    pub journal: JournalId,
    /// What was not as it should be, and what was done about it.
    pub reports: Vec<Report>,
}

/// One thing that recovery repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// Records that were never acknowledged were saved aside and cut off.
    TornTail {
        /// What was torn, and where.
        torn: Torn,
        /// Where the bytes are now; `None` if there were none.
        saved: Option<PathBuf>,
    },
    /// A snapshot did not verify; an older one, or the whole journal, serves.
    BadSnapshot {
        /// Where it is now.
        saved: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A salvage that was interrupted has been finished.
    SalvageFinished(Salvaged),
}

/// Reads the whole journal and decides what it means; changes nothing.
pub fn verify(disk: &dyn Disk, folder: &StateFolder) -> Result<Verified> {
    let segments = segment::list(disk, folder)?
        .into_iter()
        .map(|first| segment::survey(disk, folder, first))
        .collect::<Result<Vec<_>>>()?;
    let journal = segments.iter().find_map(|survey| survey.header.as_ref().ok()).map(|h| h.journal.clone());
    let Snapshots { newest: snapshot, bad, .. } = snapshot::survey(disk, folder, journal.as_ref())?;
    let journal = journal.or_else(|| snapshot.as_ref().map(|snapshot| snapshot.journal.clone()));
    let covered = snapshot.as_ref().map_or(Seq(0), |snapshot| snapshot.seq);
    let mut found =
        Verified { snapshot, bad_snapshots: bad, journal, epoch: 0, last: Seq(0), last_crc: 0, torn: None };
    found.begin(folder, segments.first(), covered)?;
    for (index, survey) in segments.iter().enumerate() {
        found.add(survey, index == 0)?;
        let is_last = index + 1 == segments.len();
        if let Some(fault) = fault(survey)? {
            if !is_last || fault.seq <= covered || fault.synced.is_some_and(|synced| synced >= fault.seq) {
                return Err(damage(&survey.path, &fault).into());
            }
            found.torn = Some(Torn { segment: survey.path.clone(), fault, len: survey.len });
        }
    }
    if found.last < covered {
        let what = format!("it ends at seq {}, but there is a snapshot at seq {covered}", found.last);
        return Err(Error::damaged(&folder.journal_dir(), what).seq(found.last.next()).into());
    }
    Ok(found)
}

impl Verified {
    /// Checks that the journal begins where it must.
    fn begin(&mut self, folder: &StateFolder, first: Option<&Survey>, covered: Seq) -> Result<()> {
        let Some(first) = first else {
            if self.snapshot.is_some() || !self.bad_snapshots.is_empty() {
                let what = "there are snapshots, but no segment";
                return Err(Error::damaged(&folder.journal_dir(), what).into());
            }
            return Ok(());
        };
        if first.first > covered.next() {
            let what =
                format!("the events from seq {} to {} are missing", covered.next(), before(first.first));
            return Err(Error::damaged(&first.path, what).seq(covered.next()).into());
        }
        self.last = before(first.first);
        Ok(())
    }

    /// Adds a segment's records, after checking that it follows what came before.
    fn add(&mut self, survey: &Survey, is_first: bool) -> Result<()> {
        if survey.first != self.last.next() {
            let what = if survey.first > self.last.next() {
                format!("the events from seq {} to {} are missing", self.last.next(), before(survey.first))
            } else {
                format!("it begins at seq {}, which an earlier segment holds too", survey.first)
            };
            return Err(Error::damaged(&survey.path, what).seq(self.last.next()).into());
        }
        if let Ok(header) = &survey.header {
            self.follow(survey, header, is_first)?;
        }
        self.last = before(survey.next());
        self.last_crc = survey.last_crc.unwrap_or(self.last_crc);
        Ok(())
    }

    fn follow(&mut self, survey: &Survey, header: &Header, is_first: bool) -> Result<()> {
        let wrong = if header.first != survey.first {
            Some(format!("its header says that it begins at seq {}", header.first))
        } else if self.journal.as_ref() != Some(&header.journal) {
            Some(format!("it belongs to another journal ({})", header.journal))
        } else if !is_first && header.prev_crc != self.last_crc {
            Some("it does not follow the segment before it".into())
        } else if header.epoch < self.epoch {
            Some(format!(
                "its epoch {} is before {}, that of the segment before it",
                header.epoch, self.epoch
            ))
        } else {
            None
        };
        if let Some(what) = wrong {
            return Err(Error::damaged(&survey.path, what).at(1, 0).seq(survey.first).into());
        }
        self.epoch = header.epoch;
        if is_first {
            self.last_crc = header.prev_crc;
        }
        Ok(())
    }
}

/// Returns the first fault of a segment: its header, or a record.
fn fault(survey: &Survey) -> Result<Option<BadRecord>> {
    match &survey.header {
        Ok(_) => Ok(survey.fault.clone()),
        Err(BadHeader::Newer(format)) => Err(Error::Newer { path: survey.path.clone(), format: *format }),
        Err(BadHeader::Damaged(what)) => {
            let what = what.clone();
            let fault = BadRecord { seq: survey.first, offset: 0, line: 1, what, synced: None };
            // A header is on disk before the first record is written: where there is or was a record, it
            // was not torn.
            if survey.has_valid_record() || survey.len > LONGEST_HEADER {
                return Err(damage(&survey.path, &fault).into());
            }
            Ok(Some(fault))
        }
    }
}

fn damage(path: &Path, fault: &BadRecord) -> Damage {
    Error::damaged(path, fault.what.clone()).at(fault.line, fault.offset).seq(fault.seq)
}

fn before(seq: Seq) -> Seq {
    Seq(seq.0.saturating_sub(1))
}

/// Recovers a journal, or begins one, and starts a segment of a new epoch. The caller holds the lock.
pub fn recover(disk: &dyn Disk, folder: &StateFolder, now: Stamp) -> Result<(Segment, Recovered)> {
    let found = verify(disk, folder)?;
    let mut reports = Vec::new();
    for (path, why) in &found.bad_snapshots {
        reports.push(set_aside(disk, folder, path, why)?);
    }
    // A header that is gone may have held the highest epoch.
    let mut epoch = found.epoch + 1;
    if let Some(torn) = &found.torn {
        epoch += u64::from(torn.fault.offset == 0);
        reports.push(cut(disk, torn)?);
    }
    let journal = found.journal.unwrap_or_else(|| mint(now));
    let first = found.last.next();
    let header = Header { journal: journal.clone(), epoch, first, prev_crc: found.last_crc };
    let segment = segment::begin(disk, folder, header)?;
    Ok((segment, Recovered { snapshot: found.snapshot, last: found.last, epoch, journal, reports }))
}

fn set_aside(disk: &dyn Disk, folder: &StateFolder, path: &Path, why: &str) -> Result<Report> {
    let saved = aside(disk, path, "bad")?;
    disk.rename(path, &saved).map_err(Error::io("set aside", path))?;
    let snapshots = folder.snapshot_dir();
    disk.sync_dir(&snapshots).map_err(Error::io("sync", &snapshots))?;
    Ok(Report::BadSnapshot { saved, why: why.to_owned() })
}

/// Saves a torn end aside, then cuts it off. A torn header stays: the next segment takes its name.
fn cut(disk: &dyn Disk, torn: &Torn) -> Result<Report> {
    let path = &torn.segment;
    let offset = torn.fault.offset;
    if offset == torn.len {
        return Ok(Report::TornTail { torn: torn.clone(), saved: None });
    }
    let saved = aside(disk, path, "torn")?;
    copy_aside(disk, path, offset, &saved).map_err(Error::io("save the torn end to", &saved))?;
    if offset > 0 {
        let cut = disk.append(path).and_then(|mut file| {
            file.truncate(offset)?;
            file.sync_data()
        });
        cut.map_err(Error::io("cut the torn end of", path))?;
    }
    Ok(Report::TornTail { torn: torn.clone(), saved: Some(saved) })
}

/// Makes a journal's id; no two may be the same, so it holds the moment and a random number.
pub(crate) fn mint(now: Stamp) -> JournalId {
    let random = RandomState::new().hash_one(now.millis());
    format!("j-{:x}-{random:016x}", now.millis()).into()
}
