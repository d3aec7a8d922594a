//! One trail: how far it was read, by whom, and what it said.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::Value;
use serde_json::value::RawValue;

use super::fold::Fold;
use super::index::{Entry, EntryRef, Stamped};
use super::tell::Owner;
use super::tool::Tool;
use crate::agent::lines::Lines;
use crate::agent::trail::{Beside, Process, Said, Trail};
use crate::model::time::Stamp;

/// No small file beside a trail is larger.
const LARGEST_SIDE: u64 = 1024 * 1024;

/// A trail and what is known of it.
pub struct TrailFile {
    pub path: PathBuf,
    pub stamped: Stamped,
    /// When it came to be, in milliseconds, where the system tells.
    pub born: Option<i64>,
    pub place: Option<PathBuf>,
    /// What it said, up to `offset`.
    pub fold: Fold,
    /// Whether it waits to be read or told.
    pub is_queued: bool,
    /// Whether what its fold says was told.
    pub is_told: bool,
    /// What was known of its process when it was last concluded.
    pub process: Process,
    /// Why it cannot be read.
    pub trouble: Option<String>,
    /// The inode of what was read: another one means another file.
    inode: u64,
    /// Where the next line begins that the reader has not seen.
    offset: u64,
    /// Up to where bytes were read: what is after `offset` is the beginning of a line, in `lines`.
    read_to: u64,
    lines: Lines,
    reader: Reader,
    side: Side,
}

enum Reader {
    /// Nothing was read yet.
    Fresh,
    /// Put aside as its state.
    Aside(Box<RawValue>),
    Open(Box<dyn Trail>),
}

/// The small file beside it.
#[derive(Default)]
struct Side {
    stamped: Option<Stamped>,
    value: Option<Value>,
}

/// How a reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Everything that is there was read.
    End,
    /// There is more than was to be read at once.
    More,
    /// It is gone, replaced or shorter than it was: what it said no longer counts.
    Lost,
}

impl TrailFile {
    /// Names a file that was found; nothing of it is read yet.
    pub fn found(path: PathBuf, meta: &Metadata) -> Self {
        Self {
            path,
            stamped: stamped(meta),
            born: born(meta),
            place: None,
            fold: Fold::default(),
            is_queued: false,
            is_told: false,
            process: Process::Unknown,
            trouble: None,
            inode: meta.ino(),
            offset: 0,
            read_to: 0,
            lines: Lines::default(),
            reader: Reader::Fresh,
            side: Side::default(),
        }
    }

    /// Takes up what the index knows, if it is of this very file.
    pub fn recall(&mut self, entry: Entry) {
        if entry.stamped.inode != self.stamped.inode {
            return;
        }
        self.place = entry.place;
        let is_same = entry.stamped == self.stamped;
        // Longer is appended to. What has another time and no more bytes was written anew.
        let has_grown = self.stamped.len > entry.stamped.len && self.stamped.len >= entry.offset;
        if let Some(state) = entry.state.filter(|_| is_same || has_grown) {
            (self.fold, self.offset, self.read_to) = (entry.fold, entry.offset, entry.offset);
            self.born = entry.born.or(self.born);
            self.reader = Reader::Aside(state);
        }
    }

    /// Returns what the index keeps; nothing of a file that was not read.
    pub fn entry(&self) -> Option<EntryRef<'_>> {
        let state = match &self.reader {
            Reader::Fresh if self.place.is_none() => return None,
            Reader::Fresh => None,
            Reader::Aside(state) => Some(state.clone()),
            Reader::Open(reader) => Some(raw(&reader.state())?),
        };
        // A name that is no text cannot be kept; such a file is read anew.
        self.path.to_str()?;
        let place = self.place.as_deref();
        let Self { path, stamped, born, offset, fold, .. } = self;
        Some(EntryRef { path, stamped: *stamped, born: *born, place, offset: *offset, state, fold })
    }

    /// Returns who has what is in it, by the file's number.
    pub fn owner(&self, file: usize) -> Owner {
        let name = self.path.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
        let order =
            name.iter().chain(std::iter::repeat(&0)).take(8).fold(0, |all, byte| all << 8 | u64::from(*byte));
        Owner { file, born: self.born, order }
    }

    /// Returns whether what was read is still there.
    pub fn is_same(&self, meta: &Metadata) -> bool {
        meta.ino() == self.inode && meta.len() >= self.read_to
    }

    /// Returns whether it is other than what was read: there are more bytes, or fewer, or it is another file.
    pub fn is_behind(&self) -> bool {
        self.stamped.len != self.read_to || self.stamped.inode != self.inode
    }

    /// Looks at the file; returns whether it may have changed.
    pub fn glance(&mut self) -> bool {
        match fs::metadata(&self.path) {
            Ok(meta) => {
                let now = stamped(&meta);
                std::mem::replace(&mut self.stamped, now) != now
            }
            Err(_) => true,
        }
    }

    /// Reads on, at most about `budget` bytes, and adds what is said to `fresh`. Returns how much was read.
    pub fn read(
        &mut self,
        tool: &impl Tool,
        buffer: &mut [u8],
        budget: usize,
        fresh: &mut Fold,
    ) -> io::Result<(usize, Ending)> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((0, Ending::Lost)),
            Err(error) => return Err(error),
        };
        let now = stamped(&file.metadata()?);
        if now.inode != self.inode || now.len < self.read_to {
            return Ok((0, Ending::Lost));
        }
        self.stamped = now;
        self.open(tool);
        let (mut taken, mut said) = (0, Vec::new());
        while taken < budget {
            let read = file.read_at(buffer, self.read_to)?;
            if read == 0 {
                return Ok((taken, Ending::End));
            }
            let bytes = buffer.get(..read).unwrap_or_default();
            let Reader::Open(reader) = &mut self.reader else { return Ok((taken, Ending::End)) };
            let offset = &mut self.offset;
            self.lines.push(self.read_to, bytes, |line| {
                *offset = line.next;
                reader.line(&line, &mut said);
            });
            self.read_to += read as u64;
            taken += read;
            said.drain(..).for_each(|said| fresh.take(said));
        }
        Ok((taken, Ending::More))
    }

    /// Returns what follows from all that was read so far.
    pub fn conclude(&mut self, tool: &impl Tool, now: Stamp) -> Fold {
        self.look_beside(tool);
        self.process = tool.process(&self.path);
        let was_aside = matches!(self.reader, Reader::Aside(_));
        let aside = if was_aside { self.state() } else { None };
        self.open(tool);
        let mut said: Vec<Said> = Vec::new();
        if let Reader::Open(reader) = &self.reader {
            let beside = Beside { side: self.side.value.as_ref(), process: self.process, now };
            reader.conclude(&beside, &mut said);
        }
        if let Some(state) = aside {
            self.reader = Reader::Aside(state);
        }
        let mut fold = Fold::default();
        for said in said {
            fold.take(said);
        }
        fold
    }

    /// Puts the reader aside: a file that nobody writes needs no more than its state.
    pub fn put_aside(&mut self) {
        if let Reader::Open(reader) = &self.reader
            && let Some(state) = raw(&reader.state())
        {
            self.reader = Reader::Aside(state);
            self.read_to = self.offset;
            self.lines = Lines::default();
        }
    }

    /// Forgets everything that was read.
    pub fn forget(&mut self, meta: &Metadata) {
        let path = std::mem::take(&mut self.path);
        *self = Self { place: self.place.take(), ..Self::found(path, meta) };
    }

    fn state(&self) -> Option<Box<RawValue>> {
        if let Reader::Aside(state) = &self.reader { Some(state.clone()) } else { None }
    }

    fn open(&mut self, tool: &impl Tool) {
        self.reader = match std::mem::replace(&mut self.reader, Reader::Fresh) {
            Reader::Open(reader) => Reader::Open(reader),
            Reader::Fresh => Reader::Open(tool.open(&self.path, None)),
            Reader::Aside(state) => {
                let state = serde_json::from_str::<Value>(state.get()).ok();
                Reader::Open(tool.open(&self.path, state.as_ref()))
            }
        };
    }

    fn look_beside(&mut self, tool: &impl Tool) {
        let Some(path) = tool.side(&self.path) else { return };
        let Ok(meta) = fs::metadata(&path) else {
            self.side = Side::default();
            return;
        };
        let now = stamped(&meta);
        if self.side.stamped == Some(now) || !meta.is_file() || now.len > LARGEST_SIDE {
            return;
        }
        // One that is being written is half; it is read again when it is whole.
        let value = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some(value) = value {
            self.side = Side { stamped: Some(now), value: Some(value) };
        }
    }
}

fn raw(state: &Value) -> Option<Box<RawValue>> {
    serde_json::value::to_raw_value(state).ok()
}

/// Returns what tells this content from another.
pub fn stamped(meta: &Metadata) -> Stamped {
    let modified = meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec());
    Stamped { len: meta.len(), inode: meta.ino(), modified }
}

fn born(meta: &Metadata) -> Option<i64> {
    let since = meta.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

/// Returns a path's metadata, if it is a file of its own and no link.
pub fn plain_file(path: &Path) -> Option<Metadata> {
    fs::symlink_metadata(path).ok().filter(Metadata::is_file)
}
