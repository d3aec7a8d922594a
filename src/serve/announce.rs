//! `engine.json`: which engine has the folder, and where it listens.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{API, VERSION};
use crate::store::disk::{RealDisk, read};
use crate::store::error::{Error, Result};
use crate::store::folder::StateFolder;
use crate::store::lock::Holder;
use crate::store::views::replace;

/// What an engine says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Announced {
    /// The process, with its start and boot, and which opening of the journal it writes.
    #[serde(flatten)]
    pub process: Holder,
    pub version: String,
    pub api: u32,
    /// Its socket; none where none could be made.
    pub socket: Option<PathBuf>,
    /// Where it listens on TCP, if it does.
    pub tcp: Option<SocketAddr>,
    /// What could not be opened, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

impl Announced {
    /// Describes this process.
    pub fn this_process(epoch: u64) -> Self {
        let process = Holder::this_process(epoch);
        Self { process, version: VERSION.into(), api: API, socket: None, tcp: None, trouble: None }
    }
}

/// Says where this engine is.
pub fn tell(folder: &StateFolder, announced: &Announced) -> Result<()> {
    let encode = |source| Error::Encode { what: "engine.json".into(), source };
    let mut text = serde_json::to_vec_pretty(announced).map_err(encode)?;
    text.push(b'\n');
    replace(&RealDisk, &folder.engine_json(), &text)
}

/// Returns what the engine of a folder says of itself, if it is still there.
pub fn read_live(folder: &StateFolder) -> Option<Announced> {
    let text = read(&RealDisk, &folder.engine_json()).ok()?;
    serde_json::from_slice::<Announced>(&text).ok().filter(|told| told.process.is_alive())
}

/// Takes it back when the engine leaves.
pub fn withdraw(folder: &StateFolder, announced: &Announced) {
    // What is left of either is known to be stale: its process is gone.
    let _ = announced.socket.as_ref().map(std::fs::remove_file);
    let _ = std::fs::remove_file(folder.engine_json());
}
