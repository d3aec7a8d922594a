//! Removes what sessions printed long ago. Never the journal, the history or a snapshot.
//!
//! Which sessions go is decided by a function of its arguments; a session that is live always stays.

use std::collections::BTreeSet;
use std::time::Duration;

use super::disk::Disk;
use super::error::{Error, Result};
use super::folder::StateFolder;
use crate::model::id::SessionId;
use crate::model::time::Stamp;

/// How long a session's output is kept after it was last written, where nobody says otherwise.
pub const KEPT_FOR: Duration = Duration::from_hours(30 * 24);

/// A session's folder, and when anything in it was last written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The session.
    pub session: SessionId,
    /// The last time.
    pub touched: Stamp,
}

/// Returns the sessions whose output may go.
pub fn select<'a>(
    outputs: &'a [Output],
    live: &BTreeSet<SessionId>,
    kept_for: Duration,
    now: Stamp,
) -> Vec<&'a SessionId> {
    outputs
        .iter()
        .filter(|output| now.since(output.touched) > kept_for && !live.contains(&output.session))
        .map(|output| &output.session)
        .collect()
}

/// Finds every session's output.
pub fn outputs(disk: &dyn Disk, folder: &StateFolder) -> Result<Vec<Output>> {
    let sessions = folder.sessions_dir();
    let mut found = Vec::new();
    for name in disk.list(&sessions).map_err(Error::io("list", &sessions))? {
        // A name that no session can have is not ours to remove.
        let Ok(path) = folder.session_dir(&name) else { continue };
        // Nor is a plain file, or what we may not enter.
        let Ok(files) = disk.list(&path) else { continue };
        let mut touched = None;
        for file in files.iter().map(|file| path.join(file)).chain([path.clone()]) {
            let stat = disk.stat(&file).map_err(Error::io("look at", &file))?;
            touched = touched.max(stat.map(|stat| stat.modified));
        }
        if let Some(touched) = touched {
            found.push(Output { session: name.into(), touched });
        }
    }
    Ok(found)
}

/// Removes the output of sessions that ended long ago; returns which. What cannot be removed now is left
/// for the next time: old output that stays is no reason to stop anything.
pub fn trim(
    disk: &dyn Disk,
    folder: &StateFolder,
    live: &BTreeSet<SessionId>,
    kept_for: Duration,
    now: Stamp,
) -> Result<Vec<SessionId>> {
    let outputs = outputs(disk, folder)?;
    let old = select(&outputs, live, kept_for, now).into_iter();
    let removed = old.filter(|session| {
        folder.session_dir(session.as_str()).is_ok_and(|path| disk.remove_tree(&path).is_ok())
    });
    Ok(removed.cloned().collect())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::SystemTime;

    use super::super::disk::RealDisk;
    use super::*;

    #[test]
    fn only_old_output_of_sessions_that_are_not_live_goes() {
        let temp = tempfile::tempdir().unwrap();
        let folder = StateFolder::at(temp.path().join("state"));
        folder.create(&RealDisk).unwrap();
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        for (session, is_old) in [("old", true), ("old-live", true), ("new", false)] {
            let path = folder.session_dir(session).unwrap();
            fs::create_dir(&path).unwrap();
            fs::write(path.join("out"), "x").unwrap();
            if is_old {
                File::open(path.join("out")).unwrap().set_modified(old).unwrap();
                File::open(&path).unwrap().set_modified(old).unwrap();
            }
        }
        let now = Stamp::from_millis(1_000_000).plus(KEPT_FOR).plus(Duration::from_millis(1));
        let live = BTreeSet::from([SessionId::from("old-live")]);
        assert_eq!(trim(&RealDisk, &folder, &live, KEPT_FOR * 2, now).unwrap(), [], "as long as is wanted");
        assert_eq!(trim(&RealDisk, &folder, &live, KEPT_FOR, now).unwrap(), [SessionId::from("old")]);
        assert_eq!(RealDisk.list(&folder.sessions_dir()).unwrap(), ["new", "old-live"]);
        let just_kept = Stamp::from_millis(1_000_000).plus(KEPT_FOR);
        assert_eq!(trim(&RealDisk, &folder, &BTreeSet::new(), KEPT_FOR, just_kept).unwrap(), []);
    }
}
