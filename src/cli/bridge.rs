//! `quarterdeck bridge`: stands between a session host and an agent that is a server. Started by hosts, not by people.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::agent::opencode::live::Plan;
use crate::session::bridge;

#[derive(Debug, Args)]
pub(super) struct Bridge {
    #[command(subcommand)]
    to: To,
}

#[derive(Debug, Subcommand)]
enum To {
    /// Run OpenCode's server, print its events, do what stdin says.
    #[command(name = "opencode")]
    OpenCode {
        /// The session to go on with.
        #[arg(long)]
        resume: Option<String>,
        /// The model, as PROVIDER/MODEL.
        #[arg(long)]
        model: Option<String>,
        /// The agent of OpenCode's that works.
        #[arg(long)]
        agent: Option<String>,
        /// OpenCode, and more arguments for its server.
        #[arg(last = true, required = true)]
        command: Vec<String>,
    },
    /// Become a program that ends when its parent does.
    Guard {
        /// The parent's pid.
        parent: u32,
        #[arg(last = true, required = true)]
        command: Vec<String>,
    },
}

impl Bridge {
    pub(super) fn run(self) -> ExitCode {
        match self.to {
            To::OpenCode { resume, model, agent, command } => {
                let ran = bridge::opencode(Plan { resume, model, agent }, &command);
                if ran { ExitCode::SUCCESS } else { ExitCode::FAILURE }
            }
            To::Guard { parent, command } => {
                let why = bridge::guard(parent, &command);
                // Where that goes nowhere, the exit code tells.
                let _ = writeln!(std::io::stderr().lock(), "{why}");
                ExitCode::FAILURE
            }
        }
    }
}
