//! A file that grows: read only what was appended, and notice when it is no longer the same file.
//!
//! Lines are given when they are whole; the beginning of the next one is kept until its end comes, so the
//! cost of an append does not depend on the size of the file. What the lines mean is not known here.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use memchr::memchr;

use crate::store::disk::{Disk, Reader};

/// How much is read at a time. Appends are small; a first reading is many of these.
const CHUNK: usize = 64 * 1024;

/// A file that is being read to its end, again and again.
pub struct Tail {
    path: PathBuf,
    reader: Box<dyn Reader>,
    inode: u64,
    /// Where `partial` begins: the end of the last whole line.
    offset: u64,
    /// The beginning of a line whose end is not there yet.
    partial: Vec<u8>,
    chunk: Vec<u8>,
    /// Longer lines are given as [`Piece::TooLong`], so that memory stays bounded.
    longest: usize,
    /// The rest of a line that was too long is passed over.
    skipping: bool,
}

/// What is given of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A whole line, without its end, and where it begins.
    Line(&'a [u8], u64),
    /// A line that is longer than allowed begins here.
    TooLong(u64),
}

/// How a reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tailed {
    /// Everything that is there was read.
    End,
    /// There is more than was to be read at once.
    More,
    /// The reader of the pieces wants this one again next time.
    Held,
    /// The file is gone, replaced or shorter than it was: what was read no longer counts.
    Lost(Lost),
}

/// Why a file is no longer the one that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    Gone,
    Replaced,
    Shrunk,
}

impl Tail {
    /// Opens a file at an offset where a line begins.
    pub fn open(disk: &dyn Disk, path: &Path, offset: u64, longest: usize) -> io::Result<Self> {
        let inode = disk.stat(path)?.ok_or(io::ErrorKind::NotFound)?.inode;
        let reader = disk.open(path)?;
        Ok(Self {
            path: path.to_owned(),
            reader,
            inode,
            offset,
            partial: Vec::new(),
            chunk: vec![0; CHUNK],
            longest,
            skipping: false,
        })
    }

    /// Returns the file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where the next line begins.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Gives every line that has come, up to about `budget` bytes. A line for which `each` breaks is not
    /// consumed: it is given again next time.
    pub fn read(
        &mut self,
        disk: &dyn Disk,
        budget: usize,
        each: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> io::Result<Tailed> {
        let mut taken = 0;
        loop {
            let read = self.reader.read_at(self.offset + self.partial.len() as u64, &mut self.chunk)?;
            if read == 0 {
                return Ok(self.identity(disk)?.map_or(Tailed::End, Tailed::Lost));
            }
            let searched = self.partial.len();
            self.partial.extend_from_slice(self.chunk.get(..read).unwrap_or_default());
            if self.give_lines(searched, each).is_break() {
                return Ok(Tailed::Held);
            }
            taken += read;
            if taken >= budget {
                return Ok(Tailed::More);
            }
        }
    }

    fn give_lines(
        &mut self,
        mut searched: usize,
        each: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut start = 0;
        let mut flow = ControlFlow::Continue(());
        while let Some(found) = memchr(b'\n', self.partial.get(searched..).unwrap_or_default()) {
            let end = searched + found;
            let line = self.partial.get(start..end).unwrap_or_default();
            if !std::mem::take(&mut self.skipping) {
                flow = each(Piece::Line(line, self.offset + start as u64));
            }
            if flow.is_break() {
                break;
            }
            (start, searched) = (end + 1, end + 1);
        }
        if flow.is_break() {
            // Read again from the line that was refused.
            self.partial.clear();
        } else {
            self.partial.drain(..start);
        }
        self.offset += start as u64;
        if self.partial.len() > self.longest {
            if !self.skipping {
                flow = each(Piece::TooLong(self.offset));
            }
            self.skipping = true;
            self.offset += self.partial.len() as u64;
            self.partial.clear();
        }
        flow
    }

    fn identity(&self, disk: &dyn Disk) -> io::Result<Option<Lost>> {
        let Some(now) = disk.stat(&self.path)? else { return Ok(Some(Lost::Gone)) };
        let read = self.offset + self.partial.len() as u64;
        Ok(if now.inode != self.inode {
            Some(Lost::Replaced)
        } else if now.len < read {
            Some(Lost::Shrunk)
        } else {
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;
    use crate::store::disk::RealDisk;

    fn read(tail: &mut Tail) -> (Vec<String>, Tailed) {
        let mut lines = Vec::new();
        let end = tail.read(&RealDisk, usize::MAX, &mut |piece| {
            lines.push(match piece {
                Piece::Line(line, _) => String::from_utf8_lossy(line).into_owned(),
                Piece::TooLong(at) => format!("too long at {at}"),
            });
            ControlFlow::Continue(())
        });
        (lines, end.unwrap())
    }

    fn append(path: &Path, bytes: &[u8]) {
        use std::io::Write;
        fs::OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(bytes).unwrap();
    }

    #[test]
    fn a_line_is_given_when_its_end_is_there_and_only_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        append(&path, b"one\ntw");
        let mut tail = Tail::open(&RealDisk, &path, 0, 100).unwrap();
        assert_eq!(read(&mut tail), (vec!["one".into()], Tailed::End));
        assert_eq!(read(&mut tail), (vec![], Tailed::End));
        append(&path, b"o\nthree\n");
        assert_eq!(read(&mut tail), (vec!["two".into(), "three".into()], Tailed::End));
    }

    #[test]
    fn a_file_that_is_no_longer_the_same_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        append(&path, b"one\n");
        let mut tail = Tail::open(&RealDisk, &path, 0, 100).unwrap();
        read(&mut tail);
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(2).unwrap();
        assert_eq!(read(&mut tail).1, Tailed::Lost(Lost::Shrunk));
        let other = folder.path().join("other");
        append(&other, b"one\nmore\n");
        fs::rename(&other, &path).unwrap();
        assert_eq!(read(&mut tail).1, Tailed::Lost(Lost::Replaced));
        fs::remove_file(&path).unwrap();
        assert_eq!(read(&mut tail).1, Tailed::Lost(Lost::Gone));
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_in_bounded_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        append(&path, b"a\n");
        append(&path, &vec![b'x'; 3 * CHUNK]);
        append(&path, b"\nb\n");
        let mut tail = Tail::open(&RealDisk, &path, 0, CHUNK).unwrap();
        assert_eq!(read(&mut tail).0, ["a", "too long at 2", "b"]);
        assert!(tail.partial.capacity() <= 4 * CHUNK);
    }

    #[test]
    fn a_line_that_is_held_comes_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        append(&path, b"a\nbad\nc\n");
        let mut tail = Tail::open(&RealDisk, &path, 0, 100).unwrap();
        for _ in 0..2 {
            let mut seen = Vec::new();
            let end = tail.read(&RealDisk, usize::MAX, &mut |piece| match piece {
                Piece::Line(line, at) => {
                    seen.push(at);
                    if line == b"bad" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                }
                Piece::TooLong(_) => ControlFlow::Continue(()),
            });
            assert_eq!(end.unwrap(), Tailed::Held);
            assert_eq!(seen.last(), Some(&2));
        }
        assert_eq!(tail.offset(), 2);
    }

    proptest! {
        #[test]
        fn any_split_of_the_bytes_into_writes_gives_the_same_lines(
            text in "[ab\\n]{0,80}", cuts in proptest::collection::vec(0usize..80, 0..8),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("log");
            append(&path, b"");
            let mut tail = Tail::open(&RealDisk, &path, 0, 1000).unwrap();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.push(text.len());
            cuts.sort_unstable();
            let (mut from, mut lines) = (0, Vec::new());
            for cut in cuts {
                append(&path, &text.as_bytes()[from..cut]);
                from = cut;
                lines.extend(read(&mut tail).0);
            }
            let mut expected: Vec<&str> = text.split('\n').collect();
            expected.pop();
            prop_assert_eq!(lines, expected);
        }
    }
}
