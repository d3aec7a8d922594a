//! The running sessions, as the registry has them: the overdue first, then the nearest deadline. Kept by what
//! changed, since the keys of this view ask for it many times a frame.

use std::collections::{BTreeSet, HashMap};

use crate::model::delta::Delta;
use crate::model::node::{Node, NodeKind};
use crate::model::status::{Status, Trouble};
use crate::model::time::Stamp;
use crate::model::{Model, NodeIx};

/// Where a session stands: not overdue, without deadline, its deadline, and then as it came.
type Place = (bool, bool, i64, NodeIx);

/// All running sessions, the most pressing first.
#[derive(Debug, Clone, Default)]
pub struct Sessions {
    order: BTreeSet<Place>,
    known: HashMap<NodeIx, Place>,
}

impl Sessions {
    /// Returns how many run.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns whether none runs.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns them in order.
    pub fn iter(&self) -> impl Iterator<Item = NodeIx> {
        self.order.iter().map(|(.., ix)| *ix)
    }

    /// Returns where one stands.
    pub fn position(&self, ix: NodeIx) -> Option<usize> {
        let place = self.known.get(&ix)?;
        Some(self.order.range(..*place).count())
    }

    /// Takes in what changed.
    pub fn update(&mut self, model: &Model, delta: &Delta) {
        for gone in delta.removed.iter().chain(delta.joined.iter().map(|(gone, _)| gone)) {
            self.put(*gone, None);
        }
        for ix in delta.added.iter().chain(&delta.changed).chain(&delta.moved) {
            let place = model.get(*ix).filter(|node| is_session(node)).map(|node| place(*ix, node));
            self.put(*ix, place);
        }
    }

    fn put(&mut self, ix: NodeIx, place: Option<Place>) {
        if self.known.get(&ix).copied() == place {
            return;
        }
        if let Some(old) = self.known.remove(&ix) {
            self.order.remove(&old);
        }
        if let Some(place) = place {
            self.order.insert(place);
            self.known.insert(ix, place);
        }
    }
}

/// Returns whether a node is past its deadline and still runs.
pub fn is_overdue(node: &Node) -> bool {
    matches!(node.status, Status::Running { trouble: Some(Trouble::Overdue { .. }), .. })
}

/// Returns whether a session of this node runs.
pub fn is_session(node: &Node) -> bool {
    let runs = node.attempts.iter().any(|attempt| attempt.session_id.is_some() && attempt.ended_at.is_none());
    !node.status.is_ended() && (runs || node.kind == NodeKind::Session)
}

fn place(ix: NodeIx, node: &Node) -> Place {
    let deadline = node.clocks.finish_by;
    (!is_overdue(node), deadline.is_none(), deadline.map_or(0, Stamp::millis), ix)
}
