//! How a host takes a folder: the lock, then `host.json`, both or nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::{Duration, Instant};

use crate::process::tree::{self, Process};
use crate::session::error::{Error, Result};
use crate::session::files::{HostFile, PROTOCOL, line, now};
use crate::session::folder::Folder;
use crate::store::disk::{Disk, RealDisk};
use crate::store::process::boot_id;

/// How long to try while nobody has made `host.json`: an engine that looks has the lock for a moment.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// The lock, held until it is dropped; closed by the agent's exec, so that the agent does not hold it too.
#[must_use]
pub(super) struct Taken {
    _lock: File,
}

/// Leaves the engine's session, so that neither its terminal nor its end reaches this process.
pub(super) fn leave_the_callers_session() {
    // Refused to the leader of a process group: then it was started by hand and is in nobody's way.
    let _ = rustix::process::setsid();
}

/// Takes the folder; `None` if another host has it or had it.
pub(super) fn take(folder: &Folder) -> Result<Option<Taken>> {
    let Some(lock) = lock(folder)? else { return Ok(None) };
    let path = folder.host();
    let mut file = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        Err(error) => return Err(Error::io("make", &path)(error)),
    };
    let pid = std::process::id();
    let process = tree::process(pid).unwrap_or(Process { pid, start: 0 });
    let host = HostFile { protocol: PROTOCOL, process, boot_id: boot_id(), at: now() };
    let content = line("a host", &host)?;
    // On disk before the agent runs: after a power cut it must not look as if it never had.
    let written = file.write_all(&content).and_then(|()| file.sync_data());
    written.and_then(|()| RealDisk.sync_dir(&folder.0)).map_err(Error::io("write", &path))?;
    Ok(Some(Taken { _lock: lock }))
}

fn lock(folder: &Folder) -> Result<Option<File>> {
    let path = folder.lock();
    let failed = Error::io("lock", &path);
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = opened.map_err(&failed)?;
    let give_up = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) if folder.host().exists() || Instant::now() > give_up => {
                return Ok(None);
            }
            Err(TryLockError::WouldBlock) => thread::sleep(LOOK_AGAIN),
        }
    }
}

/// Makes whatever loses its parent below here a child of this process, so that it can be found.
#[cfg(target_os = "linux")]
pub(super) fn adopt_orphans() -> Result<()> {
    let adopted = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    adopted.map_err(|error| Error::io("adopt orphans of", "this host".as_ref())(error.into()))
}

/// Elsewhere the mark in their environment finds them.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
pub(super) fn adopt_orphans() -> Result<()> {
    Ok(())
}
