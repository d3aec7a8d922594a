//! The agent and all that it started: who lives, and how the main process ended.

use std::cell::Cell;
use std::collections::HashSet;

use rustix::io::Errno;
use rustix::process::{WaitOptions, WaitStatus, wait};

use super::spare::Spare;
use crate::process::tree::{self, Life, Process, Seen};

/// Whether what loses its parent becomes a child of the host.
const ADOPTS: bool = cfg!(target_os = "linux");

/// The agent's processes.
pub(super) struct Family {
    pub main: Process,
    /// How the main process ended, once it has.
    pub ended: Option<WaitStatus>,
    session: String,
    childless: bool,
    spare: Spare,
    /// Whether somebody among the descendants was spared: the system then cannot tell that nobody is left.
    spared: Cell<bool>,
}

impl Family {
    pub(super) fn new(main: Process, session: &str, spare: Spare) -> Self {
        let spared = Cell::new(false);
        Self { main, ended: None, session: session.into(), childless: false, spare, spared }
    }

    /// Notices every child that has ended, also those that this process only inherited.
    pub(super) fn reap(&mut self) {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if u32::try_from(pid.as_raw_pid()) == Ok(self.main.pid) && self.ended.is_none() {
                        self.ended = Some(status);
                    }
                }
                Ok(None) => {
                    self.childless = false;
                    return;
                }
                Err(Errno::INTR) => {}
                // No children. Whatever the agent started is or becomes a child of this process when its
                // parent ends, so there is nobody left at all.
                Err(_) => {
                    self.childless = true;
                    return;
                }
            }
        }
    }

    /// Returns whether nobody is left.
    pub(super) fn is_gone(&mut self) -> bool {
        self.reap();
        if ADOPTS && !self.spared.get() {
            return self.childless;
        }
        if ADOPTS {
            // One look may miss somebody whose parent ends just then.
            return self.childless || self.ended.is_some() && self.is_empty() && self.is_empty();
        }
        self.childless && self.is_empty()
    }

    fn is_empty(&mut self) -> bool {
        self.find().iter().all(|seen| seen.life == Life::Ended)
    }

    /// Returns those that are found without a look at all the machine's processes.
    pub(super) fn quickly(&self) -> Vec<Seen> {
        let engine = self.spare.engine();
        tree::quickly_below_sparing(std::process::id(), &|process| self.is_spared(engine, process))
    }

    fn is_spared(&self, engine: Option<Process>, process: Process) -> bool {
        let is_spared = engine == Some(process) || self.spare.is_host(process);
        if is_spared {
            self.spared.set(true);
        }
        is_spared
    }

    /// Returns those that are found without a look at all the machine's processes; everybody, where that finds
    /// none that lives.
    ///
    /// For ending them: whom one look misses the next one finds, and that nobody is left is not told by a look
    /// but by the system, which then has no child to wait for.
    pub(super) fn find_to_end(&mut self) -> Vec<Seen> {
        self.reap();
        if ADOPTS && !self.childless {
            let found = self.quickly();
            if found.iter().any(|seen| seen.life != Life::Ended) {
                return found;
            }
        }
        self.find()
    }

    /// Returns everybody, as seen now.
    pub(super) fn find(&mut self) -> Vec<Seen> {
        self.reap();
        if ADOPTS && self.childless {
            return Vec::new();
        }
        let engine = self.spare.engine();
        let spared = |process| self.is_spared(engine, process);
        let mut found = tree::below_sparing(std::process::id(), &spared);
        if !ADOPTS {
            // What lost its parent is found by its mark only.
            let known: HashSet<Process> = found.iter().map(|seen| seen.process).collect();
            let marked = tree::left_by(&self.session, &[]);
            let others = marked.into_iter().filter(|seen| !known.contains(&seen.process));
            found.extend(others.filter(|seen| !spared(seen.process)));
        }
        found
    }
}
