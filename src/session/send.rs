//! The engine's words to a host: orders, lines for the agent's stdin, and the bell.
//!
//! Everything has an id, and the host does nothing twice: an engine that does not know whether it had written
//! something before it died writes it again.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use serde::Serialize;

use super::error::{Error, Result};
use super::files::{Feed, Order, line};
use super::folder::Folder;

/// Gives an order, and rings.
pub fn order(folder: &Folder, order: &Order) -> Result<()> {
    append(&folder.orders(), "an order", order)?;
    ring(folder);
    Ok(())
}

/// Gives a line for the agent's stdin, and rings. A line end within it becomes another line for the agent.
pub fn feed(folder: &Folder, id: &str, text: &str) -> Result<()> {
    append(&folder.input(), "a line", &Feed { id: id.into(), line: text.into() })?;
    ring(folder);
    Ok(())
}

/// Rings the bell: the host looks at once instead of within a second.
pub fn ring(folder: &Folder) {
    let bell = OpenOptions::new().write(true).custom_flags(NONBLOCK).open(folder.bell());
    // No host, none yet, or a bell that was rung often already: all are heard at the next look.
    let _ = bell.and_then(|mut bell| bell.write(b"!"));
}

#[expect(clippy::cast_possible_wrap, reason = "a flag of the system, small")]
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits() as i32;

/// Appends one line in one write. What a dead engine left half is ended first: the host then passes over it.
fn append<T: Serialize>(path: &Path, what: &'static str, value: &T) -> Result<()> {
    let mut bytes = line(what, value)?;
    let failed = Error::io("write", path);
    let mut file =
        OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path).map_err(&failed)?;
    if is_torn(&file).map_err(&failed)? {
        bytes.insert(0, b'\n');
    }
    file.write_all(&bytes).map_err(&failed)
}

fn is_torn(file: &File) -> io::Result<bool> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else { return Ok(false) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte != *b"\n")
}
