//! A session, or an agent in one, that no engine need run: found by the id that the tree shows it with.

use std::io;
use std::path::PathBuf;

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
    /// The project that is looked at.
    pub project: PathBuf,
    pub model: Model,
    pub now: Stamp,
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

    /// Takes what was read of it.
    pub fn of(place: &Place, model: Model) -> Result<Self, Box<dyn std::error::Error>> {
        Ok(Self { folder: place.find()?, project: whole(here(place)?.project()), model, now: now() })
    }

    /// Returns the node that `TOOL:SESSION` or `TOOL:SESSION/AGENT` means, or any other key; or why none is.
    pub fn find(&self, on: &str) -> Result<NodeIx, String> {
        let exact = self.model.nodes().find(|(_, node)| node.keys.iter().any(|key| key.to_string() == on));
        if let Some((ix, _)) = exact {
            return Ok(ix);
        }
        let (session, agent) = on.split_once('/').map_or((on, None), |(on, agent)| (on, Some(agent)));
        let top = one(self.model.nodes(), session, |key| !matches!(key, NodeKey::CliAgent(..)))?;
        let Some(agent) = agent else { return Ok(top) };
        let tool = session.split_once(':').map_or("", |(tool, _)| tool);
        let is_agent = |key: &NodeKey| matches!(key, NodeKey::CliAgent(..));
        one(self.model.subtree(top), &format!("{tool}:{agent}"), is_agent)
    }
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
    let such = |node: &Node| {
        node.keys.iter().filter(|key| is_such(key)).map(ToString::to_string).find(|key| key.starts_with(on))
    };
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
