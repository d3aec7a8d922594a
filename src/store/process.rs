//! What tells a process from a later one with the same pid: its start time and the machine's boot.
//!
//! Linux says both under `/proc`; elsewhere neither is known, and a lock is trusted by itself.

use std::fs;

/// Returns when a process started, in ticks since boot; `None` if there is no such process or no `/proc`.
pub fn start_of(pid: u32) -> Option<u64> {
    /// Of the fields after the name, which may itself hold spaces and brackets.
    const START: usize = 19;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(START)?.parse().ok()
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
}
