//! `quarterdeck status`: the tree, from disk.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::{CliError, Outcome, Place, now, print, warn, working_folder};
use crate::model::Model;
use crate::model::fact::SourceState;
use crate::model::key::SourceId;
use crate::model::time::Stamp;
use crate::report::select::{Selection, select};
use crate::report::{json, text};
use crate::source::feed::Feed;
use crate::source::follow::Follower;
use crate::source::plain::{PairIds, Plain};

#[derive(Debug, Default, Args)]
pub(super) struct Status {
    /// Only the delegation with this id; its beginning is enough.
    id: Option<String>,
    /// As JSON (docs/tree-json.md).
    #[arg(long)]
    json: bool,
    /// Only delegations of this task.
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Only what this agent handed over.
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,
    /// Only what was handed to this agent.
    #[arg(long, value_name = "AGENT")]
    to: Option<String>,
    /// Only what is not over yet.
    #[arg(long)]
    active: bool,
    /// Read a delegation store that somebody else writes, instead of a state folder.
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Read a session registry that somebody else writes, instead of a state folder.
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// Show it as of this moment, instead of now: for pictures and tests.
    #[arg(long, hide = true, value_parser = super::moment)]
    now: Option<Stamp>,
}

impl Status {
    /// Everything, as of a moment.
    pub(super) fn as_of(now: Option<Stamp>) -> Self {
        Self { now, ..Self::default() }
    }

    pub(super) fn run(self, place: &Place) -> Outcome {
        let is_pair = self.store.is_some() || self.registry.is_some();
        let now = self.now.unwrap_or_else(now);
        let mut model = Model::default();
        if is_pair {
            let ids = PairIds { store: SourceId(0), registry: SourceId(1) };
            fill(&mut model, now, Plain::new(self.store.clone(), self.registry.clone(), ids));
            must_be_readable(&model)?;
        } else if let Some(folder) = place.find()? {
            fill(&mut model, now, Follower::new(folder, SourceId(0)));
        } else if !self.json {
            let here = working_folder()?;
            print(&format!(
                "Nothing is delegated here: no .quarterdeck in {} or above it.\n",
                here.display()
            ))?;
            return Ok(ExitCode::SUCCESS);
        }
        self.show(&model, now)
    }

    fn show(self, model: &Model, now: Stamp) -> Outcome {
        let selection = Selection {
            id: self.id,
            task: self.task,
            from: self.from,
            to: self.to,
            only_active: self.active,
        };
        let chosen = select(model, &selection)?;
        if self.json {
            print(&format!("{}\n", serde_json::to_string_pretty(&json::tree(model, &chosen))?))?;
        } else if chosen.is_empty() {
            print(if model.is_empty() { "Nothing is delegated yet.\n" } else { "Nothing matches.\n" })?;
        } else {
            print(&text::tree(model, &chosen, now))?;
        }
        for trouble in text::troubles(model) {
            warn(&format!("warning: {trouble}"));
        }
        let damaged = |state: &SourceState| matches!(state, SourceState::Corrupt { .. });
        let is_damaged = model.sources().any(|(_, source)| damaged(&source.state));
        Ok(if is_damaged { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Takes in everything that a source has now, and lets its clocks run up to now.
fn fill(model: &mut Model, now: Stamp, mut feed: impl Feed) {
    loop {
        let batch = feed.poll(now);
        let _ = model.apply_all(batch.facts);
        if !batch.more {
            break;
        }
    }
    let _ = model.advance(now);
}

/// Files that were named must be there, and hold something that can be shown.
fn must_be_readable(model: &Model) -> Result<(), CliError> {
    for (_, source) in model.sources() {
        match &source.state {
            SourceState::Missing { what } => {
                return Err(CliError::Unreadable(format!("{what}.\nCheck the path.")));
            }
            SourceState::Corrupt { what, .. } => {
                let hint = "Nothing of it was read before, so there is no last good state to show.";
                return Err(CliError::Unreadable(format!("cannot read {}: {what}.\n{hint}", source.root)));
            }
            SourceState::Ok | SourceState::Partial { .. } | SourceState::Stopped { .. } => {}
        }
    }
    Ok(())
}
