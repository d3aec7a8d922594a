//! What other tools keep in a project: their folders are found, each becomes a source, and new ones are looked
//! for now and then.
//!
//! The walk is bounded: it skips what is built, downloaded or hidden, goes a few levels down, and gives up after
//! so many folders. Nothing of the environment is read here: the caller says where home is.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::feed::{Batch, Feed};
use super::shelf::Wanted;
use super::tool::{Folder, Tool};
use super::{idumb, omc, proofchecker, tasks};
use crate::model::fact::Fact;
use crate::model::key::{SourceId, SourceKind};
use crate::model::time::Stamp;

/// So many sources are opened for one project at most: whoever numbers sources leaves room for them.
pub const SOURCES: u16 = 48;

/// New folders of tools deep in a project are looked for this often; at its top, whenever it changes.
const LOOK: Duration = Duration::from_mins(1);
/// How deep a tool's folder may be: services/web/api/.omc is three.
const DEEPEST: usize = 5;
/// A project with more folders is looked at in part.
const MOST_FOLDERS: usize = 5_000;

/// Folders that hold nothing a person wrote.
const SKIPPED: &[&str] = &["node_modules", "target", "vendor", "venv", "dist", "build", "__pycache__"];

/// The tools, and where in a folder of a project each keeps its state.
const PLACES: &[(&Tool, &str, &str)] = &[
    (&omc::TOOL, ".omc", "state"),
    (&omc::TOOL, ".omc", "sessions"),
    (&omc::TEAMS, ".omc/state/team", ""),
    (&idumb::TOOL, ".idumb", "brain"),
    (&tasks::TOOL, ".claude/dev-docs", "tasks.json"),
    (&proofchecker::TOOL, "specs", "state.json"),
    (&proofchecker::TOOL, ".opencode/specs", "state.json"),
    (&proofchecker::TOOL, ".claude/specs", "state.json"),
];

/// What lies outside the project and matters here.
#[derive(Debug, Clone, Default)]
pub struct Around {
    /// The user's home: a marker in it or above it is nobody's workspace.
    pub home: Option<PathBuf>,
    /// The value of `OMC_STATE_DIR`.
    pub omc_state_dir: Option<PathBuf>,
}

/// Every tool's folder of one project.
pub struct Foreign {
    project: PathBuf,
    around: Around,
    first: SourceId,
    folders: Vec<Folder>,
    /// When the project was last walked through, and what its top looked like then.
    walked: Option<(Stamp, Option<Top>)>,
}

type Top = (std::time::SystemTime, u64);

impl Foreign {
    /// Names a project; its sources are numbered from `first`, [`SOURCES`] of them at most.
    pub fn new(project: PathBuf, around: Around, first: SourceId) -> Self {
        Self { project, around, first, folders: Vec::new(), walked: None }
    }

    /// Looks for folders of tools that are not known yet.
    fn discover(&mut self, now: Stamp) {
        let top = top_of(&self.project);
        let mut found = Vec::new();
        let folders = match self.walked {
            Some((at, known)) if now.since(at) < LOOK && known == top => return,
            // Its top changes with every file that is saved there: that is worth a look at the top.
            Some((at, _)) if now.since(at) < LOOK => {
                self.walked = Some((at, top));
                vec![self.project.clone()]
            }
            Some(_) | None => {
                self.walked = Some((now, top));
                for folder in omc::roots_outside(&self.project, &self.around) {
                    found.push((&omc::TOOL, folder.clone()));
                    found.push((&omc::TEAMS, folder.join("state/team")));
                }
                walk(&self.project)
            }
        };
        for folder in folders {
            for (tool, place, proof) in PLACES {
                let root = folder.join(place);
                if root.join(proof).exists() {
                    found.push((tool, root));
                }
            }
        }
        for (tool, root) in found {
            let is_known = self.folders.iter().any(|known| known.is(tool, &root));
            let free = u16::try_from(self.folders.len()).ok().filter(|used| *used < SOURCES);
            if let (false, true, Some(used)) = (is_known, root.is_dir(), free) {
                let source = SourceId(self.first.0.saturating_add(used));
                self.folders.push(Folder::new(tool, root, source));
            }
        }
    }
}

impl Feed for Foreign {
    fn poll(&mut self, now: Stamp) -> Batch {
        self.discover(now);
        let mut batch = Batch::default();
        for folder in &mut self.folders {
            folder.poll(now, &mut batch);
        }
        batch
    }

    fn watched(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.project.clone()];
        paths.extend(self.folders.iter().flat_map(Folder::watched));
        paths
    }
}

/// Returns what the files of a tool's folder tell, by their paths inside it: the parsers alone, for tests.
pub fn facts(
    kind: SourceKind,
    files: impl IntoIterator<Item = (String, Vec<u8>)>,
    source: SourceId,
) -> Vec<Fact> {
    let tool = PLACES.iter().find(|(tool, ..)| tool.kind == kind);
    tool.map(|(tool, ..)| super::tool::facts(tool, files, source)).unwrap_or_default()
}

/// Returns one path of each kind of file that a tool's folder may have, for tests.
pub fn places(kind: SourceKind) -> Vec<String> {
    let tool = PLACES.iter().find(|(tool, ..)| tool.kind == kind);
    let wanted = tool.map(|(tool, ..)| tool.wanted).unwrap_or_default();
    let paths = wanted.iter().map(|(Wanted::Document(path) | Wanted::Rows(path))| path.replace('*', "1"));
    paths.collect()
}

fn top_of(project: &Path) -> Option<Top> {
    let found = fs::metadata(project).ok()?;
    Some((found.modified().ok()?, found.ino()))
}

/// Returns the folders of a project in which a tool may have been started, the project itself first.
fn walk(project: &Path) -> Vec<PathBuf> {
    let mut found = vec![project.to_owned()];
    let mut level = found.clone();
    for _ in 0..DEEPEST {
        let mut next = Vec::new();
        for folder in level {
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            // A link is not followed: it may lead anywhere, also back up.
            let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            next.extend(folders.filter(|entry| is_walked(&entry.file_name())).map(|entry| entry.path()));
            if found.len() + next.len() >= MOST_FOLDERS {
                break;
            }
        }
        next.sort_unstable();
        found.extend(next.iter().cloned());
        level = next;
    }
    found.truncate(MOST_FOLDERS);
    found
}

fn is_walked(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    !name.starts_with('.') && !SKIPPED.contains(&&*name)
}
