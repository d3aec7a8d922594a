//! Ends what a host left behind when it was killed itself.
//!
//! Its processes then belong to nobody. They are found by the mark in their environment and by the host's last
//! list, with everything below them. This must be done before anything else is started for the attempt.

use crate::model::id::SessionId;
use crate::process::reach;
use crate::process::tree::{self, Life, Process};

/// What a sweep found, and what it could not end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// Every process that it found.
    pub ended: Vec<Process>,
    /// Those that are left all the same: none says that none was found any more.
    pub left: Vec<Process>,
}

/// Ends every process of a session whose host is gone, and looks again until none is found.
pub fn sweep(session: &SessionId, listed: &[Process]) -> Swept {
    let mut find = || tree::left_by(session.as_str(), listed);
    let reached = reach::kill(&mut find);
    let mut left = if reached.left > 0 { find() } else { Vec::new() };
    left.retain(|seen| seen.life != Life::Ended);
    let left = left.iter().map(|seen| seen.process).collect();
    Swept { ended: reached.found.into_iter().collect(), left }
}
