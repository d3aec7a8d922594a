//! What git tells of a folder: what is changed and not committed. Asked on threads, never by the loop.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cli::shown;

/// Says how much is changed and not committed in these folders, a line each.
pub(super) fn uncommitted(folders: Option<&[PathBuf]>) -> String {
    let Some(folders) = folders else {
        return "Uncommitted changes: not known, its folder is elsewhere.".into();
    };
    let told = folders.iter().map(|folder| match changed(folder) {
        Ok(0) => format!("Uncommitted changes: none in {}", shown(folder)),
        Ok(1) => format!("Uncommitted changes: 1 file in {}", shown(folder)),
        Ok(count) => format!("Uncommitted changes: {count} files in {}", shown(folder)),
        Err(why) => format!("Uncommitted changes: not known, {why}"),
    });
    told.collect::<Vec<_>>().join("\n")
}

fn changed(folder: &Path) -> Result<usize, String> {
    let told = git(folder, &["status", "--porcelain=v1", "--untracked-files=all"])?;
    Ok(String::from_utf8_lossy(&told).lines().count())
}

/// Asks git about a folder; it locks nothing and asks nobody.
pub(super) fn git(folder: &Path, words: &[&str]) -> Result<Vec<u8>, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .arg("--no-optional-locks")
        .args(words)
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("git cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("git failed").trim().to_owned())
}
