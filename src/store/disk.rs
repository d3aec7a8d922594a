//! The file layer under the store: every operation that the store does on files, and nothing more.
//!
//! It is a trait for one reason: a disk that loses, tears and refuses writes can stand in for the real one,
//! so that each promise is tested at every single call. No policy here: what is synced, and when, is decided
//! by the callers.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::model::time::Stamp;

/// Only the owner may read or write a file of ours.
const FILE_MODE: u32 = 0o600;
/// What is written to is a file of ours, and no link that leads to another's.
const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
/// Only the owner may enter a folder of ours.
const FOLDER_MODE: u32 = 0o700;

/// What the store asks of a file system.
pub trait Disk: Send + Sync + fmt::Debug {
    /// Makes a file that must not exist yet.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Writer>>;
    /// Opens a file for writing at its end, and makes it if it is missing.
    fn append(&self, path: &Path) -> io::Result<Box<dyn Writer>>;
    /// As [`Disk::append`], but waits until no other process has it open this way.
    fn append_alone(&self, path: &Path) -> io::Result<Box<dyn Writer>>;
    /// Opens a file for reading.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Reader>>;
    /// Returns what is known of a file or folder; `None` if there is none.
    fn stat(&self, path: &Path) -> io::Result<Option<Stat>>;
    /// Returns the names in a folder, sorted; none if there is no folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Gives a file another name, in place of what had that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes a folder and what is in it.
    fn remove_tree(&self, folder: &Path) -> io::Result<()>;
    /// Makes a folder; one that is there already is kept.
    fn create_dir(&self, folder: &Path) -> io::Result<()>;
    /// Makes the names in a folder durable: created, renamed and removed ones.
    fn sync_dir(&self, folder: &Path) -> io::Result<()>;
    /// Takes the lock that a file stands for; `None` if somebody has it.
    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn Locked>>>;
}

/// A file open for writing at its end.
pub trait Writer: Send {
    /// Writes all of it, or fails having written any part of it.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes the file's content durable (fdatasync).
    fn sync_data(&mut self) -> io::Result<()>;
    /// Cuts the file.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
}

/// A file open for reading.
pub trait Reader: Send {
    /// Reads what is at an offset; 0 at the end.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize>;
}

/// A lock that is held until it is dropped.
pub trait Locked: Send + Sync {
    /// Replaces the lock file's content.
    fn note(&mut self, content: &[u8]) -> io::Result<()>;
}

/// What is known of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Its size in bytes.
    pub len: u64,
    /// What tells it from another file that had the same name.
    pub inode: u64,
    /// When it was last written.
    pub modified: Stamp,
    /// Its permission bits.
    pub mode: u32,
}

/// Reads a whole file.
pub fn read(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let mut reader = disk.open(path)?;
    // Its size now, and one more to notice the end; it may grow while it is read.
    let expected = disk.stat(path)?.and_then(|stat| usize::try_from(stat.len).ok()).unwrap_or(0);
    let mut all = vec![0; expected + 1];
    let mut filled = 0;
    loop {
        if filled == all.len() {
            all.resize(filled + CHUNK, 0);
        }
        match reader.read_at(filled as u64, all.get_mut(filled..).unwrap_or_default())? {
            0 => break,
            read => filled += read,
        }
    }
    all.truncate(filled);
    Ok(all)
}

/// Copies a file from an offset on into a new one, durably; the original is not touched.
pub fn copy_aside(disk: &dyn Disk, from: &Path, offset: u64, to: &Path) -> io::Result<()> {
    let mut reader = disk.open(from)?;
    let mut writer = disk.create(to)?;
    let mut chunk = vec![0; CHUNK];
    let mut at = offset;
    loop {
        let read = reader.read_at(at, &mut chunk)?;
        match chunk.get(..read) {
            Some([]) | None => break,
            Some(bytes) => writer.write_all(bytes)?,
        }
        at += read as u64;
    }
    writer.sync_data()?;
    to.parent().map_or(Ok(()), |folder| disk.sync_dir(folder))
}

/// How much is read at a time: large enough that calls cost nothing, small enough to stay in the cache.
pub(crate) const CHUNK: usize = 256 * 1024;

/// The file system of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Writer>> {
        let file = OpenOptions::new().append(true).create_new(true).mode(FILE_MODE).open(path)?;
        Ok(Box::new(RealFile(file)))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn Writer>> {
        Ok(Box::new(RealFile(open_append(path)?)))
    }

    fn append_alone(&self, path: &Path) -> io::Result<Box<dyn Writer>> {
        let file = open_append(path)?;
        file.lock()?;
        Ok(Box::new(RealFile(file)))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Reader>> {
        Ok(Box::new(RealFile(File::open(path)?)))
    }

    fn stat(&self, path: &Path) -> io::Result<Option<Stat>> {
        match fs::metadata(path) {
            Ok(found) => Ok(Some(Stat {
                len: found.len(),
                inode: found.ino(),
                modified: modified(&found)?,
                mode: found.permissions().mode() & 0o7777,
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            // A name that is not UTF-8 is none of ours.
            names.extend(entry?.file_name().into_string().ok());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_tree(&self, folder: &Path) -> io::Result<()> {
        fs::remove_dir_all(folder)
    }

    fn create_dir(&self, folder: &Path) -> io::Result<()> {
        match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
            other => other,
        }
    }

    fn sync_dir(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn Locked>>> {
        loop {
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(FILE_MODE)
                .custom_flags(NO_LINK)
                .open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Somebody may have removed the file between open and lock: a lock on that one keeps nobody out.
            let held = file.metadata()?.ino();
            if self.stat(path)?.is_some_and(|named| named.inode == held) {
                return Ok(Some(Box::new(RealFile(file))));
            }
        }
    }
}

struct RealFile(File);

impl Writer for RealFile {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}

impl Reader for RealFile {
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(&self.0, into, offset)
    }
}

impl Locked for RealFile {
    fn note(&mut self, content: &[u8]) -> io::Result<()> {
        self.0.write_all_at(content, 0)?;
        self.0.set_len(content.len() as u64)
    }
}

fn open_append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(FILE_MODE).custom_flags(NO_LINK).open(path)
}

fn modified(found: &fs::Metadata) -> io::Result<Stamp> {
    let since = found.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Stamp::from_millis(0).plus(since))
}
