//! What works inside a process that is stopped: agents have no process of their own, so they stand still with the session
//! that they are of, whatever was last said of them.

use crate::model::delta::Delta;
use crate::model::key::SourceKind;
use crate::model::node::{Claim, Node, NodeKind};
use crate::model::status::{Status, StatusWord};
use crate::model::time::Stamp;
use crate::model::{Model, NodeIx};

/// Nobody nests agents deeper: what hangs further below is not looked at for each that is above it.
const DEEPEST: usize = 64;

/// A state, since when it is so, and whether somebody above holds it in it.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::model) struct InForce {
    pub status: Status,
    pub at: Option<Stamp>,
    pub is_held: bool,
}

impl Model {
    /// Returns the state that follows from the most trusted claim, and from what holds a node.
    pub(in crate::model) fn in_force(&self, ix: NodeIx, node: &Node) -> Option<InForce> {
        let claim = self.best_claim(node)?;
        let holder = || self.holder(ix, node);
        if matches!(claim.status, Status::Running { .. })
            && let Some(stopped) = holder()
        {
            let why = Some("the process that it works in is stopped".into());
            return Some(InForce { status: Status::Paused { why }, at: stopped.at, is_held: true });
        }
        Some(InForce { status: claim.status.clone(), at: claim.at, is_held: false })
    }

    /// Returns what says that the process is stopped in which an agent works.
    fn holder(&self, ix: NodeIx, node: &Node) -> Option<&Claim> {
        if node.kind != NodeKind::Agent {
            return None;
        }
        for above in self.ancestors(ix).take(DEEPEST) {
            let above = self.get(above)?;
            if let Some(stopped) = self.stopped(above) {
                return Some(stopped);
            }
            if !matches!(above.kind, NodeKind::Agent | NodeKind::Session) {
                return None;
            }
        }
        None
    }

    /// Returns what says that a node's process is stopped. Only the system and our engine know that.
    fn stopped<'a>(&self, node: &'a Node) -> Option<&'a Claim> {
        let has_process = matches!(node.kind, NodeKind::Agent | NodeKind::Session | NodeKind::Subtask);
        // Nearly nobody is: so this is asked before who says so.
        if !has_process || node.is_held || !matches!(node.status, Status::Paused { .. }) {
            return None;
        }
        let knows = |by: SourceKind| matches!(by, SourceKind::Process | SourceKind::Engine);
        self.best_claim(node).filter(|claim| knows(self.kind_of(claim.source)))
    }

    /// Looks again at the agents here and below, since a process above them was stopped or goes on.
    pub(super) fn look_at_holds(&mut self, ix: NodeIx, delta: &mut Delta) {
        let is_other = |(ix, node): &(NodeIx, &Node)| {
            (node.kind == NodeKind::Agent || node.is_held)
                && self.in_force(*ix, node).is_some_and(|now| now.is_held != node.is_held)
        };
        let below: Vec<NodeIx> = self.subtree(ix).filter(is_other).map(|(ix, _)| ix).collect();
        for ix in below {
            self.settle(ix, delta);
        }
    }

    /// Looks again at the agents here and below, since they hang elsewhere now or it is known what they are.
    pub(super) fn settle_held(&mut self, ix: NodeIx, delta: &mut Delta) {
        if self.may_be_held(ix) {
            self.look_at_holds(ix, delta);
        }
    }

    /// Returns whether anything here or below may be held, or stand still since it was.
    fn may_be_held(&self, ix: NodeIx) -> bool {
        let Some(node) = self.get(ix) else { return false };
        let paused = node.rollup().map_or(0, |rollup| rollup.descendants.of(StatusWord::Paused));
        let is_inside = || {
            let mut above = self.ancestors(ix).take(DEEPEST).filter_map(|above| self.get(above));
            above.any(|above| self.stopped(above).is_some())
        };
        node.is_held || paused > 0 || self.stopped(node).is_some() || is_inside()
    }
}
