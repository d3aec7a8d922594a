//! Bytes that hardly any start looks at: they stay in the file of the index until somebody asks for one of them.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

/// So much is looked at at once.
const AT_ONCE: usize = 64 * 1024;

/// Bytes that are in memory, or will be.
#[derive(Debug, Clone)]
pub enum Later {
    Here(Bytes),
    There { shelf: Arc<Shelf>, at: Range<usize> },
}

impl Default for Later {
    fn default() -> Self {
        Self::Here(Bytes::new())
    }
}

impl PartialEq for Later {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Later {
    pub fn len(&self) -> usize {
        match self {
            Self::Here(bytes) => bytes.len(),
            Self::There { at, .. } => at.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes; none if they cannot be read, which whoever holds the shelf finds out.
    pub fn get(&self) -> &[u8] {
        match self {
            Self::Here(bytes) => bytes,
            Self::There { shelf, at } => shelf.get().get(at.clone()).unwrap_or_default(),
        }
    }

    /// Returns a part of them, if they are so many. Nothing is read for that.
    pub fn slice(&self, part: Range<usize>) -> Option<Self> {
        if part.start > part.end || part.end > self.len() {
            return None;
        }
        Some(match self {
            Self::Here(bytes) => Self::Here(bytes.slice(part)),
            Self::There { shelf, at } => {
                let at = at.start + part.start..at.start + part.end;
                Self::There { shelf: Arc::clone(shelf), at }
            }
        })
    }

    /// Returns what they are on, if they are in a file.
    pub fn shelf(&self) -> Option<&Arc<Shelf>> {
        if let Self::There { shelf, .. } = self { Some(shelf) } else { None }
    }

    /// Returns whether they are lost: in a file that turned out not to have them.
    pub fn is_lost(&self) -> bool {
        self.shelf().is_some_and(|shelf| shelf.is_broken())
    }
}

/// What was written, and apart from it what is for later, while the one is read: how far the other belongs to that.
#[derive(Debug)]
pub struct Whole<'a> {
    pub told: &'a Bytes,
    pub each: &'a Later,
    pub at: usize,
}

impl Whole<'_> {
    /// Returns the next so many of the bytes for later.
    pub fn next(&mut self, len: u64) -> Option<Later> {
        let end = self.at.checked_add(usize::try_from(len).ok()?)?;
        let next = self.each.slice(self.at..end)?;
        self.at = end;
        Some(next)
    }
}

/// The part of a file in which such bytes are. The file stays open: what is there when it is asked for is what was there
/// when it was opened, though another may have taken its name.
#[derive(Debug)]
pub struct Shelf {
    file: File,
    at: u64,
    len: usize,
    sum: u32,
    /// All of them, once somebody asked; `None` if they cannot be had.
    bytes: OnceLock<Option<Vec<u8>>>,
    /// Whether they are what was written, once that was looked at.
    is_right: OnceLock<bool>,
}

impl Shelf {
    /// Names the bytes of a file that begin there, as many, with this checksum.
    pub fn new(file: File, at: u64, len: usize, sum: u32) -> Self {
        Self { file, at, len, sum, bytes: OnceLock::new(), is_right: OnceLock::new() }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether it is known by now that the bytes are not there, or not what was written.
    pub fn is_broken(&self) -> bool {
        self.is_right.get() == Some(&false) || self.bytes.get().is_some_and(Option::is_none)
    }

    /// Returns whether it is known what is to be had of it.
    pub fn is_checked(&self) -> bool {
        self.is_right.get().is_some() || self.bytes.get().is_some()
    }

    /// Looks whether the bytes are what was written, and keeps none of them.
    pub fn check(&self) {
        self.is_right
            .get_or_init(|| self.bytes.get().is_some() || self.sum().is_ok_and(|sum| sum == self.sum));
    }

    fn sum(&self) -> io::Result<u32> {
        let (mut sum, mut buffer) = (crc32fast::Hasher::new(), vec![0; self.len.min(AT_ONCE)]);
        let mut at = 0;
        while at < self.len {
            let piece = buffer.get_mut(..(self.len - at).min(AT_ONCE)).unwrap_or_default();
            self.file.read_exact_at(piece, self.at + at as u64)?;
            sum.update(piece);
            at += piece.len();
        }
        Ok(sum.finalize())
    }

    fn get(&self) -> &[u8] {
        self.bytes.get_or_init(|| self.read()).as_deref().unwrap_or_default()
    }

    fn read(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; self.len];
        self.file.read_exact_at(&mut bytes, self.at).ok()?;
        (crc32fast::hash(&bytes) == self.sum).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn shelf(bytes: &[u8], sum: u32) -> Arc<Shelf> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"before").unwrap();
        file.write_all(bytes).unwrap();
        Arc::new(Shelf::new(file, 6, 8, sum))
    }

    #[test]
    fn parts_of_what_is_in_a_file_are_what_was_written() {
        let shelf = shelf(b"messages", crc32fast::hash(b"messages"));
        let whole = Later::There { shelf: Arc::clone(&shelf), at: 0..8 };
        let part = whole.slice(2..6).unwrap().slice(1..3).unwrap();
        assert!(shelf.bytes.get().is_none(), "nobody asked for them");
        assert_eq!((part.len(), part.get(), whole.get()), (2, &b"sa"[..], &b"messages"[..]));
        assert!(whole.slice(2..9).is_none() && part.slice(1..3).is_none());
        assert!(!whole.is_lost());
    }

    #[test]
    fn what_is_not_what_was_written_is_lost() {
        let cut = || shelf(b"messag", crc32fast::hash(b"messages"));
        let other = || shelf(b"massages", crc32fast::hash(b"messages"));
        for shelf in [cut(), other()] {
            let whole = Later::There { shelf, at: 0..8 };
            // Nobody knows before it is asked for.
            assert!(!whole.is_lost());
            assert_eq!(whole.get(), b"");
            assert!(whole.is_lost() && whole.slice(0..1).unwrap().is_lost());
        }
        for shelf in [cut(), other()] {
            assert!(!shelf.is_checked());
            shelf.check();
            assert!(shelf.is_checked() && shelf.is_broken());
        }
        let right = shelf(b"messages", crc32fast::hash(b"messages"));
        right.check();
        assert!(right.is_checked() && !right.is_broken() && right.bytes.get().is_none());
    }
}
