//! What left the tree, as far as it was read: which of it is shown, and in which order.

use std::cmp::Reverse;

use super::effect::PastEntry;
use super::filter::Filter;
use super::ui::Sort;

/// What left the tree.
#[derive(Debug, Default)]
pub struct Past {
    /// The number of the question whose answer belongs here.
    pub ticket: u64,
    pub is_read: bool,
    pub entries: Vec<PastEntry>,
    pub trouble: Option<String>,
    /// The places of those that pass the filter, in order: kept, since a long history is filtered once and
    /// drawn often.
    shown: Vec<usize>,
}

impl Past {
    /// Takes in what was read.
    pub fn fill(&mut self, entries: Vec<PastEntry>, trouble: Option<String>) {
        self.entries = entries;
        self.trouble = trouble;
        self.is_read = true;
    }

    /// Chooses and orders what is shown.
    pub fn sift(&mut self, filter: &Filter, sort: Sort) {
        let entries = &self.entries;
        let mut shown: Vec<(usize, &PastEntry)> =
            entries.iter().enumerate().filter(|(_, entry)| filter.passes_past(entry)).collect();
        match sort {
            // As it was read: the newest first.
            Sort::Created => {}
            Sort::State => shown.sort_by(|(_, one), (_, other)| one.status.cmp(&other.status)),
            Sort::Recent => shown.sort_by_key(|(_, entry)| Reverse(entry.ended)),
            Sort::Cost => shown.sort_by_key(|(_, entry)| {
                let is_priced = entry.spend.priced > 0;
                Reverse((is_priced, entry.spend.cost, entry.spend.tokens().total()))
            }),
            Sort::Title => shown.sort_by_key(|(_, entry)| entry.title.to_lowercase()),
        }
        self.shown = shown.into_iter().map(|(place, _)| place).collect();
    }

    /// Returns how many are shown.
    pub fn len(&self) -> usize {
        self.shown.len()
    }

    /// Returns whether none is shown.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Returns what is shown, in order.
    pub fn shown(&self) -> impl Iterator<Item = &PastEntry> {
        self.shown.iter().filter_map(|place| self.entries.get(*place))
    }
}
