//! Moments, as the journal writes them: RFC 3339 in UTC with milliseconds.
//!
//! Nothing here reads a clock: `now` is always an argument.

use std::cmp::Ordering;
use std::fmt;
use std::num::NonZeroI64;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// A moment, in milliseconds since the epoch.
///
/// Kept with its sign bit flipped, so that the one number a clamped moment never has is 0: an
/// `Option<Stamp>` then takes 8 bytes, not 16, and a node has many of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp(NonZeroI64);

impl Ord for Stamp {
    fn cmp(&self, other: &Self) -> Ordering {
        self.millis().cmp(&other.millis())
    }
}

impl PartialOrd for Stamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What jiff can print; moments outside are clamped, since a foreign file may hold any number.
const EARLIEST: i64 = -62_135_596_800_000;
const LATEST: i64 = 253_402_207_199_999;

impl Stamp {
    /// Makes a moment from milliseconds since the epoch, kept within the years 1 to 9999.
    pub fn from_millis(millis: i64) -> Self {
        let flipped = millis.clamp(EARLIEST, LATEST) ^ i64::MIN;
        Self(NonZeroI64::new(flipped).unwrap_or(NonZeroI64::MIN))
    }

    /// Returns milliseconds since the epoch.
    pub fn millis(self) -> i64 {
        self.0.get() ^ i64::MIN
    }

    /// Returns the moment `span` later.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.millis().saturating_add(millis))
    }

    /// Returns the moment so much earlier.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.millis().saturating_sub(millis))
    }

    /// Returns the time from `earlier` to this moment; zero if it is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.millis() - earlier.millis()).unwrap_or(0))
    }

    /// Reads a moment in any ISO 8601 form, with or without zone (then UTC); `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(stamp) = Self::parse_own(text.as_bytes()) {
            return Some(stamp);
        }
        let text = text.trim();
        let at = text.parse::<Timestamp>().ok().or_else(|| {
            let civil: DateTime = text.parse().ok()?;
            civil.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
        })?;
        Some(Self::from_millis(at.as_millisecond()))
    }

    /// Reads exactly the form that the journal writes, `2026-11-16T04:22:07.123Z`: ten times faster than the
    /// general parser, and nearly every moment that is read has it.
    pub fn parse_own(text: &[u8]) -> Option<Self> {
        parse_own(text)
    }

    /// Reads a number from outside: seconds if it is too small for milliseconds of this century.
    pub fn from_number(number: f64) -> Option<Self> {
        /// Below this a number of milliseconds would lie before 1973: it means seconds.
        const SMALLEST_MILLIS: f64 = 1e11;
        if !number.is_finite() || number <= 0.0 {
            return None;
        }
        let millis = if number < SMALLEST_MILLIS { number * 1000.0 } else { number };
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and from_millis clamps")]
        Some(Self::from_millis(millis as i64))
    }
}

fn parse_own(text: &[u8]) -> Option<Stamp> {
    let &[
        y1,
        y2,
        y3,
        y4,
        b'-',
        mo1,
        mo2,
        b'-',
        d1,
        d2,
        b'T',
        h1,
        h2,
        b':',
        mi1,
        mi2,
        b':',
        s1,
        s2,
        b'.',
        ms1,
        ms2,
        ms3,
        b'Z',
    ] = text
    else {
        return None;
    };
    let number = |digits: &[u8]| {
        digits
            .iter()
            .try_fold(0i64, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
    };
    let (year, month, day) = (number(&[y1, y2, y3, y4])?, number(&[mo1, mo2])?, number(&[d1, d2])?);
    let (hour, minute, second) = (number(&[h1, h2])?, number(&[mi1, mi2])?, number(&[s1, s2])?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let month_length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let fits = year >= 1
        && (1..=12).contains(&month)
        && (1..=month_length).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !fits {
        return None;
    }
    let days = days_from_civil(year, month, day);
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(Stamp::from_millis(seconds * 1000 + number(&[ms1, ms2, ms3])?))
}

/// Days since 1970-01-01 of a date in the Gregorian calendar (Hinnant's algorithm).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The year, month and day that begin so many days after 1970-01-01 (Hinnant's algorithm).
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let nth_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * nth_month + 2) / 5 + 1;
    let month = if nth_month < 10 { nth_month + 3 } else { nth_month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// The form that the journal writes, and how many bytes it has: `2026-11-16T04:22:07.123Z`.
const FORM: [u8; 24] = *b"0000-00-00T00:00:00.000Z";

impl Stamp {
    /// Returns it as the journal writes it: every line of a journal and every node of a tree has some, and the general
    /// printer takes ten times as long.
    fn written(self) -> [u8; FORM.len()] {
        let (days, millis) = (self.millis().div_euclid(86_400_000), self.millis().rem_euclid(86_400_000));
        let (year, month, day) = civil_from_days(days);
        let (seconds, millis) = (millis / 1_000, millis % 1_000);
        let parts = [
            (year, 0..4),
            (month, 5..7),
            (day, 8..10),
            (seconds / 3_600, 11..13),
            (seconds / 60 % 60, 14..16),
            (seconds % 60, 17..19),
            (millis, 20..23),
        ];
        let mut text = FORM;
        for (mut number, place) in parts {
            for digit in text.get_mut(place).unwrap_or_default().iter_mut().rev() {
                *digit += (number % 10).to_le_bytes()[0];
                number /= 10;
            }
        }
        text
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.written()).unwrap_or_default())
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(str::from_utf8(&self.written()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Stamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a moment: RFC 3339 text, or a number of seconds or milliseconds")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Stamp, E> {
                Stamp::parse(text).ok_or_else(|| E::custom(format!("{text:?} is not a moment")))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Stamp, E> {
                #[expect(clippy::cast_precision_loss, reason = "a moment needs 42 bits")]
                self.visit_f64(number as f64)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Stamp, E> {
                #[expect(clippy::cast_precision_loss, reason = "a moment needs 42 bits")]
                self.visit_f64(number as f64)
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Stamp, E> {
                Stamp::from_number(number).ok_or_else(|| E::custom(format!("{number} is not a moment")))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("2025-12-29T10:00:00Z", Some(1_767_002_400_000))]
    #[case("2025-12-29T10:00:00.250Z", Some(1_767_002_400_250))]
    #[case("2025-12-29T11:00:00+01:00", Some(1_767_002_400_000))]
    #[case("2025-12-29T10:00:00", Some(1_767_002_400_000))]
    #[case("2025-12-29 10:00:00", Some(1_767_002_400_000))]
    #[case("2025-02-29T10:00:00.000Z", None)]
    #[case("$(date -u)", None)]
    #[case("", None)]
    fn reads_the_forms_that_tools_write(#[case] text: &str, #[case] millis: Option<i64>) {
        assert_eq!(Stamp::parse(text).map(Stamp::millis), millis);
    }

    #[test]
    fn a_small_number_means_seconds() {
        assert_eq!(Stamp::from_number(1_735_460_684.0), Some(Stamp::from_millis(1_735_460_684_000)));
        assert_eq!(Stamp::from_number(1_770_534_012_191.0), Some(Stamp::from_millis(1_770_534_012_191)));
        assert_eq!(Stamp::from_number(f64::NAN), None);
    }

    proptest! {
        #[test]
        fn print_and_parse_agree(millis in any::<i64>()) {
            let stamp = Stamp::from_millis(millis);
            prop_assert_eq!(Stamp::parse(&stamp.to_string()), Some(stamp));
        }

        #[test]
        fn it_is_printed_as_by_the_general_printer(millis in prop_oneof![any::<i64>(), EARLIEST..=LATEST]) {
            let stamp = Stamp::from_millis(millis);
            let general = Timestamp::from_millisecond(stamp.millis()).unwrap();
            prop_assert_eq!(stamp.to_string(), format!("{general:.3}"));
        }

        #[test]
        fn the_fast_parser_agrees_with_the_general_one(
            year in 1i16..=9998, month in 0u8..14, day in 0u8..33, hour in 0u8..25, ms in 0u16..1000,
        ) {
            let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:59:07.{ms:03}Z");
            let general = text.parse::<Timestamp>().ok().map(|at| Stamp::from_millis(at.as_millisecond()));
            prop_assert_eq!(parse_own(text.as_bytes()), general);
        }
    }
}
