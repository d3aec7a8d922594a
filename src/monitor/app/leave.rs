//! What is left in the scrollback when the monitor is closed: the tree of what is live and of what ended lately.

use std::time::Duration;

use crate::model::node::Node;
use crate::model::time::Stamp;
use crate::model::{Model, NodeIx};
use crate::report::place::Names;
use crate::report::text;

/// What ended in the last hour is still of interest.
const RECENT: Duration = Duration::from_hours(1);

/// Returns the last tree, its projects called by these names, no line wider than this.
pub fn last_tree(model: &Model, names: &Names, now: Stamp, within: usize) -> String {
    let kept: Vec<NodeIx> =
        model.roots().filter(|ix| model.get(*ix).is_some_and(|node| is_worth_keeping(node, now))).collect();
    text::tree_within(model, &kept, names, now, within)
}

/// Of what is over, that which ended lately; where nobody told when, it may have been just now.
fn is_worth_keeping(node: &Node, now: Stamp) -> bool {
    let ended = node.clocks.ended.or(node.clocks.since);
    !node.status.is_ended() || ended.is_none_or(|at| now.since(at) < RECENT)
}
