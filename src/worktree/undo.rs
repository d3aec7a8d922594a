//! What steps changed in the person's files, undone. HEAD and index stay as they are.
//!
//! The plan is written down before the first file is touched, and stays until the next one: a rollback that was cut off
//! is finished by it, and one that was done is not done again. What the person changed meanwhile is left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::apply::Stage;
use super::foresee::{Foreseen, Outlook, Wanted};
use super::git::Failed;
use super::record::{read, remove, write};
use super::repo::{Entry, Repo, compare, fresh};
use super::shop::{Shop, Which};

/// What came of a rollback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    Done(Box<Foreseen>),
    /// Nothing was touched.
    Cannot(String),
}

/// What a rollback does, written down before it does it.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    /// Who asked for it.
    key: String,
    /// Everything is done.
    done: bool,
    told: Foreseen,
    parts: Vec<Part>,
}

/// What it does to one work tree.
#[derive(Debug, Serialize, Deserialize)]
struct Part {
    repo: Repo,
    /// The files as they were, and as they are to be.
    ours: String,
    target: String,
    spans: Vec<(Which, u64)>,
}

impl Shop {
    /// Undoes what steps changed, as far as it is still as they left it. With the same key it is done once.
    pub fn undo(&self, key: &str, wanted: &Wanted) -> Result<Undone, Failed> {
        let _held = self.lock()?;
        if let Some(mut plan) = read::<Plan>(&self.plan_file())? {
            if !plan.done {
                self.finish_undo(&mut plan)?;
            }
            if plan.key == key {
                return Ok(Undone::Done(Box::new(plan.told)));
            }
        }
        let (mut told, outlooks) = self.look_ahead(wanted, true)?;
        if let Some(why) = told.refusal() {
            return Ok(Undone::Cannot(why));
        }
        let mut parts = Vec::new();
        for mut outlook in outlooks {
            self.fuse.pass()?;
            self.leave_what_moved(&mut outlook, &mut told)?;
            let target = self.target(&outlook)?;
            let Outlook { repo, now: ours, spans, paths } = outlook;
            let stage = self.undo_stage(parts.len(), &repo)?;
            let paths: BTreeMap<PathBuf, bool> =
                paths.into_iter().map(|(path, to_be)| (path, to_be.is_some())).collect();
            stage.fill(&target, made(&paths))?;
            parts.push(Part { repo, ours, target, spans });
        }
        let mut plan = Plan { key: key.to_owned(), done: false, told, parts };
        self.fuse.pass()?;
        write(&self.plan_file(), &plan)?;
        for (nth, part) in plan.parts.iter().enumerate() {
            let stage = self.stage_at(nth, &part.repo);
            let paths = self.planned(part)?;
            self.put_all(&stage, paths.iter().map(|(path, there)| (path.as_path(), *there)))?;
        }
        self.conclude_undo(&mut plan)?;
        Ok(Undone::Done(Box::new(plan.told)))
    }

    /// Goes on with a rollback that was cut off: what is neither as it was nor as it is to be is the person's.
    fn finish_undo(&self, plan: &mut Plan) -> Result<(), Failed> {
        for (nth, part) in plan.parts.iter().enumerate() {
            if !part.repo.dir.is_dir() || !part.repo.top.is_dir() {
                continue;
            }
            let paths = self.planned(part)?;
            let now = self.tree_of(&part.repo, paths.keys())?;
            let differs = |tree: &str| -> Result<BTreeSet<PathBuf>, Failed> {
                let changes = compare(&self.git, &part.repo.at(), tree, &now)?;
                let names = changes.into_iter().map(|change| PathBuf::from(OsStr::from_bytes(&change.path)));
                Ok(names.filter(|path| paths.contains_key(path)).collect())
            };
            let (not_old, not_new) = (differs(&part.ours)?, differs(&part.target)?);
            for path in not_old.intersection(&not_new) {
                plan.told.leave(path, "it was changed meanwhile");
            }
            let mut todo: BTreeMap<PathBuf, bool> = not_new
                .difference(&not_old)
                .filter_map(|path| Some((path.clone(), *paths.get(path)?)))
                .collect();
            let stage = self.undo_stage(nth, &part.repo)?;
            for path in stage.in_the_way(&todo) {
                todo.remove(&path);
                plan.told.leave(&path, "something stands in its place");
            }
            stage.fill(&part.target, made(&todo))?;
            self.put_all(&stage, todo.iter().map(|(path, there)| (path.as_path(), *there)))?;
        }
        self.conclude_undo(plan)
    }

    /// Notes that it is done, with each step whose change it was.
    fn conclude_undo(&self, plan: &mut Plan) -> Result<(), Failed> {
        for part in &plan.parts {
            for (which, began) in &part.spans {
                self.fuse.pass()?;
                let mut snaps = self.snaps(which)?;
                for span in snaps.spans.iter_mut().filter(|span| span.began == *began) {
                    span.undone = true;
                }
                self.note_snaps(which, &snaps)?;
            }
            // What we wrote is no change of a step that works meanwhile.
            if let Some((which, _)) = part.spans.first() {
                self.note_ours(which, &part.repo, &part.ours, &part.target)?;
            }
        }
        self.fuse.pass()?;
        plan.done = true;
        write(&self.plan_file(), &*plan)?;
        for (nth, part) in plan.parts.iter().enumerate() {
            self.undo_stage(nth, &part.repo)?;
        }
        Ok(())
    }

    /// Leaves those paths alone that changed since they were looked at, also where git ignores what is there.
    fn leave_what_moved(&self, outlook: &mut Outlook, told: &mut Foreseen) -> Result<(), Failed> {
        let now = self.tree_of(&outlook.repo, outlook.paths.keys())?;
        for change in compare(&self.git, &outlook.repo.at(), &outlook.now, &now)? {
            let path = PathBuf::from(OsStr::from_bytes(&change.path));
            if outlook.paths.remove(&path).is_some() {
                told.leave(&path, "it was changed just now");
            }
        }
        self.leave_what_is_blocked(outlook, told);
        Ok(())
    }

    /// Takes a snapshot that has these paths for sure.
    fn tree_of<'a>(&self, repo: &Repo, paths: impl Iterator<Item = &'a PathBuf>) -> Result<String, Failed> {
        let is_file = |path: &&Path| fs::symlink_metadata(repo.top.join(path)).is_ok_and(|it| !it.is_dir());
        let there: Vec<&Path> = paths.map(PathBuf::as_path).filter(is_file).collect();
        let index = self.folder.worktrees_dir().join(".undo.index");
        let tree = self.tree_with(repo, &index, &there);
        fresh(&index)?;
        tree
    }

    /// Makes the tree that a work tree is to be.
    fn target(&self, outlook: &Outlook) -> Result<String, Failed> {
        let (at, index) = (outlook.repo.at(), self.folder.worktrees_dir().join(".undo.index"));
        fresh(&index)?;
        self.git.at(&at).index(&index).args(["read-tree", &outlook.now]).run()?;
        let list = index.with_extension("list");
        let mut file = fs::File::create(&list).map_err(Failed::file("write", &list))?;
        // What goes, goes first: a file may take the place of a folder.
        let gone = outlook.paths.iter().filter(|(_, to_be)| to_be.is_none());
        let there = outlook.paths.iter().filter(|(_, to_be)| to_be.is_some());
        for (path, to_be) in gone.chain(there) {
            let nothing = Entry { mode: "0".into(), oid: "0".repeat(outlook.now.len()) };
            let Entry { mode, oid } = to_be.as_ref().unwrap_or(&nothing);
            let line = [format!("{mode} {oid}\t").as_bytes(), path.as_os_str().as_bytes(), &[0]].concat();
            file.write_all(&line).map_err(Failed::file("write", &list))?;
        }
        drop(file);
        let input = fs::File::open(&list).map_err(Failed::file("read", &list))?;
        self.git.at(&at).index(&index).input(input).args(["update-index", "-z", "--index-info"]).run()?;
        let tree = self.git.at(&at).index(&index).args(["write-tree"]).line()?;
        fresh(&index)?;
        remove(&list)?;
        Ok(tree)
    }

    /// Returns each path that a part changes, and whether it is there afterwards.
    fn planned(&self, part: &Part) -> Result<BTreeMap<PathBuf, bool>, Failed> {
        let changes = compare(&self.git, &part.repo.at(), &part.ours, &part.target)?;
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        Ok(changes.iter().map(|change| (path(&change.path), change.new.is_some())).collect())
    }

    fn plan_file(&self) -> PathBuf {
        self.folder.worktrees_dir().join(".undo.json")
    }

    fn stage_at(&self, nth: usize, repo: &Repo) -> Stage<'_> {
        let folder = self.folder.worktrees_dir().join(format!(".undo-{nth}"));
        let index = folder.with_extension("staged");
        Stage { git: &self.git, at: repo.at(), folder, index }
    }

    /// Returns an empty stage.
    fn undo_stage(&self, nth: usize, repo: &Repo) -> Result<Stage<'_>, Failed> {
        let stage = self.stage_at(nth, repo);
        stage.remove()?;
        Ok(stage)
    }
}

/// Returns the paths that are there afterwards.
fn made(paths: &BTreeMap<PathBuf, bool>) -> impl Iterator<Item = &Path> {
    paths.iter().filter(|(_, there)| **there).map(|(path, _)| path.as_path())
}
