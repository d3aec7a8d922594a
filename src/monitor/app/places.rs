//! Which projects are on screen, and what each is called: kept by what changed, and only where those of several are
//! shown together.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::model::delta::Delta;
use crate::model::{Model, NodeIx};
use crate::report::place::{Names, project_of};

/// The projects of all trees.
#[derive(Debug, Default)]
pub struct Places {
    /// Whether every project is shown; of a single one nothing is said on its rows.
    pub are_many: bool,
    /// The person's home, to write folders short.
    pub home: Option<String>,
    roots: HashMap<NodeIx, Arc<str>>,
    /// How many trees each has.
    counts: BTreeMap<Arc<str>, usize>,
    names: Names,
}

impl Places {
    /// Takes in what changed.
    pub fn update(&mut self, model: &Model, delta: &Delta) {
        if !self.are_many {
            return;
        }
        let mut is_other = false;
        for gone in delta.removed.iter().chain(delta.joined.iter().map(|(gone, _)| gone)) {
            is_other |= self.put(*gone, None);
        }
        let kept = delta.joined.iter().map(|(_, kept)| kept);
        for ix in delta.added.iter().chain(&delta.changed).chain(&delta.moved).chain(kept) {
            let is_root = model.get(*ix).is_some_and(|node| node.parent().is_none());
            is_other |= self.put(*ix, project_of(model, *ix).filter(|_| is_root));
        }
        if is_other {
            self.names = Names::among(&self.counts.keys().map(|folder| &**folder).collect());
        }
    }

    /// Notes which project a root is of; returns whether the projects are others now.
    fn put(&mut self, ix: NodeIx, folder: Option<&str>) -> bool {
        if self.roots.get(&ix).map(|known| &**known) == folder {
            return false;
        }
        let mut is_other = false;
        if let Some(old) = self.roots.remove(&ix)
            && let Some(count) = self.counts.get_mut(&old)
        {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&old);
                is_other = true;
            }
        }
        if let Some(folder) = folder {
            let known = self.counts.get_key_value(folder).map(|(known, _)| Arc::clone(known));
            is_other |= known.is_none();
            let folder = known.unwrap_or_else(|| folder.into());
            *self.counts.entry(Arc::clone(&folder)).or_default() += 1;
            self.roots.insert(ix, folder);
        }
        is_other
    }

    /// Returns what the project of a node is called, where there are several.
    pub fn name_of(&self, model: &Model, ix: NodeIx) -> Option<&str> {
        if !self.are_many {
            return None;
        }
        let root = model.ancestors(ix).last().unwrap_or(ix);
        self.names.get(self.roots.get(&root)?)
    }

    /// Returns what the projects are called.
    pub fn names(&self) -> &Names {
        &self.names
    }
}
