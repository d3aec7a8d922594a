//! What agents leave on disk, their processes, and other tools' files as sources: which tools there are, whose sessions are wanted, and at which prices.
//!
//! The environment is read here. What is added to [`Natives::feeds`] is shown by the dashboard, by `--plain` and by
//! `status` alike.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent;
use crate::agent::claude::Speech;
use crate::agent::trail::Talk;
use crate::model::key::SourceId;
use crate::model::price::Prices;
use crate::source::claude::{self, Claude};
use crate::source::codex::{self, Codex};
use crate::source::ended::EndedByPerson;
use crate::source::feed::Feed;
use crate::source::foreign::{Around, Foreign};
use crate::source::gemini::{self, Gemini};
use crate::source::hooked::Hooked;
use crate::source::opencode::{OpenCode, SessionLog};
use crate::source::places::{Noted, Places};
use crate::source::processes::{self, Processes};
use crate::source::trails::Trails;
use crate::source::trails::tool::{Homes, Scope};
use crate::store::folder::StateFolder;
use crate::store::user;

/// What is needed to read the agents' own files.
pub(super) struct Natives {
    homes: Homes,
    scope: Scope,
    prices: Arc<Prices>,
    /// The projects that are searched for other tools' folders.
    projects: Vec<PathBuf>,
    /// The folders beside them that are looked at for the same: with every project, those that agents' files name.
    places: Places,
    omc_state_dir: Option<PathBuf>,
    /// The state folders in whose inboxes hooks leave what they saw.
    folders: Vec<StateFolder>,
    /// What is wrong with a table of prices.
    pub warnings: Vec<String>,
}

impl Natives {
    /// Those of one project.
    pub fn of(folder: &StateFolder) -> Self {
        let scope = Scope::project(&whole(folder.project()));
        Self::within(scope, std::slice::from_ref(folder), Some(folder))
    }

    /// Those of every project. Other tools' folders are looked for in the projects that an engine knows, in the
    /// one that is here, and in the folders that agents' files name. Prices are those that are in force here.
    pub fn of_all(folders: &[StateFolder], here: Option<&StateFolder>) -> Self {
        let mut natives = Self::within(Scope::All, folders, here);
        let here = here.map(|here| whole(here.project())).filter(|here| !natives.projects.contains(here));
        if let Some(here) = here {
            // Who asks at home does not mean everything that is below it.
            let is_home = natives.homes.home.as_ref().is_some_and(|home| home.starts_with(&here));
            if is_home { natives.places.add(&here) } else { natives.projects.push(here) }
        }
        natives
    }

    fn within(scope: Scope, folders: &[StateFolder], here: Option<&StateFolder>) -> Self {
        let homes = homes();
        let (prices, warnings) = prices(&homes, here);
        let projects = folders.iter().map(|folder| whole(folder.project())).collect();
        let (places, omc_state_dir) = (Places::default(), variable("OMC_STATE_DIR"));
        let (prices, folders) = (Arc::new(prices), folders.to_vec());
        Self { homes, scope, prices, projects, places, omc_state_dir, folders, warnings }
    }

    /// Returns the day of which the prices are, and how many models have one.
    pub fn price_table(&self) -> (&str, usize) {
        (&self.prices.date, self.prices.len())
    }

    /// Makes the feeds, numbered from `first` on.
    pub fn feeds(&self, first: u16) -> Vec<Box<dyn Feed>> {
        let mut feeds: Vec<Box<dyn Feed>> = Vec::new();
        let cache = self.homes.cache.as_deref();
        let (scope, prices) = (|| self.scope.clone(), || Arc::clone(&self.prices));
        let number = |nth: u16| SourceId(first.saturating_add(nth));
        if let Some(tool) = Claude::at(&self.homes, scope()) {
            feeds.push(self.heard(Trails::new(tool, scope(), number(0), prices(), cache)));
        }
        if let Some(tool) = Codex::new(&self.homes) {
            feeds.push(self.heard(Trails::new(tool, scope(), number(1), prices(), cache)));
        }
        if let Some(tool) = Gemini::new(&self.homes) {
            feeds.push(self.heard(Trails::new(tool, scope(), number(2), prices(), cache)));
        }
        if let Some(tool) = OpenCode::new(&self.homes, scope(), number(3), prices()) {
            feeds.push(self.heard(tool));
        }
        let processes = Processes::new(self.whose_processes(), self.homes.clone(), number(4));
        feeds.push(self.heard(processes));
        // After those that name folders: who reads one after the other then knows them all.
        feeds.push(Box::new(self.foreign(number(5))));
        let behind = Foreign::room(self.projects.len()).saturating_add(5);
        for (nth, folder) in (0..).zip(&self.folders) {
            feeds.push(Box::new(Hooked::new(folder.clone(), number(behind.saturating_add(nth)))));
        }
        if let Some(user) = user::folder(|name| std::env::var(name).ok()) {
            let hooks = u16::try_from(self.folders.len()).unwrap_or(u16::MAX);
            let source = number(behind.saturating_add(hooks));
            feeds.push(Box::new(EndedByPerson::new(&user, scope(), source)));
        }
        feeds
    }

    /// Listens to a feed for the folders it names, where those of every project are wanted.
    fn heard(&self, feed: impl Feed) -> Box<dyn Feed> {
        match self.scope {
            Scope::All => Box::new(Noted::new(feed, self.places.clone())),
            Scope::Within(_) => Box::new(feed),
        }
    }

    fn foreign(&self, first: SourceId) -> Foreign {
        let around = Around { home: self.homes.home.clone(), omc_state_dir: self.omc_state_dir.clone() };
        match (&self.scope, self.projects.first()) {
            (Scope::Within(_), Some(project)) => Foreign::new(project.clone(), around, first),
            (Scope::All, _) | (Scope::Within(_), None) => {
                Foreign::of_all(self.projects.clone(), self.places.clone(), around, first)
            }
        }
    }

    fn whose_processes(&self) -> processes::Scope {
        match &self.scope {
            Scope::All => processes::Scope::All,
            Scope::Within(folders) => processes::Scope::Folders(folders.clone()),
        }
    }
}

/// Where a session of some tool can be read.
pub(super) enum Transcript {
    /// In a file that grows, made readable by its tool's reader.
    File(PathBuf, Box<dyn Talk>),
    /// In a database.
    Rows(SessionLog),
}

/// Returns where a session of some tool can be read, by the name that its log has on screen.
pub(super) fn transcript(log: &str) -> Option<Transcript> {
    let (tool, id) = log.split_once(':')?;
    let (session, agent) = id.split_once('/').map_or((id, None), |(session, agent)| (session, Some(agent)));
    let homes = homes();
    let (path, talk): (_, Box<dyn Talk>) = match tool {
        claude::NAME => (claude::transcript(&homes, session, agent)?, Box::new(Speech)),
        agent::codex::TOOL => {
            (codex::transcript(&homes, session)?, Box::<agent::codex::Conversation>::default())
        }
        agent::gemini::TOOL => {
            (gemini::transcript(&homes, session)?, Box::<agent::gemini::Conversation>::default())
        }
        agent::opencode::TOOL => return SessionLog::new(&homes, session).map(Transcript::Rows),
        _ => return None,
    };
    Some(Transcript::File(path, talk))
}

fn homes() -> Homes {
    Homes::of(variable)
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the prices in force for an engine, and what is wrong with a table of them.
pub(super) fn prices_of(folder: &StateFolder) -> (Prices, Vec<String>) {
    prices(&homes(), Some(folder))
}

/// Returns the prices in force: the built-in ones, then this user's, then the project's.
fn prices(homes: &Homes, folder: Option<&StateFolder>) -> (Prices, Vec<String>) {
    let own = homes.config.as_ref().map(|config| config.join("quarterdeck/prices.toml"));
    let project = folder.map(|folder| folder.root.join("prices.toml"));
    let (mut prices, mut warnings) = (Prices::built_in(), Vec::new());
    for path in own.into_iter().chain(project) {
        let Some(text) = super::own_text(&path, &mut warnings) else { continue };
        match prices.clone().with(&text) {
            Ok(with) => prices = with,
            Err(why) => warnings.push(format!("{} is not used: {why}", super::shown(&path))),
        }
    }
    (prices, warnings)
}

/// Returns a folder's whole path: agents write whole paths.
pub(super) fn whole(path: &Path) -> PathBuf {
    if path.is_absolute() {
        return path.to_owned();
    }
    super::working_folder().map_or_else(|_| path.to_owned(), |here| here.join(path))
}
