//! The tree on screen: which node is selected, which are marked, what is folded, and from which row on.
//!
//! The selection is a node, never a line. When rows come or go above it the window moves with it, so that what
//! a person looks at stays where it is.

use std::collections::BTreeSet;

use super::filter::Filter;
use crate::model::delta::Delta;
use crate::model::key::NodeKey;
use crate::model::tree::sieve::Sieve;
use crate::model::tree::{Fold, Row, TreeView};
use crate::model::{Model, NodeIx};

/// What the tree shows.
#[derive(Debug)]
pub struct Tree {
    rows: TreeView,
    /// Only these rows, where something is filtered or sorted.
    sifted: Option<Sifted>,
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

/// Rows that are not the whole tree in its order.
#[derive(Debug)]
enum Sifted {
    /// What passes a filter, kept by what changes.
    Filtered(Filter, Sieve),
    /// In another order: made anew by whoever orders them.
    Sorted(Vec<Row>),
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
            sifted: None,
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
        match &self.sifted {
            Some(Sifted::Filtered(_, sieve)) => sieve.len(),
            Some(Sifted::Sorted(rows)) => rows.len(),
            None => self.rows.len(),
        }
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
        match &self.sifted {
            Some(Sifted::Filtered(_, sieve)) => sieve.window(model, offset, height),
            Some(Sifted::Sorted(rows)) => rows.iter().skip(offset).take(height).copied().collect(),
            None => self.rows.window(model, offset, height),
        }
    }

    /// Returns the row of a node.
    pub fn row_of(&self, model: &Model, ix: NodeIx) -> Option<usize> {
        match &self.sifted {
            Some(Sifted::Filtered(_, sieve)) => sieve.row_of(model, ix),
            Some(Sifted::Sorted(rows)) => rows.iter().position(|row| row.ix == ix),
            None => self.rows.row_of(model, ix),
        }
    }

    /// Returns the row of the selection.
    pub fn selected_row(&self, model: &Model) -> Option<usize> {
        self.row_of(model, self.selected?)
    }

    /// Opens what hides a node. Rows that are filtered or sorted are to be made anew after it.
    pub fn reveal(&mut self, model: &Model, ix: NodeIx) {
        self.rows.reveal(model, ix);
    }

    /// Returns whether the rows are filtered or sorted, and so are made by whoever does that.
    pub fn is_sifted(&self) -> bool {
        self.sifted.is_some()
    }

    /// Returns the nodes of the rows that passed a filter, or were sorted.
    pub fn sifted(&self, model: &Model) -> Option<Vec<NodeIx>> {
        let rows = self.sifted.is_some().then(|| self.rows_at(model, 0, usize::MAX));
        rows.map(|rows| rows.iter().map(|row| row.ix).collect())
    }

    /// Shows only what passes a filter. Nobody waits for it: only some nodes are looked at now, and the selected one
    /// with what is above it, so that the selection stays where it passes. The same filter again changes nothing.
    pub fn filter(&mut self, model: &Model, filter: &Filter, most: usize) {
        if !matches!(&self.sifted, Some(Sifted::Filtered(known, _)) if known == filter) {
            let mut sieve = Sieve::new(model);
            for ix in self.selected.into_iter().flat_map(|ix| std::iter::once(ix).chain(model.ancestors(ix)))
            {
                sieve.check(model, ix, passes(filter, model, ix));
            }
            self.sifted = Some(Sifted::Filtered(filter.clone(), sieve));
            self.look(model, most);
            return;
        }
        self.resettle(model);
    }

    /// Returns whether not every node was put through the filter yet.
    pub fn is_looking(&self) -> bool {
        matches!(&self.sifted, Some(Sifted::Filtered(_, sieve)) if sieve.is_looking())
    }

    /// Puts some more nodes through the filter.
    pub fn look(&mut self, model: &Model, most: usize) {
        if let Some(Sifted::Filtered(filter, sieve)) = &mut self.sifted {
            sieve.look(model, most, |ix| passes(filter, model, ix));
        }
        self.resettle(model);
    }

    /// Selects a node, and opens what hides it.
    pub fn select(&mut self, model: &Model, ix: NodeIx) {
        if self.sifted.is_none() {
            self.rows.reveal(model, ix);
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
        self.keep_in_place(model);
    }

    /// Folds or unfolds everything.
    pub fn fold_all(&mut self, model: &Model, fold: Fold) {
        self.rows.fold_all(model, fold);
        self.surface(model);
        self.show_selection(model);
    }

    /// Returns how the tree is folded.
    pub fn folded(&self) -> &TreeView {
        &self.rows
    }

    /// Shows these rows in their order; `None` shows the whole tree.
    pub fn sift(&mut self, model: &Model, rows: Option<Vec<Row>>) {
        self.sifted = rows.map(Sifted::Sorted);
        self.resettle(model);
    }

    /// After other rows came: finds the selection among them.
    fn resettle(&mut self, model: &Model) {
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
        if let Some(Sifted::Filtered(filter, sieve)) = &mut self.sifted {
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

    /// Until a person moves: the first root that still lives, else the last one that ended.
    fn first_worth_seeing(&self, model: &Model) -> Option<NodeIx> {
        if self.selected.is_some_and(|ix| model.get(ix).is_some_and(|node| !node.status.is_ended())) {
            return None;
        }
        let is_live = |ix: &NodeIx| model.get(*ix).is_some_and(|node| !node.status.is_ended());
        model.roots().find(is_live).or_else(|| model.roots().next_back())
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

fn passes(filter: &Filter, model: &Model, ix: NodeIx) -> bool {
    model.get(ix).is_some_and(|node| filter.passes(node))
}
