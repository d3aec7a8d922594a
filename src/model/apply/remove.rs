//! Nodes that are gone: archived, deleted by their owner, or void because their source starts over.

use crate::model::delta::Delta;
use crate::model::key::{Keys, SourceId};
use crate::model::{Model, NodeIx};

impl Model {
    /// Forgets what a source told of a node. What no other source knows goes, with all below it; a node
    /// that nobody knows is forgotten already.
    pub(super) fn forget(&mut self, keys: &Keys, by: SourceId, delta: &mut Delta) {
        let Some(ix) = keys.iter().find_map(|key| self.find(key)) else { return };
        let Some(node) = self.nodes.get_mut(ix) else { return };
        node.claims.retain(|claim| claim.source != by);
        let other = node.claims.first().map(|claim| claim.source);
        if node.first_source == by {
            match other {
                Some(other) => node.first_source = other,
                None => return self.remove_subtree(ix, delta),
            }
        }
        self.believe(ix, delta);
    }

    fn remove_subtree(&mut self, ix: NodeIx, delta: &mut Delta) {
        self.detach(ix, delta);
        let below: Vec<NodeIx> = self.subtree(ix).map(|(ix, _)| ix).collect();
        for ix in below {
            self.drop_node(ix, delta);
        }
    }

    fn drop_node(&mut self, ix: NodeIx, delta: &mut Delta) {
        let Some(node) = self.nodes.remove(ix) else { return };
        for key in &node.keys {
            self.by_key.remove(key);
        }
        for id in node.spent.iter().filter_map(|entry| entry.id.as_ref()) {
            self.ledger.remove(id);
        }
        delta.removed.push(ix);
    }

    /// Takes back everything that only this source told: its claims, and the nodes that no other knows.
    pub(super) fn reset_source(&mut self, source: SourceId, delta: &mut Delta) {
        let mut void: Vec<(usize, NodeIx)> = Vec::new();
        let known: Vec<NodeIx> = self.nodes().map(|(ix, _)| ix).collect();
        for ix in known {
            let Some(node) = self.nodes.get_mut(ix) else { continue };
            let claims = node.claims.len();
            node.claims.retain(|claim| claim.source != source);
            let others = node.claims.first().map(|claim| claim.source);
            if node.first_source == source {
                match others {
                    Some(other) => node.first_source = other,
                    None => void.push((self.ancestors(ix).count(), ix)),
                }
            } else if node.claims.len() != claims {
                self.believe(ix, delta);
            }
        }
        // From the leaves up: a node stays where something that another source told hangs below it.
        void.sort_unstable_by(|one, two| two.cmp(one));
        for (_, ix) in void {
            if self.get(ix).is_some_and(|node| node.children.is_empty()) {
                self.remove_subtree(ix, delta);
            }
        }
    }
}
