//! `quarterdeck session-host`: the parent of one agent. Started by the engine, not by people.

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
    pub(super) fn run(self) -> Outcome {
        match host::run(&self.folder)? {
            host::Outcome::Recorded => Ok(ExitCode::SUCCESS),
            host::Outcome::Taken => Ok(TAKEN.into()),
        }
    }
}
