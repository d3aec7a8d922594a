//! What git tells of a folder: what is changed and not committed. Asked on threads, never by the loop.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cli::shown;
use crate::store::plain;

/// A diff that is longer is cut: nobody reads it on a panel.
pub(super) const LONGEST: usize = 1 << 20;
/// So much of a new file is shown.
const LONGEST_NEW: u64 = 64 * 1024;
/// So many new files are shown.
const MOST_NEW: usize = 200;
/// What a repository without a commit is compared with: the empty tree, whose name is always this.
const NOTHING: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// A diff as git itself makes it: no program that the repository's own configuration names is asked for it.
const DIFF: [&str; 5] = ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--relative"];
/// Nor is one run to find out what changed.
const NO_PROGRAMS: [&str; 4] = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
/// Our own folder is no work of an agent.
const NOT_OURS: &str = ":(exclude).quarterdeck";

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
    let told = git(folder, &["status", "--porcelain=v1", "--untracked-files=all", "--", ".", NOT_OURS])?;
    Ok(String::from_utf8_lossy(&told).lines().count())
}

/// Returns what was changed in a folder since its last commit, as a unified diff. What git does not know of yet
/// comes last, as added.
pub(super) fn diff(folder: Option<&Path>) -> Result<String, String> {
    let folder = folder.ok_or("Its folder is elsewhere.")?;
    let since =
        if git(folder, &["rev-parse", "--quiet", "--verify", "HEAD"]).is_ok() { "HEAD" } else { NOTHING };
    let told = git(folder, &[DIFF.as_slice(), &[since, "--", ".", NOT_OURS]].concat())?;
    let mut text = cut(&String::from_utf8_lossy(&told), LONGEST).to_owned();
    let new = git(folder, &["ls-files", "--others", "--exclude-standard", "-z", "--", ".", NOT_OURS])?;
    let new = String::from_utf8_lossy(&new);
    for name in new.split('\0').filter(|name| !name.is_empty()).take(MOST_NEW) {
        if text.len() >= LONGEST {
            break;
        }
        text.push_str(&added(folder, name));
    }
    Ok(cut(&text, LONGEST).to_owned())
}

/// Returns a file as a diff that adds it; of one that is no text only that it is there.
fn added(folder: &Path, name: &str) -> String {
    let head = format!("diff --git a/{name} b/{name}\nnew file\n--- /dev/null\n+++ b/{name}\n");
    let path = folder.join(name);
    // What is no plain file, such as a pipe, is not opened: reading it might never end.
    let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
    let mut bytes = Vec::new();
    let read = is_file
        .then(|| plain::open(&path).and_then(|(file, _)| file.take(LONGEST_NEW).read_to_end(&mut bytes)));
    if !matches!(read, Some(Ok(_))) || bytes.contains(&0) {
        return head;
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text.lines().map(|line| format!("+{line}\n")).collect();
    format!("{head}@@ -0,0 +1,{} @@\n{}", lines.len(), lines.concat())
}

pub(super) fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

/// Asks git about a folder; it locks nothing and asks nobody.
pub(super) fn git(folder: &Path, words: &[&str]) -> Result<Vec<u8>, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .arg("--no-optional-locks")
        .args(NO_PROGRAMS)
        .args(words)
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("git cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(plainly(&String::from_utf8_lossy(&output.stderr)))
}

/// Returns what git complains of, without the names of files that nobody asked for.
fn plainly(complaint: &str) -> String {
    match complaint.lines().next().unwrap_or("git failed").trim() {
        told if told.contains("not a git repository") => "there is no git repository.".into(),
        told => told.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_repository_is_said_in_plain_words() {
        let told = "fatal: not a git repository (or any of the parent directories): .git\n";
        assert_eq!(plainly(told), "there is no git repository.");
        assert_eq!(plainly("fatal: bad revision\nmore"), "fatal: bad revision");
    }

    /// Returns a repository with one committed file, one changed, one new, one binary and a state folder.
    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        git(folder.path(), &["init", "--quiet"]).unwrap();
        write("kept.txt", b"one\n");
        write("changed.txt", b"one\n");
        let who = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"];
        git(folder.path(), &["add", "."]).unwrap();
        git(folder.path(), &[who.as_slice(), &["commit", "--quiet", "-m", "first"]].concat()).unwrap();
        write("changed.txt", b"two\n");
        write("deep/new.txt", b"a\nb\n");
        write("picture", b"\x89PNG\0");
        write(".quarterdeck/journal", b"ours\n");
        folder
    }

    #[test]
    fn a_diff_has_what_changed_and_what_is_new_and_nothing_of_ours() {
        let folder = repository();
        let text = diff(Some(folder.path())).unwrap();
        assert!(text.contains("-one\n+two"), "{text}");
        assert!(text.contains("+++ b/deep/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n"), "{text}");
        assert!(text.contains("+++ b/picture") && !text.contains("PNG"), "{text}");
        assert!(!text.contains("quarterdeck") && !text.contains("kept.txt"), "{text}");
    }

    #[test]
    fn no_program_that_the_repository_names_is_run() {
        let folder = repository();
        let ran = folder.path().join("ran");
        let program = folder.path().join("evil");
        std::fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat \"$@\"\n", ran.display())).unwrap();
        let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o700);
        std::fs::set_permissions(&program, mode).unwrap();
        let path = program.display();
        let config = format!(
            "[core]\n\tfsmonitor = {path}\n[diff]\n\texternal = {path}\n[diff \"evil\"]\n\ttextconv = {path}\n"
        );
        let file = folder.path().join(".git/config");
        let known = std::fs::read_to_string(&file).unwrap();
        std::fs::write(file, format!("{known}{config}")).unwrap();
        std::fs::write(folder.path().join(".gitattributes"), "* diff=evil\n").unwrap();
        diff(Some(folder.path())).unwrap();
        changed(folder.path()).unwrap();
        assert!(!ran.exists(), "a look at a folder runs nothing of it");
    }

    #[test]
    fn a_repository_without_a_commit_has_a_diff_too() {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "--quiet"]).unwrap();
        std::fs::write(folder.path().join("first.txt"), "x\n").unwrap();
        assert!(diff(Some(folder.path())).unwrap().contains("+x"));
    }

    #[test]
    fn what_is_not_committed_is_counted_by_files() {
        let folder = repository();
        let told = uncommitted(Some(&[folder.path().to_owned()]));
        assert!(told.starts_with("Uncommitted changes: 3 files in "), "{told}");
    }

    #[test]
    fn what_cannot_be_counted_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let told = uncommitted(Some(&[folder.path().join("nowhere")]));
        assert!(told.starts_with("Uncommitted changes: not known, "), "{told}");
        assert!(uncommitted(None).contains("not known"));
    }

    #[test]
    fn a_long_new_file_is_cut_and_a_pipe_is_not_waited_for() {
        let folder = repository();
        std::fs::write(folder.path().join("long.txt"), "x\n".repeat(200_000)).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            folder.path().join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        let text = diff(Some(folder.path())).unwrap();
        assert!(text.contains("+++ b/long.txt") && text.len() < 200_000, "{}", text.len());
    }
}
