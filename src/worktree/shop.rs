//! Work trees made, recorded and shown. One at a time: everything that writes holds one lock, which also git runs that
//! a crash left behind hold until they end.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::git::{At, Failed, Fuse, Git};
use super::record::{Record, read, write};
use super::repo::{Nowhere, Repo, commit, compare, fresh, point, snapshot};
use super::snap::Memory;
use crate::model::id::{DelegationId, SubtaskId};
use crate::model::worktree::TreeState;
use crate::store::folder::StateFolder;
use crate::store::plain;

/// Whose work tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Which {
    pub delegation: DelegationId,
    pub step: SubtaskId,
}

/// What came of making one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Made {
    /// It is there.
    Tree(Box<Record>),
    /// There is none to be had here.
    Nowhere(Nowhere),
    /// What the steps before it changed does not fit together, or not what the person has now.
    Conflict(Vec<String>),
}

/// Where work trees are made: the state folder, and git.
#[derive(Debug)]
pub struct Shop {
    pub(super) git: Git,
    pub(super) folder: StateFolder,
    pub(super) fuse: Fuse,
    pub(super) memory: RefCell<Memory>,
}

/// The lock, held.
pub(super) struct Held<'a>(&'a Git);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.hold(None);
    }
}

impl Shop {
    /// Names a state folder's.
    pub fn new(folder: StateFolder, git: Git) -> Self {
        Self { git, folder, fuse: Fuse::default(), memory: RefCell::default() }
    }

    /// The same, cut off at a step: for tests.
    #[must_use]
    pub fn with(self, fuse: Fuse) -> Self {
        Self { fuse, ..self }
    }

    pub(super) fn lock(&self) -> Result<Held<'_>, Failed> {
        let folder = self.folder.worktrees_dir();
        fs::create_dir_all(&folder).map_err(Failed::file("make", &folder))?;
        let path = folder.join(".lock");
        let file = fs::OpenOptions::new().create(true).truncate(false).write(true).read(true).open(&path);
        let file = file.map_err(Failed::file("open", &path))?;
        file.lock().map_err(Failed::file("lock", &path))?;
        self.git.hold(Some(file));
        Ok(Held(&self.git))
    }

    pub(super) fn path(&self, which: &Which) -> Result<PathBuf, Failed> {
        let path = self.folder.worktree_dir(which.delegation.as_str(), which.step.as_str());
        let path = path.map_err(|error| Failed::Odd(error.to_string()))?;
        // Git writes down real paths.
        let (all, below) = (self.folder.worktrees_dir(), path.strip_prefix(self.folder.worktrees_dir()));
        Ok(match (fs::canonicalize(all), below) {
            (Ok(real), Ok(below)) => real.join(below),
            _ => path,
        })
    }

    pub(super) fn file(&self, which: &Which, kind: &str) -> Result<PathBuf, Failed> {
        let path = self.folder.worktree_file(which.delegation.as_str(), which.step.as_str(), kind);
        path.map_err(|error| Failed::Odd(error.to_string()))
    }

    /// Returns what is known of a work tree; `None` where there is none.
    pub fn look(&self, which: &Which) -> Result<Option<Record>, Failed> {
        read(&self.file(which, "json")?)
    }

    pub(super) fn note(&self, which: &Which, record: &Record) -> Result<(), Failed> {
        self.fuse.pass()?;
        write(&self.file(which, "json")?, record)
    }

    /// Makes the work tree of a step, or finds the one that was made before: further attempts go on in it. It begins
    /// as the person's files are now, with what the steps in `before` changed, in their order.
    pub fn make(&self, which: &Which, root: &Path, before: &[SubtaskId]) -> Result<Made, Failed> {
        let _held = self.lock()?;
        if let Some(record) = self.look(which)?.filter(|known| known.state.is_open()) {
            self.put_back(&record)?;
            // It goes on: what is recorded of it is not the last.
            let record = Record { state: TreeState::Made, ..record };
            self.note(which, &record)?;
            return Ok(Made::Tree(Box::new(record)));
        }
        let repo = match Repo::find(&self.git, root)? {
            Ok(repo) => repo,
            Err(nowhere) => return Ok(Made::Nowhere(nowhere)),
        };
        let path = self.path(which)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Failed::file("make", folder))?;
        }
        // What is there without a record is half made.
        self.clear(&repo.common, &path)?;
        self.fuse.pass()?;
        let base = match self.base(which, &repo, before)? {
            Ok(base) => base,
            Err(conflicts) => return Ok(Made::Conflict(conflicts)),
        };
        self.fuse.pass()?;
        let reference = ref_name(which);
        point(&self.git, &repo.at(), &repo.common, &reference, &base)?;
        self.fuse.pass()?;
        let admin = self.add(&repo, &path, &base)?;
        let (commit, files) = (None, Vec::new());
        let record = Record { repo, path, admin, reference, base, commit, files, state: TreeState::Made };
        make_folder(&record.workspace())?;
        self.note(which, &record)?;
        Ok(Made::Tree(Box::new(record)))
    }

    /// Returns the commit that a work tree begins from.
    fn base(
        &self,
        which: &Which,
        repo: &Repo,
        before: &[SubtaskId],
    ) -> Result<Result<String, Vec<String>>, Failed> {
        let at = repo.at();
        let mut tree = snapshot(&self.git, &at, &self.file(which, "index")?)?;
        self.fuse.pass()?;
        for step in before {
            let which = Which { delegation: which.delegation.clone(), step: step.clone() };
            let Some(record) = self.look(&which)? else { continue };
            let Some(theirs) = record.commit.as_ref().filter(|_| is_to_come(&record, repo)) else { continue };
            match self.merge_trees(&at, &record.base, &tree, theirs)? {
                Ok(merged) => tree = merged,
                Err(conflicts) => return Ok(Err(conflicts)),
            }
        }
        let head = self.git.at(&at).args(["rev-parse", "--verify", "HEAD^{commit}"]).line()?;
        let message = format!("Before {}/{}", which.delegation, which.step);
        commit(&self.git, &at, &tree, &head, &message).map(Ok)
    }

    /// Checks a work tree out; returns its own part of the repository.
    fn add(&self, repo: &Repo, path: &Path, commit: &str) -> Result<PathBuf, Failed> {
        let reason = "a quarterdeck agent works here; `quarterdeck discard` removes it";
        let add = ["worktree", "add", "--quiet", "--detach", "--force", "--lock", "--reason", reason];
        self.git.at(&repo.at()).args(add).args([path.as_os_str(), commit.as_ref()]).run()?;
        self.fuse.pass()?;
        admin_of(path).ok_or_else(|| Failed::Odd(format!("git made no work tree at {}", path.display())))
    }

    /// Puts a work tree back that is known and gone, and the link to its repository where an agent removed that.
    fn put_back(&self, record: &Record) -> Result<(), Failed> {
        let link = record.path.join(".git");
        if record.path.is_dir() {
            if admin_of(&record.path).is_none() && record.admin.is_dir() {
                let text = format!("gitdir: {}\n", record.admin.display());
                fs::write(&link, text).map_err(Failed::file("write", &link))?;
            }
            return make_folder(&record.workspace());
        }
        self.clear(&record.repo.common, &record.path)?;
        self.add(&record.repo, &record.path, record.commit.as_ref().unwrap_or(&record.base))?;
        make_folder(&record.workspace())
    }

    /// Records what changed in a work tree, as a commit under its ref; `None` where there is no work tree.
    pub fn record(&self, which: &Which) -> Result<Option<Record>, Failed> {
        let _held = self.lock()?;
        self.record_held(which)
    }

    pub(super) fn record_held(&self, which: &Which) -> Result<Option<Record>, Failed> {
        let Some(mut record) = self.look(which)? else { return Ok(None) };
        if !record.state.is_open() || !record.path.is_dir() {
            return Ok(Some(record));
        }
        let at = own(&record);
        let tree = snapshot(&self.git, &at, &self.file(which, "index")?)?;
        self.fuse.pass()?;
        let of = |commit: &str| {
            self.git.at(&at).args(["rev-parse", "--verify", &format!("{commit}^{{tree}}")]).line()
        };
        let known = record.commit.clone().filter(|commit| of(commit).is_ok_and(|known| known == tree));
        let recorded = if let Some(commit) = known {
            commit
        } else {
            let message = format!("Changed by {}/{}", which.delegation, which.step);
            commit(&self.git, &at, &tree, &record.base, &message)?
        };
        self.fuse.pass()?;
        point(&self.git, &at, &record.repo.common, &record.reference, &recorded)?;
        let changes = compare(&self.git, &at, &record.base, &recorded)?;
        record.files =
            changes.iter().map(|change| String::from_utf8_lossy(&change.path).into_owned()).collect();
        record.commit = Some(recorded);
        if matches!(record.state, TreeState::Made) {
            record.state = TreeState::Recorded;
        }
        self.note(which, &record)?;
        Ok(Some(record))
    }

    /// Leaves a work tree to the person; returns what is known of it.
    pub fn keep(&self, which: &Which) -> Result<Option<Record>, Failed> {
        let _held = self.lock()?;
        let Some(mut record) = self.record_held(which)? else { return Ok(None) };
        if record.state.is_open() {
            record.state = TreeState::Kept;
            self.note(which, &record)?;
        }
        Ok(Some(record))
    }

    /// Returns what a step changed so far, as a diff, or as a list of files with how much of each.
    pub fn diff(&self, which: &Which, stat: bool) -> Result<Option<String>, Failed> {
        let Some(record) = self.look(which)? else { return Ok(None) };
        let at = if record.path.is_dir() { own(&record) } else { record.repo.at() };
        let live = record.path.is_dir() && record.state.is_open();
        let new = match record.commit.clone() {
            _ if live => {
                // Of its own: this is asked while an engine works.
                let index = self.file(which, &format!("diff-{}", std::process::id()))?;
                let tree = snapshot(&self.git, &at, &index);
                fresh(&index)?;
                tree?
            }
            Some(commit) => commit,
            None => return Ok(Some(String::new())),
        };
        let how = if stat { "--stat" } else { "--patch" };
        let args = ["diff-tree", "-r", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", how];
        let out = self.git.at(&at).args(args).args([&record.base, &new]).run()?;
        Ok(Some(String::from_utf8_lossy(&out).into_owned()))
    }
}

/// Returns where git works in a step's own tree, also where its link to the repository is gone.
pub(super) fn own(record: &Record) -> At {
    let dir = if record.admin.is_dir() { &record.admin } else { &record.repo.common };
    At { dir: dir.clone(), tree: record.path.clone() }
}

/// Returns whether what a step changed is not in the person's files, and is not unwanted.
fn is_to_come(record: &Record, repo: &Repo) -> bool {
    record.state.is_open() && record.repo.common == repo.common
}

/// Returns the ref of a step. Ids are file names; a ref may not have every dot that those have.
pub(super) fn ref_name(which: &Which) -> String {
    let part = |id: &str| id.replace('.', "%2E");
    format!("refs/quarterdeck/{}/{}", part(which.delegation.as_str()), part(which.step.as_str()))
}

/// Returns a work tree's own part of the repository, as its `.git` says.
pub(super) fn admin_of(path: &Path) -> Option<PathBuf> {
    let text = plain::text(&path.join(".git"), plain::SETTINGS).ok()?;
    let admin = path.join(text.strip_prefix("gitdir:")?.trim());
    let is_one = admin.parent().is_some_and(|parent| parent.ends_with("worktrees")) && admin.is_dir();
    is_one.then_some(admin)
}

fn make_folder(path: &Path) -> Result<(), Failed> {
    fs::create_dir_all(path).map_err(Failed::file("make", path))
}
