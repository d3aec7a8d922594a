//! Durations, tokens and money in the few characters that a row has. What is not known is `–`, never 0;
//! what is a lower bound says so. What is known is never `–`: where room is short it is told less exactly.

use std::time::Duration;

use super::cells::width;
use crate::model::time::Stamp;
use crate::model::usage::{Basis, Spend};

/// Shown for what nobody told.
pub const UNKNOWN: &str = "–";

/// So many seconds.
const CENTURY: u64 = 36_525 * 86_400;

/// Returns a duration in at most two units, and six letters.
pub fn duration(span: Duration) -> String {
    let seconds = span.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{minutes}m{:02}s", seconds % 60),
        3600..86_400 => format!("{hours}h{:02}m", minutes % 60),
        86_400..8_640_000 => format!("{days}d{:02}h", hours % 24),
        // An hour more or less is nothing then, and a column has room for six letters.
        8_640_000..CENTURY => format!("{days}d"),
        // Only a clock that is wrong makes these.
        _ => ">100y".into(),
    }
}

/// Returns the time of day, in UTC.
pub fn time_of_day(at: Stamp) -> String {
    let seconds = at.millis().div_euclid(1000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Returns when it was: the time where it was today, else month, day and time.
pub fn moment(at: Stamp, now: Stamp) -> String {
    const DAY: i64 = 86_400_000;
    let time = time_of_day(at);
    if at.millis().div_euclid(DAY) == now.millis().div_euclid(DAY) {
        return time;
    }
    let whole = at.to_string();
    let date = whole.split_once('T').and_then(|(date, _)| date.split_once('-')).map_or("", |(_, date)| date);
    format!("{date} {}", time.rsplit_once(':').map_or("", |(short, _)| short))
}

/// Returns a count of tokens, rounded down to a tenth of its unit, in at most six letters.
pub fn tokens(count: u64) -> String {
    let tenths = |unit: u64, name: &str| format!("{}.{}{name}", count / unit, count % unit / (unit / 10));
    match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => tenths(1000, "K"),
        1_000_000..1_000_000_000 => tenths(1_000_000, "M"),
        1_000_000_000..1_000_000_000_000 => tenths(1_000_000_000, "G"),
        1_000_000_000_000..1_000_000_000_000_000 => tenths(1_000_000_000_000, "T"),
        // Only a file that tells nonsense makes these.
        _ => ">999T".into(),
    }
}

/// Reads a number as people type it: `1.5`, `$2`, `10k`, `3M`.
pub fn number(text: &str) -> Option<f64> {
    let text = text.trim().trim_start_matches('$').to_ascii_lowercase();
    let (digits, factor) = match text.strip_suffix(['k', 'm', 'g']) {
        Some(digits) => (
            digits,
            if text.ends_with('k') {
                1e3
            } else if text.ends_with('m') {
                1e6
            } else {
                1e9
            },
        ),
        None => (text.as_str(), 1.0),
    };
    digits.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number * factor)
}

/// Returns the tokens that were spent, where anybody told.
pub fn spent_tokens(spend: &Spend) -> String {
    let sum = spend.tokens();
    if sum.is_known() { tokens(sum.total()) } else { UNKNOWN.into() }
}

/// Shown where something was spent that has no price.
const NO_PRICE: &str = "no price";
/// The same where there is no room for words.
const NO_PRICE_SHORT: &str = "$?";

/// Billionths, as money is counted.
const DOLLAR: i64 = 1_000_000_000;
const CENT: i64 = DOLLAR / 100;

/// Returns what was spent: an amount, a lower bound, or that there is no price.
pub fn cost(spend: &Spend) -> String {
    match spend.basis() {
        Basis::Nothing => UNKNOWN.into(),
        Basis::Whole => in_cents(spend.cost.0, Rounding::Nearest),
        Basis::Partial => at_least(spend.cost.0, in_cents(spend.cost.0, Rounding::Down)),
        Basis::NoPrice => NO_PRICE.into(),
    }
}

/// Returns what was spent in at most so many cells: as exactly as fits, and always something that is true.
///
/// First the cents go, then it is told in thousands: `$150.00`, `$150`, `$1.2k`, `$12k`, `$1.2M`. A lower bound stays one.
/// `$?` has no price, `>$9` is more than fits, and `$` says only that it cost something.
pub fn cost_within(spend: &Spend, room: usize) -> String {
    let exact = cost(spend);
    if width(&exact) <= room {
        return exact;
    }
    let fits = |text: &String| width(text) <= room;
    let fewest = || ["$", ""].into_iter().find(|text| width(text) <= room).unwrap_or_default().to_owned();
    match spend.basis() {
        Basis::Nothing => String::new(),
        Basis::NoPrice => [NO_PRICE_SHORT, "?"].map(str::to_owned).into_iter().find(fits).unwrap_or_default(),
        Basis::Whole => in_short(spend.cost.0, Rounding::Nearest).find(fits).unwrap_or_else(fewest),
        Basis::Partial => {
            let short = in_short(spend.cost.0, Rounding::Down);
            let marked = short.map(|text| at_least(spend.cost.0, text));
            marked.into_iter().find(fits).unwrap_or_else(fewest)
        }
    }
}

/// Marks an amount as a lower bound. What is too small to be told is more than nothing all the same.
fn at_least(amount: i64, text: String) -> String {
    match &*text {
        "$0.00" | "$0" if amount > 0 => format!(">{text}"),
        // That it is more already says that it is not all.
        _ if text.starts_with('>') => text,
        _ => format!("≥{text}"),
    }
}

/// A lower bound must not be rounded up: it would be none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Nearest,
    Down,
}

impl Rounding {
    /// Returns how many units an amount is.
    fn count(self, amount: i64, unit: i64) -> i64 {
        let more = match self {
            Self::Nearest => unit / 2,
            Self::Down => 0,
        };
        amount.saturating_add(more).div_euclid(unit)
    }
}

fn in_cents(amount: i64, rounding: Rounding) -> String {
    match (amount, rounding) {
        (0, _) => "$0.00".into(),
        (..CENT, Rounding::Nearest) => "<$0.01".into(),
        // Less than nothing is nonsense, and no bound.
        (_, _) => {
            let cents = rounding.count(amount, CENT).max(0);
            format!("${}.{:02}", cents / 100, cents % 100)
        }
    }
}

/// Returns an amount without cents, the most exact first.
fn in_short(amount: i64, rounding: Rounding) -> impl Iterator<Item = String> {
    const UNITS: [(i64, &str); 3] = [(DOLLAR * 1000, "k"), (DOLLAR * 1_000_000, "M"), (DOLLAR * DOLLAR, "G")];
    let dollars = match (amount, rounding) {
        (0, _) => "$0".into(),
        (..DOLLAR, Rounding::Nearest) => "<$1".into(),
        (_, _) => format!("${}", rounding.count(amount, DOLLAR).max(0)),
    };
    let in_units = UNITS.into_iter().flat_map(move |(unit, name)| {
        let (tenths, whole) = (rounding.count(amount, unit / 10), rounding.count(amount, unit));
        // From a hundred on a tenth says nothing; a thousand of a unit is one of the next.
        let tenths = (10..1000).contains(&tenths).then(|| format!("${}.{}{name}", tenths / 10, tenths % 10));
        let whole = (1..1000).contains(&whole).then(|| format!("${whole}{name}"));
        [tenths, whole].into_iter().flatten()
    });
    let more = (amount > 9 * DOLLAR).then(|| ">$9".into());
    std::iter::once(dollars).chain(in_units).chain(more)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::model::usage::{Count, Tokens, Usd};

    #[rstest]
    #[case(0, "0s")]
    #[case(59, "59s")]
    #[case(154, "2m34s")]
    #[case(3_725, "1h02m")]
    #[case(100_000, "1d03h")]
    #[case(8_639_999, "99d23h")]
    #[case(8_640_000, "100d")]
    #[case(31_968_000, "370d")]
    #[case(u64::MAX, ">100y")]
    fn durations_have_two_units_unless_they_are_very_long(#[case] seconds: u64, #[case] shown: &str) {
        assert_eq!(duration(Duration::from_secs(seconds)), shown);
    }

    #[rstest]
    #[case(999, "999")]
    #[case(1999, "1.9K")]
    #[case(38_250, "38.2K")]
    #[case(1_999_999, "1.9M")]
    #[case(1_500_000_000_000, "1.5T")]
    #[case(u64::MAX, ">999T")]
    fn tokens_are_rounded_down(#[case] count: u64, #[case] shown: &str) {
        assert_eq!(tokens(count), shown);
    }

    #[test]
    fn a_moment_of_another_day_says_which() {
        let at = |text| Stamp::parse(text).unwrap();
        let now = at("2026-11-16T12:00:00Z");
        assert_eq!(moment(at("2026-11-16T04:05:06Z"), now), "04:05:06");
        assert_eq!(moment(at("2026-11-15T23:59:59Z"), now), "11-15 23:59");
    }

    #[test]
    fn money_that_is_not_known_is_never_zero() {
        let tokens = Tokens::default().with(Count::Input, 5);
        let priced = |dollars| Spend::message(tokens, Some(Usd::from_dollars(dollars)));
        assert_eq!(cost(&Spend::default()), "–");
        assert_eq!(cost(&Spend::message(tokens, None)), "no price");
        assert_eq!(cost(&priced(0.0)), "$0.00");
        assert_eq!(cost(&priced(0.001)), "<$0.01");
        let mut some = priced(0.421);
        some.add(&Spend::message(tokens, None));
        assert_eq!(cost(&some), "≥$0.42");
    }

    fn partial(dollars: f64) -> Spend {
        let mut some = whole(dollars);
        some.add(&Spend::message(Tokens::default().with(Count::Input, 5), None));
        some
    }

    fn whole(dollars: f64) -> Spend {
        Spend::message(Tokens::default().with(Count::Input, 5), Some(Usd::from_dollars(dollars)))
    }

    #[rstest]
    #[case(whole(150.0), ["$150.00", "$150", "$150", "$150", ">$9", "$", "$"])]
    #[case(whole(1000.0), ["$1000", "$1000", "$1000", "$1k", "$1k", "$", "$"])]
    #[case(whole(12_345.0), ["$12345", "$12345", "$12k", "$12k", ">$9", "$", "$"])]
    #[case(whole(123_456.0), ["$123456", "$123k", "$123k", ">$9", ">$9", "$", "$"])]
    #[case(whole(999_960.0), ["$999960", "$1.0M", "$1.0M", "$1M", "$1M", "$", "$"])]
    #[case(whole(0.421), ["$0.42", "$0.42", "$0.42", "<$1", "<$1", "$", "$"])]
    #[case(whole(0.001), ["<$0.01", "<$0.01", "<$1", "<$1", "<$1", "$", "$"])]
    #[case(whole(0.0), ["$0.00", "$0.00", "$0.00", "$0", "$0", "$0", "$"])]
    #[case(partial(12.0), ["≥$12.00", "≥$12", "≥$12", "≥$12", ">$9", "$", "$"])]
    #[case(partial(1_999.99), ["≥$1999", "≥$1999", "≥$1k", "≥$1k", ">$9", "$", "$"])]
    #[case(partial(0.001), [">$0.00", ">$0.00", ">$0", ">$0", ">$0", "$", "$"])]
    #[case(partial(0.0), ["≥$0.00", "≥$0.00", "≥$0", "≥$0", "≥$0", "$", "$"])]
    fn money_that_does_not_fit_is_told_less_exactly(#[case] spend: Spend, #[case] shown: [&str; 7]) {
        for (room, shown) in (1..=7).rev().zip(shown) {
            assert_eq!(cost_within(&spend, room), shown, "in {room} cells");
        }
    }

    #[test]
    fn what_has_no_price_says_so_in_two_cells() {
        let spend = Spend::message(Tokens::default().with(Count::Input, 5), None);
        assert_eq!(cost_within(&spend, 8), "no price");
        assert_eq!(cost_within(&spend, 7), "$?");
        assert_eq!(cost_within(&spend, 1), "?");
    }

    /// Returns which amounts a text may stand for, in dollars.
    fn stands_for(text: &str) -> std::ops::RangeInclusive<f64> {
        let (mark, rest) = text.split_at(text.find('$').unwrap());
        let unit = match rest.chars().last().unwrap() {
            'k' => 1e3,
            'M' => 1e6,
            'G' => 1e9,
            _ => 1.0,
        };
        let digits = rest.trim_start_matches('$').trim_end_matches(['k', 'M', 'G']);
        if digits.is_empty() {
            return 0.0..=f64::MAX;
        }
        let places = digits.split_once('.').map_or(0, |(_, places)| places.len());
        let step = unit / 10f64.powi(i32::try_from(places).unwrap());
        let told = digits.parse::<f64>().unwrap() * unit;
        // Dollars as a floating number are not exact.
        let slack = told * 1e-9 + 1e-9;
        match mark {
            "<" => f64::MIN..=told,
            ">" => told..=f64::MAX,
            "≥" => told - slack..=told + step + slack,
            _ => told - step / 2.0 - slack..=told + step / 2.0 + slack,
        }
    }

    proptest! {
        #[test]
        fn any_amount_in_any_room_is_something_true(
            nanos in prop_oneof![0..i64::MAX, 0..20_000_000_000_000_i64, 0..2_000_000_000_i64],
            unpriced in any::<bool>(),
            room in 0usize..14,
        ) {
            let tokens = Tokens::default().with(Count::Input, 5);
            let mut spend = Spend::message(tokens, Some(Usd(nanos)));
            if unpriced {
                spend.add(&Spend::message(tokens, None));
            }
            let shown = cost_within(&spend, room);
            prop_assert!(width(&shown) <= room, "{shown:?} in {room} cells");
            prop_assert_ne!(&shown, UNKNOWN, "it is known");
            prop_assert_eq!(shown.is_empty(), room == 0);
            if room > 0 {
                let dollars = spend.cost.dollars();
                prop_assert!(stands_for(&shown).contains(&dollars), "{shown} for {dollars}");
            }
            if unpriced && room >= 6 {
                prop_assert!(shown.starts_with(['≥', '>']), "{shown} is not all");
            }
        }

        #[test]
        fn every_count_and_every_duration_fits_six_cells(number in any::<u64>()) {
            prop_assert!(width(&tokens(number)) <= 6, "{}", tokens(number));
            let span = duration(Duration::from_secs(number));
            prop_assert!(width(&span) <= 6, "{span}");
        }
    }
}
