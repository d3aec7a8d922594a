//! How long the agent has run: awake and not frozen. Pure; the moments come from the system's monotonic clock,
//! which stands still while the machine sleeps.

use std::time::{Duration, Instant};

/// A running time with a limit.
#[derive(Debug)]
pub(super) struct Clock {
    before: Duration,
    since: Option<Instant>,
    limit: Option<Duration>,
}

impl Clock {
    pub(super) fn start(now: Instant, limit_ms: Option<u64>) -> Self {
        Self { before: Duration::ZERO, since: Some(now), limit: limit_ms.map(Duration::from_millis) }
    }

    /// Stands still.
    pub(super) fn stop(&mut self, now: Instant) {
        self.before = self.ran(now);
        self.since = None;
    }

    /// Goes on.
    pub(super) fn go_on(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Allows so much more, from now on.
    pub(super) fn allow(&mut self, now: Instant, more_ms: Option<u64>) {
        self.limit = more_ms.map(|more| self.ran(now) + Duration::from_millis(more));
    }

    /// Returns how long it has run.
    pub(super) fn ran(&self, now: Instant) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// Returns how much of its limit is left, also while it stands; `None` without a limit.
    pub(super) fn remaining_ms(&self, now: Instant) -> Option<u64> {
        let left = self.limit?.saturating_sub(self.ran(now));
        Some(u64::try_from(left.as_millis()).unwrap_or(u64::MAX))
    }

    /// Returns how long it may go on; `None` if nothing runs out as things are.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        let limit = self.limit.filter(|_| self.since.is_some())?;
        Some(limit.saturating_sub(self.ran(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_frozen_is_not_charged_and_a_new_deadline_counts_from_now() {
        let zero = Instant::now();
        let at = |ms| zero + Duration::from_millis(ms);
        let ms = |ms| Some(Duration::from_millis(ms));
        let mut clock = Clock::start(zero, Some(1000));
        assert_eq!(clock.left(at(400)), ms(600));
        clock.stop(at(400));
        assert_eq!((clock.left(at(90_000)), clock.remaining_ms(at(90_000))), (None, Some(600)));
        clock.stop(at(95_000));
        clock.go_on(at(100_000));
        clock.go_on(at(100_050));
        assert_eq!(clock.left(at(100_100)), ms(500));
        assert_eq!(clock.ran(at(100_100)), Duration::from_millis(500));
        clock.allow(at(100_100), Some(2000));
        assert_eq!(clock.left(at(100_200)), ms(1900));
        clock.allow(at(100_200), Some(0));
        assert_eq!(clock.left(at(100_200)), ms(0));
        clock.allow(at(100_200), None);
        assert_eq!((clock.left(at(100_100)), clock.remaining_ms(at(100_100))), (None, None));
    }
}
