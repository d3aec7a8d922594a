//! What everything below a node adds up to, kept by adding and taking away along the path to the root:
//! a change costs the depth of the tree, never its size.

use super::node::make_room;
use super::status::{StatusWord, WORDS};
use super::time::Stamp;
use super::usage::Spend;

/// How many nodes are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally([u32; WORDS.len()]);

impl Tally {
    /// Returns how many are in that state.
    pub fn of(&self, word: StatusWord) -> u32 {
        self.0.get(word as usize).copied().unwrap_or(0)
    }

    /// Returns how many there are in all.
    pub fn total(&self) -> u32 {
        self.0.iter().sum()
    }

    /// Counts one more.
    pub fn count(&mut self, word: StatusWord) {
        self.plus(word, 1);
    }

    pub(super) fn plus(&mut self, word: StatusWord, count: u32) {
        if let Some(slot) = self.0.get_mut(word as usize) {
            *slot = slot.wrapping_add(count);
        }
    }

    pub(super) fn minus(&mut self, word: StatusWord, count: u32) {
        self.plus(word, count.wrapping_neg());
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.wrapping_add(theirs);
        }
    }

    fn subtract(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.wrapping_sub(theirs);
        }
    }
}

/// What everything below a node adds up to. A node without children has none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rollup {
    /// Spent by all below.
    pub below: Spend,
    /// All below, by state.
    pub descendants: Tally,
    /// The direct children, by state.
    pub children: Tally,
    /// The heights that the children's subtrees have, and how many have each; the lowest first. Only those
    /// that occur, since a chain as long as a file likes would else take the square of its length.
    heights: Vec<(usize, u32)>,
}

/// What a subtree brings to the roll-ups above it.
#[derive(Debug, Clone, Default)]
pub(super) struct Share {
    pub spend: Spend,
    pub tally: Tally,
    pub height: usize,
    pub word: StatusWord,
    pub last_sign: Option<Stamp>,
}

impl Rollup {
    /// Returns how many levels there are below.
    pub fn height(&self) -> usize {
        self.heights.last().map_or(0, |(height, _)| height + 1)
    }

    /// Returns how many direct children have done their part, and how many there are.
    pub fn steps(&self) -> (u64, u64) {
        let done = self.children.of(StatusWord::Done) + self.children.of(StatusWord::Skipped);
        (u64::from(done), u64::from(self.children.total()))
    }

    /// Adds a child whose subtree has this height.
    pub(super) fn add_child(&mut self, height: usize, word: StatusWord) {
        self.children.plus(word, 1);
        match self.heights.binary_search_by_key(&height, |(known, _)| *known) {
            Ok(at) => self.heights.get_mut(at).into_iter().for_each(|(_, count)| *count += 1),
            Err(at) => {
                make_room(&mut self.heights);
                self.heights.insert(at, (height, 1));
            }
        }
    }

    /// Takes a child away.
    pub(super) fn remove_child(&mut self, height: usize, word: StatusWord) {
        self.children.minus(word, 1);
        if let Ok(at) = self.heights.binary_search_by_key(&height, |(known, _)| *known)
            && let Some((_, count)) = self.heights.get_mut(at)
        {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.heights.remove(at);
            }
        }
    }

    /// Notes that a child's subtree has another height.
    pub(super) fn child_height(&mut self, from: usize, to: usize, word: StatusWord) {
        self.remove_child(from, word);
        self.add_child(to, word);
    }

    pub(super) fn add(&mut self, share: &Share) {
        self.below.add(&share.spend);
        self.descendants.add(&share.tally);
    }

    pub(super) fn subtract(&mut self, share: &Share) {
        self.below.subtract(&share.spend);
        self.descendants.subtract(&share.tally);
    }
}
