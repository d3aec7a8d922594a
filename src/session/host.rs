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
mod spare;
mod take;
mod voice;
mod wake;
mod work;

use std::io::{self, Write};
use std::path::Path;

use super::error::{Error, Result};
use super::files::{Exit, PROTOCOL, Reason, Said, Spec, now, read};
use super::folder::Folder;
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
    let mut spec: Spec = read(&folder.spec())?
        .ok_or_else(|| Error::io("read", &folder.spec())(io::ErrorKind::NotFound.into()))?;
    if spec.protocol > PROTOCOL {
        return Err(Error::Newer { path: folder.spec(), protocol: spec.protocol });
    }
    take::leave_the_callers_session();
    let Some(taken) = take::take(&folder)? else {
        forget_values(&folder, &mut spec);
        return Ok(Outcome::Taken);
    };
    let agent = begin(&folder, &spec);
    // While the agent comes up: it waits for nothing that needs no waiting.
    forget_values(&folder, &mut spec);
    let exit = agent.map_or_else(never_ran, |agent| agent.work(&folder, spec));
    record(&folder, &exit)?;
    voice::Voice::open(&folder)?.say(Said::Exited);
    drop(taken);
    Ok(Outcome::Recorded)
}

/// Takes the values of the agent's variables out of the spec, keys of providers among them: nobody reads it again once the
/// folder is taken, and it stays there for as long as the output does.
fn forget_values(folder: &Folder, spec: &mut Spec) {
    // Here too: the agent has them.
    spec.run.env.values_mut().for_each(|value| *value = String::new());
    // In one go, since another host may be reading it. Where that fails, on a full disk, the agent still runs.
    let _ = serde_json::to_vec(spec).map_err(io::Error::from).and_then(|content| {
        let mut file = tempfile::NamedTempFile::new_in(&folder.0)?;
        file.write_all(&content)?;
        file.persist(folder.spec()).map_err(|failed| failed.error)
    });
}

/// An agent that runs, with what its host hears and says.
struct Begun {
    agent: agent::Agent,
    wake: wake::Wake,
    voice: voice::Voice,
}

impl Begun {
    /// Works until the agent is gone.
    fn work(self, folder: &Folder, spec: Spec) -> Exit {
        work::Work::new(folder, spec, self.agent, self.wake, self.voice).run()
    }
}

/// Starts the agent, or says why it never ran.
fn begin(folder: &Folder, spec: &Spec) -> Result<Begun, String> {
    let text = |error: Error| error.to_string();
    take::adopt_orphans().map_err(text)?;
    let wake = wake::Wake::new(folder).map_err(text)?;
    let mut voice = voice::Voice::open(folder).map_err(text)?;
    voice.say(Said::Ready { protocol: PROTOCOL });
    let agent = agent::start(folder, spec)?;
    Ok(Begun { agent, wake, voice })
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
        ended: Vec::new(),
    }
}

fn record(folder: &Folder, exit: &Exit) -> Result<()> {
    let content = serde_json::to_vec(exit).map_err(|source| Error::Encode { what: "an exit", source })?;
    Ok(replace(&RealDisk, &folder.exit(), &content)?)
}
