//! `quarterdeck status`: the tree, from disk.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::deck::every_folder;
use super::natives::Natives;
use super::{
    CliError, Outcome, Place, load, load_all, now, print, print_json, session, terminal_width, warn,
    working_folder,
};
use crate::model::fact::SourceState;
use crate::model::key::SourceId;
use crate::model::record::restore;
use crate::model::time::Stamp;
use crate::model::{Model, NodeIx};
use crate::report::place::Names;
use crate::report::select::{NotOne, Selection, select};
use crate::report::{json, text};
use crate::source::feed::Feed;
use crate::source::follow::Follower;
use crate::source::past;
use crate::source::plain::{PairIds, Plain};
use crate::store::disk::RealDisk;
use crate::store::error::Error;
use crate::store::folder::StateFolder;
use crate::store::history::Cursor;

#[derive(Debug, Default, Args)]
pub(super) struct Status {
    /// Only the delegation, session, step or agent with this id; its beginning is enough.
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
    /// Every project of this user.
    #[arg(long, conflicts_with_all = ["store", "registry"])]
    all: bool,
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
        if is_pair {
            let ids = PairIds { store: SourceId(0), registry: SourceId(1) };
            let model = load(now, Plain::new(self.store.clone(), self.registry.clone(), ids));
            must_be_readable(&model)?;
            let chosen = select(&model, &self.selection())?;
            return self.show(&model, &chosen, now);
        }
        let folders = if self.all { every_folder()? } else { place.find()?.into_iter().collect() };
        let mut model = load_all(now, self.feeds(place, &folders)?);
        if folders.is_empty() && model.is_empty() {
            return self.show_nothing(&model, now);
        }
        let selection = self.selection();
        let mut chosen = select(&model, &selection);
        if selection.is_pointed() && chosen.as_ref().map_or(true, Vec::is_empty) {
            for folder in &folders {
                recall(&mut model, folder, &selection)?;
            }
            chosen = select(&model, &selection);
        }
        // Whatever is listed can be asked for: an agent of a session, a step of another tool.
        if let (Err(NotOne::None(_)), Some(id)) = (&chosen, &self.id)
            && let Ok(ix) = session::find(&model, id)
        {
            chosen = Ok(vec![ix]);
        }
        let outcome = self.show(&model, &chosen?, now);
        // The process ends now. To take a model of thousands of nodes apart costs as much as to make it.
        std::mem::forget(model);
        outcome
    }

    /// Returns everything that is read: the engines' journals, then what agents leave on disk.
    fn feeds(&self, place: &Place, folders: &[StateFolder]) -> io::Result<Vec<Box<dyn Feed>>> {
        let mut feeds: Vec<Box<dyn Feed>> = Vec::new();
        for (nth, folder) in (0..).zip(folders) {
            feeds.push(Box::new(Follower::new(folder.clone(), SourceId(nth))));
        }
        if !place.engine_only {
            let here = StateFolder::find_or_place(&working_folder()?, place.dir.as_deref());
            let natives = if self.all { Natives::of_all(folders, Some(&here)) } else { Natives::of(&here) };
            natives.warnings.iter().for_each(|warning| warn(&format!("warning: {warning}")));
            feeds.extend(natives.feeds(u16::try_from(folders.len()).unwrap_or(u16::MAX)));
        }
        Ok(feeds)
    }

    fn selection(&self) -> Selection {
        Selection {
            id: self.id.clone(),
            task: self.task.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
            only_active: self.active,
        }
    }

    /// Says that nothing is here; what cannot be read may hide something, so it is told all the same.
    fn show_nothing(&self, model: &Model, now: Stamp) -> Outcome {
        let is_sound = !model.sources().any(|(_, source)| text::is_in_trouble(source));
        if self.json {
            let nothing = Model::default();
            return self.show(if is_sound { &nothing } else { model }, &[], now);
        }
        let here = working_folder()?;
        let what =
            if is_sound { "Nothing is delegated here" } else { "Nothing that can be read is delegated here" };
        print(&format!(
            "{what}: no .quarterdeck in {} or above it.\n\
             Hand something over with `quarterdeck delegate TASK`, or see how it looks with `quarterdeck demo`.\n",
            here.display()
        ))?;
        Ok(tell_troubles(model))
    }

    fn show(&self, model: &Model, chosen: &[NodeIx], now: Stamp) -> Outcome {
        if self.json {
            print_json(&json::tree(model, chosen))?;
        } else if chosen.is_empty() {
            print(if model.is_empty() { "Nothing is delegated yet.\n" } else { "Nothing matches.\n" })?;
        } else {
            let names = if self.all { Names::of(model, chosen) } else { Names::default() };
            print(&text::tree_within(model, chosen, &names, now, terminal_width()))?;
        }
        Ok(tell_troubles(model))
    }
}

/// Says what cannot be read, or does not fit; the exit code says whether something is damaged.
fn tell_troubles(model: &Model) -> ExitCode {
    for trouble in text::troubles(model) {
        warn(&format!("warning: {trouble}"));
    }
    let damaged = |state: &SourceState| matches!(state, SourceState::Corrupt { .. });
    let is_damaged = model.sources().any(|(_, source)| damaged(&source.state));
    if is_damaged { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Takes in the delegations of the history that were asked for: they left the model long ago.
fn recall(model: &mut Model, folder: &StateFolder, selection: &Selection) -> Result<(), Error> {
    const PAGE: usize = 256;
    let mut facts = Vec::new();
    let mut cursor = Some(Cursor::default());
    while let Some(from) = cursor {
        let page = past::page(Arc::new(RealDisk), folder, from, PAGE)?;
        let wanted = page.records.into_iter().filter(|record| selection.wants(record));
        wanted.for_each(|record| restore::facts(record, SourceId(0), &mut facts));
        cursor = page.next;
    }
    let _ = model.apply_all(facts);
    Ok(())
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
            SourceState::Ok
            | SourceState::Loading { .. }
            | SourceState::Partial { .. }
            | SourceState::Stopped { .. } => {}
        }
    }
    Ok(())
}
