//! Tokens and money: each message counts once, whoever tells it and however often.

use std::iter::Peekable;
use std::sync::Arc;

use super::Told;
use crate::model::delta::Delta;
use crate::model::fact::{Scope, Sent, UsageReport};
use crate::model::node::{Node, Spent, push_tight};
use crate::model::usage::{Spend, Usd};
use crate::model::{Model, NodeIx};

impl Model {
    /// Books what a message used.
    ///
    /// A message that is known already is a repeat: of each count the larger is right, since streams tell
    /// a message again and again, ever longer. It stays with the node that it was first told of, unless
    /// now one below that node claims it: the agent that really sent it, not the session around it. A source
    /// that knows who sent it says so: of a conversation and its copies, the one that was first, be the copies above
    /// it or below.
    pub(super) fn use_tokens(&mut self, ix: NodeIx, report: UsageReport, told: Told, delta: &mut Delta) {
        self.book_report(ix, report, delta);
        if let Some(at) = told.at {
            self.sign(ix, at, delta);
        }
    }

    pub(super) fn book_report(&mut self, ix: NodeIx, report: UsageReport, delta: &mut Delta) {
        self.open_for(&report, delta);
        let sent = report.sent;
        let fresh = self.spent(report);
        match self.booked(ix, &fresh) {
            Some((owner, place)) => {
                let is_above = |low: NodeIx, high: NodeIx| self.ancestors(low).any(|above| above == high);
                let moves = owner != ix
                    && match sent {
                        Sent::Here => true,
                        Sent::Elsewhere => false,
                        Sent::Unknown => is_above(ix, owner),
                    };
                self.repeat(owner, place, &fresh, delta);
                if moves {
                    self.move_entry(owner, place, ix, delta);
                }
            }
            None => self.book(ix, fresh, delta),
        }
    }

    /// Books what many messages used, as one after the other would be. Of those that are new, all that follow each
    /// other change what is above once.
    pub(super) fn use_all(&mut self, ix: NodeIx, reports: Vec<UsageReport>, told: Told, delta: &mut Delta) {
        self.book_all(ix, reports, delta);
        if let Some(at) = told.at {
            self.sign(ix, at, delta);
        }
    }

    pub(super) fn book_all(&mut self, ix: NodeIx, reports: Vec<UsageReport>, delta: &mut Delta) {
        self.ledger.reserve(reports.len());
        if let Some(node) = self.nodes.get_mut(ix) {
            node.spent.reserve_exact(reports.len());
        }
        let mut reports = reports.into_iter().peekable();
        while reports.peek().is_some() {
            self.book_new(ix, &mut reports, delta);
            if let Some(report) = reports.next() {
                self.book_report(ix, report, delta);
            }
        }
    }

    /// Books messages up to the first that may be known already.
    fn book_new(
        &mut self,
        ix: NodeIx,
        reports: &mut Peekable<impl Iterator<Item = UsageReport>>,
        delta: &mut Delta,
    ) {
        if !reports.peek().is_some_and(|report| self.is_new(report)) {
            return;
        }
        self.open_sealed(ix, delta);
        let Some(before) = self.get(ix).map(Node::own_spend) else { return };
        while let Some(report) = reports.next_if(|report| self.is_new(report)) {
            self.book_unseen(ix, report);
        }
        self.spend_changed(ix, before, delta);
    }

    /// Returns whether a report is of a message that nobody told yet.
    fn is_new(&self, report: &UsageReport) -> bool {
        let is_unknown = report.id.as_ref().is_some_and(|id| !self.has_booked(id));
        is_unknown && report.scope == Scope::Message && self.where_sealed(report).is_none()
    }

    /// Returns whether a message is booked by itself.
    pub(super) fn has_booked(&self, id: &str) -> bool {
        self.ledger.find(id, &self.nodes).is_some()
    }

    /// Books a message that nobody told yet; what is above its node does not know of it then.
    pub(super) fn book_unseen(&mut self, ix: NodeIx, report: UsageReport) {
        let entry = self.spent(report);
        let Some(node) = self.nodes.get_mut(ix) else { return };
        if let Some(id) = &entry.id {
            self.ledger.insert(id, ix, node.spent.len());
        }
        node.sums.add(&entry);
        push_tight(&mut node.spent, entry);
    }

    /// Returns a report as it is booked.
    fn spent(&mut self, report: UsageReport) -> Spent {
        Spent::of(report, |name| self.intern(name))
    }

    /// Returns where an entry is booked already. Of totals without an id a node has one for each model, since
    /// each tells all of the session so far.
    fn booked(&self, ix: NodeIx, fresh: &Spent) -> Option<(NodeIx, usize)> {
        if let Some(id) = &fresh.id {
            return self.ledger.find(id, &self.nodes);
        }
        let same = |known: &Spent| {
            let is_alike = known.is_paid_elsewhere == fresh.is_paid_elsewhere;
            known.is_beside() && known.model == fresh.model && is_alike
        };
        let place = self.get(ix).filter(|_| fresh.is_total)?.spent.iter().position(same)?;
        Some((ix, place))
    }

    /// Books what a node spent that turned out to be this one.
    pub(super) fn book_joined(&mut self, ix: NodeIx, entry: Spent, delta: &mut Delta) {
        match self.booked(ix, &entry).filter(|_| entry.id.is_none()) {
            Some((_, place)) => self.repeat(ix, place, &entry, delta),
            None => self.book(ix, entry, delta),
        }
    }

    /// Adds an entry to a node, and its spend to all above.
    fn book(&mut self, ix: NodeIx, entry: Spent, delta: &mut Delta) {
        // A total is no message: those need not be looked at for it.
        if !entry.is_beside() {
            self.open_sealed(ix, delta);
        }
        self.change_spend(ix, delta, |node, place| {
            node.sums.add(&entry);
            place.clone_from(&entry.id);
            push_tight(&mut node.spent, entry);
        });
    }

    /// Takes in what a known message is said to have used now.
    fn repeat(&mut self, owner: NodeIx, place: usize, fresh: &Spent, delta: &mut Delta) {
        self.change_spend(owner, delta, |node, _| {
            let Some(known) = node.spent.get(place).cloned() else { return };
            let (cost, by_table) = dearer(&known, fresh);
            let entry = Spent {
                id: known.id.clone(),
                is_total: known.is_total && fresh.is_total,
                is_paid_elsewhere: known.is_paid_elsewhere && fresh.is_paid_elsewhere,
                model: known.model.clone().or_else(|| fresh.model.clone()),
                tokens: known.tokens.max(&fresh.tokens),
                cost,
                by_table,
            };
            node.sums.subtract(&known);
            node.sums.add(&entry);
            if let Some(slot) = node.spent.get_mut(place) {
                *slot = entry;
            }
        });
    }

    fn move_entry(&mut self, owner: NodeIx, place: usize, to: NodeIx, delta: &mut Delta) {
        let mut moved = None;
        self.change_spend(owner, delta, |node, _| {
            if place < node.spent.len() {
                let entry = node.spent.swap_remove(place);
                node.sums.subtract(&entry);
                moved = Some(entry);
            }
        });
        let Some(entry) = moved else { return };
        entry.id.iter().for_each(|id| self.ledger.remove(id, owner, place));
        // The last entry took the place of the one that left.
        let left = self.nodes.get(owner).map(|node| node.spent.as_slice()).unwrap_or_default();
        if let Some(id) = left.get(place).and_then(|entry| entry.id.as_ref()) {
            self.ledger.moved(id, owner, left.len(), place);
        }
        self.book(to, entry, delta);
    }

    /// Changes what a node spent, then every roll-up above by the difference.
    fn change_spend(
        &mut self,
        ix: NodeIx,
        delta: &mut Delta,
        change: impl FnOnce(&mut Node, &mut Option<Arc<str>>),
    ) {
        let Some(node) = self.nodes.get_mut(ix) else { return };
        let before = node.own_spend();
        let mut booked = None;
        change(node, &mut booked);
        if let Some(id) = booked {
            self.ledger.insert(&id, ix, node.spent.len().saturating_sub(1));
        }
        self.spend_changed(ix, before, delta);
    }

    /// Changes every roll-up above by what a node spent since.
    pub(super) fn spend_changed(&mut self, ix: NodeIx, before: Spend, delta: &mut Delta) {
        let Some(node) = self.get(ix) else { return };
        let (after, parent) = (node.own_spend(), node.parent);
        if before != after {
            delta.touch(ix);
            self.each_above(ix, parent, delta, |rollup| {
                rollup.below.subtract(&before);
                rollup.below.add(&after);
            });
        }
    }
}

/// Returns the cost of a message that was told twice, and whether it is by a table: what a tool says itself goes before
/// what was computed, and of two of a kind the larger is right, as of its tokens.
fn dearer(known: &Spent, fresh: &Spent) -> (Option<Usd>, bool) {
    let own = |entry: &Spent| entry.cost.filter(|_| !entry.by_table);
    if let Some(own) = own(known).max(own(fresh)) {
        return (Some(own), false);
    }
    let computed = known.cost.max(fresh.cost);
    (computed, computed.is_some())
}
