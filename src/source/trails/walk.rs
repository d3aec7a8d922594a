//! Where a tool's files are: found by walking its folders once, then by looking only at folders that changed. What
//! was in a folder when the index was written is in it still if its time is the same.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hashbrown::HashMap;

use super::folder::{self, Links, There, is_absent};
use super::index::{Entry, Folder, Listed};
use super::look::{Base, Look};
use super::tool::{Sort, Tool};

/// So many folders are watched at most: those in which something happened last. In the others nothing is expected,
/// and the rare look finds it.
const WATCHED: usize = 512;
/// A folder that changed so lately may change again without a visible change of its time.
const RACY: Duration = Duration::from_secs(2);
/// So many folders that the index knows are looked at before anything of it is told.
const LIVELY: usize = 32;
/// No tool nests deeper; a loop of folders ends here.
const DEEPEST: usize = 8;

/// The folders of a tool.
#[derive(Debug, Default)]
pub struct Walk {
    /// Those that everything is below of.
    tops: Vec<PathBuf>,
    folders: HashMap<OsString, Seen>,
    /// Those that cannot be looked into, and why.
    closed: BTreeMap<PathBuf, String>,
    /// Whether some are only taken to be as the index knows them.
    has_trusted: bool,
    /// Those of them that are still to be looked at, the next one last: once that has begun.
    unchecked: Vec<PathBuf>,
    /// Those that were found since this was last asked: nobody hears of what happens in them yet.
    fresh: Vec<PathBuf>,
}

/// How a folder was when it was looked at.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// When it was last changed, in nanoseconds: when files came or went.
    modified: i64,
    /// Whether the same time means the same list: it had not changed just then, and held no folder that may yet turn
    /// out to be of interest.
    is_settled: bool,
    /// When something in or below it happened last.
    newest: i64,
    /// Whether it is only taken to be as the index knows it.
    is_trusted: bool,
}

/// What became of a folder that the index knows.
enum Fate {
    /// It is as it was.
    Kept,
    /// It was listed anew, and has these folders in it.
    Listed(Vec<PathBuf>),
    Gone,
}

/// What a look at a known folder told.
pub enum Looked {
    Same,
    /// Something came or went; these trails are in it, and in folders that are new.
    Other(Vec<Found>),
    /// It is no folder any more.
    Gone,
}

/// A trail that was found.
pub struct Found {
    pub path: PathBuf,
    /// How it is.
    pub look: Look,
    /// What the index knows of it.
    pub known: Option<Entry>,
}

/// What was found with the help of the index.
pub struct Recalled {
    /// Trails that nobody looked at: they are taken to be as the index knows them. A list for each folder, as it was.
    pub known: Vec<Vec<(PathBuf, Entry)>>,
    pub found: Vec<Found>,
    /// Whether it knows of files that are gone.
    pub has_missed: bool,
}

impl Walk {
    /// Finds all trails below the tops, as the index knows them: only folders in which something is likely to have
    /// happened are looked at now. A look at every folder and every file is most of what a second start costs, much
    /// more if they must be fetched from a disk, and nearly all are as they were: see [`Walk::next_unchecked`].
    pub fn recall(&mut self, tool: &impl Tool, folders: Vec<Folder>) -> Recalled {
        let (tops, newest) = (tool.tops(), newest(&folders));
        self.tops.clone_from(&tops);
        let lively = lively(&newest);
        let known = Vec::with_capacity(folders.len());
        let mut all = Recalled { known, found: Vec::new(), has_missed: false };
        let mut fates: Vec<Fate> = Vec::with_capacity(folders.len());
        self.folders.reserve(folders.len());
        for (Folder { path, above, modified, trails }, newest) in folders.into_iter().zip(newest) {
            let is_there = match above.map(|above| fates.get(above)) {
                None => tops.contains(&path),
                Some(Some(Fate::Kept)) => true,
                Some(Some(Fate::Listed(below))) => below.contains(&path),
                Some(Some(Fate::Gone) | None) => false,
            };
            let is_trusted = above.is_some() && newest < lively && modified != i64::MIN;
            let now = match is_there {
                true if is_trusted => Some(modified),
                true => self.modified(&path),
                false => None,
            };
            let is_same = now == Some(modified) && modified != i64::MIN;
            if is_same {
                all.known.push(trails);
                fates.push(Fate::Kept);
                self.has_trusted |= is_trusted;
                self.folders.insert(path.into(), Seen { modified, is_settled: true, newest, is_trusted });
                continue;
            }
            let first = all.found.len();
            let listed = if is_there { self.look(tool, &path, &mut all.found) } else { None };
            all.has_missed |= !recognise(trails, all.found.get_mut(first..).unwrap_or_default());
            fates.push(listed.map_or(Fate::Gone, Fate::Listed));
        }
        // What is new in those that were listed, and tops that the index does not know.
        let listed = fates.into_iter().filter_map(|fate| match fate {
            Fate::Listed(below) => Some(below),
            Fate::Kept | Fate::Gone => None,
        });
        for folder in listed.flatten().chain(tops).collect::<Vec<_>>() {
            if !self.knows(&folder) {
                all.found.extend(self.whole(tool, &folder));
            }
        }
        self.fresh = Vec::new();
        all
    }

    /// Looks at the next folder that was taken to be as the index knows it. `None`: there is no more.
    pub fn next_unchecked(&mut self, tool: &impl Tool, base: Option<&Base>) -> Option<Looked> {
        if std::mem::take(&mut self.has_trusted) {
            let trusted = self.folders.iter().filter(|(_, seen)| seen.is_trusted);
            let mut trusted: Vec<(i64, &OsString)> =
                trusted.map(|(path, seen)| (seen.newest, path)).collect();
            // Newest first.
            trusted.sort_unstable();
            self.unchecked = trusted.into_iter().map(|(_, path)| path.into()).collect();
        }
        let folder = self.unchecked.pop()?;
        // What alone may be in it is known: that is looked at, and not the folder.
        let is_known = tool.only(&folder).is_some_and(|only| self.knows(&only));
        if is_known || self.is_same(&folder, base) {
            return Some(Looked::Same);
        }
        let found = self.again(tool, &folder);
        Some(if self.knows(&folder) { Looked::Other(found) } else { Looked::Gone })
    }

    /// Returns whether folders are still to be looked at.
    pub fn has_unchecked(&self) -> bool {
        self.has_trusted || !self.unchecked.is_empty()
    }

    /// Takes it that somebody else looks at all folders.
    pub fn check_none(&mut self) {
        (self.has_trusted, self.unchecked) = (false, Vec::new());
    }

    /// Returns whether a folder is as it was when it was looked at.
    fn is_same(&self, folder: &Path, base: Option<&Base>) -> bool {
        let near = base.and_then(|base| base.modified(folder));
        let now = near.or_else(|| self.modified(folder));
        self.folders.get(folder.as_os_str()).is_some_and(|seen| now == Some(seen.modified))
    }

    /// Returns the folders that were found since this was last asked.
    pub fn fresh(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.fresh)
    }

    /// Returns all folders, each with the time at which it need not be listed again, and with none that can be where
    /// it must be.
    pub fn settled(&self) -> HashMap<&OsStr, Listed<'_>> {
        // What cannot be looked into is looked for again by the next start: nothing of it is in the index.
        let has_closed =
            |path: &OsStr| self.closed.keys().any(|closed| above(closed.as_os_str()) == Some(path));
        let listed = |path: &OsStr, seen: &Seen| {
            let is_settled = seen.is_settled && !has_closed(path);
            Listed { modified: if is_settled { seen.modified } else { i64::MIN }, ..Listed::unsettled() }
        };
        self.folders.iter().map(|(path, seen)| (path.as_os_str(), listed(path, seen))).collect()
    }

    /// Walks a folder and all below it; returns the trails in it.
    pub fn whole(&mut self, tool: &impl Tool, folder: &Path) -> Vec<Found> {
        let mut found = Vec::new();
        let mut stack = vec![(folder.to_owned(), 0)];
        while let Some((folder, depth)) = stack.pop() {
            let Some(below) = self.look(tool, &folder, &mut found) else { continue };
            if depth < DEEPEST {
                stack.extend(below.into_iter().map(|folder| (folder, depth + 1)));
            }
        }
        found
    }

    /// Looks again into a folder, and into those in it that are new; returns the trails in them.
    pub fn again(&mut self, tool: &impl Tool, folder: &Path) -> Vec<Found> {
        let mut found = Vec::new();
        for below in self.look(tool, folder, &mut found).unwrap_or_default() {
            if !self.knows(&below) {
                found.extend(self.whole(tool, &below));
            }
        }
        found
    }

    /// Looks again into the folders in which files came or went; returns the trails in them.
    pub fn changed(&mut self, tool: &impl Tool) -> Vec<Found> {
        let mut found = Vec::new();
        let changed: Vec<PathBuf> = self
            .folders
            .iter()
            .filter(|(folder, seen)| self.modified(Path::new(folder)) != Some(seen.modified))
            .map(|(folder, _)| folder.into())
            .collect();
        for folder in changed {
            found.extend(self.again(tool, &folder));
        }
        found
    }

    /// Returns whether a folder was looked into.
    pub fn knows(&self, folder: &Path) -> bool {
        self.folders.contains_key(folder.as_os_str())
    }

    /// Returns the folders in which something is most likely to happen.
    pub fn liveliest(&self) -> Vec<PathBuf> {
        let all = self.folders.iter().map(|(path, seen)| (seen.newest, path));
        let mut folders: Vec<(i64, &OsString)> = all.collect();
        if folders.len() > WATCHED {
            folders.select_nth_unstable_by(WATCHED, |one, two| two.cmp(one));
            folders.truncate(WATCHED);
        }
        folders.sort_unstable_by(|one, two| two.cmp(one));
        folders.into_iter().map(|(_, path)| path.into()).collect()
    }

    /// Lists a folder: its trails go to `found`, the folders to look into are returned. `None`: it is gone.
    fn look(&mut self, tool: &impl Tool, folder: &Path, found: &mut Vec<Found>) -> Option<Vec<PathBuf>> {
        // The time before the list: what comes meanwhile is found by the next look.
        let modified = match self.there(folder) {
            There::Since(modified) => modified,
            There::Gone => return self.lost(folder),
            There::Closed(error) => return self.shut(folder, &error),
        };
        let first = found.len();
        let (below, is_settled) = if let Some(only) = tool.only(folder) {
            // As in a list: a link may lead anywhere.
            let is_there = match There::of(&only, Links::None) {
                There::Since(_) => true,
                There::Gone => false,
                There::Closed(error) => return self.shut(folder, &error),
            };
            (is_there.then_some(only).into_iter().collect(), is_past(modified))
        } else {
            let listed = match list(tool, folder, &self.tops, found) {
                Ok(listed) => listed,
                Err(error) if is_absent(&error) => return self.lost(folder),
                Err(error) => return self.shut(folder, &error),
            };
            (listed.below, is_past(modified) && !listed.has_others)
        };
        self.closed.remove(folder);
        let before = self.folders.get(folder.as_os_str()).map_or(i64::MIN, |seen| seen.newest);
        let seen = Seen { modified, is_settled, newest: before, is_trusted: false };
        if self.folders.insert(folder.into(), seen).is_none() {
            self.fresh.push(folder.to_owned());
        }
        let times = found.iter().skip(first).map(|found| found.look.stamped.modified);
        self.happened(folder, times.fold(modified, i64::max));
        Some(below)
    }

    fn lost(&mut self, folder: &Path) -> Option<Vec<PathBuf>> {
        self.folders.remove(folder.as_os_str());
        self.closed.remove(folder);
        None
    }

    /// Notes that a folder cannot be looked into.
    fn shut(&mut self, folder: &Path, error: &io::Error) -> Option<Vec<PathBuf>> {
        self.folders.remove(folder.as_os_str());
        self.closed.insert(folder.to_owned(), folder::closed(folder, error));
        None
    }

    /// Notes that a trail which was there is not found: perhaps because nobody may look into its folder any more.
    pub fn missed(&mut self, trail: &Path) {
        if let (Err(error), Some(folder)) = (fs::symlink_metadata(trail), trail.parent())
            && !is_absent(&error)
        {
            self.shut(folder, &error);
        }
    }

    /// Returns the folders that cannot be looked into, each with the reason.
    pub fn closed(&self) -> impl ExactSizeIterator<Item = (&PathBuf, &String)> {
        self.closed.iter()
    }

    /// Returns when a folder was last changed; `None`: it is gone, or cannot be looked at.
    fn modified(&self, folder: &Path) -> Option<i64> {
        if let There::Since(modified) = self.there(folder) { Some(modified) } else { None }
    }

    fn there(&self, folder: &Path) -> There {
        let is_top = |path: &OsStr| self.tops.iter().any(|top| top.as_os_str() == path);
        let links = match above(folder.as_os_str()) {
            _ if is_top(folder.as_os_str()) => Links::Any,
            Some(above) if is_top(above) => Links::Out(&self.tops),
            Some(_) | None => Links::None,
        };
        There::of(folder, links)
    }

    /// Notes when something happened in a folder, and so in those above it.
    fn happened(&mut self, folder: &Path, at: i64) {
        for folder in std::iter::successors(Some(folder.as_os_str()), |folder| above(folder)) {
            match self.folders.get_mut(folder) {
                // Those above have seen it too.
                Some(seen) if seen.newest >= at => return,
                Some(seen) => seen.newest = at,
                // It is above all that are looked into.
                None => return,
            }
        }
    }
}

/// Returns when something in or below each folder happened last.
fn newest(folders: &[Folder]) -> Vec<i64> {
    let own = |folder: &Folder| {
        folder.trails.iter().map(|(_, entry)| entry.stamped.modified).fold(folder.modified, i64::max)
    };
    let mut newest: Vec<i64> = folders.iter().map(own).collect();
    // Each comes after the one that it is in.
    for (nth, folder) in folders.iter().enumerate().rev() {
        let at = newest.get(nth).copied().unwrap_or(i64::MIN);
        if let Some(above) = folder.above.and_then(|above| newest.get_mut(above)) {
            *above = at.max(*above);
        }
    }
    newest
}

/// Returns since when something happened in each of those folders in which it did last.
fn lively(newest: &[i64]) -> i64 {
    let mut newest = newest.to_vec();
    let at = newest.len().checked_sub(LIVELY);
    at.map_or(i64::MIN, |at| *newest.select_nth_unstable(at).1)
}

/// Gives files that were listed what the index knows of them; returns whether all that it knows are there.
fn recognise(known: Vec<(PathBuf, Entry)>, found: &mut [Found]) -> bool {
    let mut known: HashMap<OsString, Entry> =
        known.into_iter().map(|(path, entry)| (path.into_os_string(), entry)).collect();
    for one in found {
        one.known = known.remove(one.path.as_os_str());
    }
    known.is_empty()
}

/// Returns the folder that a path is in.
fn above(path: &OsStr) -> Option<&OsStr> {
    apart(path).map(|(folder, _)| folder)
}

/// Returns the folder that a path is in and its name there, byte by byte: what the system's own type does costs more than
/// all that is asked of it.
pub fn apart(path: &OsStr) -> Option<(&OsStr, &OsStr)> {
    let bytes = path.as_bytes();
    let slash = memchr::memrchr(b'/', bytes).filter(|slash| *slash > 0)?;
    let (folder, name) = bytes.split_at_checked(slash)?;
    Some((OsStr::from_bytes(folder), OsStr::from_bytes(name.get(1..)?)))
}

/// What is in a folder, but for its trails.
struct Content {
    below: Vec<PathBuf>,
    /// Whether there are folders that are of no interest now.
    has_others: bool,
}

fn list(tool: &impl Tool, folder: &Path, tops: &[PathBuf], found: &mut Vec<Found>) -> io::Result<Content> {
    let mut listed = Content { below: Vec::new(), has_others: false };
    let (mut links, is_top) = (Vec::new(), tops.iter().any(|top| top == folder));
    for entry in fs::read_dir(folder)?.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_symlink() {
            // Which of these are followed their look decides; others never are.
            links.extend((is_top && tool.sort(&path, true) == Sort::Folder).then_some(path));
            continue;
        }
        match tool.sort(&path, kind.is_dir()) {
            Sort::Folder if kind.is_dir() => listed.below.push(path),
            Sort::Trail if kind.is_file() => {
                let look = entry.metadata().ok().as_ref().and_then(Look::of);
                found.extend(look.map(|look| Found { path, look, known: None }));
            }
            Sort::Folder | Sort::Trail | Sort::Side(_) | Sort::Other => listed.has_others |= kind.is_dir(),
        }
    }
    listed.below.extend(one_each(links));
    Ok(listed)
}

/// Returns of links that lead to the same place one, always the same; and those that lead nowhere.
fn one_each(mut links: Vec<PathBuf>) -> Vec<PathBuf> {
    links.sort();
    let mut targets = Vec::new();
    links.retain(|link| {
        let target = folder::target(link).ok();
        let is_new = target.is_none() || !targets.contains(&target);
        targets.push(target);
        is_new
    });
    links
}

fn is_past(modified: i64) -> bool {
    let modified = UNIX_EPOCH.checked_add(Duration::from_nanos(modified.try_into().unwrap_or(0)));
    let since = modified.and_then(|modified| SystemTime::now().duration_since(modified).ok());
    since.is_some_and(|since| since > RACY)
}
