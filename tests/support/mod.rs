//! Helpers of the store's tests: a disk that fails, and small journals.

pub mod fault_disk;

use std::sync::Arc;

use quarterdeck::model::event::Body;
use quarterdeck::model::event::payload::Turn;
use quarterdeck::model::time::Stamp;
use quarterdeck::store::Store;
use quarterdeck::store::disk::Disk;
use quarterdeck::store::error::Result;
use quarterdeck::store::folder::StateFolder;
use quarterdeck::store::journal::{Journal, Place, Written};
use quarterdeck::store::line::Draft;
use quarterdeck::store::recover::Recovered;
use serde_json::value::RawValue;

use fault_disk::FaultDisk;

/// The folder on a disk in memory.
pub fn folder() -> StateFolder {
    StateFolder::at("/state")
}

/// The disk as the store takes it.
pub fn shared(disk: &FaultDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// The moment at which every test happens.
pub fn now() -> Stamp {
    Stamp::from_millis(1_763_265_600_000)
}

/// An event that can be told from all others by its number.
pub fn draft(number: u64) -> Draft {
    let turn = Turn { delegation_id: format!("del-{number}").into(), ..Turn::default() };
    Draft::new(now(), &Body::Paused(turn)).unwrap()
}

/// Appends events and waits until they are on disk.
pub fn append(store: &Store, numbers: std::ops::RangeInclusive<u64>) -> Result<Written> {
    store.journal.append(numbers.map(draft).collect(), Place::Next).wait()
}

/// Opens the store at `/state`, or wherever the folder is.
pub fn open(disk: &Arc<dyn Disk>, folder: &StateFolder) -> Result<(Store, Recovered)> {
    Store::open(folder.clone(), Arc::clone(disk), now())
}

/// Takes a snapshot of everything that is durable; its model is the number of events.
pub fn compact(store: &Store) -> Result<quarterdeck::store::compact::Compacted> {
    let seq = store.journal.durable();
    store.compact(seq, raw(&format!("{{\"events\":{seq}}}")), raw("{}"))
}

pub fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.into()).unwrap()
}

/// Opens the store, and returns how many events it knows: by its snapshot, and then one by one.
///
/// Each event must be the one that was appended with that number.
pub fn recover(disk: &Arc<dyn Disk>, folder: &StateFolder) -> Result<(u64, Recovered)> {
    let (store, recovered) = open(disk, folder)?;
    let mut count = 0;
    if let Some(snapshot) = &recovered.snapshot {
        assert_eq!(snapshot.model.get(), format!("{{\"events\":{}}}", snapshot.seq));
        count = snapshot.seq.0;
    }
    store.replay(quarterdeck::model::id::Seq(count), |seq, line| {
        count += 1;
        assert_eq!(seq.0, count, "a gap");
        let text = String::from_utf8_lossy(line);
        assert!(text.contains(&format!("\"del-{count}\"")), "not event {count}: {text}");
    })?;
    assert_eq!(recovered.last.0, count);
    Ok((count, recovered))
}
