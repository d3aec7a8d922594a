//! Where the state folder is, and where each thing lies in it.
//!
//! It is found by walking up as git does. Where there is none it is made at the root of the main work tree,
//! so that all linked work trees of a project share one engine. Nothing else in the store builds a path.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::error::{Error, Result};
use super::plain;
use super::views::replace;
use crate::model::id::{Seq, file_name};

/// The folder's name in a project.
pub const NAME: &str = ".quarterdeck";

/// The rights that nobody else may have.
const OTHERS: u32 = 0o077;

/// The state folder: paths only; it may not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFolder {
    /// The folder itself.
    pub root: PathBuf,
}

impl StateFolder {
    /// Names a state folder by its path.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the folder that serves `cwd`: the one named, or the nearest going up.
    pub fn find(cwd: &Path, explicit: Option<&Path>) -> Option<Self> {
        if let Some(path) = explicit {
            let path = cwd.join(path);
            return path.is_dir().then(|| Self::at(path));
        }
        let with_linked = |folder: &Path| [Some(folder.to_owned()), main_work_tree(folder)];
        cwd.ancestors()
            .flat_map(with_linked)
            .flatten()
            .map(|folder| folder.join(NAME))
            .find(|found| found.is_dir())
            .map(Self::at)
    }

    /// Returns the folder that serves `cwd`, or the place where it would be made.
    pub fn find_or_place(cwd: &Path, explicit: Option<&Path>) -> Self {
        if let Some(path) = explicit {
            return Self::at(cwd.join(path));
        }
        let place = || {
            let tree = cwd.ancestors().find(|folder| folder.join(".git").exists());
            let root = tree.map(|tree| main_work_tree(tree).unwrap_or_else(|| tree.to_owned()));
            Self::at(root.unwrap_or_else(|| cwd.to_owned()).join(NAME))
        };
        Self::find(cwd, None).unwrap_or_else(place)
    }

    /// Refuses a folder that is not this user's alone, or that has links in it. One that came with a project, by a clone
    /// or in an archive, would give the engine orders, and a link would have files elsewhere changed or removed.
    fn must_be_own(&self) -> Result<()> {
        let look = |path: &Path| match fs::symlink_metadata(path) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("look at", path)(error)),
        };
        let foreign = |path: &Path, why: &str, way: String| {
            Err(Error::Foreign { path: path.to_owned(), why: why.to_owned(), way })
        };
        let Some(found) = look(&self.root)? else { return Ok(()) };
        if !found.is_dir() {
            return foreign(
                &self.root,
                "it is a link, or no folder",
                "name the folder itself with --dir.".into(),
            );
        }
        if found.uid() != rustix::process::getuid().as_raw() {
            return foreign(&self.root, "it belongs to another user", "work as that user.".into());
        }
        let listed = || fs::read_dir(&self.root).map_err(Error::io("list", &self.root));
        if found.mode() & OTHERS != 0 {
            // Somebody made it by hand, for this: there is nothing in it that could be another's.
            if listed()?.next().is_none() {
                let own = fs::Permissions::from_mode(0o700);
                return fs::set_permissions(&self.root, own).map_err(Error::io("close", &self.root));
            }
            let why = format!("others may enter it (mode {:o})", found.mode() & 0o777);
            return foreign(&self.root, &why, format!("chmod 700 {}", self.root.display()));
        }
        for entry in listed()? {
            let path = entry.map_err(Error::io("list", &self.root))?.path();
            if look(&path)?.is_some_and(|found| found.is_symlink()) {
                return foreign(&path, "it is a link", "put in its place what it leads to.".into());
            }
        }
        Ok(())
    }

    /// Makes what is missing of the folder, durably: itself, its `.gitignore`, the folders in it.
    pub fn create(&self, disk: &dyn Disk) -> Result<()> {
        self.must_be_own()?;
        disk.create_dir(&self.root).map_err(Error::io("make", &self.root))?;
        if let Some(parent) = self.root.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            disk.sync_dir(parent).map_err(Error::io("make", parent))?;
        }
        let ignore = self.gitignore();
        if disk.stat(&ignore).map_err(Error::io("look for", &ignore))?.is_none() {
            replace(disk, &ignore, b"*\n")?;
        }
        for folder in [self.journal_dir(), self.snapshot_dir(), self.sessions_dir(), self.inbox_dir()] {
            disk.create_dir(&folder).map_err(Error::io("make", &folder))?;
        }
        disk.sync_dir(&self.root).map_err(Error::io("make", &self.root))
    }

    /// Returns the folder that it is in: the project's.
    pub fn project(&self) -> &Path {
        self.root.parent().unwrap_or(&self.root)
    }

    /// `journal/`
    pub fn journal_dir(&self) -> PathBuf {
        self.root.join("journal")
    }

    /// `snapshot/`
    pub fn snapshot_dir(&self) -> PathBuf {
        self.root.join("snapshot")
    }

    /// `sessions/`
    pub fn sessions_dir(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// `sessions/<id>/`
    pub fn session_dir(&self, id: &str) -> Result<PathBuf> {
        Ok(self.sessions_dir().join(safe(id)?))
    }

    /// `inbox/`
    pub fn inbox_dir(&self) -> PathBuf {
        self.root.join("inbox")
    }

    /// `inbox/<command id>.json`
    pub fn command_file(&self, id: &str) -> Result<PathBuf> {
        Ok(self.inbox_dir().join(format!("{}.json", safe(id)?)))
    }

    /// `inbox/<agent's session>.jsonl`
    pub fn hook_file(&self, session: &str) -> Result<PathBuf> {
        Ok(self.inbox_dir().join(format!("{}.jsonl", safe(session)?)))
    }

    /// `hooks/`
    pub fn hooks_dir(&self) -> PathBuf {
        self.root.join("hooks")
    }

    /// `hooks/<agent's session>.json`: what its hooks know between two calls.
    pub fn hook_desk(&self, session: &str) -> Result<PathBuf> {
        Ok(self.hooks_dir().join(format!("{}.json", safe(session)?)))
    }

    /// `holds/`
    pub fn holds_dir(&self) -> PathBuf {
        self.root.join("holds")
    }

    /// `holds/<agent's session>.json`: what a person wants of a session that no engine runs.
    pub fn hold_file(&self, session: &str) -> Result<PathBuf> {
        Ok(self.holds_dir().join(format!("{}.json", safe(session)?)))
    }

    /// `talks/`
    pub fn talks_dir(&self) -> PathBuf {
        self.root.join("talks")
    }

    /// `talks/<conversation>.json`: what was said in an editor.
    pub fn talk_file(&self, talk: &str) -> Result<PathBuf> {
        Ok(self.talks_dir().join(format!("{}.json", safe(talk)?)))
    }

    /// `env/<delegation>.json`: the variables that its agents get, which belong into no journal.
    pub fn env_file(&self, delegation: &str) -> Result<PathBuf> {
        Ok(self.root.join("env").join(format!("{}.json", safe(delegation)?)))
    }

    /// `worktrees/`
    pub fn worktrees_dir(&self) -> PathBuf {
        self.root.join("worktrees")
    }

    /// `worktrees/<delegation>/<step>/`: where an isolated step works.
    pub fn worktree_dir(&self, delegation: &str, step: &str) -> Result<PathBuf> {
        Ok(self.worktrees_dir().join(safe(delegation)?).join(safe(step)?))
    }

    /// `worktrees/<delegation>/.<step>.<kind>`: what is known of that; no step has a name that begins so.
    pub fn worktree_file(&self, delegation: &str, step: &str, kind: &str) -> Result<PathBuf> {
        Ok(self.worktrees_dir().join(safe(delegation)?).join(format!(".{}.{kind}", safe(step)?)))
    }

    /// `salvage/`
    pub fn salvage_dir(&self) -> PathBuf {
        self.root.join("salvage")
    }

    /// `history.jsonl`
    pub fn history(&self) -> PathBuf {
        self.root.join("history.jsonl")
    }

    /// `delegations.json`
    pub fn delegations_json(&self) -> PathBuf {
        self.root.join("delegations.json")
    }

    /// `registry.json`
    pub fn registry_json(&self) -> PathBuf {
        self.root.join("registry.json")
    }

    /// `engine.json`
    pub fn engine_json(&self) -> PathBuf {
        self.root.join("engine.json")
    }

    /// `engine.lock`
    pub fn engine_lock(&self) -> PathBuf {
        self.root.join("engine.lock")
    }

    /// `engine.sock`
    pub fn engine_sock(&self) -> PathBuf {
        self.root.join("engine.sock")
    }

    /// `engine.token`
    pub fn engine_token(&self) -> PathBuf {
        self.root.join("engine.token")
    }

    /// `.gitignore`
    pub fn gitignore(&self) -> PathBuf {
        self.root.join(".gitignore")
    }

    /// `journal/<first seq>.jsonl`
    pub fn segment(&self, first: Seq) -> PathBuf {
        self.journal_dir().join(format!("{}.jsonl", digits(first)))
    }

    /// `snapshot/<seq>.json`
    pub fn snapshot(&self, seq: Seq) -> PathBuf {
        self.snapshot_dir().join(format!("{}.json", digits(seq)))
    }
}

/// Places in file names have 14 digits, so that names sort as places do.
fn digits(seq: Seq) -> String {
    format!("{:014}", seq.0)
}

/// Returns the place that a file of the journal or a snapshot is named by; `None` for a foreign file.
pub(crate) fn seq_in_name(name: &str, suffix: &str) -> Option<Seq> {
    let stem = name.strip_suffix(suffix)?;
    let seq = stem.parse().ok().map(Seq)?;
    (digits(seq) == stem).then_some(seq)
}

/// Returns the first free `<path>.<word>-<n>`: what is set aside never replaces what was set aside before.
pub(crate) fn aside(disk: &dyn Disk, path: &Path, word: &str) -> Result<PathBuf> {
    for n in 1u64.. {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{word}-{n}"));
        let free = PathBuf::from(name);
        if disk.stat(&free).map_err(Error::io("look for", &free))?.is_none() {
            return Ok(free);
        }
    }
    Ok(path.to_owned())
}

fn safe(id: &str) -> Result<&str> {
    file_name(id).map_err(|why| Error::BadName { id: id.to_owned(), why })
}

/// Returns the main work tree's root if `folder` is the root of a linked one.
fn main_work_tree(folder: &Path) -> Option<PathBuf> {
    let link = folder.join(".git");
    if !link.is_file() {
        return None;
    }
    let text = plain::text(&link, plain::SETTINGS).ok()?;
    // `<main>/.git/worktrees/<name>`; a submodule's is under `modules`, and is a project of its own.
    let git_dir = folder.join(text.strip_prefix("gitdir:")?.trim());
    let worktrees = git_dir.parent().filter(|parent| parent.ends_with("worktrees"))?;
    let git = worktrees.parent().filter(|git| git.ends_with(".git"))?;
    git.parent().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::disk::RealDisk;
    use super::*;

    fn tree() -> (tempfile::TempDir, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("project");
        fs::create_dir_all(root.join("src/deep")).unwrap();
        (temp, root)
    }

    #[test]
    fn it_is_found_from_any_depth_and_by_its_explicit_path() {
        let (_temp, root) = tree();
        let folder = StateFolder::at(root.join(NAME));
        assert_eq!(StateFolder::find(&root.join("src/deep"), Some(&root.join("elsewhere"))), None);
        folder.create(&RealDisk).unwrap();
        assert_eq!(StateFolder::find(&root.join("src/deep"), None), Some(folder.clone()));
        assert_eq!(StateFolder::find(Path::new("/"), Some(&folder.root)), Some(folder));
    }

    #[test]
    fn a_linked_work_tree_shares_the_folder_of_the_main_one() {
        let (temp, root) = tree();
        let linked = temp.path().join("linked/sub");
        fs::create_dir_all(&linked).unwrap();
        fs::create_dir_all(root.join(".git/worktrees/linked")).unwrap();
        let gitdir = format!("gitdir: {}\n", root.join(".git/worktrees/linked").display());
        fs::write(temp.path().join("linked/.git"), gitdir).unwrap();
        let folder = StateFolder::find_or_place(&linked, None);
        assert_eq!(folder.root, root.join(NAME));
        folder.create(&RealDisk).unwrap();
        assert_eq!(StateFolder::find(&linked, None), Some(folder));
    }

    #[test]
    fn a_submodule_is_a_project_of_its_own() {
        let (_temp, root) = tree();
        fs::write(root.join("src/.git"), "gitdir: ../.git/modules/src\n").unwrap();
        assert_eq!(
            StateFolder::find_or_place(&root.join("src/deep"), None).root,
            root.join("src").join(NAME)
        );
    }

    #[test]
    fn outside_of_a_repository_it_is_made_in_the_working_folder() {
        let (_temp, root) = tree();
        let folder = StateFolder::find_or_place(&root.join("src"), None);
        // The temporary folder itself may lie in a work tree.
        if !root.ancestors().any(|above| above.join(".git").exists() || above.join(NAME).exists()) {
            assert_eq!(folder.root, root.join("src").join(NAME));
        }
    }

    #[test]
    fn one_that_came_with_a_project_is_not_taken() {
        let (_temp, root) = tree();
        let folder = StateFolder::at(root.join(NAME));
        fs::create_dir(&folder.root).unwrap();
        let refused = |folder: &StateFolder| folder.create(&RealDisk).unwrap_err().to_string();
        // As a clone makes it.
        fs::set_permissions(&folder.root, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(folder.inbox_dir()).unwrap();
        let why = refused(&folder);
        assert!(why.contains("others may enter it (mode 755)") && why.contains("chmod 700 "), "{why}");
        fs::set_permissions(&folder.root, fs::Permissions::from_mode(0o700)).unwrap();
        let elsewhere = root.join("precious");
        fs::create_dir_all(elsewhere.join("old")).unwrap();
        for name in ["sessions", "history.jsonl", "engine.lock"] {
            let link = folder.root.join(name);
            std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
            assert!(refused(&folder).contains(&format!("{name} is not trusted: it is a link")));
            fs::remove_file(link).unwrap();
        }
        folder.create(&RealDisk).unwrap();
        let empty = StateFolder::at(root.join("empty"));
        fs::create_dir(&empty.root).unwrap();
        fs::set_permissions(&empty.root, fs::Permissions::from_mode(0o755)).unwrap();
        empty.create(&RealDisk).unwrap();
        assert_eq!(fs::metadata(&empty.root).unwrap().mode() & 0o777, 0o700, "made by hand, and closed");
        let linked = StateFolder::at(root.join("linked"));
        std::os::unix::fs::symlink(&folder.root, &linked.root).unwrap();
        assert!(refused(&linked).contains("it is a link"));
    }

    #[test]
    fn it_is_for_its_owner_only_and_no_commit_touches_it() {
        let (_temp, root) = tree();
        let folder = StateFolder::at(root.join(NAME));
        folder.create(&RealDisk).unwrap();
        folder.create(&RealDisk).unwrap();
        assert_eq!(fs::metadata(&folder.root).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_to_string(folder.gitignore()).unwrap(), "*\n");
    }

    #[test]
    fn names_sort_as_places_do_and_foreign_names_are_told_apart() {
        let folder = StateFolder::at("/x");
        assert_eq!(folder.segment(Seq(51)), Path::new("/x/journal/00000000000051.jsonl"));
        assert_eq!(seq_in_name("00000000000051.jsonl", ".jsonl"), Some(Seq(51)));
        for foreign in ["51.jsonl", "00000000000051.jsonl.torn-1", "+0000000000051.jsonl", "notes.jsonl"] {
            assert_eq!(seq_in_name(foreign, ".jsonl"), None, "{foreign}");
        }
        assert!(folder.command_file("../x").is_err());
    }
}
