//! Delegations that left the model: their final records, from the history, a page at a time.
//!
//! Nothing is read until somebody asks, and a page costs the same however long the history is.

use std::sync::Arc;

use crate::model::record::Record;
use crate::store::disk::Disk;
use crate::store::error::Result;
use crate::store::folder::StateFolder;
use crate::store::history::{Cursor, History};

/// A page of what is over, newest first.
#[derive(Debug)]
pub struct Page {
    pub records: Vec<Record>,
    /// Where the next page begins; `None` if this was the last.
    pub next: Option<Cursor>,
    /// How many lines could not be read.
    pub skipped: u64,
}

/// Reads a page of the history.
pub fn page(disk: Arc<dyn Disk>, folder: &StateFolder, cursor: Cursor, limit: usize) -> Result<Page> {
    let page = History::new(disk, folder).page(cursor, limit)?;
    let lines = page.records.len();
    let records: Vec<Record> =
        page.records.iter().filter_map(|(_, record)| serde_json::from_str(record.get()).ok()).collect();
    let unread = (lines - records.len()) as u64;
    Ok(Page { records, next: page.next, skipped: page.skipped + unread })
}
