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
pub mod error;
pub mod folder;
pub mod history;
pub mod inbox;
pub mod journal;
pub mod line;
pub mod lines;
pub mod lock;
pub mod process;
pub mod reader;
pub mod recover;
pub mod retention;
pub mod salvage;
pub mod segment;
pub mod snapshot;
pub mod views;
mod writer;

use std::sync::Arc;

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
    _lock: Lock,
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
        Ok((Self { folder, disk, journal, history, journal_id, epoch, _lock: lock }, recovered))
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
        compact::compact(&*self.disk, &self.folder, &snapshot, &self.journal)
    }
}
