//! How a file is, without reading it: one by its path, or very many below one folder.

use std::fs::{self, File, Metadata};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, open, statat};

use super::index::Stamped;
use crate::store::plain;

/// Opens a file, and looks at it; what is none is not waited for.
pub fn open_plain(path: &Path) -> Option<(File, Stamped)> {
    plain::open(path).ok().map(|(file, meta)| (file, stamped(&meta)))
}

/// Returns what tells this content from another.
pub fn stamped(meta: &Metadata) -> Stamped {
    let modified = meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec());
    Stamped { len: meta.len(), inode: meta.ino(), modified }
}

/// Returns when a file came to be, in milliseconds, where the system tells.
pub fn born(meta: &Metadata) -> Option<i64> {
    let since = meta.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

/// What a look at a file told.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub stamped: Stamped,
    /// When it came to be, in milliseconds, where the look told.
    pub born: Option<i64>,
}

impl Look {
    /// Looks at a path; `None` if it is no file of its own, or a link.
    pub fn plain(path: &Path) -> Option<Self> {
        plain_file(path).as_ref().and_then(Self::of)
    }

    /// Returns what metadata say, if they are of a file.
    pub fn of(meta: &Metadata) -> Option<Self> {
        meta.is_file().then(|| Self { stamped: stamped(meta), born: born(meta) })
    }
}

/// Returns a path's metadata, if it is a file of its own and no link.
pub fn plain_file(path: &Path) -> Option<Metadata> {
    fs::symlink_metadata(path).ok().filter(Metadata::is_file)
}

/// A folder from which the files below are looked at: a path from there is a part as long as the whole one, and costs
/// a part. A second start looks at every file that it knows.
#[derive(Debug)]
pub struct Base {
    root: PathBuf,
    folder: OwnedFd,
}

impl Base {
    /// Takes hold of a folder, if it may be read.
    pub fn of(root: &Path) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(root, flags, Mode::empty()).ok()?;
        Some(Self { root: root.to_owned(), folder })
    }

    /// Returns whether a path leads below it.
    pub fn has(&self, path: &Path) -> bool {
        self.below(path).is_some()
    }

    /// Returns the rest of a path, byte by byte: it is asked for every file that is known.
    fn below<'a>(&self, path: &'a Path) -> Option<&'a [u8]> {
        path.as_os_str().as_bytes().strip_prefix(self.root.as_os_str().as_bytes())?.strip_prefix(b"/")
    }

    /// Looks at a file below; `None`: it is not there, or no file of its own.
    pub fn file(&self, path: &Path) -> Option<Look> {
        let stat = self.look(path, FileType::RegularFile)?;
        Some(Look { stamped: of_stat(&stat), born: None })
    }

    /// Returns when a folder below was last changed; `None`: it is not there, or no folder of its own.
    pub fn modified(&self, folder: &Path) -> Option<i64> {
        self.look(folder, FileType::Directory).map(|stat| of_stat(&stat).modified)
    }

    fn look(&self, path: &Path, kind: FileType) -> Option<Stat> {
        let stat = statat(&self.folder, self.below(path)?, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        (FileType::from_raw_mode(stat.st_mode) == kind).then_some(stat)
    }
}

fn of_stat(stat: &Stat) -> Stamped {
    let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    let modified = stat.st_mtime.saturating_mul(1_000_000_000).saturating_add(nanos);
    Stamped { len: u64::try_from(stat.st_size).unwrap_or(0), inode: stat.st_ino, modified }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use rustix::fs::{CWD, mkfifoat};

    use super::*;

    #[test]
    fn a_pipe_in_place_of_a_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let (tell, told) = mpsc::channel();
        thread::spawn(move || tell.send(open_plain(&pipe).is_none()));
        assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(true));
    }

    #[test]
    fn a_look_from_the_folder_tells_what_a_look_at_the_whole_path_does() {
        let root = tempfile::tempdir().unwrap();
        let (folder, file) = (root.path().join("a/b"), root.path().join("a/b/trail"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(&file, "four").unwrap();
        let base = Base::of(root.path()).unwrap();
        let (near, whole) = (base.file(&file).unwrap().stamped, Look::plain(&file).unwrap().stamped);
        assert_eq!((near, near.len), (whole, 4));
        let modified = stamped(&fs::metadata(&folder).unwrap()).modified;
        assert_eq!(base.modified(&folder), Some(modified));
    }

    #[test]
    fn a_link_a_folder_and_what_is_elsewhere_are_no_files() {
        let root = tempfile::tempdir().unwrap();
        let (file, link) = (root.path().join("trail"), root.path().join("link"));
        fs::write(&file, "").unwrap();
        symlink(&file, &link).unwrap();
        let base = Base::of(root.path()).unwrap();
        let looks = [root.path(), &link, &root.path().join("gone"), Path::new("/")]
            .map(|path| base.file(path).is_some());
        assert_eq!(looks, [false; 4]);
        assert_eq!((base.modified(&file), base.modified(root.path())), (None, None));
        assert!(Base::of(&file).is_none());
    }
}
