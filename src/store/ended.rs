//! What a person ended that no engine runs: one small file for each time, in the person's own folder.
//!
//! Neither the agent can write that down, which was ended, nor an engine, which never ran it. Sessions are known by ids
//! that are one of a kind, and a project need not have a state folder: so it is kept of the person, and of no project.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::disk::RealDisk;
use super::{plain, views};
use crate::model::key::NodeKey;
use crate::model::time::Stamp;

/// So long a record is kept, as the output of sessions is: what was left so long ago is over by its own files too.
const KEPT: Duration = Duration::from_hours(30 * 24);
/// No record is larger: a session with some thousands of agents at once is in one.
const LARGEST: u64 = 1024 * 1024;

/// What was ended at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// When all its processes were gone.
    pub at: Stamp,
    /// What worked in them, and had not ended by itself.
    pub what: Vec<Who>,
    /// The folders of whose tree it is a part: where it worked, and the project in which a person saw it.
    pub folders: Vec<PathBuf>,
    /// Why, where the person said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One that was ended, by the id that its tool gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Who {
    Session {
        tool: String,
        id: String,
    },
    Agent {
        tool: String,
        id: String,
    },
    /// An agent of which only the call that spawned it is known.
    Call {
        id: String,
    },
}

impl Who {
    /// Returns the one that a key means; an engine's and a process's are none of these.
    pub fn of(key: &NodeKey) -> Option<Self> {
        match key {
            NodeKey::CliSession(tool, id) => Some(Self::Session { tool: (**tool).into(), id: (**id).into() }),
            NodeKey::CliAgent(tool, id) => Some(Self::Agent { tool: (**tool).into(), id: (**id).into() }),
            NodeKey::ToolUse(id) => Some(Self::Call { id: (**id).into() }),
            NodeKey::Delegation(_)
            | NodeKey::Subtask(..)
            | NodeKey::Session(_)
            | NodeKey::Agent(..)
            | NodeKey::Process(..)
            | NodeKey::Foreign(..) => None,
        }
    }

    /// Returns its key.
    pub fn key(&self) -> NodeKey {
        match self {
            Self::Session { tool, id } => NodeKey::CliSession(tool.as_str().into(), id.as_str().into()),
            Self::Agent { tool, id } => NodeKey::CliAgent(tool.as_str().into(), id.as_str().into()),
            Self::Call { id } => NodeKey::ToolUse(id.as_str().into()),
        }
    }
}

/// Returns where the records are, in the person's own folder.
pub fn place(user: &Path) -> PathBuf {
    user.join("ended")
}

/// Keeps a record, and lets go of those that are too old.
pub fn keep(place: &Path, pid: u32, ended: &Ended) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(place)?;
    // By its time and the process, so that no two are one; nothing of it is text from outside.
    let path = place.join(format!("{}-{pid}.json", ended.at.millis()));
    views::replace(&RealDisk, &path, &serde_json::to_vec(ended)?).map_err(io::Error::other)?;
    for name in names(place) {
        // What cannot be removed is looked at again the next time.
        if moment(&name).is_some_and(|at| ended.at.since(at) > KEPT) {
            let _ = fs::remove_file(place.join(name));
        }
    }
    Ok(())
}

/// Returns the names of the records, the oldest first; none where there is no folder.
pub fn names(place: &Path) -> Vec<String> {
    let files = fs::read_dir(place).into_iter().flatten().flatten();
    let name = |name: &OsStr| name.to_str().map(str::to_owned).filter(|name| moment(name).is_some());
    let mut names: Vec<String> = files.filter_map(|file| name(&file.file_name())).collect();
    names.sort_by_cached_key(|name| (moment(name), name.clone()));
    names
}

/// Reads a record; what is none is not told.
pub fn read(place: &Path, name: &str) -> Option<Ended> {
    let text = plain::bytes(&place.join(name), LARGEST).ok()?;
    serde_json::from_slice(&text).ok()
}

fn moment(name: &str) -> Option<Stamp> {
    let (millis, _) = name.strip_suffix(".json")?.split_once('-')?;
    millis.parse().ok().map(Stamp::from_millis)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn record(at: i64) -> Ended {
        let what = vec![
            Who::Session { tool: "claude".into(), id: "s1".into() },
            Who::Agent { tool: "claude".into(), id: "a1".into() },
            Who::Call { id: "toolu_1".into() },
        ];
        Ended { at: Stamp::from_millis(at), what, folders: vec!["/shop".into()], reason: Some("why".into()) }
    }

    #[test]
    fn a_record_is_read_as_it_was_kept_and_only_its_owner_can() {
        let temp = tempfile::tempdir().unwrap();
        let place = place(&temp.path().join("state/quarterdeck"));
        assert_eq!(names(&place), [""; 0]);
        keep(&place, 7, &record(2_000)).unwrap();
        keep(&place, 7, &record(10_000)).unwrap();
        assert_eq!(names(&place), ["2000-7.json", "10000-7.json"], "the oldest first");
        assert_eq!(read(&place, "2000-7.json"), Some(record(2_000)));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o077;
        assert_eq!((mode(&place), mode(&place.join("2000-7.json"))), (0, 0));
    }

    #[test]
    fn what_is_no_record_is_passed_over_and_what_is_too_old_goes() {
        let temp = tempfile::tempdir().unwrap();
        for (name, text) in [("notes.txt", "no"), ("5-x.json", "{half"), ("4000-1.json.9-1.tmp", "{}")] {
            fs::write(temp.path().join(name), text).unwrap();
        }
        assert_eq!(names(temp.path()), ["5-x.json"]);
        assert_eq!(read(temp.path(), "5-x.json"), None);
        let month = i64::try_from(KEPT.as_millis()).unwrap();
        keep(temp.path(), 1, &record(1_000)).unwrap();
        keep(temp.path(), 2, &record(1_000 + month)).unwrap();
        assert_eq!(names(temp.path()).len(), 2, "not a moment too early");
        keep(temp.path(), 3, &record(1_001 + month)).unwrap();
        assert_eq!(names(temp.path()).len(), 2);
    }

    #[test]
    fn only_what_a_tool_names_is_kept() {
        for one in record(0).what {
            assert_eq!(Who::of(&one.key()), Some(one));
        }
        assert_eq!(Who::of(&NodeKey::Process(1, 2)), None);
        assert_eq!(Who::of(&NodeKey::Delegation("del-1".into())), None);
    }
}
