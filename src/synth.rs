//! Made-up fleets: the events that an engine would have written, of any size, the same for the same seed.
//!
//! Tests, benches and pictures need data that looks like work: steps that depend on each other, agents
//! that spend, fail, are retried, ask, spawn agents of their own and hand on whole delegations. Nothing
//! here is random beyond the seed, and no clock is read.

mod cast;
mod story;

use crate::model::event::Body;
use crate::model::time::Stamp;
use cast::Dice;
pub use story::decision;

/// What fleet to make up.
#[derive(Debug, Clone)]
pub struct Fleet {
    /// How many top delegations have ended.
    pub ended: usize,
    /// How many top delegations are under way.
    pub live: usize,
    /// How many steps each has.
    pub subtasks: usize,
    /// The same seed makes the same fleet.
    pub seed: u64,
    /// The moment up to which the story goes.
    pub now: Stamp,
}

/// A thing that happened, and when.
pub type Line = (Stamp, Body);

impl Fleet {
    /// Returns the events of the ended delegations one after another, then those of the live ones.
    pub fn events(&self) -> impl Iterator<Item = Line> + use<> {
        let mut dice = Dice::new(self.seed);
        let fleet = self.clone();
        let total = self.ended + self.live;
        (0..total).flat_map(move |nth| {
            let is_live = nth >= fleet.ended;
            // A new one every minute; the last live one began a few minutes ago.
            let minutes = u64::try_from(total - nth).unwrap_or(0);
            let start = Stamp::from_millis(
                fleet.now.millis() - i64::try_from(minutes * 60_000).unwrap_or(i64::MAX) - 240_000,
            );
            story::delegation(&mut dice, nth, fleet.subtasks, start, is_live.then_some(fleet.now))
        })
    }
}
