//! What an end took and cost, put beside it: the kernel decides without counting, and the model has counted.

use super::Driver;
use crate::model::event::Body;
use crate::model::event::payload::{Completed, SubtaskCompleted};
use crate::model::key::NodeKey;
use crate::model::node::Node;
use crate::model::time::Stamp;
use crate::model::usage::{Tokens, Usd};

impl Driver {
    /// Returns an event as it is told: one of an end with how long it took and what it used, where that is known.
    pub(super) fn with_spent(&self, at: Stamp, body: Body) -> Body {
        #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else is an end that was paid for")]
        match body {
            Body::SubtaskCompleted(end) => {
                let node = self.node(&NodeKey::Subtask(end.delegation_id.clone(), end.subtask_id.clone()));
                let took = node.and_then(|node| node.clocks.started).map(|began| at.since(began));
                Body::SubtaskCompleted(SubtaskCompleted {
                    duration: took.and_then(|took| u64::try_from(took.as_millis()).ok()),
                    tokens_used: node.and_then(used),
                    ..end
                })
            }
            Body::Completed(end) => {
                let node = self.node(&NodeKey::Delegation(end.delegation_id.clone()));
                Body::Completed(Completed {
                    tokens_used: node.and_then(used),
                    cost: node.and_then(paid),
                    ..end
                })
            }
            other => other,
        }
    }

    fn node(&self, key: &NodeKey) -> Option<&Node> {
        let model = self.book.model();
        model.get(model.find(key)?)
    }
}

fn used(node: &Node) -> Option<u64> {
    Some(node.subtree_spend().tokens()).filter(Tokens::is_known).map(|tokens| tokens.total())
}

/// Returns what it cost, where every message of it has a price: a lower bound would be taken for the cost.
fn paid(node: &Node) -> Option<Usd> {
    let spend = node.subtree_spend();
    (spend.priced > 0 && spend.unpriced == 0).then_some(spend.cost)
}
