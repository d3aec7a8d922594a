//! Rows of a part of the tree, or of the tree in another order: for filters and sorting. Unlike the window this
//! walks all that it shows, so it is made once for a change and not for a frame.

use std::collections::HashSet;

use super::{Row, TreeView};
use crate::model::{Model, NodeIx};

/// What is shown of the tree.
#[derive(Debug)]
pub enum Part<'a> {
    /// Everything, as it is folded.
    Folded(&'a TreeView),
    /// These nodes, whatever is folded; each must come with all that is above it.
    Only(&'a HashSet<NodeIx>),
}

/// Returns the rows below these roots.
pub fn sift(model: &Model, roots: &[NodeIx], part: &Part<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut stack = Vec::new();
    push(roots, 0, 0, part, &mut stack);
    while let Some((ix, depth, guides)) = stack.pop() {
        let Some(node) = model.get(ix) else { continue };
        let (has_children, is_open) = match part {
            Part::Folded(view) => (!node.children().is_empty(), view.is_open(ix)),
            Part::Only(kept) => (node.children().iter().any(|child| kept.contains(child)), true),
        };
        rows.push(Row { ix, depth, has_children, is_open, guides });
        if has_children && is_open {
            push(node.children(), depth + 1, guides << 1, part, &mut stack);
        }
    }
    rows
}

/// Puts the nodes that are shown on the stack, the first on top.
fn push(nodes: &[NodeIx], depth: usize, guides: u64, part: &Part<'_>, stack: &mut Vec<(NodeIx, usize, u64)>) {
    let is_shown = |ix: &&NodeIx| match part {
        Part::Folded(_) => true,
        Part::Only(kept) => kept.contains(ix),
    };
    let mut later = 0;
    for ix in nodes.iter().rev().filter(is_shown) {
        stack.push((*ix, depth, guides | later));
        later = 1;
    }
}

/// Returns the nodes for which something holds, with all that is above them.
pub fn with_ancestors(model: &Model, holds: impl Fn(NodeIx) -> bool) -> HashSet<NodeIx> {
    let mut kept = HashSet::new();
    for (ix, _) in model.nodes().filter(|(ix, _)| holds(*ix)) {
        kept.insert(ix);
        for above in model.ancestors(ix) {
            if !kept.insert(above) {
                break;
            }
        }
    }
    kept
}
