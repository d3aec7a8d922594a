//! What follows from time alone: offers that lapse, deadlines that pass, silence, receipts that are due.
//!
//! A heap holds the next instant at which something can change, so that advancing costs what changes,
//! not what is there. A node has at most one alarm that counts; when it rings, the node is looked at as
//! it is then, and gets its next alarm. So a sign of life needs no new alarm: the old one rings, finds
//! that it is not time yet, and is set again.

use std::cmp::Reverse;
use std::time::Duration;

use super::command::ReceiptState;
use super::delta::Delta;
use super::id::CommandId;
use super::node::Node;
use super::status::{Status, Trouble};
use super::time::Stamp;
use super::{Model, NodeIx};

/// So long what works may be silent while its process is known to be there, in milliseconds: a tool may take a
/// night, and a person a weekend.
pub const ALIVE_MAY_SLEEP: u64 = 7 * 24 * 60 * 60 * 1000;

/// So long, where whoever says so knows that nobody works on it any more.
pub const GONE_MAY_SLEEP: u64 = 1;

/// What an alarm is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    Node(NodeIx),
    /// Boxed: a fleet has a hundred thousand of the others, and few of these.
    Command(Box<CommandId>),
}

/// What time alone makes of a state.
#[derive(Debug, Clone, Copy)]
pub(super) enum Turn {
    /// An offer is not taken in time.
    Lapse,
    /// What runs is late or silent.
    Trouble(Trouble),
}

impl Model {
    /// Lets time pass: derives every state that follows from it.
    pub fn advance(&mut self, now: Stamp) -> Delta {
        let mut delta = Delta::default();
        while self.alarms.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            let Some(Reverse((at, alarm))) = self.alarms.pop() else { break };
            match alarm {
                Alarm::Node(ix) => self.ring(ix, at, now, &mut delta),
                Alarm::Command(id) => self.overdue(&id, now, &mut delta),
            }
        }
        delta.tidy()
    }

    /// Returns the next instant at which [`Model::advance`] may change something.
    pub fn next_alarm(&self) -> Option<Stamp> {
        self.alarms.peek().map(|Reverse((at, _))| *at)
    }

    fn ring(&mut self, ix: NodeIx, at: Stamp, now: Stamp, delta: &mut Delta) {
        let Some(node) = self.nodes.get_mut(ix).filter(|node| node.clocks.alarm == Some(at)) else { return };
        node.clocks.alarm = None;
        let due = self.get(ix).and_then(|node| Some((node, self.next(node)?)));
        if let Some((node, (due, turn))) = due
            && due <= now
        {
            let status = match turn {
                Turn::Lapse => Status::Offered { lapsed: Some(due) },
                Turn::Trouble(trouble) => node.status.in_trouble(trouble),
            };
            self.set_status(ix, status, delta);
        }
        self.set_alarm(ix);
    }

    fn overdue(&mut self, id: &CommandId, now: Stamp, delta: &mut Delta) {
        if let Some(receipt) = self.receipts.get_mut(id)
            && receipt.state == ReceiptState::Accepted
            && receipt.deadline.is_some_and(|deadline| deadline <= now)
        {
            receipt.state = ReceiptState::Overdue;
            delta.around = true;
            let target = receipt.target.clone();
            if let Some(ix) = target.and_then(|key| self.find(&key)) {
                delta.touch(ix);
            }
        }
    }

    /// Sets a node's alarm, if its next instant is earlier than the one that is set.
    pub(super) fn set_alarm(&mut self, ix: NodeIx) {
        let Some((at, _)) = self.get(ix).and_then(|node| self.next(node)) else { return };
        let Some(node) = self.nodes.get_mut(ix) else { return };
        if node.clocks.alarm.is_none_or(|set| at < set) {
            node.clocks.alarm = Some(at);
            self.push_alarm(at, Alarm::Node(ix));
        }
    }

    pub(super) fn push_alarm(&mut self, at: Stamp, alarm: Alarm) {
        self.alarms.push(Reverse((at, alarm)));
    }

    /// Returns the next instant at which time alone changes a node's state, and to what.
    pub(super) fn next(&self, node: &Node) -> Option<(Stamp, Turn)> {
        match &node.status {
            Status::Offered { lapsed: None } => node.clocks.accept_by.map(|at| (at, Turn::Lapse)),
            // Who waits for a person is neither late nor silent: its clock stands.
            Status::Running { .. } if node.asks() => None,
            Status::Running { trouble, .. } => {
                let overdue = node
                    .clocks
                    .finish_by
                    .filter(|_| !matches!(trouble, Some(Trouble::Overdue { .. })))
                    .map(|at| (at, Turn::Trouble(Trouble::Overdue { since: at })));
                let silent = self
                    .silence(node)
                    .filter(|_| trouble.is_none())
                    .map(|at| (at, Turn::Trouble(Trouble::Silent { since: at })));
                match (overdue, silent) {
                    (Some(overdue), Some(silent)) if silent.0 < overdue.0 => Some(silent),
                    (overdue, silent) => overdue.or(silent),
                }
            }
            Status::Offered { lapsed: Some(_) }
            | Status::Unknown
            | Status::Queued
            | Status::Paused { .. }
            | Status::Blocked { .. }
            | Status::Review { .. }
            | Status::Ended { .. } => None,
        }
    }

    fn silence(&self, node: &Node) -> Option<Stamp> {
        let last = node.clocks.last_sign?;
        Some(last.plus(Duration::from_millis(self.patience(node)?)))
    }
}
