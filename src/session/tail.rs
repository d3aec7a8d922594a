//! Reads the complete lines that were appended to a file since the last look.
//!
//! A line without its end is left for the next time; the file may not be there yet.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A file that another process appends to.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    file: Option<File>,
    offset: u64,
}

/// One complete line, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where it begins.
    pub offset: u64,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl Tail {
    /// Follows a file from its beginning.
    pub fn new(path: PathBuf) -> Self {
        Self { path, file: None, offset: 0 }
    }

    /// Follows a file from the first line in its last so many bytes.
    pub fn near_end(path: PathBuf, bytes: u64) -> Self {
        let length = std::fs::metadata(&path).map_or(0, |meta| meta.len());
        let mut tail = Self { path, file: None, offset: length.saturating_sub(bytes) };
        if tail.offset > 0 {
            // The first line is most likely cut: it is only skipped. What cannot be read now is read later.
            let cut = tail.fresh().ok().flatten().and_then(|fresh| memchr::memchr(b'\n', &fresh));
            tail.offset += cut.map_or(0, |end| end as u64 + 1);
        }
        tail
    }

    /// Returns the lines that were completed since the last call.
    pub fn lines(&mut self) -> io::Result<Vec<Line>> {
        let mut lines = Vec::new();
        let Some(fresh) = self.fresh()? else { return Ok(lines) };
        let Some(end) = memchr::memrchr(b'\n', &fresh) else { return Ok(lines) };
        let complete = fresh.get(..end).unwrap_or_default();
        for bytes in complete.split(|byte| *byte == b'\n') {
            lines.push(Line { offset: self.offset, bytes: bytes.to_vec() });
            self.offset += bytes.len() as u64 + 1;
        }
        Ok(lines)
    }

    fn fresh(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.file.is_none() {
            self.file = match File::open(&self.path) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
        }
        let Some(file) = &self.file else { return Ok(None) };
        let length = file.metadata()?.len().saturating_sub(self.offset);
        let Some(length) = usize::try_from(length).ok().filter(|length| *length > 0) else { return Ok(None) };
        let mut fresh = vec![0; length];
        file.read_exact_at(&mut fresh, self.offset)?;
        Ok(Some(fresh))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_line_is_returned_once_and_only_when_it_is_complete() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("orders");
        let mut tail = Tail::new(path.clone());
        assert_eq!(tail.lines().unwrap(), []);
        let mut file = File::create(&path).unwrap();
        file.write_all(b"one\n\ntw").unwrap();
        let line = |offset, bytes: &[u8]| Line { offset, bytes: bytes.to_vec() };
        assert_eq!(tail.lines().unwrap(), [line(0, b"one"), line(4, b"")]);
        assert_eq!(tail.lines().unwrap(), []);
        file.write_all(b"o\n").unwrap();
        assert_eq!(tail.lines().unwrap(), [line(5, b"two")]);
    }
}
