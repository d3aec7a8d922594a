//! Files put into the person's work tree: each is made whole beside it first, by git itself, so that line ends and
//! filters are as the repository wants them; then it takes its place in one move.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use super::git::{At, Failed, Git};
use super::repo::fresh;

/// Where files are made whole.
pub(super) struct Stage<'a> {
    pub git: &'a Git,
    /// The person's work tree.
    pub at: At,
    pub folder: PathBuf,
    /// An index of its own.
    pub index: PathBuf,
}

impl Stage<'_> {
    /// Returns the paths at which something stands that git knows nothing of, and that would be lost.
    pub(super) fn in_the_way(&self, plan: &BTreeMap<PathBuf, bool>) -> Vec<PathBuf> {
        let goes = |path: &Path| plan.get(path) == Some(&false);
        let blocked = |path: &Path| {
            if !is_plain(path) {
                return true;
            }
            let whole = self.at.tree.join(path);
            let is_parent_blocked = path.ancestors().skip(1).any(|parent| {
                let found = fs::symlink_metadata(self.at.tree.join(parent));
                !goes(parent) && found.is_ok_and(|found| !found.is_dir())
            });
            is_parent_blocked
                || fs::symlink_metadata(&whole).is_ok_and(|it| it.is_dir()) && !self.empties(&whole, &goes)
        };
        let wanted = plan.iter().filter(|(_, there)| **there).map(|(path, _)| path);
        wanted.filter(|path| blocked(path)).cloned().collect()
    }

    /// Returns whether a folder is empty when all that is to go has gone.
    fn empties(&self, folder: &Path, goes: &impl Fn(&Path) -> bool) -> bool {
        let Ok(entries) = fs::read_dir(folder) else { return false };
        entries.flatten().all(|entry| {
            let path = entry.path();
            let below = path.strip_prefix(&self.at.tree).ok();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.empties(&path, goes),
                Ok(_) | Err(_) => below.is_some_and(goes),
            }
        })
    }

    /// Makes the files of a tree, as they would be checked out.
    pub(super) fn fill<'a>(&self, tree: &str, paths: impl Iterator<Item = &'a Path>) -> Result<(), Failed> {
        fs::create_dir_all(&self.folder).map_err(Failed::file("make", &self.folder))?;
        let list = self.folder.with_extension("list");
        let mut file = fs::File::create(&list).map_err(Failed::file("write", &list))?;
        for path in paths {
            file.write_all(path.as_os_str().as_bytes())
                .and_then(|()| file.write_all(&[0]))
                .map_err(Failed::file("write", &list))?;
        }
        drop(file);
        fresh(&self.index)?;
        self.git.at(&self.at).index(&self.index).args(["read-tree", tree]).run()?;
        let input = fs::File::open(&list).map_err(Failed::file("read", &list))?;
        let mut prefix = std::ffi::OsString::from("--prefix=");
        prefix.push(&self.folder);
        prefix.push("/");
        let args = ["checkout-index", "--force", "--quiet", "-z", "--stdin"];
        self.git.at(&self.at).index(&self.index).input(input).args(args).args([prefix]).run()?;
        super::record::remove(&list)
    }

    /// Puts one path as it is to be: the file that was made, or nothing.
    pub(super) fn put(&self, path: &Path, there: bool) -> Result<(), Failed> {
        let target = self.at.tree.join(path);
        if !there {
            super::record::remove(&target)?;
            self.prune(&target);
            return Ok(());
        }
        if let Some(parent) = target.parent() {
            // A file among them that is to go has gone.
            fs::create_dir_all(parent).map_err(Failed::file("make", parent))?;
        }
        // An empty folder gives way to a file of its name; one that is not empty does not.
        if fs::symlink_metadata(&target).is_ok_and(|found| found.is_dir()) {
            remove_empty(&target).map_err(Failed::file("remove", &target))?;
        }
        let made = self.folder.join(path);
        keep_mode(&made, &target).map_err(Failed::file("change", &made))?;
        match fs::rename(&made, &target) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => across(&made, &target),
            other => other,
        }
        .map_err(Failed::file("write", &target))
    }

    /// Removes the folders above a path that are empty now, as git does.
    fn prune(&self, gone: &Path) {
        for parent in gone.ancestors().skip(1).take_while(|parent| *parent != self.at.tree) {
            // One that is not empty ends it.
            if fs::remove_dir(parent).is_err() {
                break;
            }
        }
    }

    /// Removes the stage.
    pub(super) fn remove(&self) -> Result<(), Failed> {
        fresh(&self.index)?;
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Failed::file("remove", &self.folder)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Returns whether a path stays below where it is joined to.
fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Lets in those that were let in before: git itself knows only whether a file can be run.
fn keep_mode(made: &Path, target: &Path) -> io::Result<()> {
    let (Ok(new), Ok(old)) = (fs::symlink_metadata(made), fs::symlink_metadata(target)) else {
        return Ok(());
    };
    if !new.is_file() || !old.is_file() {
        return Ok(());
    }
    let (can_run, readers) = (new.permissions().mode() & 0o100 != 0, old.permissions().mode() & 0o666);
    let runners = if can_run { (readers & 0o444) >> 2 } else { 0 };
    fs::set_permissions(made, fs::Permissions::from_mode(readers | runners))
}

/// Removes a folder in which there are only empty folders.
fn remove_empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_empty(&entry.path())?;
        }
    }
    fs::remove_dir(folder)
}

/// Moves a file to another file system: whole beside its place first.
fn across(made: &Path, target: &Path) -> io::Result<()> {
    let mut name = std::ffi::OsString::from(".quarterdeck-");
    name.push(target.file_name().unwrap_or_default());
    let beside = target.with_file_name(name);
    let link = fs::symlink_metadata(made)?.is_symlink();
    if link {
        std::os::unix::fs::symlink(fs::read_link(made)?, &beside)?;
    } else {
        fs::copy(made, &beside)?;
    }
    fs::rename(&beside, target)?;
    fs::remove_file(made)
}
