//! Claude Code's files: where its transcripts are, which project they are of, and which of its processes live.
//!
//! `<config>/projects/<folder>/<session>.jsonl`, sub-agents in `<session>/subagents/agent-<id>.jsonl` with a
//! `.meta.json` each; older ones beside the session. `<config>/sessions/<pid>.json` lists live processes; the keys
//! beside those are secrets and are never opened.

pub mod registry;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::trails::tool::{Homes, Scope, Sort, Tool};
use crate::agent::claude::{Own, Reader, TOOL, VERSION};
use crate::agent::trail::{Process, Trail};
use crate::model::key::SourceKind;
use crate::store::plain;
use registry::{Listed, Registry};

/// A session says within its first lines where it runs; the first may be long.
const HEADS: [u64; 2] = [64 * 1024, 8 * 1024 * 1024];
/// So many sessions of a folder are asked where they ran.
const ASKED: usize = 3;

/// A folder has no longer name: what is, is cut there, and `-` and a checksum follow.
const LONGEST_NAME: usize = 200;

/// The files of Claude Code.
#[derive(Debug)]
pub struct Claude {
    projects: PathBuf,
    registry: Registry,
    scope: Scope,
    /// Whether each folder of transcripts may be of a project that is wanted.
    wanted: RefCell<HashMap<String, bool>>,
    /// Where the session of each transcript ran, as far as it was asked.
    ran: RefCell<HashMap<PathBuf, PathBuf>>,
    /// The live processes by session; `None` where this version keeps no list.
    live: Option<HashMap<String, Process>>,
}

impl Claude {
    /// Returns where its files are, if there is a home for them.
    pub fn at(homes: &Homes, scope: Scope) -> Option<Self> {
        let config = homes.claude.as_deref()?;
        let (projects, registry) = (config.join("projects"), Registry::of(homes)?);
        Some(Self {
            projects,
            registry,
            scope,
            wanted: RefCell::default(),
            ran: RefCell::default(),
            live: None,
        })
    }

    /// Returns the parts of a path below the folder of projects.
    fn parts<'a>(&self, path: &'a Path) -> Vec<&'a str> {
        // Byte by byte: it is asked for every file that is found.
        let below = path.as_os_str().as_bytes().strip_prefix(self.projects.as_os_str().as_bytes());
        let below = below.filter(|below| below.first().is_none_or(|byte| *byte == b'/')).unwrap_or_default();
        let mut parts = Vec::with_capacity(PARTS);
        parts.extend(str::from_utf8(below).unwrap_or_default().split('/').filter(|part| !part.is_empty()));
        parts
    }

    /// Returns whether a folder may hold sessions that are wanted, by its name. Several paths have one name: so each
    /// session is then asked.
    fn wants(&self, folder: &str) -> bool {
        let Scope::Within(places) = &self.scope else { return true };
        if let Some(known) = self.wanted.borrow().get(folder) {
            return *known;
        }
        let names = |place: &PathBuf| {
            let name = folder_name(place);
            let rest = folder.strip_prefix(name.get(..LONGEST_NAME).unwrap_or(&name));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let wanted = places.iter().any(names);
        self.wanted.borrow_mut().insert(folder.to_owned(), wanted);
        wanted
    }

    /// Returns which of the folders that are wanted has this very name.
    fn named(&self, folder: &str) -> Option<&PathBuf> {
        let Scope::Within(places) = &self.scope else { return None };
        places.iter().find(|place| is_named(folder, place))
    }

    /// Returns where a session of a folder ran that says that it was there.
    fn ran(&self, folder: &str, said: PathBuf) -> PathBuf {
        if is_named(folder, &said) {
            return said;
        }
        // It was moved here, together with its project.
        let others = || ran_in(&self.projects.join(folder)).filter(|place| is_named(folder, place));
        self.named(folder).cloned().or_else(others).unwrap_or(said)
    }

    /// Returns whose transcript a path is.
    fn own(&self, path: &Path) -> Option<Own> {
        Some(match whose(&self.parts(path))? {
            Whose::Session(id) => Own::Session(id.into()),
            Whose::Agent(id, session) => Own::Agent(id.into(), session.map(Into::into)),
            Whose::Helper(session) => Own::Helper(session.into()),
        })
    }
}

/// Whose transcript a path is: a session's, an agent's of a session that only its lines may tell, a helper's.
enum Whose<'a> {
    Session(&'a str),
    Agent(&'a str, Option<&'a str>),
    Helper(&'a str),
}

/// How the name of a transcript ends, and of the note beside an agent's.
const TRAIL: &str = ".jsonl";
const NOTE: &str = ".meta.json";
/// A path has no more parts, as far as any version nests them.
const PARTS: usize = 6;

/// Returns a path with another end, byte by byte: it is asked for every agent.
fn with_end(path: &Path, end: &str, other: &str) -> Option<PathBuf> {
    let begin = path.as_os_str().as_bytes().strip_suffix(end.as_bytes())?;
    Some(PathBuf::from(OsString::from_vec([begin, other.as_bytes()].concat())))
}

/// The folder of a session's agents, in the session's own.
const AGENTS: &str = "subagents";

/// What the tool does by itself beside a conversation, with a copy of it: it shortens it, answers a question aside,
/// thinks of what may be typed next. Nobody was handed anything.
const HELPERS: [&str; 3] = ["acompact", "aside_question", "aprompt_suggestion"];

fn is_helper(id: &str) -> bool {
    HELPERS.iter().any(|helper| id.starts_with(helper))
}

/// Returns whose transcript it is, by the parts of its path.
fn whose<'a>(parts: &[&'a str]) -> Option<Whose<'a>> {
    match parts {
        [_, file] => {
            let name = file.strip_suffix(TRAIL)?;
            match name.strip_prefix("agent-") {
                // Whose helper it is only its lines would say.
                Some(id) if is_helper(id) => None,
                Some(id) => Some(Whose::Agent(id, None)),
                None => Some(Whose::Session(name)),
            }
        }
        [_, session, AGENTS, .., file] => {
            let id = file.strip_prefix("agent-")?.strip_suffix(TRAIL)?;
            Some(if is_helper(id) { Whose::Helper(session) } else { Whose::Agent(id, Some(session)) })
        }
        _ => None,
    }
}

impl Tool for Claude {
    fn kind(&self) -> SourceKind {
        SourceKind::Claude
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn root(&self) -> &Path {
        &self.projects
    }

    fn sort(&self, path: &Path, is_folder: bool) -> Sort {
        let parts = self.parts(path);
        let is_wanted = parts.first().is_none_or(|folder| self.wants(folder));
        if !is_wanted {
            return Sort::Other;
        }
        match parts.as_slice() {
            [] | [_] | [_, _] | [_, _, AGENTS, ..] if is_folder => Sort::Folder,
            [_, _, AGENTS, .., file] if file.ends_with(NOTE) => {
                with_end(path, NOTE, TRAIL).map_or(Sort::Other, Sort::Side)
            }
            parts if !is_folder && whose(parts).is_some() => Sort::Trail,
            _ => Sort::Other,
        }
    }

    fn place(&self, trail: &Path) -> Option<PathBuf> {
        let parts = self.parts(trail);
        let folder = *parts.first()?;
        let session = match whose(&parts)? {
            Whose::Agent(_, Some(session)) | Whose::Helper(session) => Some(session),
            Whose::Session(_) | Whose::Agent(_, None) => None,
        };
        let main = session.map(|session| self.projects.join(folder).join(format!("{session}{TRAIL}")));
        let asked = main.as_deref().unwrap_or(trail);
        if let Some(known) = self.ran.borrow().get(asked) {
            return Some(known.clone());
        }
        let said = said_place(asked).or_else(|| main.as_ref().and_then(|_| said_place(trail)))?;
        let place = self.ran(folder, said);
        self.ran.borrow_mut().insert(asked.to_owned(), place.clone());
        Some(place)
    }

    fn is_likely(&self, trail: &Path) -> bool {
        self.scope == Scope::All
            || self.parts(trail).first().is_some_and(|folder| self.named(folder).is_some())
    }

    fn side(&self, trail: &Path) -> Option<PathBuf> {
        let Whose::Agent(_, Some(_)) = whose(&self.parts(trail))? else { return None };
        with_end(trail, TRAIL, NOTE)
    }

    fn is_below(&self, trail: &Path) -> bool {
        // It is asked for every trail at every start, and its name is enough.
        let path = trail.as_os_str().as_bytes();
        let name = memchr::memrchr(b'/', path).and_then(|slash| path.get(slash + 1..));
        name.unwrap_or(path).starts_with(b"agent-")
    }

    fn only(&self, folder: &Path) -> Option<PathBuf> {
        matches!(self.parts(folder).as_slice(), [_, _]).then(|| folder.join(AGENTS))
    }

    fn below(&self, trail: &Path) -> Option<PathBuf> {
        matches!(whose(&self.parts(trail))?, Whose::Session(_)).then(|| trail.with_extension("").join(AGENTS))
    }

    fn open(&self, trail: &Path, state: Option<&Value>) -> Box<dyn Trail> {
        // Only what is sorted as a trail is opened.
        let own = self.own(trail).unwrap_or_else(|| Own::Session("".into()));
        Box::new(Reader::new(own, state))
    }

    fn look_around(&mut self) -> bool {
        let now = self.registry.look().map(live);
        let changed = self.live != now;
        self.live = now;
        changed
    }

    fn around(&self) -> Option<PathBuf> {
        Some(self.registry.place().to_owned())
    }

    fn process(&self, trail: &Path) -> Process {
        let Some(live) = &self.live else { return Process::Unknown };
        match whose(&self.parts(trail)) {
            Some(Whose::Session(session) | Whose::Agent(_, Some(session)) | Whose::Helper(session)) => {
                // Who ends in good order is taken off the list, and some were never on it.
                live.get(session).copied().unwrap_or(Process::Unknown)
            }
            Some(Whose::Agent(_, None)) | None => Process::Unknown,
        }
    }
}

/// Returns the transcript of a session, or of one of its agents.
pub fn transcript(homes: &Homes, session: &str, agent: Option<&str>) -> Option<PathBuf> {
    let is_name = |id: &str| !id.is_empty() && !id.contains(['/', '\\']) && !id.starts_with('.');
    if !is_name(session) || !agent.is_none_or(is_name) {
        return None;
    }
    let folders = fs::read_dir(homes.claude.as_deref()?.join("projects")).ok()?.flatten();
    let candidates = folders.flat_map(|folder| {
        let folder = folder.path();
        match agent {
            None => vec![folder.join(format!("{session}.jsonl"))],
            Some(agent) => {
                let file = format!("agent-{agent}.jsonl");
                vec![folder.join(session).join(AGENTS).join(&file), folder.join(file)]
            }
        }
    });
    candidates.into_iter().find(|path| path.is_file())
}

/// Returns whether a folder of transcripts has the name that a project's has. One that is too long is cut, and a checksum
/// put after it that is the tool's own: of two such projects each session says where it ran.
fn is_named(folder: &str, place: &Path) -> bool {
    let name = folder_name(place);
    match name.get(..LONGEST_NAME).filter(|_| name.len() > LONGEST_NAME) {
        Some(begin) => folder.strip_prefix(begin).is_some_and(|sum| sum.starts_with('-')),
        None => name == folder,
    }
}

/// Returns the name that a project's folder of transcripts has, if that is not too long: of several paths it may be the
/// same.
fn folder_name(place: &Path) -> String {
    // As the tool counts letters: some are two.
    let letter = |unit: u16| {
        let letter = char::from_u32(unit.into()).unwrap_or('-');
        if letter.is_ascii_alphanumeric() { letter } else { '-' }
    };
    place.to_string_lossy().encode_utf16().map(letter).collect()
}

/// Returns where the sessions of a folder ran, as one of them says.
fn ran_in(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let files = entries.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    files.take(ASKED).find_map(|path| said_place(&path))
}

/// Returns where a session ran, as its transcript says first.
fn said_place(trail: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    let mut file = plain::open(trail).ok()?.0;
    HEADS.into_iter().find_map(|most| {
        let left = most.saturating_sub(head.len() as u64);
        Read::by_ref(&mut file).take(left).read_to_end(&mut head).ok()?;
        // Text that somebody wrote has its quotes escaped.
        let at = memchr::memmem::find(&head, b"\"cwd\":\"")? + b"\"cwd\":".len();
        let mut values = serde_json::Deserializer::from_slice(head.get(at..)?).into_iter::<String>();
        values.next()?.ok().map(PathBuf::from)
    })
}

/// Returns the processes by session. A session that was taken up again may still have the entry of one that crashed:
/// what is there counts, and of two the later.
fn live(list: Vec<Listed>) -> HashMap<String, Process> {
    let rank = |process: &Process| match process {
        Process::Alive { pid, start } => Some((*start, *pid)),
        Process::Gone | Process::Unknown => None,
    };
    let mut found: HashMap<String, Process> = HashMap::new();
    for Listed { session, process, .. } in list {
        match found.get_mut(&session) {
            Some(known) if rank(known) >= rank(&process) => {}
            Some(known) => *known = process,
            None => drop(found.insert(session, process)),
        }
    }
    found
}

/// The tool's name in keys, for whoever looks for its nodes.
pub const NAME: &str = TOOL;
