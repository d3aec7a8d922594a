//! From folds to facts: each message priced and told of the one who sent it, no status older than the last.
//!
//! Files are read newest first, and several may speak of one node; what is told must not depend on that.

use std::sync::Arc;

use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};

use super::cost::Pricer;
use super::fold::{Fold, Packed, Told, Used};
use crate::model::fact::{About, Clock, Fact, NodeFact, Sent, SourceFact, StatusReport, UsageReport};
use crate::model::key::{Keys, NodeKey, SourceId, SourceKind};
use crate::model::price::Prices;
use crate::model::sealed::{Messages, Sealed, mark};
use crate::model::time::Stamp;
use crate::model::words::meaning;
use crate::source::feed::Batch;

/// Tells what files say.
pub struct Teller {
    source: SourceId,
    kind: SourceKind,
    pub pricer: Pricer,
    /// Who has each message, by the mark of its id: small, since there are very many. Who is told of a repeat depends
    /// on it, and never what is paid.
    owners: HashMap<u64, Holder>,
    /// Messages that only one file has, as the index knows: they are in no table until somebody else tells one.
    apart: Vec<(Owner, Arc<Packed>)>,
    /// The numbers of files that have a message which another has too.
    shared: HashSet<usize>,
    /// What is known of the files, by their number.
    files: Vec<Option<Owner>>,
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

/// What follows from all that was read.
pub enum Conclusion {
    /// As before.
    Known(Vec<Told>),
    New(Fold),
}

impl Conclusion {
    /// Tells it.
    pub fn tell(self, owner: Owner, teller: &mut Teller, batch: &mut Batch) {
        match self {
            Self::Known(told) => teller.tell_all(owner, told, batch),
            Self::New(fold) => teller.tell_all(owner, fold.into_told(), batch),
        }
    }
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

/// Which file has a message, and whether that file says that it is a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Holder(u32);

impl Holder {
    const COPY: u32 = 1 << 31;

    fn of(owner: Owner, is_copy: bool) -> Self {
        let file = u32::try_from(owner.file).unwrap_or(u32::MAX) & !Self::COPY;
        Self(if is_copy { file | Self::COPY } else { file })
    }

    fn file(self) -> usize {
        usize::try_from(self.0 & !Self::COPY).unwrap_or(usize::MAX)
    }

    fn is_copy(self) -> bool {
        self.0 & Self::COPY != 0
    }
}

impl Teller {
    pub fn new(source: SourceId, kind: SourceKind, prices: Arc<Prices>) -> Self {
        Self {
            source,
            kind,
            pricer: Pricer::new(prices),
            owners: HashMap::new(),
            apart: Vec::new(),
            shared: HashSet::new(),
            files: Vec::new(),
            claims: HashMap::new(),
        }
    }

    /// Introduces the source.
    pub fn open(&self, root: &str, batch: &mut Batch) {
        let opened = SourceFact::Opened { kind: self.kind, root: root.into() };
        batch.facts.push(Fact::source(self.source, opened));
        let settings = serde_json::json!({ "prices": { "date": self.pricer.prices().date } });
        batch.facts.push(Fact { source: self.source, at: None, about: About::Settings(settings) });
    }

    /// Makes room for so many files: a table that grows is written anew each time.
    pub fn expect(&mut self, files: usize) {
        self.claims.reserve(files);
        self.files.reserve(files);
        self.apart.reserve(files);
    }

    /// Returns whether no other file has a message of this one, of those that were told.
    pub fn is_alone(&self, file: usize) -> bool {
        !self.shared.contains(&file)
    }

    /// Takes everything back: it is told anew.
    pub fn start_over(&mut self, batch: &mut Batch) {
        self.owners.clear();
        self.apart.clear();
        self.shared.clear();
        self.files.clear();
        self.claims.clear();
        batch.facts.push(Fact::source(self.source, SourceFact::Reset));
    }

    /// Tells what a file says, that goes on saying it.
    pub fn tell(&mut self, owner: Owner, fold: &Fold, batch: &mut Batch) {
        for node in &fold.nodes {
            if let Some(told) = node.but_used().into_told() {
                self.tell_node(owner, told, &node.used, batch);
            }
        }
    }

    /// Tells what a file says, and no more than that is made of it.
    pub fn tell_all(&mut self, owner: Owner, list: impl IntoIterator<Item = Told>, batch: &mut Batch) {
        for mut told in list {
            let used = std::mem::take(&mut told.used);
            self.tell_node(owner, told, &used, batch);
        }
    }

    /// The same of a file with which no other has a message in common, as the index knows.
    pub fn tell_alone(&mut self, owner: Owner, list: impl IntoIterator<Item = Told>, batch: &mut Batch) {
        // Somebody told what the index does not know, perhaps one of these.
        if !self.owners.is_empty() {
            return self.tell_all(owner, list, batch);
        }
        for mut told in list {
            if let Some(messages) = told.sealed.take() {
                let messages = Arc::new(messages);
                self.apart.push((owner, Arc::clone(&messages)));
                told.use_next(NodeFact::UsedSealed(Sealed(messages)));
            }
            let used = std::mem::take(&mut told.used);
            self.tell_node(owner, told, &used, batch);
        }
    }

    /// Tells facts of a node, and what it used.
    fn tell_node(&mut self, owner: Owner, mut told: Told, used: &[Used], batch: &mut Batch) {
        let said = told.facts.iter().enumerate().find_map(|(place, (at, fact))| {
            if let NodeFact::Status(report) = fact { Some((place, (*at)?, report)) } else { None }
        });
        if let Some((place, at, report)) = said {
            let (is_latest, ended) = self.claim(&told.keys, report, at.millis(), owner.file);
            if !is_latest {
                told.facts.remove(place);
                told.used_at -= usize::from(place < told.used_at);
            }
            let ended = ended.map(|at| (None, NodeFact::Clock(Clock::Ended, Stamp::from_millis(at))));
            told.facts.extend(ended);
        }
        if !used.is_empty() {
            let used = used.iter().map(|used| self.pricer.report(used)).collect();
            told.use_next(self.used(owner, used));
        }
        if let Some(sealed) = told.sealed.take() {
            told.use_next(self.used_sealed(owner, sealed));
        }
        let Told { keys, mut facts, .. } = told;
        if facts.is_empty() {
            return;
        }
        // What is concluded of a trail follows what it said of itself.
        if let Some(About::Several(same, before)) = batch.facts.last_mut().map(|fact| &mut fact.about)
            && *same == keys
        {
            before.append(&mut facts);
            return;
        }
        let about = About::Several(keys, facts);
        batch.facts.push(Fact { source: self.source, at: None, about });
    }

    /// Notes whose the messages are that were in no table so far.
    fn gather(&mut self) {
        let apart = std::mem::take(&mut self.apart);
        let count = apart.iter().map(|(_, messages)| usize::try_from(messages.count()).unwrap_or(0)).sum();
        self.owners.reserve(count);
        for (owner, messages) in apart {
            self.note(owner);
            self.enter(owner, &messages);
        }
    }

    /// Notes that a file has these messages; returns whether nobody else has one of them.
    fn enter(&mut self, owner: Owner, messages: &Packed) -> bool {
        // What says that it is a copy is not packed.
        let (holder, mut is_alone) = (Holder::of(owner, false), true);
        for mark in messages.marks() {
            match self.owners.entry(mark) {
                Entry::Vacant(place) => drop(place.insert(holder)),
                Entry::Occupied(known) => {
                    self.shared.extend([owner.file, known.get().file()]);
                    is_alone = false;
                }
            }
        }
        is_alone
    }

    /// Says what each message used, and who sent it.
    fn used(&mut self, owner: Owner, mut reports: Vec<UsageReport>) -> NodeFact {
        // What has no id is nobody else's.
        if reports.iter().all(|report| report.id.is_none()) {
            return NodeFact::UsedAll(reports);
        }
        self.gather();
        self.owners.reserve(reports.len());
        self.note(owner);
        for report in &mut reports {
            if let Some(id) = &report.id {
                report.sent = self.sent(mark(id), owner, report.sent == Sent::Elsewhere);
            }
        }
        NodeFact::UsedAll(reports)
    }

    /// The same of messages that were packed: at once, if no other file has one of them.
    fn used_sealed(&mut self, owner: Owner, messages: Packed) -> NodeFact {
        self.gather();
        self.owners.reserve(usize::try_from(messages.count()).unwrap_or(0));
        self.note(owner);
        if self.enter(owner, &messages) {
            return NodeFact::UsedSealed(Sealed(Arc::new(messages)));
        }
        self.used(owner, messages.open())
    }

    fn note(&mut self, owner: Owner) {
        if self.files.len() <= owner.file {
            self.files.resize(owner.file + 1, None);
        }
        if let Some(known) = self.files.get_mut(owner.file) {
            *known = Some(owner);
        }
    }

    /// Returns whose a message is that another file told already: of the two files, the one that says so has a copy,
    /// else the one that came to be later.
    fn sent(&mut self, mark: u64, by: Owner, is_copy: bool) -> Sent {
        let holder = Holder::of(by, is_copy);
        let known = match self.owners.entry(mark) {
            Entry::Vacant(place) => {
                place.insert(holder);
                return Sent::Unknown;
            }
            Entry::Occupied(known) => known.into_mut(),
        };
        let before = self.files.get(known.file()).copied().flatten();
        let Some(before) = before.filter(|before| before.file != by.file) else { return Sent::Unknown };
        self.shared.extend([before.file, by.file]);
        let age = |owner: Owner, holder: Holder| (holder.is_copy(), owner.is_below, owner.born, owner.order);
        if age(by, holder) >= age(before, *known) {
            return Sent::Elsewhere;
        }
        *known = holder;
        Sent::Here
    }

    /// Returns whether a state is news, not older than what was told before, and since when it is over if it is.
    fn claim(&mut self, keys: &Keys, report: &StatusReport, at: i64, by: usize) -> (bool, Option<i64>) {
        let is_end = !meaning(self.kind, report.field, &report.word).is_live();
        let mut this = Claim { at, is_end, ended: at, by };
        let told = keys.iter().filter_map(|key| self.claims.get(key)).max().copied();
        let is_latest = told.is_none_or(|told| {
            (this.at, this.is_end) >= (told.at, told.is_end) || (this.at, by) == (told.at, told.by)
        });
        if let Some(told) = told {
            let ended = match (is_end, told.is_end) {
                // It was taken up again in between, though nobody saw it.
                (true, true) if is_latest && by == told.by => at,
                // Who waited for it tells its end later than it does itself.
                (true, true) => at.min(told.ended),
                (_, _) => told.ended,
            };
            this = if is_latest {
                Claim { ended: if told.is_end { ended } else { at }, ..this }
            } else {
                Claim { ended, ..told }
            };
        }
        for key in keys.iter() {
            self.claims.insert(key.clone(), this);
        }
        (is_latest, this.is_end.then_some(this.ended))
    }
}
