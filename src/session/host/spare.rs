//! Whom a host must not touch although they descend from it: the engine, and the hosts of other sessions.
//!
//! An agent may have started the engine by which it is controlled. A freeze or an end of that agent would then
//! stop or end the engine, and with it everybody's. The hosts that such an engine started become children of
//! the agent's host when it leaves.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::process::tree::{self, Process};
use crate::session::files::{HostFile, read};
use crate::session::folder::Folder;
use crate::store::folder::StateFolder;
use crate::store::lock::Holder;

/// Where the sessions of this host's engine lie.
pub(super) struct Spare {
    sessions: PathBuf,
    state: Option<StateFolder>,
}

impl Spare {
    pub(super) fn new(folder: &Folder) -> Self {
        let sessions = folder.0.parent().unwrap_or(&folder.0).to_owned();
        let root = sessions.parent().filter(|_| sessions.file_name() == Some(OsStr::new("sessions")));
        Self { state: root.map(|root| StateFolder { root: root.to_owned() }), sessions }
    }

    /// Returns who the engine is at this moment.
    pub(super) fn engine(&self) -> Option<Process> {
        let content = fs::read(self.state.as_ref()?.engine_lock()).ok()?;
        let holder: Holder = serde_json::from_slice(&content).ok()?;
        let start = holder.start.filter(|_| holder.is_alive())?;
        Some(Process { pid: holder.pid, start })
    }

    /// Returns whether a process is the host of another session, by its own arguments and its folder's word.
    pub(super) fn is_host(&self, process: Process) -> bool {
        let arguments = tree::arguments(process.pid);
        let [_, word, folder, ..] = arguments.as_slice() else { return false };
        let folder = Path::new(OsStr::from_bytes(folder));
        if word != b"session-host" || folder.parent() != Some(&*self.sessions) {
            return false;
        }
        let host = read::<HostFile>(&Folder(folder.to_owned()).host());
        host.is_ok_and(|host| host.is_some_and(|host| host.process == process))
    }
}
