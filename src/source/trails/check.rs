//! Whether what was told is still so: every file and folder that nobody looked at lately is looked at, a few at a time.
//!
//! A start tells what the index knows at once, and looks afterwards: thousands of files are nearly all as they were, and
//! a look at each may have to be fetched from a disk. Until then the source says that it is still at work. Later it is
//! done over and over, slowly, for what no watch tells of.

use super::Trails;
use super::file::Checked;
use super::index::Stamped;
use super::look::{Base, Look};
use super::tool::Tool;
use super::walk::Looked;

/// So many looks follow each other before anything else is done, after a start.
pub(super) const CHECKED_AT_ONCE: usize = 1024;
/// The same later, with each poll.
pub(super) const CHECKED_LATER: usize = 256;

impl<T: Tool> Trails<T> {
    /// Returns whether what a start told is still to be looked at.
    pub(super) fn is_first_to_check(&self) -> bool {
        let has_unread = || self.shelf.as_ref().is_some_and(|shelf| !shelf.is_checked());
        self.first.is_some() && (!self.unchecked.is_empty() || self.walk.has_unchecked() || has_unread())
    }

    /// Returns whether there is something to do right away.
    pub(super) fn has_more(&self) -> bool {
        !self.queue.is_empty() || self.is_first_to_check()
    }

    /// Takes it that everything is looked at otherwise.
    pub(super) fn check_none(&mut self) {
        self.unchecked = Vec::new();
        self.walk.check_none();
    }

    /// Begins to look at every file again.
    pub(super) fn check_anew(&mut self) {
        self.unchecked = (0..self.files.len()).collect();
    }

    /// Looks at so many folders and files that nobody looked at lately. What is new is read next; where something that
    /// was told does not count any more, all is told anew.
    pub(super) fn check(&mut self, most: usize) {
        if self.unchecked.is_empty() && !self.walk.has_unchecked() {
            // The last look of a start is at the rest of the index: whether it is what was written.
            return self.shelf.iter().for_each(|shelf| shelf.check());
        }
        let base = Base::of(self.tool.root());
        for _ in 0..most {
            if let Some(looked) = self.walk.next_unchecked(&self.tool, base.as_ref()) {
                match looked {
                    Looked::Same => {}
                    Looked::Other(found) => found.into_iter().for_each(|found| self.take_in(found)),
                    Looked::Gone => self.is_void = true,
                }
            } else if let Some(ix) = self.unchecked.pop() {
                let Some(file) = self.files.get(ix) else { continue };
                let look = match &base {
                    Some(base) if base.has(&file.path) => base.file(&file.path),
                    Some(_) | None => Look::plain(&file.path),
                };
                self.compare(ix, look.map(|look| look.stamped));
            } else {
                return;
            }
        }
    }

    /// Does what follows from how a known file is now.
    pub(super) fn compare(&mut self, ix: usize, now: Option<Stamped>) {
        let Some(file) = self.files.get_mut(ix) else { return };
        match file.check(now) {
            Checked::Same => {}
            Checked::Grown(now) => {
                file.stamped = now;
                self.enqueue(ix);
            }
            // On a network the time of a file that is being written may change once more; but one that changed
            // while nobody looked was written anew.
            Checked::Touched(now) if self.first.is_none() => file.stamped = now,
            Checked::Touched(_) | Checked::Other => {
                file.disown();
                self.is_void = true;
            }
        }
    }
}
