//! What all delegations add up to, for the header: kept by adding and taking away what changed, since a sum
//! over ten thousand delegations for every frame would be felt.

use std::collections::HashMap;

use crate::model::delta::Delta;
use crate::model::node::{Node, NodeKind};
use crate::model::rollup::Rollup;
use crate::model::status::{StatusWord, WORDS};
use crate::model::usage::Spend;
use crate::model::{Model, NodeIx};

/// What everything adds up to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    /// Steps, sessions and agents by state; delegations are counted by what is in them.
    states: [u32; WORDS.len()],
    pub spend: Spend,
    shares: HashMap<NodeIx, Share>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Share {
    states: [u32; WORDS.len()],
    spend: Spend,
}

impl Share {
    fn of(node: &Node) -> Self {
        let below = node.rollup().map(|rollup: &Rollup| rollup.descendants);
        let mut states = WORDS.map(|(word, _)| below.map_or(0, |below| below.of(word)));
        // A delegation without steps yet, and a session that stands alone, count for themselves.
        let alone = below.is_none_or(|below| below.total() == 0) || node.kind != NodeKind::Delegation;
        if let Some(state) = states.get_mut(node.status.word() as usize).filter(|_| alone) {
            *state += 1;
        }
        Self { states, spend: node.subtree_spend() }
    }
}

impl Totals {
    /// Returns how many are in a state.
    pub fn of(&self, word: StatusWord) -> u32 {
        self.states.get(word as usize).copied().unwrap_or(0)
    }

    /// Takes in what changed.
    pub fn update(&mut self, model: &Model, delta: &Delta) {
        for gone in delta.removed.iter().chain(delta.joined.iter().map(|(gone, _)| gone)) {
            self.drop_share(*gone);
        }
        for ix in delta.added.iter().chain(&delta.changed).chain(&delta.moved) {
            match model.get(*ix) {
                Some(node) if node.parent().is_none() => self.put_share(*ix, Share::of(node)),
                Some(_) | None => self.drop_share(*ix),
            }
        }
    }

    fn put_share(&mut self, ix: NodeIx, share: Share) {
        if self.shares.get(&ix) == Some(&share) {
            return;
        }
        self.drop_share(ix);
        for (sum, count) in self.states.iter_mut().zip(share.states) {
            *sum += count;
        }
        self.spend.add(&share.spend);
        self.shares.insert(ix, share);
    }

    fn drop_share(&mut self, ix: NodeIx) {
        if let Some(old) = self.shares.remove(&ix) {
            for (sum, count) in self.states.iter_mut().zip(old.states) {
                *sum = sum.saturating_sub(count);
            }
            self.spend.subtract(&old.spend);
        }
    }
}
