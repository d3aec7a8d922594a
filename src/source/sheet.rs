//! What a tool's files say, gathered node by node before anything is told: several files may speak of one node.

use std::collections::HashMap;
use std::time::Duration;

use super::told::Entry;
use crate::model::fact::{About, Action, Clock, Description, Fact, NodeFact, StatusReport};
use crate::model::id::Seq;
use crate::model::key::{Keys, NodeKey, SourceId};
use crate::model::node::{Moment, NodeKind};
use crate::model::time::Stamp;
use crate::model::words::Field;

/// The nodes in the order in which they were first named, and what could not be read.
#[derive(Debug)]
pub(super) struct Sheet {
    source: SourceId,
    /// The time, for what depends on it.
    pub now: Stamp,
    /// When it is to be written anew though no file changed.
    until: Option<Stamp>,
    nodes: Vec<Leaf>,
    places: HashMap<NodeKey, usize>,
    odd: Vec<(u32, [&'static str; 2])>,
    refused: Option<&'static str>,
    is_own: bool,
}

/// What is said of one node.
#[derive(Debug)]
pub(super) struct Leaf {
    keys: Keys,
    said: Vec<(Option<Stamp>, NodeFact)>,
}

impl Sheet {
    /// Begins an empty one.
    pub fn of(source: SourceId, now: Stamp) -> Self {
        let (nodes, places, odd) = (Vec::new(), HashMap::new(), Vec::new());
        Self { source, now, until: None, nodes, places, odd, refused: None, is_own: false }
    }

    /// Says until when something that was written stays so.
    pub fn lasts(&mut self, until: Option<Stamp>) {
        self.until = self.until.into_iter().chain(until).min();
    }

    /// Returns when it is to be written anew though no file changed.
    pub fn until(&self) -> Option<Stamp> {
        self.until
    }

    /// Makes the key of something that only this tool names.
    pub fn key(&self, name: &str) -> NodeKey {
        NodeKey::Foreign(self.source, name.into())
    }

    /// Returns where to write what is said of a node.
    pub fn node(&mut self, keys: impl Into<Keys>, kind: NodeKind) -> &mut Leaf {
        let keys = keys.into();
        let place = *self.places.entry(keys.first.clone()).or_insert(self.nodes.len());
        if place == self.nodes.len() {
            self.nodes.push(Leaf { keys, said: vec![(None, NodeFact::Seen(kind))] });
        }
        // The place is that of the one just pushed or of one before it.
        let last = self.nodes.len().saturating_sub(1);
        #[expect(clippy::indexing_slicing, reason = "a place is below the length, which is not 0 here")]
        &mut self.nodes[place.min(last)]
    }

    /// Counts something that could not be read: 3 × "agent", "without an id".
    pub fn odd(&mut self, what: &'static str, why: &'static str) {
        let what = [what, why];
        match self.odd.iter_mut().find(|(_, known)| *known == what) {
            Some((count, _)) => *count += 1,
            None => self.odd.push((1, what)),
        }
    }

    /// Says that these are not this tool's files: then nothing of them counts.
    pub fn refuse(&mut self, why: &'static str) {
        self.refused = Some(why);
    }

    /// Says that these are this tool's files, and that they are not as they should be: then nothing of them counts, and
    /// everybody is told.
    pub fn reject(&mut self, why: &'static str) {
        (self.refused, self.is_own) = (Some(why), true);
    }

    /// Returns whether they are this tool's files, though nothing of them counts.
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// Returns why nothing of it counts, if so.
    pub fn refused(&self) -> Option<&'static str> {
        self.refused
    }

    /// Returns what could not be read, in words.
    pub fn trouble(&self) -> Option<String> {
        let said = self.odd.iter().map(|(count, [what, why])| match count {
            1 => format!("1 {what} {why}"),
            many => format!("{many} {what}s {why}"),
        });
        Some(said.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
    }

    /// Returns each node with all that is said of it.
    pub fn entries(self) -> Vec<Entry> {
        let source = self.source;
        let entry = |leaf: Leaf| {
            let crc = crc32fast::hash(format!("{leaf:?}").as_bytes());
            let key = leaf.keys.first.clone();
            let facts = vec![Fact { source, at: None, about: About::Several(leaf.keys, leaf.said) }];
            Entry { key, crc, facts }
        };
        self.nodes.into_iter().map(entry).collect()
    }
}

impl Leaf {
    /// Says one thing, without a moment: a file that was set back in time is still what counts now.
    pub fn say(&mut self, what: NodeFact) -> &mut Self {
        self.said.push((None, what));
        self
    }

    /// Says that it hangs under another node.
    pub fn under(&mut self, parent: NodeKey) -> &mut Self {
        self.say(NodeFact::Under(Box::new(parent.into())))
    }

    pub fn described(&mut self, description: Description) -> &mut Self {
        if description == Description::default() {
            return self;
        }
        self.say(NodeFact::Described(Box::new(description)))
    }

    /// Says a status word, in the place where it stood.
    pub fn status(&mut self, field: Field, word: String, why: Option<String>) -> &mut Self {
        self.say(NodeFact::Status(Box::new(StatusReport { why, ..StatusReport::of(field, word) })))
    }

    /// Sets a clock, where its moment is known.
    pub fn clock(&mut self, clock: Clock, at: Option<Stamp>) -> &mut Self {
        match at {
            Some(at) => self.say(NodeFact::Clock(clock, at)),
            None => self,
        }
    }

    /// Notes a sign of life, and perhaps what was done.
    ///
    /// What was done is told without its moment: files are read in any order, and an older action that comes
    /// after a newer sign would be dropped in one order and not in the other.
    pub fn sign(&mut self, at: Option<Stamp>, last: Option<String>) -> &mut Self {
        if at.is_some() {
            self.said.push((at, NodeFact::Active(Action::default())));
        }
        if last.is_some() {
            self.say(NodeFact::Active(Action { last, next: None }));
        }
        self
    }

    /// Says how long it may be silent while it runs.
    pub fn may_sleep(&mut self, span: Duration) -> &mut Self {
        self.say(NodeFact::MaySleep(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }

    /// Notes something for the timeline; `nth` orders what has no moment.
    pub fn happened(&mut self, nth: u64, at: Option<Stamp>, name: &str, note: Option<String>) -> &mut Self {
        let note = note.map(Into::into);
        self.say(NodeFact::Happened(Moment { at, seq: Seq(nth), name: name.into(), note }))
    }
}
