//! A file that is replaced or rewritten as a whole: read again when it changed, and only then.
//!
//! A writer may truncate and write in place, so a reading may meet an empty or half a file: that is for
//! the parser to notice, and to keep its last good state. Here is decided only whether to look again.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::model::time::Stamp;
use crate::store::disk::{Disk, Stat, read};

/// A file that was written so lately may be written again without a visible change of its time: clocks of
/// file systems are coarse.
const RACY: Duration = Duration::from_secs(2);

/// A file that is read as a whole.
#[derive(Debug, Clone)]
pub struct Whole {
    path: PathBuf,
    seen: Option<Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    stat: Stat,
    at: Stamp,
    crc: u32,
}

/// What a look at the file found.
#[derive(Debug)]
pub enum Look {
    /// The same as last time.
    Same,
    /// Other content than last time.
    Content(Vec<u8>),
    /// There is no such file.
    Missing,
    /// It cannot be read.
    Failed(io::Error),
}

impl Whole {
    /// Names a file; nothing is read yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), seen: None }
    }

    /// Returns the file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Looks whether there is anything new.
    pub fn look(&mut self, disk: &dyn Disk, now: Stamp) -> Look {
        let stat = match disk.stat(&self.path) {
            Ok(Some(stat)) => stat,
            Ok(None) => {
                self.seen = None;
                return Look::Missing;
            }
            Err(error) => return Look::Failed(error),
        };
        let settled = |seen: &Seen| seen.stat == stat && stat.modified.plus(RACY) < seen.at;
        if self.seen.as_ref().is_some_and(settled) {
            return Look::Same;
        }
        match read(disk, &self.path) {
            Ok(content) => {
                let crc = crc32fast::hash(&content);
                let same = self.seen.is_some_and(|seen| seen.crc == crc);
                self.seen = Some(Seen { stat, at: now, crc });
                if same { Look::Same } else { Look::Content(content) }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Look::Missing,
            Err(error) => Look::Failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::store::disk::RealDisk;

    #[test]
    fn content_is_given_once_and_again_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.json");
        let mut whole = Whole::new(&path);
        let later = Stamp::from_millis(4_000_000_000_000);
        assert!(matches!(whole.look(&RealDisk, later), Look::Missing));
        fs::write(&path, "one").unwrap();
        assert!(matches!(whole.look(&RealDisk, later), Look::Content(text) if text == b"one"));
        assert!(matches!(whole.look(&RealDisk, later), Look::Same));
        // Replaced by rename, as careful writers do.
        fs::write(folder.path().join("temp"), "two").unwrap();
        fs::rename(folder.path().join("temp"), &path).unwrap();
        assert!(matches!(whole.look(&RealDisk, later), Look::Content(text) if text == b"two"));
        fs::remove_file(&path).unwrap();
        assert!(matches!(whole.look(&RealDisk, later), Look::Missing));
    }

    #[test]
    fn a_rewrite_within_the_clocks_grain_is_not_missed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.json");
        fs::write(&path, "one").unwrap();
        let modified = RealDisk.stat(&path).unwrap().unwrap().modified;
        let mut whole = Whole::new(&path);
        assert!(matches!(whole.look(&RealDisk, modified), Look::Content(_)));
        // Same size, same inode, and perhaps the same time.
        fs::write(&path, "two").unwrap();
        assert!(matches!(whole.look(&RealDisk, modified), Look::Content(text) if text == b"two"));
    }
}
