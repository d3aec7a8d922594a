//! Where a node hangs: attaching, detaching and moving, with every roll-up above kept right.

use std::cmp::Ordering;

use super::Told;
use crate::model::anomaly::Misfit;
use crate::model::delta::Delta;
use crate::model::key::{NodeKey, SourceId};
use crate::model::node::{Node, NodeKind, Place};
use crate::model::rollup::{Rollup, Share};
use crate::model::{Model, NodeIx};

impl Model {
    /// Hangs a node under another, if that makes sense and is not less trusted than what was told before.
    pub(super) fn hang(&mut self, ix: NodeIx, parent: NodeIx, by: Option<SourceId>, delta: &mut Delta) {
        let Some(node) = self.get(ix) else { return };
        let (now, now_by) = (node.parent, node.parent_by);
        let rank = |by: Option<SourceId>| by.map_or(u8::MAX, |by| self.kind_of(by).rank());
        if now == Some(parent) {
            let better = rank(by) < rank(now_by);
            if let Some(node) = self.nodes.get_mut(ix).filter(|_| better) {
                node.parent_by = by;
            }
            return;
        }
        let told = Told { by: by.unwrap_or_default(), at: None };
        if parent == ix || self.ancestors(parent).any(|above| above == ix) {
            let what = format!("cannot hang under {}, which is below it", self.name_of(parent));
            self.misfit_of(Misfit::Cycle, ix, &what, told, delta);
            return;
        }
        let certain = now.is_some() && self.belongs_by_key(ix);
        if by.is_some() && (certain || rank(by) > rank(now_by)) {
            // A heading under which a tool lists what it cannot place says nothing against who knows the place.
            if self.get(parent).is_some_and(|above| above.kind == NodeKind::Group) {
                return;
            }
            let what = format!("is said to hang under {} too", self.name_of(parent));
            self.misfit_of(Misfit::SecondParent, ix, &what, told, delta);
            return;
        }
        let lived = now.is_some_and(|above| self.lives_at_or_above(above));
        self.detach(ix, delta);
        self.attach(ix, Some(parent), delta);
        if let Some(node) = self.nodes.get_mut(ix) {
            node.parent_by = by;
        }
        if self.lives_at_or_above(parent) != lived {
            self.look_at_silence_below(ix, delta);
        }
        delta.moved.push(ix);
    }

    /// A step hangs under its delegation, whatever anybody says.
    fn belongs_by_key(&self, ix: NodeIx) -> bool {
        self.get(ix).is_some_and(|node| node.keys.iter().any(|key| matches!(key, NodeKey::Subtask(..))))
    }

    /// Takes a node out of its parent or out of the roots; it must be attached again or removed.
    pub(super) fn detach(&mut self, ix: NodeIx, delta: &mut Delta) {
        let share = self.share(ix);
        let Some(node) = self.nodes.get_mut(ix) else { return };
        let Some(parent) = node.parent.take() else {
            let place = node.place();
            let at = self.place_of_root(place);
            if self.roots.get(at) == Some(&ix) {
                self.roots.remove(at);
            }
            delta.relist(None, at);
            return;
        };
        let place = node.place();
        let at = self.position(parent, place);
        delta.relist(Some(parent), at);
        let height = self.height(parent);
        if let Some(node) = self.nodes.get_mut(parent) {
            if node.children.get(at) == Some(&ix) {
                node.children.remove(at);
            }
            if let Some(rollup) = &mut node.rollup {
                rollup.remove_child(share.height, share.word);
            }
        }
        self.each_above(ix, Some(parent), delta, |rollup| rollup.subtract(&share));
        if let Some(node) = self.nodes.get_mut(parent)
            && node.children.is_empty()
        {
            node.rollup = None;
        }
        self.height_changed(parent, height, delta);
    }

    /// Puts a detached node under a parent, or among the roots, at its place.
    pub(super) fn attach(&mut self, ix: NodeIx, parent: Option<NodeIx>, delta: &mut Delta) {
        let place = self.place_of(ix);
        let Some(parent) = parent else {
            let at = self.place_of_root(place);
            self.roots.insert(at, ix);
            delta.relist(None, at);
            return;
        };
        let share = self.share(ix);
        let at = self.position(parent, place);
        delta.relist(Some(parent), at);
        let height = self.height(parent);
        if let Some(node) = self.nodes.get_mut(ix) {
            node.parent = Some(parent);
        }
        if let Some(node) = self.nodes.get_mut(parent) {
            node.children.insert(at, ix);
            node.rollup.get_or_insert_default().add_child(share.height, share.word);
        }
        self.each_above(ix, Some(parent), delta, |rollup| rollup.add(&share));
        self.height_changed(parent, height, delta);
        if let Some(at) = share.last_sign {
            self.sign_above(ix, at, delta);
        }
        self.settle_held(ix, delta);
    }

    /// Changes the roll-up of a node and of all above it.
    pub(super) fn each_above(
        &mut self,
        ix: NodeIx,
        from: Option<NodeIx>,
        delta: &mut Delta,
        mut change: impl FnMut(&mut Rollup),
    ) {
        debug_assert_ne!(from, Some(ix), "a node is not above itself");
        let mut next = from;
        while let Some(above) = next {
            let Some(node) = self.nodes.get_mut(above) else { return };
            if let Some(rollup) = &mut node.rollup {
                change(rollup);
            }
            next = node.parent;
            delta.touch(above);
        }
    }

    /// Tells the nodes above that this one's subtree has another height than before.
    fn height_changed(&mut self, ix: NodeIx, mut before: usize, delta: &mut Delta) {
        let mut ix = ix;
        loop {
            let after = self.height(ix);
            let Some(node) = self.get(ix).filter(|_| after != before) else { return };
            let (Some(parent), word) = (node.parent, node.status.word()) else { return };
            let above = self.height(parent);
            if let Some(rollup) = self.nodes.get_mut(parent).and_then(|node| node.rollup.as_mut()) {
                rollup.child_height(before, after, word);
            }
            delta.touch(parent);
            (ix, before) = (parent, above);
        }
    }

    /// Gives a node another index, and the place among its siblings that it says.
    pub(super) fn set_index(&mut self, ix: NodeIx, index: u32, delta: &mut Delta) {
        if self.get(ix).is_some_and(|node| node.index != Some(index)) {
            self.keep_in_place(ix, |node| node.index = Some(index), delta);
        }
    }

    /// Changes something of a node by which siblings stand in order, and puts it where it then belongs. Mostly that is
    /// where it stands.
    pub(super) fn keep_in_place(&mut self, ix: NodeIx, change: impl FnOnce(&mut Node), delta: &mut Delta) {
        let Some(node) = self.get(ix) else { return };
        let parent = node.parent;
        let old = self.place_below(parent, node.place());
        if let Some(node) = self.nodes.get_mut(ix) {
            change(node);
        }
        let place = self.place_of(ix);
        let before = old.checked_sub(1).and_then(|at| self.sibling(parent, at));
        let after = self.sibling(parent, old + 1);
        let is_after = before.is_none_or(|before| self.place_of(before) < place);
        if is_after && after.is_none_or(|after| place < self.place_of(after)) {
            return;
        }
        // Taken out before its new place is looked for: siblings are found by their order.
        match parent.and_then(|parent| self.nodes.get_mut(parent)) {
            Some(above) => drop(above.children.remove(old)),
            None => drop(self.roots.remove(old)),
        }
        let new = self.place_below(parent, place);
        match parent.and_then(|parent| self.nodes.get_mut(parent)) {
            Some(above) => above.children.insert(new, ix),
            None => self.roots.insert(new, ix),
        }
        delta.relist(parent, old.min(new));
        delta.moved.push(ix);
    }

    fn sibling(&self, parent: Option<NodeIx>, at: usize) -> Option<NodeIx> {
        match parent {
            Some(parent) => self.get(parent)?.children.get(at).copied(),
            None => self.roots.get(at).copied(),
        }
    }

    /// Returns where a node with this place stands, or would, among those below a node or among the roots.
    fn place_below(&self, parent: Option<NodeIx>, place: Place) -> usize {
        match parent {
            Some(parent) => self.position(parent, place),
            None => self.place_of_root(place),
        }
    }

    /// Returns where a root stands, or would, among the others. Most are the newest, and stand last.
    pub(super) fn place_of_root(&self, place: Place) -> usize {
        let last = self.roots.back().map(|root| self.place_of(*root));
        match last.map(|last| last.cmp(&place)) {
            None | Some(Ordering::Less) => self.roots.len(),
            Some(Ordering::Equal) => self.roots.len() - 1,
            Some(Ordering::Greater) => self.roots.partition_point(|root| self.place_of(*root) < place),
        }
    }

    pub(super) fn place_of(&self, ix: NodeIx) -> Place {
        self.get(ix).map_or((u32::MAX, None, u32::MAX), Node::place)
    }

    fn position(&self, parent: NodeIx, place: Place) -> usize {
        self.get(parent)
            .map_or(0, |node| node.children.partition_point(|child| self.place_of(*child) < place))
    }

    pub(super) fn height(&self, ix: NodeIx) -> usize {
        self.get(ix).and_then(Node::rollup).map_or(0, Rollup::height)
    }

    /// Returns what a subtree brings to the roll-ups above it.
    fn share(&self, ix: NodeIx) -> Share {
        let Some(node) = self.get(ix) else { return Share::default() };
        let word = node.status.word();
        let mut tally = node.rollup().map(|rollup| rollup.descendants).unwrap_or_default();
        tally.plus(word, 1);
        Share {
            spend: node.subtree_spend(),
            tally,
            height: self.height(ix),
            word,
            last_sign: node.clocks.last_sign,
        }
    }
}
