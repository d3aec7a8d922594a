//! Which nodes fold by themselves: what is over folds unless something below it goes on, what works, fails or waits
//! opens. A node that a person folded or opened stays as that person left it.

use std::collections::HashSet;

use super::tree::Tree;
use crate::model::delta::Delta;
use crate::model::node::Node;
use crate::model::status::{StatusWord, WORDS};
use crate::model::tree::Fold;
use crate::model::{Model, NodeIx};

/// How the tree folds by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Whether what only waits for its turn is open too (`expandProgressTree`).
    pub expand: bool,
    /// Whether what is done folds (`autoCollapseCompleted`).
    pub collapse_done: bool,
    /// One line for each delegation (`compactMode`).
    pub compact: bool,
}

impl Policy {
    /// Returns how a node folds by itself; `None` where it stays as it is.
    fn wants(self, node: &Node) -> Option<Fold> {
        let word = node.status.word();
        let below = node.rollup().map(|rollup| rollup.descendants);
        let has_below = |which: fn(StatusWord) -> bool| {
            let has = |word| which(word) && below.is_some_and(|below| below.of(word) > 0);
            WORDS.into_iter().any(|(word, _)| has(word))
        };
        if self.compact || (self.collapse_done && is_done(word) && !has_below(goes_on)) {
            return Some(Fold::Closed);
        }
        if self.expand || stirs(word) || has_below(stirs) {
            return Some(Fold::Open);
        }
        (!is_done(word)).then_some(Fold::Closed)
    }
}

fn is_done(word: StatusWord) -> bool {
    matches!(word, StatusWord::Done | StatusWord::Skipped | StatusWord::Cancelled)
}

/// Returns whether something in this state is worth seeing: it works, failed, or waits for somebody.
fn stirs(word: StatusWord) -> bool {
    !is_done(word) && !matches!(word, StatusWord::Queued | StatusWord::Unknown)
}

/// Returns whether something in this state can still change by itself, or by what somebody does.
fn goes_on(word: StatusWord) -> bool {
    stirs(word) && word.is_live() && word != StatusWord::Stale
}

/// The nodes that a person folded or opened.
#[derive(Debug, Default)]
pub struct Folds {
    touched: HashSet<NodeIx>,
}

impl Folds {
    /// Notes that a person decided on this node.
    pub fn touch(&mut self, ix: NodeIx) {
        self.touched.insert(ix);
    }

    /// Forgets what was decided on single nodes.
    pub fn clear(&mut self) {
        self.touched.clear();
    }

    /// Folds and opens what changed.
    pub fn update(&mut self, policy: Policy, tree: &mut Tree, model: &Model, delta: &Delta) {
        for gone in &delta.removed {
            self.touched.remove(gone);
        }
        let listed = delta.lists.iter().filter_map(|list| list.parent.as_ref());
        for ix in delta.added.iter().chain(&delta.changed).chain(listed) {
            let Some(node) = model.get(*ix).filter(|node| !node.children().is_empty()) else { continue };
            let Some(fold) = policy.wants(node).filter(|_| !self.touched.contains(ix)) else { continue };
            if tree.is_open(*ix) != (fold == Fold::Open) {
                tree.fold(model, *ix, fold);
            }
        }
    }

    /// Folds and opens everything anew, after the settings changed.
    pub fn apply(&mut self, policy: Policy, tree: &mut Tree, model: &Model) {
        self.clear();
        for (ix, node) in model.nodes().filter(|(_, node)| !node.children().is_empty()) {
            let Some(fold) = policy.wants(node) else { continue };
            if tree.is_open(ix) != (fold == Fold::Open) {
                tree.fold(model, ix, fold);
            }
        }
    }
}
