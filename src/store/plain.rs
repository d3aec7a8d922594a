//! A file that somebody else may have put there: what is no file is refused, only so much of one is read, and nothing
//! is waited for.
//!
//! A clone of a project brings links, and a link may lead to a device that never ends or to a pipe that nobody writes
//! to. So whatever a project may bring is opened here.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// No file of settings, hooks, keys, colours or prices is larger.
pub const SETTINGS: u64 = 1024 * 1024;
/// No file of tasks is larger.
pub const TASKS: u64 = 16 * 1024 * 1024;

/// Opens a file, also through a link; what is none is refused and not waited for.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    let flags = flags.try_into().map_err(io::Error::other)?;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if found.is_file() { Ok((file, found)) } else { Err(io::Error::other(what(&found))) }
}

/// Returns what a file holds, if that is at most so many bytes.
pub fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, found) = open(path)?;
    let too_large = || io::Error::other(format!("it is larger than {} KiB", most / 1024));
    if found.len() > most {
        return Err(too_large());
    }
    let mut content = Vec::new();
    // It may grow meanwhile, and some files of the system say that they have no length.
    file.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most { Err(too_large()) } else { Ok(content) }
}

/// Returns the text of a file, if that is at most so many bytes.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(bytes(path, most)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// As [`text`]; a file that is not there, or whose folder is none, is no error.
pub fn text_if_there(path: &Path, most: u64) -> io::Result<Option<String>> {
    match text(path, most) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn what(found: &Metadata) -> &'static str {
    if found.is_dir() { "it is a folder" } else { "it is a device or a pipe, and no file" }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::mpsc;
    use std::time::Duration;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    /// Reads on a thread of its own: what waits fails the test instead of holding it up.
    fn read(path: &Path) -> Result<String, String> {
        let (tell, told) = mpsc::channel();
        let path = path.to_owned();
        std::thread::spawn(move || tell.send(text(&path, SETTINGS).map_err(|error| error.to_string())));
        told.recv_timeout(Duration::from_secs(20)).expect("it must not wait")
    }

    #[test]
    fn a_file_is_read_also_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&file, "x = 1").unwrap();
        symlink("real", &link).unwrap();
        assert_eq!((read(&file), read(&link)), (Ok("x = 1".into()), Ok("x = 1".into())));
        assert_eq!(text_if_there(&folder.path().join("gone"), SETTINGS).unwrap(), None);
        assert_eq!(text_if_there(&file.join("below"), SETTINGS).unwrap(), None);
    }

    #[test]
    fn what_never_ends_what_nobody_writes_to_and_what_is_too_large_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("/dev/zero", at("device")).unwrap();
        mkfifoat(CWD, at("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        symlink("pipe", at("link")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        // It costs no room on the disk, and its length nothing in a clone.
        File::create(at("large")).unwrap().set_len(SETTINGS + 1).unwrap();
        File::create(at("largest")).unwrap().set_len(SETTINGS).unwrap();
        fs::write(at("binary"), [0xff, 0xfe]).unwrap();
        let no_file = Err("it is a device or a pipe, and no file".to_owned());
        for name in ["device", "pipe", "link"] {
            assert_eq!(read(&at(name)), no_file, "{name}");
        }
        assert_eq!(read(&at("folder")), Err("it is a folder".into()));
        assert_eq!(read(&at("large")), Err("it is larger than 1024 KiB".into()));
        assert_eq!(read(&at("largest")).map(|text| text.len() as u64), Ok(SETTINGS));
        assert_eq!(read(&at("binary")), Err("it is not UTF-8".into()));
        // The system says of it that it has no length.
        assert!(read(Path::new("/proc/self/status")).is_ok());
    }
}
