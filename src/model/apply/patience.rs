//! How long a node may be silent: what each source says of it, whose word counts, and what its process adds.
//!
//! Several sources speak of one node, in any order: the most trusted is believed, of equals the more patient one.

use std::cmp::Reverse;

use crate::model::delta::Delta;
use crate::model::key::{SourceId, SourceKind};
use crate::model::node::{More, Node};
use crate::model::status::Status;
use crate::model::{ALIVE_MAY_SLEEP, GONE_MAY_SLEEP, Model, NodeIx};

impl Model {
    /// Takes in how long a source says that a node may be silent; `None` takes back what it said.
    pub(super) fn may_sleep(&mut self, ix: NodeIx, by: SourceId, millis: Option<u64>, delta: &mut Delta) {
        let Some(node) = self.get(ix) else { return };
        let before = (node.clocks.may_sleep, node.clocks.may_sleep_by);
        let mut said = patience_of(node);
        if said.iter().find(|(source, _)| *source == by).map(|(_, millis)| *millis) == millis {
            return;
        }
        said.retain(|(source, _)| *source != by);
        said.extend(millis.map(|millis| (by, millis)));
        let best = said.iter().min_by_key(|said| self.how_patient(said)).copied();
        said.retain(|other| Some(*other) != best);
        let Some(node) = self.nodes.get_mut(ix) else { return };
        if !said.is_empty() || node.more().is_some_and(|more| !more.other_patience.is_empty()) {
            node.more_mut().other_patience = said;
        }
        let after = best.map(|(by, millis)| (millis, by)).unzip();
        (node.clocks.may_sleep, node.clocks.may_sleep_by) = after;
        delta.touch(ix);
        if after != before {
            self.look_at_silence(ix, delta);
        }
    }

    /// Returns where a word on patience stands among others: the first is believed.
    pub(in crate::model) fn how_patient(
        &self,
        (source, millis): &(SourceId, u64),
    ) -> (u8, Reverse<u64>, SourceId) {
        (self.kind_of(*source).rank(), Reverse(*millis), *source)
    }

    /// Takes in what was said of a node that turned out to be this one; who said two things means the longer.
    pub(super) fn join_patience(&mut self, ix: NodeIx, gone: &Node, delta: &mut Delta) {
        let known = self.get(ix).map(patience_of).unwrap_or_default();
        for (by, millis) in patience_of(gone) {
            let same = known.iter().find(|(source, _)| *source == by).map(|(_, millis)| *millis);
            self.may_sleep(ix, by, Some(millis).max(same), delta);
        }
    }

    /// Chooses anew whom to believe, since one of them is trusted otherwise than before.
    pub(super) fn weigh_patience(&mut self, ix: NodeIx, delta: &mut Delta) {
        let said = self.get(ix).map(patience_of).unwrap_or_default();
        for (by, millis) in said {
            self.may_sleep(ix, by, None, delta);
            self.may_sleep(ix, by, Some(millis), delta);
        }
    }

    /// Returns for how many milliseconds a node may be silent: as it was said, and longer while its process is there.
    ///
    /// A process that is there proves that it works, whatever it does not say; what is said by an engine, which
    /// knows its processes better, is not stretched; nor is it where an agent's own files show that nobody writes them
    /// any more: its process may have gone on to something else. An agent that works inside another's process leaves files
    /// of its own; what a third tool noted below a live process may have ended long ago.
    pub fn patience(&self, node: &Node) -> Option<u64> {
        let own = lives(node);
        if own == Some(false) {
            // Of a process that is gone nothing more will be heard.
            return Some(0);
        }
        let said = node.clocks.may_sleep?;
        let by = node.clocks.may_sleep_by.map_or(SourceKind::Unknown, |by| self.kind_of(by));
        if said <= GONE_MAY_SLEEP {
            return Some(said);
        }
        let is_there = own == Some(true) && by.rank() > SourceKind::Process.rank();
        let is_inside =
            || by.is_agents_own() && node.parent().is_some_and(|above| self.lives_at_or_above(above));
        Some(if is_there || is_inside() { said.max(ALIVE_MAY_SLEEP) } else { said })
    }

    /// Returns whether a process works on a node, where that is known: as the system shows it, or as an agent's own files
    /// tell that nobody does.
    pub fn lives(&self, node: &Node) -> Option<bool> {
        let is_left = || self.patience(node).is_some_and(|millis| millis <= GONE_MAY_SLEEP);
        lives(node).or_else(|| is_left().then_some(false))
    }

    /// Returns whether the nearest process that is known, of this node or above it, is there.
    pub(super) fn lives_at_or_above(&self, ix: NodeIx) -> bool {
        let mut path = std::iter::once(ix).chain(self.ancestors(ix));
        path.find_map(|ix| lives(self.get(ix)?)).unwrap_or(false)
    }

    /// Takes back what silence made of all that runs here and below, since it may be silent for another time now.
    pub(super) fn look_at_silence_below(&mut self, ix: NodeIx, delta: &mut Delta) {
        let running = |(_, node): &(NodeIx, &Node)| matches!(node.status, Status::Running { .. });
        let below: Vec<NodeIx> = self.subtree(ix).filter(running).map(|(ix, _)| ix).collect();
        for ix in below {
            self.look_at_silence(ix, delta);
        }
    }

    fn look_at_silence(&mut self, ix: NodeIx, delta: &mut Delta) {
        let Some(told) = self.get(ix).map(|node| node.status.as_told()) else { return };
        self.set_status(ix, told, delta);
        self.set_alarm(ix);
    }
}

/// Returns whether the process that a node is is there, where anybody looked.
fn lives(node: &Node) -> Option<bool> {
    Some(node.more()?.running.as_ref()?.is_alive)
}

/// Returns what each source says of how long a node may be silent.
pub(in crate::model) fn patience_of(node: &Node) -> Vec<(SourceId, u64)> {
    let in_force = node.clocks.may_sleep_by.zip(node.clocks.may_sleep);
    let others = node.more().map(|more: &More| more.other_patience.as_slice()).unwrap_or_default();
    in_force.into_iter().chain(others.iter().copied()).collect()
}
