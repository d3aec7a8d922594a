//! What was spent, by the model that each message ran on: counted from the messages when somebody asks, so that a node
//! keeps nothing for it and no sum of it can go wrong.

use super::name::Name;
use super::node::{Node, Spent};
use super::text;
use super::usage::Spend;

/// What was spent on each of some models, in the order in which they were first used; `None` where no message said on
/// which.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ByModel {
    /// Nearly every node has one model: that takes no room of its own.
    first: Option<(Option<Name>, Spend)>,
    /// Hardly any has more than three.
    more: Vec<(Option<Name>, Spend)>,
}

impl ByModel {
    /// Adds what was spent on a model.
    pub fn add(&mut self, model: Option<&Name>, spend: &Spend) {
        let Some(first) = &mut self.first else {
            self.first = Some((model.cloned(), *spend));
            return;
        };
        let mut known = std::iter::once(first).chain(&mut self.more);
        match known.find(|(known, _)| known.as_ref() == model) {
            Some((_, sum)) => sum.add(spend),
            None => self.more.push((model.cloned(), *spend)),
        }
    }

    /// Returns on how many models something was spent.
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    /// Returns whether nothing was.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Returns what was spent on each.
    pub fn iter(&self) -> impl Iterator<Item = (Option<&Name>, &Spend)> {
        self.first.iter().chain(&self.more).map(|(model, spend)| (model.as_ref(), spend))
    }

    /// Returns what was spent on all of them.
    pub fn sum(&self) -> Spend {
        let mut sum = Spend::default();
        self.iter().for_each(|(_, spend)| sum.add(spend));
        sum
    }
}

impl Node {
    /// Returns what this node itself spent on each model. A message that does not say on which it ran is of the node's.
    pub fn own_by_model(&self) -> ByModel {
        let own = self.model.best();
        let mut sums = ByModel::default();
        for sealed in &self.sealed {
            for (model, spend) in sealed.0.by_model().iter() {
                // A name as the model keeps it.
                let model = model.map(|name| Name::from(text::line(name)));
                sums.add(model.as_ref().or(own), spend);
            }
        }
        let is_message = !self.sums.messages.is_nothing();
        let counts = |entry: &&Spent| entry.is_total != is_message && !entry.is_paid_elsewhere;
        for entry in self.spent.iter().filter(counts) {
            sums.add(entry.model.as_ref().or(own), &entry.spend());
        }
        sums
    }
}
