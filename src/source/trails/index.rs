//! What was read before, kept in the user's cache folder: a second start reads only what was appended.
//!
//! One file for a tool and a scope, a line for each trail. It is only ever a shortcut: what is broken, foreign or of
//! another version is read anew, and what does not fit the file on disk is not used. It holds the beginnings of
//! prompts and answers, so only its owner may read it.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::fold::Fold;

/// The form of the index itself.
const FORM: u32 = 1;
/// A longer line is none of ours.
const LONGEST: usize = 64 * 1024 * 1024;

/// What tells one content of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stamped {
    pub len: u64,
    pub inode: u64,
    /// Nanoseconds since the epoch.
    pub modified: i64,
}

/// What is known of one trail.
#[derive(Debug, Deserialize)]
pub struct Entry {
    pub path: PathBuf,
    pub stamped: Stamped,
    /// When the file came to be, in milliseconds, where the system tells.
    pub born: Option<i64>,
    /// Where its session ran, where that had to be read.
    pub place: Option<PathBuf>,
    /// Up to where its lines are in the fold.
    pub offset: u64,
    /// The reader's state there; `None` where nothing was read.
    pub state: Option<Box<RawValue>>,
    pub fold: Fold,
}

/// The same, to be written.
#[derive(Debug, Serialize)]
pub struct EntryRef<'a> {
    pub path: &'a Path,
    pub stamped: Stamped,
    pub born: Option<i64>,
    pub place: Option<&'a Path>,
    pub offset: u64,
    pub state: Option<Box<RawValue>>,
    pub fold: &'a Fold,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    quarterdeck_trails: u32,
    tool: String,
    reader: u32,
    of: String,
}

#[derive(Serialize, Deserialize)]
struct Foot {
    entries: usize,
}

/// Where the index of a tool is, and what it must be of to count.
#[derive(Debug, Clone)]
pub struct Place {
    pub file: PathBuf,
    pub tool: &'static str,
    pub reader: u32,
    /// The folders whose trails are in it.
    pub of: String,
}

impl Place {
    /// Names the index of a tool for a scope, below a cache folder.
    pub fn new(cache: &Path, tool: &'static str, reader: u32, of: String) -> Self {
        let name = format!("{tool}-{:08x}.jsonl", crc32fast::hash(of.as_bytes()));
        Self { file: cache.join("quarterdeck/trails").join(name), tool, reader, of }
    }

    fn head(&self) -> Head {
        Head { quarterdeck_trails: FORM, tool: self.tool.into(), reader: self.reader, of: self.of.clone() }
    }

    /// Reads the index; whatever is wrong with it, there is none then.
    pub fn load(&self) -> HashMap<PathBuf, Entry> {
        self.read().unwrap_or_default()
    }

    fn read(&self) -> Option<HashMap<PathBuf, Entry>> {
        let mut lines = BufReader::with_capacity(256 * 1024, fs::File::open(&self.file).ok()?);
        let mut line = Vec::new();
        let mut next = |line: &mut Vec<u8>| -> Option<()> {
            line.clear();
            let read = io::Read::take(&mut lines, LONGEST as u64).read_until(b'\n', line).ok()?;
            (read > 0 && line.ends_with(b"\n")).then_some(())
        };
        next(&mut line)?;
        if serde_json::from_slice::<Head>(&line).ok()? != self.head() {
            return None;
        }
        let mut entries = HashMap::new();
        loop {
            next(&mut line)?;
            if line.starts_with(b"{\"entries\"") {
                let foot: Foot = serde_json::from_slice(&line).ok()?;
                return (foot.entries == entries.len()).then_some(entries);
            }
            let entry: Entry = serde_json::from_slice(&line).ok()?;
            entries.insert(entry.path.clone(), entry);
        }
    }

    /// Writes the index anew, beside the old one and then in its place.
    pub fn save<'a>(&self, entries: impl Iterator<Item = EntryRef<'a>>) -> io::Result<()> {
        let folder = self.file.parent().ok_or(io::ErrorKind::InvalidInput)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let temporary = tempfile::NamedTempFile::new_in(folder)?;
        temporary.as_file().set_permissions(fs::Permissions::from_mode(0o600))?;
        let mut out = BufWriter::with_capacity(256 * 1024, temporary);
        let mut count = 0;
        serde_json::to_writer(&mut out, &self.head())?;
        for entry in entries {
            out.write_all(b"\n")?;
            serde_json::to_writer(&mut out, &entry)?;
            count += 1;
        }
        out.write_all(b"\n")?;
        serde_json::to_writer(&mut out, &Foot { entries: count })?;
        out.write_all(b"\n")?;
        let temporary = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        temporary.persist(&self.file).map_err(|error| error.error)?;
        Ok(())
    }
}
