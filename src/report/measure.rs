//! Durations, tokens and money in the few characters that a row has. What is not known is `–`, never 0;
//! what is a lower bound says so.

use std::time::Duration;

use crate::model::time::Stamp;
use crate::model::usage::{Basis, Spend};

/// Shown for what nobody told.
pub const UNKNOWN: &str = "–";

/// Returns a duration in at most two units.
pub fn duration(span: Duration) -> String {
    let seconds = span.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{minutes}m{:02}s", seconds % 60),
        3600..86_400 => format!("{hours}h{:02}m", minutes % 60),
        86_400..8_640_000 => format!("{days}d{:02}h", hours % 24),
        // An hour more or less is nothing then, and a column has room for six letters.
        _ => format!("{days}d"),
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

/// Returns a count of tokens, rounded down to a tenth of its unit.
pub fn tokens(count: u64) -> String {
    let tenths = |unit: u64, name: &str| format!("{}.{}{name}", count / unit, count % unit / (unit / 10));
    match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => tenths(1000, "K"),
        1_000_000..1_000_000_000 => tenths(1_000_000, "M"),
        _ => tenths(1_000_000_000, "G"),
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

/// Returns what was spent: an amount, a lower bound, or that there is no price.
pub fn cost(spend: &Spend) -> String {
    let dollars = spend.cost.dollars();
    let amount = if dollars != 0.0 && dollars < 0.01 { "<$0.01".into() } else { format!("${dollars:.2}") };
    match spend.basis() {
        Basis::Nothing => UNKNOWN.into(),
        Basis::Whole => amount,
        Basis::Partial => format!("≥{}", amount.trim_start_matches('<')),
        Basis::NoPrice => "no price".into(),
    }
}

#[cfg(test)]
mod tests {
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
    fn durations_have_two_units_unless_they_are_very_long(#[case] seconds: u64, #[case] shown: &str) {
        assert_eq!(duration(Duration::from_secs(seconds)), shown);
    }

    #[rstest]
    #[case(999, "999")]
    #[case(1999, "1.9K")]
    #[case(38_250, "38.2K")]
    #[case(1_999_999, "1.9M")]
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
}
