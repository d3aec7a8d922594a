//! What the frame must be told of one tool: where its files are, which of them are trails, how one is read.
//!
//! Places come from [`Homes`], which is made of the environment once, at the edge; nothing here reads it.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::agent::trail::{Process, Trail};
use crate::model::key::SourceKind;
use crate::store::plain;

/// The folders of a person in which agents keep their files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Homes {
    /// `HOME`
    pub home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`, else `~/.claude`
    pub claude: Option<PathBuf>,
    /// `CODEX_HOME`, else `~/.codex`
    pub codex: Option<PathBuf>,
    /// `.gemini` in `GEMINI_CLI_HOME`, else in `HOME`
    pub gemini: Option<PathBuf>,
    /// `XDG_DATA_HOME`, else `~/.local/share`
    pub data: Option<PathBuf>,
    /// `XDG_CACHE_HOME`, else `~/.cache`
    pub cache: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, else `~/.config`
    pub config: Option<PathBuf>,
}

impl Homes {
    /// Makes them of the environment, as `var` tells it. What is empty or no whole path is not set.
    pub fn of(var: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let var = |name: &str| var(name).filter(|path| path.is_absolute());
        let home = var("HOME");
        let place = |name: &str, below: &str| var(name).or_else(|| Some(home.as_ref()?.join(below)));
        Self {
            claude: place("CLAUDE_CONFIG_DIR", ".claude"),
            codex: place("CODEX_HOME", ".codex"),
            gemini: place("GEMINI_CLI_HOME", "").map(|home| home.join(".gemini")),
            data: place("XDG_DATA_HOME", ".local/share"),
            cache: place("XDG_CACHE_HOME", ".cache"),
            config: place("XDG_CONFIG_HOME", ".config"),
            home,
        }
    }
}

/// Whose sessions are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Those of every project.
    All,
    /// Those that ran in these folders or below: a project, and the linked work trees of it.
    Within(Vec<PathBuf>),
}

impl Scope {
    /// Returns the scope of one project: its folder and its linked git work trees.
    pub fn project(folder: &Path) -> Self {
        let mut folders = vec![folder.to_owned()];
        // A link in the path is one place with two names, and tools write either.
        folders.extend(folder.canonicalize());
        let lists = std::fs::read_dir(folder.join(".git/worktrees")).into_iter().flatten().flatten();
        for entry in lists {
            // What git wrote there is the path of the work tree's own `.git`.
            let named = plain::text(&entry.path().join("gitdir"), plain::SETTINGS).unwrap_or_default();
            let tree = Path::new(named.trim()).parent().filter(|tree| tree.is_absolute());
            folders.extend(tree.map(Path::to_owned));
        }
        folders.sort();
        folders.dedup();
        Self::Within(folders)
    }

    /// Returns what an index of it is of: a tool's folder, and whose sessions in it.
    pub fn named(&self, root: &Path) -> String {
        match self {
            Self::All => format!("{} all", root.display()),
            Self::Within(folders) => format!("{} {folders:?}", root.display()),
        }
    }

    /// Returns whether what ran in this folder is wanted.
    pub fn has(&self, place: &Path) -> bool {
        match self {
            Self::All => true,
            Self::Within(folders) => {
                let is_plain = !place.components().any(|part| part == Component::ParentDir);
                is_plain && folders.iter().any(|folder| place.starts_with(folder))
            }
        }
    }
}

/// What a path is to a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sort {
    /// A folder to look into.
    Folder,
    /// A file that an agent appends to.
    Trail,
    /// A small file that belongs to that trail.
    Side(PathBuf),
    /// Nothing of interest, or nothing that may be read.
    Other,
}

/// What is known of one tool's files.
pub trait Tool: Send + 'static {
    /// Returns which tool it is.
    fn kind(&self) -> SourceKind;

    /// Returns the version of its reader: what an older one kept in the index is read anew.
    fn version(&self) -> u32;

    /// Returns the folder that is shown as its place.
    fn root(&self) -> &Path;

    /// Returns the folders below which its trails are.
    fn tops(&self) -> Vec<PathBuf> {
        vec![self.root().to_owned()]
    }

    /// Returns what a path is; nothing is read for it but what decides that.
    fn sort(&self, path: &Path, is_folder: bool) -> Sort;

    /// Returns the one thing in a folder that can ever be of interest, itself a folder, where there is no other: so the
    /// folder need not be listed to find it.
    fn only(&self, _folder: &Path) -> Option<PathBuf> {
        None
    }

    /// Returns where the session of a trail ran, where that must be read from the file itself to know whether it
    /// is wanted. It is asked when the file's turn to be read comes, and kept; where all are wanted, never.
    fn place(&self, _trail: &Path) -> Option<PathBuf> {
        None
    }

    /// Returns whether a trail is taken to be wanted as long as nobody can say where its session ran.
    fn is_likely(&self, _trail: &Path) -> bool {
        true
    }

    /// Returns the small file that belongs to a trail.
    fn side(&self, _trail: &Path) -> Option<PathBuf> {
        None
    }

    /// Returns whether a trail is of an agent that a conversation in another trail started.
    fn is_below(&self, _trail: &Path) -> bool {
        false
    }

    /// Returns how large that file may be to be read.
    fn largest_side(&self) -> u64 {
        1024 * 1024
    }

    /// Returns a folder that may come to be when a trail grows.
    fn below(&self, _trail: &Path) -> Option<PathBuf> {
        None
    }

    /// Makes the reader of a trail: a fresh one, or one that goes on from a state.
    fn open(&self, trail: &Path, state: Option<&Value>) -> Box<dyn Trail>;

    /// Looks at the tool's list of processes, where it keeps one; returns whether anything changed.
    fn look_around(&mut self) -> bool {
        false
    }

    /// Returns the folder of that list.
    fn around(&self) -> Option<PathBuf> {
        None
    }

    /// Returns what is known of the process that writes a trail.
    fn process(&self, _trail: &Path) -> Process {
        Process::Unknown
    }
}
