//! `quarterdeck engine`: run it, start it in the background, stop it, ask after it.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};

use super::{Outcome, Place, ask, load, now, print, shown, warn, working_folder};
use crate::engine::driver::{Driver, World};
use crate::model::command::{ReceiptState, Verb};
use crate::model::id::DelegationId;
use crate::model::key::{NodeKey, SourceId};
use crate::serve::engines::{self, EngineState, Known};
use crate::serve::{self, Options, listen};
use crate::session::{self, Folder};
use crate::source::follow::Follower;
use crate::store::disk::RealDisk;
use crate::store::folder::StateFolder;
use crate::store::lock::{self, Holder};

/// An engine that was started in the background leaves after so long with nothing to do and nobody there.
const IDLE: Duration = Duration::from_mins(10);
/// How long an engine may take to leave.
const LEAVE: Duration = Duration::from_secs(15);
/// How long all agents together may take to end.
const END_AGENTS: Duration = Duration::from_mins(2);

#[derive(Debug, Args)]
pub(super) struct Engine {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Run the engine here, until it is stopped.
    Run(Run),
    /// Start the engine in the background.
    Start,
    /// Stop the engine; its agents go on, and the next engine takes them up.
    Stop {
        /// End every agent first, and prove it.
        #[arg(long)]
        agents: bool,
    },
    /// Say whether an engine runs.
    Status {
        /// Of all folders of this user.
        #[arg(long)]
        all: bool,
        /// Print it as JSON, for scripts.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
struct Run {
    /// Leave by itself after 10 minutes with nothing to do and nobody there.
    #[arg(long, hide = true)]
    background: bool,
    /// Answer on TCP too, for whoever has the token in `engine.token` of the state folder.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Let other machines reach it there.
    #[arg(long, requires = "listen")]
    allow_remote: bool,
    /// A further name by which it may be called there.
    #[arg(long, value_name = "NAME", requires = "listen")]
    allow_host: Vec<String>,
    /// A web page that may call it there, such as `http://localhost:3000`.
    #[arg(long, value_name = "ORIGIN", requires = "listen")]
    allow_origin: Vec<String>,
}

impl Engine {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let folder =
            || Ok::<_, std::io::Error>(StateFolder::find_or_place(&working_folder()?, place.dir.as_deref()));
        match self.what {
            What::Run(run) => run.run(folder()?),
            What::Start => start(&folder()?),
            What::Stop { agents } => stop(&folder()?, agents),
            What::Status { all: true, json } => status_of_all(json),
            What::Status { all: false, json } => status(&folder()?, json),
        }
    }
}

impl Run {
    fn run(self, folder: StateFolder) -> Outcome {
        if self.background {
            // Its own session, so that closing the terminal does not end it. It fails where it is a leader already.
            let _ = rustix::process::setsid();
        }
        let config = super::config::configuration(&folder)?;
        let world = World::new(std::env::current_exe()?, std::env::vars().collect(), config);
        let (prices, warnings) = super::natives::prices_of(&folder);
        for warning in &warnings {
            warn(&format!("warning: {warning}"));
        }
        let world = World { prices, idle_after: self.background.then_some(IDLE), ..world };
        let driver = Driver::open(folder, Arc::new(RealDisk), world)?;
        let stopper = driver.stopper();
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
            signal_hook::flag::register(signal, stopper.flag())?;
        }
        let door = driver.door();
        let serving = serve::open(&door, &self.options())?;
        if let Some(trouble) = &serving.announced().trouble {
            warn(&format!("warning: commands come by the inbox only: {trouble}"));
        }
        let (kept, ended) = driver.run_and_keep();
        // While the folder is still ours: the next engine's socket has the same name.
        serving.close(&door);
        drop(kept);
        ended?;
        Ok(ExitCode::SUCCESS)
    }

    fn options(self) -> Options {
        Options {
            listen: self.listen,
            allow_remote: self.allow_remote,
            hosts: self.allow_host,
            origins: self.allow_origin,
            runtime: listen::Runtime::of_this_process(),
            engines: engines::place(|name| std::env::var(name).ok()),
            ..Options::default()
        }
    }
}

fn start(folder: &StateFolder) -> Outcome {
    if let Some(holder) = lock::holder(&RealDisk, folder) {
        print(&format!("The engine of {} runs already (pid {}).\n", shown(&folder.root), holder.pid))?;
        return Ok(ExitCode::SUCCESS);
    }
    let pid = ask::start_engine(folder)?;
    print(&format!("Started the engine of {} (pid {pid}).\n", shown(&folder.root)))?;
    Ok(ExitCode::SUCCESS)
}

/// Stops the engine of a folder, and before it its agents where that is wanted.
pub(super) fn stop(folder: &StateFolder, agents: bool) -> Outcome {
    let ended = if agents { Some(end_agents(folder)?) } else { None };
    if ended == Some(false) {
        warn(
            "The engine still runs: not every agent has ended. Look with `quarterdeck status`, or try again.",
        );
        return Ok(ExitCode::from(ask::LATE));
    }
    let Some(holder) = lock::holder(&RealDisk, folder) else {
        print(&format!("No engine runs on {}.\n", shown(&folder.root)))?;
        return Ok(ExitCode::SUCCESS);
    };
    let pid = i32::try_from(holder.pid).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid.filter(|_| holder.is_alive()) {
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    }
    let give_up = Instant::now() + LEAVE;
    while holder.is_alive() {
        if Instant::now() > give_up {
            return Err(format!(
                "the engine (pid {}) was asked to leave, and has not within {LEAVE:?}",
                holder.pid
            )
            .into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let rest = if ended.is_some() {
        "nothing of it runs"
    } else if has_agents(folder) {
        "its agents go on"
    } else {
        "no agent of it runs"
    };
    print(&format!("Stopped the engine of {} (pid {}); {rest}.\n", shown(&folder.root), holder.pid))?;
    Ok(ExitCode::SUCCESS)
}

/// Cancels everything that is live, until nothing is; returns whether every receipt says so.
fn end_agents(folder: &StateFolder) -> Result<bool, Box<dyn std::error::Error>> {
    let give_up = Instant::now() + END_AGENTS;
    loop {
        let live = live_tops(folder);
        if live.is_empty() {
            return Ok(true);
        }
        if Instant::now() >= give_up {
            return Ok(false);
        }
        let patience = give_up.saturating_duration_since(Instant::now());
        // One engine for all of them, and said once.
        ask::ensure_engine(folder, &warn)?;
        let all: Vec<bool> = std::thread::scope(|scope| {
            let asked: Vec<_> =
                live.iter().map(|id| scope.spawn(move || cancel(folder, id, patience))).collect();
            asked.into_iter().map(|asked| asked.join().unwrap_or(false)).collect()
        });
        if !all.into_iter().all(|ended| ended) {
            return Ok(false);
        }
    }
}

/// Returns whether an agent runs, by what its host says: the engine may have left before it heard of it.
fn has_agents(folder: &StateFolder) -> bool {
    let model = load(now(), Follower::new(folder.clone(), SourceId(0)));
    let newest = model.nodes().filter_map(|(_, node)| node.attempts.last());
    let sessions = newest.filter(|last| last.ended_at.is_none()).filter_map(|last| last.session_id.as_ref());
    let mut folders = sessions.filter_map(|id| folder.session_dir(id.as_str()).ok()).map(Folder);
    folders.any(|session| matches!(session::look(&session), Ok(session::State::Running { .. })))
}

fn live_tops(folder: &StateFolder) -> Vec<DelegationId> {
    let model = load(now(), Follower::new(folder.clone(), SourceId(0)));
    let tops = model.roots().filter_map(|ix| model.get(ix)).filter(|node| node.status.word().is_live());
    tops.filter_map(|node| node.keys.iter().find_map(NodeKey::delegation).cloned()).collect()
}

/// Cancels one, and says how that ended where it did not end well.
fn cancel(folder: &StateFolder, id: &DelegationId, patience: Duration) -> bool {
    let reason = Some("The engine is stopped with its agents.".into());
    let command = ask::command(id.clone(), None, Verb::Cancel { rollback: false, reason });
    match ask::send(folder, &command, patience) {
        Ok(Some(receipt)) => match &receipt.state {
            ReceiptState::Confirmed { proof, .. } => {
                let proof = proof.as_deref().unwrap_or("done");
                // Nobody may be reading; the exit code tells too.
                let _ = print(&format!("✔ cancel {id}: confirmed, {proof}\n"));
                true
            }
            ReceiptState::Refused { reason, code, .. } => {
                let is_over = code.as_deref() == Some("conflict");
                if !is_over {
                    warn(&format!(
                        "✖ cancel {id}: refused: {}",
                        reason.as_deref().unwrap_or("no reason given")
                    ));
                }
                // It ended by itself meanwhile: the next look tells.
                is_over
            }
            ReceiptState::Accepted | ReceiptState::Overdue => false,
        },
        Ok(None) => {
            warn(&format!("… cancel {id}: asked, and not confirmed yet."));
            false
        }
        Err(error) => {
            warn(&format!("✖ cancel {id}: {error}"));
            false
        }
    }
}

fn status(folder: &StateFolder, json: bool) -> Outcome {
    let root = shown(&folder.root);
    let holder = lock::holder(&RealDisk, folder);
    let code = if holder.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if json {
        let known = engines::look(folder.root.clone());
        print(&format!("{}\n", serde_json::to_string_pretty(&known)?))?;
        return Ok(code);
    }
    match holder {
        Some(Holder { pid, epoch, .. }) => {
            print(&format!("The engine of {root} runs: pid {pid}, epoch {epoch}.\n"))?;
        }
        None => print(&format!("No engine runs on {root}.\n"))?,
    }
    Ok(code)
}

fn status_of_all(json: bool) -> Outcome {
    let Some(list) = engines::place(|name| std::env::var(name).ok()) else {
        return Err("there is no list of engines: HOME is not set.\nSet it, or QUARTERDECK_STATE.".into());
    };
    let all = engines::all(&list).map_err(|error| format!("cannot read {}: {error}", list.display()))?;
    if json {
        print(&format!("{}\n", serde_json::to_string_pretty(&all)?))?;
        return Ok(ExitCode::SUCCESS);
    }
    if all.is_empty() {
        print("No engine has run yet.\n")?;
    }
    for Known { folder, state } in all {
        let what = match state {
            EngineState::Running { holder, .. } => format!("● runs, pid {}", holder.pid),
            EngineState::Stopped => "○ stopped".into(),
            EngineState::Gone => "✖ its folder is gone".into(),
        };
        print(&format!("{what:<22} {}\n", crate::model::text::line(&folder.display().to_string())))?;
    }
    Ok(ExitCode::SUCCESS)
}
