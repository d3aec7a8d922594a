//! How a start goes: what is there, what the index knows of it, and which of it is told first.

use std::path::PathBuf;

use super::index::Entry;
use super::look::Look;
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
        self.shelf = known.shelf;
        let Recalled { known, found, has_missed } = self.walk.recall(&self.tool, known.folders);
        let all = known.iter().map(Vec::len).sum::<usize>() + found.len();
        self.files.reserve(all);
        self.queue.reserve(all);
        self.teller.expect(all);
        self.is_dirty = has_missed || !is_priced;
        // Of the newest it is known how they are now, before anything is told.
        let (mut newest, mut nth) = (newest(&known).into_iter().peekable(), 0..);
        for (path, mut entry) in known.into_iter().flatten() {
            entry.is_priced = is_priced;
            let is_newest = nth.next().is_some_and(|nth| newest.next_if_eq(&nth).is_some());
            let as_known = Look { stamped: entry.stamped, born: entry.born };
            let look = if is_newest { Look::plain(&path) } else { Some(as_known) };
            if let Some(look) = look {
                self.add(path, look, Some(entry), is_newest);
            } else {
                self.is_dirty = true;
                self.walk.missed(&path);
            }
        }
        for mut one in found {
            one.known.iter_mut().for_each(|entry| entry.is_priced = is_priced);
            self.add(one.path, one.look, one.known, true);
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
        let modified = |ix: &usize| self.files.get(*ix).map_or(i64::MIN, |file| file.stamped.modified);
        // The times beside each other: to look each up for every comparison costs more than all else of it.
        let mut aged: Vec<(i64, usize)> = files.iter().map(|ix| (modified(ix), *ix)).collect();
        aged.sort_unstable();
        for same in aged.chunk_by_mut(|one, two| one.0 == two.0).filter(|same| same.len() > 1) {
            same.sort_unstable_by_key(|(_, ix)| path(*ix));
        }
        files.iter_mut().zip(aged).for_each(|(ix, (_, aged))| *ix = aged);
    }
}

/// Returns which of these changed last, counted from the first one, in that order.
fn newest(known: &[Vec<(PathBuf, Entry)>]) -> Vec<usize> {
    let modified = known.iter().flatten().map(|(_, entry)| entry.stamped.modified);
    let mut order: Vec<(i64, usize)> = modified.zip(0..).collect();
    let before = order.len().saturating_sub(RECENT);
    if before > 0 {
        order.select_nth_unstable(before);
    }
    let mut newest: Vec<usize> = order.into_iter().skip(before).map(|(_, nth)| nth).collect();
    newest.sort_unstable();
    newest
}
