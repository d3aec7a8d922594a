//! How fast tokens are spent: a few samples for what is live, taken when something changed.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::model::delta::Delta;
use crate::model::node::Node;
use crate::model::time::Stamp;
use crate::model::{Model, NodeIx};

/// The time that one bar of a sparkline stands for.
pub const BAR: Duration = Duration::from_secs(10);
/// How many bars are kept: ten minutes.
const BARS: usize = 60;
/// The rate is that of the last so many bars: long enough not to jump with every message.
const RECENT: u32 = 6;

/// What was spent in each of the last bars, by node.
#[derive(Debug, Default)]
pub struct Burn {
    nodes: HashMap<NodeIx, Series>,
    all: Series,
}

/// The bars of one node.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// The number of a bar since the epoch, and what was spent in it; gaps are bars without spending.
    bars: VecDeque<(i64, u64)>,
    known: Option<u64>,
    since: Option<Stamp>,
}

impl Burn {
    /// Takes in what changed. What was spent before this was looked at is no rate: while all that was there is
    /// still being read (`is_loaded` is false), the totals are only noted, and so is what is heard of for the first time
    /// though it began long ago.
    pub fn update(&mut self, model: &Model, delta: &Delta, total: u64, (now, is_loaded): (Stamp, bool)) {
        if !is_loaded {
            *self = Self::default();
        }
        for gone in &delta.removed {
            self.nodes.remove(gone);
        }
        for ix in delta.added.iter().chain(&delta.changed) {
            let Some(node) = model.get(*ix) else { continue };
            if node.status.is_ended() {
                self.nodes.remove(ix);
            } else if is_loaded {
                let total = node.subtree_spend().tokens().total();
                self.nodes.entry(*ix).or_default().sample(total, now);
            }
        }
        let added = delta.added.iter().filter_map(|ix| model.get(*ix));
        let old =
            added.filter(|node| !has_just_begun(node, now)).map(|node| node.own_spend().tokens().total());
        self.all.note(old.fold(0, u64::saturating_add));
        self.all.sample(total, now);
    }

    /// Returns the bars of a node that is live.
    pub fn of(&self, ix: NodeIx) -> Option<&Series> {
        self.nodes.get(&ix)
    }

    /// Returns the bars of everything.
    pub fn all(&self) -> &Series {
        &self.all
    }
}

/// Returns whether all that a node spent was spent in the time that a rate is of.
fn has_just_begun(node: &Node, now: Stamp) -> bool {
    let clocks = &node.clocks;
    let began = clocks.started.or(clocks.created).or(clocks.since);
    began.is_some_and(|began| now.since(began) < RECENT * BAR)
}

impl Series {
    /// Takes in what was spent earlier and only became known.
    fn note(&mut self, earlier: u64) {
        self.known = self.known.map(|known| known.saturating_add(earlier));
    }

    fn sample(&mut self, total: u64, now: Stamp) {
        let bar = bar_of(now);
        self.since.get_or_insert(now);
        let spent = self.known.map_or(0, |known| total.saturating_sub(known));
        self.known = Some(total);
        if spent == 0 {
            return;
        }
        match self.bars.back_mut() {
            Some((last, sum)) if *last == bar => *sum = sum.saturating_add(spent),
            Some(_) | None => self.bars.push_back((bar, spent)),
        }
        if self.bars.len() > BARS {
            self.bars.pop_front();
        }
    }

    /// Returns what was spent in each of the last `count` bars, the latest last.
    pub fn last(&self, count: usize, now: Stamp) -> Vec<u64> {
        let newest = bar_of(now);
        let mut bars = vec![0; count];
        for (bar, spent) in &self.bars {
            let back = usize::try_from(newest - bar).unwrap_or(usize::MAX);
            if let Some(slot) = count.checked_sub(back.saturating_add(1)).and_then(|at| bars.get_mut(at)) {
                *slot = spent.saturating_add(*slot);
            }
        }
        bars
    }

    /// Returns how many tokens go by in a minute, where it was watched long enough to say.
    pub fn per_minute(&self, now: Stamp) -> Option<u64> {
        let newest = bar_of(now);
        let watched = now.since(self.since?).min(RECENT * BAR);
        if watched < BAR {
            return None;
        }
        let bars = i64::from(RECENT);
        let recent = self.bars.iter().filter(|(bar, _)| newest - bar < bars).map(|(_, spent)| spent);
        // A foreign file may tell any number: what is too much for a sum stays the most.
        let spent = recent.fold(0u64, |sum, spent| sum.saturating_add(*spent));
        Some(spent.saturating_mul(60) / watched.as_secs())
    }
}

fn bar_of(now: Stamp) -> i64 {
    now.millis() / i64::try_from(BAR.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Stamp {
        Stamp::from_millis(seconds * 1000)
    }

    #[test]
    fn what_was_spent_before_it_was_watched_is_no_rate() {
        let mut series = Series::default();
        series.sample(50_000, at(1000));
        assert_eq!(series.per_minute(at(1000)), None);
        assert_eq!(series.per_minute(at(1060)), Some(0));
    }

    #[test]
    fn bars_stand_where_their_time_is_and_the_rate_is_that_of_the_last_minute() {
        let mut series = Series::default();
        series.sample(0, at(0));
        series.sample(100, at(5));
        series.sample(400, at(25));
        series.sample(600, at(29));
        assert_eq!(series.last(4, at(30)), [100, 0, 500, 0]);
        assert_eq!(series.per_minute(at(60)), Some(500));
        assert_eq!(series.per_minute(at(200)), Some(0));
    }
}
