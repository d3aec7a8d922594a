//! A fold as bytes and back. What stands in every fold is written by hand; what is rare is JSON.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::messages::{self, Form, Written};
use super::{Fold, Folded, Told, Word, field_of};
use crate::model::event::payload::Progress;
use crate::model::fact::{Description, StatusReport};
use crate::model::handoff::Outcome;
use crate::model::key::NodeKey;
use crate::model::node::NodeKind;
use crate::model::time::Stamp;
use crate::model::usage::Context;
use crate::source::trails::cost::Pricer;
use crate::source::trails::later::{Later, Whole};
use crate::source::trails::pack::{Given, PACKED, Packer, Texts, Unpacker};

const KINDS: [NodeKind; 5] =
    [NodeKind::Group, NodeKind::Session, NodeKind::Agent, NodeKind::Subtask, NodeKind::Delegation];

/// About so many bytes a node takes, and a message of it among them: the mark of its id.
const PACKED_NODE: usize = 256;
const MARKED: usize = size_of::<u64>();

/// The words in which most trails end: they need not be copied.
const WORDS: [&str; 4] = ["completed", "running", "abandoned", "interrupted"];

/// A fold as bytes: what every start tells, and apart from that its messages one by one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    pub told: Bytes,
    pub each: Later,
}

impl Page {
    /// One of which nothing is for later.
    pub fn plain(told: Bytes) -> Self {
        Self { told, each: Later::default() }
    }

    pub(super) fn whole(&self) -> Whole<'_> {
        Whole { told: &self.told, each: &self.each, at: 0 }
    }
}

impl Fold {
    /// Returns it as bytes.
    ///
    /// What messages cost is among them, by the table in force.
    pub fn pack(&self, pricer: &mut Pricer) -> Page {
        self.write(pricer, |_| {})
    }

    /// Returns it as bytes, all of which are read whenever one is: for what says hardly anything of messages.
    pub fn pack_plain(&self) -> Bytes {
        let mut to = Packer::default();
        to.list(&self.nodes, |to, node| {
            node.pack(to);
            messages::pack_plain(node, to);
        });
        to.bytes.into()
    }

    /// Returns it as bytes, and what is to be told of each node: messages that can be are under a seal, and are in
    /// those bytes.
    pub fn seal(self, pricer: &mut Pricer) -> (Page, impl Iterator<Item = Told> + use<>) {
        let mut written = Vec::with_capacity(self.nodes.len());
        let page = self.write(pricer, |messages| written.push(messages));
        let whole = page.clone();
        let told = self.nodes.into_iter().zip(written).filter_map(move |(mut node, messages)| {
            let sealed = messages.and_then(|messages| messages.of(&whole.told, &whole.each));
            if sealed.is_some() {
                node.used = Vec::new();
            }
            Some(Told { sealed, ..node.into_told()? })
        });
        (page, told)
    }

    fn write(&self, pricer: &mut Pricer, mut written: impl FnMut(Option<Written>)) -> Page {
        // Room for all of it at once, and then only what was needed: there is one for each file.
        let messages: usize = self.nodes.iter().map(|node| node.used.len()).sum();
        let mut to = Packer::with_room(self.nodes.len() * PACKED_NODE + messages * MARKED);
        let mut each = Vec::with_capacity(messages * PACKED);
        to.list(&self.nodes, |to, node| {
            node.pack(to);
            written(messages::pack(node, pricer, to, &mut each));
        });
        Page { told: Bytes::copy_from_slice(&to.bytes), each: Later::Here(Bytes::copy_from_slice(&each)) }
    }

    /// Reads it from bytes; `None` where they are no fold.
    pub fn unpack(page: &Page, texts: &mut Texts) -> Option<Self> {
        let mut from = Unpacker::new(&page.told, texts);
        let mut whole = page.whole();
        let nodes = from.list(|from| Folded::unpack(from, &mut whole))?;
        from.is_done().then(|| Self { nodes, ..Self::default() })
    }
}

impl Folded {
    fn pack(&self, to: &mut Packer) {
        to.list(&self.keys, pack_key);
        to.given(&[
            self.kind.is_some(),
            !self.under.is_empty(),
            self.who.is_some(),
            self.may_sleep.is_some(),
            self.progress.is_some(),
            self.context.is_some(),
            self.status.is_some(),
            !self.clocks.is_empty(),
            self.returned.is_some(),
            self.last.is_some(),
            self.next.is_some(),
            self.sign.is_some(),
        ]);
        self.kind.into_iter().for_each(|kind| to.number(kind as u64));
        if !self.under.is_empty() {
            to.list(&self.under, pack_key);
        }
        self.who.iter().for_each(|who| pack_who(to, who));
        self.may_sleep.into_iter().for_each(|millis| to.number(millis));
        self.progress.iter().for_each(|progress| pack_progress(to, progress));
        self.context.iter().for_each(|context| pack_context(to, context));
        self.status.iter().for_each(|word| word.pack(to));
        if !self.clocks.is_empty() {
            to.list(&self.clocks, |to, (clock, at)| {
                to.number(u64::from(*clock));
                to.signed(*at);
            });
        }
        self.returned.iter().for_each(|outcome| pack_outcome(to, outcome));
        self.last.iter().for_each(|last| to.text(last));
        self.next.iter().for_each(|next| to.text(next));
        self.sign.into_iter().for_each(|at| to.signed(at));
    }

    fn unpack(from: &mut Unpacker<'_>, whole: &mut Whole<'_>) -> Option<Self> {
        let keys = from.list(unpack_key)?;
        let mut given = from.given()?;
        let clock = |from: &mut Unpacker<'_>| Some((u8::try_from(from.number()?).ok()?, from.signed()?));
        let mut node = Self {
            keys,
            kind: from.next(&mut given, unpack_kind)?,
            under: from.next(&mut given, |from| from.list(unpack_key))?.unwrap_or_default(),
            who: from.next(&mut given, unpack_new_who)?,
            may_sleep: from.next(&mut given, Unpacker::number)?,
            progress: from.next(&mut given, unpack_progress)?,
            context: from.next(&mut given, unpack_context)?,
            status: from.next(&mut given, unpack_word)?.map(|(at, report)| Box::new(Word::of(at, report))),
            clocks: from.next(&mut given, |from| from.list(clock))?.unwrap_or_default(),
            returned: from.next(&mut given, unpack_outcome)?.map(Box::new),
            last: from.next(&mut given, |from| Some(from.text()?.into()))?,
            next: from.next(&mut given, |from| Some(from.text()?.into()))?,
            sign: from.next(&mut given, Unpacker::signed)?,
            used: Vec::new(),
        };
        if !given.is_done() {
            return None;
        }
        node.used = match messages::unpack(from, whole)? {
            Form::Plain(used) => used,
            Form::Sealed(packed) => packed.used(from.texts())?,
        };
        Some(node)
    }
}

/// Writes who and what a node is.
fn pack_who(to: &mut Packer, who: &Description) {
    let names = [&who.agent, &who.provider, &who.model_requested, &who.model_injected, &who.model_effective];
    let [agent, provider, requested, injected, effective] = names.map(Option::is_some);
    to.given(&[
        who.is_hearsay,
        who.title.is_some(),
        agent,
        provider,
        requested,
        injected,
        effective,
        who.index.is_some(),
        who.depth.is_some(),
        who.workspace.is_some(),
    ]);
    who.title.iter().for_each(|title| to.text(title));
    names.into_iter().flatten().for_each(|name| to.name(name));
    who.index.into_iter().for_each(|index| to.number(index.into()));
    who.depth.into_iter().for_each(|depth| to.number(depth.into()));
    who.workspace.iter().for_each(|place| to.text(place));
}

/// Reads who and what a node is, of which nothing is known.
fn unpack_new_who(from: &mut Unpacker<'_>) -> Option<Box<Description>> {
    let mut given = from.given()?;
    let mut who = Box::new(Description { is_hearsay: given.take(), ..Description::default() });
    unpack_who(from, given, &mut who)?;
    Some(who)
}

/// Reads who and what a node is, to what is known of it: what follows whether another node says it.
pub(super) fn unpack_who(from: &mut Unpacker<'_>, mut given: Given, who: &mut Description) -> Option<()> {
    if given.take() {
        who.title = Some(from.text()?.into());
    }
    let Description { agent, provider, model_requested, model_injected, model_effective, .. } = who;
    for name in [agent, provider, model_requested, model_injected, model_effective] {
        if given.take() {
            *name = Some(from.name()?);
        }
    }
    for number in [&mut who.index, &mut who.depth] {
        if given.take() {
            *number = Some(u32::try_from(from.number()?).ok()?);
        }
    }
    if given.take() {
        who.workspace = Some(from.text()?.into());
    }
    given.is_done().then_some(())
}

impl Word {
    fn pack(&self, to: &mut Packer) {
        to.number(u64::from(self.field));
        to.text(&self.word);
        to.maybe(self.why.as_deref(), Packer::text);
        to.maybe(self.at, Packer::signed);
    }
}

/// Reads a status word, and when it was said.
pub(super) fn unpack_word(from: &mut Unpacker<'_>) -> Option<(Option<Stamp>, StatusReport)> {
    let field = u8::try_from(from.number()?).ok()?;
    let word = from.bytes()?;
    let word = match WORDS.into_iter().find(|known| known.as_bytes() == word) {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(str::from_utf8(word).ok()?.to_owned()),
    };
    let why = from.maybe(|from| Some(from.text()?.into()))?;
    let at = from.maybe(Unpacker::signed)?.map(Stamp::from_millis);
    Some((at, StatusReport { why, ..StatusReport::of(field_of(field), word) }))
}

pub(super) fn unpack_kind(from: &mut Unpacker<'_>) -> Option<NodeKind> {
    KINDS.get(usize::try_from(from.number()?).ok()?).copied()
}

fn pack_key(to: &mut Packer, key: &NodeKey) {
    match key {
        NodeKey::CliSession(tool, id) | NodeKey::CliAgent(tool, id) => {
            to.number(if matches!(key, NodeKey::CliSession(..)) { 1 } else { 2 });
            to.text(tool);
            to.text(id);
        }
        NodeKey::ToolUse(call) => {
            to.number(3);
            to.text(call);
        }
        NodeKey::Delegation(_)
        | NodeKey::Subtask(..)
        | NodeKey::Session(_)
        | NodeKey::Agent(..)
        | NodeKey::Process(..)
        | NodeKey::Foreign(..) => {
            to.number(0);
            pack_json(to, key);
        }
    }
}

pub(super) fn unpack_key(from: &mut Unpacker<'_>) -> Option<NodeKey> {
    match from.number()? {
        0 => unpack_json(from),
        1 => Some(NodeKey::CliSession(from.same()?, from.id()?)),
        2 => Some(NodeKey::CliAgent(from.same()?, from.id()?)),
        3 => Some(NodeKey::ToolUse(from.text()?.into())),
        _ => None,
    }
}

/// Most outcomes are a summary and nothing else.
fn pack_outcome(to: &mut Packer, outcome: &Outcome) {
    let plain = Outcome { summary: outcome.summary.clone(), ..Outcome::default() };
    let is_plain = plain == *outcome;
    to.maybe(outcome.summary.as_deref().filter(|_| is_plain), Packer::text);
    to.maybe(Some(outcome).filter(|_| !is_plain), pack_json);
}

fn pack_progress(to: &mut Packer, progress: &Progress) {
    to.maybe(progress.current, Packer::number);
    to.maybe(progress.total, Packer::number);
    to.maybe(progress.percent, |to, percent| to.number(percent.into()));
}

pub(super) fn unpack_progress(from: &mut Unpacker<'_>) -> Option<Progress> {
    let (current, total) = (from.maybe(Unpacker::number)?, from.maybe(Unpacker::number)?);
    let percent = from.maybe(|from| u8::try_from(from.number()?).ok())?;
    Some(Progress { current, total, percent })
}

fn pack_context(to: &mut Packer, context: &Context) {
    to.number(context.used);
    to.maybe(context.size, Packer::number);
}

pub(super) fn unpack_context(from: &mut Unpacker<'_>) -> Option<Context> {
    Some(Context { used: from.number()?, size: from.maybe(Unpacker::number)? })
}

pub(super) fn unpack_outcome(from: &mut Unpacker<'_>) -> Option<Outcome> {
    let summary = from.maybe(|from| Some(from.text()?.into()))?;
    let whole = from.maybe(unpack_json)?;
    Some(whole.unwrap_or(Outcome { summary, ..Outcome::default() }))
}

fn pack_json<T: Serialize>(to: &mut Packer, what: &T) {
    // What cannot be written is read as nothing, and so the file anew.
    to.bytes(&serde_json::to_vec(what).unwrap_or_default());
}

fn unpack_json<T: DeserializeOwned>(from: &mut Unpacker<'_>) -> Option<T> {
    serde_json::from_slice(from.bytes()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::agent::trail::Said;
    use crate::model::fact::{Action, Clock, NodeFact, UsageReport};
    use crate::model::key::SourceId;
    use crate::model::price::Prices;
    use crate::model::sealed::{Messages, mark};
    use crate::model::usage::{Count, Spend, Tokens};
    use crate::model::words::Field;

    fn packed(fold: &Fold) -> Page {
        fold.pack(&mut Pricer::new(Prices::built_in().into()))
    }

    /// Something of everything.
    fn fold(number: u64, text: &str) -> Fold {
        let at = Some(Stamp::from_millis(number.cast_signed()));
        let session = NodeKey::CliSession("tool".into(), text.into());
        let call = NodeKey::ToolUse(text.into());
        let described = Description {
            title: Some(text.into()),
            agent: Some(text.into()),
            provider: Some("tool".into()),
            model_effective: Some(text.into()),
            depth: Some(3),
            is_hearsay: number % 2 == 1,
            ..Description::default()
        };
        let used = |model: &str| UsageReport {
            id: Some(format!("{text}{model}").into()),
            model: Some(model.into()),
            tokens: Tokens::default().with(Count::Output, number).with(Count::Input, 0),
            hour_cache: number,
            is_fast: number % 2 == 1,
            searches: number % 3,
            ..UsageReport::default()
        };
        let plain = Outcome { summary: Some(text.into()), ..Outcome::default() };
        let whole = Outcome { files_modified: vec![text.into()], ..plain.clone() };
        let word = StatusReport { why: Some(text.into()), ..StatusReport::of(Field::Session, "failed") };
        let says = [
            (session.clone(), NodeFact::Seen(NodeKind::Session)),
            (session.clone(), NodeFact::Described(Box::new(described))),
            (session.clone(), NodeFact::Status(Box::new(word))),
            (session.clone(), NodeFact::MaySleep(number)),
            (session.clone(), NodeFact::Clock(Clock::Ended, Stamp::from_millis(-1))),
            (session.clone(), NodeFact::Filled(Context { used: number, size: None })),
            (session.clone(), NodeFact::Used(Box::new(used("one")))),
            (session.clone(), NodeFact::Used(Box::new(used("claude-opus-4-1")))),
            (session.clone(), NodeFact::Returned(Box::new(plain))),
            (call.clone(), NodeFact::Under(Box::new(session.into()))),
            (call.clone(), NodeFact::Active(Action { last: Some(text.into()), next: Some("next".into()) })),
            (call, NodeFact::Returned(Box::new(whole))),
            (NodeKey::Foreign(SourceId(1), text.into()), NodeFact::Seen(NodeKind::Agent)),
        ];
        let mut fold = Fold::default();
        for (key, what) in says {
            fold.take(Said::of(at, key, what));
        }
        fold
    }

    proptest! {
        #[test]
        fn messages_that_stay_packed_are_told_as_they_would_be_one_by_one(number: u64, text: String) {
            let fold = fold(number, &text);
            let mut pricer = Pricer::new(Prices::built_in().into());
            let told: Vec<UsageReport> = fold.nodes[0].used.iter().map(|used| pricer.report(used)).collect();
            let sealed = Fold::told(&fold.pack(&mut pricer), &mut Texts::default()).unwrap();
            let sealed = sealed[0].sealed.clone().unwrap();
            prop_assert_eq!(sealed.open(), told.clone());
            let ids: Vec<&str> = told.iter().filter_map(|report| report.id.as_deref()).collect();
            prop_assert_eq!(sealed.ids().collect::<Vec<_>>(), ids.clone());
            prop_assert_eq!(sealed.marks().collect::<Vec<_>>(), ids.into_iter().map(mark).collect::<Vec<_>>());
            let mut sum = Spend::default();
            for report in &told {
                sum.add(&report.spend());
            }
            prop_assert_eq!((sealed.count(), sealed.spend()), (2, sum));
        }

        #[test]
        fn a_fold_is_the_same_after_it_was_packed(number: u64, text: String) {
            let fold = fold(number, &text);
            prop_assert_eq!(Fold::unpack(&packed(&fold), &mut Texts::default()), Some(fold));
        }

        #[test]
        fn a_fold_is_the_same_after_it_was_packed_with_its_messages_one_by_one(number: u64, text: String) {
            let fold = fold(number, &text);
            let page = Page::plain(fold.pack_plain());
            prop_assert_eq!(Fold::unpack(&page, &mut Texts::default()), Some(fold));
        }

        #[test]
        fn facts_straight_from_the_bytes_are_those_of_the_fold(number: u64, text: String) {
            let fold = fold(number, &text);
            let told = Fold::told(&packed(&fold), &mut Texts::default()).unwrap();
            let told: Vec<_> = told.into_iter().map(|told| (told.keys, told.facts)).collect();
            let nodes = fold.nodes.into_iter().filter_map(Folded::into_told);
            prop_assert_eq!(told, nodes.map(|told| (told.keys, told.facts)).collect::<Vec<_>>());
        }

        #[test]
        fn bytes_that_are_no_fold_are_nothing(
            at: prop::sample::Index, bits in 1u8.., any in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let page = packed(&fold(7, "text"));
            let (told, each) = (page.told.clone(), page.each.get().to_vec());
            let _ = Fold::unpack(&Page { told: any.into(), ..page.clone() }, &mut Texts::default());
            let cut = [
                Page { told: told.slice(..at.index(told.len())), ..page.clone() },
                Page { each: page.each.slice(0..at.index(each.len())).unwrap(), ..page.clone() },
            ];
            for cut in cut {
                prop_assert_eq!(Fold::unpack(&cut, &mut Texts::default()), None);
            }
            let (mut other_told, mut other_each) = (told.to_vec(), each.clone());
            other_told[at.index(told.len())] ^= bits;
            other_each[at.index(each.len())] ^= bits;
            let other_each = Later::Here(other_each.into());
            for page in [Page { told: other_told.into(), ..page.clone() }, Page { each: other_each, ..page }] {
                let _ = Fold::unpack(&page, &mut Texts::default());
                let told = Fold::told(&page, &mut Texts::default()).unwrap_or_default();
                for messages in told.iter().filter_map(|told| told.sealed.as_ref()) {
                    let _ = (messages.marks().count(), messages.ids().count(), messages.open());
                }
            }
        }
    }
}
