//! What was read of the database before, so that a start reads only what came since: of each session what was said of
//! it, and up to which message.
//!
//! It counts only while the messages up to there are the same ones: as many, and the last one by its id. Whatever else
//! it is, all is read anew.

use std::io;

use bytes::Bytes;
use hashbrown::HashMap;

use super::database::{Database, Numbered};
use crate::agent::trail;
use crate::source::trails::cost::Pricer;
use crate::source::trails::fold::{Fold, Page, Told};
use crate::source::trails::index::Place;
use crate::source::trails::later::Later;
use crate::source::trails::pack::{Texts, Unpacker};

/// The version of what is kept: it grows when the same rows say something else.
pub const VERSION: u32 = 2;

/// Up to where messages were told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mark {
    /// The row of the newest one.
    pub newest: i64,
    /// Its id.
    pub last: String,
    /// How many there are up to it.
    pub count: u64,
}

impl Mark {
    /// Returns whether it is of what a database has.
    pub fn is_of(&self, database: &Database) -> Result<bool, String> {
        let is_last = database.message_at(self.newest)?.is_some_and(|last| last == self.last);
        Ok(is_last && database.count_messages(self.newest)? == self.count)
    }
}

/// What was said of each session by its messages.
#[derive(Debug, Default)]
pub struct Kept {
    sessions: HashMap<String, Said>,
    is_dirty: bool,
}

/// What was said of one.
#[derive(Debug, Default)]
struct Said {
    /// Up to the last time that the index was written, packed: most sessions are over.
    before: Page,
    since: Fold,
}

/// What an index says.
#[derive(Debug)]
pub struct Recalled {
    pub mark: Mark,
    /// Messages that were not finished.
    pub open: Vec<Numbered>,
    /// Each session with the newest message of it that was told.
    sessions: Vec<(String, i64, Page)>,
}

impl Recalled {
    /// Reads an index; `None` if there is none, or its costs are by another table of prices.
    pub fn load(place: &Place, prices: u64) -> Option<Self> {
        Self::unpack(place, &place.load_whole()?.told, prices)
    }

    /// Reads what an index says; `None` where it is none, or another's.
    pub fn unpack(place: &Place, whole: &Bytes, prices: u64) -> Option<Self> {
        let mut texts = Texts::default();
        let mut from = place.enter(whole, &mut texts)?;
        if from.number()? != prices {
            return None;
        }
        let mark = Mark { newest: from.signed()?, last: from.text()?.into(), count: from.number()? };
        let open = from.list(|from| Some(Numbered::unread(from.signed()?, from.text()?)))?;
        let session = |from: &mut Unpacker<'_>| {
            let (id, newest) = (from.text()?.into(), from.signed()?);
            let [told, each] = [whole.slice_ref(from.bytes()?), whole.slice_ref(from.bytes()?)];
            Some((id, newest, Page { told, each: Later::Here(each) }))
        };
        let sessions = from.list(session)?;
        from.is_done().then_some(Self { mark, open, sessions })
    }

    /// Returns the sessions, each with the newest message of it that was told.
    pub fn newest(&self) -> impl Iterator<Item = (&str, i64)> {
        self.sessions.iter().map(|(id, newest, _)| (id.as_str(), *newest))
    }
}

impl Kept {
    /// Takes in what messages say of a session.
    pub fn take(&mut self, session: &str, said: &[trail::Said]) {
        self.is_dirty |= !said.is_empty();
        let known = self.sessions.entry_ref(session).or_default();
        for said in said {
            known.since.take(said.clone());
        }
    }

    /// Takes up what an index says of the sessions that are wanted; returns it as it was said, and apart from that what
    /// was used. `None`, and nothing is taken, if anything of it cannot be read.
    pub fn recall(
        &mut self,
        recalled: Recalled,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Option<(Vec<trail::Said>, Vec<Told>)> {
        let (mut texts, mut said, mut used) = (Texts::default(), Vec::new(), Vec::new());
        let sessions = recalled.sessions.into_iter().filter(|(id, ..)| is_wanted(id));
        let mut kept = HashMap::new();
        for (id, _, before) in sessions {
            for mut told in Fold::told(&before, &mut texts)? {
                let facts = std::mem::take(&mut told.facts);
                said.extend(facts.into_iter().map(|(at, what)| trail::Said::of(at, told.keys.clone(), what)));
                used.push(told);
            }
            kept.insert(id, Said { before, since: Fold::default() });
        }
        self.sessions = kept;
        Some((said, used))
    }

    /// Forgets a session that is gone.
    pub fn forget(&mut self, session: &str) {
        self.is_dirty |= self.sessions.remove(session).is_some();
    }

    /// Returns whether there is something that the index does not have.
    pub fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Writes the index.
    pub fn save(
        &mut self,
        place: &Place,
        mark: &Mark,
        open: &[Numbered],
        newest: impl Fn(&str) -> i64,
        pricer: &mut Pricer,
    ) -> io::Result<()> {
        self.is_dirty = false;
        let mut writing = place.begin()?;
        let to = &mut writing.to;
        to.number(pricer.prices().fingerprint());
        to.signed(mark.newest);
        to.text(&mark.last);
        to.number(mark.count);
        to.list(open, |to, open| {
            to.signed(open.number);
            to.text(&open.message.id);
        });
        writing.list(&mut self.sessions, |writing, (id, said)| {
            writing.to.text(id);
            writing.to.signed(newest(id));
            let page = said.pack(pricer);
            writing.to.bytes(&page.told);
            writing.to.bytes(page.each.get());
            Ok(())
        })?;
        writing.finish()
    }
}

impl Said {
    fn pack(&mut self, pricer: &mut Pricer) -> &Page {
        if !self.since.nodes.is_empty() {
            // It was read when it was recalled; before the first time there is nothing.
            let mut whole = Fold::unpack(&self.before, &mut Texts::default()).unwrap_or_default();
            whole.absorb(std::mem::take(&mut self.since));
            self.before = whole.pack(pricer);
        }
        &self.before
    }
}
