//! What may have changed among the trails: where it rang, and what is looked at anyway.

use std::path::Path;
use std::time::Duration;

use super::Trails;
use super::check::CHECKED_LATER;
use super::file::TrailFile;
use super::look::Look;
use super::tool::{Sort, Tool};
use super::walk::Found;
use crate::model::time::Stamp;

/// So often folders are looked at in which files may have come or gone unheard.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

impl<T: Tool> Trails<T> {
    /// Looks where it rang.
    pub(super) fn hear(&mut self) {
        for folder in std::mem::take(&mut self.unheard) {
            for found in self.walk.again(&self.tool, &folder) {
                self.take_in(found);
            }
        }
        let rung = std::mem::take(&mut self.rung);
        for path in rung.paths {
            self.look_at(&path);
        }
        if rung.anywhere {
            self.look_at_all();
        }
    }

    fn look_at(&mut self, path: &Path) {
        if let Some(ix) = self.numbers.of(&self.files, path) {
            if self.files.get_mut(ix).is_some_and(TrailFile::glance) {
                self.enqueue(ix);
            }
            if let Some(below) =
                self.tool.below(path).filter(|below| !self.walk.knows(below) && below.is_dir())
            {
                self.look_into(&below);
            }
            return;
        }
        match self.tool.sort(path, path.is_dir()) {
            Sort::Folder => self.look_into(path),
            Sort::Trail => {
                if let Some(look) = Look::plain(path) {
                    self.take_in(Found { path: path.to_owned(), look, known: None });
                }
            }
            Sort::Side(trail) => {
                if let Some(ix) = self.numbers.of(&self.files, &trail) {
                    self.enqueue(ix);
                }
            }
            Sort::Other => {}
        }
    }

    fn look_into(&mut self, folder: &Path) {
        for found in self.walk.whole(&self.tool, folder) {
            self.take_in(found);
        }
    }

    /// Takes in a file that was found after the first reading began.
    pub(super) fn take_in(&mut self, found: Found) {
        if let Some(ix) = self.numbers.of(&self.files, &found.path) {
            self.compare(ix, Some(found.look.stamped));
        } else if let Some(ix) = self.add(found.path, found.look, found.known, true) {
            self.recent.push_front(ix);
            self.let_go();
        }
    }

    fn look_at_all(&mut self) {
        for top in self.tool.tops() {
            self.look_into(&top);
        }
        let gone = |file: &mut TrailFile| !file.path.exists() && file.glance();
        let gone: Vec<usize> =
            self.files.iter_mut().enumerate().filter_map(|(ix, file)| gone(file).then_some(ix)).collect();
        for ix in gone {
            self.enqueue(ix);
        }
    }

    /// Looks at what may have changed unheard: the latest files each time, folders now and then, and all others bit by
    /// bit while nothing is heard.
    pub(super) fn look_again(&mut self, now: Stamp, is_quiet: bool) {
        for ix in self.recent.clone() {
            if self.files.get_mut(ix).is_some_and(TrailFile::glance) {
                self.enqueue(ix);
            }
        }
        if self.looked.is_none_or(|looked| now.since(looked) >= LOOK_AGAIN) {
            self.looked = Some(now);
            self.look_for_new();
            self.to_watch.extend(self.walk.liveliest());
            if self.unchecked.is_empty() {
                self.check_anew();
            }
        }
        if is_quiet {
            self.check(CHECKED_LATER);
        }
    }

    /// Takes in what came into a folder unheard.
    pub(super) fn look_for_new(&mut self) {
        let tops = self.tool.tops();
        for top in tops.iter().filter(|top| !self.walk.knows(top) && top.is_dir()).collect::<Vec<_>>() {
            self.look_into(top);
        }
        // Perhaps they can be looked into by now.
        for folder in self.walk.closed().map(|(folder, _)| folder.clone()).collect::<Vec<_>>() {
            self.look_into(&folder);
        }
        for found in self.walk.changed(&self.tool) {
            self.take_in(found);
        }
    }
}
