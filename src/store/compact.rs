//! Keeps the journal short: a snapshot, a new segment, and away with what no recovery needs.
//!
//! The last two snapshots are kept, and every event after the older one: should the newest not verify, the
//! older and the journal give the same state. A crash between any two steps leaves more than is needed,
//! never less.

use std::time::Duration;

use super::disk::Disk;
use super::error::{Error, Result};
use super::folder::StateFolder;
use super::journal::FileJournal;
use super::segment;
use super::snapshot::{self, Snapshot};
use crate::model::id::Seq;

/// How many snapshots are kept.
const KEPT: usize = 2;
/// Replaying as many takes a tenth of a second.
const MOST_RECORDS: u64 = 50_000;
/// What a start reads at most, twice over.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Less is read in a few milliseconds: not worth a snapshot.
const WORTH_ONE: u64 = 256 * 1024;
/// The least time between two snapshots of a journal that grows no faster than people work.
const LEAST_GAP: Duration = Duration::from_secs(10);

/// What a compaction removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compacted {
    /// The segments, by their first places.
    pub segments: Vec<Seq>,
    /// The snapshots, by their places.
    pub snapshots: Vec<Seq>,
}

/// Returns whether enough was written since the last snapshot, so long ago.
///
/// Whoever starts reads the newest snapshot and what came after it. So that a start costs what is live, a
/// snapshot is written every few seconds while events come, and at once where very many do.
pub fn due(records: u64, bytes: u64, since: Duration) -> bool {
    records >= MOST_RECORDS || bytes >= MOST_BYTES || (bytes >= WORTH_ONE && since >= LEAST_GAP)
}

/// Writes a snapshot and removes what it makes unneeded.
pub fn compact(
    disk: &dyn Disk,
    folder: &StateFolder,
    snapshot: &Snapshot,
    journal: &FileJournal,
) -> Result<Compacted> {
    snapshot::write(disk, folder, snapshot)?;
    journal.rotate()?;
    // Read again, so that nothing is removed for the sake of a snapshot that went bad.
    let good = snapshot::survey(disk, folder, Some(&snapshot.journal))?.good;
    let mut removed = Compacted::default();
    if let Some(older) = good.get(KEPT - 1) {
        remove_segments(disk, folder, *older, &mut removed.segments)?;
    }
    let snapshots = folder.snapshot_dir();
    for seq in good.into_iter().skip(KEPT) {
        let path = folder.snapshot(seq);
        disk.remove(&path).map_err(Error::io("remove", &path))?;
        removed.snapshots.push(seq);
    }
    if !removed.snapshots.is_empty() {
        disk.sync_dir(&snapshots).map_err(Error::io("sync", &snapshots))?;
    }
    Ok(removed)
}

/// Removes the segments that end at or before a place, oldest first, so that no crash leaves a gap.
fn remove_segments(
    disk: &dyn Disk,
    folder: &StateFolder,
    covered: Seq,
    removed: &mut Vec<Seq>,
) -> Result<()> {
    let journal = folder.journal_dir();
    let segments = segment::list(disk, folder)?;
    for (first, following) in segments.iter().zip(segments.iter().skip(1)) {
        if *following > covered.next() {
            break;
        }
        let path = folder.segment(*first);
        disk.remove(&path).map_err(Error::io("remove", &path))?;
        // One by one: the names of several removed files may reach the disk in any order.
        disk.sync_dir(&journal).map_err(Error::io("sync", &journal))?;
        removed.push(*first);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_due_by_count_or_by_size() {
        assert!(!due(49_999, 16 * 1024 * 1024 - 1, Duration::ZERO));
        assert!(due(50_000, 0, Duration::ZERO));
        assert!(due(0, 16 * 1024 * 1024, Duration::ZERO));
    }

    #[test]
    fn a_growing_journal_gets_one_every_few_seconds_and_a_quiet_one_none() {
        assert!(!due(1000, 256 * 1024, Duration::from_secs(9)));
        assert!(due(1000, 256 * 1024, Duration::from_secs(10)));
        assert!(!due(1000, 256 * 1024 - 1, Duration::from_hours(1)));
    }
}
