//! Who and what a node is, what it was given and what it gave back.

use crate::model::delta::Delta;
use crate::model::event::payload::Budget;
use crate::model::fact::Description;
use crate::model::handoff::{Decision, Handoff, Outcome};
use crate::model::id::QuestionId;
use crate::model::node::{Attempt, Moment, More, Question};
use crate::model::{Model, NodeIx, text};

impl Model {
    pub(super) fn describe(&mut self, ix: NodeIx, told: Description, delta: &mut Delta) {
        if let Some(index) = told.index {
            self.set_index(ix, index, delta);
        }
        let names = [
            &told.agent,
            &told.provider,
            &told.model_requested,
            &told.model_injected,
            &told.model_effective,
            &told.pattern,
        ]
        .map(|name| name.as_deref().map(|name| self.intern(name)));
        let Some(node) = self.nodes.get_mut(ix) else { return };
        let slots = [
            &mut node.agent,
            &mut node.provider,
            &mut node.model.requested,
            &mut node.model.injected,
            &mut node.model.effective,
            &mut node.pattern,
        ];
        for (slot, name) in slots.into_iter().zip(names) {
            set(slot, name);
        }
        set(&mut node.title, told.title.as_deref().map(text::line));
        if has_more(&told) {
            describe_more(node.more_mut(), told);
        }
        delta.touch(ix);
    }

    pub(super) fn hand_off(&mut self, ix: NodeIx, handoff: Box<Handoff>, delta: &mut Delta) {
        self.change_more(ix, delta, |more| more.handoff = Some(handoff));
    }

    pub(super) fn decide(&mut self, ix: NodeIx, decision: Box<Decision>, delta: &mut Delta) {
        self.change_more(ix, delta, |more| more.decision = Some(decision));
    }

    pub(super) fn return_outcome(&mut self, ix: NodeIx, outcome: Box<Outcome>, delta: &mut Delta) {
        self.change_more(ix, delta, |more| more.outcome = Some(outcome));
    }

    pub(super) fn rate(&mut self, ix: NodeIx, quality: f64, delta: &mut Delta) {
        self.change_more(ix, delta, |more| more.quality = Some(quality));
    }

    pub(super) fn budget(&mut self, ix: NodeIx, budget: Budget, delta: &mut Delta) {
        self.change_more(ix, delta, |more| more.budget = Some(budget));
    }

    pub(super) fn ask(&mut self, ix: NodeIx, mut question: Question, delta: &mut Delta) {
        question.text = question.text.as_deref().map(text::lines);
        question.tool = question.tool.as_deref().map(text::line);
        self.change_more(ix, delta, |more| {
            more.questions.retain(|asked| asked.question_id != question.question_id);
            more.questions.push(question);
        });
    }

    pub(super) fn settle_question(&mut self, ix: NodeIx, question: &QuestionId, delta: &mut Delta) {
        self.change_more(ix, delta, |more| more.questions.retain(|asked| asked.question_id != *question));
    }

    fn change_more(&mut self, ix: NodeIx, delta: &mut Delta, change: impl FnOnce(&mut More)) {
        if let Some(node) = self.nodes.get_mut(ix) {
            change(node.more_mut());
            delta.touch(ix);
        }
    }

    /// Takes in what is known of one attempt; one without a number is found by its session.
    pub(super) fn attempt(&mut self, ix: NodeIx, mut told: Attempt, delta: &mut Delta) {
        told.agent = told.agent.as_deref().map(|name| self.intern(name));
        told.model = told.model.as_deref().map(|name| self.intern(name));
        told.reason = told.reason.as_deref().map(text::lines);
        let Some(node) = self.nodes.get_mut(ix) else { return };
        if told.attempt == 0 {
            let same = |known: &&Attempt| told.session_id.is_some() && known.session_id == told.session_id;
            told.attempt = node.attempts.iter().find(same).map_or(node.attempt.max(1), |known| known.attempt);
        }
        node.attempt = node.attempt.max(told.attempt);
        match node.attempts.binary_search_by_key(&told.attempt, |known| known.attempt) {
            Ok(at) => {
                if let Some(known) = node.attempts.get_mut(at) {
                    known.update(told);
                }
            }
            Err(at) => {
                // Most nodes have one attempt: no room for four.
                node.attempts.reserve_exact(1);
                node.attempts.insert(at, told);
            }
        }
        delta.touch(ix);
    }

    pub(super) fn remember(&mut self, ix: NodeIx, mut moment: Moment, delta: &mut Delta) {
        moment.name = self.intern(&moment.name);
        moment.note = moment.note.as_deref().map(text::line);
        let Some(node) = self.nodes.get_mut(ix) else { return };
        // In the journal's order, and what is told twice is kept once.
        let order = |moment: &Moment| (moment.seq, moment.at);
        let at = node.timeline.partition_point(|known| order(known) <= order(&moment));
        if at.checked_sub(1).and_then(|last| node.timeline.get(last)) != Some(&moment) {
            node.timeline.insert(at, moment);
            delta.touch(ix);
        }
    }
}

/// Sets what is told, and leaves the rest.
fn set<T>(slot: &mut Option<T>, told: Option<T>) {
    if told.is_some() {
        *slot = told;
    }
}

fn has_more(told: &Description) -> bool {
    told.task.is_some()
        || told.path.is_some()
        || told.depth.is_some()
        || told.depends_on.as_ref().is_some_and(|on| !on.is_empty())
        || told.expected_steps.is_some()
        || told.estimate_ms.is_some()
        || told.max_attempts.is_some()
        || told.workspace.is_some()
        || told.command.is_some()
}

fn describe_more(more: &mut More, told: Description) {
    set(&mut more.task, told.task);
    set(&mut more.depth, told.depth);
    set(&mut more.expected_steps, told.expected_steps);
    set(&mut more.estimate_ms, told.estimate_ms);
    set(&mut more.max_attempts, told.max_attempts);
    set(&mut more.workspace, told.workspace.as_deref().map(text::line));
    set(&mut more.command, told.command.as_deref().map(text::line));
    if let Some(path) = told.path {
        more.path = path.iter().map(|name| text::line(name).into()).collect();
    }
    if let Some(depends_on) = told.depends_on {
        more.depends_on = depends_on;
    }
}
