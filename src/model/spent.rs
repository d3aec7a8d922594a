//! What a node paid for: each message, and what they add up to.

use std::sync::Arc;

use super::fact::{Scope, Sent, UsageReport};
use super::name::Name;
use super::sealed::Sealed;
use super::usage::{Spend, Tokens, Usd};

/// A message that was paid for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    pub id: Option<Arc<str>>,
    /// Whether it stands for a whole session, and counts only while no message is known.
    pub is_total: bool,
    /// Whether it is such a total that never counts.
    pub is_paid_elsewhere: bool,
    pub model: Option<Name>,
    pub tokens: Tokens,
    pub cost: Option<Usd>,
    /// Whether the cost is computed from a table of prices; else it is the tool's own figure.
    pub by_table: bool,
}

impl Spent {
    /// Makes it of a report, with the name of its model as `name` has it.
    pub(super) fn of(report: UsageReport, name: impl FnOnce(&str) -> Name) -> Self {
        Self {
            id: report.id,
            is_total: report.scope == Scope::Total,
            is_paid_elsewhere: report.scope == Scope::Total && report.sent == Sent::Elsewhere,
            model: report.model.as_deref().map(name),
            tokens: report.tokens,
            cost: report.cost,
            by_table: report.by_table,
        }
    }

    /// Returns whether it is what somebody says of a whole session, and stands for no message: such may be there beside
    /// messages under a seal.
    pub(super) fn is_beside(&self) -> bool {
        self.is_total && self.id.is_none()
    }

    pub(super) fn spend(&self) -> Spend {
        let spend = Spend::message(self.tokens, self.cost);
        if self.by_table { spend.by_table() } else { spend }
    }
}

/// What the entries of `spent` add up to.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Sums {
    pub messages: Spend,
    /// Boxed: only foreign sources tell totals.
    pub totals: Option<Box<Spend>>,
}

impl Sums {
    pub(super) fn add(&mut self, entry: &Spent) {
        let spend = entry.spend();
        if entry.is_paid_elsewhere {
            return;
        }
        if entry.is_total {
            self.totals.get_or_insert_default().add(&spend);
        } else {
            self.messages.add(&spend);
        }
    }

    pub(super) fn add_sealed(&mut self, sealed: &Sealed) {
        self.messages.add(&sealed.0.spend());
    }

    pub(super) fn subtract_sealed(&mut self, sealed: &Sealed) {
        self.messages.subtract(&sealed.0.spend());
    }

    pub(super) fn subtract(&mut self, entry: &Spent) {
        let spend = entry.spend();
        if entry.is_paid_elsewhere {
            return;
        }
        if entry.is_total {
            self.totals.get_or_insert_default().subtract(&spend);
        } else {
            self.messages.subtract(&spend);
        }
    }
}
