//! When a provider that takes no more says that it takes work again: read from its own words.
//!
//! Every tool prints them differently, and most print them only as text. What cannot be read is no limit with an end,
//! and the failure stays a failure.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::model::time::Stamp;

/// What tells that a text speaks of a limit at all, in small letters.
const LIMITS: [&str; 14] = [
    "429",
    "rate limit",
    "rate_limit",
    "ratelimit",
    "usage limit",
    "usage_limit",
    "quota",
    "limit reached",
    "limit exceeded",
    "hit your limit",
    "limit will reset",
    "too many requests",
    "resource_exhausted",
    "exhausted your capacity",
];

/// What stands before a time, in small letters; behind those with `true` a number alone is in seconds.
const CUES: [(&str, bool); 18] = [
    ("try again in", false),
    ("retry in", false),
    ("try again at", false),
    ("try again after", false),
    ("retry after", true),
    ("retrying after", false),
    ("retry-after", true),
    ("retry_after", true),
    ("retrydelay", false),
    ("reset after", false),
    ("resets_in_seconds", true),
    ("resets_at", false),
    ("resetsat", false),
    ("resets in", false),
    ("reset in", false),
    ("reset at", false),
    ("resets", false),
    ("limit reached|", false),
];

/// A limit that ends later than this is not believed: no provider's is longer.
const LONGEST: Duration = Duration::from_hours(32 * 24);
/// Numbers from here on are moments, in seconds since the epoch.
const FIRST_EPOCH: f64 = 1e9;
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Returns when the limit that a text tells of is over, if it tells of one and of its end. `now` is when it was said,
/// `zone` that of a clock whose zone is not said.
pub fn until(text: &str, now: Stamp, zone: &TimeZone) -> Option<Stamp> {
    let text = text.to_ascii_lowercase();
    if !LIMITS.iter().any(|word| text.contains(word)) {
        return None;
    }
    let near = |at: &Stamp| *at > now && at.since(now) <= LONGEST;
    let after =
        |cue: &str| text.match_indices(cue).filter_map(|(at, cue)| text.get(at + cue.len()..)).collect();
    CUES.iter().find_map(|&(cue, is_seconds)| {
        let behind: Vec<&str> = after(cue);
        behind.into_iter().find_map(|rest| moment(rest, is_seconds, now, zone).filter(near))
    })
}

fn moment(rest: &str, is_seconds: bool, now: Stamp, zone: &TimeZone) -> Option<Stamp> {
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || "\"':=\\".contains(c));
    let rest =
        ["at ", "on ", "in ", "about "].iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
    let seconds = || {
        let (count, _) = number(rest)?;
        match count {
            count if count >= FIRST_EPOCH => Stamp::from_number(count),
            count if is_seconds => Some(now.plus(Duration::try_from_secs_f64(count).ok()?)),
            _ => None,
        }
    };
    span(rest)
        .map(|span| now.plus(span))
        .or_else(|| iso(rest))
        .or_else(|| clock(rest, None, now, zone))
        .or_else(|| dated(rest, now, zone))
        .or_else(seconds)
}

/// Reads `2h 15m`, `3 days 4 hours`, `34.07s`, `500ms`.
fn span(mut rest: &str) -> Option<Duration> {
    let mut whole: Option<Duration> = None;
    loop {
        let trimmed = rest.trim_start_matches([' ', ',']);
        let trimmed = trimmed.strip_prefix("and ").unwrap_or(trimmed);
        let Some((count, after)) = number(trimmed) else { return whole };
        let (unit, after) = word(after.trim_start_matches(' '));
        let seconds = match unit {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            "w" | "week" | "weeks" => 604_800.0,
            _ => return whole,
        };
        let part = Duration::try_from_secs_f64(count * seconds).ok()?;
        whole = Some(whole.unwrap_or_default().checked_add(part)?);
        rest = after;
    }
}

/// Reads a moment in the form of RFC 3339.
fn iso(rest: &str) -> Option<Stamp> {
    let end = rest.find(|c: char| !(c.is_ascii_digit() || "-+:.tz".contains(c))).unwrap_or(rest.len());
    let text = rest.get(..end)?.trim_end_matches(['.', ':', '-']).to_ascii_uppercase();
    Some(text).filter(|text| text.contains('T') && text.contains('-')).and_then(|text| Stamp::parse(&text))
}

/// Reads `3pm`, `3:25 PM`, `15:00`, each with a zone behind it or not: of that day, else the next time it is so late.
fn clock(rest: &str, day: Option<Date>, now: Stamp, zone: &TimeZone) -> Option<Stamp> {
    let (hour, after) = digits(rest, 2)?;
    let (minute, after) = match after.strip_prefix(':') {
        Some(after) => digits(after, 2).map(|(minute, after)| (Some(minute), after))?,
        None => (None, after),
    };
    // Seconds make no difference.
    let after = after.strip_prefix(':').and_then(|after| digits(after, 2)).map_or(after, |(_, after)| after);
    let (half, behind) = word(after.trim_start_matches(' '));
    let (hour, after) = match half {
        "am" if (1..=12).contains(&hour) => (hour % 12, behind),
        "pm" if (1..=12).contains(&hour) => (hour % 12 + 12, behind),
        _ if minute.is_some() => (hour, after),
        _ => return None,
    };
    let zone = zone_of(after).unwrap_or_else(|| zone.clone());
    let today = Timestamp::from_millisecond(now.millis()).ok()?.to_zoned(zone.clone()).date();
    let (hour, minute) = (i8::try_from(hour).ok()?, i8::try_from(minute.unwrap_or(0)).ok()?);
    let at = |day: Date| {
        let time = jiff::civil::Time::new(hour, minute, 0, 0).ok()?;
        let zoned = day.to_datetime(time).to_zoned(zone.clone()).ok()?;
        Some(Stamp::from_millis(zoned.timestamp().as_millisecond()))
    };
    match day {
        Some(day) => at(day),
        None => at(today).filter(|at| *at > now).or_else(|| at(today.tomorrow().ok()?)),
    }
}

/// Reads `Nov 18th, 2026 3:25 PM`, `Nov 20 at 5am`: without a year, the next such day.
fn dated(rest: &str, now: Stamp, zone: &TimeZone) -> Option<Stamp> {
    let (month, after) = word(rest);
    let month = MONTHS.iter().position(|name| month.starts_with(name))?;
    let month = i8::try_from(month + 1).ok()?;
    let (day, after) = digits(after.trim_start_matches(['.', ' ']), 2)?;
    let day = i8::try_from(day).ok()?;
    let after = ["st", "nd", "rd", "th"].iter().find_map(|end| after.strip_prefix(end)).unwrap_or(after);
    let after = after.trim_start_matches([',', ' ']);
    let (year, after) = digits(after, 4)
        .filter(|(year, _)| *year > 1000)
        .map_or((None, after), |(year, after)| (i16::try_from(year).ok(), after));
    let after = after.trim_start_matches([',', ' ']);
    let after = after.strip_prefix("at ").unwrap_or(after);
    let this = Timestamp::from_millisecond(now.millis()).ok()?.to_zoned(zone.clone()).year();
    let at = |year: i16| clock(after, Some(Date::new(year, month, day).ok()?), now, zone);
    match year {
        Some(year) => at(year),
        None => at(this).filter(|at| *at > now).or_else(|| at(this + 1)),
    }
}

/// Returns the zone that stands behind a clock: ` (America/New_York)`, ` UTC`.
fn zone_of(after: &str) -> Option<TimeZone> {
    let after = after.trim_start_matches(' ');
    let name = after.strip_prefix('(').and_then(|name| name.split(')').next());
    let name = name.or_else(|| after.split(|c: char| !c.is_ascii_alphabetic()).next())?;
    if matches!(name, "utc" | "gmt" | "z") { Some(TimeZone::UTC) } else { TimeZone::get(name).ok() }
}

/// Reads a number that begins a text.
fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (digits, after) = text.split_at_checked(end)?;
    let digits = digits.trim_end_matches('.');
    Some((digits.parse().ok()?, after))
}

/// Reads up to so many digits that begin a text.
fn digits(text: &str, most: usize) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, after) = text.split_at_checked(end)?;
    Some((Some(digits).filter(|digits| digits.len() <= most)?.parse().ok()?, after))
}

/// Reads the letters that begin a text.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    /// A Tuesday.
    const NOW: &str = "2026-11-17T14:00:00.000Z";

    fn read(text: &str) -> Option<String> {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        until(text, Stamp::parse(NOW).unwrap(), &zone).map(|at| at.to_string())
    }

    #[rstest]
    // Google's, as Gemini CLI prints them.
    #[case("429 You exceeded your current quota. Please retry in 34.5s.", "2026-11-17T14:00:34.500Z")]
    #[case(
        "[API Error: {\"error\":{\"code\":429,\"message\":\"Quota exceeded. Please retry in 500ms\"}}]",
        "2026-11-17T14:00:00.500Z"
    )]
    #[case("Resource_exhausted\nSuggested retry after 60s.", "2026-11-17T14:01:00.000Z")]
    #[case(
        "You have exhausted your capacity on this model. Your quota will reset after 2h30m15s.",
        "2026-11-17T16:30:15.000Z"
    )]
    #[case(
        "429 {\"details\":[{\"@type\":\"RetryInfo\",\"retryDelay\":\"34s\"}]}",
        "2026-11-17T14:00:34.000Z"
    )]
    // OpenAI's, as Codex prints them.
    #[case(
        "Rate limit reached for gpt-5.5 in organization org-x on tokens per min (TPM): Limit 30000, Used 25000. Please try again in 6.5s.",
        "2026-11-17T14:00:06.500Z"
    )]
    #[case("rate_limit_exceeded: try again in 1m30s", "2026-11-17T14:01:30.000Z")]
    #[case(
        "You've hit your usage limit. Upgrade to Pro or try again in 3 days 4 hours 5 minutes.",
        "2026-11-20T18:05:00.000Z"
    )]
    #[case("You've hit your usage limit. Try again at 5:25 PM.", "2026-11-17T15:25:00.000Z")]
    #[case("You've hit your usage limit. Try again at Nov 18th, 2026 3:25 PM.", "2026-11-18T13:25:00.000Z")]
    #[case("{\"type\":\"usage_limit_reached\",\"resets_in_seconds\":90}", "2026-11-17T14:01:30.000Z")]
    #[case("{\"type\":\"usage_limit_reached\",\"resets_at\":1794926400}", "2026-11-17T14:40:00.000Z")]
    // Anthropic's, as Claude Code prints them.
    #[case("5-hour limit reached ∙ resets 5pm", "2026-11-17T15:00:00.000Z")]
    #[case("Claude usage limit reached. Your limit will reset at 3pm (UTC).", "2026-11-17T15:00:00.000Z")]
    #[case("Weekly limit reached · resets Nov 20 at 5am (UTC)", "2026-11-20T05:00:00.000Z")]
    #[case("Claude AI usage limit reached|1794926400", "2026-11-17T14:40:00.000Z")]
    // A clock that is past by now is tomorrow's.
    #[case("usage limit reached, resets at 15:00", "2026-11-18T13:00:00.000Z")]
    #[case("429: resets at 2026-11-17T15:00:00Z", "2026-11-17T15:00:00.000Z")]
    // Headers.
    #[case("HTTP 429 Too Many Requests; retry-after: 20", "2026-11-17T14:00:20.000Z")]
    #[case("429 {\"retry_after\": 7.5}", "2026-11-17T14:00:07.500Z")]
    #[case("Too many requests. Retry after 20 seconds", "2026-11-17T14:00:20.000Z")]
    fn the_end_of_a_limit_is_read_from_the_words_of_its_provider(#[case] text: &str, #[case] at: &str) {
        assert_eq!(read(text).as_deref(), Some(at), "{text}");
    }

    #[test]
    fn a_clock_in_another_zone_is_read_in_it_where_the_system_knows_zones() {
        let knows = TimeZone::get("America/New_York").is_ok();
        let at = if knows { "2026-11-17T20:00:00.000Z" } else { "2026-11-18T13:00:00.000Z" };
        assert_eq!(read("You've hit your limit · resets 3pm (America/New_York)").as_deref(), Some(at));
    }

    #[rstest]
    #[case("429 Too Many Requests")]
    #[case("The build failed; try again in 5 minutes.")]
    #[case("429: resets at noon")]
    #[case("rate limit: try again in 9999 days")]
    #[case("usage limit reached, resets at 99:99")]
    #[case("429: retry in 20")]
    #[case("rate limit reached, resets at 2020-01-01T00:00:00Z")]
    fn what_tells_of_no_limit_or_of_no_end_is_none(#[case] text: &str) {
        assert_eq!(read(text), None, "{text}");
    }

    proptest! {
        #[test]
        fn any_words_are_read_without_harm_and_no_end_is_past(
            cue in prop::sample::select(CUES.map(|(cue, _)| cue).to_vec()),
            rest in "[ -~é]{0,40}",
        ) {
            let now = Stamp::parse(NOW).unwrap();
            let found = until(&format!("429 {cue} {rest}"), now, &TimeZone::UTC);
            prop_assert!(found.is_none_or(|at| at > now && at.since(now) <= LONGEST));
        }
    }
}
