//! Facts that do not fit: counted for good, and the last of them kept so that a person can look.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::time::Stamp;

/// How many are kept in full; the counts go on.
const KEPT: usize = 256;

/// In which way a fact does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Misfit {
    /// It is older than what the same source told already.
    OutOfOrder,
    /// It says that something goes on that has ended.
    AfterEnd,
    /// It belongs to an attempt that another one has followed.
    OldAttempt,
    /// It hangs a node under itself or under one of its descendants.
    Cycle,
    /// It gives a node a second parent that is less trusted than the first.
    SecondParent,
    /// It names two things as one that cannot be one.
    Identity,
    /// A number cannot be: more done than there is, an end before the start.
    Nonsense,
    /// An event of an unknown type, or with data that does not fit its type.
    Unreadable,
    /// It names a command that nobody accepted.
    UnknownCommand,
}

/// One fact that did not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomaly {
    pub misfit: Misfit,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Stamp>,
    /// What the fact was about.
    pub about: Box<str>,
    /// What it said, and why that does not fit.
    pub what: Box<str>,
}

/// All anomalies of a model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Anomalies {
    /// How many of each kind there were.
    pub counts: BTreeMap<Misfit, u64>,
    /// The last of them, oldest first.
    pub recent: VecDeque<Anomaly>,
}

impl Anomalies {
    /// Keeps one.
    pub fn push(&mut self, anomaly: Anomaly) {
        *self.counts.entry(anomaly.misfit).or_default() += 1;
        if self.recent.len() == KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(anomaly);
    }

    /// Returns how many there were in all.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }
}
