//! A session, or an agent in one, that no engine need run: found by the id that the tree shows it with.

use std::io;
use std::path::PathBuf;

use super::deck::every_folder;
use super::natives::{Natives, whole};
use super::{Place, load_all, now, working_folder};
use crate::model::key::{NodeKey, SourceId};
use crate::model::node::Node;
use crate::model::time::Stamp;
use crate::model::{Model, NodeIx, text};
use crate::source::feed::Feed;
use crate::source::follow::Follower;
use crate::source::hooked::Hooked;
use crate::store::folder::StateFolder;

/// What is known here, as the dashboard would show it.
pub(super) struct Known {
    /// The state folder, where there is one.
    pub folder: Option<StateFolder>,
    /// The state folders that are read, in the order of their sources.
    folders: Vec<StateFolder>,
    /// The project that is looked at.
    pub project: PathBuf,
    pub model: Model,
    pub now: Stamp,
}

/// Returns what is read of every project of a person: what their engines wrote, and what agents leave on disk.
fn feeds_of_all(place: &Place, folders: &[StateFolder]) -> io::Result<Vec<Box<dyn Feed>>> {
    let followers = (0..).zip(folders).map(|(nth, folder)| Follower::new(folder.clone(), SourceId(nth)));
    let mut feeds: Vec<Box<dyn Feed>> = followers.map(|feed| Box::new(feed) as Box<dyn Feed>).collect();
    if !place.engine_only {
        let first = u16::try_from(folders.len()).unwrap_or(u16::MAX);
        feeds.extend(Natives::of_all(folders, Some(&here(place)?)).feeds(first));
    }
    Ok(feeds)
}

/// Returns what is read here: the engine's journal, what agents leave on disk, their processes and what hooks recorded.
pub(super) fn feeds(place: &Place) -> Result<Vec<Box<dyn Feed>>, Box<dyn std::error::Error>> {
    let folder = place.find()?;
    let mut feeds: Vec<Box<dyn Feed>> = Vec::new();
    if let Some(folder) = &folder {
        feeds.push(Box::new(Follower::new(folder.clone(), SourceId(0))));
    }
    if !place.engine_only {
        feeds.extend(Natives::of(&here(place)?).feeds(1));
    } else if let Some(folder) = folder {
        feeds.push(Box::new(Hooked::new(folder, SourceId(1))));
    }
    Ok(feeds)
}

fn here(place: &Place) -> io::Result<StateFolder> {
    Ok(StateFolder::find_or_place(&working_folder()?, place.dir.as_deref()))
}

impl Known {
    /// Reads all of it.
    pub fn read(place: &Place) -> Result<Self, Box<dyn std::error::Error>> {
        Self::of(place, load_all(now(), feeds(place)?))
    }

    /// Reads all of it, of every project where that is asked for.
    pub fn read_wide(place: &Place, all: bool) -> Result<Self, Box<dyn std::error::Error>> {
        if !all {
            return Self::read(place);
        }
        let folders = every_folder()?;
        let model = load_all(now(), feeds_of_all(place, &folders)?);
        Ok(Self { folders, ..Self::of(place, model)? })
    }

    /// Returns the state folder of an engine's source.
    pub fn folder_of(&self, source: SourceId) -> Option<StateFolder> {
        self.folders.get(usize::from(source.0)).cloned()
    }

    /// Takes what was read of it.
    pub fn of(place: &Place, model: Model) -> Result<Self, Box<dyn std::error::Error>> {
        let folder = place.find()?;
        let (folders, project) = (folder.clone().into_iter().collect(), whole(here(place)?.project()));
        Ok(Self { folder, folders, project, model, now: now() })
    }

    /// Returns the node that an id means; or why none is.
    pub fn find(&self, on: &str) -> Result<NodeIx, String> {
        find(&self.model, on)
    }
}

/// Returns the node that `TOOL:SESSION` or `TOOL:SESSION/AGENT` means, or any other key; or why none is.
pub(super) fn find(model: &Model, on: &str) -> Result<NodeIx, String> {
    let exact = model.nodes().find(|(_, node)| node.keys.iter().any(|key| key.to_string() == on));
    if let Some((ix, _)) = exact {
        return Ok(ix);
    }
    let (session, agent) = on.split_once('/').map_or((on, None), |(on, agent)| (on, Some(agent)));
    let top = one(model.nodes(), session, |key| !matches!(key, NodeKey::CliAgent(..)))?;
    let Some(agent) = agent else { return Ok(top) };
    let tool = session.split_once(':').map_or("", |(tool, _)| tool);
    // What an agent of one tool is to its session is a session of its own with another.
    let is_agent = |key: &NodeKey| matches!(key, NodeKey::CliAgent(..) | NodeKey::CliSession(..));
    one(model.subtree(top).filter(|(ix, _)| *ix != top), &format!("{tool}:{agent}"), is_agent)
}

/// Returns what is known of an id that no engine here knows by this name, if anything is: other tools' ids have no form.
pub(super) fn elsewhere(
    place: &Place,
    on: &str,
) -> Result<Option<(Known, NodeIx)>, Box<dyn std::error::Error>> {
    let known = Known::read(place)?;
    let found = known.find(on).ok();
    Ok(found.map(|ix| (known, ix)))
}

/// Returns whether a person means something by another tool's id, and no delegation of ours.
pub(super) fn is_meant(on: &str) -> bool {
    on.contains(':')
}

/// Returns the one node that has such a key which begins so, or is it.
fn one<'m>(
    nodes: impl Iterator<Item = (NodeIx, &'m Node)>,
    on: &str,
    is_such: impl Fn(&NodeKey) -> bool,
) -> Result<NodeIx, String> {
    /// More than a person reads in one line.
    const NAMED: usize = 8;
    // The beginning of an id is not the beginning of its steps' ids.
    let begins = |key: &String| key.starts_with(on) && (on.contains('/') || !key.contains('/'));
    let such =
        |node: &Node| node.keys.iter().filter(|key| is_such(key)).map(ToString::to_string).find(begins);
    let like: Vec<(NodeIx, String)> = nodes.filter_map(|(ix, node)| Some((ix, such(node)?))).collect();
    let exact = like.iter().find(|(_, key)| key == on);
    match (exact, like.as_slice()) {
        (Some((ix, _)), _) | (None, [(ix, _)]) => Ok(*ix),
        (None, []) => Err(text::lines(&format!(
            "Nothing here is known as {on}. `quarterdeck status --json` lists the ids of this project."
        ))
        .into()),
        (None, several) => {
            let names: Vec<&str> = several.iter().take(NAMED).map(|(_, key)| key.as_str()).collect();
            let told = format!("{} begin with {on}: {}. Type more of it.", several.len(), names.join(", "));
            Err(text::lines(&told).into())
        }
    }
}
