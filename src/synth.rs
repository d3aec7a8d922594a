//! Made-up fleets: the events that an engine would have written, of any size, the same for the same seed.
//!
//! Tests, benches and pictures need data that looks like work: steps that depend on each other, agents
//! that spend, fail, are retried, ask, spawn agents of their own and hand on whole delegations. Nothing
//! here is random beyond the seed, and no clock is read.

mod cast;
mod decision;
mod story;

use crate::model::event::Body;
use crate::model::time::Stamp;
use cast::Dice;
pub use decision::decision;
use story::Stage;

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
            let stage = fleet.stage(nth);
            // A new one every minute; the last live one began a few minutes ago.
            let minutes = u64::try_from(total - nth).unwrap_or(0);
            let start = Stamp::from_millis(
                fleet.now.millis() - i64::try_from(minutes * 60_000).unwrap_or(i64::MAX) - 240_000,
            );
            story::delegation(&mut dice, nth, fleet.subtasks, start, stage)
        })
    }

    /// How far each has come: of several live ones the first asks something and the last is a proposal, so
    /// that there is something for a person to do.
    fn stage(&self, nth: usize) -> Stage {
        match nth.checked_sub(self.ended) {
            None => Stage::Over,
            Some(0) if self.live > 1 => Stage::Asks,
            Some(place) if self.live > 1 && place + 1 == self.live => Stage::Proposed,
            Some(_) => Stage::UnderWay,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::event::Body;

    fn fleet() -> Fleet {
        Fleet { ended: 5, live: 3, subtasks: 6, seed: 4, now: Stamp::from_millis(1_790_000_000_000) }
    }

    #[test]
    fn the_same_seed_makes_the_same_fleet() {
        let events = || fleet().events().collect::<Vec<_>>();
        assert_eq!(events(), events());
        assert_ne!(events(), Fleet { seed: 5, ..fleet() }.events().collect::<Vec<_>>());
    }

    #[test]
    fn what_is_done_did_all_of_it() {
        let mut done = 0;
        let mut reached = BTreeMap::new();
        for (_, body) in fleet().events() {
            if let Body::SubtaskProgress(told) = &body {
                let progress = told.progress.clone().unwrap();
                reached.insert(
                    (told.delegation_id.clone(), told.subtask_id.clone()),
                    (progress.current, progress.total),
                );
            }
            if let Body::SubtaskCompleted(told) = &body {
                let (current, total) = reached[&(told.delegation_id.clone(), told.subtask_id.clone())];
                assert_eq!(current, total);
                done += 1;
            }
        }
        assert!(done > 20, "{done}");
    }

    #[test]
    fn of_several_live_ones_one_asks_and_one_is_proposed() {
        let asked = fleet().events().filter(|(_, body)| matches!(body, Body::Asked(_))).count();
        assert!(asked >= 1);
        let proposed: Vec<_> = fleet()
            .events()
            .filter_map(|(_, body)| if let Body::Proposed(told) = body { told.plan } else { None })
            .collect();
        let [plan] = proposed.as_slice() else { panic!("{} proposals", proposed.len()) };
        assert_eq!(plan.decision.as_ref().unwrap().subtasks.len(), 6);
        assert!(plan.subtasks.is_none(), "nothing is there before somebody agrees");
    }
}
