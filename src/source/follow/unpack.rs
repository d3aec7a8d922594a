//! A snapshot's model, told a part at a time: a hundred thousand nodes are then drawn while they are read, and
//! what is between the file and the model is never in memory as a whole.

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::model::fact::{Fact, SourceFact};
use crate::model::id::Seq;
use crate::model::key::SourceId;
use crate::model::record::{ModelRecord, Record, restore};

/// How much text of records makes one batch: the batches that wait at any moment are memory that is free once all are
/// told, but lies between what stays.
const BUDGET: usize = 256 * 1024;

/// A model that is being told.
pub(super) struct Unpacking {
    text: Box<RawValue>,
    /// Where in the text each delegation is that was not told yet.
    delegations: std::vec::IntoIter<Range<usize>>,
    /// What is not a delegation.
    rest: Option<ModelRecord>,
    seq: Seq,
}

/// The delegations as text.
#[derive(Deserialize)]
struct Slices<'a> {
    #[serde(borrow, default)]
    delegations: Vec<&'a RawValue>,
}

impl Unpacking {
    /// Finds the parts of a model; nothing is told yet.
    pub fn new(text: Box<RawValue>, seq: Seq) -> serde_json::Result<Self> {
        let (slices, rest) = parts(text.get())?;
        Ok(Self { delegations: slices.into_iter(), rest: Some(rest), text, seq })
    }

    /// Tells the next part; returns whether there is more.
    pub fn tell(&mut self, source: SourceId, facts: &mut Vec<Fact>) -> serde_json::Result<bool> {
        let mut told = 0;
        for range in self.delegations.by_ref() {
            told += range.len();
            let record: Record = serde_json::from_str(self.text.get().get(range).unwrap_or_default())?;
            restore::facts(record, source, facts);
            if told >= BUDGET {
                return Ok(true);
            }
        }
        if let Some(rest) = self.rest.take() {
            restore::model_facts(rest, source, facts);
            facts.push(Fact::source(source, SourceFact::Reached(self.seq)));
        }
        Ok(false)
    }
}

/// Returns where each delegation is in the text, and everything else.
fn parts(text: &str) -> serde_json::Result<(Vec<Range<usize>>, ModelRecord)> {
    #[derive(Deserialize)]
    struct Rest {
        #[serde(default)]
        receipts: Vec<crate::model::command::Receipt>,
        #[serde(default)]
        engine: crate::model::Engine,
        settings: Option<serde_json::Value>,
        #[serde(default)]
        anomalies: Vec<crate::model::anomaly::Anomaly>,
    }
    let slices: Slices<'_> = serde_json::from_str(text)?;
    let begins = text.as_ptr().addr();
    let place = |slice: &RawValue| {
        let at = slice.get().as_ptr().addr() - begins;
        at..at + slice.get().len()
    };
    let ranges = slices.delegations.into_iter().map(place).collect();
    let Rest { receipts, engine, settings, anomalies } = serde_json::from_str(text)?;
    Ok((ranges, ModelRecord { delegations: Vec::new(), receipts, engine, settings, anomalies }))
}
