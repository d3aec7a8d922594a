//! Snapshots of the person's files before and after a step that works in them, so that what it changed can be undone.
//!
//! They are taken through an index of their own that is kept between them: only what changed since the last one is read.
//! The trees hang under hidden refs, and what is known of them is in a file of the step. A snapshot is never a reason
//! not to begin: where there is none, that and why is what is known.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::git::{At, Failed};
use super::record::{read, remove};
use super::repo::{Repo, copy_with_time, fresh, lock_of, point};
use super::shop::{Shop, Which, ref_name};
use crate::model::id::{DelegationId, SessionId, file_name};

/// After one that took too long none is tried for so long.
const REST: Duration = Duration::from_mins(10);
/// The end of a step's file.
pub(super) const SNAPS: &str = "snap";

/// What is known of one step: everything that was written into the person's files for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Snaps {
    pub spans: Vec<Span>,
}

/// A time in which the person's files were written to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Span {
    pub by: By,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    pub repo: Repo,
    /// Its place among all of them: the next one is a greater number.
    pub began: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
    /// The trees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Nobody looked when it ended: what it left is known only from later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// What it changed was undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// Why a tree is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

/// What wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum By {
    /// An attempt of the step.
    Work,
    /// We ourselves, when we brought its change in, or took one back.
    Us,
}

/// What the shop remembers of snapshots while it lives.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The last place that was given.
    last: Option<u64>,
    repos: BTreeMap<PathBuf, Repo>,
    /// The work trees of which one took too long, and when.
    slow: BTreeMap<PathBuf, Instant>,
}

/// A tree, or why there is none.
type Taken = Result<String, String>;

impl Shop {
    /// Takes the snapshot before an attempt of a step, which works in this folder. Where that is in no repository,
    /// nothing is.
    pub fn before(
        &self,
        which: &Which,
        session: &SessionId,
        root: &Path,
        within: Duration,
    ) -> Result<(), Failed> {
        let _held = self.lock()?;
        let Some(repo) = self.repo_of(root)? else { return Ok(()) };
        let mut snaps = self.snaps(which)?;
        // Begun again under the same name, it never began before.
        snaps.spans.retain(|span| span.session.as_ref() != Some(session));
        let began = self.next();
        let taken = self.take_or_say(&repo, within);
        self.fuse.pass()?;
        let (before, why_not) = self.held_tree(which, &repo, began, "before", taken);
        let (session, by) = (Some(session.clone()), By::Work);
        let (ended, after, late, undone) = (None, None, false, false);
        snaps.spans.push(Span { by, session, repo, began, ended, before, after, late, undone, why_not });
        self.fuse.pass()?;
        self.note_snaps(which, &snaps)
    }

    /// Takes the snapshot after an attempt; `late` if it ended before anybody looked.
    pub fn after(
        &self,
        which: &Which,
        session: &SessionId,
        late: bool,
        within: Duration,
    ) -> Result<(), Failed> {
        if !self.has_snapshots(which) {
            return Ok(());
        }
        let _held = self.lock()?;
        let mut snaps = self.snaps(which)?;
        let is_it = |span: &&mut Span| span.session.as_ref() == Some(session) && span.ended.is_none();
        let Some(span) = snaps.spans.iter_mut().find(is_it) else { return Ok(()) };
        if span.before.is_some() {
            let taken = self.take_or_say(&span.repo, within);
            self.fuse.pass()?;
            (span.after, span.why_not) = self.held_tree(which, &span.repo, span.began, "after", taken);
        }
        (span.ended, span.late) = (Some(self.next()), late);
        self.fuse.pass()?;
        self.note_snaps(which, &snaps)
    }

    /// Returns whether anything is known of a step.
    pub fn has_snapshots(&self, which: &Which) -> bool {
        self.file(which, SNAPS).is_ok_and(|path| path.exists())
    }

    /// Notes what we ourselves wrote into the person's files, in one go.
    pub(super) fn note_ours(
        &self,
        which: &Which,
        repo: &Repo,
        before: &str,
        after: &str,
    ) -> Result<(), Failed> {
        let mut snaps = self.snaps(which)?;
        let known = |span: &Span| {
            span.by == By::Us
                && span.before.as_deref() == Some(before)
                && span.after.as_deref() == Some(after)
        };
        // Cut off, and done again.
        if snaps.spans.last().is_some_and(known) {
            return Ok(());
        }
        let began = self.next();
        let (before, no_before) = self.held_tree(which, repo, began, "before", Ok(before.to_owned()));
        let (after, no_after) = self.held_tree(which, repo, began, "after", Ok(after.to_owned()));
        let why_not = no_before.or(no_after);
        let (by, session, repo, ended) = (By::Us, None, repo.clone(), Some(self.next()));
        let (late, undone) = (false, false);
        snaps.spans.push(Span { by, session, repo, began, ended, before, after, late, undone, why_not });
        self.note_snaps(which, &snaps)
    }

    /// Keeps a tree under a ref of the step.
    fn held_tree(
        &self,
        which: &Which,
        repo: &Repo,
        began: u64,
        side: &str,
        taken: Taken,
    ) -> (Option<String>, Option<String>) {
        let held = taken.and_then(|tree| {
            let name = format!("{}.undo/{began}-{side}", ref_name(which));
            let pointed = point(&self.git, &repo.at(), &repo.common, &name, &tree);
            pointed.map(|()| tree).map_err(|error| error.to_string())
        });
        match held {
            Ok(tree) => (Some(tree), None),
            Err(why) => (None, Some(why)),
        }
    }

    fn take_or_say(&self, repo: &Repo, within: Duration) -> Taken {
        self.take(repo, within).unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Takes a snapshot of a work tree through the index that is kept for that.
    pub(super) fn take(&self, repo: &Repo, within: Duration) -> Result<Taken, Failed> {
        let slow =
            |seconds: f64| format!("a snapshot of {} takes longer than {seconds} s", repo.top.display());
        let is_slow = |at: &Instant| at.elapsed() < REST;
        if self.memory.borrow().slow.get(&repo.top).is_some_and(is_slow) {
            return Ok(Err(slow(within.as_secs_f64())));
        }
        let index = self.kept_index(repo);
        for is_last in [false, true] {
            self.renew(&repo.at(), &index)?;
            match self.add_all(repo, &index, within)? {
                // Exit code 1: something could not be added, such as a file that may not be read. The rest is.
                Some((0 | 1, _)) => {
                    return self.git.at(&repo.at()).index(&index).args(["write-tree"]).line().map(Ok);
                }
                // What is kept is of no use, perhaps after a power cut: once more from the person's.
                Some(_) if !is_last => drop_index(&index)?,
                Some((_, said)) => return Err(Failed::Git { what: "add".into(), said }),
                None => {
                    self.memory.borrow_mut().slow.insert(repo.top.clone(), Instant::now());
                    return Ok(Err(slow(within.as_secs_f64())));
                }
            }
        }
        Ok(Err("git could not take it".into()))
    }

    /// Brings everything that is in the folder of a step into an index, but for what is ignored and for the state
    /// folder. What is around that folder may be a person's whole home, and is left out.
    pub(super) fn add_all(
        &self,
        repo: &Repo,
        index: &Path,
        within: Duration,
    ) -> Result<Option<(i32, String)>, Failed> {
        let at = repo.at();
        let mut whole = std::ffi::OsString::from(":(top,literal)");
        whole.push(&repo.prefix);
        let mut call = self.git.at(&at).index(index).args(["add", "--all", "--ignore-errors", "--"]);
        call = call.args([whole]);
        let root = fs::canonicalize(&self.folder.root);
        if let Some(below) = root.ok().and_then(|root| root.strip_prefix(&at.tree).map(Path::to_owned).ok()) {
            let mut except = std::ffi::OsString::from(":(top,exclude,literal)");
            except.push(below);
            call = call.args([except]);
        }
        let nothing = |said: &str| said.contains("did not match any files");
        Ok(call.within(within)?.map(|(code, said)| (if nothing(&said) { 0 } else { code }, said)))
    }

    /// Makes the kept index fit to be used: begun from the person's own whenever that is another than it was.
    fn renew(&self, at: &At, index: &Path) -> Result<(), Failed> {
        // We hold the lock: what locks it was left by a run that was cut off.
        remove(&lock_of(index))?;
        let (own, seen) = (at.dir.join("index"), index.with_extension("seen"));
        let now = stamp(&own);
        if index.exists() && fs::read_to_string(&seen).is_ok_and(|seen| seen == now) {
            return Ok(());
        }
        fresh(index)?;
        match copy_with_time(&own, index) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.git.at(at).index(index).args(["read-tree", "HEAD"]).run()?;
            }
            Err(error) => return Err(Failed::file("copy", &own)(error)),
        }
        fs::write(&seen, now).map_err(Failed::file("write", &seen))
    }

    /// Returns the index that is kept for a folder of a work tree.
    pub(super) fn kept_index(&self, repo: &Repo) -> PathBuf {
        let folder = repo.top.join(&repo.prefix);
        let name =
            folder.as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
                (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
            });
        self.folder.worktrees_dir().join(format!(".snapshots-{name:016x}.index"))
    }

    /// Returns the repository of a folder, asked of git once.
    fn repo_of(&self, root: &Path) -> Result<Option<Repo>, Failed> {
        let known = self.memory.borrow().repos.get(root).cloned();
        if let Some(repo) = known.filter(|repo| repo.dir.is_dir()) {
            return Ok(Some(repo));
        }
        let Ok(repo) = Repo::find(&self.git, root)? else { return Ok(None) };
        self.memory.borrow_mut().repos.insert(root.to_owned(), repo.clone());
        Ok(Some(repo))
    }

    /// Returns the next place in the order of everything that was written.
    fn next(&self) -> u64 {
        let known = self.memory.borrow().last;
        let last = known.unwrap_or_else(|| {
            let all = self.all_snaps();
            let spans = all.iter().flat_map(|(_, snaps)| &snaps.spans);
            spans.map(|span| span.ended.unwrap_or(span.began).max(span.began)).max().unwrap_or(0)
        });
        self.memory.borrow_mut().last = Some(last + 1);
        last + 1
    }

    pub(super) fn snaps(&self, which: &Which) -> Result<Snaps, Failed> {
        Ok(read(&self.file(which, SNAPS)?)?.unwrap_or_default())
    }

    pub(super) fn note_snaps(&self, which: &Which, snaps: &Snaps) -> Result<(), Failed> {
        let path = self.file(which, SNAPS)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Failed::file("make", folder))?;
        }
        let text = serde_json::to_vec(snaps).map_err(|error| Failed::Odd(error.to_string()))?;
        let new = path.with_extension("new");
        // Not synced: an agent waits. What a power cut leaves is whole, or counts as no snapshot.
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &path));
        written.map_err(Failed::file("write", &path))
    }

    /// Returns what is known of all steps.
    pub(super) fn all_snaps(&self) -> Vec<(Which, Snaps)> {
        let delegations = fs::read_dir(self.folder.worktrees_dir()).into_iter().flatten().flatten();
        let of = |entry: fs::DirEntry| {
            let delegation = DelegationId::from(entry.file_name().to_string_lossy().into_owned());
            let steps = snapped(&entry.path()).into_iter();
            steps.filter_map(move |step| {
                let which = Which { delegation: delegation.clone(), step: step.as_str().into() };
                Some((which.clone(), self.snaps(&which).ok()?))
            })
        };
        delegations.flat_map(of).collect()
    }

    /// Lets go of the snapshots of a delegation that has left.
    pub(super) fn forget_snaps(&self, delegation: &DelegationId, folder: &Path) -> Result<(), Failed> {
        if file_name(delegation.as_str()).is_err() {
            return Ok(());
        }
        for step in snapped(folder) {
            let which = Which { delegation: delegation.clone(), step: step.as_str().into() };
            let snaps = self.snaps(&which)?;
            let repos: BTreeMap<&Path, &Repo> =
                snaps.spans.iter().map(|span| (span.repo.common.as_path(), &span.repo)).collect();
            let below = format!("{}.undo/", ref_name(&which));
            for repo in repos.values().filter(|repo| repo.common.is_dir()) {
                // By what all work trees share: the one that it worked in may be gone.
                let at = At { dir: repo.common.clone(), tree: repo.common.clone() };
                let list = ["for-each-ref", "--format=delete %(refname)", &below];
                let list = self.git.at(&at).args(list).run()?;
                if list.is_empty() {
                    continue;
                }
                let path = self.file(&which, "list")?;
                fs::write(&path, list).map_err(Failed::file("write", &path))?;
                let input = fs::File::open(&path).map_err(Failed::file("read", &path))?;
                let gone = self.git.at(&at).input(input).args(["update-ref", "--no-deref", "--stdin"]).run();
                remove(&path)?;
                gone?;
            }
            remove(&self.file(&which, SNAPS)?)?;
        }
        Ok(())
    }
}

fn drop_index(index: &Path) -> Result<(), Failed> {
    fresh(index)?;
    remove(&index.with_extension("seen"))
}

/// Returns the steps of a delegation's folder that have snapshots.
fn snapped(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some(name.strip_prefix('.')?.strip_suffix(".snap")?.to_owned())).collect()
}

/// Returns by what another state of a file is known.
fn stamp(path: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    match fs::metadata(path) {
        Ok(meta) => format!("{} {} {}.{}", meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()),
        Err(_) => "none".into(),
    }
}
