//! Which delegations a person asked for: by id, by task, by who gave or got it, or what is live.

use crate::model::id::TaskId;
use crate::model::node::{Node, NodeKind};
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
    #[error("{} delegations' ids begin with {id:?}: {}.\nType more of it.", names.len(), names.join(", "))]
    Several { id: String, names: Vec<String> },
}

/// Returns the nodes to show, each with all below it, in the order of the tree.
pub fn select(model: &Model, selection: &Selection) -> Result<Vec<NodeIx>, NotOne> {
    let tops = model.roots().flat_map(|root| tops(model, root, selection));
    let chosen: Vec<NodeIx> = tops.collect();
    let Some(id) = &selection.id else { return Ok(chosen) };
    let exact: Vec<NodeIx> =
        chosen.iter().copied().filter(|ix| names(model, *ix).iter().any(|name| name == id)).collect();
    match (exact.as_slice(), chosen.as_slice()) {
        ([one], _) | (_, [one]) => Ok(vec![*one]),
        (_, []) => Err(NotOne::None(id.clone())),
        (_, several) => {
            let names = several.iter().take(8).map(|ix| model.name_of(*ix)).collect();
            Err(NotOne::Several { id: id.clone(), names })
        }
    }
}

/// Returns the highest nodes of a tree that were asked for: below them everything is shown anyway.
fn tops(model: &Model, root: NodeIx, selection: &Selection) -> Vec<NodeIx> {
    let mut found = Vec::new();
    let mut stack = vec![root];
    while let Some(ix) = stack.pop() {
        let Some(node) = model.get(ix) else { continue };
        if fits(model, ix, node, selection) {
            found.push(ix);
        } else {
            stack.extend(node.children().iter().rev());
        }
    }
    found
}

fn fits(model: &Model, ix: NodeIx, node: &Node, selection: &Selection) -> bool {
    let top = node.kind == NodeKind::Delegation || node.parent().is_none();
    let handoff = node.more().and_then(|more| more.handoff.as_deref());
    let is = |wanted: &Option<String>, has: Option<&str>| {
        wanted.as_deref().is_none_or(|wanted| has.is_some_and(|has| has.eq_ignore_ascii_case(wanted)))
    };
    top && selection.id.as_ref().is_none_or(|id| names(model, ix).iter().any(|name| name.starts_with(id)))
        && is(&selection.task, node.more().and_then(|more| more.task.as_ref()).map(TaskId::as_str))
        && is(&selection.from, handoff.and_then(|handoff| handoff.from_agent.as_deref()))
        && is(
            &selection.to,
            handoff.and_then(|handoff| handoff.to_agent.as_deref()).or(node.agent.as_deref()),
        )
        && (!selection.only_active || model.subtree(ix).any(|(_, node)| node.status.word().is_live()))
}

fn names(model: &Model, ix: NodeIx) -> Vec<String> {
    model.get(ix).map(|node| node.keys.iter().map(ToString::to_string).collect()).unwrap_or_default()
}
