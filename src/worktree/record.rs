//! What is known of one work tree, in a file beside it: a work tree is there when this is.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::git::Failed;
use super::repo::Repo;
use crate::model::worktree::{AfterIsolation, TreeState, WorkTree};

/// One work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The person's work tree, which it was made from and is merged into.
    pub repo: Repo,
    /// Its own root.
    pub path: PathBuf,
    /// Its own part of the repository.
    pub admin: PathBuf,
    /// The ref that holds what it changed.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit that it began from.
    pub base: String,
    /// The commit of what it changed, once that was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The files that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    pub state: TreeState,
}

impl Record {
    /// Returns the folder in which its agent works.
    pub fn workspace(&self) -> PathBuf {
        self.path.join(&self.repo.prefix)
    }

    /// Returns the same for events.
    pub fn told(&self, after: AfterIsolation) -> WorkTree {
        let mut told = WorkTree {
            state: self.state,
            path: Some(self.path.display().to_string()),
            reference: Some(self.reference.clone()),
            base: Some(self.base.clone()),
            commit: self.commit.clone(),
            after,
            ..WorkTree::default()
        };
        told.name_files(&self.files);
        told
    }
}

/// Reads what was written; `None` where there is nothing whole.
pub(super) fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, Failed> {
    match fs::read(path) {
        // What cannot be read was not written by us as it is: it is made anew.
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failed::file("read", path)(error)),
    }
}

/// Writes something whole, or leaves what was there.
pub(super) fn write(path: &Path, what: &impl Serialize) -> Result<(), Failed> {
    let text = serde_json::to_vec(what).map_err(|error| Failed::Odd(error.to_string()))?;
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let written = fs::File::create(&new).and_then(|mut file| {
        file.write_all(&text)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&new, path)).map_err(Failed::file("write", path))?;
    // The name must survive a power cut as the bytes do; where a folder cannot be synced, nothing can be done.
    if let Some(folder) = path.parent().and_then(|folder| fs::File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), Failed> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failed::file("remove", path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
