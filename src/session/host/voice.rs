//! What the host says: lines of `host.jsonl`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use crate::session::error::{Error, Result};
use crate::session::files::{Answer, Said, line, now};
use crate::session::folder::Folder;
use crate::store::process::awake_ms;

/// The open `host.jsonl`.
pub(super) struct Voice {
    file: File,
}

impl Voice {
    pub(super) fn open(folder: &Folder) -> Result<Self> {
        let path = folder.answers();
        let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        Ok(Self { file: opened.map_err(Error::io("open", &path))? })
    }

    /// Says something, in one write.
    pub(super) fn say(&mut self, said: Said) {
        // A full disk must not cost the agent its parent: the engine asks again, or meets `exit.json`.
        let _ = line("an answer", &Answer { at: now(), awake_ms: awake_ms(), said })
            .map(|line| self.file.write_all(&line));
    }
}
