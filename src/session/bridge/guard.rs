//! `quarterdeck bridge guard`: becomes another program that does not outlive the bridge.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Becomes the command; returns why it could not.
///
/// On Linux the system ends it when its parent, which is `parent`, ends; elsewhere the session's host does.
pub fn guard(parent: u32, command: &[String]) -> String {
    let Some((program, arguments)) = command.split_first() else { return "no command is given.".into() };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
            return format!("cannot be bound to its parent: {error}");
        }
        // It may have ended before that.
        if getppid().and_then(|pid| u32::try_from(pid.as_raw_pid()).ok()) != Some(parent) {
            return "its parent has ended.".into();
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = parent;
    let error = Command::new(program).args(arguments).exec();
    format!("cannot start {program}: {error}")
}
