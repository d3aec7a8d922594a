//! Reads a file line by line in bounded memory, and says where each line is and whether it is finished.
//!
//! What the lines mean is not known here. However long a line is, no more than about two megabytes of it are
//! held: what is longer comes in pieces that say so.

use std::io;
use std::path::Path;

use memchr::memchr;

use super::disk::{CHUNK, Disk, Reader};
use super::line::LONGEST_DRAFT;

/// No line of ours is longer: a full draft, and its frame.
const LONGEST: usize = LONGEST_DRAFT + 256;

/// One line, or what there is of it.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Its bytes, without the line end.
    pub bytes: &'a [u8],
    /// Where it begins in the file.
    pub offset: u64,
    /// Its number, from 1.
    pub number: u64,
    /// Whether its end was there; not for the last line of a torn file, nor for one that is too long.
    pub whole: bool,
}

impl Line<'_> {
    /// Returns where the next line begins.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64 + u64::from(self.whole)
    }
}

/// The lines of a file, from an offset on.
pub struct Lines {
    reader: Box<dyn Reader>,
    /// What was read; `from..filled` is not consumed yet.
    buffer: Vec<u8>,
    from: usize,
    filled: usize,
    /// Where `from` is in the file.
    offset: u64,
    number: u64,
}

impl Lines {
    /// Opens a file at an offset where a line begins.
    pub fn open(disk: &dyn Disk, path: &Path, offset: u64) -> io::Result<Self> {
        let reader = disk.open(path)?;
        Ok(Self { reader, buffer: vec![0; CHUNK], from: 0, filled: 0, offset, number: 1 })
    }

    /// Returns the next line; `None` at the end of the file.
    pub fn read_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let mut searched = 0;
        let (len, whole) = loop {
            let unread = self.buffer.get(self.from..self.filled).unwrap_or_default();
            if let Some(found) = memchr(b'\n', unread.get(searched..).unwrap_or_default()) {
                break (searched + found, true);
            }
            searched = unread.len();
            if searched > LONGEST {
                break (searched, false);
            }
            if !self.fill()? {
                if searched == 0 {
                    return Ok(None);
                }
                break (searched, false);
            }
        };
        let start = self.from;
        let line = (self.offset, self.number);
        self.from += len + usize::from(whole);
        self.offset += len as u64 + u64::from(whole);
        self.number += u64::from(whole);
        let bytes = self.buffer.get(start..start + len).unwrap_or_default();
        Ok(Some(Line { bytes, offset: line.0, number: line.1, whole }))
    }

    /// Returns where in the file it is; at its end this is the file's size.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads on; returns whether there was more.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.from..self.filled, 0);
        self.filled -= self.from;
        self.from = 0;
        if self.filled == self.buffer.len() {
            self.buffer.resize(2 * self.filled, 0);
        }
        let space = self.buffer.get_mut(self.filled..).unwrap_or_default();
        let read = self.reader.read_at(self.offset + self.filled as u64, space)?;
        self.filled += read;
        Ok(read > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::RealDisk;
    use super::*;

    fn lines(content: &[u8]) -> Vec<(Vec<u8>, u64, u64, bool)> {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        std::fs::write(&path, content).unwrap();
        let mut lines = Lines::open(&RealDisk, &path, 0).unwrap();
        let mut all = Vec::new();
        while let Some(line) = lines.read_line().unwrap() {
            all.push((line.bytes.to_vec(), line.offset, line.number, line.whole));
        }
        all
    }

    #[test]
    fn lines_come_with_their_place_and_a_torn_one_is_told() {
        assert_eq!(lines(b""), []);
        let expected = [
            (b"a".to_vec(), 0, 1, true),
            (Vec::new(), 2, 2, true),
            (b"bc".to_vec(), 3, 3, true),
            (b"d".to_vec(), 6, 4, false),
        ];
        assert_eq!(lines(b"a\n\nbc\nd"), expected);
    }

    #[test]
    fn lines_across_chunks_are_whole() {
        let line = vec![b'x'; CHUNK / 3];
        let content: Vec<u8> = (0..10).flat_map(|_| line.iter().copied().chain([b'\n'])).collect();
        let all = lines(&content);
        assert_eq!(all.len(), 10);
        assert!(all.iter().all(|(bytes, _, _, whole)| *whole && *bytes == line));
    }

    #[test]
    fn a_line_without_end_comes_in_pieces_of_bounded_size() {
        let mut content = vec![0; 5 * LONGEST];
        content.extend(b"\nnext\n");
        let all = lines(&content);
        assert!(all.iter().all(|(bytes, ..)| bytes.len() <= 2 * LONGEST));
        let last = all.last().unwrap();
        assert_eq!((last.0.as_slice(), last.1, last.2), (&b"next"[..], 5 * LONGEST as u64 + 1, 2));
    }
}
