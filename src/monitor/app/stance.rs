//! What a node really does: the one truth behind its sign, its word, its clock and the counts of the header.
//!
//! A delegation is told to run for as long as it is not over, also while all that lives in it waits for a
//! person. So its state on screen follows from what is below it. How many work, ask or are overdue below a node
//! is kept by what changed: a frame asks for it without a walk, and a change costs the depth of the tree.

use std::collections::{HashMap, HashSet};

use crate::model::delta::Delta;
use crate::model::node::{Node, NodeKind};
use crate::model::rollup::Tally;
use crate::model::status::{Status, StatusWord, Trouble, WORDS};
use crate::model::{Model, NodeIx};
use crate::report::text::IDLE;

/// What a node does, as a person sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stance {
    /// It works, or something below it does.
    Works,
    /// It asked, and waits for the answer.
    Asks,
    /// Nothing in it works, and something below it waits for a person.
    WaitsForYou,
    /// No sign of life, of it or of all that lives below it.
    Silent,
    /// Past its deadline, or so is what it waits for.
    Overdue,
    /// A session whose turn is over and whose process lives: it does nothing until its person says something.
    Idle,
    /// It stands still, in this state.
    Still(StatusWord),
}

impl Stance {
    /// Returns the word for it, everywhere on screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::Works => StatusWord::Running.as_str(),
            Self::Asks | Self::WaitsForYou => "waits for you",
            Self::Silent => "silent",
            Self::Overdue => "overdue",
            Self::Idle => IDLE,
            Self::Still(word) => word.as_str(),
        }
    }

    /// Returns a word for it that fits a narrow column.
    pub fn short(self) -> &'static str {
        match self {
            Self::Asks => "asks",
            Self::WaitsForYou => "needs me",
            Self::Works | Self::Silent | Self::Overdue | Self::Idle | Self::Still(_) => self.word(),
        }
    }

    /// Returns the state whose sign and colour it has; `None` where it waits for a person.
    pub fn status(self) -> Option<StatusWord> {
        match self {
            Self::Works => Some(StatusWord::Running),
            Self::Asks | Self::WaitsForYou => None,
            Self::Silent => Some(StatusWord::Stale),
            Self::Overdue => Some(StatusWord::TimedOut),
            Self::Idle => Some(StatusWord::Queued),
            Self::Still(word) => Some(word),
        }
    }

    /// Returns whether it is over, one way or another.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Still(word) if !word.is_live() && word != StatusWord::Unknown)
    }
}

/// Returns the word on screen for a state by itself.
pub fn word_of(status: &Status) -> &'static str {
    let stance = match status {
        Status::Running { trouble: Some(Trouble::Silent { .. }), .. } => Stance::Silent,
        Status::Running { trouble: Some(Trouble::Overdue { .. }), .. } => Stance::Overdue,
        Status::Running { trouble: None, .. }
        | Status::Unknown
        | Status::Queued
        | Status::Offered { .. }
        | Status::Paused { .. }
        | Status::Blocked { .. }
        | Status::Review { .. }
        | Status::Ended { .. } => Stance::Still(status.word()),
    };
    stance.word()
}

/// What a node does by itself, whatever is below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    Works,
    Asks,
    Overdue,
}

impl Own {
    fn of(node: &Node) -> Option<Self> {
        if node.more().is_some_and(|more| !more.questions.is_empty()) && !node.status.is_ended() {
            return Some(Self::Asks);
        }
        match &node.status {
            Status::Running { trouble: None, .. } => {
                (has_session(node) || is_alone(node)).then_some(Self::Works)
            }
            Status::Running { trouble: Some(Trouble::Overdue { .. }), .. } => Some(Self::Overdue),
            Status::Running { trouble: Some(Trouble::Silent { .. }), .. }
            | Status::Unknown
            | Status::Queued
            | Status::Offered { .. }
            | Status::Paused { .. }
            | Status::Blocked { .. }
            | Status::Review { .. }
            | Status::Ended { .. } => None,
        }
    }
}

/// Returns whether somebody works for this node itself.
fn has_session(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Session | NodeKind::Agent)
        || node.attempts.iter().any(|attempt| attempt.started_at.is_some() && attempt.ended_at.is_none())
}

/// Returns whether nothing below it lives. An overdue node has the word of one that timed out.
fn is_alone(node: &Node) -> bool {
    let is_live = |word: StatusWord| word.is_live() || word == StatusWord::TimedOut;
    let below = node.rollup().map(|rollup| rollup.descendants).unwrap_or_default();
    !WORDS.into_iter().any(|(word, _)| is_live(word) && below.of(word) > 0)
}

/// How many do what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    works: u32,
    asks: u32,
    overdue: u32,
}

impl Counts {
    fn of(own: Option<Own>) -> Self {
        let count = |what| u32::from(own == Some(what));
        Self { works: count(Own::Works), asks: count(Own::Asks), overdue: count(Own::Overdue) }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            works: self.works + other.works,
            asks: self.asks + other.asks,
            overdue: self.overdue + other.overdue,
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            works: self.works.saturating_sub(other.works),
            asks: self.asks.saturating_sub(other.asks),
            overdue: self.overdue.saturating_sub(other.overdue),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Entry {
    /// Under which node it was counted.
    parent: Option<NodeIx>,
    own: Counts,
    below: Counts,
}

/// Who works, asks or is overdue, and how many do so below each node. Nodes without any have no entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stances {
    known: HashMap<NodeIx, Entry>,
    all: Counts,
}

impl Stances {
    /// Returns how many really work.
    pub fn working(&self) -> u32 {
        self.all.works
    }

    /// Returns whether something below this node asks.
    pub fn asks_below(&self, ix: NodeIx) -> bool {
        self.known.get(&ix).is_some_and(|entry| entry.below.asks > 0)
    }

    /// Returns what a node does.
    pub fn of(&self, ix: NodeIx, node: &Node) -> Stance {
        let own = Own::of(node);
        match (&node.status, own) {
            (_, Some(Own::Asks)) => Stance::Asks,
            (_, Some(Own::Overdue)) => Stance::Overdue,
            (Status::Running { trouble: Some(_), .. }, _) => Stance::Silent,
            (Status::Running { trouble: None, .. }, Some(Own::Works)) => Stance::Works,
            (Status::Running { trouble: None, .. }, _) => self.by_what_is_below(ix, node),
            (Status::Queued, _) if node.is_idle() => Stance::Idle,
            (_, _) => Stance::Still(node.status.word()),
        }
    }

    fn by_what_is_below(&self, ix: NodeIx, node: &Node) -> Stance {
        let below = self.known.get(&ix).map(|entry| entry.below).unwrap_or_default();
        let tally: Tally = node.rollup().map(|rollup| rollup.descendants).unwrap_or_default();
        let has = |word: StatusWord| tally.of(word) > 0;
        if below.works > 0 {
            Stance::Works
        } else if below.asks > 0
            || [StatusWord::Offered, StatusWord::Review, StatusWord::Blocked].into_iter().any(has)
        {
            Stance::WaitsForYou
        } else if below.overdue > 0 {
            Stance::Overdue
        } else if has(StatusWord::Stale) {
            Stance::Silent
        } else if has(StatusWord::Paused) {
            Stance::Still(StatusWord::Paused)
        } else if has(StatusWord::Queued) {
            Stance::Still(StatusWord::Queued)
        } else {
            // All below is over: what is left is its own.
            Stance::Works
        }
    }

    /// Takes in what changed.
    pub fn update(&mut self, model: &Model, delta: &Delta) {
        for gone in delta.removed.iter().chain(delta.joined.iter().map(|(gone, _)| gone)) {
            self.forget(*gone);
        }
        let touched: HashSet<NodeIx> =
            delta.added.iter().chain(&delta.changed).chain(&delta.moved).copied().collect();
        // All that moved is taken off before any of it is hung anew: so no way up can lead in a circle.
        let mut loose = Vec::new();
        for ix in &touched {
            let parent = model.get(*ix).and_then(Node::parent);
            if let Some(entry) = self.known.get_mut(ix).filter(|entry| entry.parent != parent) {
                let (old, share) = (entry.parent.take(), entry.own.plus(entry.below));
                self.take_away(old, share);
                loose.push((*ix, parent));
            }
        }
        for (ix, parent) in loose {
            // One that was counted anew in between has its place already.
            if let Some(entry) = self.known.get_mut(&ix).filter(|entry| entry.parent.is_none()) {
                entry.parent = parent;
                let share = entry.own.plus(entry.below);
                self.add(model, parent, share);
            }
        }
        for ix in touched {
            if let Some(node) = model.get(ix) {
                self.set(model, ix, node, Counts::of(Own::of(node)));
            }
        }
    }

    fn set(&mut self, model: &Model, ix: NodeIx, node: &Node, own: Counts) {
        let before = self.known.get(&ix).map(|entry| entry.own).unwrap_or_default();
        if before == own {
            return;
        }
        self.all = self.all.minus(before).plus(own);
        let parent = node.parent();
        self.known.entry(ix).or_insert(Entry { parent, ..Entry::default() }).own = own;
        self.take_away(parent, before);
        self.add(model, parent, own);
        self.drop_if_empty(ix);
    }

    fn forget(&mut self, ix: NodeIx) {
        if let Some(entry) = self.known.remove(&ix) {
            self.all = self.all.minus(entry.own);
            self.take_away(entry.parent, entry.own.plus(entry.below));
        }
    }

    /// Counts these below a node and all above it.
    fn add(&mut self, model: &Model, from: Option<NodeIx>, share: Counts) {
        let mut up = from.filter(|_| share != Counts::default());
        while let Some(ix) = up {
            let parent = model.get(ix).and_then(Node::parent);
            let entry = self.known.entry(ix).or_insert(Entry { parent, ..Entry::default() });
            entry.below = entry.below.plus(share);
            up = entry.parent;
        }
    }

    /// Counts these no longer below a node and all above it.
    fn take_away(&mut self, from: Option<NodeIx>, share: Counts) {
        let mut up = from.filter(|_| share != Counts::default());
        while let Some(ix) = up {
            let Some(entry) = self.known.get_mut(&ix) else { return };
            entry.below = entry.below.minus(share);
            up = entry.parent;
            self.drop_if_empty(ix);
        }
    }

    fn drop_if_empty(&mut self, ix: NodeIx) {
        let is_empty = |entry: &Entry| entry.own == Counts::default() && entry.below == Counts::default();
        if self.known.get(&ix).is_some_and(is_empty) {
            self.known.remove(&ix);
        }
    }
}
