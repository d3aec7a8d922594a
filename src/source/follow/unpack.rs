//! A snapshot's model, told a part at a time: a hundred thousand nodes are then drawn while they are read, and
//! what is between the file and the model is never in memory as a whole.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::model::Engine;
use crate::model::anomaly::Anomaly;
use crate::model::command::Receipt;
use crate::model::fact::{Fact, SourceFact};
use crate::model::id::Seq;
use crate::model::key::SourceId;
use crate::model::record::{ModelRecord, Record, restore};

/// How much text of records makes one batch: the batches that wait at any moment are memory that is free once all are
/// told, but lies between what stays.
const BUDGET: usize = 256 * 1024;

/// A model as it is in the file, its delegations as text: found in the one pass that reads the file.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Parts {
    delegations: Vec<Box<RawValue>>,
    receipts: Vec<Receipt>,
    engine: Engine,
    settings: Option<Value>,
    anomalies: Vec<Anomaly>,
}

/// A model that is being told.
pub(super) struct Unpacking {
    /// The delegations that were not told yet.
    delegations: std::vec::IntoIter<Box<RawValue>>,
    /// What is not a delegation.
    rest: Option<ModelRecord>,
    seq: Seq,
}

impl Unpacking {
    /// Begins with the parts of a model; nothing is told yet.
    pub fn new(parts: Parts, seq: Seq) -> Self {
        let Parts { delegations, receipts, engine, settings, anomalies } = parts;
        let rest = ModelRecord { delegations: Vec::new(), receipts, engine, settings, anomalies };
        Self { delegations: delegations.into_iter(), rest: Some(rest), seq }
    }

    /// Tells the next part; returns whether there is more.
    pub fn tell(&mut self, source: SourceId, facts: &mut Vec<Fact>) -> serde_json::Result<bool> {
        let mut told = 0;
        for text in self.delegations.by_ref() {
            told += text.get().len();
            let record: Record = serde_json::from_str(text.get())?;
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
