//! What a node is doing: claims of its sources, the one that is believed, progress and signs of life.

use std::cmp::Reverse;

use super::Told;
use super::hold::InForce;
use crate::model::anomaly::Misfit;
use crate::model::delta::Delta;
use crate::model::event::payload::Progress;
use crate::model::fact::{Action, Clock, StatusReport};
use crate::model::key::SourceKind;
use crate::model::node::{Claim, Node, NodeKind, push_tight};
use crate::model::status::{Status, StatusWord, Trouble};
use crate::model::time::Stamp;
use crate::model::words::{ALIVE, HOOK, meaning};
use crate::model::{Model, NodeIx, text};

impl Model {
    /// Takes in what a source says of a node's state.
    pub(super) fn claim(&mut self, ix: NodeIx, report: &StatusReport, told: Told, delta: &mut Delta) {
        let source = self.kind_of(told.by);
        let word = meaning(source, report.field, &report.word);
        let Some(node) = self.get(ix) else { return };
        let before = node.claims.iter().find(|claim| claim.source == told.by);
        if let Some(misfit) = unfit(node, before, report, word.is_live(), source, told) {
            let what = format!("is said to be {}", report.word);
            self.misfit_of(misfit, ix, &what, told, delta);
            return;
        }
        let attempt = report.attempt.or(before.map(|claim| claim.attempt)).unwrap_or_default();
        let status = Status::from_word(word, report.why.as_deref().map(text::lines), report.retryable);
        let raw = (report.word != word.as_str()).then(|| text::line(&report.word));
        let claim = Claim { source: told.by, attempt, at: told.at, raw, status };
        if before == Some(&claim) {
            return;
        }
        if let Some(node) = self.nodes.get_mut(ix) {
            node.attempt = node.attempt.max(attempt);
            match node.claims.iter_mut().find(|claim| claim.source == told.by) {
                Some(before) => *before = claim,
                None => push_tight(&mut node.claims, claim),
            }
        }
        self.believe(ix, delta);
        if let Some(at) = told.at {
            self.sign(ix, at, delta);
        }
    }

    /// Returns the most trusted claim about a node; of equals, the latest.
    pub fn best_claim<'a>(&self, node: &'a Node) -> Option<&'a Claim> {
        let rank = |claim: &Claim| Reverse(self.rank_of(node, claim));
        node.claims.iter().max_by_key(|claim| (rank(claim), claim.at, Reverse(claim.source)))
    }

    /// Returns how far a claim is believed: the lower, the more.
    fn rank_of(&self, node: &Node, claim: &Claim) -> u8 {
        let kind = self.kind_of(claim.source);
        // A person's word is kept when all its processes are gone: what the system showed before is over, though nobody
        // looked again.
        let is_over =
            |other: &Claim| self.kind_of(other.source) == SourceKind::Person && other.at >= claim.at;
        // That a process is there does not tell what it does: anybody who says that knows better.
        let is_there = kind == SourceKind::Process
            && (claim.raw.as_deref() == Some(ALIVE) || node.claims.iter().any(is_over));
        let by_hook = claim.raw.as_deref().is_some_and(|raw| raw.starts_with(HOOK));
        match (is_there, by_hook) {
            (true, _) => u8::MAX,
            // An engine that wrote a hook's word down knows no more than the hook.
            (false, true) => SourceKind::Hook.rank(),
            (false, false) => kind.rank(),
        }
    }

    /// Sets the state in force to the most trusted claim; without one nobody knows it.
    pub(super) fn believe(&mut self, ix: NodeIx, delta: &mut Delta) {
        let is_paused =
            |model: &Self| model.get(ix).is_some_and(|node| node.status.word() == StatusWord::Paused);
        let was_paused = is_paused(self);
        self.settle(ix, delta);
        if was_paused || is_paused(self) {
            self.look_at_holds(ix, delta);
        }
    }

    /// The same, and nothing else changes by it.
    pub(super) fn settle(&mut self, ix: NodeIx, delta: &mut Delta) {
        let Some(node) = self.get(ix) else { return };
        let Some(InForce { status, at, is_held }) = self.in_force(ix, node) else {
            if let Some(node) = self.nodes.get_mut(ix) {
                node.is_held = false;
            }
            self.set_status(ix, Status::Unknown, delta);
            return;
        };
        // That it runs for another reason is no other state: it has run all the time.
        let runs = |status: &Status| matches!(status, Status::Running { .. });
        let fresh = node.status.as_told() != status && !(runs(&node.status) && runs(&status));
        if let Some(node) = self.nodes.get_mut(ix) {
            node.is_held = is_held;
            let clocks = &mut node.clocks;
            if fresh || clocks.since.is_none() {
                clocks.since = at;
            }
            if matches!(status, Status::Running { .. }) && clocks.started.is_none() {
                clocks.started = at;
            }
            if !status.is_ended() {
                clocks.ended = None;
            } else if fresh || clocks.ended.is_none() {
                clocks.ended = at.or(clocks.ended);
            }
        }
        self.set_status(ix, status, delta);
        self.set_alarm(ix);
    }

    /// Sets the state in force, and every tally above.
    pub(in crate::model) fn set_status(&mut self, ix: NodeIx, status: Status, delta: &mut Delta) {
        let Some(node) = self.nodes.get_mut(ix) else { return };
        if node.status == status {
            return;
        }
        let (before, after, parent) = (node.status.word(), status.word(), node.parent);
        node.status = status;
        delta.touch(ix);
        if before == after {
            return;
        }
        if let Some(rollup) =
            parent.and_then(|parent| self.nodes.get_mut(parent)).and_then(|node| node.rollup.as_mut())
        {
            rollup.children.minus(before, 1);
            rollup.children.plus(after, 1);
        }
        self.each_above(ix, parent, delta, |rollup| {
            rollup.descendants.minus(before, 1);
            rollup.descendants.plus(after, 1);
        });
    }

    pub(super) fn progress(&mut self, ix: NodeIx, progress: Progress, told: Told, delta: &mut Delta) {
        let too_far = matches!((progress.current, progress.total), (Some(done), Some(all)) if done > all);
        if too_far || progress.percent.is_some_and(|percent| percent > 100) {
            let shown = |count: Option<u64>| count.map_or_else(|| "–".to_owned(), |count| count.to_string());
            let (done, all) = (shown(progress.current), shown(progress.total));
            let what = format!("is said to have done {done} of {all}");
            self.misfit_of(Misfit::Nonsense, ix, &what, told, delta);
            return;
        }
        let percent = progress.percent.or_else(|| {
            let hundredths = progress.current?.saturating_mul(100).checked_div(progress.total?)?;
            u8::try_from(hundredths).ok()
        });
        let Some(node) = self.nodes.get_mut(ix) else { return };
        let progress = Some(Progress { percent, ..progress });
        if node.progress != progress {
            node.progress = progress;
            delta.touch(ix);
        }
        if let Some(at) = told.at {
            self.sign(ix, at, delta);
        }
    }

    pub(super) fn act(&mut self, ix: NodeIx, action: Action, told: Told, delta: &mut Delta) {
        let Some(node) = self.nodes.get_mut(ix) else { return };
        let told_before = (told.at, node.clocks.last_sign);
        // An older action than the last one is no news; without a moment it is taken as it comes.
        if !matches!(told_before, (Some(at), Some(last)) if at < last) {
            let last = action.last.map(text::line_of);
            let next = action.next.map(text::line_of);
            if (last.is_some() && last != node.last_action) || (next.is_some() && next != node.next_action) {
                node.last_action = last.or(node.last_action.take());
                node.next_action = next;
                delta.touch(ix);
            }
        }
        if let Some(at) = told.at {
            self.sign(ix, at, delta);
        }
    }

    /// Notes a sign of life of a node, which is one of every node above it too.
    pub(super) fn sign(&mut self, ix: NodeIx, at: Stamp, delta: &mut Delta) {
        self.sign_of_one(ix, at, delta);
        self.sign_above(ix, at, delta);
    }

    pub(super) fn sign_above(&mut self, ix: NodeIx, at: Stamp, delta: &mut Delta) {
        let mut next = self.get(ix).and_then(Node::parent);
        while let Some(above) = next {
            if !self.sign_of_one(above, at, delta) {
                // Nodes further up have seen this moment already.
                return;
            }
            next = self.get(above).and_then(Node::parent);
        }
    }

    fn sign_of_one(&mut self, ix: NodeIx, at: Stamp, delta: &mut Delta) -> bool {
        let Some(node) = self.nodes.get_mut(ix) else { return false };
        if node.clocks.last_sign.is_some_and(|last| last >= at) {
            return false;
        }
        node.clocks.last_sign = Some(at);
        if matches!(node.status, Status::Running { trouble: Some(Trouble::Silent { .. }), .. }) {
            let told = node.status.as_told();
            self.set_status(ix, told, delta);
        }
        self.set_alarm(ix);
        true
    }

    pub(super) fn set_clock(&mut self, ix: NodeIx, clock: Clock, at: Stamp, told: Told, delta: &mut Delta) {
        if clock == Clock::Ended && !self.may_end(ix, told) {
            return;
        }
        let is_own = self.kind_of(told.by).is_agents_own();
        let Some(node) = self.nodes.get_mut(ix) else { return };
        let dates = is_own && matches!(clock, Clock::Created | Clock::Started);
        if *clock_of(node, clock) == Some(at) && node.is_dated >= dates {
            return;
        }
        if node.is_dated || dates {
            let date = |node: &mut Node| {
                node.is_dated |= dates;
                *clock_of(node, clock) = Some(at);
            };
            self.keep_in_place(ix, date, delta);
        } else {
            *clock_of(node, clock) = Some(at);
        }
        delta.touch(ix);
        // What the old clocks made of the state no longer follows; the next advance tells anew.
        let Some(told) = self.get(ix).map(|node| node.status.as_told()) else { return };
        self.set_status(ix, told, delta);
        self.set_alarm(ix);
    }

    /// Returns whether a source may say when a node ended: who is believed may, and others where that one knows only that
    /// it did.
    fn may_end(&self, ix: NodeIx, told: Told) -> bool {
        let Some(node) = self.get(ix) else { return false };
        self.best_claim(node).is_none_or(|believed| {
            believed.source == told.by || (believed.status.is_ended() && node.clocks.ended.is_none())
        })
    }
}

fn clock_of(node: &mut Node, clock: Clock) -> &mut Option<Stamp> {
    match clock {
        Clock::Created => &mut node.clocks.created,
        Clock::Started => &mut node.clocks.started,
        Clock::Ended => &mut node.clocks.ended,
        Clock::AcceptBy => &mut node.clocks.accept_by,
        Clock::FinishBy => &mut node.clocks.finish_by,
    }
}

/// Returns in which way a status report does not fit what the same source said before.
fn unfit(
    node: &Node,
    before: Option<&Claim>,
    report: &StatusReport,
    live: bool,
    source: SourceKind,
    told: Told,
) -> Option<Misfit> {
    if report.attempt.is_some_and(|attempt| attempt < node.attempt) {
        return Some(Misfit::OldAttempt);
    }
    let before = before?;
    let same_attempt = report.attempt.is_none_or(|attempt| attempt <= before.attempt);
    if same_attempt && matches!((told.at, before.at), (Some(at), Some(last)) if at < last) {
        return Some(Misfit::OutOfOrder);
    }
    // A step of ours that ended stays ended until it is retried; a delegation goes on with its steps, and
    // other tools start the same agent again.
    let steps_back = source == SourceKind::Engine && node.kind == NodeKind::Subtask;
    (steps_back && live && before.status.is_ended() && same_attempt).then_some(Misfit::AfterEnd)
}
