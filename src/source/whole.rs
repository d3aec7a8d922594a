//! A file that is replaced or rewritten as a whole: read again when it changed, and only then.
//!
//! A writer may truncate and write in place, so a reading may meet an empty or half a file: that is for
//! the parser to notice, and to keep its last good state. Here is decided only whether to look again.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::store::plain;

/// A file that was written so lately may be written again without a visible change of its time: clocks of
/// file systems are coarse.
const RACY: Duration = Duration::from_secs(2);
/// No store or registry is larger; whatever is, is something else, and must not eat the memory.
const LARGEST: u64 = 256 * 1024 * 1024;

/// A file that is read as a whole.
#[derive(Debug, Clone)]
pub struct Whole {
    path: PathBuf,
    seen: Option<Seen>,
}

/// What tells one content of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamped {
    len: u64,
    inode: u64,
    modified: SystemTime,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    stamped: Stamped,
    /// Whether it was old enough when it was read to tell every later change.
    settled: bool,
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
    pub fn look(&mut self) -> Look {
        match self.read_if_changed() {
            Ok(Some(content)) => Look::Content(content),
            Ok(None) => Look::Same,
            Err(error) => {
                self.seen = None;
                let missing = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
                if missing.contains(&error.kind()) { Look::Missing } else { Look::Failed(error) }
            }
        }
    }

    fn read_if_changed(&mut self) -> io::Result<Option<Vec<u8>>> {
        let found = fs::metadata(&self.path)?;
        if !found.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        if found.len() > LARGEST {
            return Err(io::Error::other("it is larger than 256 MiB"));
        }
        let stamped = Stamped { len: found.len(), inode: found.ino(), modified: found.modified()? };
        if self.seen.is_some_and(|seen| seen.settled && seen.stamped == stamped) {
            return Ok(None);
        }
        let settled = SystemTime::now().duration_since(stamped.modified).is_ok_and(|age| age > RACY);
        let mut content = Vec::new();
        plain::open(&self.path)?.0.take(LARGEST + 1).read_to_end(&mut content)?;
        let crc = crc32fast::hash(&content);
        let is_news = self.seen.is_none_or(|seen| seen.crc != crc);
        self.seen = Some(Seen { stamped, settled, crc });
        Ok(is_news.then_some(content))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn content_is_given_once_and_again_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.json");
        let mut whole = Whole::new(&path);
        assert!(matches!(whole.look(), Look::Missing));
        fs::write(&path, "one").unwrap();
        assert!(matches!(whole.look(), Look::Content(text) if text == b"one"));
        assert!(matches!(whole.look(), Look::Same));
        // Replaced by rename, as careful writers do.
        fs::write(folder.path().join("temp"), "two").unwrap();
        fs::rename(folder.path().join("temp"), &path).unwrap();
        assert!(matches!(whole.look(), Look::Content(text) if text == b"two"));
        fs::remove_file(&path).unwrap();
        assert!(matches!(whole.look(), Look::Missing));
    }

    #[test]
    fn a_rewrite_within_the_clocks_grain_is_not_missed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.json");
        fs::write(&path, "one").unwrap();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let mut whole = Whole::new(&path);
        assert!(matches!(whole.look(), Look::Content(_)));
        // Same size, same inode, and the same time.
        fs::write(&path, "two").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        assert!(matches!(whole.look(), Look::Content(text) if text == b"two"));
    }

    #[test]
    fn a_link_is_followed_and_what_is_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        fs::write(&path, "one").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut whole = Whole::new(&link);
        assert!(matches!(whole.look(), Look::Content(_)));
        fs::write(&path, "two, longer").unwrap();
        assert!(matches!(whole.look(), Look::Content(text) if text == b"two, longer"));
        for odd in [Path::new("/dev/zero"), folder.path()] {
            assert!(matches!(Whole::new(odd).look(), Look::Failed(_)), "{}", odd.display());
        }
    }
}
