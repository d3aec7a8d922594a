//! What tells a process from a later one with the same pid: its start time and the machine's boot; and the
//! clock that all processes of a boot share.
//!
//! Linux says both under `/proc`; elsewhere neither is known, and a lock is trusted by itself.

use std::fs;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Returns when a process started, in ticks since boot; `None` if there is no such process or no `/proc`.
///
/// One that has ended and was not waited for yet is no process any more: in a container it may stay so.
pub fn start_of(pid: u32) -> Option<u64> {
    /// Of the fields after the name, which may itself hold spaces and brackets.
    const THREADS: usize = 17;
    const START: usize = 19;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    // The main thread may end before the others do.
    let is_over =
        matches!(fields.first(), Some(&("Z" | "X"))) && matches!(fields.get(THREADS), Some(&("0" | "1")));
    fields.get(START).filter(|_| !is_over)?.parse().ok()
}

/// Returns milliseconds on the clock that all processes of this boot share, and that stands still while the
/// machine sleeps; where the system has no such clock, it stands still only while this process lives.
pub fn awake_ms() -> u64 {
    static FIRST: OnceLock<(Instant, Duration)> = OnceLock::new();
    let (first, at) = FIRST.get_or_init(|| {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        (Instant::now(), Duration::try_from(now).unwrap_or_default())
    });
    u64::try_from((*at + first.elapsed()).as_millis()).unwrap_or(u64::MAX)
}

/// Returns this boot's id.
pub fn boot_id() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_living_process_has_a_start_and_a_dead_one_has_none() {
        assert!(start_of(std::process::id()).is_some());
        // Above the largest pid that Linux gives.
        assert_eq!(start_of(u32::MAX), None);
        assert_eq!(boot_id().map(|id| id.len()), Some(36));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn one_that_ended_and_was_not_waited_for_has_none_either() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let state = || fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let give_up = Instant::now() + Duration::from_secs(30);
        while !state().contains(") Z ") {
            assert!(Instant::now() < give_up, "{}", state());
        }
        assert_eq!(start_of(child.id()), None);
        child.wait().unwrap();
    }
}
