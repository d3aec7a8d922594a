//! A session's log on disk, `log.jsonl`: appended to, within a budget, and read on from after a crash.
//!
//! What an agent prints is in its own files, whole. The log holds what is worth reading of it: when an agent
//! prints without end, the log says how much it does not hold, and stays small.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use crate::agent::log::{Cursor, Entry, LogLine, Origin, Place};

/// So much is kept of what an agent says: more than a person reads, less than a disk minds.
const BUDGET: u64 = 16 * 1024 * 1024;
/// What a person must see, questions and results, may take so much more.
const RESERVE: u64 = 4 * 1024 * 1024;
/// So much of a stream is left out before that is noted: after a crash no more than this is read again.
const NOTE_EVERY: u64 = 16 * 1024 * 1024;

/// The log of one session.
pub(super) struct Log {
    path: PathBuf,
    cursor: Cursor,
    /// How long the file is.
    length: u64,
    /// What was left out since that was noted last.
    gaps: BTreeMap<Origin, Place>,
}

impl Log {
    /// Begins an empty log.
    pub fn new(path: PathBuf) -> Self {
        Self { path, cursor: Cursor::default(), length: 0, gaps: BTreeMap::new() }
    }

    /// Takes up the log of an earlier engine, and gives each line of it to `each`.
    pub fn adopt(path: PathBuf, mut each: impl FnMut(&LogLine)) -> Self {
        let mut log = Self::new(path);
        let Ok(file) = File::open(&log.path) else { return log };
        let mut reader = BufReader::new(file);
        let mut text = Vec::new();
        while reader.read_until(b'\n', &mut text).is_ok_and(|read| read > 0) {
            if text.last() != Some(&b'\n') {
                log.cut_torn_line();
                break;
            }
            log.length += text.len() as u64;
            if let Ok(line) = serde_json::from_slice::<LogLine>(&text) {
                log.cursor.note(&line.from);
                each(&line);
            }
            text.clear();
        }
        log
    }

    /// Takes away what a dead engine left half, so that the next line stands by itself.
    fn cut_torn_line(&self) {
        let file = OpenOptions::new().write(true).open(&self.path);
        // If it cannot be, one line of the log is lost: it is made again from what the agent printed.
        let _ = file.and_then(|file| file.set_len(self.length));
    }

    /// Returns where reading goes on in a stream.
    pub fn next(&self, origin: Origin) -> u64 {
        self.cursor.next(origin)
    }

    /// Returns whether nothing more is kept of what an agent prints.
    pub fn is_full(&self) -> bool {
        self.length >= BUDGET
    }

    /// Notes that something was left out.
    pub fn leave_out(&mut self, place: &Place) {
        let gap = self.gaps.entry(place.origin).or_insert(*place);
        gap.next = gap.next.max(place.next);
    }

    /// Appends what is not in the log yet.
    pub fn append(&mut self, lines: &[LogLine]) {
        let mut text = Vec::new();
        for line in lines {
            if self.cursor.has(&line.from) {
                continue;
            }
            if self.keeps(&line.entry, text.len() as u64) {
                self.note_gap(line.from.origin, &mut text);
                write(line, &mut text);
            } else {
                self.leave_out(&line.from);
            }
        }
        for line in lines {
            self.cursor.note(&line.from);
        }
        let is_over = lines.iter().any(|line| matches!(line.entry, Entry::Ended { .. }));
        let origins: Vec<Origin> = self.gaps.keys().copied().collect();
        for origin in origins {
            let left_out = self.gaps.get(&origin).map_or(0, |gap| gap.next.saturating_sub(gap.offset));
            if left_out >= NOTE_EVERY || is_over {
                self.note_gap(origin, &mut text);
            }
        }
        if text.is_empty() {
            return;
        }
        let log = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path);
        // The log can be made again from what the agent printed; what counts is in the journal.
        let _ = log.and_then(|mut log| log.write_all(&text));
        self.length += text.len() as u64;
    }

    fn keeps(&self, entry: &Entry, waiting: u64) -> bool {
        let length = self.length + waiting;
        match entry {
            Entry::Output { .. }
            | Entry::Thought { .. }
            | Entry::Tool { .. }
            | Entry::ToolResult { .. }
            | Entry::Progress { .. }
            | Entry::Usage(_)
            | Entry::Unknown { .. } => length < BUDGET,
            Entry::Question { .. }
            | Entry::Withdrawn { .. }
            | Entry::Answered { .. }
            | Entry::Named(_)
            | Entry::AgentStarted(_)
            | Entry::AgentEnded { .. }
            | Entry::Limited(_)
            | Entry::Result { .. } => length < BUDGET + RESERVE,
            Entry::Ended { .. } => true,
        }
    }

    fn note_gap(&mut self, origin: Origin, text: &mut Vec<u8>) {
        let Some(from) = self.gaps.remove(&origin) else { return };
        let cut = from.next.saturating_sub(from.offset);
        let file = match origin {
            Origin::Err => "the session's `err`",
            Origin::Beside(_) => "the tool's own file",
            Origin::Out | Origin::In | Origin::Host | Origin::Exit | Origin::Command => "the session's `out`",
        };
        let told = format!("… {cut} bytes are not kept here; all of it is in {file}");
        let line = LogLine::new(from, Entry::Output { text: told, cut });
        self.cursor.note(&line.from);
        write(&line, text);
    }
}

fn write(line: &LogLine, text: &mut Vec<u8>) {
    if let Ok(json) = serde_json::to_vec(line) {
        text.extend(json);
        text.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(offset: u64, length: usize) -> LogLine {
        let from = Place { origin: Origin::Out, offset, next: offset + length as u64 + 1, part: 0 };
        LogLine::new(from, Entry::Output { text: "x".repeat(length), cut: 0 })
    }

    /// A gibibyte of output, and its log.
    fn flood(path: PathBuf) -> (Log, u64) {
        let (mut log, mut at) = (Log::new(path), 0);
        while at < 1 << 30 {
            let lines: Vec<LogLine> = (0..64).map(|nth| output(at + nth * 16_384, 16_383)).collect();
            at += 64 * 16_384;
            if log.is_full() {
                for line in &lines {
                    log.leave_out(&line.from);
                }
                log.append(&[]);
            } else {
                log.append(&lines);
            }
        }
        (log, at)
    }

    fn kept(path: &std::path::Path) -> Vec<LogLine> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_gibibyte_of_output_makes_a_small_log_that_says_what_it_lacks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let (mut log, at) = flood(path.clone());
        let from = Place { origin: Origin::Exit, offset: 0, next: 1, part: 0 };
        let status = crate::agent::log::Status::Done;
        log.append(&[LogLine::new(from, Entry::Ended { status, error: None })]);
        let length = std::fs::metadata(&path).unwrap().len();
        assert!(length < BUDGET + RESERVE, "{length}");
        let lines = kept(&path);
        assert!(matches!(lines.last().unwrap().entry, Entry::Ended { .. }));
        let told: u64 = lines
            .iter()
            .filter_map(
                |line| if let Entry::Output { text, cut } = &line.entry { Some((text, cut)) } else { None },
            )
            .map(|(text, cut)| if *cut == 0 { text.len() as u64 + 1 } else { *cut })
            .sum();
        assert_eq!(told, at, "every byte is kept or told to be left out");
    }

    #[test]
    fn a_new_engine_reads_on_near_where_the_last_one_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let (_, at) = flood(path.clone());
        let mut count = 0;
        let log = Log::adopt(path, |_| count += 1);
        assert!(log.is_full() && count > 1000, "{count}");
        let again = at - log.next(Origin::Out);
        assert!(again <= NOTE_EVERY, "{again} bytes are read again");
    }

    #[test]
    fn a_line_that_a_dead_engine_left_half_is_cut_and_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        Log::new(path.clone()).append(&[output(0, 3), output(4, 3)]);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
        let mut log = Log::adopt(path.clone(), |_| ());
        assert_eq!(log.next(Origin::Out), 4);
        log.append(&[output(0, 3), output(4, 3)]);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }
}
