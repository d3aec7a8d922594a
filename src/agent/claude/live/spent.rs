//! What each message used: a first word from the stream, the last from the transcripts.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde_json::Value;

use super::super::line::{Record, Usage as Used, is_noise};
use crate::agent::lines::Line;
use crate::agent::log::Usage;
use crate::model::usage::Tokens;

/// So many messages are remembered, so that one is not told again and again; one that is counts once all the same.
const REMEMBERED: usize = 256;

/// The messages that were told of last.
#[derive(Debug, Default)]
pub(super) struct Spent {
    told: BTreeMap<String, Tokens>,
    order: VecDeque<String>,
}

impl Spent {
    /// Reads a line of a transcript; returns what it says more than was told.
    pub(super) fn read(&mut self, line: &Line) -> Option<Usage> {
        if line.cut > 0 || is_noise(&line.bytes) {
            return None;
        }
        let record = Record::of(&line.bytes).filter(|record| *record.kind == *b"assistant")?;
        let message = record.message?;
        let used = message.usage?;
        self.used(message.id.as_deref()?, record.request_id.as_deref(), message.model.as_deref(), &used)
    }

    /// Takes a message of the stream; returns what it used, where that is more than was told.
    pub(super) fn message(&mut self, message: &Value, request: Option<&str>) -> Option<Usage> {
        let used = Used::deserialize(&message["usage"]).ok()?;
        self.used(message["id"].as_str()?, request, message["model"].as_str(), &used)
    }

    fn used(&mut self, id: &str, request: Option<&str>, model: Option<&str>, used: &Used) -> Option<Usage> {
        // What the tool says itself, in place of the model, costs nothing.
        if model == Some("<synthetic>") {
            return None;
        }
        let tokens = used.tokens();
        let known = self.told.get(id).copied();
        let most = known.map_or(tokens, |known| known.max(&tokens));
        if known == Some(most) {
            return None;
        }
        self.remember(id, most);
        Some(Usage {
            message_id: Some(id.to_owned()),
            request_id: request.map(str::to_owned),
            is_shared: true,
            model: model.map(str::to_owned),
            tokens: most,
            hour_cache: used.hour_cache(),
            is_fast: used.is_fast(),
            searches: used.searches(),
            ..Usage::default()
        })
    }

    fn remember(&mut self, id: &str, tokens: Tokens) {
        if self.told.insert(id.to_owned(), tokens).is_none() {
            self.order.push_back(id.to_owned());
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.told.remove(&oldest);
        }
    }
}
