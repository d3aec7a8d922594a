//! A repository in a folder of its own, with everything of the person's that must stay as it is.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use quarterdeck::store::folder::StateFolder;
use quarterdeck::worktree::{Fuse, Git, Made, Merged, Record, Shop, Which};

/// A project with a repository.
pub struct Place {
    pub temp: tempfile::TempDir,
}

/// What a folder has: each file's bytes, with `x` before those of one that can be run and `l` for a link.
pub type Files = BTreeMap<String, String>;

impl Place {
    /// Makes a repository with these files committed.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let place = Self { temp: tempfile::tempdir().unwrap() };
        fs::create_dir(place.path("")).unwrap();
        place.git(&["init", "--quiet", "--initial-branch=main"]);
        for (name, text) in files {
            place.write(name, text);
        }
        place.git(&["add", "--all"]);
        place.git(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
        fs::create_dir(place.path(".quarterdeck")).unwrap();
        fs::write(place.path(".quarterdeck/.gitignore"), "*\n").unwrap();
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join("project").join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        write(&self.path(""), name, text);
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn env(&self) -> Vec<(String, String)> {
        let path = std::env::var("PATH").unwrap();
        let home = self.temp.path().display().to_string();
        let all = [("PATH", path), ("HOME", home), ("GIT_CONFIG_NOSYSTEM", "1".into())];
        all.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    pub fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.env_clear().envs(self.env()).current_dir(self.path(""));
        command.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]);
        let output = command.args(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {args:?}: {said}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Returns where its work trees are made. The environment leads elsewhere, as that of a hook would.
    pub fn shop(&self) -> Shop {
        let mut env = self.env();
        env.push(("GIT_DIR".into(), "/nowhere".into()));
        env.push(("GIT_INDEX_FILE".into(), "/nowhere/index".into()));
        Shop::new(StateFolder::at(self.path(".quarterdeck")), Git::new(env))
    }

    pub fn make(&self, step: &str, before: &[&str]) -> Record {
        let before: Vec<_> = before.iter().map(|step| (*step).into()).collect();
        match self.shop().make(&which(step), &self.path(""), &before).unwrap() {
            Made::Tree(record) => *record,
            other @ (Made::Nowhere(_) | Made::Conflict(_)) => panic!("{other:?}"),
        }
    }

    pub fn merge(&self, step: &str) -> Result<usize, Vec<String>> {
        self.merge_with(step, Fuse::default()).unwrap()
    }

    /// Merges, cut off at a step; `None` if that step was reached.
    pub fn merge_with(&self, step: &str, fuse: Fuse) -> Option<Result<usize, Vec<String>>> {
        match self.shop().with(fuse).merge(&which(step)) {
            Ok(Merged::Done { written, .. }) => Some(Ok(written)),
            Ok(Merged::Conflict { paths, .. }) => Some(Err(paths)),
            Ok(Merged::Nothing) => panic!("no such work tree"),
            Err(quarterdeck::worktree::Failed::Cut) => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns the person's files.
    pub fn files(&self) -> Files {
        files(&self.path(""))
    }

    /// Returns everything of the repository that is the person's: HEAD, index, branches, stash, their logs.
    pub fn own(&self) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        for name in ["HEAD", "index", "packed-refs", "ORIG_HEAD", "MERGE_HEAD", "config"] {
            if let Ok(bytes) = fs::read(self.path(".git").join(name)) {
                found.insert(name.to_owned(), bytes);
            }
        }
        for folder in ["refs/heads", "refs/tags", "logs"] {
            for (name, text) in files(&self.path(".git").join(folder)) {
                found.insert(format!("{folder}/{name}"), text.into_bytes());
            }
        }
        if let Ok(bytes) = fs::read(self.path(".git/refs/stash")) {
            found.insert("refs/stash".into(), bytes);
        }
        found
    }
}

pub fn which(step: &str) -> Which {
    Which { delegation: "del-1".into(), step: step.into() }
}

pub fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns every file below a folder, without those of git and of the engine.
pub fn files(root: &Path) -> Files {
    let mut found = Files::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if name == ".git" || name == ".quarterdeck" {
                continue;
            }
            let meta = fs::symlink_metadata(&path).unwrap();
            let at = path.strip_prefix(root).unwrap().display().to_string();
            if meta.is_dir() {
                folders.push(path);
            } else if meta.is_symlink() {
                found.insert(at, format!("l{}", fs::read_link(&path).unwrap().display()));
            } else {
                let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
                let can_run = meta.permissions().mode() & 0o100 != 0;
                found.insert(at, if can_run { format!("x{text}") } else { text });
            }
        }
    }
    found
}

pub fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

pub fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
