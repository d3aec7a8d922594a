//! Which delegations may leave the model for the history: they are over, and not among the latest.

use std::sync::Arc;
use std::time::Duration;

use super::id::DelegationId;
use super::key::NodeKey;
use super::node::{Node, NodeKind};
use super::status::Status;
use super::time::Stamp;
use super::{Model, NodeIx};

/// How long what has ended stays in the model.
pub const KEEP_FOR: Duration = Duration::from_hours(24);
/// How long a session stays of which nothing more is heard: as long as what sessions printed.
pub const KEEP_SILENT: Duration = Duration::from_hours(24 * 30);
/// How many that have ended stay at most.
pub const KEEP_AT_MOST: usize = 200;

/// Returns the top delegations that may leave, the one that ended first at the front.
pub fn ripe(model: &Model, now: Stamp) -> Vec<(NodeIx, DelegationId)> {
    let mut ended: Vec<(Stamp, NodeIx, DelegationId)> = model
        .roots()
        .filter_map(|ix| {
            let node = model.get(ix).filter(|node| node.kind == NodeKind::Delegation)?;
            let at = node.clocks.ended.or(node.clocks.last_sign)?;
            let id = delegation_id(node)?.clone();
            is_over(model, ix).then_some((at, ix, id))
        })
        .collect();
    ended.sort_unstable();
    let surplus = ended.len().saturating_sub(KEEP_AT_MOST);
    let old = ended.partition_point(|(at, ..)| at.plus(KEEP_FOR) <= now);
    ended.truncate(surplus.max(old));
    ended.into_iter().map(|(_, ix, id)| (ix, id)).collect()
}

/// Returns the sessions of agents' own tools that may leave: nobody of ours runs them, and they are long over, or nothing
/// was heard of them for so long that their end was not told.
pub fn ripe_sessions(model: &Model, now: Stamp) -> Vec<(Arc<str>, Arc<str>)> {
    let sessions = model.roots().filter_map(|ix| {
        let node = model.get(ix).filter(|node| node.kind == NodeKind::Session)?;
        let key = node.keys.iter().find_map(|key| {
            let NodeKey::CliSession(tool, id) = key else { return None };
            Some((Arc::clone(tool), Arc::clone(id)))
        });
        let at = node.clocks.ended.or(node.clocks.last_sign).or(node.clocks.since)?;
        let keep = if is_over(model, ix) { KEEP_FOR } else { KEEP_SILENT };
        key.filter(|_| at.plus(keep) <= now)
    });
    sessions.collect()
}

/// Returns a delegation's own id.
pub fn delegation_id(node: &Node) -> Option<&DelegationId> {
    node.keys.iter().find_map(|key| if let NodeKey::Delegation(id) = key { Some(id) } else { None })
}

/// A delegation is over when it ended and nothing below it can still act. A step that was never started
/// cannot, once its delegation has ended.
fn is_over(model: &Model, ix: NodeIx) -> bool {
    model.get(ix).is_some_and(|node| node.status.is_ended())
        && model
            .subtree(ix)
            .all(|(_, node)| matches!(node.status, Status::Ended { .. } | Status::Queued | Status::Unknown))
}
