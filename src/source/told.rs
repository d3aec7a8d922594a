//! What was told of a store that is read as a whole: next time only what differs is told.

use std::collections::HashMap;

use super::feed::Batch;
use crate::model::fact::{Fact, NodeFact};
use crate::model::key::{NodeKey, SourceId};

/// One record, session or agent: the key it is known by, a checksum of what it says, and what it tells.
#[derive(Debug)]
pub(super) struct Entry {
    pub key: NodeKey,
    pub crc: u32,
    pub facts: Vec<Fact>,
}

/// A checksum of each entry that was told, by its key: what is the same need not be told again.
#[derive(Debug)]
pub(super) struct Told {
    source: SourceId,
    entries: HashMap<NodeKey, u32>,
}

impl Told {
    /// Nothing was told of this source yet.
    pub fn by(source: SourceId) -> Self {
        Self { source, entries: HashMap::new() }
    }

    /// Tells what differs from what was told before, and takes back what is no longer there. That comes last:
    /// what hung below it may have moved.
    pub fn tell(&mut self, found: Vec<Entry>, batch: &mut Batch) {
        let mut gone = std::mem::take(&mut self.entries);
        for entry in found {
            if gone.remove(&entry.key) != Some(entry.crc) {
                batch.facts.extend(entry.facts);
            }
            self.entries.insert(entry.key, entry.crc);
        }
        let mut gone: Vec<NodeKey> = gone.into_keys().collect();
        gone.sort_unstable();
        batch.facts.extend(gone.into_iter().map(|key| Fact::node(self.source, None, key, NodeFact::Gone)));
    }
}
