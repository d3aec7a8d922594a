//! `quarterdeck history`: what is over and left the tree, newest first.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::{Outcome, Place, print, warn};
use crate::model::status::StatusWord;
use crate::model::text;
use crate::report::text::symbol;
use crate::source::past;
use crate::store::disk::RealDisk;
use crate::store::history::Cursor;

#[derive(Debug, Args)]
pub(super) struct History {
    /// How many at most.
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// The records as they are, one JSON line each.
    #[arg(long)]
    json: bool,
}

impl History {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let folder = place.need()?;
        let page = past::page(Arc::new(RealDisk), &folder, Cursor::default(), self.limit)?;
        for record in &page.records {
            if self.json {
                print(&format!("{}\n", serde_json::to_string(record)?))?;
                continue;
            }
            let word = record.status.unwrap_or(StatusWord::Unknown);
            let id = record.delegation_id.as_ref().map(ToString::to_string).unwrap_or_default();
            let ended = record.completed_at.map_or_else(|| "–".to_owned(), |at| at.to_string());
            let title = record.title.as_deref().unwrap_or_default();
            let line = format!("{} {:<9}  {ended}  {id}  {title}", symbol(word), word.as_str());
            print(&format!("{}\n", text::line(&line)))?;
        }
        if page.records.is_empty() {
            print("Nothing is in the history yet: what ended in the last day is in the tree.\n")?;
        }
        if page.skipped > 0 {
            warn(&format!("warning: {} lines of the history cannot be read", page.skipped));
        }
        Ok(ExitCode::SUCCESS)
    }
}
