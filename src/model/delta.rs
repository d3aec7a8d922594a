//! What a fact changed: enough for a screen to redraw only that, and for nothing else to look again.

use super::arena::NodeIx;

/// A list of siblings that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relisted {
    /// Whose children they are; `None` for the roots.
    pub parent: Option<NodeIx>,
    /// Everything before this place is as it was.
    pub from: usize,
}

/// The nodes and things that changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use]
pub struct Delta {
    /// Nodes that are new, in the order in which they came.
    pub added: Vec<NodeIx>,
    /// Nodes of which something shown changed, also by a roll-up.
    pub changed: Vec<NodeIx>,
    /// Nodes that hang elsewhere now, or stand elsewhere among their siblings.
    pub moved: Vec<NodeIx>,
    /// Nodes that are gone.
    pub removed: Vec<NodeIx>,
    /// Nodes that turned out to be another one: the one that is gone, and the one that it is.
    pub joined: Vec<(NodeIx, NodeIx)>,
    /// Lists of siblings that are not what they were, each named at least once.
    pub lists: Vec<Relisted>,
    /// Sources, the engine, settings or receipts changed.
    pub around: bool,
    /// How many facts did not fit.
    pub anomalies: u32,
}

impl Delta {
    /// Returns whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.changed.is_empty()
            && self.moved.is_empty()
            && self.removed.is_empty()
            && self.joined.is_empty()
            && self.lists.is_empty()
            && !self.around
            && self.anomalies == 0
    }

    /// Notes a change; the same node twice in a row is noted once.
    pub(super) fn touch(&mut self, ix: NodeIx) {
        if self.changed.last() != Some(&ix) {
            self.changed.push(ix);
        }
    }

    /// Notes that the children of a node changed from this place on.
    pub(super) fn relist(&mut self, parent: Option<NodeIx>, from: usize) {
        self.lists.push(Relisted { parent, from });
    }

    /// Returns the delta with each changed node and each list named once.
    #[must_use = "the tidied delta is returned"]
    pub fn tidy(mut self) -> Self {
        self.changed.sort_unstable();
        self.changed.dedup();
        self.moved.sort_unstable();
        self.moved.dedup();
        // Of each list the smallest place comes first, and stays.
        self.lists.sort_unstable();
        self.lists.dedup_by_key(|list| list.parent);
        self
    }
}
