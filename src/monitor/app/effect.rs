//! What the monitor asks of the world, and what comes back. `update` returns effects and performs none; the
//! answer carries the number of its question, so that a late one is dropped.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::agent::log::Entry;
use crate::config::Layer;
use crate::config::keys::Key;
use crate::control::{Control, Held, Inside, Signal, Signalled, Target};
use crate::model::budget::Limit;
use crate::model::command::{Command, Spec};
use crate::model::id::{AgentId, CommandId, SessionId};
use crate::model::key::SourceId;
use crate::model::time::Stamp;
use crate::model::usage::Spend;
use crate::monitor::term::ground::Ground;
use crate::source::feed::Batch;

/// Something to be done outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Send a command to the engine of this source.
    Send(SourceId, Box<Command>),
    /// Stop, continue or end a process that no engine of ours runs, with all that descends from it.
    Signal {
        id: CommandId,
        what: Signal,
        process: Signalled,
        /// What works in it now, and ends with it.
        inside: Box<Inside>,
    },
    /// Leave word for the hook of a session that no engine of ours runs.
    Hold {
        id: CommandId,
        what: Control,
        held: Held,
    },
    /// Ask what commands would touch.
    Preview {
        ticket: u64,
        commands: Vec<(SourceId, Command)>,
    },
    /// Ask what commands would undo.
    Foresee {
        ticket: u64,
        commands: Vec<(SourceId, Command)>,
    },
    /// Ask why something does not run.
    Explain {
        ticket: u64,
        target: Target,
    },
    /// Count what is changed in these folders and not committed; none is the project of this source.
    Changes {
        ticket: u64,
        source: SourceId,
        workspaces: Vec<String>,
    },
    /// Follow the log of a session instead of the one before; `None` follows none.
    Follow {
        ticket: u64,
        session: Option<(SourceId, SessionId)>,
    },
    /// Read what left the tree, newest first.
    History {
        ticket: u64,
    },
    /// Read what was changed in a folder, by file; without one in that of the project of this source.
    Diff {
        ticket: u64,
        source: SourceId,
        /// The folder that it works in, where that is not a tree of its own.
        workspace: Option<String>,
        /// The step whose own work tree it is.
        step: Option<Target>,
    },
    /// Hand a task over, as `quarterdeck delegate` would: to the engine of this source, where there are several.
    Delegate(Option<SourceId>, Box<Handover>),
    /// Weigh a task and split it, and begin nothing of it; its planner is asked only where that is said.
    Plan {
        ticket: u64,
        source: Option<SourceId>,
        handover: Box<Handover>,
        asks_planner: bool,
    },
    /// Begin what was planned and shown; what it was planned from comes back where it is not taken.
    Begin {
        source: Option<SourceId>,
        handover: Box<Handover>,
        spec: Box<Spec>,
    },
    /// Read which tasks the project of this source plans.
    Tasks {
        source: Option<SourceId>,
    },
    /// Put text on the clipboard.
    Copy(String),
    /// Write a file, and say where.
    Export {
        name: String,
        text: String,
    },
    /// Open something in the person's editor, and come back.
    Edit(PathBuf),
    /// Open the log of a session there, and come back.
    EditLog {
        source: SourceId,
        session: SessionId,
    },
    /// Run the agent's own program on a session, and come back.
    Attach {
        argv: Vec<String>,
        folder: Option<String>,
    },
    /// Keep a setting of the screen.
    Save {
        source: Option<SourceId>,
        place: SavePlace,
        text: String,
    },
    /// Set a setting of the engine of this source, or take it back.
    Configure {
        source: Option<SourceId>,
        key: &'static Key,
        value: Option<Value>,
        layer: Layer,
    },
    /// Take or leave the mouse.
    Mouse(bool),
    /// Draw everything anew.
    Redraw,
    /// Ring, tell the desktop, or both.
    Notify {
        text: String,
        ring: bool,
        desktop: bool,
    },
    /// Give the terminal back for a while.
    Suspend,
    Quit,
}

/// A task as the dialog has it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Handover {
    pub text: String,
    pub agent: Option<String>,
    /// The model of its agents, instead of their own.
    pub model: Option<String>,
    pub pattern: Option<String>,
    pub agents: Option<u32>,
    /// How many rounds a debate or a review has.
    pub rounds: Option<u32>,
    /// How many levels it may have.
    pub depth: Option<u32>,
    /// What it may spend.
    pub budget: Option<Limit>,
}

/// What would be started, and who could be asked for a better plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Planned {
    pub spec: Spec,
    /// The agent that makes plans, where one is set.
    pub planner: Option<String>,
    /// Why it could not begin as it is.
    pub trouble: Option<String>,
}

/// A task that a project plans.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskName {
    pub id: String,
    pub title: String,
}

/// Where a setting is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SavePlace {
    /// For this project.
    Project,
    /// For this person.
    User,
}

/// What comes back.
#[derive(Debug)]
pub enum News {
    /// Facts of a source.
    Facts(Batch),
    /// A command could not be handed over at all.
    NotSent { command: Box<Command>, why: String },
    /// What became of a signal: its proof, or why not.
    Signalled { id: CommandId, done: Result<String, String> },
    /// A task could not be handed over: nothing of it is lost.
    NotDelegated { source: Option<SourceId>, handover: Box<Handover>, why: String },
    /// What would be started, or why nothing can be.
    Planned { ticket: u64, plan: Result<Box<Planned>, String> },
    /// The tasks that a project plans.
    Tasks { source: Option<SourceId>, tasks: Vec<TaskName> },
    /// What a command would touch.
    Previewed { ticket: u64, lines: Vec<String> },
    /// What would be undone, in words, or why nothing can be.
    Foreseen { ticket: u64, told: Result<String, String> },
    /// What is changed and not committed, in words.
    Changes { ticket: u64, text: String },
    /// Why something does not run.
    Explained { ticket: u64, lines: Vec<String> },
    /// More of the log that is followed.
    Log { ticket: u64, lines: Vec<LogEntry>, from_start: bool },
    /// What left the tree.
    History { ticket: u64, entries: Vec<PastEntry>, trouble: Option<String> },
    /// What was changed, as a unified diff.
    Diff { ticket: u64, text: Result<String, String> },
    /// Something for the person to read, in one line.
    Said { text: String, is_error: bool },
    /// It was done, and there is nothing to say.
    Nothing,
    /// A theme or key file was changed.
    ThemeChanged,
    /// The terminal told what its ground is.
    Ground(Ground),
}

/// One line of a session's log, with when it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEntry {
    pub at: Option<Stamp>,
    /// The sub-agent that it is of.
    pub agent: Option<AgentId>,
    pub entry: Entry,
}

/// One delegation that is over and left the tree.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PastEntry {
    pub id: String,
    pub title: String,
    pub status: String,
    pub pattern: Option<String>,
    pub agent: Option<String>,
    pub started: Option<Stamp>,
    pub ended: Option<Stamp>,
    /// What it spent with all below it.
    pub spend: Spend,
    pub steps: usize,
    /// The whole record, for export.
    pub record: Arc<str>,
}
