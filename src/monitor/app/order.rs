//! The roots in another order than that of their coming. Each root's place is computed when something below it
//! changed, and the roots are put in order only when a place did: a step that says what it does costs nothing here.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::needs::Needs;
use super::screens::Sort;
use crate::model::delta::Delta;
use crate::model::status::StatusWord;
use crate::model::time::Stamp;
use crate::model::tree::ordered::Ordered;
use crate::model::usage::Usd;
use crate::model::{Model, NodeIx};

/// What a root is put in order by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// What needs somebody first, then what is live, then by state.
    State(bool, bool, StatusWord),
    Recent(Reverse<Option<Stamp>>),
    Cost(Reverse<(Usd, u64)>),
    Title(Option<String>),
}

impl Key {
    /// Returns what a root is put in order by; `None` where they stay as they came.
    pub fn of(sort: Sort, model: &Model, needs: &Needs, root: NodeIx) -> Option<Self> {
        let node = model.get(root)?;
        Some(match sort {
            Sort::Created => return None,
            Sort::State => {
                let needs_nobody = !model.subtree(root).any(|(ix, _)| needs.get(ix).is_some());
                Self::State(needs_nobody, node.status.is_ended(), node.status.word())
            }
            Sort::Recent => Self::Recent(Reverse(node.clocks.last_sign)),
            Sort::Cost => {
                let spend = node.subtree_spend();
                Self::Cost(Reverse((spend.cost, spend.tokens().total())))
            }
            Sort::Title => Self::Title(node.title.as_deref().map(str::to_lowercase)),
        })
    }
}

/// The roots in order.
#[derive(Debug)]
pub struct Order {
    pub sort: Sort,
    keys: HashMap<NodeIx, Key>,
    pub rows: Ordered,
}

impl Order {
    /// Puts all roots in order.
    pub fn new(
        sort: Sort,
        model: &Model,
        key: impl Fn(NodeIx) -> Option<Key>,
        rows: impl Fn(NodeIx) -> usize,
    ) -> Self {
        let keys = model.roots().filter_map(|root| Some((root, key(root)?))).collect();
        let mut order = Self { sort, keys, rows: Ordered::default() };
        order.arrange(model, rows);
        order
    }

    /// Takes in what changed: `key` is asked for the roots above it, and for no other.
    pub fn update(
        &mut self,
        model: &Model,
        delta: &Delta,
        key: impl Fn(NodeIx) -> Option<Key>,
        rows: impl Fn(NodeIx) -> usize,
    ) {
        let roots = roots_above(model, delta);
        let mut is_other = delta.lists.iter().any(|list| list.parent.is_none());
        if is_other {
            self.keys.retain(|root, _| model.get(*root).is_some_and(|node| node.parent().is_none()));
        }
        for root in &roots {
            let Some(key) = key(*root) else { continue };
            if self.keys.get(root) != Some(&key) {
                self.keys.insert(*root, key);
                is_other = true;
            }
        }
        if is_other {
            self.arrange(model, rows);
        } else {
            for root in roots {
                self.rows.resize(root, rows(root));
            }
        }
    }

    /// Counts the rows of every root anew.
    pub fn refill(&mut self, rows: impl Fn(NodeIx) -> usize) {
        self.rows = Ordered::new(self.rows.roots().to_vec(), rows);
    }

    /// Puts the roots in order by what is known of them; those that are alike stay as they came.
    fn arrange(&mut self, model: &Model, rows: impl Fn(NodeIx) -> usize) {
        let mut roots: Vec<(Option<&Key>, NodeIx)> =
            model.roots().map(|root| (self.keys.get(&root), root)).collect();
        roots.sort_by_key(|(key, _)| *key);
        self.rows = Ordered::new(roots.into_iter().map(|(_, root)| root).collect(), rows);
    }
}

/// Returns the roots of everything that changed.
fn roots_above(model: &Model, delta: &Delta) -> BTreeSet<NodeIx> {
    let listed = delta.lists.iter().filter_map(|list| list.parent.as_ref());
    let kept = delta.joined.iter().map(|(_, kept)| kept);
    let touched = delta.added.iter().chain(&delta.changed).chain(&delta.moved).chain(listed).chain(kept);
    let there = touched.copied().filter(|ix| model.get(*ix).is_some());
    there.map(|ix| root_of(model, ix)).collect()
}

/// Returns the root above a node, or the node itself.
pub fn root_of(model: &Model, ix: NodeIx) -> NodeIx {
    model.ancestors(ix).last().unwrap_or(ix)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::model::event::Event;
    use crate::model::fact::{Action, Fact, NodeFact};
    use crate::model::id::Seq;
    use crate::model::key::SourceId;
    use crate::synth::Fleet;

    #[test]
    fn a_change_asks_for_the_root_above_it_and_for_no_other() {
        let now = Stamp::from_millis(1_790_000_000_000);
        let (mut model, mut facts) = (Model::default(), Vec::new());
        let fleet = Fleet { ended: 40, live: 4, subtasks: 5, seed: 4, now };
        for (seq, (at, body)) in (1..).zip(fleet.events()) {
            crate::source::journal::facts(Event { seq: Seq(seq), at, body }, SourceId(0), &mut facts);
        }
        let _ = model.apply_all(facts);
        let (needs, asked) = (Needs::default(), Cell::new(0));
        let key = |model: &Model, root| {
            asked.set(asked.get() + 1);
            Key::of(Sort::Cost, model, &needs, root)
        };
        let mut order = Order::new(Sort::Cost, &model, |root| key(&model, root), |_| 1);
        assert_eq!(asked.take(), model.roots().len());
        let before = order.rows.roots().to_vec();

        // What is only proposed has no steps yet.
        let step = *model.roots().rev().find_map(|root| model.get(root)?.children().first()).unwrap();
        let keys = model.get(step).unwrap().keys.first().unwrap().clone();
        let says = NodeFact::Active(Action { last: Some("something else".into()), ..Action::default() });
        let delta = model.apply(Fact::node(SourceId(0), Some(now), keys, says));
        assert!(!delta.is_empty());
        order.update(&model, &delta, |root| key(&model, root), |_| 2);
        assert_eq!(asked.take(), 1);
        assert_eq!(order.rows.roots(), before);
        assert_eq!(order.rows.len(), before.len() + 1, "the rows of that root were counted anew");
    }
}
