//! `quarterdeck session-host`: the parent of one agent. Started by the engine, not by people.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::Outcome;
use crate::session::host;

/// Another host has the folder.
const TAKEN: u8 = 3;

#[derive(Debug, Args)]
pub(super) struct SessionHost {
    /// The session's folder, with its spec.json.
    folder: PathBuf,
}

impl SessionHost {
    /// Reads the command line as the engine writes it, without the parser: there is a host for each attempt,
    /// and the parser is most of what it would hold in memory.
    pub(super) fn asked_for(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let is_host = arguments.next()? == "session-host";
        let folder = PathBuf::from(arguments.next().filter(|_| is_host)?);
        let is_path = folder.is_absolute() && arguments.next().is_none();
        is_path.then_some(Self { folder })
    }

    pub(super) fn run(self) -> Outcome {
        match host::run(&self.folder)? {
            host::Outcome::Recorded => Ok(ExitCode::SUCCESS),
            host::Outcome::Taken => Ok(TAKEN.into()),
        }
    }
}
