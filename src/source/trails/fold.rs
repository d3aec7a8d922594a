//! What a file said, folded small: of each node the last word on everything, and every message that was paid for.
//!
//! A first reading tells the fold and not each line, so it costs the model what is known at the end; the index
//! keeps the same fold, so a second start tells the same. What has no place here (a question, a moment for the
//! timeline) is not kept: no trail says it.

mod messages;
mod pack;
mod told;

use std::sync::Arc;

use hashbrown::HashMap;
pub use messages::Packed;
pub use pack::Page;
pub use told::Told;

use crate::agent::trail::Said;
use crate::model::event::payload::Progress;
use crate::model::fact::{Action, Clock, Description, NodeFact, Scope, Sent, StatusReport, UsageReport};
use crate::model::handoff::Outcome;
use crate::model::key::{Keys, NodeKey};
use crate::model::name::Name;
use crate::model::node::NodeKind;
use crate::model::sealed::mark;
use crate::model::time::Stamp;
use crate::model::usage::{Context, Count, Tokens, Usd};
use crate::model::words::Field;

/// Repeats of a message stand near each other: so far back they are looked for.
const NEAR: usize = 16;

/// So few nodes are looked through; of more it is kept where each is.
const FEW: usize = 16;

/// What a file said.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    pub nodes: Vec<Folded>,
    /// The last place at which a node has each key, once there are many: of most files there never are.
    places: Option<Box<HashMap<NodeKey, usize>>>,
}

impl PartialEq for Fold {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes
    }
}

/// What a file said of one node.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Folded {
    /// Its names, the first one first.
    pub keys: Vec<NodeKey>,
    kind: Option<NodeKind>,
    under: Vec<NodeKey>,
    /// Who and what it is.
    who: Option<Box<Description>>,
    clocks: Vec<(u8, i64)>,
    may_sleep: Option<u64>,
    progress: Option<Progress>,
    pub status: Option<Box<Word>>,
    last: Option<Box<str>>,
    next: Option<Box<str>>,
    returned: Option<Box<Outcome>>,
    /// The last sign of life, in milliseconds.
    sign: Option<i64>,
    context: Option<Context>,
    pub used: Vec<Used>,
}

/// A status word and when it was said.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    field: u8,
    pub word: Box<str>,
    why: Option<String>,
    pub at: Option<i64>,
}

/// What a message used.
#[derive(Debug, Clone, PartialEq)]
pub struct Used {
    pub id: Option<Arc<str>>,
    /// Stands for the id: others are told from it by this.
    mark: u64,
    model: Option<Name>,
    counts: [Option<u64>; 5],
    /// What of the cache is kept for an hour.
    hour_cache: u64,
    /// Whether it is a whole session's.
    is_total: bool,
    is_fast: bool,
    searches: u64,
    /// Whether its file says that it is a copy of another's.
    pub is_copy: bool,
    /// What its file says that it cost.
    cost: Option<i64>,
}

const CLOCKS: [Clock; 5] = [Clock::Created, Clock::Started, Clock::Ended, Clock::AcceptBy, Clock::FinishBy];
const FIELDS: [Field; 4] = [Field::Delegation, Field::Task, Field::Session, Field::Return];
const COUNTS: [Count; 5] =
    [Count::Input, Count::Output, Count::CacheRead, Count::CacheWrite, Count::Reasoning];

impl Fold {
    /// Takes in what a file says.
    pub fn take(&mut self, said: Said) {
        let node = self.node(&said.keys);
        if let Some(at) = said.at {
            node.sign = node.sign.max(Some(at.millis()));
        }
        node.take(said.at, said.what);
    }

    /// Takes in what was said later.
    pub fn absorb(&mut self, later: Self) {
        if self.nodes.is_empty() {
            *self = later;
            return;
        }
        for mut folded in later.nodes {
            let mut keys = std::mem::take(&mut folded.keys).into_iter();
            let Some(first) = keys.next() else { continue };
            self.node(&Keys { first, more: keys.collect() }).absorb(folded);
        }
    }

    /// Returns what is to be told of each node.
    pub fn into_told(self) -> impl Iterator<Item = Told> {
        self.nodes.into_iter().filter_map(Folded::into_told)
    }

    /// Returns the node that has one of these keys. What is said of a node now was most likely said of it before.
    fn node(&mut self, keys: &Keys) -> &mut Folded {
        let is_own = |own: &Folded| keys.more.is_empty() && own.keys.first() == Some(&keys.first);
        if self.nodes.first().is_some_and(is_own) {
            #[expect(clippy::indexing_slicing, reason = "it was looked at just before")]
            return &mut self.nodes[0];
        }
        let known = self.place(keys);
        let at = known.unwrap_or_else(|| {
            self.nodes.push(Folded::default());
            self.nodes.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "found or pushed just before")]
        let node = &mut self.nodes[at];
        for key in keys.iter() {
            if !node.keys.contains(key) {
                // The tool's own id stands before the call that it was started by: it is shown as the id.
                let is_id = matches!(key, NodeKey::CliSession(..) | NodeKey::CliAgent(..));
                let nth = if is_id { 0 } else { node.keys.len() };
                node.keys.insert(nth, key.clone());
                if let Some(places) = &mut self.places {
                    let place = places.entry_ref(key).or_insert(at);
                    *place = at.max(*place);
                }
            }
        }
        node
    }

    /// Returns where the node is that has one of these keys.
    fn place(&mut self, keys: &Keys) -> Option<usize> {
        let has_any = |node: &Folded| keys.iter().any(|key| node.keys.contains(key));
        // Most is said of the file's own node, which comes first.
        if self.nodes.first().is_some_and(has_any) {
            return Some(0);
        }
        if self.nodes.len() <= FEW {
            return self.nodes.iter().rposition(has_any);
        }
        let places = self.places.get_or_insert_with(|| {
            let all = self.nodes.iter().enumerate();
            Box::new(all.flat_map(|(at, node)| node.keys.iter().map(move |key| (key.clone(), at))).collect())
        });
        keys.iter().filter_map(|key| places.get(key).copied()).max()
    }
}

impl Folded {
    fn take(&mut self, at: Option<Stamp>, what: NodeFact) {
        match what {
            NodeFact::Seen(kind) => self.kind = self.kind.max(Some(kind)),
            NodeFact::Under(keys) => self.under = keys.iter().cloned().collect(),
            NodeFact::Described(told) => describe(self.who.get_or_insert_default(), *told),
            NodeFact::Status(report) => self.status = Some(Box::new(Word::of(at, *report))),
            NodeFact::Progressed(progress) => self.progress = Some(progress),
            NodeFact::Active(action) => self.act(action.last.map(Into::into), action.next.map(Into::into)),
            NodeFact::Clock(clock, at) => self.set_clock(clock as u8, at.millis()),
            NodeFact::MaySleep(millis) => self.may_sleep = Some(millis),
            NodeFact::Used(report) => self.add_use(Used::of(*report)),
            NodeFact::UsedAll(reports) => reports.into_iter().for_each(|used| self.add_use(Used::of(used))),
            NodeFact::Filled(context) => self.context = Some(context),
            NodeFact::Returned(outcome) => self.returned = Some(outcome),
            NodeFact::HandedOff(_)
            | NodeFact::Taken(_)
            | NodeFact::Decided(_)
            | NodeFact::Attempted(_)
            | NodeFact::Runs(_)
            | NodeFact::Budgeted(_)
            | NodeFact::Quality(_)
            | NodeFact::Asked(_)
            | NodeFact::Settled(_)
            | NodeFact::Happened(_)
            | NodeFact::Worked(_)
            | NodeFact::UsedSealed(_)
            | NodeFact::Gone => debug_assert!(false, "no trail says this"),
        }
    }

    fn act(&mut self, last: Option<Box<str>>, next: Option<Box<str>>) {
        // As the model has it: an action leaves the next one open unless it says so.
        if last.is_some() || next.is_some() {
            self.last = last.or(self.last.take());
            self.next = next;
        }
    }

    fn set_clock(&mut self, clock: u8, at: i64) {
        match self.clocks.iter_mut().find(|(known, _)| *known == clock) {
            Some((_, known)) => *known = at,
            None => self.clocks.push((clock, at)),
        }
    }

    fn add_use(&mut self, used: Used) {
        let mut near = self.used.iter_mut().rev().take(NEAR);
        match near.find(|known| known.is_same(&used)) {
            Some(known) => known.raise(&used),
            None => self.used.push(used),
        }
    }

    fn absorb(&mut self, later: Self) {
        self.kind = self.kind.max(later.kind);
        if !later.under.is_empty() {
            self.under = later.under;
        }
        if let Some(who) = later.who {
            describe(self.who.get_or_insert_default(), *who);
        }
        for (clock, at) in later.clocks {
            self.set_clock(clock, at);
        }
        self.may_sleep = later.may_sleep.or(self.may_sleep);
        self.progress = later.progress.or(self.progress.take());
        self.status = later.status.or(self.status.take());
        self.act(later.last, later.next);
        self.returned = later.returned.or(self.returned.take());
        self.context = later.context.or(self.context);
        self.sign = self.sign.max(later.sign);
        for used in later.used {
            self.add_use(used);
        }
    }

    /// Returns it without its messages.
    #[must_use]
    pub fn but_used(&self) -> Self {
        let Self { keys, kind, under, who, clocks, may_sleep, progress, status, .. } = self;
        Self {
            keys: keys.clone(),
            kind: *kind,
            under: under.clone(),
            who: who.clone(),
            clocks: clocks.clone(),
            may_sleep: *may_sleep,
            progress: *progress,
            status: status.clone(),
            last: self.last.clone(),
            next: self.next.clone(),
            returned: self.returned.clone(),
            sign: self.sign,
            context: self.context,
            used: Vec::new(),
        }
    }

    /// Returns what is to be told of it. Without a key nothing can be told.
    pub fn into_told(self) -> Option<Told> {
        let mut facts = Vec::with_capacity(told::FACTS);
        facts.extend(self.kind.map(|kind| (None, NodeFact::Seen(kind))));
        facts.extend(keys_of(self.under).map(|under| (None, NodeFact::Under(Box::new(under)))));
        facts.extend(self.who.map(|who| (None, NodeFact::Described(who))));
        facts.extend(self.may_sleep.map(|millis| (None, NodeFact::MaySleep(millis))));
        facts.extend(self.progress.map(|progress| (None, NodeFact::Progressed(progress))));
        facts.extend(self.context.map(|context| (None, NodeFact::Filled(context))));
        facts.extend(self.status.map(|word| word.report()));
        for (clock, at) in self.clocks {
            let clock = CLOCKS.get(usize::from(clock));
            facts.extend(clock.map(|clock| (None, NodeFact::Clock(*clock, Stamp::from_millis(at)))));
        }
        facts.extend(self.returned.map(|outcome| (None, NodeFact::Returned(outcome))));
        if self.last.is_some() || self.next.is_some() {
            let action = Action { last: self.last.map(Into::into), next: self.next.map(Into::into) };
            // Without its moment: what is below may have been told before, and given later signs of life.
            facts.push((None, NodeFact::Active(action)));
        }
        let sign = self.sign.map(Stamp::from_millis);
        facts.extend(sign.map(|at| (Some(at), NodeFact::Active(Action::default()))));
        let used_at = facts.len();
        Some(Told { keys: keys_of(self.keys)?, facts, used_at, used: self.used, sealed: None })
    }
}

fn keys_of(list: Vec<NodeKey>) -> Option<Keys> {
    let mut keys = list.into_iter();
    Some(Keys { first: keys.next()?, more: keys.collect() })
}

impl Word {
    fn of(at: Option<Stamp>, report: StatusReport) -> Self {
        let word = report.word.into_owned().into();
        Self { field: report.field as u8, word, why: report.why, at: at.map(Stamp::millis) }
    }

    /// Returns where the word stood.
    pub fn field(&self) -> Field {
        field_of(self.field)
    }

    fn report(self) -> (Option<Stamp>, NodeFact) {
        let field = self.field();
        let report = StatusReport { why: self.why, ..StatusReport::of(field, String::from(self.word)) };
        (self.at.map(Stamp::from_millis), NodeFact::Status(Box::new(report)))
    }
}

/// Returns the field that has this number.
fn field_of(number: u8) -> Field {
    FIELDS.get(usize::from(number)).copied().unwrap_or(Field::Session)
}

impl Used {
    fn of(report: UsageReport) -> Self {
        let counts = COUNTS.map(|count| report.tokens.get(count));
        Self {
            counts,
            is_total: report.scope == Scope::Total,
            cost: report.cost.map(|cost| cost.0),
            mark: report.id.as_deref().map_or(0, mark),
            id: report.id,
            model: report.model,
            hour_cache: report.hour_cache,
            is_fast: report.is_fast,
            searches: report.searches,
            is_copy: report.sent == Sent::Elsewhere,
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (&self.id, &other.id) {
            (Some(one), Some(two)) => self.mark == other.mark && one == two,
            (None, None) => self.is_total && other.is_total && self.model == other.model,
            (_, _) => false,
        }
    }

    /// Takes in a repeat: of each count the larger is right.
    fn raise(&mut self, later: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(later.counts) {
            *mine = (*mine).max(theirs);
        }
        self.hour_cache = self.hour_cache.max(later.hour_cache);
        self.is_total &= later.is_total;
        self.is_fast |= later.is_fast;
        self.searches = self.searches.max(later.searches);
        self.is_copy &= later.is_copy;
        self.cost = self.cost.max(later.cost);
    }

    /// Returns it as it is told.
    pub fn report(&self) -> UsageReport {
        let told = COUNTS.into_iter().zip(self.counts);
        let tokens = told.fold(Tokens::default(), |tokens, (count, told)| match told {
            Some(told) => tokens.with(count, told),
            None => tokens,
        });
        UsageReport {
            id: self.id.clone(),
            scope: if self.is_total { Scope::Total } else { Scope::Message },
            model: self.model.clone(),
            tokens,
            hour_cache: self.hour_cache,
            is_fast: self.is_fast,
            searches: self.searches,
            cost: self.cost.map(Usd),
            by_table: false,
            sent: if self.is_copy { Sent::Elsewhere } else { Sent::Unknown },
        }
    }
}

/// Takes in what was told later of who and what a node is, as far as any trail says it.
fn describe(known: &mut Description, later: Description) {
    fn set<T>(known: &mut Option<T>, told: Option<T>) {
        if told.is_some() {
            *known = told;
        }
    }
    set(&mut known.title, later.title);
    set(&mut known.agent, later.agent);
    set(&mut known.provider, later.provider);
    set(&mut known.model_requested, later.model_requested);
    set(&mut known.model_injected, later.model_injected);
    set(&mut known.model_effective, later.model_effective);
    set(&mut known.index, later.index);
    set(&mut known.depth, later.depth);
    set(&mut known.workspace, later.workspace);
    // A file that speaks of itself speaks of no other node by the same keys.
    known.is_hearsay |= later.is_hearsay;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The keys of each node, by looking through all of them.
    fn looked_through(said: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut nodes: Vec<Vec<u8>> = Vec::new();
        for keys in said {
            let has_any = |node: &Vec<u8>| keys.iter().any(|key| node.contains(key));
            let first = nodes.first().is_some_and(has_any).then_some(0);
            let at = first.or_else(|| nodes.iter().rposition(has_any)).unwrap_or_else(|| {
                nodes.push(Vec::new());
                nodes.len() - 1
            });
            for key in keys {
                if !nodes[at].contains(key) {
                    nodes[at].push(*key);
                }
            }
        }
        nodes
    }

    proptest! {
        #[test]
        fn who_is_spoken_of_is_the_same_among_few_and_among_many(
            said in prop::collection::vec(prop::collection::vec(0u8..60, 1..3), 0..120),
        ) {
            let key = |nth: &u8| NodeKey::ToolUse(nth.to_string().into());
            let mut fold = Fold::default();
            for keys in &said {
                let mut keys = keys.iter().map(key);
                let keys = Keys { first: keys.next().unwrap(), more: keys.collect() };
                fold.take(Said { at: None, keys, what: NodeFact::Seen(NodeKind::Agent) });
            }
            let found: Vec<Vec<NodeKey>> = fold.nodes.into_iter().map(|node| node.keys).collect();
            let nodes = looked_through(&said).into_iter();
            prop_assert_eq!(found, nodes.map(|node| node.iter().map(key).collect()).collect::<Vec<Vec<_>>>());
        }
    }
}
