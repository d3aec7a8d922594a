//! From folds to facts: each message priced and told of the one who sent it, no status older than the last.
//!
//! Files are read newest first, and several may speak of one node; what is told must not depend on that.

use std::collections::HashMap;
use std::sync::Arc;

use super::fold::{Fold, Folded, Word};
use crate::model::fact::{About, Fact, NodeFact, SourceFact};
use crate::model::key::{NodeKey, SourceId, SourceKind};
use crate::model::price::Prices;
use crate::model::words::meaning;
use crate::source::feed::Batch;

/// Tells what files say.
pub struct Teller {
    source: SourceId,
    kind: SourceKind,
    prices: Arc<Prices>,
    /// Who has each message, by when its file came to be.
    owners: HashMap<Arc<str>, Owner>,
    /// When each node's state was last told, and whether it was an end.
    claims: HashMap<NodeKey, (i64, bool)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The number of the file.
    pub file: usize,
    /// When it came to be, where that is known.
    pub born: Option<i64>,
}

impl Teller {
    pub fn new(source: SourceId, kind: SourceKind, prices: Arc<Prices>) -> Self {
        Self { source, kind, prices, owners: HashMap::new(), claims: HashMap::new() }
    }

    /// Introduces the source.
    pub fn open(&self, root: &str, batch: &mut Batch) {
        let opened = SourceFact::Opened { kind: self.kind, root: root.into() };
        batch.facts.push(Fact::source(self.source, opened));
        let settings = serde_json::json!({ "prices": { "date": self.prices.date } });
        batch.facts.push(Fact { source: self.source, at: None, about: About::Settings(settings) });
    }

    /// Takes everything back: it is told anew.
    pub fn start_over(&mut self, batch: &mut Batch) {
        self.owners.clear();
        self.claims.clear();
        batch.facts.push(Fact::source(self.source, SourceFact::Reset));
    }

    /// Tells what a file says.
    pub fn tell(&mut self, owner: Owner, fold: &Fold, batch: &mut Batch) {
        for node in &fold.nodes {
            let Some(keys) = node.keys() else { continue };
            let mut facts = node.facts();
            if node.status.as_ref().is_some_and(|word| !self.is_latest(node, word)) {
                facts.retain(|(_, fact)| !matches!(fact, NodeFact::Status(_)));
            }
            for used in &node.used {
                let mut report = used.report();
                report.cost = report.cost.or_else(|| self.prices.cost(&report));
                report.is_original = report.id.as_ref().is_some_and(|id| self.is_older(id, owner));
                facts.push((None, NodeFact::Used(Box::new(report))));
            }
            if !facts.is_empty() {
                let about = About::Several(keys, facts);
                batch.facts.push(Fact { source: self.source, at: None, about });
            }
        }
    }

    /// Returns whether a message is told of another file already that came to be later: a copy of this one.
    fn is_older(&mut self, id: &Arc<str>, by: Owner) -> bool {
        let Some(known) = self.owners.get_mut(id) else {
            self.owners.insert(Arc::clone(id), by);
            return false;
        };
        let older = match (by.born, known.born) {
            (Some(mine), Some(theirs)) => mine < theirs,
            (_, _) => false,
        };
        if older && by.file != known.file {
            *known = by;
        }
        older && by.file == known.file
    }

    /// Returns whether a state is news: not older than what was told before. Of two at the same time an end stands.
    fn is_latest(&mut self, node: &Folded, word: &Word) -> bool {
        let Some(at) = word.at else { return true };
        let this = (at, !meaning(self.kind, word.field(), &word.word).is_live());
        let told = node.keys.iter().filter_map(|key| self.claims.get(key)).max().copied();
        let is_latest = told.is_none_or(|told| this >= told);
        let stands = if is_latest { this } else { told.unwrap_or(this) };
        for key in &node.keys {
            self.claims.insert(key.clone(), stands);
        }
        is_latest
    }
}
