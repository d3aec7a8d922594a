//! Which delegations a person asked for: by id, by task, by who gave or got it, or what is live.

use crate::model::id::{DelegationId, TaskId};
use crate::model::node::{Node, NodeKind};
use crate::model::record::Record;
use crate::model::{Model, NodeIx};

/// What a delegation must have to be shown; what is `None` does not matter.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The beginning of an id.
    pub id: Option<String>,
    pub task: Option<String>,
    pub from: Option<String>,
    pub to: Option<String>,
    pub only_active: bool,
}

/// An id that names no delegation, or several.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotOne {
    #[error("no delegation's id begins with {0:?}.\n`quarterdeck status` lists them.")]
    None(String),
    #[error("{count} delegations' ids begin with {id:?}: {}.\nType more of it.", names.join(", "))]
    Several { id: String, count: usize, names: Vec<String> },
}

impl Selection {
    /// Returns whether certain delegations are asked for by name.
    pub fn is_pointed(&self) -> bool {
        self.id.is_some() || self.task.is_some()
    }

    /// Returns whether a record is one of those.
    pub fn wants(&self, record: &Record) -> bool {
        let id = record.delegation_id.as_ref().map(DelegationId::as_str).unwrap_or_default();
        let task = record.task_id.as_ref().map(TaskId::as_str);
        self.id.as_deref().is_some_and(|wanted| id.starts_with(wanted))
            || (self.id.is_none() && self.task.is_some() && self.task.as_deref() == task)
    }
}

/// Returns the nodes to show, each with all below it, in the order of the tree.
pub fn select(model: &Model, selection: &Selection) -> Result<Vec<NodeIx>, NotOne> {
    let fits = |ix: &NodeIx| model.get(*ix).is_some_and(|node| fits(model, *ix, node, selection));
    if let Some(id) = &selection.id {
        return Ok(vec![one(model, id)?].into_iter().filter(fits).collect());
    }
    let mut chosen = Vec::new();
    let mut stack: Vec<NodeIx> = model.roots().rev().collect();
    while let Some(ix) = stack.pop() {
        if fits(&ix) {
            // Below it everything is shown anyway.
            chosen.push(ix);
        } else if let Some(node) = model.get(ix) {
            stack.extend(node.children().iter().rev());
        }
    }
    Ok(chosen)
}

/// Returns the one delegation, or other top node, whose id begins so.
fn one(model: &Model, id: &str) -> Result<NodeIx, NotOne> {
    let tops = model.roots().flat_map(|root| model.subtree(root)).filter(|(_, node)| is_top(node));
    let alike =
        |node: &Node, fits: fn(&str, &str) -> bool| node.keys.iter().any(|key| fits(&key.to_string(), id));
    let like: Vec<(NodeIx, &Node)> =
        tops.filter(|(_, node)| alike(node, |key, id| key.starts_with(id))).collect();
    let exact = like.iter().find(|(_, node)| alike(node, |key, id| key == id));
    match (exact, like.as_slice()) {
        (Some((ix, _)), _) | (None, [(ix, _)]) => Ok(*ix),
        (None, []) => Err(NotOne::None(id.to_owned())),
        (None, several) => {
            let names = several.iter().take(8).map(|(ix, _)| model.name_of(*ix)).collect();
            Err(NotOne::Several { id: id.to_owned(), count: several.len(), names })
        }
    }
}

fn is_top(node: &Node) -> bool {
    node.kind == NodeKind::Delegation || node.parent().is_none()
}

fn fits(model: &Model, ix: NodeIx, node: &Node, selection: &Selection) -> bool {
    let handoff = node.more().and_then(|more| more.handoff.as_deref());
    let is = |wanted: &Option<String>, has: Option<&str>| {
        wanted.as_deref().is_none_or(|wanted| has.is_some_and(|has| has.eq_ignore_ascii_case(wanted)))
    };
    is_top(node)
        && is(&selection.task, node.more().and_then(|more| more.task.as_ref()).map(TaskId::as_str))
        && is(&selection.from, handoff.and_then(|handoff| handoff.from_agent.as_deref()))
        && is(
            &selection.to,
            handoff.and_then(|handoff| handoff.to_agent.as_deref()).or(node.agent.as_deref()),
        )
        && (!selection.only_active || model.subtree(ix).any(|(_, node)| node.status.word().is_live()))
}
