//! Many nodes looked at in one go.
//!
//! Among a hundred thousand nodes those of a screen are in no cache. Who draws them row by row waits for each part of
//! each node in turn; asked for one right after the other, with nothing to do in between, they come together.

use super::node::Node;
use super::time::Stamp;
use super::{Model, NodeIx};

impl Model {
    /// Fetches what a row shows of these nodes, so that drawing them waits for none.
    pub fn fetch(&self, nodes: impl Iterator<Item = NodeIx>) {
        let seen = nodes.filter_map(|ix| self.get(ix)).fold(0, |seen, node| seen ^ glance(node));
        // Nobody wants the sum, but without it nothing would be looked at.
        std::hint::black_box(seen);
    }
}

/// Reads a little of every part of a node that a row shows.
fn glance(node: &Node) -> u64 {
    let moment = |at: Option<Stamp>| at.map_or(0, |at| at.millis().cast_unsigned());
    let count = |count: usize| count as u64;
    let clocks = &node.clocks;
    let own = [
        u64::from(node.status.is_ended()),
        moment(clocks.created),
        moment(clocks.ended),
        moment(clocks.last_sign),
        node.sums.messages.cost.0.cast_unsigned(),
        u64::from(node.sums.messages.priced),
        u64::from(node.progress.is_some()),
        u64::from(node.agent.is_some()),
        u64::from(node.model.effective.is_some()),
        u64::from(node.attempt),
        count(node.keys.len()),
        count(node.children.len()),
        count(node.attempts.len()),
    ];
    let title = node.title.as_deref().and_then(|title| title.as_bytes().first()).copied().unwrap_or(0);
    let below = node.rollup.as_ref().map_or(0, |rollup| rollup.below.cost.0.cast_unsigned());
    let asked = node.more.as_ref().map_or(0, |more| count(more.questions.len()));
    own.into_iter().fold(u64::from(title) ^ below ^ asked, |seen, part| seen ^ part)
}
