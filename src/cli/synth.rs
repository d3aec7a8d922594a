//! `quarterdeck synth`: a made-up state folder.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::{Outcome, now, print};
use crate::engine::book::Book;
use crate::model::time::Stamp;
use crate::store::disk::RealDisk;
use crate::store::folder::StateFolder;
use crate::synth::Fleet;

/// Events in one write: a write is one fdatasync.
const CHUNK: usize = 4096;

#[derive(Debug, Args)]
pub(super) struct Synth {
    /// The state folder to make; it must not have a journal yet.
    folder: PathBuf,
    /// Delegations that are over.
    #[arg(long, default_value_t = 12)]
    ended: usize,
    /// Delegations that are under way.
    #[arg(long, default_value_t = 4)]
    live: usize,
    /// Steps of each delegation.
    #[arg(long, default_value_t = 6)]
    subtasks: usize,
    /// The same seed makes the same fleet.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The moment up to which the story goes, instead of now.
    #[arg(long, value_parser = super::moment)]
    now: Option<Stamp>,
}

impl Synth {
    pub(super) fn run(self) -> Outcome {
        let now = self.now.unwrap_or_else(now);
        let Self { ended, live, subtasks, seed, .. } = self;
        let folder = StateFolder::at(std::path::absolute(self.folder)?);
        std::fs::create_dir_all(folder.project())?;
        let (mut book, _) = Book::open(folder.clone(), Arc::new(RealDisk), now)?;
        if book.seq().0 > 0 {
            return Err(format!(
                "{} has a journal already.\nName a folder that is not there yet.",
                folder.root.display()
            )
            .into());
        }
        let mut events = Fleet { ended, live, subtasks, seed, now }.events().peekable();
        while events.peek().is_some() {
            let _ = book.write(now, events.by_ref().take(CHUNK))?;
            let _ = book.tidy(now)?;
        }
        book.compact(now)?;
        book.write_views(now)?;
        let (count, seq) = (book.model().len(), book.seq());
        print(&format!("{}: {seq} events, {count} nodes in the model.\n", folder.root.display()))?;
        Ok(ExitCode::SUCCESS)
    }
}
