//! What agents leave on disk by themselves: very many files that are appended to, of one tool, as one source.
//!
//! The newest are read first and told at once, the rest in slices. After that only what rang is looked at, so that
//! an append costs the same however many files there are. What was read is kept in an index, so that the next start
//! reads only what came since. What the lines mean is the business of the tool's reader in `agent/`.

pub mod ahead;
mod begin;
mod check;
pub mod cost;
pub mod file;
pub mod fold;
mod folder;
pub mod index;
pub mod later;
pub mod look;
mod notice;
mod numbers;
pub mod pack;
mod side;
pub(in crate::source) mod tell;
pub mod tool;
mod walk;

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ahead::{Ahead, Pace};
use check::CHECKED_AT_ONCE;
use file::{Ending, TrailFile};
use fold::{Fold, Told};
use folder::{Links, There};
use index::{Entry, Listed};
use later::Shelf;
use look::Look;
use numbers::Numbers;
use pack::Texts;
use tell::Teller;
use tool::{Scope, Tool};
use walk::{Walk, apart};

use super::feed::{Batch, Feed};
use super::health::Health;
use super::watch::{FILES_TOO, Rung, Watch};
use crate::agent::trail::Said;
use crate::model::fact::SourceState;
use crate::model::key::SourceId;
use crate::model::price::Prices;
use crate::model::time::Stamp;

/// How much is read before something is told for the first time, and then each time.
const FIRST_SLICE: usize = 1024 * 1024;
const SLICE: usize = 8 * 1024 * 1024;
/// So many files are told at once.
const FILES_AT_ONCE: usize = 256;
/// How much is read at a time.
const CHUNK: usize = 256 * 1024;
/// About so much is read to know where a session ran.
const ASKED: usize = 16 * 1024;
/// So many files are looked at with every poll, for file systems that tell nothing: those that changed last.
const RECENT: usize = 32;
/// The index is written no more often.
pub(super) const SAVE_AGAIN: Duration = Duration::from_mins(2);

/// The trails of one tool.
pub struct Trails<T: Tool> {
    tool: T,
    scope: Scope,
    index: Option<index::Place>,
    files: Vec<TrailFile>,
    numbers: Numbers,
    walk: Walk,
    /// What waits to be read or told, the next one last.
    queue: Vec<usize>,
    /// Files that nobody looked at lately, the next one to be looked at last.
    unchecked: Vec<usize>,
    /// Files that changed last, the latest first.
    recent: VecDeque<usize>,
    rung: Rung,
    to_watch: Vec<PathBuf>,
    /// Folders that are watched only now: what came before was not heard.
    unheard: Vec<PathBuf>,
    teller: Teller,
    texts: Texts,
    /// Where the rest of the index is, of which a start reads a part.
    shelf: Option<Arc<Shelf>>,
    health: Health,
    /// Files that cannot be read.
    troubled: BTreeSet<usize>,
    /// How many files the first reading has, while it lasts: till all were told and looked at.
    first: Option<usize>,
    /// Who goes before it.
    ahead: Ahead,
    is_open: bool,
    /// Whether something that was read no longer counts.
    is_void: bool,
    /// Whether the index is behind.
    is_dirty: bool,
    looked: Option<Stamp>,
    saved: Option<Stamp>,
    buffer: Vec<u8>,
    /// What lines say, till it is folded.
    said: Vec<Said>,
    /// What is to be told of one file, till it is.
    told: Vec<Told>,
}

impl<T: Tool> Trails<T> {
    /// Names the trails of a tool; nothing is read yet. Without a cache folder there is no index.
    pub fn new(tool: T, scope: Scope, source: SourceId, prices: Arc<Prices>, cache: Option<&Path>) -> Self {
        let (of, kind) = (scope.named(tool.root()), tool.kind());
        let index = cache.map(|cache| index::Place::new(cache, kind.as_str(), tool.version(), of));
        Self {
            tool,
            scope,
            index,
            files: Vec::new(),
            numbers: Numbers::default(),
            walk: Walk::default(),
            queue: Vec::new(),
            unchecked: Vec::new(),
            recent: VecDeque::new(),
            rung: Rung::default(),
            to_watch: Vec::new(),
            unheard: Vec::new(),
            teller: Teller::new(source, kind, prices),
            texts: Texts::default(),
            shelf: None,
            health: Health::of(source),
            troubled: BTreeSet::new(),
            first: None,
            ahead: Ahead::default(),
            is_open: false,
            is_void: false,
            is_dirty: false,
            looked: None,
            saved: None,
            buffer: Vec::new(),
            said: Vec::new(),
            told: Vec::new(),
        }
    }

    /// Takes in a file that was found, with what the index knows of it, if it is wanted; returns its number.
    fn add(&mut self, path: PathBuf, look: Look, known: Option<Entry>, is_checked: bool) -> Option<usize> {
        let mut file = TrailFile::found(path, look);
        if let Some(entry) = known {
            file.recall(entry);
        }
        let is_wanted = self.may_want(&file);
        let ix = self.files.len();
        file.is_queued = is_wanted;
        self.files.push(file);
        self.unchecked.extend((!is_checked).then_some(ix));
        if is_wanted {
            self.queue.push(ix);
        }
        is_wanted.then_some(ix)
    }

    /// Returns whether a file is wanted, as far as is known without reading any of it.
    fn may_want(&self, file: &TrailFile) -> bool {
        file.place.as_ref().is_none_or(|place| self.scope.has(place))
    }

    /// Returns whether a file is wanted, as far as is known now that it was asked where its session ran.
    fn is_taken(&self, file: &TrailFile) -> bool {
        file.place.as_ref().map_or_else(|| self.tool.is_likely(&file.path), |place| self.scope.has(place))
    }

    /// Returns whether a file is wanted, now that its turn has come: where its session ran may have to be read, which
    /// is not done for all files before anything is told.
    fn is_wanted(&mut self, ix: usize) -> bool {
        let Some(file) = self.files.get_mut(ix) else { return false };
        if file.place.is_none() && file.is_unread() && self.scope != Scope::All {
            file.place = self.tool.place(&file.path);
            self.is_dirty |= file.place.is_some();
        }
        file.is_queued = false;
        let is_wanted = self.files.get(ix).is_some_and(|file| self.is_taken(file));
        if !is_wanted {
            self.recent.retain(|known| *known != ix);
        } else if self.first.is_some() && self.recent.len() < RECENT && !self.recent.contains(&ix) {
            // In the place of one that turned out not to be wanted.
            self.recent.push_back(ix);
        }
        is_wanted
    }

    /// Notes that a file is to be read before all others.
    fn enqueue(&mut self, ix: usize) {
        if !self.files.get(ix).is_some_and(|file| self.may_want(file)) {
            return;
        }
        let Some(file) = self.files.get_mut(ix) else { return };
        if !std::mem::replace(&mut file.is_queued, true) {
            self.queue.push(ix);
        }
        if self.recent.front() != Some(&ix) {
            self.recent.retain(|known| *known != ix);
            self.recent.push_front(ix);
            self.let_go();
        }
    }

    /// Puts the readers of files aside that have not changed for long.
    fn let_go(&mut self) {
        while self.recent.len() > RECENT {
            let old = self.recent.pop_back();
            if let Some(file) = old.and_then(|ix| self.files.get_mut(ix)) {
                file.put_aside(&mut self.teller.pricer);
            }
        }
    }

    /// Says that something changed there, as the watch does.
    pub fn ring(&mut self, path: &Path) {
        self.rung.paths.insert(path.to_owned());
    }

    /// Reads and tells what waits, up to so many bytes.
    fn work(&mut self, now: Stamp, budget: usize, batch: &mut Batch) {
        let (mut left, mut files, pace) = (budget, FILES_AT_ONCE, Pace::begin());
        batch.facts.reserve(files.min(self.queue.len()));
        while left > 0 && files > 0 {
            let Some(ix) = self.queue.pop() else { return };
            self.fetch(self.ahead.reach());
            let read = if self.is_wanted(ix) { self.advance(ix, left, now, batch) } else { ASKED };
            left = left.saturating_sub(read);
            files -= 1;
        }
        if self.ahead.begin(&pace) {
            self.fetch_next();
        }
    }

    /// Has the files fetched whose turn comes next: from now on, one more each time that one is read.
    fn fetch_next(&self) {
        (1..=self.ahead.reach()).for_each(|turns| self.fetch(turns));
    }

    /// Has the file fetched whose turn comes after so many, and what is beside it.
    fn fetch(&self, turns: usize) {
        let ix = self.queue.len().checked_sub(turns).and_then(|at| self.queue.get(at));
        let Some(file) = ix.and_then(|ix| self.files.get(*ix)).filter(|file| file.is_behind()) else {
            return;
        };
        self.ahead.fetch(file.path.clone());
        self.tool.side(&file.path).into_iter().for_each(|side| self.ahead.fetch(side));
    }

    /// Reads one file on, and tells what is new; returns how much was read.
    fn advance(&mut self, ix: usize, budget: usize, now: Stamp, batch: &mut Batch) -> usize {
        let Some(file) = self.files.get_mut(ix) else { return 0 };
        let owner = file.owner(&self.tool, ix);
        if file.recalled(&self.tool, now, &mut self.texts, &mut self.told) {
            file.tell_kept(owner, self.told.drain(..), &mut self.teller, batch);
            return 0;
        }
        let mut fresh = Fold::default();
        if !std::mem::replace(&mut file.is_told, true) {
            file.tell(owner, &mut self.teller, &mut self.texts, batch);
        }
        let read = if file.is_behind() || file.trouble.is_some() {
            self.buffer.resize(CHUNK, 0);
            file.read(&self.tool, (&mut self.buffer, &mut self.said), budget, &mut fresh)
        } else {
            Ok((0, Ending::End))
        };
        let (read, ending) = match read {
            Ok(read) => {
                file.trouble = None;
                self.troubled.remove(&ix);
                read
            }
            Err(error) => {
                file.trouble = Some(format!("{}: {error}", file.path.display()));
                self.troubled.insert(ix);
                (0, Ending::End)
            }
        };
        self.is_dirty |= read > 0;
        let is_recent = self.recent.contains(&ix);
        match ending {
            Ending::Lost => self.is_void = true,
            Ending::End | Ending::More => {
                // Most files are read once and never change again: nobody need look at each of their messages.
                if ending == Ending::End && !is_recent && file.is_silent() {
                    file.tell_sealed(owner, fresh, &mut self.teller, batch);
                } else {
                    self.teller.tell(owner, &fresh, batch);
                    file.absorb(fresh, &mut self.texts);
                }
                let (concluded, is_new) = file.conclude(&self.tool, now, &mut self.texts);
                self.is_dirty |= is_new;
                concluded.tell(owner, &mut self.teller, batch);
                if let Some(why) = file.trouble_beside() {
                    file.trouble = Some(format!("{}: {why}", file.path.display()));
                    self.troubled.insert(ix);
                }
            }
        }
        if ending == Ending::More {
            file.is_queued = true;
            self.queue.push(ix);
        } else if !is_recent {
            file.put_aside(&mut self.teller.pricer);
        }
        read
    }

    /// Something that was read is gone or written anew: all is told again, that file as it is now.
    fn start_over(&mut self, batch: &mut Batch) {
        self.is_void = false;
        self.is_dirty = true;
        self.shelf = self.shelf.take().filter(|shelf| !shelf.is_broken());
        // What is gone here may have been moved there.
        self.look_for_new();
        self.teller.start_over(batch);
        self.teller.open(&self.tool.root().display().to_string(), batch);
        let files = std::mem::take(&mut self.files);
        self.numbers = Numbers::default();
        self.queue.clear();
        self.check_none();
        self.recent.clear();
        self.troubled.clear();
        for mut file in files {
            // What is behind a link by now is not there: that may lead anywhere.
            let is_near = file.path.parent().is_some_and(|folder| self.walk.knows(folder));
            let Some(look) = Look::plain(&file.path).filter(|_| is_near) else {
                self.walk.missed(&file.path);
                continue;
            };
            if !file.is_same(look.stamped) || file.is_lost() {
                file.forget(look);
            }
            (file.is_told, file.is_queued) = (false, true);
            self.queue.push(self.files.len());
            self.files.push(file);
        }
        let mut queue = std::mem::take(&mut self.queue);
        queue.retain(|ix| self.files.get(*ix).is_some_and(|file| self.may_want(file)));
        self.by_age(&mut queue);
        self.queue = queue;
        self.recent = self.queue.iter().rev().take(RECENT).copied().collect();
        self.first = Some(self.queue.len());
    }

    /// Concludes anew whatever belongs to a process that came or went.
    fn conclude_changed(&mut self, now: Stamp, batch: &mut Batch) {
        for (ix, file) in self.files.iter_mut().enumerate() {
            if file.is_told && file.process != self.tool.process(&file.path) {
                let owner = file.owner(&self.tool, ix);
                let (concluded, _) = file.conclude(&self.tool, now, &mut self.texts);
                concluded.tell(owner, &mut self.teller, batch);
            }
        }
    }

    fn tell_state(&mut self, batch: &mut Batch) {
        let troubles = self.troubled.len() + self.walk.closed().len();
        let file = self.troubled.first().and_then(|ix| self.files.get(*ix)?.trouble.as_ref());
        // Of a folder nobody knows how much is not shown: that comes first.
        let one = self.walk.closed().next().map(|(_, why)| why).or(file);
        let state = match (self.first, one) {
            (Some(total), _) if self.has_more() => {
                let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
                let left = self.queue.len().max(self.unchecked.len());
                SourceState::Loading { done: count(total.saturating_sub(left)), total: count(total) }
            }
            (_, Some(trouble)) if troubles > 1 => SourceState::Partial {
                what: format!("{troubles} files or folders cannot be read, one is {trouble}").into(),
            },
            (_, Some(trouble)) => SourceState::Partial { what: trouble.clone().into() },
            (_, None) => SourceState::Ok,
        };
        if !self.has_more() {
            self.first = None;
            self.ahead.end();
        }
        self.health.tell(state, batch);
    }

    /// Writes the index, if it is behind.
    fn save(&mut self) {
        let Some(place) = self.index.as_ref().filter(|_| std::mem::take(&mut self.is_dirty)) else { return };
        // A full disk costs the next start some time, and nothing else.
        let mut folders = self.walk.settled();
        for (ix, file) in self.files.iter().enumerate() {
            let is_alone = file.is_told && self.teller.is_alone(ix);
            if let Some((folder, name)) = apart(file.path.as_os_str())
                && let Some(entry) = file.entry(is_alone, &mut self.teller.pricer)
            {
                folders.entry(folder).or_insert_with(Listed::unsettled).trails.push((name, entry));
            }
        }
        let prices = self.teller.pricer.prices().fingerprint();
        let _ = place.save(prices, folders.into_iter().collect());
    }
}

impl<T: Tool> Feed for Trails<T> {
    fn poll(&mut self, now: Stamp) -> Batch {
        let mut batch = Batch::default();
        let is_first = !self.is_open;
        if is_first {
            // A tool that nobody uses is no source.
            let is_nothing = |top: &PathBuf| matches!(There::of(top, Links::Any), There::Gone);
            if self.tool.tops().iter().all(is_nothing) {
                return batch;
            }
            self.begin(now, &mut batch);
        }
        let others = !is_first && self.tool.look_around();
        let is_quiet = self.rung.paths.is_empty() && !self.rung.anywhere;
        self.hear();
        match self.queue.is_empty() {
            true if self.is_first_to_check() => self.check(CHECKED_AT_ONCE),
            true => self.look_again(now, is_quiet),
            false => {}
        }
        self.work(now, if is_first { FIRST_SLICE } else { SLICE }, &mut batch);
        // Who asked for a message got none: the index is not what was written.
        self.is_void |= self.shelf.as_ref().is_some_and(|shelf| shelf.is_broken());
        if self.is_void {
            self.start_over(&mut batch);
        }
        if others {
            self.conclude_changed(now, &mut batch);
        }
        self.tell_state(&mut batch);
        batch.more = self.has_more();
        let is_due = self.saved.is_none_or(|saved| now.since(saved) >= SAVE_AGAIN);
        if !batch.more && is_due && self.is_dirty {
            self.saved = Some(now);
            self.save();
        }
        batch
    }

    fn watched(&self) -> Vec<PathBuf> {
        self.walk.liveliest().into_iter().chain(self.tool.around()).collect()
    }

    fn attend(&mut self, watch: &mut Watch) {
        // Also a folder that came with another one: what comes into it before it is watched is found by the look
        // that follows.
        self.to_watch.extend(self.walk.fresh());
        let rung = watch.rung();
        self.rung.paths.extend(rung.paths);
        self.rung.anywhere |= rung.anywhere;
        for folder in self.to_watch.drain(..) {
            if watch.add(&folder) {
                self.unheard.push(folder);
            }
        }
        if FILES_TOO {
            for file in self.recent.iter().filter_map(|ix| self.files.get(*ix)) {
                watch.add(&file.path);
            }
        }
    }
}

impl<T: Tool> Drop for Trails<T> {
    fn drop(&mut self) {
        // What was not read to its end goes on from there the next time.
        self.save();
    }
}
