//! The running sessions, as the registry has them: the overdue first, then the nearest deadline.

use crate::model::node::Node;
use crate::model::status::StatusWord;
use crate::model::time::Stamp;
use crate::model::{Model, NodeIx};

/// One running session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionRow {
    pub ix: NodeIx,
    pub deadline: Option<Stamp>,
    pub is_overdue: bool,
}

/// Returns the running sessions in order.
pub fn rows(model: &Model) -> Vec<SessionRow> {
    let mut rows: Vec<SessionRow> = model
        .nodes()
        .filter(|(_, node)| is_session(node))
        .map(|(ix, node)| SessionRow {
            ix,
            deadline: node.clocks.finish_by,
            is_overdue: node.status.word() == StatusWord::TimedOut,
        })
        .collect();
    rows.sort_by_key(|row| (!row.is_overdue, row.deadline.is_none(), row.deadline, row.ix));
    rows
}

fn is_session(node: &Node) -> bool {
    let runs = node.attempts.iter().any(|attempt| attempt.session_id.is_some() && attempt.ended_at.is_none());
    !node.status.is_ended() && (runs || node.kind == crate::model::node::NodeKind::Session)
}
