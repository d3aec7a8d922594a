//! Reaches every process that can be found, although they start others meanwhile: stop, continue, end.
//!
//! Who is meant is a function that looks again each time. Each of these looks until nothing changes, and is
//! bounded by a patience: what is left then is said, not hidden.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::signal::send;
use super::tree::{Life, Process, Seen};

/// How long to go on when something does not obey; it then sleeps in the kernel, or is not ours to signal.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait before the next look when nothing new was found; grows up to [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);
/// How often to stop what keeps starting others before it is killed all the same.
const STOPS: u32 = 64;

/// Whom a signal reached, and how many are not as they should be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reached {
    /// Every process that was found.
    pub found: BTreeSet<Process>,
    /// Those that were changed by us.
    pub changed: BTreeSet<Process>,
    /// How many are not as ordered.
    pub left: usize,
}

/// Stops all, until two looks in a row find the same processes and none that runs.
pub fn freeze(find: &mut dyn FnMut() -> Vec<Seen>) -> Reached {
    let mut reached = Reached::default();
    let mut wait = Wait::new();
    let mut before = None;
    loop {
        let living = living(find());
        let now: BTreeSet<Process> = living.iter().map(|seen| seen.process).collect();
        let running: Vec<Process> = with(&living, Life::Runs);
        reached.found.extend(&now);
        reached.left = running.len();
        if running.is_empty() && before.as_ref() == Some(&now) {
            reached.found = now;
            return reached;
        }
        reached.changed.extend(&running);
        for process in &running {
            // Whether it obeyed is what the next look tells.
            let _ = send(*process, Signal::STOP);
        }
        if wait.is_over() {
            return reached;
        }
        if !running.is_empty() && before.as_ref() == Some(&now) {
            wait.pause();
        }
        before = Some(now);
    }
}

/// Continues those of `only`, or all where it is empty, until none of them is stopped.
pub fn resume(find: &mut dyn FnMut() -> Vec<Seen>, only: &BTreeSet<Process>) -> Reached {
    let mut reached = Reached::default();
    let mut wait = Wait::new();
    loop {
        let living = living(find());
        reached.found.extend(living.iter().map(|seen| seen.process));
        let mut stopped = with(&living, Life::Stopped);
        stopped.retain(|process| only.is_empty() || only.contains(process));
        reached.left = stopped.len();
        if stopped.is_empty() || wait.is_over() {
            return reached;
        }
        reached.changed.extend(&stopped);
        for process in &stopped {
            // Whether it obeyed is what the next look tells.
            let _ = send(*process, Signal::CONT);
        }
        wait.pause();
    }
}

/// Asks all to end, and continues them: what is stopped could not end.
pub fn ask_to_end(find: &mut dyn FnMut() -> Vec<Seen>) -> Reached {
    let mut reached = Reached::default();
    loop {
        let living = living(find());
        let fresh: Vec<Process> =
            living.iter().map(|seen| seen.process).filter(|process| reached.found.insert(*process)).collect();
        if fresh.is_empty() || reached.found.len() > MOST_ASKED {
            reached.left = living.len();
            return reached;
        }
        for signal in [Signal::TERM, Signal::CONT] {
            for process in &fresh {
                // What does not hear is killed after the grace.
                let _ = send(*process, signal);
            }
        }
    }
}

/// What starts others without end is not asked without end.
const MOST_ASKED: usize = 10_000;

/// Ends all, until two looks in a row find none.
///
/// They are stopped first, so that none starts another while it waits for its end.
pub fn kill(find: &mut dyn FnMut() -> Vec<Seen>) -> Reached {
    let mut reached = Reached::default();
    let mut wait = Wait::new();
    let mut stops = 0;
    let mut found_none = false;
    loop {
        let living = living(find());
        reached.left = living.len();
        if living.is_empty() {
            if found_none {
                return reached;
            }
            found_none = true;
            continue;
        }
        found_none = false;
        let fresh = living.iter().filter(|seen| reached.found.insert(seen.process)).count();
        if fresh > 0 && stops < STOPS {
            stops += 1;
            for process in with(&living, Life::Runs) {
                // If it cannot be stopped it is killed as it runs.
                let _ = send(process, Signal::STOP);
            }
            continue;
        }
        for seen in &living {
            // Whether it is gone is what the next look tells.
            let _ = send(seen.process, Signal::KILL);
        }
        if wait.is_over() {
            return reached;
        }
        wait.pause();
    }
}

fn living(mut seen: Vec<Seen>) -> Vec<Seen> {
    seen.retain(|seen| seen.life != Life::Ended);
    seen
}

fn with(seen: &[Seen], life: Life) -> Vec<Process> {
    seen.iter().filter(|seen| seen.life == life).map(|seen| seen.process).collect()
}

/// Short pauses that grow, and an end.
struct Wait {
    give_up: Instant,
    pause: Duration,
}

impl Wait {
    fn new() -> Self {
        Self { give_up: Instant::now() + PATIENCE, pause: PAUSE }
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.give_up
    }

    fn pause(&mut self) {
        thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}
