//! Where a tool's files are: found by walking its folders once, then by looking only at folders that changed. What
//! was in a folder when the index was written is in it still if its time is the same.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hashbrown::HashMap;

use super::index::{Entry, Folder, Listed};
use super::look::{Base, Look, stamped};
use super::tool::{Sort, Tool};

/// So many folders are watched at most: those in which something happened last. In the others nothing is expected,
/// and the rare look finds it.
const WATCHED: usize = 512;
/// A folder that changed so lately may change again without a visible change of its time.
const RACY: Duration = Duration::from_secs(2);
/// No tool nests deeper; a loop of folders ends here.
const DEEPEST: usize = 8;

/// The folders of a tool.
#[derive(Debug, Default)]
pub struct Walk {
    folders: HashMap<OsString, Seen>,
    /// What the index knows of folders that were not looked at yet.
    before: HashMap<OsString, Before>,
    /// From where known files are looked at, while the index is compared.
    base: Option<Base>,
    /// Those that were found since this was last asked: nobody hears of what happens in them yet.
    fresh: Vec<PathBuf>,
    /// When something in or below each happened last.
    newest: HashMap<OsString, i64>,
    /// Whether the index knows of files that are gone.
    has_missed: bool,
}

/// How a folder was when it was looked at.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// When it was last changed, in nanoseconds: when files came or went.
    modified: i64,
    /// Whether the same time means the same list: it had not changed just then, and held no folder that may yet turn
    /// out to be of interest.
    is_settled: bool,
}

#[derive(Debug)]
struct Before {
    modified: i64,
    trails: Vec<(PathBuf, Entry)>,
    below: Vec<PathBuf>,
}

/// A trail that was found.
pub struct Found {
    pub path: PathBuf,
    pub look: Look,
    /// What the index knows of it.
    pub known: Option<Entry>,
}

impl Walk {
    /// Takes up what the index knows: folders with their times, and the trails in them.
    pub fn recall(&mut self, root: &Path, folders: Vec<Folder>) {
        self.base = Base::of(root);
        let known = folders.into_iter().map(|Folder { path, modified, below, trails }| {
            (path.into_os_string(), Before { modified, trails, below })
        });
        self.before = known.collect();
    }

    /// Forgets what the index knew: from now on everything changes. Returns whether it knew of files that are gone.
    pub fn begun(&mut self) -> bool {
        let has_missed = self.has_missed || self.before.values().any(|before| !before.trails.is_empty());
        self.before = HashMap::new();
        self.fresh = Vec::new();
        self.base = None;
        has_missed
    }

    /// Returns the folders that were found since this was last asked.
    pub fn fresh(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.fresh)
    }

    /// Returns all folders, each with the time at which it need not be listed again, with none that can be where it
    /// must be, and with the folders in it.
    pub fn settled(&self) -> HashMap<&OsStr, Listed<'_>> {
        let time = |seen: &Seen| if seen.is_settled { seen.modified } else { i64::MIN };
        let listed = |seen: &Seen| Listed { modified: time(seen), ..Listed::unsettled() };
        let mut all: HashMap<&OsStr, Listed<'_>> =
            self.folders.iter().map(|(path, seen)| (path.as_os_str(), listed(seen))).collect();
        for path in self.folders.keys() {
            if let Some((folder, name)) = apart(path)
                && let Some(above) = all.get_mut(folder)
            {
                above.below.push(name);
            }
        }
        all
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
            .filter(|(folder, seen)| {
                fs::metadata(folder).map_or(true, |meta| stamped(&meta).modified != seen.modified)
            })
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
        let mut folders: Vec<(&i64, &OsString)> = self.newest.iter().map(|(path, at)| (at, path)).collect();
        folders.sort_unstable_by(|one, two| two.cmp(one));
        folders.into_iter().take(WATCHED).map(|(_, path)| path.into()).collect()
    }

    /// Lists a folder: its trails go to `found`, the folders to look into are returned. `None`: it is gone.
    fn look(&mut self, tool: &impl Tool, folder: &Path, found: &mut Vec<Found>) -> Option<Vec<PathBuf>> {
        let before = self.before.remove(folder.as_os_str());
        let only = tool.only(folder);
        // What may be in it is known: that is looked at, and not the folder.
        let known = before.as_ref().filter(|before| !before.below.is_empty() && only.is_some());
        // The time before the list: what comes meanwhile is found by the next look.
        let modified = known.map(|known| known.modified).or_else(|| self.modified(folder));
        let Some(modified) = modified else {
            self.has_missed |= before.is_some();
            return self.lost(folder);
        };
        let first = found.len();
        let (below, is_settled) = match (before, only) {
            (Some(Before { modified: then, trails, below }), _) if then == modified => {
                let (all, base) = (trails.len(), self.base.as_ref());
                let look = |path: &PathBuf| match base {
                    Some(base) if base.has(path) => base.file(path),
                    Some(_) | None => Look::plain(path),
                };
                let trails = trails.into_iter();
                found.extend(trails.filter_map(|(path, entry)| {
                    Some(Found { look: look(&path)?, path, known: Some(entry) })
                }));
                self.has_missed |= found.len() - first < all;
                (below, modified != i64::MIN)
            }
            (_, Some(only)) => {
                // As in a list: a link may lead anywhere.
                let is_there = fs::symlink_metadata(&only).is_ok_and(|meta| meta.is_dir());
                (is_there.then_some(only).into_iter().collect(), is_past(modified))
            }
            (before, None) => {
                let Ok(listed) = list(tool, folder, found) else { return self.lost(folder) };
                let known = before.map(|before| before.trails).unwrap_or_default();
                self.has_missed |= !recognise(known, found.get_mut(first..).unwrap_or_default());
                (listed.below, is_past(modified) && !listed.has_others)
            }
        };
        if self.folders.insert(folder.into(), Seen { modified, is_settled }).is_none() {
            self.fresh.push(folder.to_owned());
        }
        let times = found.iter().skip(first).map(|found| found.look.stamped.modified);
        self.happened(&tool.tops(), folder, times.fold(modified, i64::max));
        Some(below)
    }

    fn lost(&mut self, folder: &Path) -> Option<Vec<PathBuf>> {
        self.folders.remove(folder.as_os_str());
        self.newest.remove(folder.as_os_str());
        None
    }

    /// Returns when a folder was last changed. The first one may be a link, and is looked at by its whole path.
    fn modified(&self, folder: &Path) -> Option<i64> {
        let near = self.base.as_ref().and_then(|base| base.modified(folder));
        near.or_else(|| fs::metadata(folder).ok().map(|meta| stamped(&meta).modified))
    }

    /// Notes when something happened in a folder, and so in those above it.
    fn happened(&mut self, tops: &[PathBuf], folder: &Path, at: i64) {
        for folder in std::iter::successors(Some(folder.as_os_str()), |folder| above(folder)) {
            match self.newest.get_mut(folder) {
                // Those above have seen it too.
                Some(newest) if *newest >= at => return,
                Some(newest) => *newest = at,
                None => drop(self.newest.insert(folder.into(), at)),
            }
            if tops.iter().any(|top| top.as_os_str() == folder) {
                return;
            }
        }
    }
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

fn list(tool: &impl Tool, folder: &Path, found: &mut Vec<Found>) -> io::Result<Content> {
    let mut listed = Content { below: Vec::new(), has_others: false };
    for entry in fs::read_dir(folder)?.flatten() {
        // Links are not followed: they may lead anywhere, and round in circles.
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        match tool.sort(&path, kind.is_dir()) {
            Sort::Folder if kind.is_dir() => listed.below.push(path),
            Sort::Trail if kind.is_file() => {
                let look = entry.metadata().ok().as_ref().and_then(Look::of);
                found.extend(look.map(|look| Found { path, look, known: None }));
            }
            Sort::Folder | Sort::Trail | Sort::Side(_) | Sort::Other => listed.has_others |= kind.is_dir(),
        }
    }
    Ok(listed)
}

fn is_past(modified: i64) -> bool {
    let modified = UNIX_EPOCH.checked_add(Duration::from_nanos(modified.try_into().unwrap_or(0)));
    let since = modified.and_then(|modified| SystemTime::now().duration_since(modified).ok());
    since.is_some_and(|since| since > RACY)
}
