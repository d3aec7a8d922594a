//! What was said in conversations, kept in the state folder so that an editor can come back to one.

use std::time::{Duration, SystemTime};

use serde_json::{from_slice, to_vec};

use super::talk::Said;
use crate::store::disk::{Disk, RealDisk};
use crate::store::folder::StateFolder;
use crate::store::views::replace;

/// A conversation that nobody took up for so long is forgotten.
const LONGEST: Duration = Duration::from_hours(24 * 30);
/// More of one is not read.
const MOST: u64 = 64 * 1024 * 1024;

/// Keeps what was said in one.
pub(super) fn keep(folder: &StateFolder, id: &str, said: &[Said]) -> Result<(), String> {
    let path = folder.talk_file(id).map_err(|error| error.to_string())?;
    let text = to_vec(said).map_err(|error| error.to_string())?;
    RealDisk.create_dir(&folder.talks_dir()).map_err(|error| error.to_string())?;
    replace(&RealDisk, &path, &text).map_err(|error| error.to_string())
}

/// Reads what was said in one.
pub(super) fn read(folder: &StateFolder, id: &str) -> Result<Vec<Said>, String> {
    let path = folder.talk_file(id).map_err(|error| error.to_string())?;
    let length = std::fs::metadata(&path).map_err(|error| error.to_string())?.len();
    if length > MOST {
        return Err(format!("{length} bytes are too many"));
    }
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    from_slice(&text).map_err(|error| error.to_string())
}

/// Forgets those that nobody took up for a month.
pub(super) fn sweep(folder: &StateFolder, now: SystemTime) {
    for file in std::fs::read_dir(folder.talks_dir()).into_iter().flatten().flatten() {
        let changed = file.metadata().and_then(|file| file.modified()).ok();
        let age = changed.and_then(|changed| now.duration_since(changed).ok());
        if age.is_some_and(|age| age > LONGEST) {
            // The next one that begins tries again.
            let _ = std::fs::remove_file(file.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_read_as_it_was_kept_until_a_month_after_its_last_word() {
        let temp = tempfile::tempdir().unwrap();
        let folder = StateFolder::at(temp.path().join(".quarterdeck"));
        folder.create(&RealDisk).unwrap();
        let said = vec![Said { by: "user".into(), text: "hello".into() }];
        keep(&folder, "talk-1", &said).unwrap();
        assert_eq!(read(&folder, "talk-1").unwrap(), said);
        assert!(read(&folder, "talk-2").is_err() && read(&folder, "../talk-1").is_err());
        let now = SystemTime::now();
        sweep(&folder, now);
        assert!(read(&folder, "talk-1").is_ok());
        sweep(&folder, now + LONGEST + Duration::from_mins(1));
        assert!(read(&folder, "talk-1").is_err());
    }
}
