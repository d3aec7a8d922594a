//! The list of a user's engines: one small file for each folder that an engine ever ran on, so that one deck finds
//! them all. It is a hint: whether an engine runs is asked of its folder, every time.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::announce::{Announced, read_live};
use super::listen::short_name;
use crate::store::disk::RealDisk;
use crate::store::folder::StateFolder;
use crate::store::lock::{self, Holder};
use crate::store::user;
use crate::store::views::replace;

/// One file of the list.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    folder: PathBuf,
}

/// A folder in the list, and what is there now.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Known {
    pub folder: PathBuf,
    #[serde(flatten)]
    pub state: EngineState,
}

/// What is at a folder of the list.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum EngineState {
    /// An engine has it; it may not have said yet where it listens.
    Running { holder: Holder, announced: Option<Box<Announced>> },
    /// The folder is there, and no engine runs.
    Stopped,
    /// The folder is gone.
    Gone,
}

/// Returns where the list is kept, by the environment.
pub fn place(env: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    Some(user::folder(env)?.join("engines"))
}

/// Notes that a folder has an engine.
pub fn note(list: &Path, folder: &StateFolder) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(list)?;
    let root = fs::canonicalize(&folder.root)?;
    let path = list.join(format!("{}.json", short_name(&root)));
    let entry = Entry { folder: root };
    if fs::read(&path).is_ok_and(|known| known == serde_json::to_vec(&entry).unwrap_or_default()) {
        return Ok(());
    }
    let text = serde_json::to_vec(&entry)?;
    replace(&RealDisk, &path, &text).map_err(io::Error::other)
}

/// Takes a folder out of the list; one that is not in it is no error.
pub fn forget(list: &Path, folder: &StateFolder) -> io::Result<()> {
    let root = fs::canonicalize(&folder.root)?;
    match fs::remove_file(list.join(format!("{}.json", short_name(&root)))) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Returns every folder of the list, with what is there now.
pub fn all(list: &Path) -> io::Result<Vec<Known>> {
    let files = match fs::read_dir(list) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut found = Vec::new();
    for file in files {
        let path = file?.path();
        // A file that is no entry is not ours.
        let entry = fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Entry>(&text).ok());
        found.extend(entry.map(|entry| look(entry.folder)));
    }
    found.sort_by(|one, other| one.folder.cmp(&other.folder));
    Ok(found)
}

/// Looks what is at a folder now.
pub fn look(folder: PathBuf) -> Known {
    let at = StateFolder::at(&folder);
    let state = match lock::holder(&RealDisk, &at) {
        _ if !folder.is_dir() => EngineState::Gone,
        Some(holder) => EngineState::Running { holder, announced: read_live(&at).map(Box::new) },
        None => EngineState::Stopped,
    };
    Known { folder, state }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forgotten_is_no_longer_in_the_list_and_may_be_forgotten_twice() {
        let temp = tempfile::tempdir().unwrap();
        let (list, folder) = (temp.path().join("list"), StateFolder::at(temp.path().join("state")));
        fs::create_dir(&folder.root).unwrap();
        note(&list, &folder).unwrap();
        assert_eq!(all(&list).unwrap().len(), 1);
        forget(&list, &folder).unwrap();
        assert_eq!(all(&list).unwrap().len(), 0);
        forget(&list, &folder).unwrap();
    }

    #[test]
    fn the_environment_says_where_it_is_and_a_relative_place_is_none() {
        let of = |set: &[(&str, &str)]| {
            let set: Vec<(String, String)> =
                set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            place(move |name| set.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
        };
        let home = ("HOME", "/home/me");
        assert_eq!(of(&[home]).unwrap(), Path::new("/home/me/.local/state/quarterdeck/engines"));
        assert_eq!(of(&[home, ("XDG_STATE_HOME", "/s")]).unwrap(), Path::new("/s/quarterdeck/engines"));
        let both = [home, ("XDG_STATE_HOME", "/s"), ("QUARTERDECK_STATE", "/q")];
        assert_eq!(of(&both).unwrap(), Path::new("/q/quarterdeck/engines"));
        assert_eq!(of(&[home, ("XDG_STATE_HOME", "")]).unwrap(), of(&[home]).unwrap());
        assert_eq!(of(&[("XDG_STATE_HOME", "here")]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn what_is_stopped_and_what_is_gone_are_told_apart() {
        let temp = tempfile::tempdir().unwrap();
        let list = temp.path().join("deep/list");
        assert!(all(&list).unwrap().is_empty());
        for name in ["one", "two"] {
            let folder = StateFolder::at(temp.path().join(name));
            folder.create(&RealDisk).unwrap();
            note(&list, &folder).unwrap();
            note(&list, &folder).unwrap();
        }
        fs::write(list.join("notes.txt"), "no entry").unwrap();
        fs::remove_dir_all(temp.path().join("two")).unwrap();
        let states: Vec<String> = all(&list)
            .unwrap()
            .iter()
            .map(|known| serde_json::to_value(known).unwrap()["state"].to_string())
            .collect();
        assert_eq!(states, ["\"stopped\"", "\"gone\""]);
    }
}
