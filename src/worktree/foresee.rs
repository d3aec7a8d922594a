//! What a rollback would do, before it does it: which steps can be undone, which paths come back, and which are left
//! alone and why.
//!
//! A path comes back only if it is now as the step left it. Steps whose times overlap are undone together or not at
//! all where they changed the same path: who changed it cannot be told. The same look is the preview and the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::apply::Stage;
use super::git::Failed;
use super::repo::{Change, Entry, GITLINK, Nowhere, Repo, compare, copy_with_time, force, fresh};
use super::shop::{Shop, Which};
use super::snap::{By, SNAPS, Span};
use crate::model::id::{DelegationId, SessionId};
use crate::model::rollback::{Noted, Rollback};
use crate::model::text;
use crate::model::worktree::{MOST_NAMED, TreeState};

/// Where somebody waits for the answer, a snapshot may take so long.
pub(super) const PATIENCE: Duration = Duration::from_mins(5);

/// What is to be undone.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    pub steps: Vec<Which>,
    /// The sessions that run now.
    pub live: BTreeSet<SessionId>,
}

/// What a rollback does, or did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Foreseen {
    /// The steps that are undone.
    pub steps: Vec<Which>,
    /// Those that cannot be, and why.
    pub cannot: Vec<(Which, String)>,
    /// Each path that comes back, and how.
    pub back: Vec<(Back, String)>,
    /// Each path that a step changed and that is left alone, and why.
    pub left: Vec<(String, String)>,
}

/// How a path comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Back {
    /// As it was before.
    Restored,
    /// It was not there before.
    Removed,
    /// It is there again.
    Returned,
}

impl Back {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Removed => "removed",
            Self::Returned => "put back",
        }
    }
}

impl Foreseen {
    /// Leaves a path alone, whatever was to be done to it.
    pub(super) fn leave(&mut self, path: &Path, why: &str) {
        let name = shown(path);
        self.back.retain(|(_, known)| *known != name);
        self.left.push((name, why.to_owned()));
    }

    /// Returns why nothing can be undone, if that is so.
    pub fn refusal(&self) -> Option<String> {
        if !self.steps.is_empty() {
            return None;
        }
        match self.cannot.as_slice() {
            [] => Some("nothing of it has begun, so there is nothing to undo".into()),
            [(which, why)] => Some(format!("{}/{}: {why}", which.delegation, which.step)),
            // What holds for all is said once.
            [(_, why), others @ ..] if others.iter().all(|(_, other)| other == why) => Some(why.clone()),
            several => {
                let lines = several.iter().map(|(which, why)| format!("{}: {why}", which.step));
                Some(lines.collect::<Vec<_>>().join("\n"))
            }
        }
    }
}

impl Foreseen {
    /// Returns the same for events and for people: steps are named as those of one delegation.
    pub fn told(&self, delegation: &DelegationId) -> Rollback {
        let name = |which: &Which| {
            if which.delegation == *delegation { which.step.to_string() } else { name_of(which) }
        };
        let count = |list: usize| u32::try_from(list).unwrap_or(u32::MAX);
        let own = self.steps.iter().filter(|which| which.delegation == *delegation);
        let (back, left) = (self.back.iter().take(MOST_NAMED), self.left.iter().take(MOST_NAMED));
        Rollback {
            own: own.map(|which| which.step.clone()).collect(),
            steps: self.steps.iter().map(name).collect(),
            cannot: self.cannot.iter().map(|(which, why)| Noted::new(name(which), why)).collect(),
            restored: back.map(|(how, path)| Noted::new(path, how.as_str())).collect(),
            restored_count: count(self.back.len()),
            left: left.map(|(path, why)| Noted::new(path, why)).collect(),
            left_count: count(self.left.len()),
        }
    }
}

/// What would be done to one work tree.
pub(super) struct Outlook {
    pub repo: Repo,
    /// It as it is now.
    pub now: String,
    /// What each path is to be.
    pub paths: BTreeMap<PathBuf, Option<Entry>>,
    /// What is undone by that.
    pub spans: Vec<(Which, u64)>,
}

/// Some time of a chosen step, or several that overlap.
struct Stretch {
    began: u64,
    ended: u64,
    before: String,
    after: String,
    spans: Vec<(Which, u64)>,
}

/// What is known of one path while later stretches are undone before earlier ones.
struct Path1 {
    now: Option<Entry>,
    to_be: Option<Entry>,
}

impl Shop {
    /// Says what a rollback would do now; nothing is touched.
    pub fn foresee(&self, wanted: &Wanted) -> Result<Foreseen, Failed> {
        self.look_ahead(wanted, false).map(|(told, _)| told)
    }

    /// Returns why a step cannot be undone, as far as that is known without asking git.
    pub fn cannot_undo(&self, which: &Which, live: &BTreeSet<SessionId>) -> Option<String> {
        self.chosen(which, live).err()
    }

    /// Returns what was written for a step and can be undone, or why it cannot.
    fn chosen(&self, which: &Which, live: &BTreeSet<SessionId>) -> Result<Vec<Span>, String> {
        let snaps = self.snaps(which).map_err(|error| error.to_string())?;
        if let Some(why) = self.look(which).ok().flatten().and_then(|record| isolated(record.state)) {
            return Err(why);
        }
        let has_file = self.file(which, SNAPS).is_ok_and(|path| path.exists());
        if !has_file && !super::repo::is_below_a_repository(self.folder.project()) {
            return Err(Nowhere::NoRepository.to_string());
        }
        if snaps.spans.is_empty() {
            return Err("no snapshot was taken before it began".into());
        }
        let work = snaps.spans.into_iter().filter(|span| span.by == By::Work);
        let (undone, open): (Vec<Span>, Vec<Span>) =
            work.filter(|span| self.has_run(span, live)).partition(|span| span.undone);
        for span in &open {
            let is_live = span.session.as_ref().is_some_and(|session| live.contains(session));
            if let Some(why) = &span.why_not {
                return Err(format!("there is no snapshot: {why}"));
            }
            if span.late || span.after.is_none() && !is_live {
                return Err("no engine looked when it ended: what it changed cannot be told from what others changed since".into());
            }
            if !span.repo.dir.is_dir() || !span.repo.top.is_dir() {
                return Err(format!("{} is gone", span.repo.top.display()));
            }
        }
        match (open.is_empty(), undone.is_empty()) {
            (true, false) => Err("it was rolled back already".into()),
            (true, true) => Err("it never began".into()),
            (false, _) => Ok(open),
        }
    }

    /// Returns whether an attempt ever ran: one that was held back or ended before has no folder.
    fn has_run(&self, span: &Span, live: &BTreeSet<SessionId>) -> bool {
        let Some(session) = span.session.as_ref() else { return true };
        let folder = self.folder.session_dir(session.as_str());
        span.ended.is_some() || live.contains(session) || folder.is_ok_and(|folder| folder.exists())
    }

    /// Looks what would be done to each work tree. `holds`: whether the lock is held, and the kept index is ours.
    pub(super) fn look_ahead(
        &self,
        wanted: &Wanted,
        holds: bool,
    ) -> Result<(Foreseen, Vec<Outlook>), Failed> {
        let mut told = Foreseen::default();
        let mut folders: BTreeMap<(PathBuf, PathBuf), Vec<(Which, Span)>> = BTreeMap::new();
        for which in &wanted.steps {
            match self.chosen(which, &wanted.live) {
                Err(why) => told.cannot.push((which.clone(), why)),
                Ok(spans) => {
                    for span in spans {
                        let folder = (span.repo.top.clone(), span.repo.prefix.clone());
                        folders.entry(folder).or_default().push((which.clone(), span));
                    }
                }
            }
        }
        let mut outlooks = Vec::new();
        for ((top, _), chosen) in folders {
            let is_other = |which: &Which, span: &Span| {
                span.repo.top == top && !chosen.iter().any(|(of, one)| of == which && one.began == span.began)
            };
            let others = self.all_snaps().into_iter().flat_map(|(which, snaps)| {
                snaps.spans.into_iter().map(move |span| (which.clone(), span)).collect::<Vec<_>>()
            });
            let others: Vec<(Which, Span)> = others
                .filter(|(which, span)| is_other(which, span) && self.has_run(span, &wanted.live))
                .collect();
            outlooks.extend(self.look_at(&chosen, &others, &wanted.live, holds, &mut told)?);
        }
        let undone: BTreeSet<&Which> =
            outlooks.iter().flat_map(|one| one.spans.iter().map(|(of, _)| of)).collect();
        told.steps = wanted.steps.iter().filter(|which| undone.contains(which)).cloned().collect();
        told.cannot.sort();
        told.cannot.dedup();
        Ok((told, outlooks))
    }

    fn look_at(
        &self,
        chosen: &[(Which, Span)],
        others: &[(Which, Span)],
        live: &BTreeSet<SessionId>,
        holds: bool,
        told: &mut Foreseen,
    ) -> Result<Option<Outlook>, Failed> {
        let Some(repo) = chosen.first().map(|(_, span)| span.repo.clone()) else { return Ok(None) };
        let now = match if holds { self.take(&repo, PATIENCE)? } else { self.peek(&repo)? } {
            Ok(tree) => tree,
            Err(why) => {
                told.cannot.extend(chosen.iter().map(|(which, _)| (which.clone(), why.clone())));
                return Ok(None);
            }
        };
        let mut outlook = Outlook { repo, now, paths: BTreeMap::new(), spans: Vec::new() };
        let mut paths: BTreeMap<PathBuf, Path1> = BTreeMap::new();
        for stretch in stretches(chosen, &outlook.now).into_iter().rev() {
            match self.changed_beside(&stretch, others, live, &outlook)? {
                Err(why) => told.cannot.extend(stretch.spans.into_iter().map(|(of, _)| (of, why.clone()))),
                Ok(beside) => {
                    self.take_back(&stretch, &beside, &outlook, &mut paths, told)?;
                    outlook.spans.extend(stretch.spans);
                }
            }
        }
        let changed = paths.into_iter().filter(|(_, path)| path.now != path.to_be);
        let (known, to_be): (BTreeMap<_, _>, BTreeMap<_, _>) =
            changed.map(|(path, one)| ((path.clone(), one.now), (path, one.to_be))).unzip();
        outlook.paths = to_be;
        leave_what_is_hidden(&mut outlook, &known, told);
        self.leave_what_is_blocked(&mut outlook, told);
        for (path, to_be) in &outlook.paths {
            let how = match (known.get(path).is_some_and(Option::is_some), to_be.is_some()) {
                (_, false) => Back::Removed,
                (true, true) => Back::Restored,
                (false, true) => Back::Returned,
            };
            told.back.push((how, shown(path)));
        }
        Ok(Some(outlook))
    }

    /// Returns the paths that somebody else changed in the time of a stretch, or why that is not known.
    fn changed_beside(
        &self,
        stretch: &Stretch,
        others: &[(Which, Span)],
        live: &BTreeSet<SessionId>,
        outlook: &Outlook,
    ) -> Result<Result<BTreeMap<Vec<u8>, Which>, String>, Failed> {
        let mut found = BTreeMap::new();
        for (which, span) in others {
            let is_live = span.session.as_ref().is_some_and(|session| live.contains(session));
            let ended = span.ended.unwrap_or(if is_live { u64::MAX } else { span.began });
            if span.began > stretch.ended || ended < stretch.began {
                continue;
            }
            let after = span.after.as_ref().or(is_live.then_some(&outlook.now));
            let (Some(before), Some(after)) = (&span.before, after) else {
                let name = name_of(which);
                return Ok(Err(format!("{name} worked at the same time, and what it changed is not known")));
            };
            let changes = compare(&self.git, &outlook.repo.at(), before, after)?;
            found.extend(changes.into_iter().map(|change| (change.path, which.clone())));
        }
        Ok(Ok(found))
    }

    /// Undoes one stretch in thought.
    fn take_back(
        &self,
        stretch: &Stretch,
        beside: &BTreeMap<Vec<u8>, Which>,
        outlook: &Outlook,
        paths: &mut BTreeMap<PathBuf, Path1>,
        told: &mut Foreseen,
    ) -> Result<(), Failed> {
        let at = outlook.repo.at();
        let since = compare(&self.git, &at, &stretch.after, &outlook.now)?;
        let since: BTreeMap<Vec<u8>, Option<Entry>> =
            since.into_iter().map(|change| (change.path, change.new)).collect();
        for change in compare(&self.git, &at, &stretch.before, &stretch.after)? {
            let now = since.get(&change.path).unwrap_or(&change.new).clone();
            let path = PathBuf::from(OsStr::from_bytes(&change.path));
            let current = paths.get(&path).map_or(&now, |known| &known.to_be);
            let why = match beside.get(&change.path) {
                _ if is_repository(&change) => Some("it is a repository of its own".to_owned()),
                Some(other) => Some(format!("{} worked on it at the same time", name_of(other))),
                None if *current != change.new && paths.contains_key(&path) => {
                    Some("it was changed between the steps".to_owned())
                }
                None if *current != change.new => Some("it was changed since".to_owned()),
                None => None,
            };
            if let Some(why) = why {
                told.leave(&path, &why);
            } else {
                let known = paths.entry(path).or_insert(Path1 { now, to_be: None });
                known.to_be = change.old;
            }
        }
        Ok(())
    }

    /// Leaves those paths alone in whose place something stands that would be lost.
    pub(super) fn leave_what_is_blocked(&self, outlook: &mut Outlook, told: &mut Foreseen) {
        let (folder, index) = (self.folder.worktrees_dir(), PathBuf::new());
        let stage = Stage { git: &self.git, at: outlook.repo.at(), folder, index };
        loop {
            let plan = outlook.paths.iter().map(|(path, to_be)| (path.clone(), to_be.is_some())).collect();
            let blocked = stage.in_the_way(&plan);
            if blocked.is_empty() {
                return;
            }
            for path in blocked {
                outlook.paths.remove(&path);
                told.leave(&path, "something stands in its place");
            }
        }
    }

    /// Takes a snapshot without the lock, through an index of its own: this is asked while an engine works.
    fn peek(&self, repo: &Repo) -> Result<Result<String, String>, Failed> {
        let index = self.folder.worktrees_dir().join(format!(".look-{}.index", std::process::id()));
        let tree = self.tree_with(repo, &index, &[]);
        fresh(&index)?;
        tree.map(Ok)
    }

    /// Takes a snapshot through another index, with these files whether git ignores them or not.
    pub(super) fn tree_with(&self, repo: &Repo, index: &Path, also: &[&Path]) -> Result<String, Failed> {
        fresh(index)?;
        let (at, kept) = (repo.at(), self.kept_index(repo));
        if copy_with_time(&kept, index).is_err() && copy_with_time(&at.dir.join("index"), index).is_err() {
            self.git.at(&at).index(index).args(["read-tree", "HEAD"]).run()?;
        }
        match self.add_all(repo, index, PATIENCE)? {
            Some((0 | 1, _)) => {}
            Some((_, said)) => return Err(Failed::Git { what: "add".into(), said }),
            None => return Err(Failed::Odd(format!("a snapshot of {} takes too long", repo.top.display()))),
        }
        if !also.is_empty() {
            force(&self.git, &at, index, also)?;
        }
        self.git.at(&at).index(index).args(["write-tree"]).line()
    }
}

/// Leaves those paths alone at which something stands that git ignores.
fn leave_what_is_hidden(
    outlook: &mut Outlook,
    known: &BTreeMap<PathBuf, Option<Entry>>,
    told: &mut Foreseen,
) {
    let top = outlook.repo.top.clone();
    let is_hidden = |path: &Path| {
        let stands = fs::symlink_metadata(top.join(path)).is_ok_and(|found| !found.is_dir());
        stands && known.get(path) == Some(&None)
    };
    let hidden: Vec<PathBuf> = outlook.paths.keys().filter(|path| is_hidden(path)).cloned().collect();
    for path in hidden {
        outlook.paths.remove(&path);
        told.leave(&path, "git ignores what is there now");
    }
}

/// Puts chosen spans together where their times overlap, the earliest first.
fn stretches(chosen: &[(Which, Span)], now: &str) -> Vec<Stretch> {
    let mut chosen: Vec<&(Which, Span)> = chosen.iter().collect();
    chosen.sort_by_key(|(_, span)| span.began);
    let mut found: Vec<Stretch> = Vec::new();
    for (which, span) in chosen {
        let (ended, after) = match (&span.after, span.ended) {
            (Some(after), Some(ended)) => (ended, after.clone()),
            _ => (u64::MAX, now.to_owned()),
        };
        let Some(before) = span.before.clone() else { continue };
        let member = (which.clone(), span.began);
        match found.last_mut().filter(|last| span.began < last.ended) {
            Some(last) => {
                if ended > last.ended {
                    (last.ended, last.after) = (ended, after);
                }
                last.spans.push(member);
            }
            None => found.push(Stretch { began: span.began, ended, before, after, spans: vec![member] }),
        }
    }
    found
}

/// Returns why a step with a work tree of its own has nothing to undo in the person's files.
fn isolated(state: TreeState) -> Option<String> {
    match state {
        TreeState::None => None,
        TreeState::Merged => {
            Some("it was merged from a work tree of its own: undo that change with git".into())
        }
        TreeState::Discarded => {
            Some("its work tree is discarded already, and your files are as they were".into())
        }
        TreeState::Made | TreeState::Recorded | TreeState::Kept | TreeState::Conflict => {
            Some("it works in a tree of its own, and your files are as they were: discard it instead".into())
        }
    }
}

fn is_repository(change: &Change) -> bool {
    [&change.old, &change.new].into_iter().flatten().any(|side| side.mode == GITLINK)
}

fn name_of(which: &Which) -> String {
    format!("{}/{}", which.delegation, which.step)
}

/// Returns a path as it is shown: names may hold anything.
pub(super) fn shown(path: &Path) -> String {
    text::line(&path.to_string_lossy()).into()
}
