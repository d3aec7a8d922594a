//! What a packed fold says, as facts straight from its bytes: a second start does this for every file that there is, and
//! makes nothing in between.

use bytes::Bytes;

use super::messages::{self, Form};
use super::pack::{unpack_json, unpack_key, unpack_kind, unpack_outcome};
use super::{CLOCKS, Fold, Packed, Used, Who, Word};
use crate::model::fact::{Action, NodeFact};
use crate::model::key::{Keys, NodeKey};
use crate::model::time::Stamp;
use crate::source::trails::pack::{Texts, Unpacker};

/// As many facts are told of most nodes, with those that are concluded.
pub(super) const FACTS: usize = 16;

/// What is to be told of one node.
#[derive(Debug, PartialEq)]
pub struct Told {
    pub keys: Keys,
    /// All but what it used.
    pub facts: Vec<(Option<Stamp>, NodeFact)>,
    pub used: Vec<Used>,
    pub sealed: Option<Packed>,
}

impl Fold {
    /// Returns what a packed fold says of each node; `None` where the bytes are no fold. It is what [`Fold::unpack`] and
    /// then `into_told` would make of it.
    pub fn told(bytes: &Bytes, texts: &mut Texts) -> Option<Vec<Told>> {
        let mut from = Unpacker::new(bytes, texts);
        let list = from.list(|from| Told::unpack(from, bytes))?;
        from.is_done().then_some(list)
    }
}

impl Told {
    fn unpack(from: &mut Unpacker<'_>, whole: &Bytes) -> Option<Self> {
        let count = from.number()?;
        let keys = unpack_keys(from, count)?;
        let mut given = from.given()?;
        let mut facts = Vec::with_capacity(FACTS);
        let kind = from.next(&mut given, unpack_kind)?;
        facts.extend(kind.map(|kind| (None, NodeFact::Seen(kind))));
        let under = from.next(&mut given, |from| {
            let count = from.number()?;
            unpack_keys(from, count)
        })?;
        facts.extend(under.map(|under| (None, NodeFact::Under(under))));
        let who = from.next(&mut given, Who::unpack)?;
        facts.extend(who.map(|who| (None, NodeFact::Described(Box::new(who.into())))));
        let clocks = from.next(&mut given, |from| from.clone_of(pass_clocks))?;
        let may_sleep = from.next(&mut given, Unpacker::number)?;
        facts.extend(may_sleep.map(|millis| (None, NodeFact::MaySleep(millis))));
        let progress = from.next(&mut given, unpack_json)?;
        let word = from.next(&mut given, Word::unpack)?;
        let last = from.next(&mut given, |from| Some(from.text()?.into()))?;
        let next = from.next(&mut given, |from| Some(from.text()?.into()))?;
        let returned = from.next(&mut given, unpack_outcome)?;
        let sign = from.next(&mut given, Unpacker::signed)?.map(Stamp::from_millis);
        let context = from.next(&mut given, unpack_json)?;
        if !given.is_done() {
            return None;
        }
        facts.extend(progress.map(|progress| (None, NodeFact::Progressed(progress))));
        facts.extend(context.map(|context| (None, NodeFact::Filled(context))));
        facts.extend(word.map(Word::report));
        if let Some(clocks) = clocks {
            let mut clocks = Unpacker::new(clocks, from.texts());
            for _ in 0..clocks.number()? {
                let clock = CLOCKS.get(usize::from(u8::try_from(clocks.number()?).ok()?));
                let at = Stamp::from_millis(clocks.signed()?);
                facts.extend(clock.map(|clock| (None, NodeFact::Clock(*clock, at))));
            }
        }
        facts.extend(returned.map(|outcome| (None, NodeFact::Returned(Box::new(outcome)))));
        if last.is_some() || next.is_some() {
            facts.push((None, NodeFact::Active(Action { last, next })));
        }
        facts.extend(sign.map(|at| (Some(at), NodeFact::Active(Action::default()))));
        let (used, sealed) = match messages::unpack(from, whole)? {
            Form::Plain(used) => (used, None),
            Form::Sealed(packed) => (Vec::new(), Some(packed)),
        };
        Some(Self { keys, facts, used, sealed })
    }
}

fn pass_clocks(from: &mut Unpacker<'_>) -> Option<()> {
    for _ in 0..from.number()? {
        from.number()?;
        from.signed()?;
    }
    Some(())
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
