//! From folds to facts: each message priced and told of the one who sent it, no status older than the last.
//!
//! Files are read newest first, and several may speak of one node; what is told must not depend on that.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::hash_map::Entry;
use hashbrown::{DefaultHashBuilder, HashMap};

use super::fold::{Fold, Folded, Word};
use crate::model::fact::{About, Clock, Fact, NodeFact, Sent, SourceFact, UsageReport};
use crate::model::key::{NodeKey, SourceId, SourceKind};
use crate::model::name::Name;
use crate::model::price::{Price, Prices};
use crate::model::time::Stamp;
use crate::model::usage::Usd;
use crate::model::words::meaning;
use crate::source::feed::Batch;

/// Tells what files say.
pub struct Teller {
    source: SourceId,
    kind: SourceKind,
    prices: Arc<Prices>,
    /// The prices of models that were asked for; the last one is most likely the next one.
    found: HashMap<Name, Option<Price>>,
    last: Option<(Name, Option<Price>)>,
    /// The number of the file that has each message, by a checksum of its id: small, since there are very many. Who is
    /// told of a repeat depends on it, and never what is paid.
    owners: HashMap<u64, u32>,
    /// What is known of the files, by their number.
    files: Vec<Option<Owner>>,
    hasher: DefaultHashBuilder,
    /// What was last told of each node's state.
    claims: HashMap<NodeKey, Claim>,
}

/// A state that was told: when it was so, whether and since when it is an end, and by which file. Of two, the later
/// stands, and at the same time the end; but who told the one may take it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Claim {
    at: i64,
    is_end: bool,
    ended: i64,
    by: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The number of the file.
    pub file: usize,
    /// Whether it is of an agent that another file's conversation started: what both have, it has from there.
    pub is_below: bool,
    /// When it came to be, where that is known.
    pub born: Option<i64>,
    /// Decides among files that came to be at once, or nobody knows when: any order, but always the same.
    pub order: u64,
}

impl Teller {
    pub fn new(source: SourceId, kind: SourceKind, prices: Arc<Prices>) -> Self {
        Self {
            source,
            kind,
            prices,
            found: HashMap::new(),
            last: None,
            owners: HashMap::new(),
            files: Vec::new(),
            hasher: DefaultHashBuilder::default(),
            claims: HashMap::new(),
        }
    }

    /// Introduces the source.
    pub fn open(&self, root: &str, batch: &mut Batch) {
        let opened = SourceFact::Opened { kind: self.kind, root: root.into() };
        batch.facts.push(Fact::source(self.source, opened));
        let settings = serde_json::json!({ "prices": { "date": self.prices.date } });
        batch.facts.push(Fact { source: self.source, at: None, about: About::Settings(settings) });
    }

    /// Makes room for so many messages: a table that grows is written anew each time.
    pub fn expect(&mut self, messages: usize) {
        self.owners.reserve(messages);
    }

    /// Takes everything back: it is told anew.
    pub fn start_over(&mut self, batch: &mut Batch) {
        self.owners.clear();
        self.files.clear();
        self.claims.clear();
        batch.facts.push(Fact::source(self.source, SourceFact::Reset));
    }

    /// Tells what a file says.
    pub fn tell(&mut self, owner: Owner, fold: &Fold, batch: &mut Batch) {
        for node in &fold.nodes {
            let Some(keys) = node.keys() else { continue };
            let mut facts = node.facts();
            if let Some((word, at)) = node.status.as_ref().and_then(|word| Some((word, word.at?))) {
                let (is_latest, ended) = self.claim(node, word, at, owner.file);
                facts.retain(|(_, fact)| is_latest || !matches!(fact, NodeFact::Status(_)));
                // Who waited for it tells its end later than it does itself.
                let ended = ended.map(Stamp::from_millis);
                facts.extend(ended.map(|at| (None, NodeFact::Clock(Clock::Ended, at))));
            }
            if !node.used.is_empty() {
                facts.push((None, NodeFact::UsedAll(self.used(owner, node))));
            }
            if !facts.is_empty() {
                let about = About::Several(keys, facts);
                batch.facts.push(Fact { source: self.source, at: None, about });
            }
        }
    }

    /// Returns what each message of a node used, and what it cost.
    fn used(&mut self, owner: Owner, node: &Folded) -> Vec<UsageReport> {
        self.owners.reserve(node.used.len());
        self.note(owner);
        let priced = node.used.iter().map(|used| {
            let mut report = used.report();
            if report.cost.is_none() {
                report.cost = self.cost(&report);
                report.by_table = report.cost.is_some();
            }
            if let Some(id) = &report.id {
                report.sent = self.sent(id, owner);
            }
            report
        });
        priced.collect()
    }

    fn cost(&mut self, report: &UsageReport) -> Option<Usd> {
        let model = report.model.as_ref()?;
        if let Some((_, price)) = self.last.as_ref().filter(|(last, _)| last == model) {
            return price.as_ref()?.cost(report);
        }
        let prices = &self.prices;
        let price = self.found.entry_ref(model).or_insert_with(|| prices.of(model).cloned());
        self.last = Some((model.clone(), price.clone()));
        price.as_ref()?.cost(report)
    }

    fn note(&mut self, owner: Owner) {
        if self.files.len() <= owner.file {
            self.files.resize(owner.file + 1, None);
        }
        if let Some(known) = self.files.get_mut(owner.file) {
            *known = Some(owner);
        }
    }

    /// Returns whose a message is that another file told already: of the two files, the one that came to be later has a
    /// copy.
    fn sent(&mut self, id: &str, by: Owner) -> Sent {
        let file = u32::try_from(by.file).unwrap_or(u32::MAX);
        let known = match self.owners.entry(self.hasher.hash_one(id)) {
            Entry::Vacant(place) => {
                place.insert(file);
                return Sent::Unknown;
            }
            Entry::Occupied(known) => known.into_mut(),
        };
        let before = usize::try_from(*known).ok().and_then(|known| *self.files.get(known)?);
        let Some(before) = before.filter(|before| before.file != by.file) else { return Sent::Unknown };
        let age = |owner: Owner| (owner.is_below, owner.born, owner.order);
        if age(by) >= age(before) {
            return Sent::Elsewhere;
        }
        *known = file;
        Sent::Here
    }

    /// Returns whether a state is news, not older than what was told before, and since when it is over if it is.
    fn claim(&mut self, node: &Folded, word: &Word, at: i64, by: usize) -> (bool, Option<i64>) {
        let is_end = !meaning(self.kind, word.field(), &word.word).is_live();
        let mut this = Claim { at, is_end, ended: at, by };
        let told = node.keys.iter().filter_map(|key| self.claims.get(key)).max().copied();
        let is_latest = told.is_none_or(|told| {
            (this.at, this.is_end) >= (told.at, told.is_end) || (this.at, by) == (told.at, told.by)
        });
        if let Some(told) = told {
            let ended = if is_end && told.is_end { at.min(told.ended) } else { told.ended };
            this = if is_latest {
                Claim { ended: if told.is_end { ended } else { at }, ..this }
            } else {
                Claim { ended, ..told }
            };
        }
        for key in &node.keys {
            self.claims.insert(key.clone(), this);
        }
        (is_latest, this.is_end.then_some(this.ended))
    }
}
