//! What may be spent: how it is counted, and how people write it.
//!
//! Tokens are input that was not read from a cache, and output. Money is what is known of it.

use serde::{Deserialize, Serialize};

use super::event::payload::Budget;
use super::usage::{Count, Tokens, Usd};

/// Why something is paused whose budget is spent.
pub const BUDGET: &str = "budget";
/// From this many hundredths on, somebody is warned.
pub const WARN_AT: u64 = 80;

/// What may be spent; each only where somebody set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limit {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
}

impl Limit {
    /// Returns whether anything is limited.
    pub fn is_set(self) -> bool {
        self.tokens.is_some() || self.cost.is_some()
    }

    /// Returns how many hundredths of it are spent, by the part that ends first.
    pub fn percent(self, tokens: u64, cost: Usd) -> u64 {
        let tokens = self.tokens.map_or(0, |limit| percent(tokens, limit));
        tokens.max(self.cost.map_or(0, |limit| percent(nanos(cost), nanos(limit))))
    }

    /// Returns it as events tell it.
    pub fn budget(self) -> Option<Budget> {
        let Self { tokens, cost } = self;
        self.is_set().then(|| Budget { tokens, cost, ..Budget::default() })
    }

    /// Returns it with another one where it says nothing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { tokens: self.tokens.or(other.tokens), cost: self.cost.or(other.cost) }
    }

    /// Returns it in words: each part that it has.
    pub fn words(self) -> String {
        let tokens = self.tokens.map(|tokens| format!("{tokens} tokens"));
        tokens.into_iter().chain(self.cost.map(dollars)).collect::<Vec<_>>().join(" and ")
    }

    /// Returns it as [`read`] takes it; of two parts, the tokens.
    pub fn typed(self) -> String {
        let tokens = self.tokens.map(|tokens| tokens.to_string());
        tokens.or_else(|| Some(format!("${}", self.cost?.dollars()))).unwrap_or_default()
    }
}

impl From<&Budget> for Limit {
    fn from(budget: &Budget) -> Self {
        Self { tokens: budget.tokens, cost: budget.cost }
    }
}

/// Returns how many tokens count against a budget: what is read again from a cache does not.
pub fn counted(tokens: &Tokens) -> u64 {
    let parts = [Count::Input, Count::CacheWrite, Count::Output];
    parts.iter().fold(0, |sum: u64, count| sum.saturating_add(tokens.get(*count).unwrap_or(0)))
}

/// Returns how many hundredths of a limit are spent; more than 100 where it is exceeded.
pub fn percent(spent: u64, limit: u64) -> u64 {
    u64::try_from(u128::from(spent) * 100 / u128::from(limit.max(1))).unwrap_or(u64::MAX)
}

/// Returns an amount that is no debt, as a number that can be compared with a limit.
pub fn nanos(amount: Usd) -> u64 {
    u64::try_from(amount.0).unwrap_or(0)
}

/// Returns an amount of money in dollars and cents; with more digits where it is less than a cent.
pub fn dollars(amount: Usd) -> String {
    let less_than_a_cent = (1..10_000_000).contains(&amount.0);
    if less_than_a_cent { format!("${:.4}", amount.dollars()) } else { format!("${:.2}", amount.dollars()) }
}

/// Reads a budget as people write it: `50000`, `200k`, `1.5m` tokens, or `$2.50`.
pub fn read(text: &str) -> Result<Limit, String> {
    match text.trim().strip_prefix('$') {
        Some(money) => Ok(Limit { cost: Some(read_money(money)?), tokens: None }),
        None => Ok(Limit { tokens: Some(read_tokens(text)?), cost: None }),
    }
}

/// Reads a number of tokens: `50000`, `50_000`, `200k` or `1.5m`.
pub fn read_tokens(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("{text:?} is no number of tokens: write it as 50000, 200k or 1.5m, or money as $2.50");
    let plain = text.trim().replace('_', "").to_ascii_lowercase();
    let (digits, unit) = match plain.strip_suffix(['k', 'm']) {
        Some(digits) if plain.ends_with('k') => (digits, 1_000),
        Some(digits) => (digits, 1_000_000),
        None => (plain.as_str(), 1),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if digits.is_empty() || !is_number(whole) || !is_number(part) || unit == 1 && digits.contains('.') {
        return Err(wrong());
    }
    let scale =
        u32::try_from(part.len()).ok().and_then(|places| 10_u64.checked_pow(places)).ok_or_else(wrong)?;
    let number = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u64>().ok() };
    let whole = number(whole).and_then(|whole| whole.checked_mul(unit));
    let part = number(part).and_then(|part| part.checked_mul(unit)).map(|part| part / scale);
    let tokens = whole.zip(part).and_then(|(whole, part)| whole.checked_add(part));
    tokens.filter(|tokens| *tokens > 0).ok_or_else(wrong)
}

/// Reads an amount of money: `2.50` or `$2.50`.
pub fn read_money(text: &str) -> Result<Usd, String> {
    /// More than anybody spends on one task; as a number of nano-dollars it is exact.
    const MOST: f64 = 1e6;
    let plain = text.trim().trim_start_matches('$').trim();
    let is_plain = plain.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let amount =
        plain.parse::<f64>().ok().filter(|amount| is_plain && *amount <= MOST).map(Usd::from_dollars);
    amount
        .filter(|amount| amount.0 > 0)
        .ok_or_else(|| format!("{text:?} is no amount of money: write it as $2.50, at most $1000000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_again_from_a_cache_and_what_is_thought_twice_do_not_count() {
        let counts = [(Count::Input, 3), (Count::Output, 5), (Count::CacheWrite, 7)];
        let tokens = counts.iter().fold(Tokens::default(), |sum, (count, one)| sum.with(*count, *one));
        assert_eq!(counted(&tokens), 15);
        assert_eq!(counted(&tokens.with(Count::CacheRead, 1_000).with(Count::Reasoning, 4)), 15);
        let most = Tokens::default().with(Count::Input, u64::MAX).with(Count::Output, 9);
        assert_eq!(counted(&most), u64::MAX);
    }

    #[test]
    fn budgets_are_read_as_people_write_them() {
        for (text, tokens) in
            [("50000", 50_000), (" 50_000 ", 50_000), ("200k", 200_000), ("1.5M", 1_500_000), ("0.25k", 250)]
        {
            assert_eq!(read(text).unwrap().tokens, Some(tokens), "{text}");
        }
        assert_eq!(read("$2.50").unwrap().cost, Some(Usd::from_dollars(2.5)));
        for text in ["$2.5", "7000"] {
            assert_eq!(read(text).unwrap().typed(), text);
        }
        let both = Limit { tokens: Some(7), cost: Some(Usd::from_dollars(0.5)) };
        assert_eq!((both.words(), both.typed()), ("7 tokens and $0.50".into(), "7".into()));
        assert_eq!(read_money("$ 3").unwrap(), Usd::from_dollars(3.0));
        let wrong =
            ["", "k", "0", "1.5", "-3", "+5k", "$0", "$-1", "$1e3", "$", "2$", "9999999999999999m", "1..2k"];
        for text in wrong {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read("lots").unwrap_err().contains("200k"), "it says how");
    }

    #[test]
    fn amounts_are_shown_in_cents_and_smaller_ones_in_more_digits() {
        assert_eq!(dollars(Usd::from_dollars(2.5)), "$2.50");
        assert_eq!(dollars(Usd::from_dollars(0.0042)), "$0.0042");
        assert_eq!(dollars(Usd::default()), "$0.00");
        assert_eq!((percent(4, 5), percent(7, 5), percent(1, 0)), (80, 140, 100));
    }
}
