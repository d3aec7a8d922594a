//! What needs a person: questions, proposals, reviews, failures, silence, passed deadlines, spent budgets.
//! Kept by what changed, so that looking costs nothing with a hundred thousand nodes.

use std::collections::BTreeSet;

use crate::model::budget::{BUDGET, Limit, WARN_AT, counted};
use crate::model::delta::Delta;
use crate::model::key::NodeKey;
use crate::model::node::{Node, NodeKind};
use crate::model::status::{Ending, Status, StatusWord, Trouble};
use crate::model::time::Stamp;
use crate::model::worktree::WorkTree;
use crate::model::{Model, NodeIx};

/// Why a node needs a person. The order is that of urgency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// It asks, and waits for the answer.
    Question,
    /// It is proposed, and waits to be approved.
    Approval,
    /// Its result waits to be looked at.
    Review,
    /// Its budget is spent: it stands still until somebody raises it.
    Spent,
    /// It cannot go on by itself.
    Blocked,
    /// It failed, and nobody has dealt with it.
    Failure,
    /// Past its deadline.
    Overdue,
    /// It has nearly spent what it may.
    Budget,
    /// No sign of life.
    Silence,
}

impl Need {
    /// All of them, the most urgent first.
    pub const ALL: [Self; 9] = [
        Self::Question,
        Self::Approval,
        Self::Review,
        Self::Spent,
        Self::Blocked,
        Self::Failure,
        Self::Overdue,
        Self::Budget,
        Self::Silence,
    ];

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Question => "asks",
            Self::Approval => "proposed",
            Self::Review => "review",
            Self::Spent => "spent",
            Self::Blocked => "blocked",
            Self::Failure => "failed",
            Self::Overdue => "overdue",
            Self::Budget => "budget",
            Self::Silence => "silent",
        }
    }

    /// Returns why this node needs somebody, if it does.
    pub fn of(model: &Model, node: &Node) -> Option<Self> {
        if node.more().is_some_and(|more| !more.questions.is_empty()) {
            return Some(Self::Question);
        }
        let asks = node.more().and_then(|more| more.tree.as_deref()).is_some_and(WorkTree::asks);
        let is_failed = matches!(node.status.word(), StatusWord::Failed | StatusWord::TimedOut);
        if asks && node.status.is_ended() && !is_failed {
            return Some(Self::Review);
        }
        match &node.status {
            Status::Offered { lapsed: None } => Some(Self::Approval),
            Status::Review { .. } => Some(Self::Review),
            Status::Paused { why: Some(why) } if **why == *BUDGET => {
                return holds(model, node).then_some(Self::Spent);
            }
            Status::Blocked { .. } => Some(Self::Blocked),
            Status::Ended { how: Ending::Failed { .. } | Ending::TimedOut, .. }
                if !is_told_below(model, node) && !is_past(node) =>
            {
                Some(Self::Failure)
            }
            Status::Running { trouble: Some(Trouble::Overdue { .. }), .. } => Some(Self::Overdue),
            Status::Running { trouble: Some(Trouble::Silent { .. }), .. } => Some(Self::Silence),
            Status::Unknown
            | Status::Queued
            | Status::Offered { .. }
            | Status::Running { .. }
            | Status::Paused { .. }
            | Status::Ended { .. } => None,
        }
        .or_else(|| is_nearly_spent(node).then_some(Self::Budget))
    }
}

/// Returns whether a child says the same failure already: one broken step is one thing to deal with.
fn is_told_below(model: &Model, node: &Node) -> bool {
    node.children().iter().filter_map(|child| model.get(*child)).any(|child| {
        matches!(child.status, Status::Ended { how: Ending::Failed { .. } | Ending::TimedOut, .. })
    })
}

/// Returns whether it is a session of somebody's own whose process is not there: its failure is history.
fn is_past(node: &Node) -> bool {
    let is_native =
        |key: &NodeKey| matches!(key, NodeKey::CliSession(..) | NodeKey::CliAgent(..) | NodeKey::ToolUse(_));
    node.keys.iter().all(is_native)
}

fn is_nearly_spent(node: &Node) -> bool {
    !node.status.is_ended() && gone(node) >= WARN_AT
}

/// Returns whether it is its own budget that it stands still for, or that of all together: what only hangs below
/// such a one needs nobody.
fn holds(model: &Model, node: &Node) -> bool {
    let above = std::iter::successors(node.parent(), |ix| model.get(*ix)?.parent());
    let mut above = above.filter_map(|ix| model.get(ix));
    gone(node) >= 100
        || node.kind == NodeKind::Delegation && !above.any(|above| above.kind == NodeKind::Delegation)
}

/// Returns how many hundredths of its own budget are spent.
fn gone(node: &Node) -> u64 {
    let Some(budget) = node.more().and_then(|more| more.budget.as_deref()) else { return 0 };
    let spent = node.subtree_spend();
    Limit::from(budget).percent(counted(&spent.tokens()), spent.cost)
}

/// All nodes that need somebody, the most urgent first, then those that have waited longest.
#[derive(Debug, Clone, Default)]
pub struct Needs {
    order: BTreeSet<(Need, i64, NodeIx)>,
    known: std::collections::HashMap<NodeIx, (Need, i64)>,
    counts: [usize; Need::ALL.len()],
}

impl Needs {
    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns whether nobody is needed.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns them in order.
    pub fn iter(&self) -> impl Iterator<Item = (Need, NodeIx)> {
        self.order.iter().map(|(need, _, ix)| (*need, *ix))
    }

    /// Returns those with this need, the one that has waited longest first.
    pub fn of(&self, need: Need) -> impl Iterator<Item = NodeIx> {
        let before: usize = self.counts.iter().take(need as usize).sum();
        self.order.iter().skip(before).take(self.count(need)).map(|(.., ix)| *ix)
    }

    /// Returns where a node stands.
    pub fn position(&self, ix: NodeIx) -> Option<usize> {
        let (need, since) = self.known.get(&ix)?;
        Some(self.order.range(..(*need, *since, ix)).count())
    }

    /// Returns how many need the same.
    pub fn count(&self, need: Need) -> usize {
        self.counts.get(need as usize).copied().unwrap_or(0)
    }

    /// Returns why a node needs somebody.
    pub fn get(&self, ix: NodeIx) -> Option<Need> {
        self.known.get(&ix).map(|(need, _)| *need)
    }

    /// Takes in what changed; returns what is new, for a bell.
    pub fn update(&mut self, model: &Model, delta: &Delta) -> Vec<(Need, NodeIx)> {
        for gone in delta.removed.iter().chain(delta.joined.iter().map(|(gone, _)| gone)) {
            self.forget(*gone);
        }
        let mut new = Vec::new();
        for ix in delta.added.iter().chain(&delta.changed).chain(&delta.moved) {
            let need = model.get(*ix).and_then(|node| Some((Need::of(model, node)?, since(node))));
            let before = self.known.get(ix).copied();
            if need == before {
                continue;
            }
            self.forget(*ix);
            if let Some((need, since)) = need {
                self.order.insert((need, since, *ix));
                self.known.insert(*ix, (need, since));
                self.counts.get_mut(need as usize).into_iter().for_each(|count| *count += 1);
                if before.is_none_or(|(before, _)| before != need) {
                    new.push((need, *ix));
                }
            }
        }
        new
    }

    fn forget(&mut self, ix: NodeIx) {
        if let Some((need, since)) = self.known.remove(&ix) {
            self.order.remove(&(need, since, ix));
            self.counts.get_mut(need as usize).into_iter().for_each(|count| *count -= 1);
        }
    }
}

fn since(node: &Node) -> i64 {
    node.clocks.since.map_or(0, Stamp::millis)
}
