//! The agent and all that it started: who lives, and how the main process ended.

use rustix::io::Errno;
use rustix::process::{WaitOptions, WaitStatus, wait};

use crate::session::tree::{self, Process, Seen};

/// The agent's processes.
pub(super) struct Family {
    pub main: Process,
    /// How the main process ended, once it has.
    pub ended: Option<WaitStatus>,
    session: String,
    childless: bool,
}

impl Family {
    pub(super) fn new(main: Process, session: &str) -> Self {
        Self { main, ended: None, session: session.into(), childless: false }
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
        self.childless && (cfg!(target_os = "linux") || self.find().is_empty())
    }

    /// Returns everybody, as seen now.
    pub(super) fn find(&mut self) -> Vec<Seen> {
        self.reap();
        if cfg!(target_os = "linux") {
            return if self.childless { Vec::new() } else { tree::below(&[std::process::id()]) };
        }
        // Without adoption, what lost its parent is found by its mark only.
        let mut found = tree::below(&[std::process::id()]);
        let lost = tree::left_by(&self.session, &[]);
        found.extend(
            lost.into_iter()
                .filter(|seen| found.iter().all(|known| known.process != seen.process))
                .collect::<Vec<_>>(),
        );
        found
    }
}
