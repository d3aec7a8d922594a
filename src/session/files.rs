//! The files of a session's folder: what is in each. Both sides use these types.
//!
//! Fields that are not known are ignored, so that an engine and a host of different releases understand each
//! other; [`PROTOCOL`] changes only when that no longer suffices. `docs/session-folder.md` describes them.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::error::{Error, Result};
use crate::agent::run::Run;
use crate::model::id::SessionId;
use crate::model::time::Stamp;
pub use crate::process::tree::MARK;
use crate::process::tree::Process;

/// The version of what host and engine say to each other.
pub const PROTOCOL: u32 = 1;

/// What the host is to do: `spec.json`, written by the engine before it starts the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// The protocol that the engine speaks.
    pub protocol: u32,
    /// Which session this is.
    pub session: SessionId,
    /// What to run.
    #[serde(flatten)]
    pub run: Run,
    /// How long the agent may run, in milliseconds awake and not frozen; no end where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// How long an agent that is asked to end may take.
    pub grace_ms: u64,
}

/// Who the host is: `host.json`, made once, before the agent is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostFile {
    /// The protocol that the host speaks.
    pub protocol: u32,
    /// The host's process.
    #[serde(flatten)]
    pub process: Process,
    /// The boot in which it started, where that is known.
    pub boot_id: Option<String>,
    /// When it took the folder.
    pub at: Stamp,
}

/// One line of `orders`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The order's id: an order that comes twice is obeyed once.
    pub id: String,
    /// What is ordered.
    #[serde(flatten)]
    pub what: What,
}

/// What the engine can order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum What {
    /// Stop every process of the session, so that none runs.
    Freeze,
    /// Let what was stopped go on.
    Continue,
    /// Ask every process to end, and after the grace make it.
    End {
        /// How long to wait; the spec's grace where it is not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grace_ms: Option<u64>,
        /// How long to wait first for the agent to end by its own doing, since it was told to stop: only then its
        /// processes are asked to. An earlier host asks them at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        patience_ms: Option<u64>,
    },
    /// End every process at once.
    Kill,
    /// Close the agent's stdin when what was fed before is written.
    CloseStdin,
    /// Allow so much running time from now on; without end where it is not given.
    Deadline {
        /// Milliseconds awake and not frozen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remaining_ms: Option<u64>,
    },
}

impl What {
    /// Returns the order's word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Freeze => "freeze",
            Self::Continue => "continue",
            Self::End { .. } => "end",
            Self::Kill => "kill",
            Self::CloseStdin => "close-stdin",
            Self::Deadline { .. } => "deadline",
        }
    }
}

/// One line of `in`: a line for the agent's stdin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feed {
    /// The line's id: a line that comes twice is fed once.
    pub id: String,
    /// The line, without its end.
    pub line: String,
}

/// One line of `host.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// When the host wrote it.
    pub at: Stamp,
    /// The same on the awake clock of this boot, in milliseconds.
    #[serde(default)]
    pub awake_ms: u64,
    /// What it says.
    #[serde(flatten)]
    pub said: Said,
}

/// What a host says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Said {
    /// The folder is taken, and the bell can be rung.
    Ready {
        /// The protocol that the host speaks.
        protocol: u32,
    },
    /// The agent runs.
    Started {
        /// Its main process.
        #[serde(flatten)]
        process: Process,
        /// How long it may run from here on, if there is an end to it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remaining_ms: Option<u64>,
    },
    /// An order was carried out, as far as `still_running` says.
    Did(Did),
    /// An order was not carried out.
    Refused {
        /// The order.
        id: String,
        /// Why.
        why: String,
    },
    /// A line was written to the agent's stdin, whole.
    Fed {
        /// The line.
        id: String,
    },
    /// A line was not written, and will not be.
    NotFed {
        /// The line.
        id: String,
        /// Why.
        why: String,
    },
    /// The processes of the session, where they are others than before.
    Pids {
        /// All that live.
        pids: Vec<Process>,
    },
    /// A line of `orders` or `in` that means nothing.
    Unreadable {
        /// Which file.
        file: String,
        /// Where the line begins.
        offset: u64,
    },
    /// The agent has ended and `exit.json` is written: the host leaves.
    Exited,
}

/// What an order came to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Did {
    /// The order.
    pub id: String,
    /// Its word.
    pub order: String,
    /// The processes that it reached.
    pub pids: Vec<Process>,
    /// How many they are.
    pub count: usize,
    /// After freeze, end and kill: how many run all the same. 0 is the proof that none does.
    pub still_running: usize,
    /// After continue: how many are stopped all the same.
    #[serde(default)]
    pub still_stopped: usize,
    /// After freeze, continue and deadline: how long it may still run, if there is an end to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_ms: Option<u64>,
}

/// How the agent ended: `exit.json`, durable before the host leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exit {
    /// When.
    pub at: Stamp,
    /// Why it ended.
    pub reason: Reason,
    /// The main process's exit code, if it had one.
    #[serde(default)]
    pub code: Option<i32>,
    /// The signal that ended the main process, if one did.
    #[serde(default)]
    pub signal: Option<i32>,
    /// What the system said when it did not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it ran, awake and not frozen.
    #[serde(default)]
    pub ran_ms: u64,
    /// The processor time of everything that it started and that was waited for.
    #[serde(default)]
    pub cpu_ms: Option<u64>,
    /// The processes that lived on after the main one, and were ended.
    #[serde(default)]
    pub leftovers: Vec<Process>,
    /// Every process that was asked or made to end, the main one too where it did not end by itself.
    #[serde(default)]
    pub ended: Vec<Process>,
}

/// Why an agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// By itself.
    Exited,
    /// By an order, or because the host was told to leave.
    Ended,
    /// It had run as long as it may.
    Deadline,
    /// It never ran.
    SpawnFailed,
}

impl Reason {
    /// Returns how an adapter is told of it.
    pub fn cause(self) -> crate::agent::Cause {
        match self {
            Self::Exited => crate::agent::Cause::Itself,
            Self::Ended => crate::agent::Cause::Order,
            Self::Deadline => crate::agent::Cause::Deadline,
            Self::SpawnFailed => crate::agent::Cause::NeverRan,
        }
    }
}

/// Reads one of the JSON files; `None` if it is missing.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let content = match std::fs::read(path) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let read = serde_json::from_slice(&content);
    read.map(Some).map_err(|source| Error::Unreadable { path: path.to_owned(), source })
}

/// Returns a value as one line of JSON with its end.
pub(crate) fn line<T: Serialize>(what: &'static str, value: &T) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value).map_err(|source| Error::Encode { what, source })?;
    line.push(b'\n');
    Ok(line)
}

/// The one place of this room that reads the clock on the wall: for what people read, never for deciding.
pub(crate) fn now() -> Stamp {
    Stamp::from_millis(0).plus(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}
