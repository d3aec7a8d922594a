//! OpenCode: its database, and the files that it kept before it had one, as one source.
//!
//! All sessions are told first, then their messages, the newest first and in slices. After that a look costs one
//! question while nothing was written, and else what is new: rows that were added, messages that were not finished
//! when they were last read, and the sessions of both.

mod database;
mod files;
pub mod kept;
mod log;
mod ranks;
mod standing;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use database::{Database, Numbered};
use files::Files;
use kept::{Kept, Mark, Recalled};
pub use log::SessionLog;
use ranks::Ranks;
use standing::Standings;

use super::feed::{Batch, Feed};
use super::health::Health;
use super::trails::SAVE_AGAIN;
use super::trails::fold::Fold;
use super::trails::index::Place;
use super::trails::tell::{Owner, Teller};
use super::trails::tool::{Homes, Scope};
use crate::agent::opencode::{self, SessionRow, Standing};
use crate::agent::trail::{Process, Said, patience};
use crate::model::fact::{Fact, NodeFact, SourceState};
use crate::model::key::{SourceId, SourceKind};
use crate::model::price::Prices;
use crate::model::time::Stamp;

/// So many messages are told at once; the first time fewer, so that something is seen soon.
const SLICE: u32 = 2_000;
const FIRST_SLICE: u32 = 200;
/// So many messages that were never finished are looked at again: those that were begun last.
const OPEN: usize = 64;
/// Of so many of an agent's messages, the last of a session, it is read what was done and said: the very last may have
/// done nothing.
const LATEST: usize = 3;
/// So often all sessions are read, at most: what is renamed or deleted names itself by nothing else. In between those
/// are read in which something was said.
const ALL_AGAIN: Duration = Duration::from_secs(10);
/// What is said of a database that is a file without a byte.
const VOID: &str = "opencode.db is an empty file: no session is in it";
/// All that it tells comes from one place.
const OWNER: Owner = Owner { file: 0, is_below: false, born: None, order: 0 };

/// What OpenCode keeps on disk.
pub struct OpenCode {
    root: PathBuf,
    scope: Scope,
    source: SourceId,
    database: Database,
    files: Files,
    teller: Teller,
    health: Health,
    is_open: bool,
    sessions: HashMap<String, Known>,
    /// When all of them were last read, and whether anything was written since.
    all_read: Option<Stamp>,
    is_behind: bool,
    ranks: Ranks,
    /// Messages that were not finished, by when they came.
    open: Vec<Numbered>,
    progress: Progress,
    standings: Standings,
    index: Option<Place>,
    kept: Kept,
    saved: Option<Stamp>,
}

/// What is known of a session.
struct Known {
    row: SessionRow,
    is_wanted: bool,
    /// The newest message that was told of it.
    newest: i64,
}

/// Returns the sessions that were worked on in a folder since then; those of its agents are not among them.
pub fn worked_on(homes: &Homes, folder: &Path, since: Stamp) -> Vec<String> {
    let Some(data) = &homes.data else { return Vec::new() };
    let mut database = Database::new(data.join("opencode/opencode.db"));
    if !database.is_there() || database.has_changed().is_err() {
        return Vec::new();
    }
    database.worked_on(folder, since).unwrap_or_default()
}

/// Returns of each message whether it is among the last of an agent in its session: what was done and said before is not
/// shown any more, and need not be read.
fn latest(rows: &[Numbered]) -> Vec<bool> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut is_latest: Vec<bool> = rows
        .iter()
        .rev()
        .map(|Numbered { message, .. }| {
            let count = counts.entry(&message.session).or_default();
            let is_latest = *count < LATEST;
            *count += usize::from(is_latest && message.is_agents());
            is_latest
        })
        .collect();
    is_latest.reverse();
    is_latest
}

/// How far the messages were told.
#[derive(Debug, Default)]
struct Progress {
    /// The newest row that was seen, and how many were.
    mark: Mark,
    /// Above this row everything was told; `None` when all was.
    first: Option<i64>,
    /// Whether anything was told.
    has_begun: bool,
}

impl Progress {
    /// Returns how much was told and of how much, while that is not all: rows are numbered without large gaps.
    fn done(&self) -> Option<(usize, usize)> {
        let first = self.first.filter(|_| self.has_begun)?;
        let count = |rows: i64| usize::try_from(rows).unwrap_or(0);
        Some((count(self.mark.newest + 1 - first), count(self.mark.newest)))
    }

    /// Notes which rows were seen that were not before.
    fn note(&mut self, rows: &[Numbered]) {
        self.mark.count += rows.len() as u64;
        if let Some(row) =
            rows.iter().filter(|row| row.number >= self.mark.newest).max_by_key(|row| row.number)
        {
            (self.mark.newest, self.mark.last) = (row.number, row.message.id.clone());
        }
    }
}

/// Returns the state of a source that has told so much of so much, or all.
fn loading(done: Option<(usize, usize)>) -> SourceState {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    done.map_or(SourceState::Ok, |(done, total)| SourceState::Loading {
        done: count(done),
        total: count(total),
    })
}

impl OpenCode {
    /// Names the files of a person; `None` without a home. Nothing is read yet.
    pub fn new(homes: &Homes, scope: Scope, source: SourceId, prices: Arc<Prices>) -> Option<Self> {
        let root = homes.data.as_ref()?.join("opencode");
        let of = scope.named(&root);
        let place = |cache: &PathBuf| Place::new(cache, opencode::TOOL, kept::VERSION, of);
        let index = homes.cache.as_ref().map(place);
        Some(Self {
            database: Database::new(root.join("opencode.db")),
            files: Files::new(root.join("storage")),
            root,
            scope,
            source,
            teller: Teller::new(source, SourceKind::OpenCode, prices),
            health: Health::of(source),
            is_open: false,
            sessions: HashMap::new(),
            all_read: None,
            is_behind: false,
            ranks: Ranks::default(),
            open: Vec::new(),
            progress: Progress::default(),
            standings: Standings::default(),
            index,
            kept: Kept::default(),
            saved: None,
        })
    }

    /// Tells what the database has that was not told.
    fn read(&mut self, now: Stamp, batch: &mut Batch) -> Result<(), String> {
        let is_first = !self.progress.has_begun;
        let has_changed = self.database.has_changed()?;
        self.is_behind |= has_changed;
        let is_due = self.all_read.is_none_or(|read| now.since(read) >= ALL_AGAIN);
        let is_idle = !has_changed && self.progress.first.is_none() && !(self.is_behind && is_due);
        if !self.database.is_open() || (is_idle && !is_first) {
            return Ok(());
        }
        self.database.begin()?;
        let mut said = Vec::new();
        let is_recalled = is_first && self.recall(now, batch)?;
        let rows = self.new_messages(is_first && !is_recalled, batch)?;
        let is_all = (self.is_behind && is_due) || self.database.count_sessions()? != self.sessions.len();
        if is_all {
            (self.all_read, self.is_behind) = (Some(now), false);
            self.read_sessions(&mut said, batch)?;
        } else if has_changed {
            self.read_touched(&rows, &mut said)?;
        }
        let latest = latest(&rows);
        for (row, is_latest) in rows.into_iter().zip(latest) {
            self.tell_message(row, is_latest, &mut said)?;
        }
        self.database.finish()?;
        self.tell(said, now, batch);
        Ok(())
    }

    /// Returns the messages that were not told, or not as they are now, in the order in which they came.
    fn new_messages(&mut self, is_first: bool, batch: &mut Batch) -> Result<Vec<Numbered>, String> {
        let mut rows = self.database.messages_of(&std::mem::take(&mut self.open))?;
        let newest = self.database.newest_message()?;
        if is_first {
            let mark = Mark { newest, ..Mark::default() };
            self.progress = Progress { mark, first: Some(newest + 1), has_begun: true };
        }
        let newer = self.database.messages_between(self.progress.mark.newest, newest, SLICE)?;
        self.progress.note(&newer);
        rows.extend(newer);
        batch.more = self.progress.mark.newest < newest;
        if let Some(below) = self.progress.first {
            let slice = if is_first { FIRST_SLICE } else { SLICE };
            let older = self.database.messages_below(below, slice)?;
            self.progress.note(&older);
            self.progress.first = older.iter().map(|row| row.number).min();
            batch.more |= self.progress.first.is_some();
            rows.extend(older);
        }
        rows.sort_by_key(|row| row.number);
        rows.dedup_by_key(|row| row.number);
        Ok(rows)
    }

    fn read_sessions(&mut self, said: &mut Vec<Said>, batch: &mut Batch) -> Result<(), String> {
        let rows = self.database.sessions()?;
        let mut gone = std::mem::take(&mut self.sessions);
        for row in rows {
            let known = gone.remove(&row.id);
            self.take_session(row, known, said);
        }
        for (id, _) in gone.into_iter().filter(|(_, known)| known.is_wanted) {
            let key = opencode::key(&id);
            self.ranks.forget(&key);
            self.standings.forget(&key);
            self.kept.forget(&id);
            batch.facts.push(Fact::node(self.source, None, key, NodeFact::Gone));
        }
        Ok(())
    }

    /// Reads the sessions in which something was said.
    fn read_touched(&mut self, rows: &[Numbered], said: &mut Vec<Said>) -> Result<(), String> {
        let touched: BTreeSet<&str> = rows.iter().map(|row| &*row.message.session).collect();
        for id in touched {
            for row in self.database.session(id)? {
                let known = self.sessions.remove(&row.id);
                self.take_session(row, known, said);
            }
        }
        Ok(())
    }

    fn take_session(&mut self, row: SessionRow, known: Option<Known>, said: &mut Vec<Said>) {
        let is_news = known.as_ref().is_none_or(|known| known.row != row);
        let place = row.directory.as_deref().unwrap_or_default();
        let is_wanted = self.scope.has(Path::new(place));
        if is_wanted && is_news {
            opencode::session(&row, said);
            // No list of processes is kept: only silence tells that one was killed.
            let patience = NodeFact::MaySleep(patience(Process::Unknown));
            said.push(Said::of(None, opencode::key(&row.id), patience));
        }
        let newest = known.map_or(0, |known| known.newest);
        self.sessions.insert(row.id.clone(), Known { row, is_wanted, newest });
    }

    fn tell_message(&mut self, row: Numbered, is_latest: bool, said: &mut Vec<Said>) -> Result<(), String> {
        let Some(session) = self.sessions.get_mut(&row.message.session).filter(|known| known.is_wanted)
        else {
            return Ok(());
        };
        let mut told = Vec::new();
        let standing = opencode::message(&row.message, session.row.created, &mut told);
        if row.number < session.newest {
            // Told after a later one: what it cost counts, how things stood then does not.
            told.retain(|said| matches!(said.what, NodeFact::Used(_)));
        } else {
            session.newest = row.number;
            let has_news = is_latest && standing != Standing::Copied;
            let parts = if has_news { self.database.parts_of(&row.message)? } else { Vec::new() };
            for part in parts {
                opencode::part(&part, &mut told);
            }
        }
        if self.index.is_some() {
            self.kept.take(&row.message.session, &told);
        }
        said.append(&mut told);
        if standing == Standing::Open {
            self.open.push(row);
            let surplus = self.open.len().saturating_sub(OPEN);
            self.open.drain(..surplus);
        }
        Ok(())
    }

    /// Begins anew the next time: it may be another file then, and what was read of this one was not told.
    fn start_over(&mut self) {
        self.database.close();
        self.sessions.clear();
        self.all_read = None;
        self.open.clear();
        self.progress = Progress::default();
        self.standings = Standings::default();
        self.kept = Kept::default();
    }

    /// Tells what was read before, if it is of what the database has; returns whether it is.
    fn recall(&mut self, now: Stamp, batch: &mut Batch) -> Result<bool, String> {
        let prices = self.teller.pricer.prices().fingerprint();
        let Some(recalled) = self.index.as_ref().and_then(|place| Recalled::load(place, prices)) else {
            return Ok(false);
        };
        if !recalled.mark.is_of(&self.database)? {
            return Ok(false);
        }
        let mut said = Vec::new();
        (self.all_read, self.is_behind) = (Some(now), false);
        self.read_sessions(&mut said, batch)?;
        let newest: Vec<(String, i64)> =
            recalled.newest().map(|(id, newest)| (id.to_owned(), newest)).collect();
        let (mark, open) = (recalled.mark.clone(), recalled.open.clone());
        let sessions = &self.sessions;
        let is_wanted = |id: &str| sessions.get(id).is_some_and(|known| known.is_wanted);
        let before = self.kept.recall(recalled, is_wanted);
        let is_recalled = before.is_some();
        if let Some((before, used)) = before {
            (self.progress, self.open) = (Progress { mark, first: None, has_begun: true }, open);
            for (id, newest) in newest {
                if let Some(known) = self.sessions.get_mut(&id) {
                    known.newest = newest;
                }
            }
            said.extend(before);
            self.tell(said, now, batch);
            self.teller.tell_alone(OWNER, used, batch);
        } else {
            self.tell(said, now, batch);
        }
        Ok(is_recalled)
    }

    /// Writes the index, if it is behind and everything was told.
    fn save(&mut self) {
        let is_whole = self.progress.has_begun && self.progress.first.is_none();
        let Some(place) = self.index.as_ref().filter(|_| is_whole && self.kept.is_dirty()) else { return };
        let sessions = &self.sessions;
        let newest = |id: &str| sessions.get(id).map_or(0, |known| known.newest);
        // A full disk costs the next start some time, and nothing else.
        let _ = self.kept.save(place, &self.progress.mark, &self.open, newest, &mut self.teller.pricer);
    }

    fn tell(&mut self, mut said: Vec<Said>, now: Stamp, batch: &mut Batch) {
        self.ranks.add(now, &mut said);
        self.standings.note(&said);
        let mut fold = Fold::default();
        for said in said {
            fold.take(said);
        }
        self.teller.tell_all(OWNER, fold.into_told(), batch);
    }

    /// Tells what the files have: once there is a database, everything is in it.
    fn read_files(&mut self, now: Stamp, batch: &mut Batch) {
        let mut said = Vec::new();
        batch.more = self.files.read(&self.scope, &mut said);
        self.tell(said, now, batch);
    }
}

impl Feed for OpenCode {
    fn poll(&mut self, now: Stamp) -> Batch {
        let mut batch = Batch::default();
        let has_database = self.database.is_there();
        // A tool that nobody uses is no source.
        if !self.is_open && !has_database && !self.files.are_there() {
            return batch;
        }
        if !std::mem::replace(&mut self.is_open, true) {
            self.teller.open(&self.root.display().to_string(), &mut batch);
        }
        let state = if has_database {
            match self.read(now, &mut batch) {
                Ok(()) if self.database.is_void() => SourceState::Partial { what: VOID.into() },
                Ok(()) => loading(self.progress.done()),
                Err(what) => {
                    self.start_over();
                    SourceState::Corrupt { since: now, what: what.into() }
                }
            }
        } else {
            self.read_files(now, &mut batch);
            loading(self.files.done())
        };
        let left = self.standings.give_up(now);
        self.tell(left, now, &mut batch);
        self.health.tell(state, &mut batch);
        let is_due = self.saved.is_none_or(|saved| now.since(saved) >= SAVE_AGAIN);
        if !batch.more && is_due && self.kept.is_dirty() {
            self.saved = Some(now);
            self.save();
        }
        batch
    }

    fn watched(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.root.clone()];
        if !self.database.is_there() {
            folders.extend(self.files.liveliest());
        }
        folders
    }
}

impl Drop for OpenCode {
    fn drop(&mut self) {
        self.save();
    }
}
