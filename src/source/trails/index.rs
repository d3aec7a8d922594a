//! What was read before, kept in the user's cache folder: a second start reads only what was appended.
//!
//! One file for a tool and a scope, an entry for each trail, a checksum at its end. It is only ever a shortcut: what is
//! broken, foreign or of another version is read anew, and what does not fit the file on disk is not used. It holds
//! the beginnings of prompts and answers, so only its owner may read it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use hashbrown::HashMap;

use super::pack::{Packer, Texts, Unpacker};
use super::walk::apart;
use crate::agent::trail::Process;
use crate::model::time::Stamp;

/// The form of the index itself.
const FORM: &[u8] = b"quarterdeck trails 6\n";
/// So much of an index is written at once.
const AT_ONCE: usize = 64 * 1024;
/// How many bytes its checksum has.
const SUM: usize = 4;

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
    pub state: Option<Bytes>,
    /// What it said, packed.
    pub fold: Bytes,
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
        self.load_whole().and_then(|whole| self.unpack(&whole)).unwrap_or_default()
    }

    /// Returns the bytes of the index, if its checksum is right.
    pub fn load_whole(&self) -> Option<Bytes> {
        let whole = Bytes::from(fs::read(&self.file).ok()?);
        let (said, sum) = whole.split_at_checked(whole.len().checked_sub(SUM)?)?;
        (crc32fast::hash(said).to_le_bytes() == sum).then(|| whole.slice_ref(said))
    }

    /// Begins to read what an index says; `None` where it is none, or another's.
    pub fn enter<'a>(&self, whole: &'a [u8], texts: &'a mut Texts) -> Option<Unpacker<'a>> {
        let mut from = Unpacker::new(whole.strip_prefix(FORM)?, texts);
        let is_ours =
            from.text()? == self.tool && from.number()? == u64::from(self.reader) && from.text()? == self.of;
        is_ours.then_some(from)
    }

    /// Reads what an index says; `None` where it is none, or another's.
    pub fn unpack(&self, whole: &Bytes) -> Option<Known> {
        let mut texts = Texts::default();
        let mut from = self.enter(whole, &mut texts)?;
        let prices = from.number()?;
        let mut numbers = 0..;
        let folders = from.list(|from| Folder::unpack(from, whole, numbers.next()?))?;
        from.is_done().then_some(Known { prices, folders })
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
        Ok(Writing { place: self, temporary, sum: crc32fast::Hasher::new(), to: self.head() })
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
    /// What comes next.
    pub to: Packer,
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
        self.temporary.write_all(&self.sum.finalize().to_le_bytes())?;
        self.temporary.persist(&self.place.file).map_err(|error| error.error)?;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sum.update(&self.to.bytes);
        self.temporary.write_all(&self.to.bytes)?;
        self.to.bytes.clear();
        Ok(())
    }
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
            Ok(())
        })
    }
}

impl Folder {
    /// Reads the one that has this number.
    fn unpack(from: &mut Unpacker<'_>, whole: &Bytes, number: usize) -> Option<Self> {
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
    /// Takes it that its costs are by another table than the one in force.
    pub fn forget_costs(&mut self) {
        self.is_priced = false;
    }

    fn pack(&self, to: &mut Packer) {
        self.stamped.pack(to);
        to.maybe(self.born, Packer::signed);
        to.maybe(self.place.as_deref(), |to, place| to.bytes(place.as_os_str().as_bytes()));
        to.number(self.offset);
        to.maybe(self.state.as_deref(), Packer::bytes);
        to.bytes(&self.fold);
        to.number(u64::from(self.is_alone));
        to.maybe(self.concluded.as_ref(), |to, concluded| concluded.pack(to));
    }

    fn unpack(from: &mut Unpacker<'_>, whole: &Bytes) -> Option<Self> {
        Some(Self {
            stamped: Stamped::unpack(from)?,
            born: from.maybe(Unpacker::signed)?,
            place: from.maybe(|from| Some(PathBuf::from(OsStr::from_bytes(from.bytes()?))))?,
            offset: from.number()?,
            state: from.maybe(|from| Some(whole.slice_ref(from.bytes()?)))?,
            fold: whole.slice_ref(from.bytes()?),
            is_priced: true,
            is_alone: from.number()? != 0,
            concluded: from.maybe(|from| Concluded::unpack(from, whole))?,
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
        to.maybe(self.side.as_ref(), |to, side| side.pack(to));
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
        to.signed(self.modified);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(Self { len: from.number()?, inode: from.number()?, modified: from.signed()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_is_written_in_many_pieces_is_read_as_a_whole() {
        let cache = tempfile::tempdir().unwrap();
        let place = Place::new(cache.path(), "tool", 1, "all".into());
        let entry = |nth: usize| Entry {
            stamped: Stamped { len: nth as u64, inode: 7, modified: -3 },
            born: None,
            place: None,
            offset: nth as u64,
            state: None,
            fold: vec![u8::try_from(nth % 251).unwrap(); 1_000].into(),
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
}
