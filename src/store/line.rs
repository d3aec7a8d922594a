//! How one line is framed: a JSON object whose last field is a checksum of all bytes before it.
//!
//! A line is checked without parsing it: the ends are fixed text, the checksum covers the rest. So a scan
//! runs at the speed of the checksum, and a reader parses only what it needs. What the lines mean is not
//! known here. The invariant: whatever single byte of a sealed line changes, [`unseal`] refuses it.

use std::fmt;
use std::io::Write;

use serde_json::value::RawValue;

use super::error::{Error, Result};
use crate::model::event::Body;
use crate::model::id::Seq;
use crate::model::time::Stamp;

/// The format of journal and snapshot that this version writes, and the newest that it reads.
pub const FORMAT: u64 = 1;
/// The most that one event may have: what agents stream belongs into their own logs.
pub const LONGEST_DRAFT: usize = 1024 * 1024;

const HEAD: &[u8] = b"{\"seq\":";
const SYNCED: &[u8] = b",\"synced\":";
const SEAL: &[u8] = b",\"crc\":\"";
const SEAL_END: &[u8] = b"\"}";
const HEX: usize = 8;
/// As many nines as fit into 64 bits.
const MOST_DIGITS: usize = 19;

/// A record's line, checked but not parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The record's place.
    pub seq: Seq,
    /// The highest place known to be on disk when it was written.
    pub synced: Seq,
    /// Its checksum.
    pub crc: u32,
}

/// Why a line is no record of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing but zeroes, as a power cut leaves them.
    Zeroes,
    /// It does not end in a checksum.
    NoSeal,
    /// Its checksum is that of other bytes.
    WrongCrc,
    /// It is whole, but not a record.
    NoRecord,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zeroes => "zeroes instead of a record",
            Self::NoSeal => "the line does not end in a checksum",
            Self::WrongCrc => "the checksum does not match",
            Self::NoRecord => "the line is whole, but is no record",
        })
    }
}

/// Checks a record's line, given without its line end.
pub fn check(line: &[u8]) -> Result<Frame, Fault> {
    let (body, crc) = unseal(line)?;
    let seq = body.strip_prefix(HEAD).and_then(leading_number);
    match (seq, trailing_number(body)) {
        (Some(seq), Some((before, synced))) if before.ends_with(SYNCED) => {
            Ok(Frame { seq: Seq(seq), synced: Seq(synced), crc })
        }
        _ => Err(Fault::NoRecord),
    }
}

/// Returns a sealed line's bytes before the seal, and the checksum.
pub fn unseal(line: &[u8]) -> Result<(&[u8], u32), Fault> {
    let parts = line
        .strip_suffix(SEAL_END)
        .and_then(|rest| rest.split_last_chunk::<HEX>())
        .and_then(|(rest, hex)| Some((rest.strip_suffix(SEAL)?, hex)));
    if let Some((body, hex)) = parts {
        // Written and compared, not read: a scan does this for every line.
        let crc = crc32fast::hash(body);
        if digits_of(crc) == *hex {
            return Ok((body, crc));
        }
        if read_hex(hex).is_some() {
            return Err(Fault::WrongCrc);
        }
    }
    let zeroes = !line.is_empty() && line.iter().all(|byte| *byte == 0);
    Err(if zeroes { Fault::Zeroes } else { Fault::NoSeal })
}

/// Returns a checksum's eight lowercase digits.
fn digits_of(crc: u32) -> [u8; HEX] {
    std::array::from_fn(|place| {
        let digit = (crc >> (28 - 4 * place) & 0xf) as u8;
        if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }
    })
}

/// Ends the object that begins at `from` with its checksum and the line; returns the checksum.
pub fn seal(line: &mut Vec<u8>, from: usize) -> u32 {
    let crc = crc32fast::hash(line.get(from..).unwrap_or_default());
    line.extend_from_slice(SEAL);
    line.extend_from_slice(hex(crc).as_bytes());
    line.extend_from_slice(SEAL_END);
    line.push(b'\n');
    crc
}

/// Returns the format that a header or snapshot names. It stands first, and the seal last, in every format,
/// so that a version can tell what it cannot read without reading it.
pub fn format_of(line: &[u8]) -> Option<u64> {
    line.strip_prefix(b"{\"format\":").and_then(leading_number)
}

/// Returns a checksum as it is written: eight lowercase digits.
pub fn hex(crc: u32) -> String {
    format!("{crc:08x}")
}

/// Reads eight lowercase digits, and nothing else: an uppercase one would be a changed byte.
pub fn read_hex(digits: &[u8]) -> Option<u32> {
    if digits.len() != HEX {
        return None;
    }
    digits.iter().try_fold(0u32, |sum, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(sum << 4 | u32::from(value))
    })
}

/// Reads the number that a comma ends.
fn leading_number(bytes: &[u8]) -> Option<u64> {
    let digits = bytes.iter().take(MOST_DIGITS + 1).take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = bytes.split_at_checked(digits)?;
    if digits == 0 || digits > MOST_DIGITS || rest.first() != Some(&b',') {
        return None;
    }
    Some(number.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

/// Reads the number at the end; returns what is before it too.
fn trailing_number(bytes: &[u8]) -> Option<(&[u8], u64)> {
    let digits = bytes.iter().rev().take(MOST_DIGITS + 1).take_while(|byte| byte.is_ascii_digit()).count();
    let (before, number) = bytes.split_at_checked(bytes.len() - digits)?;
    if digits == 0 || digits > MOST_DIGITS {
        return None;
    }
    Some((before, number.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))))
}

/// An event that waits for its place: encoded on its producer's thread, so that the writer only frames it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// `,"at":…,"type":…,"data":…`
    middle: Vec<u8>,
}

impl Draft {
    /// Encodes an event; one that is too large is refused.
    pub fn new(at: Stamp, body: &Body) -> Result<Self> {
        let encode = |source| Error::Encode { what: body.name().to_owned(), source };
        let name = serde_json::to_string(body.name()).map_err(encode)?;
        let mut middle = format!(",\"at\":\"{at}\",\"type\":{name},\"data\":").into_bytes();
        middle.extend(body.data().map_err(encode)?.bytes().map(on_one_line));
        if middle.len() > LONGEST_DRAFT {
            let name = body.name().to_owned();
            return Err(Error::TooLarge { name, bytes: middle.len(), limit: LONGEST_DRAFT });
        }
        Ok(Self { middle })
    }

    /// Takes the draft out of a record's line that passed [`check`].
    pub(crate) fn from_line(line: &[u8]) -> Option<Self> {
        let (body, _) = unseal(line).ok()?;
        let after_seq = body.strip_prefix(HEAD)?;
        let from = after_seq.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let middle = trailing_number(after_seq)?.0.strip_suffix(SYNCED)?;
        Some(Self { middle: middle.get(from..)?.to_vec() })
    }

    /// Writes the record's line; returns its checksum.
    pub fn frame(&self, seq: Seq, synced: Seq, into: &mut Vec<u8>) -> u32 {
        let from = into.len();
        into.extend_from_slice(HEAD);
        push_number(into, seq);
        into.extend_from_slice(&self.middle);
        into.extend_from_slice(SYNCED);
        push_number(into, synced);
        seal(into, from)
    }
}

/// Raw line ends stand only between the tokens of JSON, where a space means the same.
fn on_one_line(byte: u8) -> u8 {
    if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }
}

fn push_number(into: &mut Vec<u8>, seq: Seq) {
    // Writing to memory cannot fail.
    let _ = write!(into, "{seq}");
}

/// Writes `{"id":…,"record":…}` and its seal: a line of the history, or of a hook's file.
pub fn entry(id: &str, record: &RawValue) -> Result<Vec<u8>> {
    let encode = |source| Error::Encode { what: id.to_owned(), source };
    let mut line =
        format!("{{\"id\":{},\"record\":", serde_json::to_string(id).map_err(encode)?).into_bytes();
    line.extend(record.get().bytes().map(on_one_line));
    seal(&mut line, 0);
    Ok(line)
}

/// Reads what [`entry`] wrote, given without its line end; `None` if it is damaged.
pub fn read_entry(line: &[u8]) -> Option<(String, Box<RawValue>)> {
    #[derive(serde::Deserialize)]
    struct Entry {
        id: String,
        record: Box<RawValue>,
    }
    unseal(line).ok()?;
    serde_json::from_slice::<Entry>(line).ok().map(|entry| (entry.id, entry.record))
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
