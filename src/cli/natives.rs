//! The agents' own files as sources: which tools there are, whose sessions are wanted, and at which prices.
//!
//! The environment is read here. What is added to [`Natives::feeds`] is shown by the dashboard, by `--plain` and by
//! `status` alike.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::key::SourceId;
use crate::model::price::Prices;
use crate::source::claude::{self, Claude};
use crate::source::feed::Feed;
use crate::source::trails::Trails;
use crate::source::trails::tool::{Homes, Scope};
use crate::store::folder::StateFolder;

/// What is needed to read the agents' own files.
pub(super) struct Natives {
    homes: Homes,
    scope: Scope,
    prices: Arc<Prices>,
    /// What is wrong with a table of prices.
    pub warnings: Vec<String>,
}

impl Natives {
    /// Those of one project, or without one those of every project.
    pub fn of(folder: Option<&StateFolder>) -> Self {
        let homes = homes();
        let scope = folder.map_or(Scope::All, |folder| Scope::project(&whole(folder.project())));
        let own = homes.config.as_ref().map(|config| config.join("quarterdeck/prices.toml"));
        let project = folder.map(|folder| folder.root.join("prices.toml"));
        let (prices, warnings) = prices(own.into_iter().chain(project));
        Self { homes, scope, prices: Arc::new(prices), warnings }
    }

    /// Makes the feeds, numbered from `first` on.
    pub fn feeds(&self, first: u16) -> Vec<Box<dyn Feed>> {
        let mut feeds: Vec<Box<dyn Feed>> = Vec::new();
        let cache = self.homes.cache.as_deref();
        if let Some(tool) = Claude::at(&self.homes, self.scope.clone()) {
            let prices = Arc::clone(&self.prices);
            feeds.push(Box::new(Trails::new(tool, self.scope.clone(), SourceId(first), prices, cache)));
        }
        feeds
    }
}

/// Returns the file in which a session of some tool can be read, by the name that its log has on screen.
pub(super) fn transcript(log: &str) -> Option<PathBuf> {
    let (tool, id) = log.split_once(':')?;
    let (session, agent) = id.split_once('/').map_or((id, None), |(session, agent)| (session, Some(agent)));
    (tool == claude::NAME).then(|| claude::transcript(&homes(), session, agent))?
}

fn homes() -> Homes {
    Homes::of(|name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
}

/// Returns the prices in force: the built-in ones, then what is said in these files.
fn prices(files: impl Iterator<Item = PathBuf>) -> (Prices, Vec<String>) {
    let (mut prices, mut warnings) = (Prices::built_in(), Vec::new());
    for path in files {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        match prices.clone().with(&text) {
            Ok(with) => prices = with,
            Err(why) => warnings.push(format!("{} is not used: {why}", super::shown(&path))),
        }
    }
    (prices, warnings)
}

/// Returns a folder's whole path: agents write whole paths.
fn whole(path: &Path) -> PathBuf {
    if path.is_absolute() {
        return path.to_owned();
    }
    super::working_folder().map_or_else(|_| path.to_owned(), |here| here.join(path))
}
