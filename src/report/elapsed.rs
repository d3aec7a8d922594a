//! How long something has run, the same on screen and in text.

use std::time::Duration;

use crate::model::node::{Node, NodeKind};
use crate::model::status::Status;
use crate::model::time::Stamp;

/// Returns how long it has run or ran. The clock stands while it is paused, idle or waits for an answer.
pub fn elapsed(node: &Node, now: Stamp) -> Option<Duration> {
    let stood = match &node.status {
        Status::Ended { .. } => return node.clocks.started.zip(node.clocks.ended).map(|(a, b)| b.since(a)),
        Status::Paused { .. } => node.clocks.since,
        // An idle one.
        Status::Queued if node.kind == NodeKind::Session => node.clocks.since,
        Status::Unknown
        | Status::Queued
        | Status::Offered { .. }
        | Status::Running { .. }
        | Status::Blocked { .. }
        | Status::Review { .. } => asked(node),
    };
    node.clocks.started.map(|start| node.clocks.ended.or(stood).unwrap_or(now).since(start))
}

/// Returns since when it waits for an answer.
pub fn asked(node: &Node) -> Option<Stamp> {
    node.more()?.questions.iter().filter_map(|question| question.asked_at).min()
}
