//! One file of the journal: its header, how it begins, and what a whole pass over it finds.
//!
//! A segment gets its name only after its header is on disk, and only after everything before it is. So a
//! segment that has a name proves that all earlier records were written. Whether a fault that is found can
//! be repaired is not decided here, but in `recover.rs`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::disk::{Disk, Writer};
use super::error::{Error, Result};
use super::folder::{StateFolder, seq_in_name};
use super::line::{FORMAT, Frame, check, format_of, hex, read_hex, seal, unseal};
use super::lines::{Line, Lines};
use crate::model::id::{JournalId, Seq};

/// No header is longer; a file that is has had records.
pub(super) const LONGEST_HEADER: u64 = 200;

/// The first line of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Which journal it belongs to.
    pub journal: JournalId,
    /// Which opening of the journal wrote it; each has a higher number.
    pub epoch: u64,
    /// The place of its first record.
    pub first: Seq,
    /// The checksum of the record before it; 0 for the journal's first.
    pub prev_crc: u32,
}

/// What a header says on disk.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    format: u64,
    journal: JournalId,
    epoch: u64,
    first: Seq,
    prev_crc: String,
}

/// Why a header cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadHeader {
    /// A later version wrote it.
    Newer(u64),
    /// It is damaged, torn or missing.
    Damaged(String),
}

impl Header {
    /// Returns the header's line.
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let written = Written {
            format: FORMAT,
            journal: self.journal.clone(),
            epoch: self.epoch,
            first: self.first,
            prev_crc: hex(self.prev_crc),
        };
        let encode = |source| Error::Encode { what: "a segment's header".into(), source };
        let mut line = serde_json::to_vec(&written).map_err(encode)?;
        line.pop();
        seal(&mut line, 0);
        Ok(line)
    }

    /// Reads a header's line, given without its line end.
    pub fn read(line: &[u8]) -> Result<Self, BadHeader> {
        let damaged = |what: &dyn ToString| BadHeader::Damaged(format!("its header: {}", what.to_string()));
        unseal(line).map_err(|fault| damaged(&fault))?;
        let format = format_of(line).ok_or_else(|| damaged(&"it names no format"))?;
        if format > FORMAT {
            return Err(BadHeader::Newer(format));
        }
        let written: Written = serde_json::from_slice(line).map_err(|error| damaged(&error))?;
        let prev_crc =
            read_hex(written.prev_crc.as_bytes()).ok_or_else(|| damaged(&"prevCrc is no checksum"))?;
        let Written { journal, epoch, first, .. } = written;
        Ok(Self { journal, epoch, first, prev_crc })
    }
}

/// A segment that is being written.
pub struct Segment {
    /// The file.
    pub path: PathBuf,
    /// Its header.
    pub header: Header,
    /// Where to write.
    pub writer: Box<dyn Writer>,
}

/// Begins a segment, durably, in place of an empty one of the same name.
pub fn begin(disk: &dyn Disk, folder: &StateFolder, header: Header) -> Result<Segment> {
    let path = folder.segment(header.first);
    let temp = path.with_extension("jsonl.tmp");
    let failed = || Error::io("begin the segment", &path);
    if disk.stat(&temp).map_err(failed())?.is_some() {
        disk.remove(&temp).map_err(failed())?;
    }
    let line = header.encode()?;
    let mut writer = disk.create(&temp).map_err(failed())?;
    writer.write_all(&line).map_err(failed())?;
    writer.sync_data().map_err(failed())?;
    disk.rename(&temp, &path).map_err(failed())?;
    disk.sync_dir(&folder.journal_dir()).map_err(failed())?;
    Ok(Segment { path, header, writer })
}

/// Returns the segments that there are, by the first place that their names say, in order.
pub fn list(disk: &dyn Disk, folder: &StateFolder) -> Result<Vec<Seq>> {
    let journal = folder.journal_dir();
    let names = disk.list(&journal).map_err(Error::io("list", &journal))?;
    Ok(names.iter().filter_map(|name| seq_in_name(name, ".jsonl")).collect())
}

/// What a whole pass over a segment found.
#[derive(Debug)]
pub struct Survey {
    /// The file.
    pub path: PathBuf,
    /// The first place, by its name.
    pub first: Seq,
    /// Its header, if that can be used.
    pub header: Result<Header, BadHeader>,
    /// How many records there are before the first fault.
    pub records: u64,
    /// The checksum of the last of them.
    pub last_crc: Option<u32>,
    /// The file's size.
    pub len: u64,
    /// The first fault.
    pub fault: Option<BadRecord>,
    /// How many lines have no valid checksum.
    pub bad_lines: u64,
}

/// The first place where a segment is not what it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRecord {
    /// The place that should be there.
    pub seq: Seq,
    /// Where it should begin.
    pub offset: u64,
    /// On which line.
    pub line: u64,
    /// What is there instead.
    pub what: String,
    /// The highest place that a valid record here or later in the file calls synced.
    pub synced: Option<Seq>,
}

impl Survey {
    /// Returns the place after the last record before the first fault.
    pub fn next(&self) -> Seq {
        Seq(self.first.0.saturating_add(self.records))
    }
}

/// Reads a whole segment and checks it by itself.
pub fn survey(disk: &dyn Disk, folder: &StateFolder, first: Seq) -> Result<Survey> {
    let path = folder.segment(first);
    let failed = || Error::io("read", &path);
    let mut lines = Lines::open(disk, &path, 0).map_err(failed())?;
    let header = match lines.read_line().map_err(failed())? {
        None => Err(BadHeader::Damaged("it is empty".into())),
        Some(Line { whole: false, .. }) => Err(BadHeader::Damaged("its header is torn".into())),
        Some(line) => Header::read(line.bytes),
    };
    let mut survey = Survey {
        path: path.clone(),
        first,
        header,
        records: 0,
        last_crc: None,
        len: 0,
        fault: None,
        bad_lines: 0,
    };
    while let Some(line) = lines.read_line().map_err(failed())? {
        survey.take(line);
    }
    survey.len = lines.offset();
    Ok(survey)
}

impl Survey {
    fn take(&mut self, line: Line<'_>) {
        let checked = check(line.bytes);
        if checked.is_err() || !line.whole {
            self.bad_lines += 1;
        }
        let seq = self.next();
        match (&checked, &mut self.fault) {
            (Ok(frame), None) if frame.seq == seq && line.whole => {
                self.records += 1;
                self.last_crc = Some(frame.crc);
            }
            (_, None) => {
                let what = match &checked {
                    Ok(Frame { seq: found, .. }) if *found != seq => format!("seq {found} stands there"),
                    Ok(_) => "the line has no end".into(),
                    Err(fault) => fault.to_string(),
                };
                let synced = checked.ok().map(|frame| frame.synced);
                self.fault = Some(BadRecord { seq, offset: line.offset, line: line.number, what, synced });
            }
            (Ok(frame), Some(fault)) => fault.synced = fault.synced.max(Some(frame.synced)),
            (Err(_), Some(_)) => {}
        }
    }

    /// Returns whether any record in it has a valid checksum.
    pub fn has_valid_record(&self) -> bool {
        self.records > 0 || self.fault.as_ref().is_some_and(|fault| fault.synced.is_some())
    }
}

/// Gives each record of a segment that is valid by itself, whatever is around it.
pub fn each_valid(
    disk: &dyn Disk,
    path: &Path,
    mut each: impl FnMut(Frame, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut lines = Lines::open(disk, path, 0).map_err(Error::io("read", path))?;
    while let Some(line) = lines.read_line().map_err(Error::io("read", path))? {
        if let Ok(frame) = check(line.bytes) {
            each(frame, line.bytes)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::recover::mint;
    use super::*;
    use crate::model::time::Stamp;

    #[test]
    fn a_header_reads_back_and_the_longest_is_shorter_than_any_with_a_record() {
        let journal = mint(Stamp::from_millis(i64::MAX));
        let header = Header { journal, epoch: u64::MAX, first: Seq(u64::MAX), prev_crc: u32::MAX };
        let line = header.encode().unwrap();
        assert!((line.len() as u64) < LONGEST_HEADER, "{}", line.len());
        assert_eq!(Header::read(line.strip_suffix(b"\n").unwrap()), Ok(header));
    }
}
