//! What other tools keep in projects: their folders are found, each becomes a source, and new ones are looked
//! for now and then.
//!
//! A project is walked through, with its linked work trees. The walk is bounded: it skips what is built, downloaded
//! or hidden, goes a few levels down, and gives up after so many folders. A folder that only an agent's file names is
//! looked at alone, and the top of its repository: there may be hundreds. Nothing of the environment is read here:
//! the caller says where home is.

mod walk;

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::feed::{Batch, Feed, SLOWEST};
use super::places::Places;
use super::shelf::Wanted;
use super::tool::{Folder, Tool};
use super::trails::tool::Scope;
use super::watch::{Rung, Watch};
use super::{idumb, omc, proofchecker, tasks};
use crate::model::fact::Fact;
use crate::model::key::{SourceId, SourceKind};
use crate::model::time::Stamp;

/// So many sources are opened for each project at most: whoever numbers sources leaves room for them.
pub const SOURCES: u16 = 48;

/// New folders of tools deep in a project are looked for this often; at its top, whenever it changes.
const LOOK: Duration = Duration::from_mins(1);
/// So many folders that agents' files name are looked at, those that were named first: the latest sessions name theirs first.
const MOST_NAMED: usize = 512;
/// So many sources are opened for these at most.
const NAMED_SOURCES: u16 = 512;

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

/// Every tool's folder of some projects.
pub struct Foreign {
    projects: Vec<Project>,
    named: Named,
    around: Around,
    first: SourceId,
    /// So many sources may be opened.
    room: u16,
    folders: Vec<Folder>,
    /// The tool and the real place of each of them, and of those for which there was no room: one folder may be reached by several paths.
    known: HashSet<(SourceKind, PathBuf)>,
    /// Where something changed; `None` if nobody listens.
    rung: Option<Rung>,
    /// When all of them were last looked at.
    looked: Option<Stamp>,
}

impl Foreign {
    /// Names a project; its sources are numbered from `first`, [`SOURCES`] of them at most.
    pub fn new(project: PathBuf, around: Around, first: SourceId) -> Self {
        Self::within(vec![project], Places::default(), around, first, SOURCES)
    }

    /// Names projects, and folders beside them that become known by and by. Sources are numbered from `first`,
    /// [`Foreign::room`] of them at most.
    pub fn of_all(projects: Vec<PathBuf>, places: Places, around: Around, first: SourceId) -> Self {
        let room = Self::room(projects.len());
        Self::within(projects, places, around, first, room)
    }

    /// Returns how many sources so many projects have at most, with the folders beside them.
    pub fn room(projects: usize) -> u16 {
        let projects = u16::try_from(projects).unwrap_or(u16::MAX);
        SOURCES.saturating_mul(projects).saturating_add(NAMED_SOURCES)
    }

    fn within(projects: Vec<PathBuf>, places: Places, around: Around, first: SourceId, room: u16) -> Self {
        let projects = projects.into_iter().map(Project::new).collect();
        let (folders, known) = (Vec::new(), HashSet::new());
        Self {
            projects,
            named: Named::of(places),
            around,
            first,
            room,
            folders,
            known,
            rung: None,
            looked: None,
        }
    }

    /// Looks for folders of tools that are not known yet; returns whether there are any.
    fn discover(&mut self, now: Stamp) -> bool {
        let mut found = Vec::new();
        for project in &mut self.projects {
            project.look(&self.around, now, &mut found);
        }
        self.named.look(&self.around, now, &mut found);
        let before = self.folders.len();
        for (tool, root) in found.into_iter().filter(|(_, root)| root.is_dir()) {
            let Ok(place) = root.canonicalize() else { continue };
            let used = u16::try_from(self.folders.len()).unwrap_or(u16::MAX);
            if self.known.insert((tool.kind, place)) && used < self.room {
                self.folders.push(Folder::new(tool, root, SourceId(self.first.0.saturating_add(used))));
            }
        }
        self.folders.len() > before
    }

    /// Returns what is not looked at, because there is too much of it.
    fn left_out(&self) -> Option<String> {
        let surplus = self.known.len().saturating_sub(self.folders.len());
        let surplus = (surplus > 0).then(|| format!("folders of such tools that are not read: {surplus}"));
        let cut = self.projects.iter().find(|project| project.is_cut).map(|project| {
            let (folder, most) = (project.folder.display(), walk::MOST_FOLDERS);
            format!("{folder} has more than {most} folders, and not all were searched for such tools")
        });
        let beyond = self.named.beyond;
        let beyond = (beyond > 0)
            .then(|| format!("folders in which agents worked, not searched for such tools: {beyond}"));
        let all: Vec<String> = [surplus, cut, beyond].into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

impl Feed for Foreign {
    fn poll(&mut self, now: Stamp) -> Batch {
        let is_new = self.discover(now);
        let rung = self.rung.take().filter(|rung| !rung.anywhere && !rung.paths.is_empty());
        let is_due = self.looked.is_none_or(|looked| now.since(looked) >= SLOWEST);
        // One tool that writes all the time does not have all the others looked at each time.
        let rung = rung.filter(|_| !is_new && !is_due);
        if rung.is_none() {
            self.looked = Some(now);
        }
        let mut batch = Batch::default();
        for folder in &mut self.folders {
            if rung.as_ref().is_none_or(|rung| folder.has_any(&rung.paths)) {
                folder.poll(now, &mut batch);
            }
        }
        // Whoever has no such tool need not hear that it was not looked for everywhere.
        let mut left_out = self.left_out();
        for folder in self.folders.iter_mut().filter(|folder| folder.is_open()) {
            folder.leave_out(left_out.take(), now, &mut batch);
        }
        batch
    }

    fn watched(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = self.projects.iter().map(|project| project.folder.clone()).collect();
        paths.extend(self.folders.iter().flat_map(Folder::watched));
        paths
    }

    fn attend(&mut self, watch: &mut Watch) {
        watch.want(&self.watched());
        self.named.places.ring(watch.bell());
        self.rung = Some(watch.rung());
    }
}

/// A project that is walked through.
struct Project {
    folder: PathBuf,
    /// When it was last walked through, and what its top looked like then.
    walked: Option<(Stamp, Option<Top>)>,
    /// Whether it is larger than that.
    is_cut: bool,
}

type Top = (std::time::SystemTime, u64);

type Hits = Vec<(&'static Tool, PathBuf)>;

impl Project {
    fn new(folder: PathBuf) -> Self {
        Self { folder, walked: None, is_cut: false }
    }

    fn look(&mut self, around: &Around, now: Stamp, found: &mut Hits) {
        let top = top_of(&self.folder);
        match self.walked {
            Some((at, known)) if now.since(at) < LOOK && known == top => {}
            // Its top changes with every file that is saved there: that is worth a look at the top.
            Some((at, _)) if now.since(at) < LOOK => {
                self.walked = Some((at, top));
                look_in(&self.folder, found);
            }
            Some(_) | None => {
                self.walked = Some((now, top));
                let tops = self.work_trees();
                for top in &tops {
                    look_outside(top, around, found);
                }
                let (folders, is_cut) = walk::folders(tops);
                self.is_cut = is_cut;
                for folder in folders {
                    look_in(&folder, found);
                }
            }
        }
    }

    /// Returns the project's folder and those of its linked work trees, which may lie where no walk leads.
    fn work_trees(&self) -> Vec<PathBuf> {
        let mut trees = vec![self.folder.clone()];
        if let Scope::Within(folders) = Scope::project(&self.folder) {
            let own = self.folder.canonicalize().ok();
            let is_other = |tree: &PathBuf| *tree != self.folder && Some(tree) != own.as_ref();
            trees.extend(folders.into_iter().filter(is_other).filter(|tree| tree.is_dir()));
        }
        trees
    }
}

/// Folders that only agents' files name.
struct Named {
    places: Places,
    /// How many of them were taken over.
    taken: usize,
    folders: HashSet<PathBuf>,
    /// How many there was no room for.
    beyond: usize,
    looked: Option<Stamp>,
}

impl Named {
    fn of(places: Places) -> Self {
        Self { places, taken: 0, folders: HashSet::new(), beyond: 0, looked: None }
    }

    fn look(&mut self, around: &Around, now: Stamp, found: &mut Hits) {
        let is_due = self.looked.is_none_or(|looked| now.since(looked) >= LOOK);
        if is_due {
            self.looked = Some(now);
            for folder in &self.folders {
                look_around(folder, around, found);
            }
        }
        let named = self.places.after(self.taken);
        self.taken += named.len();
        for folder in named {
            let top = repository(&folder, around.home.as_deref());
            for folder in top.into_iter().chain([folder]).filter(|folder| folder.is_dir()) {
                if self.folders.contains(&folder) {
                    continue;
                }
                if self.folders.len() >= MOST_NAMED {
                    self.beyond += 1;
                    continue;
                }
                look_around(&folder, around, found);
                self.folders.insert(folder);
            }
        }
    }
}

/// Returns the top of the repository that a folder is in. What is at home or above it is nobody's project.
fn repository(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let below_home = folder.ancestors().take_while(|above| Some(*above) != home);
    below_home.into_iter().find(|above| above.join(".git").exists()).map(Path::to_owned)
}

fn look_around(folder: &Path, around: &Around, found: &mut Hits) {
    look_outside(folder, around, found);
    look_in(folder, found);
}

fn look_outside(project: &Path, around: &Around, found: &mut Hits) {
    for folder in omc::roots_outside(project, around) {
        found.push((&omc::TOOL, folder.clone()));
        found.push((&omc::TEAMS, folder.join("state/team")));
    }
}

fn look_in(folder: &Path, found: &mut Hits) {
    for (tool, place, proof) in PLACES {
        let root = folder.join(place);
        if root.join(proof).exists() {
            found.push((tool, root));
        }
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
