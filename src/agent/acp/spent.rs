//! What each turn used: its tokens when it is over, its cost as soon as it is told.
//!
//! The cost that an agent tells is that of its session so far, by its own figures. What is booked for a turn is what
//! came to it since the turns before; told again, a turn can only grow.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1::{Cost, Usage as Used};
use serde_json::Value;

use crate::agent::log::Usage;
use crate::model::usage::{Count, Tokens, Usd};

/// What was told so far.
#[derive(Debug, Default)]
pub(super) struct Spent {
    /// What the session had cost before this attempt.
    before: Usd,
    /// What came to each turn.
    costs: BTreeMap<String, Usd>,
}

impl Spent {
    /// Remembers what was booked.
    pub(super) fn note(&mut self, usage: &Usage) {
        if let (Some(turn), Some(cost)) = (&usage.message_id, usage.cost) {
            self.costs.insert(turn.clone(), cost);
        }
    }

    /// Takes what the session had cost when it was taken up again.
    pub(super) fn begin_at(&mut self, cost: &Cost) {
        self.before = dollars(cost).unwrap_or(self.before);
    }

    /// Takes what the session has cost so far; returns what that makes for this turn, where it is more than was told.
    pub(super) fn cost(&self, turn: &str, model: Option<&str>, cost: &Cost) -> Option<Usage> {
        let others =
            self.costs.iter().filter(|(known, _)| *known != turn).map(|(_, cost)| cost.0).sum::<i64>();
        let now = Usd(dollars(cost)?.0.saturating_sub(self.before.0).saturating_sub(others));
        let is_more = now.0 > self.costs.get(turn).map_or(0, |known| known.0);
        is_more.then(|| usage(turn, model, Tokens::default(), Some(now)))
    }

    /// Takes what a turn used in all.
    pub(super) fn turn(&self, turn: &str, model: Option<&str>, used: &Used) -> Usage {
        let thought = used.thought_tokens.unwrap_or(0);
        let (read, write) = (used.cached_read_tokens.unwrap_or(0), used.cached_write_tokens.unwrap_or(0));
        let (mut input, mut output) = (used.input_tokens, used.output_tokens);
        // Agents count in different ways; what they call the total says which.
        let apart = input + output + read + write;
        if used.total_tokens == apart + thought {
            output += thought;
        } else if used.total_tokens == input + output && used.total_tokens != apart {
            input = input.saturating_sub(read + write);
        }
        let mut tokens = Tokens::default().with(Count::Input, input).with(Count::Output, output);
        for (count, told) in [
            (Count::CacheRead, used.cached_read_tokens),
            (Count::CacheWrite, used.cached_write_tokens),
            (Count::Reasoning, used.thought_tokens),
        ] {
            tokens = told.map_or(tokens, |told| tokens.with(count, told));
        }
        usage(turn, model, tokens, self.costs.get(turn).copied())
    }

    /// Takes what some agents tell in a place of their own.
    pub(super) fn quota(&self, turn: &str, model: Option<&str>, quota: &Value) -> Option<Usage> {
        let count = |name: &str| quota.pointer(&format!("/token_count/{name}")).and_then(Value::as_u64);
        let (input, output) = (count("input_tokens"), count("output_tokens"));
        input.or(output)?;
        let mut tokens = Tokens::default();
        for (count, told) in [(Count::Input, input), (Count::Output, output)] {
            tokens = told.map_or(tokens, |told| tokens.with(count, told));
        }
        let told = quota.pointer("/model_usage/0/model").and_then(Value::as_str);
        Some(usage(turn, told.or(model), tokens, self.costs.get(turn).copied()))
    }
}

fn usage(turn: &str, model: Option<&str>, tokens: Tokens, cost: Option<Usd>) -> Usage {
    let model = model.map(str::to_owned);
    Usage { message_id: Some(turn.to_owned()), model, tokens, cost, of_turn: true, ..Usage::default() }
}

/// Only dollars can be added to dollars.
fn dollars(cost: &Cost) -> Option<Usd> {
    let is_sound = cost.currency.eq_ignore_ascii_case("usd") && cost.amount.is_finite() && cost.amount >= 0.0;
    is_sound.then(|| Usd::from_dollars(cost.amount))
}
