//! Reads the journal's lines from a place on: for replay at the start, and for clients that fell behind.
//!
//! It checks every line, but repairs nothing and trusts the caller for what is durable. Following a journal
//! that another process writes is the tail's affair, not this one's.

use std::io;
use std::ops::ControlFlow;

use super::disk::Disk;
use super::error::{Error, Result};
use super::folder::StateFolder;
use super::line::check;
use super::lines::Lines;
use super::segment;
use crate::model::id::Seq;

/// Gives every line from `from` to `upto` to `each`, until that breaks; returns the last one given.
pub fn read(
    disk: &dyn Disk,
    folder: &StateFolder,
    from: Seq,
    upto: Seq,
    each: &mut dyn FnMut(Seq, &[u8]) -> ControlFlow<()>,
) -> Result<Seq> {
    let from = from.max(Seq(1));
    let mut last = Seq(from.0 - 1);
    if from > upto {
        return Ok(last);
    }
    let segments = segment::list(disk, folder)?;
    let start = segments.partition_point(|first| *first <= from);
    let oldest = segments.first().copied().unwrap_or(upto.next());
    let Some(start) = start.checked_sub(1) else {
        return Err(Error::Compacted { asked: from, oldest });
    };
    for first in segments.iter().skip(start) {
        if last >= upto || pour(disk, folder, *first, (&mut last, upto), each)?.is_break() {
            return Ok(last);
        }
    }
    if last < upto {
        let what = format!("it ends at seq {last}, but seq {upto} was written");
        return Err(Error::damaged(&folder.journal_dir(), what).seq(last.next()).into());
    }
    Ok(last)
}

/// Gives every line from `from` to the end of the journal to `each`: for whoever does not write it, and so
/// does not know what is durable.
pub fn read_all(
    disk: &dyn Disk,
    folder: &StateFolder,
    from: Seq,
    each: &mut dyn FnMut(Seq, &[u8]) -> ControlFlow<()>,
) -> Result<Seq> {
    let segments = segment::list(disk, folder)?;
    let start = segments.partition_point(|first| *first <= from).saturating_sub(1);
    let mut last = Seq(from.0.saturating_sub(1));
    for first in segments.into_iter().skip(start) {
        let upto = Seq(segment::survey(disk, folder, first)?.next().0.saturating_sub(1));
        if pour(disk, folder, first, (&mut last, upto), each)?.is_break() {
            break;
        }
    }
    Ok(last)
}

/// Gives one segment's lines after `last`.
fn pour(
    disk: &dyn Disk,
    folder: &StateFolder,
    first: Seq,
    (last, upto): (&mut Seq, Seq),
    each: &mut dyn FnMut(Seq, &[u8]) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let path = folder.segment(first);
    let mut lines = match Lines::open(disk, &path, 0) {
        Ok(lines) => lines,
        // Compaction removed it after it was listed.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Error::Compacted { asked: last.next(), oldest: first.next() });
        }
        Err(error) => return Err(Error::io("read", &path)(error)),
    };
    // The header: recovery has checked it.
    lines.read_line().map_err(Error::io("read", &path))?;
    let mut expected = first;
    while *last < upto
        && let Some(line) = lines.read_line().map_err(Error::io("read", &path))?
    {
        let damaged = |what: String| Error::damaged(&path, what).at(line.number, line.offset).seq(expected);
        let frame = check(line.bytes).map_err(|fault| damaged(fault.to_string()))?;
        if frame.seq != expected {
            return Err(damaged(format!("seq {} stands there", frame.seq)).into());
        }
        if frame.seq > *last {
            *last = frame.seq;
            if each(frame.seq, line.bytes).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        expected = expected.next();
    }
    Ok(ControlFlow::Continue(()))
}
