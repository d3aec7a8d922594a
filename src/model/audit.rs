//! A check of the whole model against itself: everything that is kept by adding and taking away is
//! computed afresh and compared.
//!
//! It costs as much as the model is large. Tests run it after every fact, `doctor` when asked to.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::advance::Alarm;
use super::apply::patience::patience_of;
use super::node::{Node, Spent, Sums};
use super::rollup::Rollup;
use super::sealed::mark;
use super::usage::Spend;
use super::{Model, NodeIx};

type Verdict = Result<(), String>;

impl Model {
    /// Returns what the model contradicts itself in, if anything.
    pub fn audit(&self) -> Verdict {
        self.audit_keys()?;
        self.audit_lists()?;
        self.audit_rollups()?;
        self.audit_ledger()?;
        self.audit_alarms()?;
        self.audit_receipts()?;
        self.nodes().try_for_each(|(ix, node)| self.audit_node(ix, node))
    }

    /// A key leads to the node that has it, and there are no others.
    fn audit_keys(&self) -> Verdict {
        let mut count = 0;
        for (ix, node) in self.nodes() {
            count += node.keys.len();
            ensure(!node.keys.is_empty(), || format!("{ix:?} has no key"))?;
            for key in &node.keys {
                ensure(self.find(key) == Some(ix), || format!("{key} leads to another node"))?;
            }
        }
        ensure(count == self.by_key.len(), || "a key leads nowhere".into())
    }

    /// Siblings stand in their order, know their parent, and every node is reached exactly once.
    fn audit_lists(&self) -> Verdict {
        let mut reached = 0;
        let mut lists: Vec<(Option<NodeIx>, Vec<NodeIx>)> = vec![(None, self.roots().collect())];
        while let Some((parent, list)) = lists.pop() {
            reached += list.len();
            // More than there are: some are reached twice, or for ever.
            ensure(reached <= self.len(), || "a node is reached twice".into())?;
            let mut before = None;
            for ix in list {
                let node = self.get(ix).ok_or_else(|| format!("{ix:?} is listed and gone"))?;
                let name = || self.name_of(ix);
                ensure(node.parent == parent, || format!("{} is listed under another", name()))?;
                ensure(before < Some(node.place()), || format!("{} is out of place", name()))?;
                before = Some(node.place());
                lists.push((Some(ix), node.children.clone()));
            }
        }
        ensure(reached == self.len(), || "a node hangs under no root".into())
    }

    /// What a node says of all below it is what they add up to.
    fn audit_rollups(&self) -> Verdict {
        let mut order: Vec<NodeIx> = Vec::with_capacity(self.len());
        for root in self.roots() {
            order.extend(self.subtree(root).map(|(ix, _)| ix));
        }
        let mut fresh: HashMap<NodeIx, (Rollup, Spend)> = HashMap::new();
        for ix in order.into_iter().rev() {
            let Some(node) = self.get(ix) else { continue };
            let mut rollup = Rollup::default();
            for child in &node.children {
                let (Some(child), Some((below, spend))) = (self.get(*child), fresh.remove(child)) else {
                    continue;
                };
                let word = child.status.word();
                rollup.below.add(&spend);
                rollup.descendants.add(&below.descendants);
                rollup.descendants.plus(word, 1);
                rollup.add_child(below.height(), word);
            }
            let expected = (!node.children.is_empty()).then_some(&rollup);
            ensure(node.rollup() == expected, || {
                format!("{} adds up to {:?}, not {expected:?}", self.name_of(ix), node.rollup())
            })?;
            let by_model = node.own_by_model().sum();
            ensure(by_model == node.own_spend(), || {
                format!("{} spent {by_model:?} by its models", self.name_of(ix))
            })?;
            let mut spend = node.own_spend();
            spend.add(&rollup.below);
            fresh.insert(ix, (rollup, spend));
        }
        Ok(())
    }

    /// Each message is booked in one place, and the ledger knows it.
    fn audit_ledger(&self) -> Verdict {
        let (mut count, mut sealed) = (0, 0);
        for (ix, node) in self.nodes() {
            let mut sums = Sums::default();
            ensure(node.spent.iter().all(Spent::is_beside) || node.sealed.is_empty(), || {
                format!("{} has messages with and without a seal", self.name_of(ix))
            })?;
            let is_sealed = |entry: &&Spent| !node.sealed.is_empty() && !entry.is_beside();
            for entry in node.messages().iter().filter(is_sealed) {
                sums.add(entry);
                let id = entry.id.as_deref().unwrap_or_default();
                sealed += 1;
                let is_marked =
                    self.sealed.get(&mark(id)) == Some(&ix) && self.ledger.find(id, &self.nodes).is_none();
                ensure(is_marked, || format!("sealed message {id} is lost"))?;
            }
            for (place, entry) in node.spent.iter().enumerate() {
                sums.add(entry);
                let Some(id) = &entry.id else { continue };
                count += 1;
                ensure(self.ledger.find(id, &self.nodes) == Some((ix, place)), || {
                    format!("message {id} is lost")
                })?;
            }
            let same = sums.messages == node.sums.messages
                && sums.totals.unwrap_or_default() == node.sums.totals.clone().unwrap_or_default();
            ensure(same, || format!("{} did not spend {:?}", self.name_of(ix), node.sums))?;
        }
        let is_all = count == self.ledger.len() && sealed == self.sealed.len();
        ensure(is_all, || "a message is booked nowhere".into())
    }

    /// Whatever time alone will change has an alarm that rings in time.
    fn audit_alarms(&self) -> Verdict {
        let set: BTreeSet<_> = self.alarms.iter().map(|Reverse((at, alarm))| (at, alarm)).collect();
        for (ix, node) in self.nodes() {
            let Some((due, _)) = self.next(node) else { continue };
            let rings = node.clocks.alarm.filter(|at| *at <= due);
            ensure(rings.is_some_and(|at| set.contains(&(&at, &Alarm::Node(ix)))), || {
                format!("{} has no alarm for {due}", self.name_of(ix))
            })?;
        }
        Ok(())
    }

    fn audit_receipts(&self) -> Verdict {
        let ordered: BTreeSet<_> = self.receipt_order.iter().collect();
        let same = ordered.len() == self.receipt_order.len()
            && ordered.len() == self.receipts.len()
            && self.receipts.iter().all(|(id, receipt)| ordered.contains(id) && receipt.command_id == *id);
        ensure(same, || "receipts and their order differ".into())
    }

    /// Its state is that of its most trusted claim, and no clock or count is behind what it stands for.
    fn audit_node(&self, ix: NodeIx, node: &Node) -> Verdict {
        let name = || self.name_of(ix);
        let now = self.in_force(ix, node);
        let (told, is_held) = now.map(|now| (now.status, now.is_held)).unwrap_or_default();
        ensure(node.status.as_told() == told, || format!("{} is {:?}, not {told:?}", name(), node.status))?;
        ensure(node.is_held == is_held, || format!("{} is held: {}, not {is_held}", name(), node.is_held))?;
        let said = patience_of(node).into_iter().min_by_key(|said| self.how_patient(said));
        ensure(said.map(|(_, millis)| millis) == node.clocks.may_sleep, || {
            format!("{} may be silent for {:?}, not {said:?}", name(), node.clocks.may_sleep)
        })?;
        let sign = node.clocks.last_sign;
        let parent = node.parent.and_then(|parent| self.get(parent));
        ensure(parent.is_none_or(|parent| parent.clocks.last_sign >= sign), || {
            format!("{} gave a sign of life that its parent did not", name())
        })?;
        let claimed = node.claims.iter().map(|claim| claim.attempt);
        let tried = node.attempts.iter().map(|attempt| attempt.attempt);
        ensure(claimed.chain(tried).all(|attempt| attempt <= node.attempt), || {
            format!("{} is at attempt {}, and a later one is known", name(), node.attempt)
        })?;
        let receipts = node.more().map(|more| more.receipts.as_slice()).unwrap_or_default();
        ensure(receipts.iter().all(|id| self.receipts.contains_key(id)), || {
            format!("{} has a receipt that is gone", name())
        })?;
        let mut claimants: Vec<_> = node.claims.iter().map(|claim| claim.source).collect();
        claimants.sort_unstable();
        ensure(claimants.is_sorted_by(|one, two| one < two), || format!("{} has a claim twice", name()))
    }
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(what()) }
}
