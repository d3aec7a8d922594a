//! What is kept of a person and of no project: where it is, by the environment.

use std::path::PathBuf;

/// Returns the folder of it.
pub fn folder(env: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").map(|home| home.join(".local/state"));
    let state = set("QUARTERDECK_STATE").or_else(|| set("XDG_STATE_HOME")).or_else(home)?;
    // A relative path would mean another one in each folder.
    state.is_absolute().then(|| state.join("quarterdeck"))
}
