//! `quarterdeck session-host <folder>`: the parent of one agent. Small and dumb: it decides nothing.
//!
//! It takes the folder or leaves, starts the agent, obeys orders, feeds stdin, keeps the hard deadline, ends
//! whatever the agent leaves behind, and records the end. No async runtime: one thread that waits in `poll`.
//!
//! Invariant: nothing is started without the lock and a `host.json` that this process made.

mod agent;
mod clock;
mod family;
mod feeder;
mod take;
mod voice;
mod wake;
mod work;

use std::path::Path;

use super::error::{Error, Result};
use super::files::{Exit, Folder, PROTOCOL, Reason, Said, Spec, now, read};
use crate::store::disk::RealDisk;
use crate::store::views::replace;

/// What a host came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It had the agent, and recorded its end.
    Recorded,
    /// Another host has or had the folder: nothing was started.
    Taken,
}

/// Runs a session: from taking its folder to the record of its end.
pub fn run(folder: &Path) -> Result<Outcome> {
    let folder = Folder(folder.to_owned());
    let spec: Spec = read(&folder.spec())?
        .ok_or_else(|| Error::io("read", &folder.spec())(std::io::ErrorKind::NotFound.into()))?;
    if spec.protocol > PROTOCOL {
        return Err(Error::Newer { path: folder.spec(), protocol: spec.protocol });
    }
    take::leave_the_callers_session();
    let Some(taken) = take::take(&folder)? else { return Ok(Outcome::Taken) };
    take::adopt_orphans()?;
    let wake = wake::Wake::new(&folder)?;
    let mut voice = voice::Voice::open(&folder)?;
    voice.say(Said::Ready { protocol: PROTOCOL });
    let exit = match agent::start(&folder, &spec) {
        Ok(agent) => work::Work::new(&folder, spec, agent, wake, voice.clone()?).run()?,
        Err(error) => never_ran(error),
    };
    record(&folder, &exit)?;
    voice.say(Said::Exited);
    drop(taken);
    Ok(Outcome::Recorded)
}

fn never_ran(error: String) -> Exit {
    Exit {
        at: now(),
        reason: Reason::SpawnFailed,
        code: None,
        signal: None,
        error: Some(error),
        ran_ms: 0,
        cpu_ms: None,
        leftovers: Vec::new(),
    }
}

fn record(folder: &Folder, exit: &Exit) -> Result<()> {
    let content = serde_json::to_vec(exit).map_err(|source| Error::Encode { what: "an exit", source })?;
    Ok(replace(&RealDisk, &folder.exit(), &content)?)
}
