//! Finds processes: all that descend from one, and all that carry a session's mark.
//!
//! Not for signalling them (`signal.rs`, `reach.rs`). A process is known by its number and its start time.
//! Looking takes time, and meanwhile processes start and end: whoever needs certainty looks until nothing
//! changes. What the system tells is behind [`all`] and [`environment`]: `/proc` on Linux, `ps` elsewhere.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
#[path = "tree/proc.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "tree/ps.rs"]
mod system;

pub use system::{all, arguments, children, cpu_of_children, environment, look};
pub(super) use system::{began, folder, open_files, pids, seat};

/// The environment variable by which a process is known to belong to a session of ours.
pub const MARK: &str = "QUARTERDECK_SESSION";

/// A process that is not mistaken for a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it started, in the system's own measure.
    #[serde(default)]
    pub start: u64,
}

/// Whether a process can do anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It runs, or will when what it waits for comes.
    Runs,
    /// It is stopped in all its threads.
    Stopped,
    /// It has ended, and waits for its parent to notice.
    Ended,
}

/// A process as it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Which one.
    pub process: Process,
    /// Its parent's number.
    pub parent: u32,
    /// Whether it can do anything.
    pub life: Life,
}

/// Where a process sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// Its group.
    pub group: u32,
    /// Its session, which is the number of the process that leads it: mostly a shell.
    pub session: u32,
    /// The group that its terminal listens to, if it has a terminal.
    pub in_front: Option<u32>,
}

impl Seat {
    /// Returns whether a shell waits for this process and gives it the terminal: stopped, the shell takes it back.
    pub fn is_foreground_job(&self) -> bool {
        // What a shell runs as a job has a group of its own; what runs in the group of the session's leader
        // has nobody behind it that would notice.
        self.in_front == Some(self.group) && self.group != self.session
    }
}

/// Returns the process that has a number now.
pub fn process(pid: u32) -> Option<Process> {
    look(pid).map(|seen| seen.process)
}

/// Returns whether a process is still there, be it only to be waited for.
pub fn is_there(process: Process) -> bool {
    look(process.pid).is_some_and(|seen| seen.process == process)
}

/// Returns every process that descends from one of `roots`, without them.
pub fn below(roots: &[u32]) -> Vec<Seen> {
    descend(&all(), roots, &|_| false)
}

/// Returns every process that descends from one, but for those to be spared and what descends from them.
pub fn below_sparing(root: u32, spared: &dyn Fn(Process) -> bool) -> Vec<Seen> {
    descend(&all(), &[root], spared)
}

/// Returns what descends from a process without looking at all the machine's: cheap, and may miss some.
///
/// None where the system cannot tell cheaply.
pub fn quickly_below(root: u32) -> Vec<Seen> {
    quickly_below_sparing(root, &|_| false)
}

/// Returns the same, but for those to be spared and what descends from them.
pub fn quickly_below_sparing(root: u32, spared: &dyn Fn(Process) -> bool) -> Vec<Seen> {
    let mut reached = BTreeSet::from([root]);
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(pid) = next.pop() {
        for child in children(pid).into_iter().filter(|child| reached.insert(*child)) {
            if let Some(seen) = look(child).filter(|seen| !spared(seen.process)) {
                found.push(seen);
                next.push(child);
            }
        }
    }
    found.sort_unstable_by_key(|seen| seen.process);
    found
}

fn descend(all: &[Seen], roots: &[u32], spared: &dyn Fn(Process) -> bool) -> Vec<Seen> {
    let mut children: HashMap<u32, Vec<&Seen>> = HashMap::new();
    for seen in all {
        children.entry(seen.parent).or_default().push(seen);
    }
    let mut found = Vec::new();
    let mut reached: BTreeSet<u32> = roots.iter().copied().collect();
    let mut next: Vec<u32> = roots.to_vec();
    while let Some(pid) = next.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            // The system tells no circles, but two looks at different moments may.
            if reached.insert(child.process.pid) && !spared(child.process) {
                found.push(**child);
                next.push(child.process.pid);
            }
        }
    }
    found
}

/// Returns every process of a session whose host is gone: those with its mark, those of `listed` that are
/// still the same, and all below them. Never this process, nor one that it descends from.
pub fn left_by(session: &str, listed: &[Process]) -> Vec<Seen> {
    let all = all();
    let by_pid: HashMap<u32, &Seen> = all.iter().map(|seen| (seen.process.pid, seen)).collect();
    let mut ours = BTreeSet::new();
    let mut up = Some(std::process::id());
    while let Some(pid) = up.filter(|pid| ours.insert(*pid)) {
        up = by_pid.get(&pid).map(|seen| seen.parent);
    }
    let mark = format!("{MARK}={session}");
    let roots: Vec<Seen> = all
        .iter()
        .filter(|seen| !ours.contains(&seen.process.pid))
        .filter(|seen| listed.contains(&seen.process) || environment(seen.process.pid, mark.as_bytes()))
        .copied()
        .collect();
    let pids: Vec<u32> = roots.iter().map(|seen| seen.process.pid).collect();
    let mut found = descend(&all, &pids, &|_| false);
    found.retain(|seen| !ours.contains(&seen.process.pid));
    found.extend(roots);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pid: u32, parent: u32) -> Seen {
        Seen { process: Process { pid, start: 1 }, parent, life: Life::Runs }
    }

    #[test]
    fn descendants_are_found_whatever_their_order_and_without_the_roots() {
        let all = [seen(9, 7), seen(7, 5), seen(5, 1), seen(6, 1), seen(8, 5)];
        let mut pids: Vec<u32> =
            descend(&all, &[5], &|_| false).iter().map(|seen| seen.process.pid).collect();
        pids.sort_unstable();
        assert_eq!(pids, [7, 8, 9]);
    }

    #[test]
    fn two_looks_that_make_a_circle_do_not_hang() {
        assert_eq!(descend(&[seen(2, 3), seen(3, 2)], &[2], &|_| false).len(), 1);
    }

    #[test]
    fn this_process_is_found_below_its_parent() {
        let me = look(std::process::id()).unwrap();
        assert!(below(&[me.parent]).iter().any(|seen| seen.process == me.process));
        assert!(is_there(me.process));
        assert!(!is_there(Process { start: me.process.start + 1, ..me.process }));
    }
}
