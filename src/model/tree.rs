//! The visible rows of the tree, found by window and never by tree.
//!
//! A view knows which nodes are open; the model knows nothing of folds. For every open node that has
//! children it keeps how many rows each child takes, in a form in which the row at an offset, a changed
//! child and one more child each cost the logarithm of their number. So a frame costs its height and the
//! depth, and a change costs what changed and the depth. Nothing here recurses: a hostile file may hang
//! a hundred thousand nodes in one chain.

pub mod ordered;
pub mod sieve;

use std::collections::{HashMap, HashSet};

use super::delta::Delta;
use super::node::Node;
use super::{Model, NodeIx};

/// Whether the children of a node are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    Open,
    Closed,
}

/// Which nodes are open, and what follows for the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeView {
    /// How nodes are folded that nobody touched.
    default: Fold,
    /// Nodes that are folded the other way.
    flipped: HashSet<NodeIx>,
    /// The rows of each root.
    top: Sizes,
    /// The rows of each child, for every open node that has children, also where a closed one hides it.
    lists: HashMap<NodeIx, Sizes>,
}

/// One visible row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub ix: NodeIx,
    /// How many nodes are above it; 0 for a root.
    pub depth: usize,
    pub has_children: bool,
    pub is_open: bool,
    /// For this row and the nearest 63 nodes above it, bit by bit: whether a later sibling follows.
    guides: u64,
}

impl Row {
    /// Returns whether it is the last of its siblings: `└` rather than `├`.
    pub fn is_last(&self) -> bool {
        !self.goes_on(self.depth)
    }

    /// Returns whether the branch at a depth goes on below this row: `│` rather than a blank.
    ///
    /// Only the nearest 64 levels are known; no terminal is wide enough to draw more.
    pub fn goes_on(&self, depth: usize) -> bool {
        let up = self.depth.checked_sub(depth).and_then(|up| u32::try_from(up).ok());
        up.and_then(|up| self.guides.checked_shr(up)).is_some_and(|guides| guides & 1 == 1)
    }

    /// Returns the same row below a root that others follow, or none.
    fn below_root(mut self, is_followed: bool) -> Self {
        let bit = u32::try_from(self.depth).ok().and_then(|depth| 1u64.checked_shl(depth)).unwrap_or(0);
        self.guides = if is_followed { self.guides | bit } else { self.guides & !bit };
        self
    }
}

impl TreeView {
    /// Makes a view of an empty model.
    pub fn new(default: Fold) -> Self {
        Self { default, flipped: HashSet::new(), top: Sizes::default(), lists: HashMap::new() }
    }

    /// Counts all rows anew, and keeps the folds of the nodes that there are.
    pub fn build(&mut self, model: &Model) {
        self.top = Sizes::default();
        self.lists.clear();
        self.flipped.retain(|ix| model.get(*ix).is_some());
        let nodes: Vec<NodeIx> =
            model.roots().flat_map(|root| model.subtree(root)).map(|(ix, _)| ix).collect();
        // Children come after their parents, so from the back each finds its own children counted.
        for ix in nodes.into_iter().rev() {
            self.fill(model, ix);
        }
        self.fill_top(model);
    }

    /// Takes in what changed in the model.
    pub fn update(&mut self, model: &Model, delta: &Delta) {
        let mut parents: Vec<NodeIx> = Vec::new();
        for (gone, kept) in &delta.joined {
            self.lists.remove(gone);
            if self.flipped.remove(gone) {
                self.flipped.insert(*kept);
                parents.push(*kept);
            }
        }
        for gone in &delta.removed {
            self.lists.remove(gone);
            self.flipped.remove(gone);
        }
        for list in &delta.lists {
            match list.parent {
                Some(parent) => {
                    parents.push(parent);
                    self.lists.entry(parent).and_modify(|sizes| sizes.truncate(list.from));
                }
                None => self.top.truncate(list.from),
            }
        }
        parents.sort_unstable();
        parents.dedup();
        parents.retain(|parent| model.get(*parent).is_some());
        let mut lists: Vec<(usize, NodeIx)> =
            parents.into_iter().map(|parent| (model.ancestors(parent).count(), parent)).collect();
        // The deepest first: a list is filled with the sizes of lists that are right already.
        lists.sort_unstable_by(|one, two| two.cmp(one));
        for (_, ix) in lists {
            self.fill(model, ix);
            self.lift(model, ix);
        }
        self.fill_top(model);
    }

    /// Returns how many rows there are.
    pub fn len(&self) -> usize {
        self.top.total()
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether the children of a node are shown, if it has any.
    pub fn is_open(&self, ix: NodeIx) -> bool {
        (self.default == Fold::Open) != self.flipped.contains(&ix)
    }

    /// Shows or hides the children of a node.
    pub fn fold(&mut self, model: &Model, ix: NodeIx, fold: Fold) {
        if model.get(ix).is_none() {
            return;
        }
        if fold == self.default {
            self.flipped.remove(&ix);
        } else {
            self.flipped.insert(ix);
        }
        self.fill(model, ix);
        self.lift(model, ix);
    }

    /// Shows the children of a node if they are hidden, else hides them.
    pub fn toggle(&mut self, model: &Model, ix: NodeIx) {
        let fold = if self.is_open(ix) { Fold::Closed } else { Fold::Open };
        self.fold(model, ix, fold);
    }

    /// Folds all nodes in one way, also those still to come.
    pub fn fold_all(&mut self, model: &Model, fold: Fold) {
        self.default = fold;
        self.flipped.clear();
        self.build(model);
    }

    /// Opens everything above a node, so that it has a row.
    pub fn reveal(&mut self, model: &Model, ix: NodeIx) {
        for above in model.ancestors(ix) {
            if !self.is_open(above) {
                self.fold(model, above, Fold::Open);
            }
        }
    }

    /// Returns the row of a node; `None` where it is folded away.
    pub fn row_of(&self, model: &Model, ix: NodeIx) -> Option<usize> {
        let (mut ix, mut row) = (ix, 0);
        loop {
            let at = position(model, ix)?;
            match model.get(ix)?.parent() {
                Some(parent) => row += self.lists.get(&parent)?.before(at) + 1,
                None => return Some(row + self.top.before(at)),
            }
            ix = model.get(ix)?.parent()?;
        }
    }

    /// Returns the rows from `offset` on, at most `height` of them.
    pub fn window(&self, model: &Model, offset: usize, height: usize) -> Vec<Row> {
        let Some(mut path) = self.path_to(model, offset) else { return Vec::new() };
        let count = height.min(self.len() - offset);
        let mut rows = Vec::with_capacity(count);
        while rows.len() < count {
            let Some(row) = self.row_at(model, &path) else { break };
            rows.push(row);
            self.step(model, row.ix, &mut path);
        }
        rows
    }

    fn row_at(&self, model: &Model, path: &[Place]) -> Option<Row> {
        let place = path.last()?;
        let ix = child(model, place.parent, place.at)?;
        Some(Row {
            ix,
            depth: path.len() - 1,
            has_children: !model.get(ix)?.children().is_empty(),
            is_open: self.is_open(ix),
            guides: place.guides,
        })
    }

    /// Returns the way from the roots to a row.
    fn path_to(&self, model: &Model, offset: usize) -> Option<Vec<Place>> {
        if offset >= self.len() {
            return None;
        }
        let mut path = Vec::new();
        let (mut parent, mut sizes, mut offset) = (None, &self.top, offset);
        loop {
            let (at, rest) = sizes.find(offset);
            path.push(Place::below(model, path.last(), parent, at));
            let Some(below) = rest.checked_sub(1) else { return Some(path) };
            let ix = child(model, parent, at)?;
            (parent, sizes, offset) = (Some(ix), self.lists.get(&ix)?, below);
        }
    }

    /// Goes on to the next row: the first child, else the next sibling of the nearest that has one.
    fn step(&self, model: &Model, ix: NodeIx, path: &mut Vec<Place>) {
        if self.lists.contains_key(&ix) {
            path.push(Place::below(model, path.last(), Some(ix), 0));
            return;
        }
        while let Some(place) = path.pop() {
            if place.guides & 1 == 1 {
                path.push(Place::below(model, path.last(), place.parent, place.at + 1));
                return;
            }
        }
    }

    /// Returns how many rows a node takes with all that is shown below it.
    pub fn size(&self, ix: NodeIx) -> usize {
        1 + self.lists.get(&ix).map_or(0, Sizes::total)
    }

    /// Counts the children of a node that are not counted yet.
    fn fill(&mut self, model: &Model, ix: NodeIx) {
        let children = model.get(ix).map(Node::children).unwrap_or_default();
        let mut sizes = self.lists.remove(&ix).unwrap_or_default();
        if children.is_empty() || !self.is_open(ix) {
            return;
        }
        for child in children.iter().skip(sizes.len()) {
            sizes.push(self.size(*child));
        }
        self.lists.insert(ix, sizes);
    }

    fn fill_top(&mut self, model: &Model) {
        for root in model.roots.iter().skip(self.top.len()) {
            self.top.push(self.size(*root));
        }
    }

    /// Tells the lists above how many rows a node takes now.
    fn lift(&mut self, model: &Model, ix: NodeIx) {
        let mut ix = ix;
        while let (Some(node), Some(at)) = (model.get(ix), position(model, ix)) {
            let size = self.size(ix);
            let list = match node.parent() {
                Some(parent) => self.lists.get_mut(&parent),
                None => Some(&mut self.top),
            };
            // Where it is not counted yet, that list is still to be filled.
            let changed = list.is_some_and(|list| at < list.len() && list.set(at, size));
            let (true, Some(parent)) = (changed, node.parent()) else { return };
            ix = parent;
        }
    }
}

/// One step of the way to a row.
#[derive(Debug, Clone, Copy)]
struct Place {
    parent: Option<NodeIx>,
    /// Which of the parent's children.
    at: usize,
    guides: u64,
}

impl Place {
    fn below(model: &Model, above: Option<&Self>, parent: Option<NodeIx>, at: usize) -> Self {
        let guides = above.map_or(0, |above| above.guides) << 1;
        let later = child(model, parent, at + 1).is_some();
        Self { parent, at, guides: guides | u64::from(later) }
    }
}

fn child(model: &Model, parent: Option<NodeIx>, at: usize) -> Option<NodeIx> {
    match parent {
        Some(parent) => model.get(parent)?.children().get(at).copied(),
        None => model.roots.get(at).copied(),
    }
}

/// Returns where a node stands among its siblings.
fn position(model: &Model, ix: NodeIx) -> Option<usize> {
    let node = model.get(ix)?;
    let place = node.place();
    let before = |sibling: &NodeIx| model.get(*sibling).is_some_and(|sibling| sibling.place() < place);
    Some(match node.parent() {
        Some(parent) => model.get(parent)?.children().partition_point(before),
        None => model.roots.partition_point(before),
    })
}

/// Sizes in a row, as a Fenwick tree: entry `n` holds the sum of the last `n & -n` sizes up to the `n`th,
/// counted from 1. An entry depends on earlier sizes only, so the list can grow and shrink at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Sizes(Vec<usize>);

impl Sizes {
    /// So many sizes of nothing.
    fn zeros(count: usize) -> Self {
        Self(vec![0; count])
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn total(&self) -> usize {
        self.before(self.len())
    }

    /// Returns the sum of the first `count` sizes.
    fn before(&self, count: usize) -> usize {
        let (mut sum, mut n) = (0, count);
        while let Some(entry) = n.checked_sub(1).and_then(|at| self.0.get(at)) {
            sum += entry;
            n &= n - 1;
        }
        sum
    }

    fn push(&mut self, size: usize) {
        let n = self.len() + 1;
        let sum = size + self.before(n - 1) - self.before(n & (n - 1));
        self.0.push(sum);
    }

    fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Sets one size, and returns whether it was another one.
    fn set(&mut self, at: usize, size: usize) -> bool {
        let old = self.before(at + 1) - self.before(at);
        let mut n = at + 1;
        while let Some(entry) = self.0.get_mut(n - 1).filter(|_| size != old) {
            *entry = *entry + size - old;
            n += n & n.wrapping_neg();
        }
        size != old
    }

    /// Returns which size an offset falls into, and how far.
    fn find(&self, offset: usize) -> (usize, usize) {
        let (mut at, mut rest) = (0, offset);
        let mut step = self.len().checked_ilog2().map_or(0, |log| 1 << log);
        while step > 0 {
            if let Some(sum) = self.0.get(at + step - 1).filter(|sum| **sum <= rest) {
                at += step;
                rest -= sum;
            }
            step /= 2;
        }
        (at, rest)
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
