//! Which node has which key. The keys are in the nodes alone: an entry is a hash and a handle, a third of
//! what a map with keys of its own would take, and a node has several.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::arena::{Arena, NodeIx};
use super::key::NodeKey;

#[derive(Debug, Default)]
pub(super) struct KeyIndex {
    table: HashTable<(u64, NodeIx)>,
    hasher: DefaultHashBuilder,
}

impl KeyIndex {
    /// Returns the node that has a key.
    pub fn find(&self, key: &NodeKey, nodes: &Arena) -> Option<NodeIx> {
        let hash = self.hasher.hash_one(key);
        let has = |ix: NodeIx| nodes.get(ix).is_some_and(|node| node.keys.contains(key));
        self.table.find(hash, |(known, ix)| *known == hash && has(*ix)).map(|(_, ix)| *ix)
    }

    /// Notes that a node has a key that no other has.
    pub fn insert(&mut self, key: &NodeKey, ix: NodeIx) {
        let hash = self.hasher.hash_one(key);
        self.table.insert_unique(hash, (hash, ix), |(hash, _)| *hash);
    }

    /// Notes that a key went from one node to another.
    pub fn moved(&mut self, key: &NodeKey, from: NodeIx, to: NodeIx) {
        let hash = self.hasher.hash_one(key);
        if let Some((_, ix)) = self.table.find_mut(hash, |entry| *entry == (hash, from)) {
            *ix = to;
        }
    }

    /// Forgets that a node has a key.
    pub fn remove(&mut self, key: &NodeKey, ix: NodeIx) {
        let hash = self.hasher.hash_one(key);
        if let Ok(entry) = self.table.find_entry(hash, |entry| *entry == (hash, ix)) {
            entry.remove();
        }
    }

    /// Returns how many keys there are.
    pub fn len(&self) -> usize {
        self.table.len()
    }
}
