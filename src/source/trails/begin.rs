//! How a start goes: what is there, what the index knows of it, and which of it is told first.

use std::collections::BTreeSet;

use super::tool::Tool;
use super::walk::Recalled;
use super::{RECENT, Trails, index};
use crate::model::time::Stamp;
use crate::source::feed::Batch;

impl<T: Tool> Trails<T> {
    /// Finds everything that is there, and what is known of it from before.
    pub(super) fn begin(&mut self, now: Stamp, batch: &mut Batch) {
        self.teller.open(&self.tool.root().display().to_string(), batch);
        self.is_open = true;
        self.tool.look_around();
        let known = self.index.as_ref().map(index::Place::load).unwrap_or_default();
        let is_priced = known.prices == self.teller.pricer.prices().fingerprint();
        let Recalled { mut found, has_missed } = self.walk.recall(&self.tool, known.folders);
        // Of the newest it is known how they are now, before anything is told.
        let mut order: Vec<(i64, usize)> =
            found.iter().map(|found| found.look.stamped.modified).zip(0..).collect();
        let before = found.len().saturating_sub(RECENT);
        if before > 0 {
            order.select_nth_unstable(before);
        }
        let newest: BTreeSet<usize> = order.into_iter().skip(before).map(|(_, nth)| nth).collect();
        let (all, mut places) = (found.len(), 0..);
        let walk = &mut self.walk;
        found.retain_mut(|found| {
            let is_newest = places.next().is_some_and(|nth| newest.contains(&nth));
            let is_there = !is_newest || found.check();
            if !is_there {
                walk.missed(&found.path);
            }
            is_there
        });
        self.is_dirty = has_missed || found.len() < all || !is_priced;
        self.files.reserve(found.len());
        self.queue.reserve(found.len());
        self.teller.expect(found.len());
        for mut one in found {
            if let Some(entry) = one.known.as_mut().filter(|_| !is_priced) {
                entry.forget_costs();
            }
            self.add(one);
        }
        let mut order = std::mem::take(&mut self.queue);
        self.by_age(&mut order);
        self.queue = order;
        self.recent = self.queue.iter().rev().take(RECENT).copied().collect();
        self.first = Some(self.queue.len());
        self.to_watch = self.walk.liveliest();
        self.to_watch.extend(self.tool.around());
        (self.looked, self.saved) = (Some(now), Some(now));
    }

    /// Puts files in the order of their age, the newest last; those of one moment always in the same one.
    pub(super) fn by_age(&self, files: &mut [usize]) {
        let path = |ix: usize| self.files.get(ix).map(|file| &file.path);
        let modified = |ix: &usize| self.files.get(*ix).map(|file| file.stamped.modified);
        // The times beside each other: to look each up for every comparison costs more than all else of it.
        let mut aged: Vec<(Option<i64>, usize)> = files.iter().map(|ix| (modified(ix), *ix)).collect();
        aged.sort_unstable_by(|one, two| one.0.cmp(&two.0).then_with(|| path(one.1).cmp(&path(two.1))));
        files.iter_mut().zip(aged).for_each(|(ix, (_, aged))| *ix = aged);
    }
}
