//! One trail: how far it was read, by whom, and what it said.

use std::cmp::Ordering;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use serde_json::Value;

use super::cost::Pricer;
use super::fold::{Fold, Page, Told};
use super::index::{Concluded, Entry, Stamped};
use super::later::Later;
use super::look::{Look, stamped};
use super::pack::Texts;
use super::side::{self, Side};
use super::tell::{Conclusion, Owner, Teller};
use super::tool::Tool;
use super::walk::apart;
use crate::agent::lines::Lines;
use crate::agent::trail::{Beside, Lasts, Process, Said, Trail};
use crate::model::time::Stamp;
use crate::source::feed::Batch;

/// A trail and what is known of it.
pub struct TrailFile {
    pub path: PathBuf,
    pub stamped: Stamped,
    /// When it came to be, in milliseconds, where the system tells.
    pub born: Option<i64>,
    pub place: Option<PathBuf>,
    /// What it said, up to `offset`.
    fold: Kept,
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
    /// Up to where bytes were read: what is after `offset` is the beginning of a line, in `work`.
    read_to: u64,
    reader: Reader,
    /// What is needed only while it is looked into: of most files nobody reads anything.
    work: Option<Box<Work>>,
    /// What was last concluded of it, while nothing new was read.
    concluded: Option<Concluded>,
}

enum Reader {
    /// Nothing was read yet.
    Fresh,
    /// Put aside as its state, in JSON.
    Aside(Later),
    Open(Box<dyn Trail>),
}

/// What a file said. Most files never change again: theirs is packed.
enum Kept {
    Packed(Page),
    /// The same, and the index knows that no other trail has one of its messages.
    Alone(Page),
    /// Packed, with costs by a table that is not in force any more.
    Unpriced(Page),
    Open(Fold),
}

/// What is in work while a trail is looked into.
struct Work {
    lines: Lines,
    side: Side,
}

impl Default for Work {
    fn default() -> Self {
        Self { lines: Lines::squeezing(), side: Side::default() }
    }
}

/// How a file compares with what is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    Same,
    /// Something was appended.
    Grown(Stamped),
    /// It has another time, and as many bytes as before.
    Touched(Stamped),
    /// It is gone, shorter, or another file: what it said no longer counts.
    Other,
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
    pub fn found(path: PathBuf, look: Look) -> Self {
        Self {
            path,
            stamped: look.stamped,
            born: look.born,
            place: None,
            fold: Kept::Open(Fold::default()),
            is_queued: false,
            is_told: false,
            process: Process::Unknown,
            trouble: None,
            inode: look.stamped.inode,
            offset: 0,
            read_to: 0,
            reader: Reader::Fresh,
            work: None,
            concluded: None,
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
            (self.offset, self.read_to) = (entry.offset, entry.offset);
            self.fold = match (entry.is_priced, entry.is_alone) {
                (true, true) => Kept::Alone(entry.fold),
                (true, false) => Kept::Packed(entry.fold),
                (false, _) => Kept::Unpriced(entry.fold),
            };
            self.born = entry.born.or(self.born);
            self.reader = Reader::Aside(state);
            self.concluded = entry.concluded.filter(|_| is_same);
        }
    }

    /// Returns what the index keeps; of a file that was not read only that it is there.
    pub fn entry(&self, is_alone: bool, pricer: &mut Pricer) -> Option<Entry> {
        let fold = match &self.fold {
            Kept::Packed(page) | Kept::Alone(page) => Some(page.clone()),
            Kept::Unpriced(page) => Fold::unpack(page, &mut Texts::default()).map(|fold| fold.pack(pricer)),
            Kept::Open(fold) => Some(fold.pack(pricer)),
        };
        let state = match &self.reader {
            Reader::Fresh => None,
            Reader::Aside(state) => Some(state.clone()),
            Reader::Open(reader) => Some(Later::Here(reader.kept()?.into())),
        };
        // What is no fold is read anew the next time too.
        let (state, fold) = fold.map_or_else(Default::default, |fold| (state, fold));
        let (place, concluded) = (self.place.clone(), self.concluded.clone());
        let Self { stamped, born, offset, .. } = *self;
        let is_priced = true;
        Some(Entry { stamped, born, place, offset, state, fold, is_priced, is_alone, concluded })
    }

    /// Tells everything that it said so far.
    pub fn tell(&mut self, owner: Owner, teller: &mut Teller, texts: &mut Texts, batch: &mut Batch) {
        self.price_anew(texts);
        match &self.fold {
            Kept::Open(fold) => teller.tell(owner, fold, batch),
            Kept::Packed(packed) | Kept::Alone(packed) => match Fold::told(packed, texts) {
                Some(told) => self.tell_kept(owner, told, teller, batch),
                None => self.read_anew(),
            },
            Kept::Unpriced(_) => self.read_anew(),
        }
    }

    /// Tells what was kept of it.
    pub fn tell_kept(
        &self,
        owner: Owner,
        told: impl IntoIterator<Item = Told>,
        teller: &mut Teller,
        batch: &mut Batch,
    ) {
        match &self.fold {
            Kept::Alone(_) => teller.tell_alone(owner, told, batch),
            Kept::Packed(_) | Kept::Unpriced(_) | Kept::Open(_) => teller.tell_all(owner, told, batch),
        }
    }

    /// Puts into `told` everything that it said and what follows from it; returns whether all of that was kept and nothing
    /// changed since.
    pub fn recalled(
        &mut self,
        tool: &impl Tool,
        now: Stamp,
        texts: &mut Texts,
        told: &mut Vec<Told>,
    ) -> bool {
        told.clear();
        if self.is_told || self.is_behind() || self.trouble.is_some() {
            return false;
        }
        self.process = tool.process(&self.path);
        let (Kept::Alone(page) | Kept::Packed(page)) = &self.fold else { return false };
        let concluded = self.still_holds(tool, now);
        self.is_told =
            concluded.is_some_and(|concluded| Fold::told_with(page, &concluded.fold, texts, told).is_some());
        self.is_told
    }

    /// Takes out of their bytes messages whose costs are by another table: they are computed when they are told.
    fn price_anew(&mut self, texts: &mut Texts) {
        if let Kept::Unpriced(packed) = &self.fold
            && let Some(fold) = Fold::unpack(packed, texts)
        {
            self.fold = Kept::Open(fold);
        }
    }

    /// Takes in what it said later.
    pub fn absorb(&mut self, fresh: Fold, texts: &mut Texts) {
        if fresh.nodes.is_empty() {
            return;
        }
        if let Kept::Packed(packed) | Kept::Alone(packed) | Kept::Unpriced(packed) = &self.fold {
            let whole = Fold::unpack(packed, texts);
            if whole.is_none() {
                // The index is not what was written, which is noticed now: nothing that was read of it counts.
                self.disown();
            }
            self.fold = Kept::Open(whole.unwrap_or_default());
        }
        if let Kept::Open(fold) = &mut self.fold {
            fold.absorb(fresh);
        }
    }

    /// Returns whether it said nothing yet, as far as is known.
    pub fn is_silent(&self) -> bool {
        matches!(&self.fold, Kept::Open(fold) if fold.nodes.is_empty())
    }

    /// Takes in all that it said, and tells it as a later start would: what it used as one sum, wherever that can be.
    pub fn tell_sealed(&mut self, owner: Owner, whole: Fold, teller: &mut Teller, batch: &mut Batch) {
        let (page, told) = whole.seal(&mut teller.pricer);
        self.fold = Kept::Packed(page);
        teller.tell_all(owner, told, batch);
    }

    /// What the index kept of it is of no use.
    fn read_anew(&mut self) {
        (self.offset, self.read_to, self.concluded) = (0, 0, None);
        (self.fold, self.reader) = (Kept::Open(Fold::default()), Reader::Fresh);
    }

    /// Returns who has what is in it, by the file's number.
    pub fn owner(&self, tool: &impl Tool, file: usize) -> Owner {
        let name = apart(self.path.as_os_str()).map(|(_, name)| name.as_bytes()).unwrap_or_default();
        let mut order = [0; 8];
        order.iter_mut().zip(name).for_each(|(slot, byte)| *slot = *byte);
        let order = u64::from_be_bytes(order);
        Owner { file, is_below: tool.is_below(&self.path), born: self.born, order }
    }

    /// Returns whether what was read is still there.
    pub fn is_same(&self, now: Stamped) -> bool {
        now.inode == self.inode && now.len >= self.read_to
    }

    /// Returns whether what the index had of it turned out to be lost.
    pub fn is_lost(&self) -> bool {
        match &self.fold {
            Kept::Packed(page) | Kept::Alone(page) | Kept::Unpriced(page) => page.each.is_lost(),
            Kept::Open(_) => false,
        }
    }

    /// Returns whether no line of it was read yet.
    pub fn is_unread(&self) -> bool {
        self.offset == 0
    }

    /// Returns whether it is other than what was read: there are more bytes, or fewer, or it is another file.
    pub fn is_behind(&self) -> bool {
        self.stamped.len != self.read_to || self.stamped.inode != self.inode
    }

    /// Compares how the file is now with what is known of it; `now` is `None` if it is gone.
    pub fn check(&self, now: Option<Stamped>) -> Checked {
        let Some(now) = now.filter(|now| now.inode == self.inode) else { return Checked::Other };
        match now.len.cmp(&self.stamped.len) {
            Ordering::Equal if now == self.stamped => Checked::Same,
            Ordering::Equal => Checked::Touched(now),
            Ordering::Greater if now.len >= self.read_to => Checked::Grown(now),
            Ordering::Greater | Ordering::Less => Checked::Other,
        }
    }

    /// Takes it that whatever is there is another file than what was read.
    pub fn disown(&mut self) {
        // No file has this number.
        self.inode = 0;
    }

    /// Looks at the file; returns whether it may have changed.
    pub fn glance(&mut self) -> bool {
        if let Ok(meta) = fs::metadata(&self.path) {
            let now = stamped(&meta);
            return std::mem::replace(&mut self.stamped, now) != now;
        }
        // Another one than was read: so the next reading finds that it is gone.
        self.stamped = Stamped::default();
        true
    }

    /// Reads on, at most about `budget` bytes, and adds what is said to `fresh`. Returns how much was read. The room for
    /// what is read and for what it says is used for one file after the other.
    pub fn read(
        &mut self,
        tool: &impl Tool,
        (buffer, said): (&mut [u8], &mut Vec<Said>),
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
        self.concluded = None;
        self.open(tool);
        let read = self.read_on(&file, (buffer, said), budget, fresh);
        if let Reader::Open(reader) = &mut self.reader {
            reader.stop(said);
        }
        said.drain(..).for_each(|said| fresh.take(said));
        read
    }

    /// Reads on in a file that is open.
    fn read_on(
        &mut self,
        file: &File,
        (buffer, said): (&mut [u8], &mut Vec<Said>),
        budget: usize,
        fresh: &mut Fold,
    ) -> io::Result<(usize, Ending)> {
        let mut taken = 0;
        while taken < budget {
            // What comes after the look is found by the next one.
            if self.read_to >= self.stamped.len {
                return Ok((taken, Ending::End));
            }
            let read = file.read_at(buffer, self.read_to)?;
            if read == 0 {
                return Ok((taken, Ending::End));
            }
            let bytes = buffer.get(..read).unwrap_or_default();
            let Reader::Open(reader) = &mut self.reader else { return Ok((taken, Ending::End)) };
            let (offset, work) = (&mut self.offset, self.work.get_or_insert_default());
            work.lines.pass(self.read_to, bytes, |line| {
                *offset = line.next;
                reader.line(line, said);
            });
            self.read_to += read as u64;
            taken += read;
            said.drain(..).for_each(|said| fresh.take(said));
        }
        Ok((taken, Ending::More))
    }

    /// Returns what follows from all that was read so far, and whether that is worth keeping.
    pub fn conclude(&mut self, tool: &impl Tool, now: Stamp, texts: &mut Texts) -> (Conclusion, bool) {
        self.process = tool.process(&self.path);
        let before = self.still_holds(tool, now).map(|before| Page::plain(before.fold.clone()));
        if let Some(told) = before.and_then(|before| Fold::told(&before, texts)) {
            return (Conclusion::Known(told), false);
        }
        self.look_beside(tool);
        let aside = if let Reader::Aside(state) = &self.reader { Some(state.clone()) } else { None };
        self.open(tool);
        let mut said: Vec<Said> = Vec::new();
        let mut lasts = Lasts::default();
        if let Reader::Open(reader) = &self.reader {
            let side = self.side().and_then(|side| side.bytes.as_deref());
            let beside = Beside { side, process: self.process, now };
            reader.conclude(&beside, &mut said);
            lasts = reader.lasts(&beside);
        }
        if let Some(state) = aside {
            self.reader = Reader::Aside(state);
        }
        let mut fold = Fold::default();
        for said in said {
            fold.take(said);
        }
        self.concluded = self.keep(&fold, lasts, now);
        (Conclusion::New(fold), self.concluded.is_some())
    }

    /// Returns what was concluded before, if nothing changed that it depends on.
    fn still_holds(&self, tool: &impl Tool, now: Stamp) -> Option<&Concluded> {
        let before = self.concluded.as_ref().filter(|before| before.process() == self.process)?;
        if now < before.from || before.until.is_some_and(|until| now >= until) {
            return None;
        }
        let beside = || tool.side(&self.path).and_then(|path| side::now(&path));
        (before.is_side_final || before.side == beside()).then_some(before)
    }

    /// Keeps a conclusion for later. That a process runs is never concluded from before.
    fn keep(&self, fold: &Fold, lasts: Lasts, now: Stamp) -> Option<Concluded> {
        let is_gone = match self.process {
            Process::Alive { .. } => return None,
            Process::Gone => true,
            Process::Unknown => false,
        };
        let Lasts { until, is_side_final } = lasts;
        let is_short = until.is_some_and(|until| until <= now);
        let side = self.side().and_then(|side| side.stamped);
        (!is_short).then(|| Concluded {
            fold: fold.pack_plain(),
            is_gone,
            from: now,
            until,
            side,
            is_side_final,
        })
    }

    /// Returns why the small file beside it is not read, as it was last concluded.
    pub fn trouble_beside(&self) -> Option<&str> {
        self.side()?.trouble.as_deref()
    }

    fn side(&self) -> Option<&Side> {
        self.work.as_ref().map(|work| &work.side)
    }

    /// Puts the reader aside: a file that nobody writes needs no more than its state.
    pub fn put_aside(&mut self, pricer: &mut Pricer) {
        if let Reader::Open(reader) = &self.reader
            && let Some(state) = reader.kept()
        {
            self.reader = Reader::Aside(Later::Here(state.into()));
            self.read_to = self.offset;
        }
        if let Kept::Open(fold) = &self.fold {
            self.fold = Kept::Packed(fold.pack(pricer));
        }
        match (&self.reader, &mut self.work) {
            // It may be in the middle of a line.
            (Reader::Open(_), Some(work)) => work.side = Side::default(),
            (Reader::Open(_) | Reader::Fresh | Reader::Aside(_), _) => self.work = None,
        }
    }

    /// Forgets everything that was read.
    pub fn forget(&mut self, look: Look) {
        let path = std::mem::take(&mut self.path);
        *self = Self { place: self.place.take(), ..Self::found(path, look) };
    }

    fn open(&mut self, tool: &impl Tool) {
        self.reader = match std::mem::replace(&mut self.reader, Reader::Fresh) {
            Reader::Open(reader) => Reader::Open(reader),
            Reader::Fresh => Reader::Open(tool.open(&self.path, None)),
            Reader::Aside(state) => {
                let value = serde_json::from_slice::<Value>(state.get()).ok();
                if state.is_lost() {
                    self.disown();
                }
                Reader::Open(tool.open(&self.path, value.as_ref()))
            }
        };
    }

    /// Looks at the small file beside it, if such a trail can have one.
    fn look_beside(&mut self, tool: &impl Tool) {
        if let Some(path) = tool.side(&self.path) {
            self.work.get_or_insert_default().side.look(&path, tool.largest_side());
        }
    }
}
