//! The repository that a folder is in, and a snapshot of everything in a work tree: as the person sees it, without
//! touching the person's index.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::git::{At, Failed, Git};

/// A work tree of a repository, found from a folder in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repo {
    /// The work tree's root.
    pub top: PathBuf,
    /// Its own part of the repository.
    pub dir: PathBuf,
    /// What all work trees of the repository share.
    pub common: PathBuf,
    /// The folder below the root from which it was found; empty for the root itself.
    pub prefix: PathBuf,
}

/// Why no work tree can be made from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nowhere {
    /// Not in a git repository.
    NoRepository,
    /// The repository has no commit yet.
    NoCommit,
    /// Git says no.
    Refused(String),
}

impl std::fmt::Display for Nowhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoRepository => f.write_str("this is no git repository"),
            Self::NoCommit => f.write_str("the git repository has no commit yet"),
            Self::Refused(why) => write!(f, "git refuses: {why}"),
        }
    }
}

/// Returns whether a folder can be in a repository at all, without running git.
pub fn is_below_a_repository(folder: &Path) -> bool {
    folder.ancestors().any(|above| above.join(".git").exists())
}

impl Repo {
    /// Finds the repository of a folder.
    pub fn find(git: &Git, folder: &Path) -> Result<Result<Self, Nowhere>, Failed> {
        if !is_below_a_repository(folder) {
            return Ok(Err(Nowhere::NoRepository));
        }
        let asked = ["rev-parse", "--path-format=absolute", "--show-toplevel", "--absolute-git-dir"];
        let asked = git.find(folder).args(asked).args(["--git-common-dir", "--show-prefix"]);
        let (code, out, said) = asked.codes()?;
        if code != 0 {
            let first = said.lines().next().unwrap_or_default().to_owned();
            return Ok(Err(Nowhere::Refused(first)));
        }
        let Ok(text) = String::from_utf8(out) else {
            return Ok(Err(Nowhere::Refused("its path is not UTF-8".into())));
        };
        let lines: Vec<&str> = text.lines().collect();
        let [top, dir, common, prefix @ ..] = lines.as_slice() else {
            return Ok(Err(Nowhere::Refused("it has no work tree".into())));
        };
        let prefix = match prefix {
            [] => "",
            [prefix] => prefix.trim_end_matches('/'),
            _ => return Ok(Err(Nowhere::Refused("its path has a line break".into()))),
        };
        let repo = Self { top: top.into(), dir: dir.into(), common: common.into(), prefix: prefix.into() };
        let head = ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"];
        let (code, ..) = git.at(&repo.at()).args(head).codes()?;
        Ok(if code == 0 { Ok(repo) } else { Err(Nowhere::NoCommit) })
    }

    pub(super) fn at(&self) -> At {
        At { dir: self.dir.clone(), tree: self.top.clone() }
    }
}

/// Takes a snapshot of a work tree: what is tracked, what is not, and not what is ignored. Returns its tree.
pub(super) fn snapshot(git: &Git, at: &At, index: &Path) -> Result<String, Failed> {
    snapshot_with(git, at, index, &[])
}

/// Takes a snapshot that also has these files, ignored or not.
pub(super) fn snapshot_with(git: &Git, at: &At, index: &Path, also: &[&Path]) -> Result<String, Failed> {
    fresh(index)?;
    // With what git knows of the files already only the changed ones are read.
    let own = at.dir.join("index");
    match copy_with_time(&own, index) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            git.at(at).index(index).args(["read-tree", "HEAD"]).run()?;
        }
        Err(error) => return Err(Failed::file("copy", &own)(error)),
    }
    // Exit code 1: something could not be added, such as a file that may not be read. The rest is.
    let added = git.at(at).index(index).args(["add", "--all", "--ignore-errors", "--", ":/"]);
    match added.codes()? {
        (0 | 1, ..) => {}
        (_, _, said) => return Err(Failed::Git { what: "add".into(), said }),
    }
    if !also.is_empty() {
        force(git, at, index, also)?;
    }
    git.at(at).index(index).args(["write-tree"]).line()
}

/// Adds these files to an index, ignored or not.
pub(super) fn force(git: &Git, at: &At, index: &Path, also: &[&Path]) -> Result<(), Failed> {
    let list = index.with_extension("list");
    let names: Vec<u8> =
        also.iter().flat_map(|name| [name.as_os_str().as_bytes(), &[0]]).flatten().copied().collect();
    fs::write(&list, names).map_err(Failed::file("write", &list))?;
    let mut from = std::ffi::OsString::from("--pathspec-from-file=");
    from.push(&list);
    let add = ["--literal-pathspecs", "add", "--force", "--pathspec-file-nul"];
    git.at(at).index(index).args(add).args([from]).run()?;
    super::record::remove(&list)
}

/// Copies an index with its time. By that git knows which files were written in the same moment as the index, and
/// looks into those: a newer copy would hide an edit that kept the size of its file.
pub(super) fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let mut own = fs::File::open(from)?;
    let written = own.metadata()?.modified()?;
    let mut copy = fs::File::create(to)?;
    io::copy(&mut own, &mut copy)?;
    copy.set_modified(written)
}

/// Makes room for a private index: what a run that was cut off left is of no use.
pub(super) fn fresh(index: &Path) -> Result<(), Failed> {
    for path in [index, &lock_of(index)] {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Failed::file("remove", path)(error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Returns the lock that git makes beside an index.
pub(super) fn lock_of(index: &Path) -> PathBuf {
    let mut lock = index.as_os_str().to_owned();
    lock.push(".lock");
    lock.into()
}

/// Makes a commit of a tree.
pub(super) fn commit(git: &Git, at: &At, tree: &str, parent: &str, message: &str) -> Result<String, Failed> {
    git.at(at).args(["commit-tree", tree, "-p", parent, "-m", message]).line()
}

/// Points one of our refs to a commit.
pub(super) fn point(git: &Git, at: &At, common: &Path, name: &str, commit: &str) -> Result<(), Failed> {
    // Only we write these, one at a time: a lock that is there was left by a run that was cut off.
    let lock = common.join(format!("{name}.lock"));
    match fs::remove_file(&lock) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Failed::file("remove", &lock)(error));
        }
        Ok(()) | Err(_) => {}
    }
    git.at(at).args(["update-ref", "--no-deref", name, commit]).run().map(drop)
}

/// Returns the paths that differ between two trees, with what is there on each side.
pub(super) fn compare(git: &Git, at: &At, old: &str, new: &str) -> Result<Vec<Change>, Failed> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--full-index", old, new];
    let out = git.at(at).args(args).run()?;
    let mut parts = out.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let (Some(head), Some(path)) = (parts.next(), parts.next()) {
        let head = String::from_utf8_lossy(head);
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old_oid, new_oid, ..] = words.as_slice() else {
            return Err(Failed::Odd(format!("git diff-tree printed {head:?}, which cannot be read.")));
        };
        let side = |mode: &str, oid: &str| {
            (mode != "000000").then(|| Entry { mode: mode.to_owned(), oid: oid.to_owned() })
        };
        let old = side(old_mode, old_oid);
        changes.push(Change { path: path.to_vec(), old, new: side(new_mode, new_oid) });
    }
    Ok(changes)
}

/// One path that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub path: Vec<u8>,
    pub old: Option<Entry>,
    pub new: Option<Entry>,
}

/// What a tree has at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub mode: String,
    pub oid: String,
}

/// The mode of another repository inside.
pub(super) const GITLINK: &str = "160000";
