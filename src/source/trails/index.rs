//! What was read before, kept in the user's cache folder: a second start reads only what was appended.
//!
//! One file for a tool and a scope: an entry for each trail, their checksum, then what a start does not look at
//! ([`later`](super::later)) with a checksum of its own. It is only ever a shortcut: what is broken, foreign or of another
//! version is read anew, and what does not fit the file on disk is not used. It holds the beginnings of prompts and answers,
//! so only its owner may read it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hashbrown::HashMap;

use super::fold::Page;
use super::later::{Later, Shelf, Whole};
use super::look::open_plain;
use super::pack::{Packer, Texts, Unpacker};
use super::walk::apart;
use crate::agent::trail::Process;
use crate::model::time::Stamp;

/// The form of the index itself.
const FORM: &[u8] = b"quarterdeck trails 7\n";
/// So much of an index is written at once.
const AT_ONCE: usize = 64 * 1024;
/// What it ends with, byte by byte: the checksum of what is read at a start and how long that is, and the checksum of the
/// rest.
const END: usize = 4 + 8 + 4;

/// What tells one content of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamped {
    pub len: u64,
    pub inode: u64,
    /// Nanoseconds since the epoch.
    pub modified: i64,
}

/// What is known of one trail.
#[derive(Debug)]
pub struct Entry {
    pub stamped: Stamped,
    /// When the file came to be, in milliseconds, where the system tells.
    pub born: Option<i64>,
    /// Where its session ran, where that had to be read.
    pub place: Option<PathBuf>,
    /// Up to where its lines are in the fold.
    pub offset: u64,
    /// The reader's state there, as JSON; `None` where nothing was read.
    pub state: Option<Later>,
    /// What it said, packed.
    pub fold: Page,
    /// Whether the costs in it are by the table in force.
    pub is_priced: bool,
    /// Whether no other trail had one of its messages.
    pub is_alone: bool,
    pub concluded: Option<Concluded>,
}

/// Everything that an index knows.
#[derive(Debug, Default)]
pub struct Known {
    /// The table of prices by which costs were computed.
    pub prices: u64,
    /// What was in each folder.
    pub folders: Vec<Folder>,
    /// Where the rest of it is.
    pub shelf: Option<Arc<Shelf>>,
}

/// An index that was read: what a start looks at, and the rest.
#[derive(Debug)]
pub struct Loaded {
    pub told: Bytes,
    pub each: Later,
}

/// A folder and what was in it, by their whole paths: so nobody need put them together again, file by file.
#[derive(Debug)]
pub struct Folder {
    pub path: PathBuf,
    /// Which of the folders before it this one is in, if any.
    pub above: Option<usize>,
    /// When it was last changed.
    pub modified: i64,
    pub trails: Vec<(PathBuf, Entry)>,
}

/// The same as it is written, by their names.
#[derive(Debug)]
pub struct Listed<'a> {
    pub modified: i64,
    pub trails: Vec<(&'a OsStr, Entry)>,
}

/// What was concluded of a trail whose process was not known to run, and for how long that holds.
#[derive(Debug, Clone)]
pub struct Concluded {
    /// It, packed.
    pub fold: Bytes,
    /// Whether the process was known to be gone; else nothing was known of it.
    pub is_gone: bool,
    pub from: Stamp,
    /// The first moment at which it may be otherwise; `None` if time changes nothing.
    pub until: Option<Stamp>,
    /// The small file beside it that was taken into account; `None` if there was none.
    pub side: Option<Stamped>,
    /// Whether that file has said its last word.
    pub is_side_final: bool,
}

/// Where the index of a tool is, and what it must be of to count.
#[derive(Debug, Clone)]
pub struct Place {
    pub file: PathBuf,
    pub tool: &'static str,
    pub reader: u32,
    /// The folders whose trails are in it.
    pub of: String,
}

impl Place {
    /// Names the index of a tool for a scope, below a cache folder.
    pub fn new(cache: &Path, tool: &'static str, reader: u32, of: String) -> Self {
        let name = format!("{tool}-{:08x}", crc32fast::hash(of.as_bytes()));
        Self { file: cache.join("quarterdeck/trails").join(name), tool, reader, of }
    }

    /// Reads the index; whatever is wrong with it, there is none then.
    pub fn load(&self) -> Known {
        self.load_whole().and_then(|loaded| self.unpack(&loaded)).unwrap_or_default()
    }

    /// Returns the bytes of the index, if their checksum is right. That of the rest is asked when somebody reads it.
    pub fn load_whole(&self) -> Option<Loaded> {
        let (file, now) = open_plain(&self.file)?;
        let len = now.len.checked_sub(END as u64)?;
        let mut end = [0; END];
        file.read_exact_at(&mut end, len).ok()?;
        let mut from = &end[..];
        let sum = u32::from_le_bytes(next(&mut from)?);
        let told = u64::from_le_bytes(next(&mut from)?);
        let sum_later = u32::from_le_bytes(next(&mut from)?);
        let later = usize::try_from(len.checked_sub(told)?).ok()?;
        let mut bytes = vec![0; usize::try_from(told).ok()?];
        file.read_exact_at(&mut bytes, 0).ok()?;
        (crc32fast::hash(&bytes) == sum).then(|| {
            let rest = Arc::new(Shelf::new(file, told, later, sum_later));
            Loaded { told: bytes.into(), each: Later::There { shelf: rest, at: 0..later } }
        })
    }

    /// Begins to read what an index says; `None` where it is none, or another's.
    pub fn enter<'a>(&self, whole: &'a [u8], texts: &'a mut Texts) -> Option<Unpacker<'a>> {
        let mut from = Unpacker::new(whole.strip_prefix(FORM)?, texts);
        let is_ours =
            from.text()? == self.tool && from.number()? == u64::from(self.reader) && from.text()? == self.of;
        is_ours.then_some(from)
    }

    /// Reads what an index says; `None` where it is none, or another's.
    pub fn unpack(&self, Loaded { told, each }: &Loaded) -> Option<Known> {
        let mut texts = Texts::default();
        let mut from = self.enter(told, &mut texts)?;
        let mut whole = Whole { told, each, at: 0 };
        let prices = from.number()?;
        let mut numbers = 0..;
        let folders = from.list(|from| Folder::unpack(from, &mut whole, numbers.next()?))?;
        let rest = each.shelf().map(Arc::clone);
        let is_whole = from.is_done() && whole.at == each.len();
        is_whole.then_some(Known { prices, folders, shelf: rest })
    }

    /// Returns what an index begins with: what says of what it is.
    pub fn head(&self) -> Packer {
        let mut to = Packer::with_room(2 * AT_ONCE);
        to.bytes.extend_from_slice(FORM);
        to.text(self.tool);
        to.number(self.reader.into());
        to.text(&self.of);
        to
    }

    /// Begins to write the index anew.
    pub fn begin(&self) -> io::Result<Writing<'_>> {
        let folder = self.file.parent().ok_or(io::ErrorKind::InvalidInput)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let temporary = tempfile::NamedTempFile::new_in(folder)?;
        temporary.as_file().set_permissions(fs::Permissions::from_mode(0o600))?;
        let (sum, told, later) = (crc32fast::Hasher::new(), 0, Vec::new());
        Ok(Writing { place: self, temporary, sum, told, to: self.head(), later })
    }

    /// Writes the index anew.
    pub fn save(&self, prices: u64, mut folders: Vec<(&OsStr, Listed<'_>)>) -> io::Result<()> {
        let mut writing = self.begin()?;
        writing.to.number(prices);
        // So each comes after the one that it is in.
        folders.sort_unstable_by_key(|(path, _)| *path);
        let numbers: HashMap<&OsStr, u64> = folders.iter().map(|(path, _)| *path).zip(0..).collect();
        writing.list(folders, |writing, (path, listed)| {
            let above = apart(path).and_then(|(above, _)| numbers.get(above).copied());
            writing.to.bytes(path.as_bytes());
            writing.to.maybe(above, Packer::number);
            listed.write(writing)
        })?;
        writing.finish()
    }
}

/// An index that is being written beside the old one. Little of it is in memory at a time: there may be very many
/// trails.
#[derive(Debug)]
pub struct Writing<'a> {
    place: &'a Place,
    temporary: tempfile::NamedTempFile,
    sum: crc32fast::Hasher,
    /// How much was written.
    told: u64,
    /// What comes next.
    pub to: Packer,
    /// What comes after all that a start reads.
    later: Vec<Later>,
}

impl Writing<'_> {
    /// Writes how many there are, and each of them.
    pub fn list<T>(
        &mut self,
        list: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
        mut write: impl FnMut(&mut Self, T) -> io::Result<()>,
    ) -> io::Result<()> {
        let list = list.into_iter();
        self.to.number(list.len() as u64);
        for one in list {
            write(self, one)?;
            if self.to.bytes.len() >= AT_ONCE {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Puts the new index in the place of the old one.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        let (told, sum) = (self.told, std::mem::take(&mut self.sum).finalize());
        for later in std::mem::take(&mut self.later) {
            self.to.bytes.extend_from_slice(later.get());
            if later.is_lost() {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if self.to.bytes.len() >= AT_ONCE {
                self.flush()?;
            }
        }
        self.flush()?;
        let sum_later = std::mem::take(&mut self.sum).finalize();
        let end = [&sum.to_le_bytes()[..], &told.to_le_bytes(), &sum_later.to_le_bytes()].concat();
        self.temporary.write_all(&end)?;
        self.temporary.persist(&self.place.file).map_err(|error| error.error)?;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sum.update(&self.to.bytes);
        self.temporary.write_all(&self.to.bytes)?;
        self.told += self.to.bytes.len() as u64;
        self.to.bytes.clear();
        Ok(())
    }
}

/// Takes so many bytes off the beginning.
fn next<const COUNT: usize>(from: &mut &[u8]) -> Option<[u8; COUNT]> {
    let (bytes, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(*bytes)
}

impl Listed<'_> {
    /// One that must be listed again.
    pub fn unsettled() -> Self {
        Self { modified: i64::MIN, trails: Vec::new() }
    }

    fn write(&self, writing: &mut Writing<'_>) -> io::Result<()> {
        writing.to.signed(self.modified);
        writing.list(&self.trails, |writing, (name, entry)| {
            writing.to.bytes(name.as_bytes());
            entry.pack(&mut writing.to);
            writing.later.extend(entry.state.iter().chain([&entry.fold.each]).cloned());
            Ok(())
        })
    }
}

impl Folder {
    /// Reads the one that has this number.
    fn unpack(from: &mut Unpacker<'_>, whole: &mut Whole<'_>, number: usize) -> Option<Self> {
        let path = from.bytes()?;
        let below = |name: &[u8]| PathBuf::from(OsString::from_vec([path, b"/", name].concat()));
        let before = |above: u64| usize::try_from(above).ok().filter(|above| *above < number);
        Some(Self {
            path: OsStr::from_bytes(path).into(),
            above: from.maybe(|from| before(from.number()?))?,
            modified: from.signed()?,
            trails: from.list(|from| Some((below(from.bytes()?), Entry::unpack(from, whole)?)))?,
        })
    }
}

impl Entry {
    fn pack(&self, to: &mut Packer) {
        self.stamped.pack(to);
        to.maybe(self.born, Packer::signed);
        to.maybe(self.place.as_deref(), |to, place| to.bytes(place.as_os_str().as_bytes()));
        to.number(self.offset);
        to.maybe(self.state.as_ref(), |to, state| to.number(state.len() as u64));
        to.bytes(&self.fold.told);
        to.number(self.fold.each.len() as u64);
        to.number(u64::from(self.is_alone));
        to.maybe(self.concluded.as_ref(), |to, concluded| concluded.pack(to));
    }

    fn unpack(from: &mut Unpacker<'_>, whole: &mut Whole<'_>) -> Option<Self> {
        let told = whole.told;
        Some(Self {
            stamped: Stamped::unpack(from)?,
            born: from.maybe(Unpacker::signed)?,
            place: from.maybe(|from| Some(PathBuf::from(OsStr::from_bytes(from.bytes()?))))?,
            offset: from.number()?,
            state: from.maybe(|from| whole.next(from.number()?))?,
            fold: Page { told: told.slice_ref(from.bytes()?), each: whole.next(from.number()?)? },
            is_priced: true,
            is_alone: from.number()? != 0,
            concluded: from.maybe(|from| Concluded::unpack(from, told))?,
        })
    }
}

impl Concluded {
    /// Returns what was known of the process.
    pub fn process(&self) -> Process {
        if self.is_gone { Process::Gone } else { Process::Unknown }
    }

    fn pack(&self, to: &mut Packer) {
        to.bytes(&self.fold);
        to.number(u64::from(self.is_gone));
        to.signed(self.from.millis());
        to.maybe(self.until.map(Stamp::millis), Packer::signed);
        // What has said its last word is not looked at again.
        to.maybe(self.side.as_ref().filter(|_| !self.is_side_final), |to, side| side.pack(to));
        to.number(u64::from(self.is_side_final));
    }

    fn unpack(from: &mut Unpacker<'_>, whole: &Bytes) -> Option<Self> {
        Some(Self {
            fold: whole.slice_ref(from.bytes()?),
            is_gone: from.number()? != 0,
            from: Stamp::from_millis(from.signed()?),
            until: from.maybe(Unpacker::signed)?.map(Stamp::from_millis),
            side: from.maybe(Stamped::unpack)?,
            is_side_final: from.number()? != 0,
        })
    }
}

impl Stamped {
    fn pack(&self, to: &mut Packer) {
        to.number(self.len);
        to.number(self.inode);
        to.fixed(self.modified.cast_unsigned());
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(Self { len: from.number()?, inode: from.number()?, modified: from.fixed()?.cast_signed() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn an_index_that_is_written_in_many_pieces_is_read_as_a_whole() {
        let cache = tempfile::tempdir().unwrap();
        let place = Place::new(cache.path(), "tool", 1, "all".into());
        let page = |nth: usize| {
            let bytes = || vec![u8::try_from(nth % 251).unwrap(); 500 + nth];
            Page { told: bytes().into(), each: Later::Here(bytes().into()) }
        };
        let entry = |nth: usize| Entry {
            stamped: Stamped { len: nth as u64, inode: 7, modified: -3 },
            born: None,
            place: None,
            offset: nth as u64,
            state: None,
            fold: page(nth),
            is_priced: true,
            is_alone: nth.is_multiple_of(2),
            concluded: None,
        };
        let names: Vec<OsString> = (0..300).map(|nth: usize| format!("trail {nth}").into()).collect();
        let trails = || names.iter().enumerate().map(|(nth, name)| (name.as_os_str(), entry(nth))).collect();
        let folders = ["/a/b", "/a-b", "/a"]
            .map(|path| (OsStr::new(path), Listed { trails: trails(), ..Listed::unsettled() }));
        place.save(42, folders.into()).unwrap();
        assert!(fs::metadata(&place.file).unwrap().len() > 4 * AT_ONCE as u64, "too small to be in pieces");
        let known = place.load();
        let above: Vec<(&str, Option<usize>)> =
            known.folders.iter().map(|folder| (folder.path.to_str().unwrap(), folder.above)).collect();
        assert_eq!((known.prices, above), (42, vec![("/a", None), ("/a-b", None), ("/a/b", Some(0))]));
        for folder in known.folders {
            assert_eq!(folder.trails.len(), names.len());
            for ((nth, name), (path, entry_of)) in names.iter().enumerate().zip(folder.trails) {
                assert_eq!((path, entry_of.offset), (folder.path.join(name), nth as u64));
                assert_eq!((entry_of.fold, entry_of.is_alone), (entry(nth).fold, nth.is_multiple_of(2)));
            }
        }
    }

    #[test]
    fn what_is_lost_is_not_written_as_if_it_were_there() {
        let cache = tempfile::tempdir().unwrap();
        let place = Place::new(cache.path(), "tool", 1, "all".into());
        let each = Later::Here(b"messages".to_vec().into());
        let entry = Entry {
            stamped: Stamped::default(),
            born: None,
            place: None,
            offset: 0,
            state: None,
            fold: Page { told: Bytes::new(), each },
            is_priced: true,
            is_alone: true,
            concluded: None,
        };
        let listed = |entry| Listed { trails: vec![(OsStr::new("trail"), entry)], ..Listed::unsettled() };
        place.save(42, vec![(OsStr::new("/a"), listed(entry))]).unwrap();
        let mut damaged = fs::read(&place.file).unwrap();
        let at = damaged.windows(8).position(|part| part == b"messages").unwrap();
        damaged[at] = b'M';
        fs::write(&place.file, &damaged).unwrap();
        let (_, entry) = place.load().folders.remove(0).trails.remove(0);
        assert!(place.save(42, vec![(OsStr::new("/a"), listed(entry))]).is_err());
        assert_eq!(fs::read(&place.file).unwrap(), damaged, "what was there is still there");
    }

    #[test]
    fn a_pipe_in_its_place_is_not_waited_for() {
        let cache = tempfile::tempdir().unwrap();
        let place = Place::new(cache.path(), "tool", 1, "all".into());
        fs::create_dir_all(place.file.parent().unwrap()).unwrap();
        mkfifoat(CWD, &place.file, Mode::RUSR | Mode::WUSR).unwrap();
        let (tell, told) = mpsc::channel();
        let asked = place.clone();
        thread::spawn(move || tell.send(asked.load().folders.len()));
        assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(0));
        place.save(42, Vec::new()).unwrap();
        assert_eq!(place.load().prices, 42, "and it is put there anew");
    }
}
