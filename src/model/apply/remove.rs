//! Nodes that are gone: archived, deleted by their owner, or void because their source starts over.

use crate::model::delta::Delta;
use crate::model::key::{Keys, SourceId};
use crate::model::{Model, NodeIx};

impl Model {
    /// Forgets what any of the keys names, with all below it. What nobody knows is forgotten already.
    pub(super) fn forget(&mut self, keys: &Keys, delta: &mut Delta) {
        for key in keys.iter() {
            if let Some(ix) = self.find(key) {
                self.remove_subtree(ix, delta);
            }
        }
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
            let lost_claim = node.claims.len() != claims;
            node.other_sources.retain(|other| *other != source);
            if node.first_source == source {
                if node.other_sources.is_empty() {
                    void.push((self.ancestors(ix).count(), ix));
                } else {
                    node.first_source = node.other_sources.remove(0);
                }
            }
            if lost_claim {
                self.believe(ix, delta);
            }
        }
        // From the leaves up: a node stays for the sake of what another source hung below it, as long as
        // that source needs it.
        void.sort_unstable_by(|one, two| two.cmp(one));
        for (_, ix) in void {
            let first = self.get(ix).and_then(|node| node.children.first().copied());
            match first.and_then(|child| self.get(child)).map(|child| child.first_source) {
                Some(other) => self.nodes.get_mut(ix).into_iter().for_each(|node| node.first_source = other),
                None => self.remove_subtree(ix, delta),
            }
        }
    }
}
