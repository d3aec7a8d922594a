//! Where a tool's files are: found by walking its folders once, then by looking only at folders that changed.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use super::file::stamped;
use super::tool::{Sort, Tool};

/// So many folders are watched at most: those in which something happened last. In the others nothing is expected,
/// and the rare look finds it.
const WATCHED: usize = 512;
/// No tool nests deeper; a loop of folders ends here.
const DEEPEST: usize = 8;

/// The folders of a tool.
#[derive(Debug, Default)]
pub struct Walk {
    /// When each was last changed, in nanoseconds: when files came or went.
    folders: HashMap<PathBuf, i64>,
    /// When something in or below each happened last.
    newest: HashMap<PathBuf, i64>,
}

/// A trail that was found.
pub struct Found {
    pub path: PathBuf,
    pub meta: Metadata,
}

impl Walk {
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
                fs::metadata(folder).map_or(true, |meta| stamped(&meta).modified != **seen)
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
        let listed = fs::metadata(folder).and_then(|meta| Ok((meta, fs::read_dir(folder)?)));
        let Ok((meta, entries)) = listed else {
            self.folders.remove(folder);
            self.newest.remove(folder);
            return None;
        };
        let changed = stamped(&meta).modified;
        self.folders.insert(folder.to_owned(), changed);
        let (mut below, mut newest) = (Vec::new(), changed);
        for entry in entries.flatten() {
            // Links are not followed: they may lead anywhere, and round in circles.
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            match tool.sort(&path, kind.is_dir()) {
                Sort::Folder if kind.is_dir() => below.push(path),
                Sort::Trail if kind.is_file() => {
                    if let Ok(meta) = entry.metadata() {
                        newest = newest.max(stamped(&meta).modified);
                        found.push(Found { path, meta });
                    }
                }
                Sort::Folder | Sort::Trail | Sort::Side(_) | Sort::Other => {}
            }
        }
        self.happened(tool.root(), folder, newest);
        Some(below)
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
