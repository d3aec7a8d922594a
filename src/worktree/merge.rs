//! A step's change brought into the person's files: three-way, path by path, whole or not at all. HEAD and index stay
//! as they are, so what was merged is an uncommitted change like any other.
//!
//! The plan is written down before the first file is touched. A merge that was cut off is finished by it, or taken
//! back where the person changed one of its files meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::apply::Stage;
use super::git::{At, Failed};
use super::record::{Record, read, remove, write};
use super::repo::{Change, GITLINK, commit, compare, snapshot, snapshot_with};
use super::shop::{Shop, Which};
use crate::model::worktree::TreeState;

/// What came of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// The person's files have it; so many were written.
    Done { record: Box<Record>, written: usize },
    /// Nothing was touched: these paths are in the way.
    Conflict { record: Box<Record>, paths: Vec<String> },
    /// There is no such work tree.
    Nothing,
}

/// What a merge does, written down before it does it.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    /// The person's files as they were.
    ours: String,
    /// The same with the step's change.
    merged: String,
    /// Each path that differs, and whether it is there afterwards.
    paths: BTreeMap<PathBuf, bool>,
}

/// How many files were written, or what is in the way.
type Attempt = Result<usize, Vec<String>>;

impl Shop {
    /// Merges what a step changed, and removes its work tree.
    pub fn merge(&self, which: &Which) -> Result<Merged, Failed> {
        let _held = self.lock()?;
        let Some(mut record) = self.look(which)? else { return Ok(Merged::Nothing) };
        let unfinished: Option<Plan> = read(&self.file(which, "merge")?)?;
        let merged = match unfinished {
            Some(plan) => self.finish(which, &record, &plan)?,
            None if record.state == TreeState::Merged => Ok(0),
            None => {
                record = self.record_held(which)?.unwrap_or(record);
                self.merge_now(which, &record)?
            }
        };
        let written = match merged {
            Ok(written) => written,
            Err(paths) => return Ok(Merged::Conflict { record: Box::new(record), paths }),
        };
        record.state = TreeState::Merged;
        self.note(which, &record)?;
        remove(&self.file(which, "merge")?)?;
        self.clear(&record.repo.common, &record.path)?;
        Ok(Merged::Done { record: Box::new(record), written })
    }

    fn merge_now(&self, which: &Which, record: &Record) -> Result<Attempt, Failed> {
        let Some(theirs) = record.commit.as_deref() else { return Ok(Ok(0)) };
        let (at, index) = (record.repo.at(), self.file(which, "index")?);
        let ours = snapshot(&self.git, &at, &index)?;
        self.fuse.pass()?;
        let merged = match self.merge_trees(&at, &record.base, &ours, theirs)? {
            Ok(merged) => merged,
            Err(paths) => return Ok(Err(paths)),
        };
        let changes = compare(&self.git, &at, &ours, &merged)?;
        let plan = match planned(&changes) {
            Ok(paths) => Plan { ours, merged, paths },
            Err(odd) => return Ok(Err(odd)),
        };
        let stage = self.stage(which, &at)?;
        let in_the_way = stage.in_the_way(&plan.paths);
        if !in_the_way.is_empty() {
            return Ok(Err(in_the_way.iter().map(|path| path.display().to_string()).collect()));
        }
        stage.fill(
            &plan.merged,
            plan.paths.iter().filter(|(_, there)| **there).map(|(path, _)| path.as_path()),
        )?;
        // What the person wrote since the snapshot must not be lost, nor what git ignores.
        let now = self.now(&at, &index, &plan)?;
        let raced = self.differ(&at, &plan.ours, &now, &plan)?;
        if !raced.is_empty() {
            stage.remove()?;
            return Ok(Err(raced.into_iter().collect()));
        }
        self.fuse.pass()?;
        write(&self.file(which, "merge")?, &plan)?;
        self.put_all(&stage, plan.paths.iter().map(|(path, there)| (path.as_path(), *there)))?;
        stage.remove()?;
        self.note_ours(which, &record.repo, &plan.ours, &plan.merged)?;
        Ok(Ok(plan.paths.len()))
    }

    /// Puts every path as it is to be. What goes, goes first: a file may take the place of a folder.
    pub(super) fn put_all<'a>(
        &self,
        stage: &Stage<'_>,
        paths: impl Iterator<Item = (&'a Path, bool)> + Clone,
    ) -> Result<(), Failed> {
        let gone = paths.clone().filter(|(_, there)| !there);
        for (path, there) in gone.chain(paths.filter(|(_, there)| *there)) {
            self.fuse.pass()?;
            stage.put(path, there)?;
        }
        self.fuse.pass()
    }

    /// Returns the person's files as they are now, with those of the planned paths that git ignores.
    fn now(&self, at: &At, index: &Path, plan: &Plan) -> Result<String, Failed> {
        let is_file =
            |path: &&Path| fs::symlink_metadata(at.tree.join(path)).is_ok_and(|found| !found.is_dir());
        let there: Vec<&Path> = plan.paths.keys().map(PathBuf::as_path).filter(is_file).collect();
        snapshot_with(&self.git, at, index, &there)
    }

    /// Goes on with a merge that was cut off: every path is as it was before, or as it is to be, or the person's.
    fn finish(&self, which: &Which, record: &Record, plan: &Plan) -> Result<Attempt, Failed> {
        let (at, index) = (record.repo.at(), self.file(which, "index")?);
        let now = self.now(&at, &index, plan)?;
        let not_old = self.differ(&at, &plan.ours, &now, plan)?;
        let not_new = self.differ(&at, &plan.merged, &now, plan)?;
        let theirs: Vec<String> = not_old.intersection(&not_new).cloned().collect();
        let stage = self.stage(which, &at)?;
        let (tree, wrong) = if theirs.is_empty() {
            (&plan.merged, not_new)
        } else {
            // The person changed what was not done yet, or was done: what was written is taken back.
            (&plan.ours, not_old.difference(&not_new).cloned().collect())
        };
        let there: BTreeSet<String> = self.names(&at, tree, &wrong)?;
        stage.fill(tree, there.iter().map(Path::new))?;
        self.put_all(&stage, wrong.iter().map(|path| (Path::new(path), there.contains(path))))?;
        stage.remove()?;
        if theirs.is_empty() {
            self.note_ours(which, &record.repo, &plan.ours, &plan.merged)?;
            return Ok(Ok(plan.paths.len()));
        }
        remove(&self.file(which, "merge")?)?;
        Ok(Err(theirs))
    }

    /// Returns the planned paths that differ between two trees.
    fn differ(&self, at: &At, one: &str, two: &str, plan: &Plan) -> Result<BTreeSet<String>, Failed> {
        let changes = compare(&self.git, at, one, two)?;
        let paths = changes.into_iter().filter_map(|change| String::from_utf8(change.path).ok());
        Ok(paths.filter(|path| plan.paths.contains_key(Path::new(path))).collect())
    }

    /// Returns those of the paths that a tree has.
    fn names(&self, at: &At, tree: &str, paths: &BTreeSet<String>) -> Result<BTreeSet<String>, Failed> {
        let out = self.git.at(at).args(["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree]).run()?;
        let all = out.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
        Ok(all.filter(|name| paths.contains(*name)).map(str::to_owned).collect())
    }

    fn stage(&self, which: &Which, at: &At) -> Result<Stage<'_>, Failed> {
        let (folder, index) = (self.file(which, "stage")?, self.file(which, "staged")?);
        let stage = Stage { git: &self.git, at: at.clone(), folder, index };
        stage.remove()?;
        Ok(stage)
    }

    /// Merges two trees that both began from a commit; returns the merged tree, or the paths that do not fit.
    pub(super) fn merge_trees(
        &self,
        at: &At,
        base: &str,
        ours: &str,
        theirs: &str,
    ) -> Result<Result<String, Vec<String>>, Failed> {
        let theirs = format!("{theirs}^{{tree}}");
        let theirs = self.git.at(at).args(["rev-parse", "--verify", &theirs]).line()?;
        // Commits on the same base: then that is what git merges on, whatever came before it.
        let ours = commit(&self.git, at, ours, base, "Ours")?;
        let theirs = commit(&self.git, at, &theirs, base, "Theirs")?;
        let args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", &ours, &theirs];
        let (code, out, said) = self.git.at(at).args(args).codes()?;
        let parts = out.split(|byte| *byte == 0).filter(|part| !part.is_empty());
        let mut parts = parts.map(|part| String::from_utf8_lossy(part).into_owned());
        match (code, parts.next()) {
            (0, Some(tree)) => Ok(Ok(tree)),
            (1, Some(_)) => {
                let paths: BTreeSet<String> = parts.collect();
                Ok(Err(paths.into_iter().collect()))
            }
            _ => {
                let said = format!("{said}\nMerging needs git 2.38 or newer.");
                Err(Failed::Git { what: "merge-tree".into(), said })
            }
        }
    }
}

/// Returns the paths that a merge writes, or those that it cannot write.
fn planned(changes: &[Change]) -> Result<BTreeMap<PathBuf, bool>, Vec<String>> {
    let mut paths = BTreeMap::new();
    let mut odd = Vec::new();
    for change in changes {
        let is_link = |side: &Option<super::repo::Entry>| side.as_ref().is_some_and(|it| it.mode == GITLINK);
        match std::str::from_utf8(&change.path) {
            Ok(path) if !is_link(&change.old) && !is_link(&change.new) => {
                paths.insert(path.into(), change.new.is_some());
            }
            _ => odd.push(String::from_utf8_lossy(&change.path).into_owned()),
        }
    }
    if odd.is_empty() { Ok(paths) } else { Err(odd) }
}
