//! Replaces a file as a whole, so that no reader and no crash ever meets half of it.
//!
//! For the views that are derived from the journal (`delegations.json`, `registry.json`), and for whatever
//! else is one document. What is in a view is its writer's affair; how often one is written is [`due`].

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::disk::Disk;
use super::error::{Error, Result};
use crate::model::time::Stamp;

/// The least time between two writes of a view: people read these files, and the disk is shared.
pub const LEAST_GAP: Duration = Duration::from_millis(500);

/// Puts `content` in the place of a file, durably: the old one or the new one is there, whatever happens.
pub fn replace(disk: &dyn Disk, path: &Path, content: &[u8]) -> Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let failed = || Error::io("write", path);
    let mut name = path.as_os_str().to_owned();
    // Nobody else uses this name: not another process, nor another thread. What has it is left over.
    name.push(format!(".{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    let temp = Path::new(&name);
    if disk.stat(temp).map_err(failed())?.is_some() {
        disk.remove(temp).map_err(failed())?;
    }
    let written = disk.create(temp).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_data()
    });
    if let Err(error) = written.and_then(|()| disk.rename(temp, path)) {
        // The first error is the one to report; what is left of the file is found by the check.
        let _ = disk.remove(temp);
        return Err(failed()(error));
    }
    path.parent().map_or(Ok(()), |folder| disk.sync_dir(folder)).map_err(failed())
}

/// Returns when a view that changed at `dirty_since` is to be written: at once if none was written lately.
pub fn due(dirty_since: Stamp, last_written: Option<Stamp>) -> Stamp {
    match last_written {
        // A clock that was set back must not silence a view.
        Some(last) if last <= dirty_since => dirty_since.max(last.plus(LEAST_GAP)),
        Some(_) | None => dirty_since,
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::RealDisk;
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_is_left_beside_it() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("registry.json");
        replace(&RealDisk, &path, b"one").unwrap();
        replace(&RealDisk, &path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_view_is_written_at_once_and_then_at_most_twice_a_second() {
        let at = Stamp::from_millis;
        assert_eq!(due(at(1000), None), at(1000));
        assert_eq!(due(at(1100), Some(at(1000))), at(1500));
        assert_eq!(due(at(9000), Some(at(1000))), at(9000));
        assert_eq!(due(at(500), Some(at(99_000))), at(500));
    }
}
