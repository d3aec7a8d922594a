//! Which node has which key. The keys are in the nodes alone: an entry is half a hash and a handle, a quarter
//! of what a map with keys of its own would take, and a node has several.

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::arena::{Arena, NodeIx};
use super::key::NodeKey;

/// Half a hash: enough to tell a table's entries apart, and to place them anew when it grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Half(u32);

impl Half {
    /// Returns half the hash of something.
    #[expect(clippy::cast_possible_truncation, reason = "half of it is what is wanted")]
    pub fn of(hasher: &DefaultHashBuilder, value: impl Hash) -> Self {
        Self(hasher.hash_one(value) as u32)
    }

    /// Returns a whole hash: a table takes the place from the one end of it, and a mark from the other.
    pub fn whole(self) -> u64 {
        u64::from(self.0) << 32 | u64::from(self.0)
    }
}

#[derive(Debug, Default)]
pub(super) struct KeyIndex {
    table: HashTable<(Half, NodeIx)>,
    hasher: DefaultHashBuilder,
}

impl KeyIndex {
    /// Returns the node that has a key.
    pub fn find(&self, key: &NodeKey, nodes: &Arena) -> Option<NodeIx> {
        let hash = Half::of(&self.hasher, key);
        let has = |ix: NodeIx| nodes.get(ix).is_some_and(|node| node.keys.contains(key));
        self.table.find(hash.whole(), |(known, ix)| *known == hash && has(*ix)).map(|(_, ix)| *ix)
    }

    /// Notes that a node has a key that no other has.
    pub fn insert(&mut self, key: &NodeKey, ix: NodeIx) {
        let hash = Half::of(&self.hasher, key);
        self.table.insert_unique(hash.whole(), (hash, ix), |(hash, _)| hash.whole());
    }

    /// Notes that a key went from one node to another.
    pub fn moved(&mut self, key: &NodeKey, from: NodeIx, to: NodeIx) {
        let hash = Half::of(&self.hasher, key);
        if let Some((_, ix)) = self.table.find_mut(hash.whole(), |entry| *entry == (hash, from)) {
            *ix = to;
        }
    }

    /// Forgets that a node has a key.
    pub fn remove(&mut self, key: &NodeKey, ix: NodeIx) {
        let hash = Half::of(&self.hasher, key);
        if let Ok(entry) = self.table.find_entry(hash.whole(), |entry| *entry == (hash, ix)) {
            entry.remove();
        }
    }

    /// Returns how many keys there are.
    pub fn len(&self) -> usize {
        self.table.len()
    }
}
