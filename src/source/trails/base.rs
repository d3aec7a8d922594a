//! Looks at very many files below one folder. A path from there is a part as long as the whole one, and costs a part: a
//! second start looks at every file that it knows.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, open, statat};

use super::file::Look;
use super::index::Stamped;

/// The folder.
#[derive(Debug)]
pub struct Base {
    /// How many bytes of a path are its own.
    len: usize,
    folder: OwnedFd,
}

impl Base {
    /// Takes hold of a folder, if it may be read.
    pub fn of(root: &Path) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(root, flags, Mode::empty()).ok()?;
        Some(Self { len: root.as_os_str().len(), folder })
    }

    /// Looks at a file below; `None`: it is not there, or no file of its own.
    pub fn file(&self, path: &Path) -> Option<Look> {
        let stat = self.look(path, FileType::RegularFile)?;
        Some(Look { stamped: stamped(&stat), born: None })
    }

    /// Returns when a folder below was last changed; `None`: it is not there, or no folder of its own.
    pub fn modified(&self, folder: &Path) -> Option<i64> {
        self.look(folder, FileType::Directory).map(|stat| stamped(&stat).modified)
    }

    fn look(&self, path: &Path, kind: FileType) -> Option<Stat> {
        let below = path.as_os_str().as_bytes().get(self.len..)?.strip_prefix(b"/")?;
        let stat = statat(&self.folder, below, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        (FileType::from_raw_mode(stat.st_mode) == kind).then_some(stat)
    }
}

fn stamped(stat: &Stat) -> Stamped {
    let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    let modified = stat.st_mtime.saturating_mul(1_000_000_000).saturating_add(nanos);
    Stamped { len: u64::try_from(stat.st_size).unwrap_or(0), inode: stat.st_ino, modified }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_look_from_the_folder_tells_what_a_look_at_the_whole_path_does() {
        let root = tempfile::tempdir().unwrap();
        let (folder, file) = (root.path().join("a/b"), root.path().join("a/b/trail"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(&file, "four").unwrap();
        let base = Base::of(root.path()).unwrap();
        let (near, whole) = (base.file(&file).unwrap().stamped, Look::plain(&file).unwrap().stamped);
        assert_eq!((near, near.len), (whole, 4));
        let modified = crate::source::trails::file::stamped(&fs::metadata(&folder).unwrap()).modified;
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
