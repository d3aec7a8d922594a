//! The final record of each delegation that left the model: appended once, read a page at a time.
//!
//! Newest first, from the end of the file, so that a page costs the same however long the history is. A
//! later line for the same delegation hides the earlier one. What is in a record is not known here.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::disk::{Disk, Reader};
use super::error::{Error, Result};
use super::folder::StateFolder;
use super::line::{entry, read_entry};
use crate::model::id::DelegationId;

/// How much is read at a time, from the end.
const BLOCK: u64 = 64 * 1024;
/// No record may be longer: a page must not eat the memory.
const LONGEST: usize = 8 * 1024 * 1024;

/// The history's file.
#[derive(Debug, Clone)]
pub struct History {
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

/// Where the next page begins; the default is the end of the file, that is, the newest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cursor {
    /// Everything from here on has been read; `None` if nothing has.
    offset: Option<u64>,
    /// What later lines have said already.
    seen: HashSet<DelegationId>,
}

/// A page of the history.
#[derive(Debug)]
pub struct Page {
    /// The records, newest first.
    pub records: Vec<(DelegationId, Box<RawValue>)>,
    /// Where the next page begins; `None` if this was the last.
    pub next: Option<Cursor>,
    /// How many lines could not be read.
    pub skipped: u64,
}

impl History {
    /// Names the history of a folder.
    pub fn new(disk: Arc<dyn Disk>, folder: &StateFolder) -> Self {
        Self { disk, path: folder.history() }
    }

    /// Appends final records, durably, in one write.
    pub fn append(&self, records: &[(DelegationId, Box<RawValue>)]) -> Result<()> {
        let mut lines = Vec::new();
        for (id, record) in records {
            let line = entry(id.as_str(), record)?;
            if line.len() > LONGEST {
                let name = format!("the record of {id}");
                return Err(Error::TooLarge { name, bytes: line.len(), limit: LONGEST });
            }
            lines.extend(line);
        }
        if lines.is_empty() {
            return Ok(());
        }
        let failed = || Error::io("append to", &self.path);
        let len = self.disk.stat(&self.path).map_err(failed())?.map_or(0, |stat| stat.len);
        if ends_torn(&*self.disk, &self.path, len).map_err(failed())? {
            lines.insert(0, b'\n');
        }
        let mut file = self.disk.append(&self.path).map_err(failed())?;
        file.write_all(&lines).map_err(failed())?;
        file.sync_data().map_err(failed())?;
        // Its name may be new, or may not have reached the disk when it was: cheap if there is nothing to do.
        self.path.parent().map_or(Ok(()), |folder| self.disk.sync_dir(folder)).map_err(failed())
    }

    /// Reads up to `limit` records before a cursor, newest first.
    pub fn page(&self, cursor: Cursor, limit: usize) -> Result<Page> {
        let failed = || Error::io("read", &self.path);
        let mut page = Page { records: Vec::new(), next: None, skipped: 0 };
        let Some(stat) = self.disk.stat(&self.path).map_err(failed())? else { return Ok(page) };
        let Cursor { offset, mut seen } = cursor;
        let reader = self.disk.open(&self.path).map_err(failed())?;
        let mut lines = Backwards::new(reader, offset.unwrap_or(stat.len).min(stat.len));
        while page.records.len() < limit {
            let Some(line) = lines.next().map_err(failed())? else { return Ok(page) };
            match read_entry(&line) {
                None => page.skipped += 1,
                Some((id, record)) => {
                    let id = DelegationId::from(id);
                    if seen.insert(id.clone()) {
                        page.records.push((id, record));
                    }
                }
            }
        }
        if lines.end > 0 {
            page.next = Some(Cursor { offset: Some(lines.end), seen });
        }
        Ok(page)
    }
}

/// Returns whether a file's last line has no end: what is appended must begin on a fresh one.
pub(super) fn ends_torn(disk: &dyn Disk, path: &std::path::Path, len: u64) -> std::io::Result<bool> {
    let Some(last) = len.checked_sub(1) else { return Ok(false) };
    let mut byte = [0];
    disk.open(path)?.read_at(last, &mut byte)?;
    Ok(byte != *b"\n")
}

/// The lines of a file, from its end.
struct Backwards {
    reader: Box<dyn Reader>,
    /// Everything from here on has been given.
    end: u64,
    /// What was read before `end`; its last byte is at `end - 1`.
    buffer: Vec<u8>,
}

impl Backwards {
    fn new(reader: Box<dyn Reader>, end: u64) -> Self {
        Self { reader, end, buffer: Vec::new() }
    }

    /// Returns the line before, without its end; nothing of one that is too long.
    fn next(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        let mut too_long = false;
        loop {
            // The rest of a line that is too long ends in its own middle.
            let end = self.buffer.strip_suffix(b"\n").filter(|_| !too_long);
            let content = end.unwrap_or(&self.buffer);
            if let Some(before) = memchr::memrchr(b'\n', content) {
                let line = content.get(before + 1..).unwrap_or_default().to_vec();
                self.end -= (self.buffer.len() - before - 1) as u64;
                self.buffer.truncate(before + 1);
                if line.is_empty() && !too_long {
                    continue;
                }
                return Ok(Some(if too_long { Vec::new() } else { line }));
            }
            let start = self.end - self.buffer.len() as u64;
            if start == 0 {
                let line = content.to_vec();
                self.end = 0;
                self.buffer.clear();
                return Ok(if too_long {
                    Some(Vec::new())
                } else {
                    Some(line).filter(|line| !line.is_empty())
                });
            }
            if self.buffer.len() > LONGEST {
                // Forget it, but keep looking for its beginning.
                too_long = true;
                self.end = start;
                self.buffer.clear();
            }
            self.fill_before(self.end - self.buffer.len() as u64)?;
        }
    }

    fn fill_before(&mut self, start: u64) -> std::io::Result<()> {
        let from = start.saturating_sub(BLOCK);
        let mut block = vec![0; usize::try_from(start - from).unwrap_or(0)];
        let mut filled = 0;
        while filled < block.len() {
            let rest = block.get_mut(filled..).unwrap_or_default();
            match self.reader.read_at(from + filled as u64, rest)? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                read => filled += read,
            }
        }
        block.append(&mut self.buffer);
        self.buffer = block;
        Ok(())
    }
}
