//! What can go wrong in the state folder, said so that a person knows the file, the place and the way out.
//!
//! Not for findings of a check: those are in `check.rs`, and are no errors.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::line::FORMAT;
use crate::model::id::Seq;

/// Shorthand for this room's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the store could not do, and on what.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {attempt} {}: {source}", path.display())]
    Io {
        /// What was attempted, as a verb.
        attempt: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that must not be damaged is.
    #[error(transparent)]
    Damaged(#[from] Box<Damage>),
    /// A file of a later version.
    #[error("{} was written by a newer Quarterdeck (format {format}); this one reads format {FORMAT}.\nUpgrade Quarterdeck to open it.", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format it names.
        format: u64,
    },
    /// Another engine holds the folder.
    #[error("{} is in use by the engine with {}.\nOne folder has one engine; use that one, or stop it first.", folder.display(), holder(*pid))]
    InUse {
        /// The state folder.
        folder: PathBuf,
        /// The process that holds it, if it could be told.
        pid: Option<u32>,
    },
    /// A folder, or something in it, that this user cannot have made.
    #[error("{} is not trusted: {why}.\nIf it came with the project, remove it. If it is yours: {way}", path.display())]
    Foreign {
        /// The folder, or what is in it.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// What makes it one's own.
        way: String,
    },
    /// The journal stopped writing for good.
    #[error(transparent)]
    ReadOnly(#[from] Arc<Failure>),
    /// The writer is gone, so nobody can say whether the events are on disk.
    #[error("the journal was closed before it answered")]
    Closed,
    /// An append that expected another place.
    #[error("expected to write seq {expected}, but the next is {next}")]
    Fenced {
        /// The place that the caller expected.
        expected: Seq,
        /// The place that is next.
        next: Seq,
    },
    /// An event that is too large for a line.
    #[error(
        "{name} is {bytes} bytes, more than the {limit} that one record may have.\nKeep large text in the session's own log."
    )]
    TooLarge {
        /// What was to be written.
        name: String,
        /// Its size.
        bytes: usize,
        /// What is allowed.
        limit: usize,
    },
    /// Events that compaction has removed.
    #[error(
        "events from seq {asked} are no longer in the journal; the oldest is {oldest}.\nLoad the snapshot, then read on from there."
    )]
    Compacted {
        /// The place asked for.
        asked: Seq,
        /// The oldest that is there.
        oldest: Seq,
    },
    /// An id that would not be safe as a file name.
    #[error("{id:?} cannot be a file name: it {why}")]
    BadName {
        /// The id.
        id: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Something that cannot be written as JSON.
    #[error("cannot encode {what}: {source}")]
    Encode {
        /// What it was.
        what: String,
        /// Why not.
        source: serde_json::Error,
    },
    /// A snapshot of a state that is not on disk yet.
    #[error("a snapshot at seq {seq} was offered, but only {durable} is on disk")]
    AheadOfJournal {
        /// The snapshot's place.
        seq: Seq,
        /// What is on disk.
        durable: Seq,
    },
    /// A salvage of a folder that opens as it is.
    #[error("the journal in {} is whole: there is nothing to salvage", folder.display())]
    NothingToSalvage {
        /// The state folder.
        folder: PathBuf,
    },
}

/// A damaged place in a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is damaged{}: {what}.\n{hint}", file.display(), place(*line, *seq, *offset))]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The place in the journal that cannot be read.
    pub seq: Option<Seq>,
    /// Where the damage begins in the file.
    pub offset: Option<u64>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: &'static str,
}

/// The way out of damage that stops the engine.
pub const SALVAGE_HINT: &str =
    "Nothing was changed. `quarterdeck doctor --salvage` keeps every record that can still be read.";

/// Why the journal stopped writing.
#[derive(Debug, thiserror::Error)]
#[error("the journal is read-only since it could not {attempt} {}: {source}.\n{}", path.display(), way_out(source))]
pub struct Failure {
    /// What was attempted, as a verb.
    pub attempt: &'static str,
    /// On which file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl Error {
    /// Returns whether the system refused only for now: it had no files or no memory left, or was interrupted.
    pub fn is_passing(&self) -> bool {
        use rustix::io::Errno;
        let Self::Io { source, .. } = self else { return false };
        let code = source.raw_os_error();
        let passing = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::INTR, Errno::AGAIN];
        passing.iter().any(|errno| code == Some(errno.raw_os_error()))
    }

    /// Says what was attempted on which file; for `map_err`.
    pub fn io(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { attempt, path: path.to_owned(), source }
    }

    /// Damage that stops the engine.
    pub(crate) fn damaged(file: &Path, what: impl Into<String>) -> Damage {
        Damage {
            file: file.to_owned(),
            line: None,
            seq: None,
            offset: None,
            what: what.into(),
            hint: SALVAGE_HINT,
        }
    }
}

impl Damage {
    /// Adds where in the file it is.
    #[must_use]
    pub(crate) fn at(mut self, line: u64, offset: u64) -> Self {
        (self.line, self.offset) = (Some(line), Some(offset));
        self
    }

    /// Adds which event it concerns.
    #[must_use]
    pub(crate) fn seq(mut self, seq: Seq) -> Self {
        self.seq = Some(seq);
        self
    }
}

impl From<Damage> for Error {
    fn from(damage: Damage) -> Self {
        Self::Damaged(Box::new(damage))
    }
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "an unknown pid".into(), |pid| format!("pid {pid}"))
}

fn place(line: Option<u64>, seq: Option<Seq>, offset: Option<u64>) -> String {
    let parts = [
        line.map(|line| format!("line {line}")),
        seq.map(|seq| format!("seq {seq}")),
        offset.map(|offset| format!("byte {offset}")),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(" at {}", parts.join(", ")) }
}

fn way_out(source: &io::Error) -> &'static str {
    if source.kind() == io::ErrorKind::StorageFull {
        "Free space on its disk, then restart the engine; nothing that was acknowledged is lost."
    } else {
        "Check its disk, then restart the engine; nothing that was acknowledged is lost."
    }
}
