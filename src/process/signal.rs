//! Sends a signal to a process, and never to another one that got its number.
//!
//! The number alone does not name a process: it is given again once its owner is gone and waited for. So the
//! process is held by a descriptor first, then compared by its start time, then signalled by the descriptor.

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use super::tree::{self, Process};

/// What became of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It was sent.
    Yes,
    /// The process is gone; whoever has its number now was not touched.
    Gone,
    /// The system does not let us.
    Refused,
}

/// Sends a signal to exactly this process.
pub fn send(process: Process, signal: Signal) -> Sent {
    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else { return Sent::Gone };
    match deliver(pid, process, signal) {
        Ok(sent) => sent,
        Err(Errno::SRCH) => Sent::Gone,
        Err(_) => Sent::Refused,
    }
}

#[cfg(target_os = "linux")]
fn deliver(pid: Pid, process: Process, signal: Signal) -> Result<Sent, Errno> {
    use rustix::process::{PidfdFlags, kill_process, pidfd_open, pidfd_send_signal};
    let held = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(held) => Some(held),
        Err(Errno::SRCH) => return Ok(Sent::Gone),
        // An old kernel, a filter, or no descriptor left: the comparison alone must do.
        Err(_) => None,
    };
    if !tree::is_there(process) {
        return Ok(Sent::Gone);
    }
    match held {
        Some(held) => pidfd_send_signal(&held, signal)?,
        None => kill_process(pid, signal)?,
    }
    Ok(Sent::Yes)
}

#[cfg(not(target_os = "linux"))]
fn deliver(pid: Pid, process: Process, signal: Signal) -> Result<Sent, Errno> {
    if !tree::is_there(process) {
        return Ok(Sent::Gone);
    }
    rustix::process::kill_process(pid, signal)?;
    Ok(Sent::Yes)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_that_only_has_the_number_is_not_signalled() {
        let mut child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let real = tree::process(child.id()).unwrap();
        let earlier = Process { start: real.start - 1, ..real };
        assert_eq!(send(earlier, Signal::KILL), Sent::Gone);
        assert!(child.try_wait().unwrap().is_none(), "the process with the same number was touched");
        assert_eq!(send(real, Signal::KILL), Sent::Yes);
        child.wait().unwrap();
        assert_eq!(send(real, Signal::KILL), Sent::Gone);
    }
}
