//! The rows of what passes a filter, with all that is above it: kept by what changed, and found by window.
//!
//! Like the tree's own rows they are counted per list of siblings; what does not pass and has nothing below it that
//! does takes no row. The first look at every node goes in slices, so that nobody waits for it.

use std::collections::{HashMap, HashSet};

use super::{Place, Row, Sizes, child, position};
use crate::model::delta::Delta;
use crate::model::{Model, NodeIx};

/// What passes, and what follows for the rows.
#[derive(Debug, Clone, Default)]
pub struct Sieve {
    passing: HashSet<NodeIx>,
    /// The rows of each root.
    top: Sizes,
    /// The rows of each child, for every node that has something to show below it.
    lists: HashMap<NodeIx, Sizes>,
    /// How many slots of the model were looked at; none where all were.
    looked_at: Option<usize>,
}

impl Sieve {
    /// Makes one that has looked at nothing yet.
    pub fn new(model: &Model) -> Self {
        let top = Sizes::zeros(model.roots.len());
        Self { top, looked_at: Some(0), ..Self::default() }
    }

    /// Returns whether not every node was looked at yet.
    pub fn is_looking(&self) -> bool {
        self.looked_at.is_some()
    }

    /// Looks at some more nodes.
    pub fn look(&mut self, model: &Model, most: usize, passes: impl Fn(NodeIx) -> bool) {
        let Some(from) = self.looked_at else { return };
        for (ix, _) in model.nodes.slice(from, most) {
            self.check(model, ix, passes(ix));
        }
        let next = from.saturating_add(most);
        self.looked_at = (next < model.nodes.slots()).then_some(next);
    }

    /// Notes whether a node passes.
    pub fn check(&mut self, model: &Model, ix: NodeIx, passes: bool) {
        let is_other = if passes { self.passing.insert(ix) } else { self.passing.remove(&ix) };
        if is_other {
            self.lift(model, ix);
        }
    }

    /// Takes in what changed in the model.
    pub fn update(&mut self, model: &Model, delta: &Delta, passes: impl Fn(NodeIx) -> bool) {
        for gone in delta.joined.iter().map(|(gone, _)| gone).chain(&delta.removed) {
            self.lists.remove(gone);
            self.passing.remove(gone);
        }
        let mut parents: Vec<(usize, NodeIx)> = Vec::new();
        for list in &delta.lists {
            match list.parent {
                Some(parent) if model.get(parent).is_some() => {
                    parents.push((model.ancestors(parent).count(), parent));
                    // One that is not there yet must not be taken for one of which nothing shows.
                    self.lists.entry(parent).or_default().truncate(list.from);
                }
                Some(_) => {}
                None => self.top.truncate(list.from),
            }
        }
        parents.sort_unstable();
        parents.dedup();
        // The deepest first: a list is filled with the sizes of lists that are right already.
        for (_, parent) in parents.into_iter().rev() {
            self.fill(model, parent);
            self.lift(model, parent);
        }
        for root in model.roots.iter().skip(self.top.len()) {
            self.top.push(self.size(*root));
        }
        let kept = delta.joined.iter().map(|(_, kept)| kept);
        for ix in delta.added.iter().chain(&delta.changed).chain(&delta.moved).chain(kept) {
            if model.get(*ix).is_some() {
                self.check(model, *ix, passes(*ix));
            }
        }
    }

    /// Returns how many rows there are.
    pub fn len(&self) -> usize {
        self.top.total()
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the row of a node; `None` where it has none.
    pub fn row_of(&self, model: &Model, ix: NodeIx) -> Option<usize> {
        if self.size(ix) == 0 {
            return None;
        }
        let (mut ix, mut row) = (ix, 0);
        loop {
            let at = position(model, ix)?;
            match model.get(ix)?.parent() {
                Some(parent) => {
                    row += self.lists.get(&parent)?.before(at) + 1;
                    ix = parent;
                }
                None => return Some(row + self.top.before(at)),
            }
        }
    }

    /// Returns the rows from `offset` on, at most `height` of them.
    pub fn window(&self, model: &Model, offset: usize, height: usize) -> Vec<Row> {
        let Some(mut path) = self.path_to(model, offset) else { return Vec::new() };
        let count = height.min(self.len() - offset);
        let mut rows = Vec::with_capacity(count);
        while let Some(place) = path.last().filter(|_| rows.len() < count) {
            let Some(ix) = child(model, place.parent, place.at) else { break };
            let has_children = self.lists.get(&ix).is_some_and(|sizes| sizes.total() > 0);
            rows.push(Row { ix, depth: path.len() - 1, has_children, is_open: true, guides: place.guides });
            self.step(ix, has_children, &mut path);
        }
        rows
    }

    /// Returns the way from the roots to a row.
    fn path_to(&self, model: &Model, offset: usize) -> Option<Vec<Place>> {
        if offset >= self.len() {
            return None;
        }
        let (mut path, mut parent, mut sizes, mut offset) = (Vec::new(), None, &self.top, offset);
        loop {
            let (at, rest) = sizes.find(offset);
            path.push(shown(path.last(), parent, sizes, at));
            let Some(below) = rest.checked_sub(1) else { return Some(path) };
            let ix = child(model, parent, at)?;
            (parent, sizes, offset) = (Some(ix), self.lists.get(&ix)?, below);
        }
    }

    /// Goes on to the next row: the first child that shows, else the next sibling of the nearest that has one.
    fn step(&self, ix: NodeIx, has_children: bool, path: &mut Vec<Place>) {
        if let Some(sizes) = self.lists.get(&ix).filter(|_| has_children) {
            path.push(shown(path.last(), Some(ix), sizes, sizes.find(0).0));
            return;
        }
        while let Some(place) = path.pop() {
            let list = place.parent.map_or(Some(&self.top), |parent| self.lists.get(&parent));
            if let Some(sizes) = list.filter(|_| place.guides & 1 == 1) {
                let next = sizes.find(sizes.before(place.at + 1)).0;
                path.push(shown(path.last(), place.parent, sizes, next));
                return;
            }
        }
    }

    /// Returns how many rows a node takes with all that shows below it.
    pub fn size(&self, ix: NodeIx) -> usize {
        let below = self.lists.get(&ix).map_or(0, Sizes::total);
        if below > 0 || self.passing.contains(&ix) { below + 1 } else { 0 }
    }

    /// Counts the children of a node that are not counted yet; a list of which nothing shows is not kept.
    fn fill(&mut self, model: &Model, ix: NodeIx) {
        let children = model.get(ix).map(crate::model::node::Node::children).unwrap_or_default();
        let mut sizes = self.lists.remove(&ix).unwrap_or_default();
        for child in children.iter().skip(sizes.len()) {
            sizes.push(self.size(*child));
        }
        if sizes.total() > 0 {
            self.lists.insert(ix, sizes);
        }
    }

    /// Tells the lists above how many rows a node takes now.
    fn lift(&mut self, model: &Model, ix: NodeIx) {
        let mut ix = ix;
        while let (Some(node), Some(at)) = (model.get(ix), position(model, ix)) {
            let size = self.size(ix);
            let Some(parent) = node.parent() else {
                if at < self.top.len() {
                    self.top.set(at, size);
                }
                return;
            };
            let count = model.get(parent).map_or(0, |parent| parent.children().len());
            let list = self.lists.entry(parent).or_insert_with(|| Sizes::zeros(count));
            // Where it is not counted yet, that list is still to be filled.
            let changed = at < list.len() && list.set(at, size);
            if list.len() == count && list.total() == 0 {
                self.lists.remove(&parent);
            }
            if !changed {
                return;
            }
            ix = parent;
        }
    }
}

/// Returns the place of a row; a branch goes on only to what shows.
fn shown(above: Option<&Place>, parent: Option<NodeIx>, sizes: &Sizes, at: usize) -> Place {
    let guides = above.map_or(0, |above| above.guides) << 1;
    let later = sizes.total() > sizes.before(at + 1);
    Place { parent, at, guides: guides | u64::from(later) }
}
