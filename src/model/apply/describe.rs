//! Who and what a node is, what it was given and what it gave back.

use super::Told;
use crate::model::delta::Delta;
use crate::model::event::payload::Budget;
use crate::model::fact::Description;
use crate::model::handoff::{Decision, Handoff, Outcome};
use crate::model::id::{QuestionId, SubtaskId};
use crate::model::key::SourceKind;
use crate::model::node::{Attempt, Moment, More, Node, NodeKind, Question, Running, make_room};
use crate::model::status::Status;
use crate::model::usage::Context;
use crate::model::worktree::WorkTree;
use crate::model::{Model, NodeIx, secrets, text};

impl Model {
    /// Returns whether somebody may only add to what is known of a node: of a step that an engine runs, its agent's own
    /// files know neither what it is called nor what its answer came to when it was read.
    fn may_only_add(&self, ix: NodeIx, by: Told) -> bool {
        let is_engine = |id| self.source(id).is_some_and(|source| source.kind == SourceKind::Engine);
        let is_step =
            |node: &Node| node.kind == NodeKind::Subtask && node.sources().into_iter().any(is_engine);
        !is_engine(by.by) && self.get(ix).is_some_and(is_step)
    }

    /// Returns whether somebody may say where a node stands: of what an agent's own files tell of, no third tool, so that
    /// it stands there whoever is read first.
    fn may_place(&self, ix: NodeIx, by: Told) -> bool {
        let is_own = |id| self.kind_of(id).is_agents_own();
        let is_third = self.kind_of(by.by).rank() > SourceKind::Hook.rank();
        !is_third || !self.get(ix).is_some_and(|node| node.sources().into_iter().any(is_own))
    }

    pub(super) fn describe(&mut self, ix: NodeIx, mut told: Description, by: Told, delta: &mut Delta) {
        if (told.is_hearsay || self.may_only_add(ix, by))
            && let Some(node) = self.get(ix)
        {
            told.title = told.title.filter(|_| node.title.is_none());
            told.agent = told.agent.filter(|_| node.agent.is_none());
        }
        if let Some(index) = told.index.filter(|_| self.may_place(ix, by)) {
            self.set_index(ix, index, delta);
        }
        let names =
            [&told.agent, &told.provider, &told.model_requested, &told.model_injected, &told.model_effective]
                .map(|name| name.as_deref().map(|name| self.intern(name)));
        told.pattern = told.pattern.as_deref().map(|name| self.intern(name));
        let depends_on = told.depends_on.as_ref().map(|on| {
            let shared: Box<[SubtaskId]> = on.iter().map(|step| self.intern_id(step)).collect();
            Some(shared).filter(|on| !on.is_empty())
        });
        let Some(node) = self.nodes.get_mut(ix) else { return };
        let slots = [
            &mut node.agent,
            &mut node.provider,
            &mut node.model.requested,
            &mut node.model.injected,
            &mut node.model.effective,
        ];
        let mut changed = false;
        for (slot, name) in slots.into_iter().zip(names) {
            changed |= set(slot, name);
        }
        changed |= set(&mut node.title, told.title.take().map(text::line_of));
        changed |= set(&mut node.max_attempts, told.max_attempts);
        changed |= set(&mut node.estimate_ms, told.estimate_ms);
        if let Some(on) = depends_on {
            changed |= node.depends_on != on;
            node.depends_on = on;
        }
        if has_more(&told) {
            changed |= describe_more(node.more_mut(), told);
        }
        if changed {
            delta.touch(ix);
        }
    }

    pub(super) fn hand_off(&mut self, ix: NodeIx, mut handoff: Box<Handoff>, delta: &mut Delta) {
        handoff.each_text(&mut secrets::take_out);
        self.change_more(ix, delta, |more| set(&mut more.handoff, Some(handoff)));
    }

    /// Writes into the record that it is taken; the first word counts.
    pub(super) fn take(&mut self, ix: NodeIx, by: Option<&str>, told: Told, delta: &mut Delta) {
        let by = by.map(|by| text::line(by).into());
        self.change_more(ix, delta, |more| {
            let handoff = more.handoff.get_or_insert_default();
            if handoff.accepted_at.is_some() {
                return false;
            }
            (handoff.accepted_at, handoff.accepted_by) = (told.at, by);
            told.at.is_some()
        });
    }

    pub(super) fn decide(&mut self, ix: NodeIx, mut decision: Box<Decision>, delta: &mut Delta) {
        decision.each_text(&mut secrets::take_out);
        self.change_more(ix, delta, |more| set(&mut more.decision, Some(decision)));
    }

    pub(super) fn return_outcome(
        &mut self,
        ix: NodeIx,
        mut outcome: Box<Outcome>,
        by: Told,
        delta: &mut Delta,
    ) {
        outcome.each_text(&mut secrets::take_out);
        if self.may_only_add(ix, by) && self.get(ix).is_some_and(|node| node.returned.is_some()) {
            return;
        }
        if let Some(node) = self.nodes.get_mut(ix)
            && set(&mut node.returned, Some(outcome.into()))
        {
            delta.touch(ix);
        }
    }

    pub(super) fn rate(&mut self, ix: NodeIx, quality: f64, delta: &mut Delta) {
        self.change_more(ix, delta, |more| set(&mut more.quality, Some(quality)));
    }

    pub(super) fn run_as(&mut self, ix: NodeIx, mut running: Box<Running>, delta: &mut Delta) {
        let known = self.get(ix).and_then(Node::more).and_then(|more| more.running.as_deref());
        let is_other = |known: &Running| (known.pid, known.start) != (running.pid, running.start);
        if !running.is_alive && known.is_some_and(|known| known.is_alive && is_other(known)) {
            // One of two that worked on it has ended.
            return;
        }
        let is_news = known.is_none_or(|known| known.is_alive != running.is_alive);
        running.command = text::line(&running.command);
        for other in &mut running.beside {
            other.command = text::line(&other.command);
        }
        self.change_more(ix, delta, |more| set(&mut more.running, Some(running)));
        // Whether its process is there decides how long it, and what works inside of it, may be silent.
        if is_news {
            self.look_at_silence_below(ix, delta);
        }
    }

    /// Takes in how full a context is; its size stays known where only its use is told.
    pub(super) fn fill_context(&mut self, ix: NodeIx, told: Context, delta: &mut Delta) {
        self.change_more(ix, delta, |more| {
            let size = told.size.or(more.context.and_then(|known| known.size));
            set(&mut more.context, Some(Context { size, ..told }))
        });
    }

    pub(super) fn work_in(&mut self, ix: NodeIx, mut tree: Box<WorkTree>, delta: &mut Delta) {
        tree.clean();
        self.change_more(ix, delta, |more| set(&mut more.tree, Some(tree)));
    }

    pub(super) fn budget(&mut self, ix: NodeIx, budget: Box<Budget>, delta: &mut Delta) {
        self.change_more(ix, delta, |more| set(&mut more.budget, Some(budget)));
    }

    pub(super) fn ask(&mut self, ix: NodeIx, mut question: Question, told: Told, delta: &mut Delta) {
        question.text = question.text.as_deref().map(text::lines);
        question.tool = question.tool.as_deref().map(text::line);
        question.input.iter_mut().for_each(|input| secrets::each_text(input, &mut secrets::take_out));
        self.change_more(ix, delta, |more| {
            let is_news = !more.questions.contains(&question);
            if is_news {
                more.questions.retain(|asked| asked.question_id != question.question_id);
                more.questions.push(question);
            }
            is_news
        });
        self.look_at_clocks(ix, told, delta);
    }

    pub(super) fn settle_question(
        &mut self,
        ix: NodeIx,
        question: &QuestionId,
        told: Told,
        delta: &mut Delta,
    ) {
        if self.get(ix).and_then(Node::more).is_none() {
            return;
        }
        self.change_more(ix, delta, |more| {
            let before = more.questions.len();
            more.questions.retain(|asked| asked.question_id != *question);
            more.questions.len() != before
        });
        self.look_at_clocks(ix, told, delta);
    }

    /// Takes back what time made of a running node, since it stands or goes on now.
    fn look_at_clocks(&mut self, ix: NodeIx, told: Told, delta: &mut Delta) {
        if let Some(at) = told.at {
            self.sign(ix, at, delta);
        }
        let Some(node) = self.get(ix).filter(|node| matches!(node.status, Status::Running { .. })) else {
            return;
        };
        let running = node.status.as_told();
        self.set_status(ix, running, delta);
        self.set_alarm(ix);
    }

    /// Changes what few nodes have; `change` says whether it is other than before.
    fn change_more(&mut self, ix: NodeIx, delta: &mut Delta, change: impl FnOnce(&mut More) -> bool) {
        if self.nodes.get_mut(ix).is_some_and(|node| change(node.more_mut())) {
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
        if let Some(shared) = told.session_id.as_ref().and_then(|id| node.session_key(id)) {
            told.session_id = Some(shared.clone());
        }
        match node.attempts.binary_search_by_key(&told.attempt, |known| known.attempt) {
            Ok(at) => {
                let Some(known) = node.attempts.get_mut(at) else { return };
                let before = known.clone();
                known.update(told);
                if *known == before {
                    return;
                }
            }
            Err(at) => {
                make_room(&mut node.attempts);
                node.attempts.insert(at, told);
            }
        }
        delta.touch(ix);
    }

    pub(super) fn remember(&mut self, ix: NodeIx, mut moment: Moment, delta: &mut Delta) {
        moment.name = self.intern(&moment.name);
        moment.note = moment.note.map(text::line_of);
        let Some(node) = self.nodes.get_mut(ix) else { return };
        // In the journal's order, and what is told twice is kept once.
        let order = |moment: &Moment| (moment.seq, moment.at);
        let at = node.timeline.partition_point(|known| order(known) <= order(&moment));
        let (earlier, _) = node.timeline.split_at(at);
        let mut same_time = earlier.iter().rev().take_while(|known| order(known) == order(&moment));
        if !same_time.any(|known| *known == moment) {
            make_room(&mut node.timeline);
            node.timeline.insert(at, moment);
            delta.touch(ix);
        }
    }
}

/// Sets what is told, leaves the rest, and returns whether that is other than before.
fn set<T: PartialEq>(slot: &mut Option<T>, told: Option<T>) -> bool {
    let changed = told.is_some() && *slot != told;
    if changed {
        *slot = told;
    }
    changed
}

fn has_more(told: &Description) -> bool {
    told.task.is_some()
        || told.pattern.is_some()
        || told.path.is_some()
        || told.depth.is_some()
        || told.expected_steps.is_some()
        || told.workspace.is_some()
        || told.command.is_some()
}

fn describe_more(more: &mut More, told: Description) -> bool {
    let mut changed = set(&mut more.task, told.task);
    changed |= set(&mut more.pattern, told.pattern);
    changed |= set(&mut more.depth, told.depth);
    changed |= set(&mut more.expected_steps, told.expected_steps);
    changed |= set(&mut more.workspace, told.workspace.as_deref().map(text::line));
    changed |= set(&mut more.command, told.command.as_deref().map(text::line));
    if let Some(path) = told.path {
        let path: Vec<String> = path.iter().map(|name| text::line(name).into()).collect();
        changed |= more.path != path;
        more.path = path;
    }
    changed
}
