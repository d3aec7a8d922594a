//! One engine for each folder: the lock that it holds while it lives, and who holds it.
//!
//! The lock is the system's, so it ends with its process, however that ends. Its content only says who: a
//! content that is not the holder's (of a dead predecessor, or not written yet) is never shown as such.

use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::disk::{Disk, Locked, read};
use super::error::{Error, Result};
use super::folder::StateFolder;
use super::process::{boot_id, start_of};

/// How long to wait for the holder to say who it is: it writes that right after it took the lock.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often to look meanwhile.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Who holds the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// When it started, where that is known.
    pub start: Option<u64>,
    /// The boot in which it started, where that is known.
    pub boot_id: Option<String>,
    /// The epoch it writes; 0 while it recovers.
    pub epoch: u64,
}

impl Holder {
    /// Describes this process.
    pub fn this_process(epoch: u64) -> Self {
        let pid = std::process::id();
        Self { pid, start: start_of(pid), boot_id: boot_id(), epoch }
    }

    /// Returns whether this process is still there, as far as can be told.
    pub fn is_alive(&self) -> bool {
        self.boot_id == boot_id() && self.start == start_of(self.pid)
    }
}

/// The lock, held until it is dropped.
#[must_use]
pub struct Lock {
    held: Box<dyn Locked>,
    folder: StateFolder,
}

impl Lock {
    /// Takes the folder's lock, or says who has it.
    pub fn take(disk: &dyn Disk, folder: &StateFolder) -> Result<Self> {
        let path = folder.engine_lock();
        let give_up = Instant::now() + PATIENCE;
        loop {
            if let Some(held) = disk.try_lock(&path).map_err(Error::io("lock", &path))? {
                let mut lock = Self { held, folder: folder.clone() };
                lock.note(0)?;
                return Ok(lock);
            }
            let pid = holder(disk, folder).map(|holder| holder.pid);
            if pid.is_some() || Instant::now() > give_up {
                return Err(Error::InUse { folder: folder.root.clone(), pid });
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Writes who holds it and which epoch it writes.
    pub fn note(&mut self, epoch: u64) -> Result<()> {
        let path = self.folder.engine_lock();
        let encode = |source| Error::Encode { what: "the lock's holder".into(), source };
        let content = serde_json::to_vec(&Holder::this_process(epoch)).map_err(encode)?;
        self.held.note(&content).map_err(Error::io("write", &path))
    }
}

/// Returns who wrote the lock file, if that process is still there.
pub fn holder(disk: &dyn Disk, folder: &StateFolder) -> Option<Holder> {
    written(disk, folder).filter(Holder::is_alive)
}

/// What the lock file says of the engine that took it last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulse {
    Alive,
    /// Its process is not there any more.
    Gone,
    Unknown,
}

/// Returns whether who wrote the lock file is still there.
pub fn pulse(disk: &dyn Disk, folder: &StateFolder) -> Pulse {
    match written(disk, folder).as_ref().map(Holder::is_alive) {
        Some(true) => Pulse::Alive,
        Some(false) => Pulse::Gone,
        None => Pulse::Unknown,
    }
}

fn written(disk: &dyn Disk, folder: &StateFolder) -> Option<Holder> {
    // While it is being written it may be missing, empty or half: all mean that it is not known yet.
    let content = read(disk, &folder.engine_lock()).ok()?;
    serde_json::from_slice(&content).ok()
}
