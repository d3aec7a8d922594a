//! Gemini CLI: where its chats are, and which folder each is about.
//!
//! Chats stand in a folder for each project, named by a short name that `projects.json` and a file in the folder
//! explain. Older versions name it by a hash of the path, which is no way back: of such a chat the folder is known
//! only where the chat says it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::trails::look::{plain_file, stamped};
use super::trails::tool::{Homes, Sort, Tool};
use crate::agent::gemini::{Chat, Document};
use crate::agent::skim::Skim;
use crate::agent::trail::Trail;
use crate::model::key::SourceKind;
use crate::model::time::Stamp;
use crate::store::plain;

/// A chat says within its first bytes whose it is.
const HEAD: u64 = 64 * 1024;

/// A chat that is one document is held whole while it is read; no larger one is.
const LARGEST_DOCUMENT: u64 = 16 * 1024 * 1024;

/// What is known of Gemini's files.
pub struct Gemini {
    projects: PathBuf,
    root: PathBuf,
    /// The folder of each project, by its short name.
    places: HashMap<String, PathBuf>,
}

impl Gemini {
    /// Names the files of a person; `None` without a home.
    pub fn new(homes: &Homes) -> Option<Self> {
        let home = homes.gemini.as_ref()?;
        Some(Self { projects: home.join("projects.json"), root: home.join("tmp"), places: HashMap::new() })
    }

    /// Returns the steps of a path below the root, as text.
    fn steps<'a>(&self, path: &'a Path) -> Vec<&'a str> {
        let below = path.strip_prefix(&self.root).ok();
        below.into_iter().flat_map(Path::iter).filter_map(OsStr::to_str).collect()
    }

    /// Returns the folder that a project is about.
    fn workspace(&self, project: &str) -> Option<PathBuf> {
        let told = || plain::text(&self.root.join(project).join(".project_root"), plain::SETTINGS).ok();
        self.places.get(project).cloned().or_else(|| {
            let told = told()?;
            Some(PathBuf::from(told.trim())).filter(|place| place.is_absolute())
        })
    }
}

impl Tool for Gemini {
    fn kind(&self) -> SourceKind {
        SourceKind::Gemini
    }

    fn version(&self) -> u32 {
        7
    }

    fn root(&self) -> &Path {
        &self.root
    }

    fn sort(&self, path: &Path, is_folder: bool) -> Sort {
        let is_chat = path.extension() == Some(OsStr::new("jsonl"));
        match (is_folder, self.steps(path).as_slice()) {
            (true, [] | [_] | [_, "chats"] | [_, "chats", _]) => Sort::Folder,
            (false, [_, "chats", name]) if name.starts_with("session-") && (is_chat || is_document(path)) => {
                Sort::Trail
            }
            (false, [_, "chats", _, _]) if is_chat => Sort::Trail,
            (_, _) => Sort::Other,
        }
    }

    fn place(&self, trail: &Path) -> Option<PathBuf> {
        let steps = self.steps(trail);
        // What cannot be told is none of any project that is asked for by name.
        Some(self.workspace(steps.first()?).unwrap_or_default())
    }

    fn side(&self, trail: &Path) -> Option<PathBuf> {
        is_document(trail).then(|| trail.to_owned())
    }

    fn largest_side(&self) -> u64 {
        LARGEST_DOCUMENT
    }

    fn open(&self, trail: &Path, state: Option<&Value>) -> Box<dyn Trail> {
        if is_document(trail) {
            let project = self.steps(trail).first().and_then(|project| self.workspace(project));
            return Box::new(Document::new(project.as_deref().and_then(Path::to_str)));
        }
        if let Some(state) = state {
            return Box::new(Chat::resume(state));
        }
        let steps = self.steps(trail);
        let parent = match steps.as_slice() {
            [_, _, parent, _] => Some(*parent),
            _ => None,
        };
        let workspace = steps.first().and_then(|project| self.workspace(project));
        Box::new(Chat::new(parent, workspace.as_deref().and_then(Path::to_str)))
    }

    fn look_around(&mut self) -> bool {
        let told = plain::bytes(&self.projects, plain::TASKS).ok();
        let told: Option<Value> = told.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let list = told.as_ref().and_then(|told| told.get("projects")?.as_object());
        let places = list.into_iter().flatten();
        self.places = places
            .filter_map(|(place, name)| Some((name.as_str()?.to_owned(), PathBuf::from(place))))
            .collect();
        // No process is known by this.
        false
    }
}

/// Returns the sessions that were worked on in a folder since then; those of its agents are not among them.
pub fn worked_on(homes: &Homes, folder: &Path, since: Stamp) -> Vec<String> {
    let Some(mut tool) = Gemini::new(homes) else { return Vec::new() };
    tool.look_around();
    let list = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_it = |project: &PathBuf| {
        let name = project.file_name().and_then(OsStr::to_str);
        name.and_then(|name| tool.workspace(name)).as_deref() == Some(folder)
    };
    let chats = list(&tool.root).filter(is_it).flat_map(|project| list(&project.join("chats")));
    let is_since = |path: &PathBuf| {
        let written = plain_file(path).map(|meta| stamped(&meta).modified / 1_000_000);
        tool.sort(path, false) == Sort::Trail && written.is_some_and(|written| written >= since.millis())
    };
    let mut sessions: Vec<String> = chats.filter(is_since).filter_map(|chat| session_of(&chat)).collect();
    // One that was taken up again may have another file.
    sessions.sort_unstable();
    sessions.dedup();
    sessions
}

/// Returns which session a chat is of, as it begins.
fn session_of(chat: &Path) -> Option<String> {
    let mut head = Vec::new();
    plain::open(chat).ok()?.0.take(HEAD).read_to_end(&mut head).ok()?;
    let mut session = None;
    // What comes after may be cut.
    let _ = Skim::new(&head).members(|name, value| {
        let value = value.raw()?;
        session = if name == b"sessionId" { value.text().map(Cow::into_owned) } else { session.take() };
        Some(())
    });
    session
}

/// Older versions write a chat as one document.
fn is_document(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("json"))
}

/// Returns the file in which a session can be read: a chat's name has the beginning of its id, an agent's all of it.
pub fn transcript(homes: &Homes, session: &str) -> Option<PathBuf> {
    let start = session.split('-').next().filter(|start| !start.is_empty())?;
    let ends = [format!("-{start}.jsonl"), format!("{session}.jsonl")];
    let list =
        |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let projects = list(homes.gemini.as_ref()?.join("tmp"));
    let mut chats = projects.flat_map(|project| list(project.join("chats")));
    let is_it = |path: &Path| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        ends.iter().any(|end| name.ends_with(end.as_str()))
    };
    chats.find_map(|path| if is_it(&path) { Some(path) } else { list(path).find(|path| is_it(path)) })
}
