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
            // A new one every minute, the last some minutes ago.
            let minutes = u64::try_from(total - nth).unwrap_or(0);
            let start = before(fleet.now, minutes * 60_000 + 240_000);
            let tell = |dice: &mut Dice, start| story::delegation(dice, nth, fleet.subtasks, start, stage);
            if stage == Stage::Over {
                return tell(&mut dice, start);
            }
            // What is live spoke a moment ago: told once to see how long it takes, and again from its start.
            let quiet = 4_000 + dice.below(50_000);
            let last = tell(&mut dice.clone(), start).last().map_or(start, |(at, _)| *at);
            let took = u64::try_from(last.millis() - start.millis()).unwrap_or(0);
            tell(&mut dice, before(fleet.now, took + quiet))
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

fn before(now: Stamp, millis: u64) -> Stamp {
    Stamp::from_millis(now.millis() - i64::try_from(millis).unwrap_or(i64::MAX))
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
                let progress = told.progress.unwrap();
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
    fn nothing_happens_after_now_and_what_is_live_spoke_in_the_last_minute() {
        let fleet = fleet();
        assert!(fleet.events().all(|(at, _)| at <= fleet.now));
        let live: Vec<Line> =
            fleet.events().skip_while(|(_, body)| !matches!(body, Body::Asked(_))).collect();
        let (asked, _) = live.first().unwrap();
        assert!(fleet.now.since(*asked) < std::time::Duration::from_mins(1), "{asked}");
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
