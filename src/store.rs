//! The state folder: everything that must survive a crash, and the only place that writes it.
//!
//! The journal is the truth: one line an event, checked, gap-free, on disk before it is acknowledged. The
//! snapshot shortens its replay, the views are made from it, the history takes what leaves the model. Files
//! are reached only through [`disk::Disk`], so that every failure can be tried. What events mean is not
//! known here.
//!
//! [`Store`] is the writer's side: one for each folder at a time, kept by [`lock::Lock`]. Readers use
//! [`snapshot::newest`], [`line::check`] and [`history::History::page`], and need no lock.

pub mod check;
pub mod compact;
pub mod disk;
pub mod ended;
pub mod error;
pub mod folder;
pub mod history;
pub mod inbox;
pub mod journal;
pub mod line;
pub mod lines;
pub mod lock;
pub mod plain;
pub mod process;
pub mod reader;
pub mod recover;
pub mod retention;
pub mod salvage;
pub mod segment;
pub mod snapshot;
pub mod user;
pub mod views;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use compact::Compacted;
use disk::Disk;
use error::{Error, Result};
use folder::StateFolder;
use history::History;
use journal::{FileJournal, Journal};
use lock::Lock;
use recover::{Recovered, Report};
use serde_json::value::RawValue;
use snapshot::Snapshot;

use crate::model::id::{JournalId, Seq};
use crate::model::time::Stamp;

/// The state folder, open for writing: held by one process at a time.
pub struct Store {
    /// Where it is.
    pub folder: StateFolder,
    /// Through what it is reached.
    pub disk: Arc<dyn Disk>,
    /// The events. Declared before the lock: what waits is written before another may open the folder.
    pub journal: FileJournal,
    /// What has left the model.
    pub history: History,
    /// Which journal it is.
    pub journal_id: JournalId,
    /// Which opening of it this is.
    pub epoch: u64,
    /// What has been written since the last snapshot.
    growth: Growth,
    _lock: Lock,
}

/// How far the journal had come at the last snapshot.
struct Growth {
    /// The snapshot's place.
    seq: AtomicU64,
    /// How many bytes this opening had written by then.
    bytes: AtomicU64,
    /// How many bytes earlier openings wrote since that snapshot.
    inherited: AtomicU64,
}

impl Store {
    /// Opens a state folder, and makes it if it is missing: lock, recovery, a new epoch, the writer.
    ///
    /// The events after the snapshot are then read with [`Store::replay`].
    pub fn open(folder: StateFolder, disk: Arc<dyn Disk>, now: Stamp) -> Result<(Self, Recovered)> {
        folder.create(&*disk)?;
        let mut lock = Lock::take(&*disk, &folder)?;
        let salvaged = salvage::finish(&*disk, &folder)?;
        let (segment, mut recovered) = recover::recover(&*disk, &folder, now)?;
        recovered.reports.extend(salvaged.map(Report::SalvageFinished));
        lock.note(recovered.epoch)?;
        let journal = FileJournal::start(Arc::clone(&disk), folder.clone(), segment)?;
        let history = History::new(Arc::clone(&disk), &folder);
        let (journal_id, epoch) = (recovered.journal.clone(), recovered.epoch);
        let seq = recovered.snapshot.as_ref().map_or(Seq(0), |snapshot| snapshot.seq);
        let growth = Growth {
            seq: AtomicU64::new(seq.0),
            bytes: AtomicU64::new(0),
            inherited: AtomicU64::new(bytes_after(&*disk, &folder, seq)?),
        };
        Ok((Self { folder, disk, journal, history, journal_id, epoch, growth, _lock: lock }, recovered))
    }

    /// Returns whether enough was written since the last snapshot for the next one.
    pub fn compaction_due(&self, since: Duration) -> bool {
        let Growth { seq, bytes, inherited } = &self.growth;
        let [seq, bytes, inherited] = [seq, bytes, inherited].map(|at| at.load(Ordering::Relaxed));
        let written = self.journal.bytes_written().saturating_sub(bytes);
        compact::due(self.journal.durable().0.saturating_sub(seq), inherited + written, since)
    }

    /// Gives the line of each event after `after` to `each`, in order.
    pub fn replay(&self, after: Seq, mut each: impl FnMut(Seq, &[u8])) -> Result<Seq> {
        self.journal.read(after.next(), &mut |seq, line| {
            each(seq, line);
            std::ops::ControlFlow::Continue(())
        })
    }

    /// Writes a snapshot of the state at `seq`, then removes what no recovery needs any more.
    pub fn compact(&self, seq: Seq, model: Box<RawValue>, kernel: Box<RawValue>) -> Result<Compacted> {
        let durable = self.journal.durable();
        if seq > durable {
            return Err(Error::AheadOfJournal { seq, durable });
        }
        let snapshot = Snapshot { journal: self.journal_id.clone(), seq, model, kernel };
        let bytes = self.journal.bytes_written();
        let compacted = compact::compact(&*self.disk, &self.folder, &snapshot, &self.journal)?;
        self.growth.seq.store(seq.0, Ordering::Relaxed);
        self.growth.bytes.store(bytes, Ordering::Relaxed);
        self.growth.inherited.store(0, Ordering::Relaxed);
        Ok(compacted)
    }
}

/// Returns the size of the segments after a snapshot; it was taken where one of them begins.
fn bytes_after(disk: &dyn Disk, folder: &StateFolder, seq: Seq) -> Result<u64> {
    let mut bytes = 0;
    for first in segment::list(disk, folder)?.into_iter().filter(|first| *first > seq) {
        let path = folder.segment(first);
        bytes += disk.stat(&path).map_err(Error::io("look at", &path))?.map_or(0, |stat| stat.len);
    }
    Ok(bytes)
}
