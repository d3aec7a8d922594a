//! Messages that are booked as one sum, until one of them is told again: then each is booked as if it had been told
//! alone. Nobody can tell the one from the other by what a model shows.

use hashbrown::hash_map::Entry;

use super::Told;
use crate::model::delta::Delta;
use crate::model::fact::UsageReport;
use crate::model::node::push_tight;
use crate::model::sealed::{Sealed, mark};
use crate::model::{Model, NodeIx};

impl Model {
    /// Books messages as their sum, if none of them is known, else one by one.
    pub(super) fn use_sealed(&mut self, ix: NodeIx, sealed: Sealed, told: Told, delta: &mut Delta) {
        self.book_sealed(ix, sealed, delta);
        if let Some(at) = told.at {
            self.sign(ix, at, delta);
        }
    }

    fn book_sealed(&mut self, ix: NodeIx, sealed: Sealed, delta: &mut Delta) {
        let Some(node) = self.get(ix) else { return };
        if node.sealed.contains(&sealed) {
            return;
        }
        // Either all of a node's messages are under seals or none: so they stay in the order in which they came. What was
        // told of the whole session before them counts as one.
        if !(node.spent.is_empty() && self.seal(ix, &sealed)) {
            return self.book_all(ix, sealed.0.open(), delta);
        }
        let Some(node) = self.nodes.get_mut(ix) else { return };
        let before = node.own_spend();
        node.sums.add_sealed(&sealed);
        push_tight(&mut node.sealed, sealed);
        self.spend_changed(ix, before, delta);
    }

    /// Notes where the messages are booked; returns false, and notes nothing, if one of them is booked already.
    fn seal(&mut self, ix: NodeIx, sealed: &Sealed) -> bool {
        if self.ledger.len() > 0 && sealed.0.ids().any(|id| self.has_booked(id)) {
            return false;
        }
        self.sealed.reserve(usize::try_from(sealed.0.count()).unwrap_or(0));
        for (nth, mark) in sealed.0.marks().enumerate() {
            match self.sealed.entry(mark) {
                Entry::Vacant(place) => drop(place.insert(ix)),
                Entry::Occupied(_) => {
                    for mark in sealed.0.marks().take(nth) {
                        self.sealed.remove(&mark);
                    }
                    return false;
                }
            }
        }
        true
    }

    /// Books one by one what is sealed and may have the message that is spoken of.
    pub(super) fn open_for(&mut self, report: &UsageReport, delta: &mut Delta) {
        if let Some(owner) = self.where_sealed(report) {
            self.open_sealed(owner, delta);
        }
    }

    /// Returns which node may have a message under a seal.
    pub(super) fn where_sealed(&self, report: &UsageReport) -> Option<NodeIx> {
        let id = report.id.as_deref().filter(|_| !self.sealed.is_empty())?;
        self.sealed.get(&mark(id)).copied()
    }

    /// Books one by one what a node has under seals.
    pub(super) fn open_sealed(&mut self, ix: NodeIx, delta: &mut Delta) {
        let Some(node) = self.nodes.get_mut(ix).filter(|node| !node.sealed.is_empty()) else { return };
        let before = node.own_spend();
        let list = std::mem::take(&mut node.sealed);
        // What was told beside them came after them.
        let beside = std::mem::take(&mut node.spent);
        for sealed in &list {
            node.sums.subtract_sealed(sealed);
        }
        let mut odd = Vec::new();
        for sealed in list {
            self.unmark(&sealed);
            let reports = sealed.0.open();
            self.ledger.reserve(reports.len());
            for report in reports {
                match report.id.as_ref().filter(|id| !self.has_booked(id)) {
                    Some(_) => self.book_unseen(ix, report),
                    None => odd.push(report),
                }
            }
        }
        if let Some(node) = self.nodes.get_mut(ix) {
            node.spent.extend(beside);
        }
        self.spend_changed(ix, before, delta);
        // Who sealed messages that stand for others broke his word; each is still counted once.
        for report in odd {
            self.book_report(ix, report, delta);
        }
    }

    /// Forgets where messages are that are not under a seal any more.
    pub(super) fn unmark(&mut self, sealed: &Sealed) {
        for mark in sealed.0.marks() {
            self.sealed.remove(&mark);
        }
    }

    /// Books what a node has under seals that turned out to be another one.
    pub(super) fn join_sealed(&mut self, keep: NodeIx, list: Vec<Sealed>, delta: &mut Delta) {
        for sealed in &list {
            self.unmark(sealed);
        }
        for sealed in list {
            self.book_sealed(keep, sealed, delta);
        }
    }
}
