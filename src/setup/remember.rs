//! What was put where, and what was there before: kept in the state folder, so that it can be taken out again.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Change;

/// The file's name in the state folder.
pub const FILE: &str = "setup.json";

/// Everything that was put in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    pub files: Vec<Installed>,
}

/// One file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Installed {
    pub path: PathBuf,
    /// What it held before anything of ours was in it.
    pub before: Option<String>,
    /// What it held when we had written it.
    pub after: String,
    /// Whether others write it too, whoever made it.
    #[serde(default)]
    pub is_shared: bool,
}

impl Memory {
    /// Notes what was carried out.
    pub fn add(&mut self, changes: &[Change]) {
        for Change { path, before, after } in changes {
            let Some(after) = after.clone() else {
                self.files.retain(|file| file.path != *path);
                continue;
            };
            // A second time adds to the first: what was there before the first is what must come back.
            let known =
                self.files.iter().position(|file| file.path == *path && Some(&file.after) == before.as_ref());
            if let Some(file) = known.and_then(|at| self.files.get_mut(at)) {
                file.after = after;
                continue;
            }
            self.files.retain(|file| file.path != *path);
            let is_shared = path.extension().is_some_and(|end| end == "json");
            self.files.push(Installed { path: path.clone(), before: before.clone(), after, is_shared });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: Option<&str>, after: &str) -> Change {
        Change { path: "a.json".into(), before: before.map(Into::into), after: Some(after.into()) }
    }

    #[test]
    fn a_second_time_keeps_what_was_there_before_the_first_unless_somebody_wrote_in_between() {
        let mut memory = Memory::default();
        memory.add(&[change(Some("{}"), "one")]);
        memory.add(&[change(Some("one"), "two")]);
        assert_eq!((memory.files[0].before.as_deref(), memory.files[0].after.as_str()), (Some("{}"), "two"));
        memory.add(&[change(Some("theirs"), "three")]);
        assert_eq!((memory.files.len(), memory.files[0].before.as_deref()), (1, Some("theirs")));
    }
}
