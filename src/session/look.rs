//! What became of a session, told from its folder alone: by the lock, `host.json` and `exit.json`.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Read};

use super::error::{Error, Result};
use super::files::{Answer, Did, Exit, HostFile, Said, read};
use super::folder::Folder;
use super::tail::Tail;
use crate::process::tree::Process;
use crate::store::process::boot_id;

/// What became of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// No host ever took the folder: it may be launched.
    NeverRan,
    /// A host has it.
    Running {
        /// Who; `None` in the moment between the lock and `host.json`.
        host: Option<HostFile>,
    },
    /// The agent has ended, and the host has recorded how.
    Exited(Exit),
    /// The host is gone without a record: what it left must be swept.
    Lost {
        /// Who it was, if it came to say so.
        host: Option<HostFile>,
        /// The processes it last spoke of; none if the machine was started anew since.
        pids: Vec<Process>,
    },
}

/// Returns what became of a session. Takes the lock for a moment: a host that just starts tries again.
pub fn look(folder: &Folder) -> Result<State> {
    if let Some(exit) = read(&folder.exit())? {
        return Ok(State::Exited(exit));
    }
    if is_held(folder)? {
        return Ok(State::Running { host: host(folder)? });
    }
    // It may have left since the first look; it records before it lets go.
    if let Some(exit) = read(&folder.exit())? {
        return Ok(State::Exited(exit));
    }
    if !folder.host().exists() {
        return Ok(State::NeverRan);
    }
    let host = host(folder)?;
    let same_boot = host.as_ref().is_some_and(|host| host.boot_id == boot_id());
    let pids = if same_boot { last_pids(folder)? } else { Vec::new() };
    Ok(State::Lost { host, pids })
}

/// Returns whether a host has the lock.
fn is_held(folder: &Folder) -> Result<bool> {
    let path = folder.lock();
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::io("open", &path)(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(Error::io("lock", &path)(error)),
    }
}

/// Returns what `host.json` says; `None` if it is not there, or made but not yet or never filled.
fn host(folder: &Folder) -> Result<Option<HostFile>> {
    match read(&folder.host()) {
        Err(Error::Unreadable { .. }) => Ok(None),
        other => other,
    }
}

/// Returns how much of an agent's time is left by its host's word, at this moment of the awake clock; `None`
/// if there is no end to it, or if the host said nothing of it.
pub fn remaining_ms(folder: &Folder, awake_ms: u64) -> Option<u64> {
    let mut left = None;
    for line in Tail::new(folder.answers()).lines().unwrap_or_default() {
        let Ok(Answer { awake_ms, said, .. }) = serde_json::from_slice(&line.bytes) else { continue };
        match said {
            Said::Started { remaining_ms, .. } => left = Some((remaining_ms, Some(awake_ms))),
            // A freeze that some did not take leaves the clock running.
            Said::Did(Did { order, still_running: 1.., .. }) if order == "freeze" => {}
            Said::Did(Did { order, remaining_ms, .. }) => match (order.as_str(), left) {
                ("continue", _) | ("deadline", Some((_, Some(_)))) => {
                    left = Some((remaining_ms, Some(awake_ms)));
                }
                ("freeze" | "deadline", _) => left = Some((remaining_ms, None)),
                (_, _) => {}
            },
            Said::Ready { .. }
            | Said::Refused { .. }
            | Said::Fed { .. }
            | Said::NotFed { .. }
            | Said::Pids { .. }
            | Said::Unreadable { .. }
            | Said::Exited => {}
        }
    }
    let (remaining, since) = left?;
    Some(remaining?.saturating_sub(since.map_or(0, |since| awake_ms.saturating_sub(since))))
}

/// Returns what a host said when it could not begin: no more than a person reads.
pub fn last_words(folder: &Folder) -> String {
    const MOST: u64 = 4096;
    let mut said = Vec::new();
    // Without them it is still known that it left.
    let _ = File::open(folder.last_words()).and_then(|file| file.take(MOST).read_to_end(&mut said));
    String::from_utf8_lossy(&said).into_owned()
}

/// Returns the processes that a host last spoke of: its newest list, and what it named since.
pub fn last_pids(folder: &Folder) -> Result<Vec<Process>> {
    let path = folder.answers();
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", &path)(error)),
    };
    let mut pids: Vec<Process> = Vec::new();
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(Error::io("read", &path))?;
        // A torn last line, or an answer of a later release.
        let Ok(answer) = serde_json::from_slice::<Answer>(&line) else { continue };
        match answer.said {
            Said::Started { process, .. } => pids.push(process),
            Said::Pids { pids: listed } => pids = listed,
            Said::Did(did) => pids.extend(did.pids),
            Said::Ready { .. }
            | Said::Refused { .. }
            | Said::Fed { .. }
            | Said::NotFed { .. }
            | Said::Unreadable { .. }
            | Said::Exited => {}
        }
    }
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_until_a_freeze_has_taken_all() {
        let temp = tempfile::tempdir().unwrap();
        let folder = Folder(temp.path().to_owned());
        let at = r#""at":"2026-11-16T09:00:00.000Z""#;
        let freeze = |awake_ms: u64, running: u64, left: u64| {
            format!(
                r#"{{{at},"awakeMs":{awake_ms},"answer":"did","id":"f","order":"freeze","pids":[],"count":2,"stillRunning":{running},"remainingMs":{left}}}"#
            )
        };
        let started =
            format!(r#"{{{at},"awakeMs":1000,"answer":"started","pid":7,"start":8,"remainingMs":60000}}"#);
        let first = format!("{started}\n{}\n", freeze(6_000, 1, 55_000));
        std::fs::write(folder.answers(), &first).unwrap();
        assert_eq!(remaining_ms(&folder, 21_000), Some(40_000), "one still runs");
        std::fs::write(folder.answers(), format!("{first}{}\n", freeze(11_000, 0, 50_000))).unwrap();
        assert_eq!(remaining_ms(&folder, 21_000), Some(50_000), "none runs");
    }
}
