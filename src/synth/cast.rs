//! Who plays in a made-up fleet, and the dice that decide what they do.

use crate::model::usage::{Count, Tokens, Usd};

/// A small, seeded source of chance (splitmix64): the same on every machine.
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.roll() % limit.max(1)
    }

    /// Returns whether something happens that happens so many times in a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        let index = self.below(of.len() as u64);
        of.get(usize::try_from(index).unwrap_or(0)).copied()
    }

    pub fn word(&mut self, of: &[&'static str]) -> String {
        self.pick(of).unwrap_or("work").to_owned()
    }
}

pub(super) const TASKS: &[&str] = &[
    "Audit cleanup, phase 1",
    "Migrate the billing schema",
    "Harden the login flow",
    "Split out invoicing",
    "Refresh the API docs",
    "Port the importer to async",
    "Find the flaky checkout test",
    "Prepare the 2.0 release",
];

pub(super) const STEPS: &[&str] = &[
    "Delete dead code",
    "Remove test databases",
    "Remove unused crates",
    "Fix doc links",
    "Archive stale docs",
    "Run test validation",
    "Write the migration",
    "Review the diff",
    "Measure the change",
    "Push the branch",
];

pub(super) const ACTIONS: &[&str] = &[
    "Read src/billing/invoice.rs",
    "Edit docs/api/index.md",
    "Ran cargo test --workspace",
    "Searched for \"TODO(billing)\"",
    "Wrote tests/checkout.rs",
    "Thinking about the lock order",
];

pub(super) const ERRORS: &[&str] = &[
    "2 tests failed: checkout::retries, checkout::refund",
    "the model answered with no result",
    "exit code 1 after 41 s",
];

/// Dollars for a million tokens of input and of output.
pub(super) type Price = (f64, f64);

/// Agent, provider, model and its price; the last has none.
pub(super) const AGENTS: &[(&str, &str, &str, Option<Price>)] = &[
    ("executor", "claude", "claude-sonnet-4-5", Some((3.0, 15.0))),
    ("architect", "claude", "claude-opus-4-5", Some((5.0, 25.0))),
    ("codex", "codex", "gpt-5-codex", Some((1.25, 10.0))),
    ("gemini", "gemini", "gemini-3-pro", Some((2.0, 12.0))),
    ("local", "opencode", "qwen3-coder", None),
];

pub(super) const PATTERNS: &[&str] = &["parallel", "sequential", "review", "debate"];

/// Returns what one message used, and what it cost where the model has a price.
pub(super) fn message(dice: &mut Dice, price: Option<Price>) -> (Tokens, Option<Usd>) {
    let (input, output) = (200 + dice.below(2000), 50 + dice.below(900));
    let mut tokens = Tokens::default()
        .with(Count::Input, input)
        .with(Count::Output, output)
        .with(Count::CacheRead, dice.below(30_000))
        .with(Count::CacheWrite, dice.below(2000));
    if dice.chance(40) {
        tokens = tokens.with(Count::Reasoning, output / 3);
    }
    #[expect(clippy::cast_precision_loss, reason = "a few thousand tokens")]
    let cost = price.map(|(per_input, per_output)| {
        Usd::from_dollars((input as f64 * per_input + output as f64 * per_output) / 1e6)
    });
    (tokens, cost)
}
