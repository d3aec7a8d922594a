//! The engine's interface: HTTP and server-sent events on the Unix socket of its folder and, where asked for, on
//! TCP; and the one client of it. docs/api.md describes the routes.
//!
//! It decides nothing and knows no state of its own: commands go through the engine's door, answers come from the
//! model that everybody reads, events are those of the journal. It runs beside the driver, on threads of its own;
//! an engine whose interface cannot begin still takes commands from the inbox.

mod accept;
pub mod announce;
pub mod client;
pub mod engines;
pub mod guard;
pub mod listen;
pub mod plan;
mod problem;
pub mod routes;
pub mod sse;
pub mod token;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, watch};

use crate::decide::decider::Decider;
use crate::engine::door::Door;
use crate::store::error::Error as StoreError;
use announce::Announced;
use guard::Rules;

/// The version of the routes and shapes: client and engine must have the same.
pub const API: u32 = 1;
/// This program's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// How long a control waits for its receipt before it answers with what is true so far.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// How many may listen to the events at once.
const STREAMS: usize = 512;
/// How many threads the interface has.
const THREADS: usize = 2;
/// How many of them may wait for a disk.
const DISK_THREADS: usize = 8;
/// How long the last answers may take when the engine leaves.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// How an engine is to be reached.
#[derive(Debug, Clone)]
pub struct Options {
    /// Listen on TCP as well.
    pub listen: Option<SocketAddr>,
    /// Listen there though it is not loopback.
    pub allow_remote: bool,
    /// Further names by which it may be called over TCP.
    pub hosts: Vec<String>,
    /// Web pages that may call it over TCP.
    pub origins: Vec<String>,
    pub patience: Duration,
    pub streams: usize,
    /// Where sockets go whose path in the state folder would be too long.
    pub runtime: listen::Runtime,
    /// The list of this user's engines; none is kept without it.
    pub engines: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: None,
            allow_remote: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            patience: PATIENCE,
            streams: STREAMS,
            runtime: listen::Runtime::default(),
            engines: None,
        }
    }
}

/// Why the interface does not begin.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "{0} is not this machine's alone.\nAdd --allow-remote if others are to reach the engine; they need its token."
    )]
    NotLoopback(SocketAddr),
    #[error("cannot listen on {address}: {source}.\nAnother program may have it; name another port.")]
    Bind { address: SocketAddr, source: io::Error },
    #[error("cannot make the socket {}: {source}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error("no place for a socket: {0}")]
    NoPlace(String),
    #[error("the interface cannot begin: {0}")]
    Threads(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Which engine this is: what a client compares before anything else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    pub api: u32,
    pub version: String,
    /// Which opening of the journal this is: it grows with every engine.
    pub epoch: u64,
    /// Which journal: another one means that all numbers of events before are void.
    pub journal: String,
}

/// What every route knows.
#[derive(Clone)]
pub struct Api(Arc<Inside>);

struct Inside {
    door: Door,
    version: Version,
    patience: Duration,
    rules: Rules,
    streams: Arc<Semaphore>,
    /// The last count of the history, so that turning its pages does not count it anew.
    counted: Mutex<Option<(routes::past::Counted, u64)>>,
    /// Who is asked for decisions.
    decider: Mutex<Decider>,
}

impl Api {
    /// Describes the engine behind a door to its routes.
    pub fn new(door: Door, options: &Options, rules: Rules) -> Self {
        let about = door.about();
        let (epoch, journal) = (about.epoch, about.journal.to_string());
        let version = Version { api: API, version: VERSION.into(), epoch, journal };
        let streams = Arc::new(Semaphore::new(options.streams));
        let (counted, decider) = (Mutex::new(None), Mutex::new(Decider::default()));
        let patience = options.patience;
        Self(Arc::new(Inside { door, version, patience, rules, streams, counted, decider }))
    }

    /// Returns all routes, guarded.
    pub fn router(self) -> Router {
        routes::router(self)
    }
}

/// The interface of an engine, open until it is closed.
pub struct Serving {
    runtime: tokio::runtime::Runtime,
    /// Dropped, it ends the listeners.
    closing: watch::Sender<()>,
    announced: Announced,
}

impl Serving {
    /// Returns where the engine can be reached.
    pub fn announced(&self) -> &Announced {
        &self.announced
    }

    /// Closes it: the last answers go out, then nothing is left of it but the token.
    pub fn close(self, door: &Door) {
        drop(self.closing);
        announce::withdraw(door.folder(), &self.announced);
        self.runtime.shutdown_timeout(LAST_ANSWERS);
    }
}

/// Opens the interface of the engine behind a door.
///
/// What is announced is true when this returns: the socket listens, and `engine.json` says where.
pub fn open(door: &Door, options: &Options) -> Result<Serving, ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .max_blocking_threads(DISK_THREADS)
        .thread_name("serve")
        .enable_all()
        .build()?;
    let (closing, closed) = watch::channel(());
    let announced = runtime.block_on(listen::open(door, options, closed))?;
    if let Some(engines) = &options.engines {
        // Nobody is to lose an engine because a list of them cannot be written.
        let _ = engines::note(engines, door.folder());
    }
    // Last: who reads it finds everything else done.
    announce::tell(door.folder(), &announced)?;
    Ok(Serving { runtime, closing, announced })
}
