//! Where a tool's files are: found by walking its folders once, then by looking only at folders that changed. What
//! was in a folder when the index was written is in it still if its time is the same.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hashbrown::HashMap;

use super::file::{plain_file, stamped};
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
    folders: HashMap<PathBuf, Seen>,
    /// What the index knows of folders that were not looked at yet.
    before: HashMap<PathBuf, Before>,
    /// Those that were found since this was last asked: nobody hears of what happens in them yet.
    fresh: Vec<PathBuf>,
    /// When something in or below each happened last.
    newest: HashMap<PathBuf, i64>,
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

#[derive(Debug, Default)]
struct Before {
    modified: i64,
    trails: Vec<PathBuf>,
    below: Vec<PathBuf>,
}

/// A trail that was found.
pub struct Found {
    pub path: PathBuf,
    pub meta: Metadata,
}

impl Walk {
    /// Takes up what the index knows: folders with their times, and the trails in them.
    pub fn recall<'a>(&mut self, folders: Vec<(PathBuf, i64)>, trails: impl Iterator<Item = &'a PathBuf>) {
        let known = |(path, modified)| (path, Before { modified, ..Before::default() });
        self.before = folders.iter().cloned().map(known).collect();
        for (path, _) in folders {
            if let Some(above) = path.parent().and_then(|above| self.before.get_mut(above)) {
                above.below.push(path);
            }
        }
        for path in trails {
            if let Some(folder) = path.parent().and_then(|folder| self.before.get_mut(folder)) {
                folder.trails.push(path.clone());
            }
        }
    }

    /// Forgets what the index knew: from now on everything changes.
    pub fn begun(&mut self) {
        self.before = HashMap::new();
        self.fresh = Vec::new();
    }

    /// Returns the folders that were found since this was last asked.
    pub fn fresh(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.fresh)
    }

    /// Returns all folders, each with the time at which it need not be listed again; with none that can be where it
    /// must be.
    pub fn settled(&self) -> Vec<(&Path, i64)> {
        let time = |seen: &Seen| if seen.is_settled { seen.modified } else { i64::MIN };
        self.folders.iter().map(|(path, seen)| (path.as_path(), time(seen))).collect()
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
            if !self.folders.contains_key(&below) {
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
            .map(|(folder, _)| folder.clone())
            .collect();
        for folder in changed {
            found.extend(self.again(tool, &folder));
        }
        found
    }

    /// Returns whether a folder was looked into.
    pub fn knows(&self, folder: &Path) -> bool {
        self.folders.contains_key(folder)
    }

    /// Returns the folders in which something is most likely to happen.
    pub fn liveliest(&self) -> Vec<PathBuf> {
        let mut folders: Vec<(&i64, &PathBuf)> = self.newest.iter().map(|(path, at)| (at, path)).collect();
        folders.sort_unstable_by(|one, two| two.cmp(one));
        folders.into_iter().take(WATCHED).map(|(_, path)| path.clone()).collect()
    }

    /// Lists a folder: its trails go to `found`, the folders to look into are returned. `None`: it is gone.
    fn look(&mut self, tool: &impl Tool, folder: &Path, found: &mut Vec<Found>) -> Option<Vec<PathBuf>> {
        // The time before the list: what comes meanwhile is found by the next look.
        let Ok(meta) = fs::metadata(folder) else { return self.lost(folder) };
        let modified = stamped(&meta).modified;
        let first = found.len();
        let (below, is_settled) = match self.before.remove(folder) {
            Some(before) if before.modified == modified => {
                let trails = before.trails.into_iter();
                found.extend(trails.filter_map(|path| Some(Found { meta: plain_file(&path)?, path })));
                (before.below, true)
            }
            Some(_) | None => {
                let Ok(listed) = list(tool, folder, found) else { return self.lost(folder) };
                (listed.below, is_past(modified) && !listed.has_others)
            }
        };
        if self.folders.insert(folder.to_owned(), Seen { modified, is_settled }).is_none() {
            self.fresh.push(folder.to_owned());
        }
        let times = found.iter().skip(first).map(|found| stamped(&found.meta).modified);
        self.happened(tool.root(), folder, times.fold(modified, i64::max));
        Some(below)
    }

    fn lost(&mut self, folder: &Path) -> Option<Vec<PathBuf>> {
        self.folders.remove(folder);
        self.newest.remove(folder);
        None
    }

    /// Notes when something happened in a folder, and so in those above it.
    fn happened(&mut self, root: &Path, folder: &Path, at: i64) {
        for folder in folder.ancestors() {
            match self.newest.get_mut(folder) {
                // Those above have seen it too.
                Some(newest) if *newest >= at => return,
                Some(newest) => *newest = at,
                None => drop(self.newest.insert(folder.to_owned(), at)),
            }
            if folder == root {
                return;
            }
        }
    }
}

/// What is in a folder, but for its trails.
struct Listed {
    below: Vec<PathBuf>,
    /// Whether there are folders that are of no interest now.
    has_others: bool,
}

fn list(tool: &impl Tool, folder: &Path, found: &mut Vec<Found>) -> io::Result<Listed> {
    let mut listed = Listed { below: Vec::new(), has_others: false };
    for entry in fs::read_dir(folder)?.flatten() {
        // Links are not followed: they may lead anywhere, and round in circles.
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        match tool.sort(&path, kind.is_dir()) {
            Sort::Folder if kind.is_dir() => listed.below.push(path),
            Sort::Trail if kind.is_file() => {
                found.extend(entry.metadata().ok().map(|meta| Found { path, meta }));
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
