//! Two nodes that turn out to be one: what each is known by, hangs under, spent and was said to be ends
//! up on one of them, and nothing is counted twice.

use super::Told;
use crate::model::anomaly::Misfit;
use crate::model::delta::Delta;
use crate::model::key::SourceId;
use crate::model::node::{Clocks, More, Node, Question, push_tight};
use crate::model::{Model, NodeIx};

impl Model {
    /// Joins two nodes and returns the one that is left; `None` if they cannot be one.
    pub(super) fn join(&mut self, one: NodeIx, two: NodeIx, told: Told, delta: &mut Delta) -> Option<NodeIx> {
        let (first, second) = (self.get(one)?, self.get(two)?);
        if first.keys.iter().any(|key| second.keys.iter().any(|other| key.excludes(other))) {
            let what = format!("is said to be {} too", self.name_of(two));
            self.misfit_of(Misfit::Identity, one, &what, told, delta);
            return None;
        }
        let lived = [self.lives_at_or_above(one), self.lives_at_or_above(two)];
        let (keep, gone) = self.elder(one, two)?;
        let before = self.get(gone)?;
        let (parent, parent_by) = (before.parent, before.parent_by);
        for child in before.children.clone() {
            self.detach(child, delta);
            self.attach(child, Some(keep), delta);
            delta.moved.push(child);
        }
        self.detach(gone, delta);
        let node = self.nodes.remove(gone)?;
        delta.joined.push((gone, keep));
        self.absorb(keep, gone, *node, delta);
        self.settle_parent(keep, (parent, parent_by), told, delta);
        self.believe(keep, delta);
        self.settle_held(keep, delta);
        if lived.contains(&!self.lives_at_or_above(keep)) {
            self.look_at_silence_below(keep, delta);
        }
        if let Some(at) = self.get(keep).and_then(|node| node.clocks.last_sign) {
            self.sign_above(keep, at, delta);
        }
        delta.touch(keep);
        Some(keep)
    }

    /// Returns which node stays. Never the lower of two on one branch: its own ancestors would then hang
    /// below it.
    fn elder(&self, one: NodeIx, two: NodeIx) -> Option<(NodeIx, NodeIx)> {
        if self.ancestors(one).any(|above| above == two) {
            return Some((two, one));
        }
        if self.ancestors(two).any(|above| above == one) {
            return Some((one, two));
        }
        let (first, second) = (self.get(one)?, self.get(two)?);
        let one_stays = first.kind > second.kind || (first.kind == second.kind && first.born <= second.born);
        Some(if one_stays { (one, two) } else { (two, one) })
    }

    fn absorb(&mut self, keep: NodeIx, was: NodeIx, gone: Node, delta: &mut Delta) {
        for key in &gone.keys {
            self.by_key.moved(key, was, keep);
        }
        self.join_patience(keep, &gone, delta);
        for (place, entry) in gone.spent.into_iter().enumerate() {
            entry.id.iter().for_each(|id| self.ledger.remove(id, was, place));
            self.book_joined(keep, entry, delta);
        }
        self.join_sealed(keep, gone.sealed, delta);
        if let (Some(index), None) = (gone.index, self.get(keep).and_then(|node| node.index)) {
            self.set_index(keep, index, delta);
        }
        for moment in gone.timeline {
            self.remember(keep, moment, delta);
        }
        for attempt in gone.attempts {
            self.attempt(keep, attempt, delta);
        }
        let Some(node) = self.nodes.get_mut(keep) else { return };
        node.keys.extend(gone.keys);
        node.name_by_id();
        node.heard_of(gone.first_source);
        for source in gone.other_sources.into_iter().flat_map(|others| *others) {
            node.heard_of(source);
        }
        node.attempt = node.attempt.max(gone.attempt);
        node.kind = node.kind.max(gone.kind);
        fill(&mut node.title, gone.title);
        fill(&mut node.agent, gone.agent);
        fill(&mut node.provider, gone.provider);
        fill(&mut node.model.requested, gone.model.requested);
        fill(&mut node.model.injected, gone.model.injected);
        fill(&mut node.model.effective, gone.model.effective);
        fill(&mut node.progress, gone.progress);
        fill(&mut node.last_action, gone.last_action);
        fill(&mut node.next_action, gone.next_action);
        fill(&mut node.returned, gone.returned);
        fill(&mut node.max_attempts, gone.max_attempts);
        fill(&mut node.estimate_ms, gone.estimate_ms);
        fill(&mut node.depends_on, gone.depends_on);
        for claim in gone.claims {
            match node.claims.iter_mut().find(|known| known.source == claim.source) {
                Some(known) if (known.attempt, known.at) < (claim.attempt, claim.at) => *known = claim,
                Some(_) => {}
                None => push_tight(&mut node.claims, claim),
            }
        }
        if let Some(more) = gone.more {
            absorb_more(node.more_mut(), *more);
        }
        let date = |node: &mut Node| {
            node.is_dated |= gone.is_dated;
            absorb_clocks(&mut node.clocks, &gone.clocks);
        };
        self.keep_in_place(keep, date, delta);
    }

    /// Hangs the joined node under the other one's parent, where that is better known than its own.
    fn settle_parent(
        &mut self,
        keep: NodeIx,
        (parent, by): (Option<NodeIx>, Option<SourceId>),
        told: Told,
        delta: &mut Delta,
    ) {
        let Some(parent) = parent else { return };
        let Some(node) = self.get(keep) else { return };
        let below = parent == keep || self.ancestors(parent).any(|above| above == keep);
        let rank = |by: Option<_>| by.map_or(u8::MAX, |by| self.kind_of(by).rank());
        let better = node.parent.is_none() || rank(by) < rank(node.parent_by);
        if better && !below {
            self.hang(keep, parent, by, delta);
        }
        // The other's place may only have followed from a key that the joined node has now.
        let keys = self.get(keep).map(|node| node.keys.clone()).unwrap_or_default();
        for key in keys {
            self.hang_by_key(keep, &key, told, delta);
        }
    }
}

fn fill<T>(mine: &mut Option<T>, other: Option<T>) {
    if mine.is_none() {
        *mine = other;
    }
}

fn absorb_clocks(mine: &mut Clocks, other: &Clocks) {
    fn earlier<T: Ord>(one: Option<T>, two: Option<T>) -> Option<T> {
        match (one, two) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        }
    }
    mine.created = earlier(mine.created, other.created);
    mine.started = earlier(mine.started, other.started);
    mine.ended = mine.ended.max(other.ended);
    mine.last_sign = mine.last_sign.max(other.last_sign);
    fill(&mut mine.since, other.since);
    fill(&mut mine.accept_by, other.accept_by);
    fill(&mut mine.finish_by, other.finish_by);
}

fn absorb_more(mine: &mut More, other: More) {
    fill(&mut mine.handoff, other.handoff);
    fill(&mut mine.decision, other.decision);
    fill(&mut mine.quality, other.quality);
    fill(&mut mine.task, other.task);
    fill(&mut mine.pattern, other.pattern);
    fill(&mut mine.depth, other.depth);
    fill(&mut mine.expected_steps, other.expected_steps);
    fill(&mut mine.workspace, other.workspace);
    fill(&mut mine.tree, other.tree);
    fill(&mut mine.command, other.command);
    fill(&mut mine.budget, other.budget);
    match (&mut mine.running, other.running) {
        (Some(mine), Some(other)) if mine.is_alive && other.is_alive => mine.stand_beside(*other),
        // What is there says more than what was there once.
        (mine, other) if other.as_ref().is_some_and(|process| process.is_alive) => *mine = other,
        (mine, other) => fill(mine, other),
    }
    fill(&mut mine.context, other.context);
    if mine.path.is_empty() {
        mine.path = other.path;
    }
    let new = |asked: &Question| mine.questions.iter().all(|known| known.question_id != asked.question_id);
    let questions: Vec<Question> = other.questions.into_iter().filter(new).collect();
    mine.questions.extend(questions);
    let receipts: Vec<_> = other.receipts.into_iter().filter(|id| !mine.receipts.contains(id)).collect();
    mine.receipts.extend(receipts);
}
