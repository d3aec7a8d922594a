//! `quarterdeck engine`: run it, start it in the background, stop it, ask after it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};

use super::{Outcome, Place, ask, print, shown, working_folder};
use crate::engine::config::Config;
use crate::engine::driver::{Driver, World};
use crate::store::disk::RealDisk;
use crate::store::folder::StateFolder;
use crate::store::lock::{self, Holder};

/// An engine that was started in the background leaves after so long with nothing to do.
const IDLE: Duration = Duration::from_mins(10);
/// How long an engine may take to leave.
const LEAVE: Duration = Duration::from_secs(15);

#[derive(Debug, Args)]
pub(super) struct Engine {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Run the engine here, until it is stopped.
    Run {
        /// Leave by itself after 10 minutes with nothing to do.
        #[arg(long, hide = true)]
        background: bool,
    },
    /// Start the engine in the background.
    Start,
    /// Stop the engine; its agents go on, and the next engine takes them up.
    Stop,
    /// Say whether an engine runs.
    Status,
}

impl Engine {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let folder = StateFolder::find_or_place(&working_folder()?, place.dir.as_deref());
        match self.what {
            What::Run { background } => run(folder, background),
            What::Start => start(&folder),
            What::Stop => stop(&folder),
            What::Status => status(&folder),
        }
    }
}

fn run(folder: StateFolder, background: bool) -> Outcome {
    if background {
        // Its own session, so that closing the terminal does not end it. It fails where it is a leader already.
        let _ = rustix::process::setsid();
    }
    let world = World {
        program: std::env::current_exe()?,
        env: std::env::vars().collect(),
        config: Config::read(folder.project())?,
        idle_after: background.then_some(IDLE),
    };
    let driver = Driver::open(folder, Arc::new(RealDisk), world)?;
    let stopper = driver.stopper();
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, stopper.flag())?;
    }
    driver.run()?;
    Ok(ExitCode::SUCCESS)
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

fn stop(folder: &StateFolder) -> Outcome {
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
    print(&format!(
        "Stopped the engine of {} (pid {}); its agents go on.\n",
        shown(&folder.root),
        holder.pid
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn status(folder: &StateFolder) -> Outcome {
    let root = shown(&folder.root);
    if let Some(Holder { pid, epoch, .. }) = lock::holder(&RealDisk, folder) {
        print(&format!("The engine of {root} runs: pid {pid}, epoch {epoch}.\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&format!("No engine runs on {root}.\n"))?;
    Ok(ExitCode::FAILURE)
}
