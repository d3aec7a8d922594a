//! What a packed fold says, as facts straight from its bytes: a second start does this for every file that there is, and
//! makes nothing in between.

use bytes::Bytes;

use super::messages::{self, Form};
use super::pack::{
    Page, unpack_context, unpack_key, unpack_kind, unpack_outcome, unpack_progress, unpack_who, unpack_word,
};
use super::{CLOCKS, Fold, Packed, Used};
use crate::model::fact::{Action, Description, NodeFact};
use crate::model::key::{Keys, NodeKey};
use crate::model::time::Stamp;
use crate::source::trails::later::{Later, Whole};
use crate::source::trails::pack::{Texts, Unpacker};

/// As many facts are told of most nodes, with those that are concluded. More would not fit into the pieces of memory that
/// the system's allocator has at hand: to find another costs more than all else that is done for a node.
pub(super) const FACTS: usize = 16;

/// What is told, and when it was so.
type Facts = Vec<(Option<Stamp>, NodeFact)>;

/// What is to be told of one node.
#[derive(Debug, PartialEq)]
pub struct Told {
    pub keys: Keys,
    /// All but what it used.
    pub facts: Vec<(Option<Stamp>, NodeFact)>,
    /// After how many of them what it used is told: as by a first reading, before what is concluded, since whose a message
    /// is may depend on what is known by then of where it hangs.
    pub used_at: usize,
    pub used: Vec<Used>,
    pub sealed: Option<Packed>,
}

impl Fold {
    /// Returns what a packed fold says of each node; `None` where the bytes are no fold. It is what [`Fold::unpack`] and
    /// then `into_told` would make of it.
    pub fn told(page: &Page, texts: &mut Texts) -> Option<Vec<Told>> {
        let mut told = Vec::new();
        read(page, texts, &mut told)?;
        Some(told)
    }

    /// The same with what was concluded, which is told with the rest of its node: nearly everything that there is, is told
    /// so at every start. What is in `told` is of use only if both could be read.
    pub fn told_with(page: &Page, concluded: &Bytes, texts: &mut Texts, told: &mut Vec<Told>) -> Option<()> {
        read(page, texts, told)?;
        let (mut from, nothing) = (Unpacker::new(concluded, texts), Later::default());
        let mut whole = Whole { told: concluded, each: &nothing, at: 0 };
        for _ in 0..from.number()? {
            let count = from.number()?;
            let keys = unpack_keys(&mut from, count)?;
            // Of two states of a node each is weighed for itself.
            match told.iter_mut().find(|told| told.keys.first == keys.first && !told.has_status()) {
                Some(known) => {
                    known.call(keys);
                    known.add(&mut from, &mut whole)?;
                }
                None => add(told, keys, &mut from, &mut whole)?,
            }
        }
        from.is_done().then_some(())
    }
}

fn read(page: &Page, texts: &mut Texts, told: &mut Vec<Told>) -> Option<()> {
    let mut from = Unpacker::new(&page.told, texts);
    let mut whole = page.whole();
    for _ in 0..from.number()? {
        let count = from.number()?;
        let keys = unpack_keys(&mut from, count)?;
        add(told, keys, &mut from, &mut whole)?;
    }
    from.is_done().then_some(())
}

/// Reads what follows the keys of a node of which nothing was told.
fn add(told: &mut Vec<Told>, keys: Keys, from: &mut Unpacker<'_>, whole: &mut Whole<'_>) -> Option<()> {
    told.push(Told { keys, facts: Vec::with_capacity(FACTS), used_at: 0, used: Vec::new(), sealed: None });
    let new = told.last_mut()?;
    new.add(from, whole)?;
    new.used_at = new.facts.len();
    Some(())
}

impl Told {
    /// Adds what it used, in its place.
    pub fn use_next(&mut self, what: NodeFact) {
        let place = self.used_at.min(self.facts.len());
        self.facts.insert(place, (None, what));
        self.used_at = place + 1;
    }

    /// Reads what follows the keys, to what is told of the node already.
    fn add(&mut self, from: &mut Unpacker<'_>, whole: &mut Whole<'_>) -> Option<()> {
        unpack_facts(from, &mut self.facts)?;
        match messages::unpack(from, whole)? {
            Form::Plain(used) if self.used.is_empty() => self.used = used,
            Form::Plain(used) => self.used.extend(used),
            Form::Sealed(packed) if self.sealed.is_none() => self.sealed = Some(packed),
            Form::Sealed(packed) => self.used.extend(packed.used(from.texts())?),
        }
        Some(())
    }

    /// Adds names by which the node is known too.
    fn call(&mut self, keys: Keys) {
        for key in keys.more {
            if key != self.keys.first && !self.keys.more.contains(&key) {
                self.keys.more.push(key);
            }
        }
    }

    fn has_status(&self) -> bool {
        self.facts.iter().any(|(_, fact)| matches!(fact, NodeFact::Status(_)))
    }
}

/// Reads all that is said of a node but what it used.
fn unpack_facts(from: &mut Unpacker<'_>, facts: &mut Facts) -> Option<()> {
    let mut given = from.given()?;
    if given.take() {
        facts.push((None, NodeFact::Seen(unpack_kind(from)?)));
    }
    if given.take() {
        let count = from.number()?;
        facts.push((None, NodeFact::Under(Box::new(unpack_keys(from, count)?))));
    }
    if given.take() {
        let mut given = from.given()?;
        let is_hearsay = given.take();
        unpack_who(from, given, description(facts, is_hearsay)?)?;
    }
    if given.take() {
        facts.push((None, NodeFact::MaySleep(from.number()?)));
    }
    if given.take() {
        facts.push((None, NodeFact::Progressed(unpack_progress(from)?)));
    }
    if given.take() {
        facts.push((None, NodeFact::Filled(unpack_context(from)?)));
    }
    if given.take() {
        let (at, report) = unpack_word(from)?;
        facts.push((at, NodeFact::Status(Box::new(report))));
    }
    if given.take() {
        for _ in 0..from.number()? {
            let clock = CLOCKS.get(usize::from(u8::try_from(from.number()?).ok()?));
            let at = Stamp::from_millis(from.signed()?);
            facts.extend(clock.map(|clock| (None, NodeFact::Clock(*clock, at))));
        }
    }
    if given.take() {
        facts.push((None, NodeFact::Returned(Box::new(unpack_outcome(from)?))));
    }
    let last = from.next(&mut given, |from| Some(from.text()?.into()))?;
    let next = from.next(&mut given, |from| Some(from.text()?.into()))?;
    if last.is_some() || next.is_some() {
        facts.push((None, NodeFact::Active(Action { last, next })));
    }
    if given.take() {
        let at = Some(Stamp::from_millis(from.signed()?));
        // What is concluded of a trail is of the same moment as its last line.
        let is_told = |(known, fact): &(Option<Stamp>, NodeFact)| {
            *known == at && matches!(fact, NodeFact::Active(Action { last: None, next: None }))
        };
        if !facts.iter().any(is_told) {
            facts.push((at, NodeFact::Active(Action::default())));
        }
    }
    given.is_done().then_some(())
}

/// Returns who and what the node is, as this one tells it: itself, or another.
fn description(facts: &mut Facts, is_hearsay: bool) -> Option<&mut Description> {
    let known = facts
        .iter()
        .position(|(_, fact)| matches!(fact, NodeFact::Described(known) if known.is_hearsay == is_hearsay));
    let place = known.unwrap_or(facts.len());
    if known.is_none() {
        let description = Description { is_hearsay, ..Description::default() };
        facts.push((None, NodeFact::Described(Box::new(description))));
    }
    if let (_, NodeFact::Described(known)) = facts.get_mut(place)? { Some(known) } else { None }
}

/// Reads so many keys, of which there must be one.
fn unpack_keys(from: &mut Unpacker<'_>, count: u64) -> Option<Keys> {
    let more = count.checked_sub(1)?;
    let (first, mut rest): (NodeKey, Vec<NodeKey>) = (unpack_key(from)?, Vec::new());
    for _ in 0..more {
        rest.push(unpack_key(from)?);
    }
    Some(Keys { first, more: rest })
}
