//! A fold as bytes and back. What stands in every fold is written by hand; what is rare is JSON.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::messages::{self, Form, Written};
use super::{Fold, Folded, Told, Who, Word};
use crate::model::handoff::Outcome;
use crate::model::key::NodeKey;
use crate::model::node::NodeKind;
use crate::source::trails::cost::Pricer;
use crate::source::trails::pack::{PACKED, Packer, Texts, Unpacker};

const KINDS: [NodeKind; 5] =
    [NodeKind::Group, NodeKind::Session, NodeKind::Agent, NodeKind::Subtask, NodeKind::Delegation];

impl Fold {
    /// Returns it as bytes.
    ///
    /// What messages cost is among them, by the table in force.
    pub fn pack(&self, pricer: &mut Pricer) -> Bytes {
        self.write(pricer, |_| {})
    }

    /// Returns it as bytes, and what is to be told of each node: messages that can be are under a seal, and are in
    /// those bytes.
    pub fn seal(self, pricer: &mut Pricer) -> (Bytes, impl Iterator<Item = Told> + use<>) {
        let mut written = Vec::with_capacity(self.nodes.len());
        let bytes = self.write(pricer, |messages| written.push(messages));
        let whole = bytes.clone();
        let told = self.nodes.into_iter().zip(written).filter_map(move |(mut node, messages)| {
            let sealed = messages.map(|messages| messages.of(&whole));
            if sealed.is_some() {
                node.used = Vec::new();
            }
            Some(Told { sealed, ..node.into_told()? })
        });
        (bytes, told)
    }

    fn write(&self, pricer: &mut Pricer, mut each: impl FnMut(Option<Written>)) -> Bytes {
        // Room for all of it at once, and then only what was needed: there is one for each file.
        let messages: usize = self.nodes.iter().map(|node| 2 + node.used.len()).sum();
        let mut to = Packer::with_room(messages * PACKED);
        to.list(&self.nodes, |to, node| {
            node.pack(to);
            each(messages::pack(node, pricer, to));
        });
        Bytes::copy_from_slice(&to.bytes)
    }

    /// Reads it from bytes; `None` where they are no fold.
    pub fn unpack(bytes: &Bytes, texts: &mut Texts) -> Option<Self> {
        let mut from = Unpacker::new(bytes, texts);
        let nodes = from.list(|from| Folded::unpack(from, bytes))?;
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
            !self.clocks.is_empty(),
            self.may_sleep.is_some(),
            self.progress.is_some(),
            self.status.is_some(),
            self.last.is_some(),
            self.next.is_some(),
            self.returned.is_some(),
            self.sign.is_some(),
            self.context.is_some(),
        ]);
        self.kind.into_iter().for_each(|kind| to.number(kind as u64));
        if !self.under.is_empty() {
            to.list(&self.under, pack_key);
        }
        self.who.iter().for_each(|who| who.pack(to));
        if !self.clocks.is_empty() {
            to.list(&self.clocks, |to, (clock, at)| {
                to.number(u64::from(*clock));
                to.signed(*at);
            });
        }
        self.may_sleep.into_iter().for_each(|millis| to.number(millis));
        self.progress.iter().for_each(|progress| pack_json(to, progress));
        self.status.iter().for_each(|word| word.pack(to));
        self.last.iter().for_each(|last| to.text(last));
        self.next.iter().for_each(|next| to.text(next));
        self.returned.iter().for_each(|outcome| pack_outcome(to, outcome));
        self.sign.into_iter().for_each(|at| to.signed(at));
        self.context.iter().for_each(|context| pack_json(to, context));
    }

    fn unpack(from: &mut Unpacker<'_>, whole: &Bytes) -> Option<Self> {
        let keys = from.list(unpack_key)?;
        let mut given = from.given()?;
        let clock = |from: &mut Unpacker<'_>| Some((u8::try_from(from.number()?).ok()?, from.signed()?));
        let mut node = Self {
            keys,
            kind: from.next(&mut given, unpack_kind)?,
            under: from.next(&mut given, |from| from.list(unpack_key))?.unwrap_or_default(),
            who: from.next(&mut given, Who::unpack)?.map(Box::new),
            clocks: from.next(&mut given, |from| from.list(clock))?.unwrap_or_default(),
            may_sleep: from.next(&mut given, Unpacker::number)?,
            progress: from.next(&mut given, unpack_json)?,
            status: from.next(&mut given, Word::unpack)?.map(Box::new),
            last: from.next(&mut given, |from| Some(from.text()?.into()))?,
            next: from.next(&mut given, |from| Some(from.text()?.into()))?,
            returned: from.next(&mut given, unpack_outcome)?.map(Box::new),
            sign: from.next(&mut given, Unpacker::signed)?,
            context: from.next(&mut given, unpack_json)?,
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

impl Who {
    fn pack(&self, to: &mut Packer) {
        let names = [&self.agent, &self.provider, &self.requested, &self.injected, &self.effective];
        let [agent, provider, requested, injected, effective] = names.map(Option::is_some);
        to.given(&[
            self.is_hearsay,
            self.title.is_some(),
            agent,
            provider,
            requested,
            injected,
            effective,
            self.index.is_some(),
            self.depth.is_some(),
            self.workspace.is_some(),
        ]);
        self.title.iter().for_each(|title| to.text(title));
        names.into_iter().flatten().for_each(|name| to.name(name));
        self.index.into_iter().for_each(|index| to.number(index.into()));
        self.depth.into_iter().for_each(|depth| to.number(depth.into()));
        self.workspace.iter().for_each(|place| to.text(place));
    }

    pub(super) fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let small = |from: &mut Unpacker<'_>| u32::try_from(from.number()?).ok();
        let mut given = from.given()?;
        let who = Self {
            is_hearsay: from.next(&mut given, |_| Some(()))?.is_some(),
            title: from.next(&mut given, |from| Some(from.text()?.into()))?,
            agent: from.next(&mut given, Unpacker::name)?,
            provider: from.next(&mut given, Unpacker::name)?,
            requested: from.next(&mut given, Unpacker::name)?,
            injected: from.next(&mut given, Unpacker::name)?,
            effective: from.next(&mut given, Unpacker::name)?,
            index: from.next(&mut given, small)?,
            depth: from.next(&mut given, small)?,
            workspace: from.next(&mut given, |from| Some(from.text()?.into()))?,
        };
        given.is_done().then_some(who)
    }
}

impl Word {
    fn pack(&self, to: &mut Packer) {
        to.number(u64::from(self.field));
        to.text(&self.word);
        to.maybe(self.why.as_deref(), Packer::text);
        to.maybe(self.at, Packer::signed);
    }

    pub(super) fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(Self {
            field: u8::try_from(from.number()?).ok()?,
            word: from.text()?.into(),
            why: from.maybe(|from| Some(from.text()?.into()))?,
            at: from.maybe(Unpacker::signed)?,
        })
    }
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

pub(super) fn unpack_outcome(from: &mut Unpacker<'_>) -> Option<Outcome> {
    let summary = from.maybe(|from| Some(from.text()?.into()))?;
    let whole = from.maybe(unpack_json)?;
    Some(whole.unwrap_or(Outcome { summary, ..Outcome::default() }))
}

fn pack_json<T: Serialize>(to: &mut Packer, what: &T) {
    // What cannot be written is read as nothing, and so the file anew.
    to.bytes(&serde_json::to_vec(what).unwrap_or_default());
}

pub(super) fn unpack_json<T: DeserializeOwned>(from: &mut Unpacker<'_>) -> Option<T> {
    serde_json::from_slice(from.bytes()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::agent::trail::Said;
    use crate::model::fact::{Action, Clock, Description, NodeFact, StatusReport, UsageReport};
    use crate::model::key::SourceId;
    use crate::model::price::Prices;
    use crate::model::sealed::{Messages, mark};
    use crate::model::time::Stamp;
    use crate::model::usage::{Context, Count, Spend, Tokens};
    use crate::model::words::Field;

    fn packed(fold: &Fold) -> Bytes {
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
            (session.clone(), NodeFact::Status(word)),
            (session.clone(), NodeFact::MaySleep(number)),
            (session.clone(), NodeFact::Clock(Clock::Ended, Stamp::from_millis(-1))),
            (session.clone(), NodeFact::Filled(Context { used: number, size: None })),
            (session.clone(), NodeFact::Used(Box::new(used("one")))),
            (session.clone(), NodeFact::Used(Box::new(used("claude-opus-4-1")))),
            (session.clone(), NodeFact::Returned(Box::new(plain))),
            (call.clone(), NodeFact::Under(session.into())),
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
            let whole = packed(&fold(7, "text"));
            let _ = Fold::unpack(&any.into(), &mut Texts::default());
            prop_assert_eq!(Fold::unpack(&whole.slice(..at.index(whole.len())), &mut Texts::default()), None);
            let mut bytes = whole.to_vec();
            bytes[at.index(whole.len())] ^= bits;
            let bytes = Bytes::from(bytes);
            let _ = Fold::unpack(&bytes, &mut Texts::default());
            let told = Fold::told(&bytes, &mut Texts::default()).unwrap_or_default();
            for messages in told.iter().filter_map(|told| told.sealed.as_ref()) {
                let _ = (messages.marks().count(), messages.ids().count(), messages.open());
            }
        }
    }
}
