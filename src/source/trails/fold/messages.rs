//! What the messages of a node used, as bytes: their sum and the marks of their ids, by which a start tells them without
//! looking at each; and apart from those each of them, which is read when somebody asks.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{COUNTS, Folded, Used};
use crate::model::by_model::ByModel;
use crate::model::fact::UsageReport;
use crate::model::sealed::{Messages, mark};
use crate::model::usage::{Spend, Usd};
use crate::source::trails::cost::Pricer;
use crate::source::trails::later::{Later, Whole};
use crate::source::trails::pack::{Packer, Texts, Unpacker};

/// How many bytes a mark has.
const MARK: usize = size_of::<u64>();
/// As many bytes say how long an id is, at most of nearly all.
const LENGTH: usize = 2;
/// About so many bytes a message takes beside its id and the mark of it.
const REST: usize = 32;

/// Messages as they were packed, each with what it cost by the table of that time.
#[derive(Debug, Clone, PartialEq)]
pub struct Packed {
    count: u32,
    /// What they add up to, by the model that each ran on.
    sums: ByModel,
    /// The marks of their ids.
    marks: Bytes,
    /// The ids, and then the rest of each.
    each: Later,
}

/// What is written of a node's messages.
pub(super) enum Form {
    /// Each for itself: one of them has no id, stands for others, or is most likely told by another file too.
    Plain(Vec<Used>),
    Sealed(Packed),
}

/// Where messages stand among the bytes that were written.
pub(super) struct Written {
    count: u32,
    sums: ByModel,
    marks: Range<usize>,
    each: Range<usize>,
}

impl Written {
    /// Returns them, of the bytes that they were written to.
    pub(super) fn of(self, told: &Bytes, each: &Later) -> Option<Packed> {
        let Self { count, sums, marks, each: at } = self;
        Some(Packed { count, sums, marks: told.slice(marks), each: each.slice(at)? })
    }
}

/// Writes them one by one.
pub(super) fn pack_plain(node: &Folded, to: &mut Packer) {
    to.number(0);
    to.list(&node.used, |to, used| used.pack(to));
}

/// Writes them, `each` apart from the rest; returns where they are if they can be told under a seal.
pub(super) fn pack(
    node: &Folded,
    pricer: &mut Pricer,
    to: &mut Packer,
    each: &mut Vec<u8>,
) -> Option<Written> {
    let count = u32::try_from(node.used.len()).ok();
    let can_seal = |used: &Used| used.id.is_some() && !used.is_total && !used.is_copy;
    let Some(count) = count.filter(|_| node.used.iter().all(can_seal)) else {
        pack_plain(node, to);
        return None;
    };
    to.number(1);
    to.number(count.into());
    if count == 0 {
        return None;
    }
    let text: usize = node.used.iter().map(|used| used.id.as_ref().map_or(0, |id| id.len() + LENGTH)).sum();
    let (mut sums, mut parts) = (ByModel::default(), [text, node.used.len() * REST].map(Packer::with_room));
    let [ids, rest] = &mut parts;
    for used in &node.used {
        let report = pricer.report(used);
        sums.add(report.model.as_ref(), &report.spend());
        ids.text(used.id.as_deref().unwrap_or_default());
        used.pack_rest(rest);
        rest.maybe(report.cost.filter(|_| report.by_table), |to, cost| to.signed(cost.0));
    }
    to.number(sums.len() as u64);
    for (model, spend) in sums.iter() {
        to.maybe(model, Packer::name);
        spend.numbers().into_iter().for_each(|number| to.number(number));
    }
    let (marks, begin) = (to.bytes.len(), each.len());
    node.used.iter().for_each(|used| to.bytes.extend_from_slice(&used.mark.to_le_bytes()));
    let marks = marks..to.bytes.len();
    for part in parts {
        each.extend_from_slice(&part.bytes);
    }
    to.number((each.len() - begin) as u64);
    Some(Written { count, sums, marks, each: begin..each.len() })
}

/// Reads what was written; messages that can be told as they are stay packed.
pub(super) fn unpack(from: &mut Unpacker<'_>, whole: &mut Whole<'_>) -> Option<Form> {
    match from.number()? {
        0 => return Some(Form::Plain(from.list(Used::unpack)?)),
        1 => {}
        _ => return None,
    }
    let count = u32::try_from(from.number()?).ok()?;
    if count == 0 {
        return Some(Form::Plain(Vec::new()));
    }
    let mut sums = ByModel::default();
    for _ in 0..from.number()? {
        let model = from.maybe(Unpacker::name)?;
        let mut numbers = [0; Spend::NUMBERS];
        for number in &mut numbers {
            *number = from.number()?;
        }
        sums.add(model.as_ref(), &Spend::of_numbers(numbers)?);
    }
    let marks = whole.told.slice_ref(from.take(usize::try_from(count).ok()?.checked_mul(MARK)?)?);
    let each = whole.next(from.number()?)?;
    Some(Form::Sealed(Packed { count, sums, marks, each }))
}

impl Packed {
    /// Returns the ids, and the bytes after them.
    fn ids_and_rest<'a>(&'a self, texts: &'a mut Texts) -> Option<(Vec<&'a str>, Unpacker<'a>)> {
        let mut from = Unpacker::new(self.each.get(), texts);
        // Each has a mark of its own: a count that is none costs no memory.
        let mut ids = Vec::with_capacity(usize::try_from(self.count).ok()?);
        for _ in 0..self.count {
            ids.push(from.text()?);
        }
        Some((ids, from))
    }

    /// Returns the messages, each with what it cost by the table; `None` where the bytes are no messages.
    fn each(&self, texts: &mut Texts) -> Option<Vec<(Used, Option<Usd>)>> {
        let (ids, mut from) = self.ids_and_rest(texts)?;
        let mut list = Vec::with_capacity(ids.len());
        for id in ids {
            let used = Used::unpack_rest(Some(id.into()), &mut from)?;
            list.push((used, from.maybe(Unpacker::signed)?.map(Usd)));
        }
        from.is_done().then_some(list)
    }

    /// Returns what each used.
    pub(super) fn used(&self, texts: &mut Texts) -> Option<Vec<Used>> {
        Some(self.each(texts)?.into_iter().map(|(used, _)| used).collect())
    }
}

impl Messages for Packed {
    fn count(&self) -> u32 {
        self.count
    }

    fn spend(&self) -> Spend {
        self.sums.sum()
    }

    fn by_model(&self) -> Cow<'_, ByModel> {
        Cow::Borrowed(&self.sums)
    }

    fn marks(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        Box::new(self.marks.as_chunks().0.iter().map(|mark| u64::from_le_bytes(*mark)))
    }

    fn ids(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        let mut rest = self.each.get();
        let next = move |_| Unpacker::text_of(&mut rest);
        Box::new((0..self.count).map_while(next))
    }

    fn open(&self) -> Vec<UsageReport> {
        let priced = |(used, by_table): (Used, Option<Usd>)| {
            let report = used.report();
            UsageReport { cost: report.cost.or(by_table), by_table: by_table.is_some(), ..report }
        };
        // What was written is there, or the whole index is of no use, which its reader finds out.
        let each = self.each(&mut Texts::default()).unwrap_or_default();
        each.into_iter().map(priced).collect()
    }
}

impl Used {
    pub(super) fn pack(&self, to: &mut Packer) {
        to.maybe(self.id.as_deref(), Packer::text);
        self.pack_rest(to);
    }

    pub(super) fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let id = from.maybe(|from| Some(from.text()?.into()))?;
        Self::unpack_rest(id, from)
    }

    /// Writes everything but its id.
    fn pack_rest(&self, to: &mut Packer) {
        let Self { id: _, mark: _, model, counts, hour_cache, is_total, is_fast, searches, is_copy, cost } =
            self;
        to.maybe(model.as_ref(), Packer::name);
        // Which of them are told, then those.
        to.number(counts.iter().rev().fold(0, |told, count| told << 1 | u64::from(count.is_some())));
        counts.iter().flatten().for_each(|count| to.number(*count));
        to.number(*hour_cache);
        let marks = [*is_total, *is_fast, *is_copy, *searches > 0];
        to.number(marks.into_iter().rev().fold(0, |marks, mark| marks << 1 | u64::from(mark)));
        if *searches > 0 {
            to.number(*searches);
        }
        to.maybe(*cost, Packer::signed);
    }

    fn unpack_rest(id: Option<Arc<str>>, from: &mut Unpacker<'_>) -> Option<Self> {
        let model = from.maybe(Unpacker::name)?;
        let (told, mut counts) = (from.number()?, [None; COUNTS.len()]);
        for (_, count) in counts.iter_mut().enumerate().filter(|(nth, _)| told >> nth & 1 == 1) {
            *count = Some(from.number()?);
        }
        let (hour_cache, marks) = (from.number()?, from.number()?);
        let (is_total, is_fast, is_copy) = (marks & 1 == 1, marks & 2 == 2, marks & 4 == 4);
        let searches = if marks & 8 == 8 { from.number()? } else { 0 };
        let cost = from.maybe(Unpacker::signed)?;
        Some(Self {
            mark: id.as_deref().map_or(0, mark),
            id,
            model,
            counts,
            hour_cache,
            is_total,
            is_fast,
            searches,
            is_copy,
            cost,
        })
    }
}
