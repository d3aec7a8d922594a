//! The state at one place of the journal, so that a start does not replay everything since the beginning.
//!
//! A snapshot gets its name only when it is whole and on disk, and the last two are kept. What is in it is
//! not known here. Deciding when one is due, and what may be removed then, is `compact.rs`.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::disk::{Disk, read};
use super::error::{Damage, Error, Result};
use super::folder::{StateFolder, seq_in_name};
use super::line::{FORMAT, format_of, seal, unseal};
use super::views::replace;
use crate::model::id::{JournalId, Seq};

/// The state after one event.
#[derive(Debug, Clone)]
pub struct Snapshot<M = Box<RawValue>> {
    /// Which journal it belongs to.
    pub journal: JournalId,
    /// The last event that is in it.
    pub seq: Seq,
    /// What any reader loads.
    pub model: M,
    /// What only the engine needs.
    pub kernel: Box<RawValue>,
}

/// A snapshot as it stands on disk.
#[derive(Serialize, Deserialize)]
struct Written<M> {
    format: u64,
    journal: JournalId,
    seq: Seq,
    model: M,
    kernel: Box<RawValue>,
}

/// The snapshots of a folder.
#[derive(Debug, Default)]
pub struct Snapshots {
    /// Those that verify, newest first; by their places.
    pub good: Vec<Seq>,
    /// The newest that verifies.
    pub newest: Option<Snapshot>,
    /// Those that do not verify, and why.
    pub bad: Vec<(PathBuf, String)>,
}

impl Snapshot {
    /// Returns the file's content.
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let written = Written {
            format: FORMAT,
            journal: self.journal.clone(),
            seq: self.seq,
            model: self.model.clone(),
            kernel: self.kernel.clone(),
        };
        let encode = |source| Error::Encode { what: format!("the snapshot at seq {}", self.seq), source };
        let mut line = serde_json::to_vec(&written).map_err(encode)?;
        line.pop();
        seal(&mut line, 0);
        Ok(line)
    }
}

/// Writes a snapshot, durably, and reads it back.
pub fn write(disk: &dyn Disk, folder: &StateFolder, snapshot: &Snapshot) -> Result<()> {
    let line = snapshot.encode()?;
    let path = folder.snapshot(snapshot.seq);
    replace(disk, &path, &line)?;
    if read(disk, &path).map_err(Error::io("read back", &path))? == line {
        Ok(())
    } else {
        Err(Error::damaged(&path, "what was read back is not what was written").into())
    }
}

/// Reads the snapshot at a place, its model at once as what the caller makes of it: one pass over the file.
pub fn load<M: DeserializeOwned>(disk: &dyn Disk, folder: &StateFolder, seq: Seq) -> Result<Snapshot<M>> {
    let path = folder.snapshot(seq);
    let bytes = read(disk, &path).map_err(Error::io("read", &path))?;
    let damaged = |what: String| -> Damage { Error::damaged(&path, what) };
    let line = bytes.strip_suffix(b"\n").ok_or_else(|| damaged("it is torn".into()))?;
    unseal(line).map_err(|fault| damaged(fault.to_string()))?;
    let format = format_of(line).ok_or_else(|| damaged("it names no format".into()))?;
    if format > FORMAT {
        return Err(Error::Newer { path, format });
    }
    // Checked as text once, not string by string.
    let text = std::str::from_utf8(line).map_err(|error| damaged(error.to_string()))?;
    let written: Written<M> = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
    if written.seq != seq {
        return Err(damaged(format!("it says seq {}", written.seq)).into());
    }
    let Written { journal, seq, model, kernel, .. } = written;
    Ok(Snapshot { journal, seq, model, kernel })
}

/// Returns the places that the names of the snapshots say, newest first.
pub fn list(disk: &dyn Disk, folder: &StateFolder) -> Result<Vec<Seq>> {
    let snapshots = folder.snapshot_dir();
    let names = disk.list(&snapshots).map_err(Error::io("list", &snapshots))?;
    let mut all: Vec<_> = names.iter().filter_map(|name| seq_in_name(name, ".json")).collect();
    all.reverse();
    Ok(all)
}

/// Reads every snapshot and tells the good from the bad; `journal` is the one they must belong to.
pub fn survey(disk: &dyn Disk, folder: &StateFolder, journal: Option<&JournalId>) -> Result<Snapshots> {
    let mut found = Snapshots::default();
    for seq in list(disk, folder)? {
        match load(disk, folder, seq) {
            Ok(snapshot) if journal.is_some_and(|journal| *journal != snapshot.journal) => {
                let why = format!("it belongs to another journal ({})", snapshot.journal);
                found.bad.push((folder.snapshot(seq), why));
            }
            Ok(snapshot) => {
                found.good.push(seq);
                found.newest.get_or_insert(snapshot);
            }
            Err(Error::Damaged(damage)) => found.bad.push((damage.file, damage.what)),
            Err(other) => return Err(other),
        }
    }
    Ok(found)
}

/// Returns the newest snapshot that verifies; for readers, who change nothing.
pub fn newest<M: DeserializeOwned>(disk: &dyn Disk, folder: &StateFolder) -> Result<Option<Snapshot<M>>> {
    for seq in list(disk, folder)? {
        match load(disk, folder, seq) {
            Ok(snapshot) => return Ok(Some(snapshot)),
            Err(Error::Damaged(_)) => {}
            // The engine removes old ones while others read.
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(other) => return Err(other),
        }
    }
    Ok(None)
}
