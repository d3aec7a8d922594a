//! What agents and other tools leave on disk for this project: each source that is found, and how well it can be read.

use std::path::PathBuf;

use super::super::natives::Natives;
use super::super::{load_all, shown};
use crate::model::fact::SourceState;
use crate::model::key::{SourceId, SourceKind};
use crate::model::time::Stamp;
use crate::model::{Model, Source};
use crate::store::check::{Finding, Level};
use crate::store::folder::StateFolder;

/// What was read of them.
pub(super) struct Sources(Model);

impl Sources {
    /// Reads them as every other command does, so that they never disagree with the doctor.
    pub fn read(folder: &StateFolder, now: Stamp) -> Self {
        Self(load_all(now, Natives::of(folder).feeds(0)))
    }

    /// Returns those that are files of somebody: what runs on this machine is no file, and what hooks and persons did is
    /// written by ourselves.
    fn found(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        let is_files = |kind| !matches!(kind, SourceKind::Process | SourceKind::Hook | SourceKind::Person);
        self.0.sources().filter(move |(_, source)| is_files(source.kind))
    }

    /// Returns what is wrong with them, each with the file that it is about.
    pub fn findings(&self) -> Vec<Finding> {
        let told = self.found().filter_map(|(_, source)| {
            let (level, what) = trouble(&source.state)?;
            let what = format!("{} {what}", source.kind.as_str());
            let hint = Some("It is another program's, and only read here: let that program mend it, or move the file away.".to_owned());
            Some(Finding { level, file: PathBuf::from(&*source.root), line: None, what, hint })
        });
        told.collect()
    }

    /// Returns each in a line: what it is, where, whether it is well, and how much came of it.
    pub fn line(&self) -> String {
        let lines: Vec<String> = self
            .found()
            .map(|(id, source)| {
                let count = self.0.nodes().filter(|(_, node)| node.sources().contains(&id)).count();
                let nodes = if count == 1 { "1 node".to_owned() } else { format!("{count} nodes") };
                let how = if trouble(&source.state).is_none() { "ok" } else { "see above" };
                let root = shown(source.root.as_ref().as_ref());
                format!("{} in {root}: {how}, {nodes}", source.kind.as_str())
            })
            .collect();
        if lines.is_empty() {
            "no coding agent has left anything for this project".into()
        } else {
            lines.join("\n")
        }
    }
}

/// Returns what is wrong with a source, and how much that matters; nothing where all is well.
fn trouble(state: &SourceState) -> Option<(Level, String)> {
    match state {
        SourceState::Ok | SourceState::Loading { .. } => None,
        SourceState::Missing { what } => Some((Level::Note, format!("is missing: {what}"))),
        SourceState::Stopped { why } => Some((Level::Note, format!("cannot be reached: {why}"))),
        SourceState::Partial { what } => Some((Level::Wrong, format!("cannot be read in whole: {what}"))),
        SourceState::Corrupt { what, .. } => Some((Level::Wrong, format!("cannot be read: {what}"))),
    }
}
