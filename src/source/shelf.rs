//! The files of one tool's folder that matter, found by patterns and read when they change.
//!
//! A file that is half written keeps its last good reading; that it cannot be read is said only when it stays
//! so, since some of these files are rewritten in place several times a second.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::document::{Document, Found};
use super::pages::{Page, Pages};
use super::tail::{Piece, Tail, Tailed};
use super::trails::look::{plain_file, stamped};
use super::watch::FILES_TOO;
use crate::model::fact::SourceState;
use crate::model::time::Stamp;
use crate::store::disk::RealDisk;

/// A file that is bad for less than this is one that somebody is writing.
const GRACE: Duration = Duration::from_secs(2);
/// A folder that changed so lately may change again without a visible change of its time.
const RACY: Duration = Duration::from_secs(2);
/// Of files with a pattern so many are read, the latest first: some tools keep one for each session that ever was.
const MOST_FILES: usize = 256;
/// Of folders fewer: several files are looked for in each of them, each time.
const MOST_FOLDERS: usize = 64;
/// A longer line is no row of a log.
const LONGEST_LINE: usize = 1024 * 1024;

/// A file to read, as a path below the tool's folder in which a `*` stands for anything but a slash.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted {
    Document(&'static str),
    Rows(&'static str),
}

/// One tool's folder, and what was read of it.
pub(super) struct Shelf {
    root: PathBuf,
    wanted: &'static [Wanted],
    readers: BTreeMap<String, Reader>,
    listed: HashMap<PathBuf, Listed>,
    /// Where there are more than are read, by their pattern.
    beyond: BTreeMap<String, Beyond>,
    pub pages: Pages,
}

struct Reader {
    file: File,
    /// Since when it cannot be read, and why.
    bad: Option<(Stamp, String)>,
    warning: Option<String>,
}

enum File {
    Document(Document),
    Rows(PathBuf, Option<Tail>),
}

/// The names in a folder, as long as it does not change.
struct Listed {
    modified: SystemTime,
    inode: u64,
    /// The latest first.
    names: Vec<Name>,
}

/// So many there are, and so many of them are read.
struct Beyond {
    all: usize,
    read: usize,
    what: &'static str,
}

struct Name {
    name: String,
    /// Whether it is a plain file, and can't be a folder.
    is_file: bool,
}

impl Shelf {
    /// Names a folder; nothing is read yet.
    pub fn new(root: PathBuf, wanted: &'static [Wanted]) -> Self {
        let (readers, listed, beyond) = (BTreeMap::new(), HashMap::new(), BTreeMap::new());
        Self { root, wanted, readers, listed, beyond, pages: Pages::default() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Reads what changed; returns whether anything did.
    pub fn look(&mut self, now: Stamp) -> bool {
        let mut changed = self.find();
        let Self { readers, pages, .. } = self;
        for (path, reader) in readers {
            changed |= reader.look(path, pages, now);
        }
        changed
    }

    /// Returns how well it can be read: the worst of its files.
    pub fn state(&self, now: Stamp) -> SourceState {
        let named = |path: &str, what: &str| format!("{path}: {what}").into();
        let bad = || self.readers.iter().filter_map(|(path, reader)| Some((path, reader.bad.as_ref()?)));
        if let Some((path, (since, what))) = bad().find(|(_, (since, _))| now.since(*since) >= GRACE) {
            return SourceState::Corrupt { since: *since, what: named(path, what) };
        }
        // Who looks only once must hear of it too.
        if let Some((path, (_, what))) = bad().find(|(path, _)| self.pages.object(path).is_none()) {
            return SourceState::Partial { what: named(path, &format!("{what}; it was written just now")) };
        }
        let mut odd = self.readers.iter().filter_map(|(path, reader)| Some((path, reader.warning.as_ref()?)));
        match odd.next() {
            Some((path, what)) => SourceState::Partial { what: named(path, what) },
            None => SourceState::Ok,
        }
    }

    /// Says where only the latest are read, except below these folders, whose older files are of no interest.
    pub fn left_out(&self, past: &[&str]) -> Option<String> {
        let is_past = |pattern: &str| past.iter().any(|start| pattern.starts_with(start));
        let mut told = self.beyond.iter().filter(|(pattern, _)| !is_past(pattern));
        let (pattern, Beyond { all, read, what }) = told.next()?;
        let where_else = match told.count() {
            0 => String::new(),
            others => format!(", and so in {others} more folders"),
        };
        // Those of the tool's own folder need no name.
        let named = if pattern == "*" { String::new() } else { format!(" {pattern}") };
        Some(format!("of {all} {what}{named} only the {read} that changed last are read{where_else}"))
    }

    /// Returns whether a file is there that cannot be read.
    pub fn has_bad(&self) -> bool {
        self.readers.values().any(|reader| reader.bad.is_some())
    }

    /// Returns the folders, and where the system needs it the files, whose changes matter.
    pub fn watched(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.root.clone()];
        paths.extend(self.listed.keys().cloned());
        for reader in self.readers.values() {
            let path = reader.path();
            paths.extend(path.parent().map(Path::to_owned));
            paths.extend(FILES_TOO.then(|| path.to_owned()));
        }
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// Finds the files; returns whether one that was read is no longer there.
    fn find(&mut self) -> bool {
        let mut found: BTreeMap<String, Wanted> = BTreeMap::new();
        self.beyond.clear();
        for wanted in self.wanted {
            let (Wanted::Document(pattern) | Wanted::Rows(pattern)) = wanted;
            found.extend(self.expand(pattern).into_iter().map(|path| (path, *wanted)));
        }
        let Self { readers, pages, root, .. } = self;
        let mut changed = false;
        readers.retain(|path, _| {
            let keep = found.contains_key(path);
            changed |= !keep && pages.remove(path);
            keep
        });
        for (path, wanted) in found {
            let full = root.join(&path);
            readers.entry(path).or_insert_with(|| Reader::new(full, wanted));
        }
        changed
    }

    /// Returns the paths that a pattern stands for. Where it has no star the file need not be there.
    fn expand(&mut self, pattern: &str) -> Vec<String> {
        let mut found = vec![String::new()];
        let mut parts = pattern.split('/').peekable();
        while let Some(part) = parts.next() {
            let is_folder = parts.peek().is_some();
            let mut next = Vec::new();
            for before in found {
                match part.split_once('*') {
                    None => next.push(below(&before, part)),
                    Some(ends) => next.extend(self.latest(&before, part, ends, is_folder)),
                }
            }
            found = next;
        }
        found
    }

    /// Returns the paths in a folder whose names have these ends, the latest first, and notes where there are more.
    fn latest(
        &mut self,
        before: &str,
        part: &str,
        (start, end): (&str, &str),
        is_folder: bool,
    ) -> Vec<String> {
        let most = if is_folder { MOST_FOLDERS } else { MOST_FILES };
        let names = self.list(before).iter().filter(|Name { name, is_file }| {
            let fits = name.starts_with(start) && name.ends_with(end);
            fits && name.len() > start.len() + end.len() && !(is_folder && *is_file)
        });
        let mut found: Vec<String> = names.map(|Name { name, .. }| below(before, name)).collect();
        if found.len() > most {
            let what = if is_folder { "folders" } else { "files" };
            self.beyond.insert(below(before, part), Beyond { all: found.len(), read: most, what });
            found.truncate(most);
        }
        found
    }

    fn list(&mut self, below: &str) -> &[Name] {
        let folder = self.root.join(below);
        let stamp = fs::metadata(&folder).and_then(|found| Ok((found.modified()?, found.ino())));
        let Ok((modified, inode)) = stamp else {
            self.listed.remove(&folder);
            return &[];
        };
        let settled = SystemTime::now().duration_since(modified).is_ok_and(|age| age > RACY);
        let same = |known: &Listed| settled && known.modified == modified && known.inode == inode;
        if !self.listed.get(&folder).is_some_and(same) {
            // While it changes it is listed each time: the time that is kept is never that of a later content.
            let modified = if settled { modified } else { SystemTime::UNIX_EPOCH };
            let names = names_in(&folder);
            self.listed.insert(folder.clone(), Listed { modified, inode, names });
        }
        self.listed.get(&folder).map_or(&[], |known| &known.names)
    }
}

/// Returns the path of what has this name in a folder of the tool's.
fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Returns the names in a folder, the latest first.
fn names_in(folder: &Path) -> Vec<Name> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<(SystemTime, String, bool)> = entries
        .filter_map(|entry| {
            let found = entry.metadata().ok()?;
            Some((found.modified().ok()?, entry.file_name().into_string().ok()?, found.is_file()))
        })
        .collect();
    names.sort_unstable_by(|one, two| two.cmp(one));
    names.into_iter().map(|(_, name, is_file)| Name { name, is_file }).collect()
}

impl Reader {
    fn new(path: PathBuf, wanted: Wanted) -> Self {
        let file = match wanted {
            Wanted::Document(_) => File::Document(Document::new(path)),
            Wanted::Rows(_) => File::Rows(path, None),
        };
        Self { file, bad: None, warning: None }
    }

    fn path(&self) -> &Path {
        match &self.file {
            File::Document(document) => document.path(),
            File::Rows(path, _) => path,
        }
    }

    /// Reads the file if it changed; returns whether its page did.
    fn look(&mut self, name: &str, pages: &mut Pages, now: Stamp) -> bool {
        let found = match &mut self.file {
            File::Document(document) => document.look(),
            File::Rows(path, tail) => return read_rows(path, tail, &mut self.warning, name, pages),
        };
        match found {
            Found::Same => false,
            Found::News(value, warning) if value.is_object() => {
                (self.bad, self.warning) = (None, warning);
                pages.set(name, Page::Document(value));
                true
            }
            // All of these files hold an object; whatever else can be read in one is the rest of something.
            Found::News(..) => self.fail("it is no object".into(), now),
            Found::Bad(what) => self.fail(what, now),
            Found::Missing => {
                (self.bad, self.warning) = (None, None);
                pages.remove(name)
            }
        }
    }

    /// Returns when it was last written: one that lies there broken is nobody's half-written one.
    fn written(&self, now: Stamp) -> Stamp {
        let written = plain_file(self.path()).map(|meta| stamped(&meta).modified / 1_000_000);
        written.map_or(now, |written| Stamp::from_millis(written).min(now))
    }

    /// Notes that it cannot be read; its page stays as it is.
    fn fail(&mut self, what: String, now: Stamp) -> bool {
        let since = self.bad.take().map_or_else(|| self.written(now), |(since, _)| since);
        self.bad = Some((since, what));
        false
    }
}

/// Reads what was appended to a log. One that was replaced or cut is read anew.
fn read_rows(
    path: &Path,
    tail: &mut Option<Tail>,
    warning: &mut Option<String>,
    name: &str,
    pages: &mut Pages,
) -> bool {
    let mut changed = false;
    // Twice: once to notice that it is another file, once to read that one.
    for _ in 0..2 {
        if tail.is_none() {
            let Ok(opened) = Tail::open(&RealDisk, path, 0, LONGEST_LINE) else { return pages.remove(name) };
            changed |= pages.remove(name);
            *tail = Some(opened);
        }
        let (Some(open), Some(rows)) = (tail.as_mut(), pages.rows_mut(name)) else { return changed };
        let end = open.read(&RealDisk, usize::MAX, &mut |piece| {
            changed = true;
            match piece {
                Piece::Line(line, _) => rows.push(line),
                Piece::TooLong(_) => rows.odd = rows.odd.saturating_add(1),
            }
            ControlFlow::Continue(())
        });
        *warning = (rows.odd > 0).then(|| format!("{} lines are no rows", rows.odd));
        match end {
            Ok(Tailed::End | Tailed::More | Tailed::Held) => return changed,
            Ok(Tailed::Lost(_)) | Err(_) => *tail = None,
        }
    }
    changed
}
