//! The tree on screen: which node is selected, which are marked, what is folded, and from which row on.
//!
//! The selection is a node, never a line. When rows come or go above it the window moves with it, so that what
//! a person looks at stays where it is.

use std::collections::BTreeSet;

use super::filter::Filter;
use super::needs::Needs;
use super::order::{Key, Order, root_of};
use super::screens::Sort;
use crate::model::delta::Delta;
use crate::model::key::NodeKey;
use crate::model::tree::sieve::Sieve;
use crate::model::tree::{Fold, Row, TreeView};
use crate::model::{Model, NodeIx};

/// What the tree shows.
#[derive(Debug)]
pub struct Tree {
    rows: TreeView,
    /// Only what passes, where something is filtered: kept by what changes.
    filtered: Option<(Filter, Sieve)>,
    /// The roots in another order than that of their coming: kept by what changes too.
    order: Option<Order>,
    pub selected: Option<NodeIx>,
    /// Its names, by which it is found again when its source tells everything anew.
    keys: Vec<NodeKey>,
    pub marked: BTreeSet<NodeIx>,
    /// The row that the window begins with.
    pub offset: usize,
    /// How many rows fit, as of the last frame.
    pub height: usize,
    /// Where the selection stood in the window.
    place: usize,
    /// Whether a person has moved yet: until then the selection goes where there is something to see.
    is_touched: bool,
}

/// Whose rows are shown: the tree as it is folded, or what passes a filter. The order of the roots comes on top.
#[derive(Clone, Copy)]
enum Base<'a> {
    Folded(&'a TreeView),
    Passing(&'a Sieve),
}

impl Base<'_> {
    fn len(self) -> usize {
        match self {
            Self::Folded(view) => view.len(),
            Self::Passing(sieve) => sieve.len(),
        }
    }

    fn window(self, model: &Model, offset: usize, height: usize) -> Vec<Row> {
        match self {
            Self::Folded(view) => view.window(model, offset, height),
            Self::Passing(sieve) => sieve.window(model, offset, height),
        }
    }

    fn row_of(self, model: &Model, ix: NodeIx) -> Option<usize> {
        match self {
            Self::Folded(view) => view.row_of(model, ix),
            Self::Passing(sieve) => sieve.row_of(model, ix),
        }
    }

    /// Returns how many rows a node takes with what is below it.
    fn size(self, ix: NodeIx) -> usize {
        match self {
            Self::Folded(view) => view.size(ix),
            Self::Passing(sieve) => sieve.size(ix),
        }
    }
}

/// Where to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Up(usize),
    Down(usize),
    Top,
    Bottom,
}

impl Tree {
    pub fn new(default: Fold) -> Self {
        Self {
            rows: TreeView::new(default),
            filtered: None,
            order: None,
            selected: None,
            keys: Vec::new(),
            marked: BTreeSet::new(),
            offset: 0,
            height: 1,
            place: 0,
            is_touched: false,
        }
    }

    /// Returns how many rows there are.
    pub fn len(&self) -> usize {
        self.order.as_ref().map_or_else(|| self.base().len(), |order| order.rows.len())
    }

    fn base(&self) -> Base<'_> {
        base(&self.rows, self.filtered.as_ref())
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rows that are on screen.
    pub fn window(&self, model: &Model) -> Vec<Row> {
        self.rows_at(model, self.offset, self.height)
    }

    fn rows_at(&self, model: &Model, offset: usize, height: usize) -> Vec<Row> {
        let base = self.base();
        let Some(order) = &self.order else { return base.window(model, offset, height) };
        order.rows.window(offset, height, |root, from, count| {
            let first = base.row_of(model, root);
            first.map(|first| base.window(model, first + from, count)).unwrap_or_default()
        })
    }

    /// Returns the row of a node.
    pub fn row_of(&self, model: &Model, ix: NodeIx) -> Option<usize> {
        let base = self.base();
        let row = base.row_of(model, ix)?;
        let Some(order) = &self.order else { return Some(row) };
        let root = root_of(model, ix);
        let below = row.checked_sub(base.row_of(model, root)?)?;
        order.rows.row_of(root).map(|first| first + below)
    }

    /// Returns the row of the selection.
    pub fn selected_row(&self, model: &Model) -> Option<usize> {
        self.row_of(model, self.selected?)
    }

    /// Opens what hides a node.
    fn reveal(&mut self, model: &Model, ix: NodeIx) {
        self.rows.reveal(model, ix);
        self.recount(root_of(model, ix));
    }

    /// Tells the order how many rows a root takes now.
    fn recount(&mut self, root: NodeIx) {
        let base = base(&self.rows, self.filtered.as_ref());
        self.order.iter_mut().for_each(|order| order.rows.resize(root, base.size(root)));
    }

    /// Tells the order how many rows every root takes now.
    fn recount_all(&mut self) {
        let base = base(&self.rows, self.filtered.as_ref());
        self.order.iter_mut().for_each(|order| order.refill(|root| base.size(root)));
    }

    /// Returns whether only what passes a filter is shown.
    pub fn is_filtered(&self) -> bool {
        self.filtered.is_some()
    }

    /// Returns the nodes of all rows in their order.
    pub fn nodes(&self, model: &Model) -> Vec<NodeIx> {
        self.rows_at(model, 0, usize::MAX).iter().map(|row| row.ix).collect()
    }

    /// Returns the roots in their order.
    pub fn roots(&self, model: &Model) -> Vec<NodeIx> {
        let sorted = self.order.as_ref().map(|order| order.rows.roots().to_vec());
        sorted.unwrap_or_else(|| model.roots().collect())
    }

    /// Puts the roots in order. The same order again changes nothing.
    pub fn sort(&mut self, model: &Model, sort: Sort, needs: &Needs) {
        if sort == Sort::Created {
            self.order = None;
        } else if self.order.as_ref().is_none_or(|order| order.sort != sort) {
            let base = self.base();
            let key = |root| Key::of(sort, model, needs, root);
            self.order = Some(Order::new(sort, model, key, |root| base.size(root)));
        }
        self.resettle(model);
    }

    /// Takes in what changed, also in what needs somebody, for the order of the roots.
    pub fn reorder(&mut self, model: &Model, delta: &Delta, needs: &Needs) {
        let base = base(&self.rows, self.filtered.as_ref());
        if let Some(order) = &mut self.order {
            let sort = order.sort;
            order.update(model, delta, |root| Key::of(sort, model, needs, root), |root| base.size(root));
        }
    }

    /// Shows only what passes a filter. Nobody waits for it: only some nodes are looked at now, and the selected one
    /// with what is above it, so that the selection stays where it passes. The same filter again changes nothing.
    pub fn filter(&mut self, model: &Model, filter: &Filter, most: usize) {
        if !matches!(&self.filtered, Some((known, _)) if known == filter) {
            let mut sieve = Sieve::new(model);
            for ix in self.selected.into_iter().flat_map(|ix| std::iter::once(ix).chain(model.ancestors(ix)))
            {
                sieve.check(model, ix, passes(filter, model, ix));
            }
            self.filtered = Some((filter.clone(), sieve));
            self.look(model, most);
            return;
        }
        self.resettle(model);
    }

    /// Shows everything.
    pub fn unfilter(&mut self, model: &Model) {
        if self.filtered.take().is_some() {
            self.recount_all();
        }
        self.resettle(model);
    }

    /// Returns whether not every node was put through the filter yet.
    pub fn is_looking(&self) -> bool {
        self.filtered.as_ref().is_some_and(|(_, sieve)| sieve.is_looking())
    }

    /// Puts some more nodes through the filter.
    pub fn look(&mut self, model: &Model, most: usize) {
        if let Some((filter, sieve)) = &mut self.filtered {
            sieve.look(model, most, |ix| passes(filter, model, ix));
            self.recount_all();
        }
        self.resettle(model);
    }

    /// Selects a node, and opens what hides it.
    pub fn select(&mut self, model: &Model, ix: NodeIx) {
        if self.filtered.is_none() {
            self.reveal(model, ix);
        }
        self.is_touched = true;
        self.set(model, ix);
    }

    fn set(&mut self, model: &Model, ix: NodeIx) {
        self.selected = Some(ix);
        self.keys = model.get(ix).map(|node| node.keys.clone()).unwrap_or_default();
        self.show_selection(model);
    }

    /// Moves the selection.
    pub fn step(&mut self, model: &Model, step: Step) {
        let Some(last) = self.len().checked_sub(1) else { return };
        let row = self.selected_row(model).unwrap_or(self.offset);
        let row = match step {
            Step::Up(rows) => row.saturating_sub(rows),
            Step::Down(rows) => (row + rows).min(last),
            Step::Top => 0,
            Step::Bottom => last,
        };
        self.select_row(model, row);
    }

    /// Selects the node of a row.
    pub fn select_row(&mut self, model: &Model, row: usize) {
        self.is_touched = true;
        if let Some(row) = self.rows_at(model, row, 1).first() {
            self.set(model, row.ix);
        }
    }

    /// Returns the nodes from the selection's row to another one, both with.
    pub fn between(&self, model: &Model, one: usize, other: usize) -> Vec<NodeIx> {
        let (from, to) = (one.min(other), one.max(other));
        self.rows_at(model, from, to - from + 1).iter().map(|row| row.ix).collect()
    }

    /// Moves the window so that the selection is in it.
    pub fn show_selection(&mut self, model: &Model) {
        let most = self.len().saturating_sub(self.height);
        if let Some(row) = self.selected_row(model) {
            let lowest = (row + 1).saturating_sub(self.height);
            self.offset = self.offset.clamp(lowest, row.max(lowest)).min(most.max(lowest));
            self.place = row - self.offset.min(row);
        } else {
            self.offset = self.offset.min(most);
        }
    }

    /// Takes the height that the screen gives it.
    pub fn resize(&mut self, model: &Model, height: usize) {
        if self.height != height {
            self.height = height;
            self.place_at_first();
            self.keep_in_place(model);
        }
    }

    /// Returns whether the children of a node are shown.
    pub fn is_open(&self, ix: NodeIx) -> bool {
        self.rows.is_open(ix)
    }

    /// Shows or hides the children of a node.
    pub fn fold(&mut self, model: &Model, ix: NodeIx, fold: Fold) {
        self.rows.fold(model, ix, fold);
        self.recount(root_of(model, ix));
        self.keep_in_place(model);
    }

    /// Folds or unfolds everything.
    pub fn fold_all(&mut self, model: &Model, fold: Fold) {
        self.rows.fold_all(model, fold);
        self.recount_all();
        self.surface(model);
        self.show_selection(model);
    }

    /// After other rows came: finds the selection among them.
    pub fn resettle(&mut self, model: &Model) {
        if self.selected.is_none() {
            self.selected = self.keys.iter().find_map(|key| model.find(key));
        }
        self.surface(model);
        if self.selected_row(model).is_none() {
            // What cannot be seen is not selected: a command would act on it unseen.
            self.selected = None;
            if let Some(first) = self.rows_at(model, 0, 1).first() {
                self.set(model, first.ix);
            }
        }
        self.keep_in_place(model);
    }

    /// Takes in what changed in the model.
    pub fn update(&mut self, model: &Model, delta: &Delta) {
        self.rows.update(model, delta);
        if let Some((filter, sieve)) = &mut self.filtered {
            sieve.update(model, delta, |ix| passes(filter, model, ix));
        }
        for (gone, kept) in &delta.joined {
            if self.marked.remove(gone) {
                self.marked.insert(*kept);
            }
            if self.selected == Some(*gone) {
                self.selected = Some(*kept);
            }
        }
        for gone in &delta.removed {
            self.marked.remove(gone);
        }
    }

    /// After a change: finds the selection again, and keeps it where it was on the screen.
    pub fn settle(&mut self, model: &Model) {
        if self.selected.is_none_or(|ix| model.get(ix).is_none()) {
            let again = self.keys.iter().find_map(|key| model.find(key));
            self.selected = again;
        }
        if !self.is_touched
            && let Some(first) = self.first_worth_seeing(model)
        {
            self.set(model, first);
        }
        self.place_at_first();
        if self.selected.is_none() {
            let near = self.offset + self.place;
            let row = near.min(self.len().saturating_sub(1));
            if let Some(row) = self.rows_at(model, row, 1).first() {
                self.set(model, row.ix);
            }
        }
        self.surface(model);
        self.keep_in_place(model);
    }

    /// Where the selection is folded away, the nearest node above it that shows is selected.
    fn surface(&mut self, model: &Model) {
        let Some(ix) = self.selected else { return };
        if self.row_of(model, ix).is_none() {
            let above = model.ancestors(ix).find(|above| self.row_of(model, *above).is_some());
            if let Some(above) = above {
                self.set(model, above);
            }
        }
    }

    /// Until a person moves: the first root that still lives, else the one that was last heard of. Delegations stand in
    /// the order of their coming and what is past of agents' sessions the other way round: that is at neither end.
    fn first_worth_seeing(&self, model: &Model) -> Option<NodeIx> {
        if self.selected.is_some_and(|ix| model.get(ix).is_some_and(|node| !node.status.is_ended())) {
            return None;
        }
        let is_live = |ix: &NodeIx| model.get(*ix).is_some_and(|node| !node.status.is_ended());
        let heard_of =
            |ix: &NodeIx| model.get(*ix).and_then(|node| node.clocks.ended.max(node.clocks.last_sign));
        model.roots().find(is_live).or_else(|| model.roots().max_by_key(heard_of))
    }

    /// Until a person moves: what is worth seeing stands in the upper third, with what is below it in sight.
    fn place_at_first(&mut self) {
        if !self.is_touched {
            self.place = self.height / 3;
        }
    }

    fn keep_in_place(&mut self, model: &Model) {
        if let Some(row) = self.selected_row(model) {
            self.offset = row.saturating_sub(self.place);
        }
        let most = self.len().saturating_sub(self.height);
        self.offset = self.offset.min(most);
        self.show_selection(model);
    }
}

fn base<'a>(view: &'a TreeView, filtered: Option<&'a (Filter, Sieve)>) -> Base<'a> {
    filtered.map_or(Base::Folded(view), |(_, sieve)| Base::Passing(sieve))
}

fn passes(filter: &Filter, model: &Model, ix: NodeIx) -> bool {
    filter.passes(model, ix)
}
