//! How far, how long, and how much longer: bars, clocks and estimates of one node.

use std::time::Duration;

use crate::model::node::Node;
use crate::model::time::Stamp;
use crate::monitor::app::stance::Stance;
pub use crate::report::elapsed::{asked, elapsed};

/// Returns how many cells of a bar are full; a bar is full only when all is done, and empty only at nothing.
pub fn filled(percent: u8, cells: usize) -> usize {
    let full = usize::from(percent.min(100)) * cells / 100;
    if percent > 0 && full == 0 { usize::from(cells > 1) } else { full }
}

/// Returns how much longer it will take, where that can be said honestly: it works, some of it is done, and
/// what is done took long enough to be no accident. What is left of an agent's own estimate counts too.
pub fn remaining(node: &Node, stance: Stance, now: Stamp) -> Option<Duration> {
    /// Below this a rate says nothing.
    const SHORTEST: Duration = Duration::from_secs(5);
    if stance != Stance::Works {
        return None;
    }
    let took = elapsed(node, now)?;
    let progress = node.progress();
    let counted = progress.as_ref().and_then(|progress| progress.current.zip(progress.total));
    if let Some((current, total)) = counted.filter(|(current, total)| *current > 0 && current < total)
        && took >= SHORTEST
    {
        let left = u32::try_from(total - current).unwrap_or(u32::MAX);
        let done = u32::try_from(current).unwrap_or(u32::MAX);
        return (took / done).checked_mul(left);
    }
    let estimate = Duration::from_millis(node.estimate_ms?);
    estimate.checked_sub(took)
}

/// Returns what is left as a narrow column has it: `~12m`, `~3h`.
pub fn estimate(left: Duration) -> String {
    const HOUR: u64 = 3600;
    const DAY: u64 = 24 * HOUR;
    match left.as_secs() {
        seconds @ 0..60 => format!("~{}s", seconds.max(1)),
        seconds @ 60..HOUR => format!("~{}m", seconds.div_ceil(60).min(59)),
        seconds @ HOUR..DAY => format!("~{}h", seconds.div_ceil(HOUR)),
        seconds => format!("~{}d", seconds.div_ceil(DAY).min(99)),
    }
}

/// Returns an estimate no finer than it is.
pub fn coarse(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..60 => format!("{}s", seconds.max(1)),
        60..3600 => format!("{}m", seconds.div_ceil(60)),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Returns the count of a row: steps done of steps in all, or percent.
pub fn count(node: &Node) -> Option<String> {
    let progress = node.progress()?;
    counted(progress.current.zip(progress.total), progress.percent)
}

/// Steps of steps where the column has room for both, else percent: half a number would be a wrong one.
fn counted(steps: Option<(u64, u64)>, percent: Option<u8>) -> Option<String> {
    const ROOM: usize = 5;
    let share = || steps.and_then(|(current, total)| current.saturating_mul(100).checked_div(total));
    let percent = || percent.map(u64::from).or_else(share).map(|percent| format!("{}%", percent.min(100)));
    let steps = steps.map(|(current, total)| format!("{current}/{total}"));
    steps.filter(|steps| steps.len() <= ROOM).or_else(percent)
}

/// Returns how far it is in percent.
pub fn percent(node: &Node) -> Option<u8> {
    let progress = node.progress()?;
    progress.percent.or_else(|| {
        let (current, total) = progress.current.zip(progress.total)?;
        u8::try_from((current.saturating_mul(100)).checked_div(total)?.min(100)).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_full_only_when_all_is_done_and_empty_only_at_nothing() {
        assert_eq!(filled(0, 10), 0);
        assert_eq!(filled(1, 10), 1);
        assert_eq!(filled(99, 10), 9);
        assert_eq!(filled(100, 10), 10);
        assert_eq!(filled(255, 10), 10);
    }

    #[test]
    fn a_count_that_does_not_fit_its_column_is_told_in_percent() {
        assert_eq!(counted(Some((18, 32)), None).as_deref(), Some("18/32"));
        assert_eq!(counted(Some((12, 100)), Some(12)).as_deref(), Some("12%"));
        assert_eq!(counted(Some((7, 1000)), None).as_deref(), Some("0%"));
        assert_eq!(counted(None, Some(40)).as_deref(), Some("40%"));
        assert_eq!(counted(None, None), None);
    }

    #[test]
    fn an_estimate_fits_its_column() {
        let of = |seconds| estimate(Duration::from_secs(seconds));
        assert_eq!(of(0), "~1s");
        assert_eq!(of(61), "~2m");
        assert_eq!(of(3_599), "~59m");
        assert_eq!(of(3_601), "~2h");
        assert!(of(u64::MAX).len() <= 4);
    }

    #[test]
    fn an_estimate_is_no_finer_than_it_is() {
        assert_eq!(coarse(Duration::from_secs(0)), "1s");
        assert_eq!(coarse(Duration::from_secs(61)), "2m");
        assert_eq!(coarse(Duration::from_mins(121)), "2h01m");
    }
}
