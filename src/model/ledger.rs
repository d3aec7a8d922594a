//! Where each message that was paid for is booked: at which node, and at which place of what it spent. The ids are
//! in the nodes alone, as the keys are (`index.rs`).

use hashbrown::{DefaultHashBuilder, HashTable};

use super::arena::{Arena, NodeIx};
use super::index::Half;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    hash: Half,
    /// Of what the node spent.
    place: u32,
    node: NodeIx,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    table: HashTable<Entry>,
    hasher: DefaultHashBuilder,
}

impl Ledger {
    /// Returns where a message is booked.
    pub fn find(&self, id: &str, nodes: &Arena) -> Option<(NodeIx, usize)> {
        let hash = Half::of(&self.hasher, id);
        let is_it = |entry: &Entry| {
            let spent = nodes.get(entry.node).and_then(|node| node.spent.get(entry.place as usize));
            entry.hash == hash && spent.is_some_and(|spent| spent.id.as_deref() == Some(id))
        };
        self.table.find(hash.whole(), is_it).map(|entry| (entry.node, entry.place as usize))
    }

    /// Notes where a message is booked that is booked nowhere else.
    pub fn insert(&mut self, id: &str, node: NodeIx, place: usize) {
        let entry = self.entry(id, node, place);
        self.table.insert_unique(entry.hash.whole(), entry, |entry| entry.hash.whole());
    }

    /// Notes that a message has another place at the same node.
    pub fn moved(&mut self, id: &str, node: NodeIx, from: usize, to: usize) {
        self.remove(id, node, from);
        self.insert(id, node, to);
    }

    /// Forgets where a message is booked.
    pub fn remove(&mut self, id: &str, node: NodeIx, place: usize) {
        let entry = self.entry(id, node, place);
        if let Ok(known) = self.table.find_entry(entry.hash.whole(), |known| *known == entry) {
            known.remove();
        }
    }

    /// Makes room for so many more.
    pub fn reserve(&mut self, more: usize) {
        self.table.reserve(more, |entry| entry.hash.whole());
    }

    /// Returns how many messages are booked.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    fn entry(&self, id: &str, node: NodeIx, place: usize) -> Entry {
        Entry { hash: Half::of(&self.hasher, id), place: u32::try_from(place).unwrap_or(u32::MAX), node }
    }
}
