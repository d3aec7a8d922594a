//! Tokens and money, added without losing what is not known.
//!
//! A count that nobody told is absent, never 0; a price that nobody knows is counted as unpriced, never
//! as $0. Money is whole nano-dollars, so that a roll-up kept by adding and subtracting equals one that
//! is computed afresh.

use std::fmt;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The five counts, in the order in which [`Tokens`] holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Input that was not read from a cache.
    Input,
    /// Output, with reasoning.
    Output,
    /// Input read from a cache.
    CacheRead,
    /// Input written to a cache.
    CacheWrite,
    /// The part of the output that is known to be reasoning.
    Reasoning,
}

/// All counts with the names they have in JSON.
pub const COUNTS: [(Count, &str); 5] = [
    (Count::Input, "input"),
    (Count::Output, "output"),
    (Count::CacheRead, "cacheRead"),
    (Count::CacheWrite, "cacheWrite"),
    (Count::Reasoning, "reasoning"),
];

/// Token counts, each of them known or not.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    counts: [u64; COUNTS.len()],
    known: u8,
}

impl Tokens {
    /// Returns these tokens with one count set.
    #[must_use]
    pub fn with(mut self, count: Count, tokens: u64) -> Self {
        if let Some(slot) = self.counts.get_mut(count as usize) {
            *slot = tokens;
            self.known |= 1 << count as u8;
        }
        self
    }

    /// Returns one count, if it is known.
    pub fn get(&self, count: Count) -> Option<u64> {
        let known = self.known & (1 << count as u8) != 0;
        self.counts.get(count as usize).copied().filter(|_| known)
    }

    /// Returns whether any count is known.
    pub fn is_known(&self) -> bool {
        self.known != 0
    }

    /// Returns all that was paid for, reasoning being part of the output.
    pub fn total(&self) -> u64 {
        let [input, output, cache_read, cache_write, _] = self.counts;
        input.saturating_add(output).saturating_add(cache_read).saturating_add(cache_write)
    }

    /// Returns the larger of each count: a streamed message is told again and again, ever longer.
    #[must_use]
    pub fn max(&self, other: &Self) -> Self {
        let mut larger = *self;
        for (mine, theirs) in larger.counts.iter_mut().zip(other.counts) {
            *mine = (*mine).max(theirs);
        }
        larger.known |= other.known;
        larger
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (count, name) in COUNTS {
            if let Some(tokens) = self.get(count) {
                map.entry(&name, &tokens);
            }
        }
        map.finish()
    }
}

impl Serialize for Tokens {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (count, name) in COUNTS {
            if let Some(tokens) = self.get(count) {
                map.serialize_entry(name, &tokens)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            input: Option<u64>,
            output: Option<u64>,
            cache_read: Option<u64>,
            cache_write: Option<u64>,
            reasoning: Option<u64>,
        }
        let wire = Wire::deserialize(deserializer)?;
        let told = [
            (Count::Input, wire.input),
            (Count::Output, wire.output),
            (Count::CacheRead, wire.cache_read),
            (Count::CacheWrite, wire.cache_write),
            (Count::Reasoning, wire.reasoning),
        ];
        Ok(told.into_iter().fold(Self::default(), |tokens, (count, told)| match told {
            Some(told) => tokens.with(count, told),
            None => tokens,
        }))
    }
}

/// How much of what a model can take in at once is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Context {
    /// Tokens of the last request and its answer.
    pub used: u64,
    /// How many there may be, where that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// US dollars, in billionths; in JSON a plain number of dollars.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Usd(pub i64);

const NANOS: f64 = 1e9;

impl Usd {
    /// Makes an amount from a number of dollars; nonsense is 0 and huge amounts are clamped.
    #[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and NaN becomes 0")]
    pub fn from_dollars(dollars: f64) -> Self {
        Self((dollars * NANOS).round() as i64)
    }

    /// Returns the amount as a number of dollars.
    #[expect(clippy::cast_precision_loss, reason = "exact up to nine million dollars")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / NANOS
    }
}

impl fmt::Debug for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.dollars())
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::from_dollars)
    }
}

/// What was spent: tokens, and money where a price is known.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Spend {
    counts: [u64; COUNTS.len()],
    /// How many messages told each count.
    told: [u32; COUNTS.len()],
    /// The known part of the cost.
    pub cost: Usd,
    /// How many messages have a price.
    pub priced: u32,
    /// How many messages have none: while this is not 0 the cost is a lower bound.
    pub unpriced: u32,
    /// How many of the prices are computed from a table, and not the tool's own figure.
    pub computed: u32,
}

/// How much of a cost is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Nothing was spent, as far as anybody told.
    Nothing,
    /// Every message has a price.
    Whole,
    /// Some messages have a price: the cost is a lower bound.
    Partial,
    /// No message has a price.
    NoPrice,
}

/// By whose word a cost is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// The tool's own figure.
    Tool,
    /// Computed from a dated table of prices.
    Table,
    /// Of some messages the one, of some the other.
    Both,
}

impl Spend {
    /// Makes the spend of one message.
    pub fn message(tokens: Tokens, cost: Option<Usd>) -> Self {
        let (priced, unpriced) = if cost.is_some() { (1, 0) } else { (0, 1) };
        let told = COUNTS.map(|(count, _)| u32::from(tokens.get(count).is_some()));
        Self { counts: tokens.counts, told, cost: cost.unwrap_or_default(), priced, unpriced, computed: 0 }
    }

    /// How many numbers it is made of.
    pub const NUMBERS: usize = 2 * COUNTS.len() + 4;

    /// Returns it as numbers, to be kept.
    pub fn numbers(&self) -> [u64; Self::NUMBERS] {
        let counts = [self.priced, self.unpriced, self.computed].map(u64::from);
        let told = self.told.map(u64::from).into_iter();
        let all = self.counts.into_iter().chain(told).chain([self.cost.0.cast_unsigned()]).chain(counts);
        let mut numbers = [0; Self::NUMBERS];
        numbers.iter_mut().zip(all).for_each(|(number, one)| *number = one);
        numbers
    }

    /// Makes it of the same numbers; `None` where they are others.
    pub fn of_numbers(numbers: [u64; Self::NUMBERS]) -> Option<Self> {
        let small = |number: u64| u32::try_from(number).ok();
        let [input, output, read, write, reasoning, told @ .., cost, priced, unpriced, computed] = numbers;
        let told: [u64; COUNTS.len()] = told;
        let mut told_by = [0; COUNTS.len()];
        for (slot, told) in told_by.iter_mut().zip(told) {
            *slot = small(told)?;
        }
        Some(Self {
            counts: [input, output, read, write, reasoning],
            told: told_by,
            cost: Usd(cost.cast_signed()),
            priced: small(priced)?,
            unpriced: small(unpriced)?,
            computed: small(computed)?,
        })
    }

    /// The same, with its cost computed from a table of prices.
    #[must_use]
    pub fn by_table(self) -> Self {
        Self { computed: self.priced, ..self }
    }

    /// Returns the sum of the tokens; a count that no message told is not known.
    pub fn tokens(&self) -> Tokens {
        let sums = COUNTS.into_iter().zip(self.counts).zip(self.told);
        sums.filter(|(_, told)| *told != 0)
            .fold(Tokens::default(), |tokens, (((count, _), sum), _)| tokens.with(count, sum))
    }

    /// Returns whether anything was told.
    pub fn is_nothing(&self) -> bool {
        self.basis() == Basis::Nothing
    }

    /// Returns how much of the cost is known.
    pub fn basis(&self) -> Basis {
        match (self.priced, self.unpriced) {
            (0, 0) => Basis::Nothing,
            (_, 0) => Basis::Whole,
            (0, _) => Basis::NoPrice,
            (_, _) => Basis::Partial,
        }
    }

    /// Returns by whose word the known part of the cost is what it is; `None` where none is known.
    pub fn word(&self) -> Option<Word> {
        match (self.priced, self.computed) {
            (0, _) => None,
            (_, 0) => Some(Word::Tool),
            (priced, computed) if computed == priced => Some(Word::Table),
            (_, _) => Some(Word::Both),
        }
    }

    /// Adds what was spent elsewhere.
    ///
    /// Sums wrap: what is added is later taken away again, so a foreign file with 2^64 tokens may show
    /// nonsense, but must not leave a remainder behind.
    pub fn add(&mut self, more: &Self) {
        for (sum, count) in self.counts.iter_mut().zip(more.counts) {
            *sum = sum.wrapping_add(count);
        }
        for (sum, told) in self.told.iter_mut().zip(more.told) {
            *sum = sum.wrapping_add(told);
        }
        self.cost.0 = self.cost.0.wrapping_add(more.cost.0);
        self.priced = self.priced.wrapping_add(more.priced);
        self.unpriced = self.unpriced.wrapping_add(more.unpriced);
        self.computed = self.computed.wrapping_add(more.computed);
    }

    /// Takes away what was added before.
    pub fn subtract(&mut self, less: &Self) {
        for (sum, count) in self.counts.iter_mut().zip(less.counts) {
            *sum = sum.wrapping_sub(count);
        }
        for (sum, told) in self.told.iter_mut().zip(less.told) {
            *sum = sum.wrapping_sub(told);
        }
        self.cost.0 = self.cost.0.wrapping_sub(less.cost.0);
        self.priced = self.priced.wrapping_sub(less.priced);
        self.unpriced = self.unpriced.wrapping_sub(less.unpriced);
        self.computed = self.computed.wrapping_sub(less.computed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_count_is_absent_not_zero() {
        let tokens = Tokens::default().with(Count::Input, 0).with(Count::Output, 7);
        assert_eq!(serde_json::to_string(&tokens).unwrap(), r#"{"input":0,"output":7}"#);
        assert_eq!(serde_json::from_str::<Tokens>(r#"{"output":7,"input":0,"x":1}"#).unwrap(), tokens);
        assert_eq!(tokens.get(Count::Reasoning), None);
    }

    #[test]
    fn what_is_kept_as_numbers_is_the_same_again() {
        let tokens = Tokens::default().with(Count::Input, u64::MAX).with(Count::Reasoning, 0);
        let mut sum = Spend::message(tokens, Some(Usd(-1))).by_table();
        sum.add(&Spend::message(Tokens::default().with(Count::Output, 3), None));
        assert_eq!(Spend::of_numbers(sum.numbers()), Some(sum));
        assert_eq!(Spend::of_numbers([u64::MAX; Spend::NUMBERS]), None);
    }

    #[test]
    fn a_message_without_a_price_makes_the_sum_a_lower_bound() {
        let mut sum = Spend::default();
        assert_eq!(sum.basis(), Basis::Nothing);
        let unpriced = Spend::message(Tokens::default().with(Count::Input, 5), None);
        sum.add(&unpriced);
        assert_eq!(sum.basis(), Basis::NoPrice);
        sum.add(&Spend::message(Tokens::default(), Some(Usd::from_dollars(0.25))));
        assert_eq!((sum.basis(), sum.cost.dollars()), (Basis::Partial, 0.25));
        sum.subtract(&unpriced);
        assert_eq!(sum.basis(), Basis::Whole);
    }
}
