//! What can go wrong between engine and host, said so that a person knows the file and what was attempted.

use std::io;
use std::path::{Path, PathBuf};

/// Shorthand for this room's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What could not be done with a session, and on what.
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
    /// A file of the session that is not what it should be.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A spec or a line that cannot be written as JSON.
    #[error("cannot write {what} as JSON: {source}")]
    Encode {
        /// What was to be written.
        what: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A file of the prompt has a name that leads elsewhere.
    #[error("{name:?} cannot be the name of a session's file: it {why}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A spec of a later version.
    #[error("{} is of host protocol {protocol}; this host speaks {}.\nStart the session with the Quarterdeck that wrote it.", path.display(), super::files::PROTOCOL)]
    Newer {
        /// The file.
        path: PathBuf,
        /// The protocol it names.
        protocol: u32,
    },
    /// The state folder refused.
    #[error(transparent)]
    Store(#[from] crate::store::error::Error),
}

impl Error {
    /// Returns what turns a system's error into ours, for `map_err`.
    pub(crate) fn io(attempt: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { attempt, path: path.clone(), source }
    }
}
