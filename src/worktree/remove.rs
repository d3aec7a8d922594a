//! Work trees removed: at a person's word, when their change is merged, or when their delegation leaves.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::git::Failed;
use super::record::{Record, remove};
use super::shop::{Shop, Which};
use crate::model::id::{DelegationId, file_name};
use crate::model::worktree::TreeState;
use crate::store::folder::StateFolder;
use crate::store::plain;

impl Shop {
    /// Removes a work tree; the ref of what it changed is left. Returns what is known of it.
    pub fn discard(&self, which: &Which) -> Result<Option<Record>, Failed> {
        let _held = self.lock()?;
        // So that the ref has the last state, too.
        let Some(mut record) = self.record_held(which)? else { return Ok(None) };
        if record.state != TreeState::Merged {
            record.state = TreeState::Discarded;
            self.note(which, &record)?;
        }
        self.clear(&record.repo.common, &record.path)?;
        Ok(Some(record))
    }

    /// Removes what a delegation that has left had. A work tree that a person wanted to keep stays, and so do the refs
    /// of changes that nobody merged or discarded.
    pub fn forget(&self, delegation: &DelegationId) -> Result<(), Failed> {
        if file_name(delegation.as_str()).is_err() {
            return Ok(());
        }
        let folder = self.folder.worktrees_dir().join(delegation.as_str());
        if !folder.is_dir() {
            return Ok(());
        }
        let _held = self.lock()?;
        self.forget_snaps(delegation, &folder)?;
        for step in recorded(&folder) {
            let which = Which { delegation: delegation.clone(), step: step.as_str().into() };
            let Some(record) = self.look(&which)? else { continue };
            if record.state == TreeState::Kept {
                continue;
            }
            let record = self.record_held(&which)?.unwrap_or(record);
            self.clear(&record.repo.common, &record.path)?;
            let is_settled = matches!(record.state, TreeState::Merged | TreeState::Discarded);
            if is_settled || record.files.is_empty() {
                let drop = ["update-ref", "--no-deref", "-d", &record.reference];
                self.git.at(&record.repo.at()).args(drop).run()?;
            }
            for kind in ["index", "merge", "json"] {
                remove(&self.file(&which, kind)?)?;
            }
        }
        // What is kept holds it.
        let _ = fs::remove_dir(&folder);
        Ok(())
    }

    /// Removes a work tree with its part of the repository. `git worktree prune` would do the latter, and also for
    /// those of the person's that are only not mounted now.
    pub(super) fn clear(&self, common: &Path, path: &Path) -> Result<(), Failed> {
        self.fuse.pass()?;
        let link = path.join(".git");
        let all = common.join("worktrees");
        for entry in fs::read_dir(&all).into_iter().flatten().flatten() {
            let admin = entry.path();
            let points = plain::text(&admin.join("gitdir"), plain::SETTINGS).unwrap_or_default();
            if Path::new(points.trim()) == link {
                remove_all(&admin)?;
            }
        }
        self.fuse.pass()?;
        remove_all(path)
    }
}

/// Returns the steps of a delegation's folder that have a record.
fn recorded(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some(name.strip_prefix('.')?.strip_suffix(".json")?.to_owned())).collect()
}

/// Removes a folder with all in it, also what an agent made read-only.
fn remove_all(path: &Path) -> Result<(), Failed> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    };
    if gone(fs::remove_dir_all(path)).is_ok() {
        return Ok(());
    }
    open_up(path);
    gone(fs::remove_dir_all(path)).map_err(Failed::file("remove", path))
}

/// Lets the owner into every folder below.
fn open_up(path: &Path) {
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    if !meta.is_dir() {
        return;
    }
    // Where even that is refused, the removal says so.
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(meta.permissions().mode() | 0o700));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        open_up(&entry.path());
    }
}

/// Returns every work tree in a state folder, with the delegation whose it is.
pub fn leftovers(folder: &StateFolder) -> Vec<(DelegationId, PathBuf)> {
    let delegations = fs::read_dir(folder.worktrees_dir()).into_iter().flatten().flatten();
    let of = |delegation: fs::DirEntry| {
        let id = DelegationId::from(delegation.file_name().to_string_lossy().into_owned());
        let steps = fs::read_dir(delegation.path()).into_iter().flatten().flatten();
        steps.filter(|step| step.path().is_dir()).map(move |step| (id.clone(), step.path()))
    };
    delegations.flat_map(of).collect()
}
