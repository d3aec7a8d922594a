//! Nodes that are gone: archived, deleted by their owner, or void because their source starts over.

use crate::model::delta::Delta;
use crate::model::key::{Keys, SourceId, SourceKind};
use crate::model::node::Node;
use crate::model::{Model, NodeIx};

/// Whether a node is still known once one source took back what it told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    ByOthers,
    ByNobody,
}

impl Model {
    /// Forgets what a source told of the nodes that any of the keys names. What no other source knows goes,
    /// with all below it; what nobody knows is forgotten already.
    pub(super) fn forget(&mut self, keys: &Keys, by: SourceId, delta: &mut Delta) {
        for key in keys.iter() {
            if let Some(ix) = self.find(key)
                && self.take_back(ix, by, delta) == Known::ByNobody
            {
                self.remove_subtree(ix, delta);
            }
        }
    }

    /// Takes back what a source claimed of a node, and that it spoke of it.
    fn take_back(&mut self, ix: NodeIx, source: SourceId, delta: &mut Delta) -> Known {
        let Some(node) = self.nodes.get_mut(ix) else { return Known::ByOthers };
        let claims = node.claims.len();
        node.claims.retain(|claim| claim.source != source);
        let lost_claim = node.claims.len() != claims;
        let is_first = node.first_source == source;
        let next = node.other_sources.as_mut().and_then(|others| {
            others.retain(|other| *other != source);
            (is_first && !others.is_empty()).then(|| others.remove(0))
        });
        node.first_source = next.unwrap_or(node.first_source);
        let known = if is_first && next.is_none() { Known::ByNobody } else { Known::ByOthers };
        self.may_sleep(ix, source, None, delta);
        if lost_claim {
            self.believe(ix, delta);
        }
        known
    }

    /// Takes back what the system's list of processes told of a node whose process works for another one now.
    pub(super) fn forget_process(&mut self, ix: NodeIx, delta: &mut Delta) {
        let sources = self.get(ix).map(Node::sources).unwrap_or_default();
        for source in sources {
            let is_system = self.kind_of(source) == SourceKind::Process;
            if is_system && self.take_back(ix, source, delta) == Known::ByNobody {
                self.remove_subtree(ix, delta);
                return;
            }
        }
        self.look_at_silence_below(ix, delta);
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
            self.by_key.remove(key, ix);
        }
        for (place, entry) in node.spent.iter().enumerate() {
            entry.id.iter().for_each(|id| self.ledger.remove(id, ix, place));
        }
        node.sealed.iter().for_each(|sealed| self.unmark(sealed));
        delta.removed.push(ix);
    }

    /// Takes back everything that only this source told: its claims, and the nodes that no other knows.
    pub(super) fn reset_source(&mut self, source: SourceId, delta: &mut Delta) {
        let mut void: Vec<(usize, NodeIx)> = Vec::new();
        let known: Vec<NodeIx> = self.nodes().map(|(ix, _)| ix).collect();
        for ix in known {
            if self.take_back(ix, source, delta) == Known::ByNobody {
                void.push((self.ancestors(ix).count(), ix));
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
