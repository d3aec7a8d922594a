//! The same rows with the roots in another order: how many rows each root takes, in that order. What is below a root
//! stays as it is, so a window is found by its roots, and their rows by whoever counts them.

use std::collections::HashMap;

use super::{Row, Sizes};
use crate::model::NodeIx;

/// The roots in their order, and the rows of each.
#[derive(Debug, Clone, Default)]
pub struct Ordered {
    roots: Vec<NodeIx>,
    places: HashMap<NodeIx, usize>,
    sizes: Sizes,
}

impl Ordered {
    /// Puts roots in this order; `rows` says how many rows each takes.
    pub fn new(roots: Vec<NodeIx>, rows: impl Fn(NodeIx) -> usize) -> Self {
        let places = roots.iter().enumerate().map(|(at, root)| (*root, at)).collect();
        let mut sizes = Sizes::default();
        for root in &roots {
            sizes.push(rows(*root));
        }
        Self { roots, places, sizes }
    }

    /// Returns the roots in their order.
    pub fn roots(&self) -> &[NodeIx] {
        &self.roots
    }

    /// Returns how many rows there are.
    pub fn len(&self) -> usize {
        self.sizes.total()
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Notes how many rows a root takes now.
    pub fn resize(&mut self, root: NodeIx, rows: usize) {
        if let Some(at) = self.places.get(&root) {
            self.sizes.set(*at, rows);
        }
    }

    /// Returns the row of a root.
    pub fn row_of(&self, root: NodeIx) -> Option<usize> {
        self.places.get(&root).map(|at| self.sizes.before(*at))
    }

    /// Returns the rows from `offset` on, at most `height` of them; `rows` returns those of a root, from one of them on
    /// and so many.
    pub fn window(
        &self,
        offset: usize,
        height: usize,
        rows: impl Fn(NodeIx, usize, usize) -> Vec<Row>,
    ) -> Vec<Row> {
        let count = height.min(self.len().saturating_sub(offset));
        let mut window = Vec::with_capacity(count);
        while window.len() < count {
            let (at, from) = self.sizes.find(offset + window.len());
            let Some(root) = self.roots.get(at) else { break };
            let end = self.sizes.before(at + 1);
            let some = rows(*root, from, (count - window.len()).min(end - self.sizes.before(at) - from));
            if some.is_empty() {
                break;
            }
            let is_followed = end < self.len();
            window.extend(some.into_iter().map(|row| row.below_root(is_followed)));
        }
        window
    }
}
