//! How the measuring programs say what they found: a ratio and its floor a line, and with `--check` a
//! failure where one is missed. A floor is a promise to keep, not the best that was ever measured. With `--lines` each
//! is told once more for programs, in fields between tabs; `tests/bench/report` reads those.

use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What a ratio must be.
pub enum Floor {
    AtLeast(f64),
    AtMost(f64),
}

/// Prints the results; fails if one misses its floor and `--check` was given.
pub fn report(results: impl IntoIterator<Item = (&'static str, f64, Floor)>) -> ExitCode {
    let is_given = |option: &str| std::env::args().any(|argument| argument == option);
    let (checked, for_programs) = (is_given("--check"), is_given("--lines"));
    let mut missed = false;
    for (what, ratio, floor) in results {
        let (kept, bound, sign, limit) = match floor {
            Floor::AtLeast(least) => (ratio >= least, "at least", ">=", least),
            Floor::AtMost(most) => (ratio <= most, "at most", "<=", most),
        };
        missed |= !kept;
        println!("{} {what}: {ratio:.2} ({bound} {limit:.2})", if kept { "ok    " } else { "MISSED" });
        if for_programs {
            println!("floor\t{what}\t{ratio}\t{sign}\t{limit}\t{}", if kept { "ok" } else { "missed" });
        }
    }
    if checked && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Returns the middle one, in seconds.
pub fn median(times: Vec<Duration>) -> f64 {
    quantile(times, 50)
}

/// Returns the time that so many of a hundred do not exceed, in seconds.
pub fn quantile(mut times: Vec<Duration>, percent: usize) -> f64 {
    times.sort_unstable();
    times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64()
}

/// Returns how long something takes.
pub fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}
