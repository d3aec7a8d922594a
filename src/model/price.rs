//! What tokens cost: one dated table, and how a model's name is found in it.
//!
//! A model that is not in the table has no price. It is never guessed from one with a similar name, and never 0.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::fact::UsageReport;
use super::sealed::{mark, mixed};
use super::usage::{Count, Usd};

/// The table that comes with the program.
const BUILT_IN: &str = include_str!("price/prices.toml");
/// A request that is longer is dearer with some models, where they do not say from where on.
const LONG: u64 = 200_000;
/// A millionth of a nano-dollar for a token, from dollars for a million tokens.
const PER_TOKEN: f64 = 1e6;

/// What a million tokens cost, by model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prices {
    /// The day of which they are.
    pub date: String,
    /// What a thousand searches of the web cost, with models that have no price of their own for it.
    web_search: Option<f64>,
    models: BTreeMap<String, Price>,
}

/// What one model's tokens cost, in dollars for a million.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    input: f64,
    output: f64,
    /// Where it is not told, as much as other input.
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    /// Where it is not told, twice the input.
    cache_write_1h: Option<f64>,
    /// How many times as much everything costs in the model's fast mode; where it is not told, nobody knows.
    fast: Option<f64>,
    /// What a thousand searches of the web cost; where it is not told, as much as with every model.
    web_search: Option<f64>,
    /// What requests cost that are longer than so many tokens.
    #[serde(alias = "above_200k")]
    above: Option<Box<Price>>,
    /// From how many tokens on: of the price of long requests only.
    tokens: Option<u64>,
    /// The same for one token, in millionths of a nano-dollar: there are very many messages, and few prices.
    #[serde(skip)]
    rates: [u64; 5],
    /// The same for a search, by the whole table; where nobody says how much that is, nobody knows.
    #[serde(skip)]
    per_search: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    as_of: Option<String>,
    web_search: Option<f64>,
    #[serde(default)]
    models: BTreeMap<String, Price>,
}

impl Prices {
    /// Returns the prices that come with the program.
    pub fn built_in() -> Self {
        // A test reads the table; one that could not be read would leave every cost unknown, not wrong.
        Self::default().with(BUILT_IN).unwrap_or_default()
    }

    /// Returns these prices with another table over them, or what is wrong with that table.
    pub fn with(mut self, table: &str) -> Result<Self, String> {
        let table: Table = toml::from_str(table).map_err(|error| error.message().to_owned())?;
        if let Some((name, _)) = table.models.iter().find(|(_, price)| !price.is_sound()) {
            return Err(format!("the price of {name} is no amount of money"));
        }
        if table.web_search.is_some_and(|price| !is_amount(price)) {
            return Err("the price of web_search is no amount of money".to_owned());
        }
        self.date = table.as_of.unwrap_or(self.date);
        let models = table.models.into_iter().map(|(name, price)| (name.to_lowercase(), price.rated()));
        self.models.extend(models);
        self.web_search = table.web_search.or(self.web_search);
        for price in self.models.values_mut() {
            price.per_search = price.web_search.or(self.web_search).map(per_search);
        }
        Ok(self)
    }

    /// Returns a number that is another one where anything may cost something else. It is kept beside costs: whoever
    /// changes how they are computed changes it too.
    pub fn fingerprint(&self) -> u64 {
        const COMPUTED: u64 = 2;
        let models = self.models.iter();
        models.fold(COMPUTED, |print, (name, price)| price.fingerprint(mixed(print, mark(name))))
    }

    /// Returns how many models have a price.
    #[expect(clippy::len_without_is_empty, reason = "a table without models is of no use to anybody")]
    pub fn len(&self) -> usize {
        self.models.len()
    }

    /// Returns what a message cost, if its model has a price and its tokens are known.
    pub fn cost(&self, report: &UsageReport) -> Option<Usd> {
        self.of(report.model.as_deref()?)?.cost(report)
    }

    /// Returns how many times as much one model's words cost as another's, if both have a price.
    pub fn times(&self, dear: &str, cheap: &str) -> Option<f64> {
        let (dear, cheap) = (self.of(dear)?.output, self.of(cheap)?.output);
        (cheap > 0.0).then(|| dear / cheap)
    }

    /// Finds a model by its name: as it is, then without what providers put around it, then without its date.
    pub fn of(&self, model: &str) -> Option<&Price> {
        let model = model.trim().to_lowercase();
        if let Some(price) = self.models.get(&model) {
            return Some(price);
        }
        let name = bare(&model);
        self.models.get(name).or_else(|| self.models.get(undated(name)?))
    }
}

impl Price {
    /// Returns what a message cost, if its tokens are known.
    pub fn cost(&self, report: &UsageReport) -> Option<Usd> {
        let count = |count| report.tokens.get(count).unwrap_or(0);
        let told = report.tokens.get(Count::Input).or(report.tokens.get(Count::Output));
        told?;
        let (read, write) = (count(Count::CacheRead), count(Count::CacheWrite));
        let hour = report.hour_cache.min(write);
        let sent = count(Count::Input).saturating_add(read).saturating_add(write);
        // A total is of many requests; none of them need have been long.
        let is_long = |above: &Price| {
            sent > above.tokens.unwrap_or(LONG) && report.scope == super::fact::Scope::Message
        };
        let price = self.above.as_deref().filter(|above| is_long(above)).unwrap_or(self);
        let times = if report.is_fast { Some(self.fast?) } else { None };
        let rates = times.map_or(price.rates, |times| price.rates(times));
        let counts = [count(Count::Input), count(Count::Output), read, write - hour, hour];
        let parts = counts.into_iter().zip(rates);
        let millionths: u128 = parts.map(|(tokens, rate)| u128::from(tokens) * u128::from(rate)).sum();
        let searched = if report.searches == 0 { 0 } else { self.per_search? };
        let millionths = millionths + u128::from(report.searches) * u128::from(searched);
        // Rounded once, at the end: a hundred thousand messages must not drift.
        i64::try_from((millionths + 500) / 1_000).ok().map(Usd)
    }

    fn fingerprint(&self, print: u64) -> u64 {
        let Self { input, output, cache_read, cache_write, cache_write_1h, fast, above, tokens, .. } = self;
        let dollars = [Some(*input), Some(*output), *cache_read, *cache_write, *cache_write_1h, *fast];
        let numbers =
            dollars.into_iter().map(|price| price.map(f64::to_bits)).chain([*tokens, self.per_search]);
        // No price is minus nothing, and no count is that large.
        let print = numbers.fold(print, |print, number| mixed(print, number.unwrap_or(u64::MAX)));
        above.as_ref().map_or(mixed(print, 0), |above| above.fingerprint(mixed(print, 1)))
    }

    /// Returns it with what a token costs.
    fn rated(self) -> Self {
        let above = self.above.map(|above| Box::new(above.rated()));
        let price = Self { above, ..self };
        Self { rates: price.rates(1.0), ..price }
    }

    /// Returns what one token of each kind costs, if everything costs so many times as much.
    fn rates(&self, times: f64) -> [u64; 5] {
        let read = self.cache_read.unwrap_or(self.input);
        let write = self.cache_write.unwrap_or(self.input);
        let hour = self.cache_write_1h.unwrap_or(2.0 * self.input);
        [self.input, self.output, read, write, hour].map(|price| per_token(price * times))
    }

    fn is_sound(&self) -> bool {
        let own = [Some(self.input), Some(self.output), self.cache_read, self.cache_write];
        let own = own.into_iter().chain([self.cache_write_1h, self.fast, self.web_search]);
        own.flatten().all(is_amount) && self.above.as_ref().is_none_or(|above| above.is_sound())
    }
}

fn is_amount(price: f64) -> bool {
    price.is_finite() && (0.0..1e6).contains(&price)
}

/// Returns what one search costs, of what a thousand do.
fn per_search(price: f64) -> u64 {
    /// As many thousands are a million.
    const THOUSANDS: f64 = 1e3;
    per_token(price * THOUSANDS)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked when it was read")]
fn per_token(price: f64) -> u64 {
    (price * PER_TOKEN).round() as u64
}

/// Returns a model's own name: `us.anthropic.claude-x-v1:0`, `anthropic/claude-x` and `claude-x[1m]` are one.
fn bare(model: &str) -> &str {
    let model = model.rsplit('/').next().unwrap_or(model);
    let model = model.split_once("anthropic.").map_or(model, |(_, name)| name);
    let model = model.split(['[', '@', ':']).next().unwrap_or(model);
    let model = model.strip_suffix("-v1").or_else(|| model.strip_suffix("-v2")).unwrap_or(model);
    model.strip_suffix("-latest").unwrap_or(model)
}

/// Returns a name without the date at its end: `-20251001` or `-2025-10-01`.
fn undated(name: &str) -> Option<&str> {
    let digits =
        |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    let (rest, last) = name.rsplit_once('-')?;
    if digits(last, 8) {
        return Some(rest);
    }
    let (rest, month) = rest.rsplit_once('-')?;
    let (rest, year) = rest.rsplit_once('-')?;
    (digits(last, 2) && digits(month, 2) && digits(year, 4)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::model::fact::Scope;
    use crate::model::usage::Tokens;

    fn report(model: &str, counts: [u64; 4], hour_cache: u64) -> UsageReport {
        let [input, output, read, write] = counts;
        let tokens = Tokens::default()
            .with(Count::Input, input)
            .with(Count::Output, output)
            .with(Count::CacheRead, read)
            .with(Count::CacheWrite, write);
        UsageReport { model: Some(model.into()), tokens, hour_cache, ..UsageReport::default() }
    }

    fn dollars(model: &str, counts: [u64; 4], hour_cache: u64) -> Option<f64> {
        Prices::built_in().cost(&report(model, counts, hour_cache)).map(Usd::dollars)
    }

    #[test]
    fn a_table_that_says_anything_else_has_another_fingerprint() {
        let of = |table: &str| Prices::default().with(table).unwrap().fingerprint();
        let tables = [
            "",
            "[models.a]\ninput = 1\noutput = 2",
            "[models.b]\ninput = 1\noutput = 2",
            "[models.a]\ninput = 2\noutput = 1",
            "[models.a]\ninput = 1\noutput = 2\ncache_read = 0",
            "[models.a]\ninput = 1\noutput = 2\ncache_write = 0",
            "[models.a]\ninput = 1\noutput = 2\ncache_write_1h = 0",
            "[models.a]\ninput = 1\noutput = 2\nfast = 2",
            "[models.a]\ninput = 1\noutput = 2\nweb_search = 2",
            "web_search = 3\n[models.a]\ninput = 1\noutput = 2",
            "[models.a]\ninput = 1\noutput = 2\n[models.b]\ninput = 1\noutput = 2",
            "[models.a]\ninput = 1\noutput = 2\n[models.a.above]\ninput = 1\noutput = 2",
            "[models.a]\ninput = 1\noutput = 2\n[models.a.above]\ninput = 1\noutput = 2\ntokens = 9",
        ];
        let prints: std::collections::BTreeSet<u64> = tables.iter().map(|table| of(table)).collect();
        assert_eq!(prints.len(), tables.len());
        assert_eq!(of(tables[1]), of(&format!("as_of = \"2026-01-01\"\n{}", tables[1])));
        assert_eq!(Prices::built_in().fingerprint(), Prices::built_in().fingerprint());
    }

    #[test]
    fn every_count_has_its_own_price() {
        // As the tool itself adds it up: 1200 in, 150 out, 8000 read, 2000 written.
        assert_eq!(dollars("claude-opus-5-5", [1200, 150, 8000, 2000], 0), Some(0.0194));
        let kept_for_an_hour = dollars("claude-opus-5-5", [0, 0, 0, 1_000_000], 1_000_000);
        assert_eq!(kept_for_an_hour, Some(8.0));
        assert_eq!(dollars("claude-haiku-4-5", [0, 0, 0, 1_000_000], 400_000), Some(0.6 * 1.25 + 0.4 * 2.0));
        // No price of its own: as other input.
        assert_eq!(dollars("gpt-5.1", [0, 0, 0, 1_000_000], 0), Some(1.25));
    }

    #[rstest]
    #[case("claude-haiku-4-5-20251001")]
    #[case("anthropic/claude-haiku-4-5")]
    #[case("us.anthropic.claude-haiku-4-5-20251001-v1:0")]
    #[case("openrouter/anthropic/claude-haiku-4-5")]
    #[case("claude-haiku-4-5@20251001")]
    #[case("claude-haiku-4-5[1m]")]
    #[case("Claude-Haiku-4-5")]
    #[case("claude-haiku-4-5-2025-10-01")]
    #[case("claude-haiku-4-5-latest")]
    fn a_name_is_found_whatever_is_put_around_it(#[case] name: &str) {
        assert_eq!(dollars(name, [1_000_000, 0, 0, 0], 0), Some(1.0));
    }

    #[rstest]
    #[case("claude-haiku-4")]
    #[case("claude-haiku-4-5-mini")]
    #[case("<synthetic>")]
    #[case("")]
    fn an_unknown_model_has_no_price_and_is_not_guessed(#[case] name: &str) {
        assert_eq!(dollars(name, [1_000_000, 0, 0, 0], 0), None);
    }

    #[test]
    fn a_long_request_is_dearer_and_a_session_of_short_ones_is_not() {
        assert_eq!(dollars("claude-sonnet-4-5", [100_000, 0, 100_000, 0], 0), Some(0.33));
        assert_eq!(dollars("claude-sonnet-4-5", [100_000, 1000, 100_001, 0], 0), Some(0.682_500_6));
        let total =
            UsageReport { scope: Scope::Total, ..report("claude-sonnet-4-5", [1_000_000, 0, 0, 0], 0) };
        assert_eq!(Prices::built_in().cost(&total), Some(Usd::from_dollars(3.0)));
    }

    #[test]
    fn a_table_of_ones_own_goes_over_the_built_in_one() {
        let own = "as_of = \"2027-01-01\"\n[models]\n\"My-Model\" = { input = 1, output = 2 }\n";
        let prices = Prices::built_in().with(own).unwrap();
        assert_eq!(prices.date, "2027-01-01");
        assert_eq!(
            prices.cost(&report("my-model", [1_000_000, 1_000_000, 0, 0], 0)),
            Some(Usd::from_dollars(3.0))
        );
        assert!(prices.cost(&report("claude-opus-5-5", [1, 0, 0, 0], 0)).is_some());
        for wrong in
            ["[models]\nx = { input = -1, output = 0 }", "[models]\nx = { input = nan, output = 0 }", "x"]
        {
            assert!(Prices::built_in().with(wrong).is_err(), "{wrong}");
        }
    }

    #[rstest]
    #[case("gpt-5.5", 272_000, 5.0, 10.0)]
    #[case("claude-haiku-5-5", 100_000, 0.1, 0.5)]
    #[case("gemini-2.5-pro", 200_000, 1.25, 2.5)]
    fn each_model_says_from_where_on_a_request_is_long(
        #[case] model: &str,
        #[case] tokens: u32,
        #[case] short: f64,
        #[case] long: f64,
    ) {
        let cost = |tokens: u32| Prices::built_in().cost(&report(model, [tokens.into(), 0, 0, 0], 0));
        let dollars = |tokens: u32, price: f64| Some(Usd::from_dollars(price / 1e6 * f64::from(tokens)));
        assert_eq!(cost(tokens), dollars(tokens, short));
        assert_eq!(cost(tokens + 1), dollars(tokens + 1, long));
    }

    #[test]
    fn the_fast_mode_is_dearer_and_where_nobody_knows_by_how_much_there_is_no_price() {
        let fast = |model| UsageReport { is_fast: true, ..report(model, [1_000_000, 0, 0, 0], 0) };
        assert_eq!(Prices::built_in().cost(&fast("claude-opus-5-5")), Some(Usd::from_dollars(8.0)));
        assert_eq!(dollars("claude-opus-5-5", [1_000_000, 0, 0, 0], 0), Some(4.0));
        assert_eq!(Prices::built_in().cost(&fast("claude-haiku-4-5")), None);
    }

    #[test]
    fn a_search_costs_what_the_model_says_else_what_the_table_does_else_nobody_knows() {
        let searched =
            |searches| UsageReport { searches, ..report("claude-opus-5-5", [1_000_000, 0, 0, 0], 0) };
        let built_in = Prices::built_in();
        assert_eq!(built_in.cost(&searched(0)), Some(Usd::from_dollars(4.0)));
        assert_eq!(built_in.cost(&searched(7)), Some(Usd::from_dollars(4.07)));
        let dearer = built_in.clone().with("web_search = 20").unwrap();
        assert_eq!(dearer.cost(&searched(7)), Some(Usd::from_dollars(4.14)));
        let own = "[models]\n\"claude-opus-5-5\" = { input = 1, output = 1, web_search = 30 }";
        assert_eq!(built_in.with(own).unwrap().cost(&searched(1000)), Some(Usd::from_dollars(31.0)));
        let alone =
            Prices::default().with("[models]\n\"claude-opus-5-5\" = { input = 1, output = 1 }").unwrap();
        assert_eq!(alone.cost(&searched(0)), Some(Usd::from_dollars(1.0)));
        assert_eq!(alone.cost(&searched(1)), None);
        assert!(Prices::built_in().with("web_search = -1").is_err());
    }

    #[test]
    fn tokens_that_nobody_told_cost_an_unknown_amount() {
        let unknown = UsageReport { model: Some("gpt-5.5".into()), ..UsageReport::default() };
        assert_eq!(Prices::built_in().cost(&unknown), None);
    }
}
