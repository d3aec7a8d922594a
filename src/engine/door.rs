//! The door: how other threads of this process ask the driver. It stays one synchronous loop; an ask waits in a
//! bounded queue and rings its bell, and the answer comes back by itself.
//!
//! Three things go through: a command, answered when its receipt is final; a look at what the engine knows; and
//! the events, each told after it is on disk. An event is not even copied while nobody listens, and made into
//! bytes once, by whoever needs them first.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::kernel::Kernel;
use super::kernel::state::{CommandOutcome, Known};
use crate::config::{Config, Fault, Layer};
use crate::model::Model;
use crate::model::command::{Command, Receipt, ReceiptState};
use crate::model::event::{Body, Event};
use crate::model::id::{CommandId, JournalId, Seq};
use crate::model::key::{NodeKey, SourceId};
use crate::model::time::Stamp;
use crate::source::watch::Bell;
use crate::store::folder::StateFolder;

/// How many asks may wait; when it is full the asker waits.
const QUEUE: usize = 256;
/// How many events a listener may fall behind before it must read them from the journal.
pub const RING: usize = 4096;

/// What somebody wants of the driver.
pub(super) enum Ask {
    Command {
        command: Box<Command>,
        reply: oneshot::Sender<Answer>,
    },
    Look(Box<dyn FnOnce(&View<'_>) + Send>),
    /// Writes down what nobody had to decide on.
    Note {
        body: Box<Body>,
        reply: oneshot::Sender<()>,
    },
    Settings {
        change: Box<Change>,
        reply: oneshot::Sender<Result<Value, Vec<Fault>>>,
    },
}

/// Settings that somebody wants to be others.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// As nested tables; `null` takes a setting back.
    pub settings: Value,
    /// Where they are to be kept: in a file, or for as long as nobody takes them back.
    pub layer: Layer,
    /// Who asks.
    pub by: Option<String>,
}

/// What became of a command that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Its receipt, which is final.
    Receipt(Receipt),
    /// Its id was used before, for something else; nothing is done.
    OtherRequest(Receipt),
}

/// The engine has left, or is leaving: what was asked may or may not have been done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the engine is leaving")]
pub struct Left;

/// What the driver knows, for as long as a look takes. It does nothing else meanwhile: take what is needed, and
/// make text of it elsewhere.
pub struct View<'a> {
    pub model: &'a Model,
    pub kernel: &'a Kernel,
    pub config: &'a Config,
    /// The last event that is in the model.
    pub seq: Seq,
    pub now: Stamp,
    pub(super) events: &'a broadcast::Sender<Arc<Published>>,
}

impl View<'_> {
    /// Listens to every event after [`View::seq`].
    pub fn listen(&self) -> broadcast::Receiver<Arc<Published>> {
        self.events.subscribe()
    }

    /// Returns what is known of a command; `None` for one that was never given, or long ago.
    pub fn receipt(&self, id: &CommandId) -> Option<Receipt> {
        if let Some(receipt) = self.model.receipts().get(id) {
            return Some(receipt.clone());
        }
        // The kernel remembers far more of them than the model shows, if less of each.
        let known = self.kernel.known(id)?;
        let state = match known.outcome.clone() {
            CommandOutcome::Accepted => ReceiptState::Accepted,
            CommandOutcome::Confirmed { proof } => {
                ReceiptState::Confirmed { at: None, proof: proof.map(Into::into), effects: Vec::new() }
            }
            CommandOutcome::Refused { code, reason } => {
                ReceiptState::Refused { at: None, code: code.map(Into::into), reason: reason.map(Into::into) }
            }
        };
        Some(Receipt {
            source: SourceId(0),
            command_id: id.clone(),
            kind: Some(known.kind.as_str()).filter(|kind| !kind.is_empty()).map(Into::into),
            target: target(known),
            by: None,
            options: None,
            accepted_at: None,
            deadline: None,
            state,
        })
    }
}

fn target(known: &Known) -> Option<NodeKey> {
    let delegation = known.delegation.clone()?;
    Some(match known.subtask.clone() {
        Some(step) => NodeKey::Subtask(delegation, step),
        None => NodeKey::Delegation(delegation),
    })
}

/// An event that is on disk.
#[derive(Debug)]
pub struct Published {
    pub event: Event,
    wire: OnceLock<Bytes>,
}

impl Published {
    pub(super) fn new(event: Event) -> Self {
        Self { event, wire: OnceLock::new() }
    }

    /// Returns the event as bytes: made by the first who asks, shared by all.
    pub fn wire(&self, render: impl FnOnce(&Event) -> Bytes) -> Bytes {
        self.wire.get_or_init(|| render(&self.event)).clone()
    }
}

/// Asks the driver, from any thread or task.
#[derive(Clone)]
pub struct Door {
    asks: mpsc::Sender<Ask>,
    bell: Bell,
    about: Arc<About>,
    visits: Arc<Visits>,
}

/// What does not change while an engine lives.
#[derive(Debug)]
pub struct About {
    pub folder: StateFolder,
    /// Which journal it writes, and which opening of it this is.
    pub journal: JournalId,
    pub epoch: u64,
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").field("about", &self.about).finish_non_exhaustive()
    }
}

impl Door {
    pub(super) fn new(bell: Bell, about: About) -> (Self, mpsc::Receiver<Ask>) {
        let (asks, waiting) = mpsc::channel(QUEUE);
        (Self { asks, bell, about: Arc::new(about), visits: Arc::new(Visits::new()) }, waiting)
    }

    /// Returns which engine it is.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Returns the engine's folder.
    pub fn folder(&self) -> &StateFolder {
        &self.about.folder
    }

    /// Gives a command; the answer comes when its receipt is final, however long that takes.
    pub async fn command(&self, command: Command) -> Result<oneshot::Receiver<Answer>, Left> {
        let (reply, answer) = oneshot::channel();
        self.ask(Ask::Command { command: Box::new(command), reply }).await?;
        Ok(answer)
    }

    /// Looks at what the engine knows, between two of its turns.
    pub async fn look<T: Send + 'static>(
        &self,
        what: impl FnOnce(&View<'_>) -> T + Send + 'static,
    ) -> Result<T, Left> {
        let (reply, answer) = oneshot::channel();
        let look = move |view: &View<'_>| {
            // Who asked may have gone.
            let _ = reply.send(what(view));
        };
        self.ask(Ask::Look(Box::new(look))).await?;
        answer.await.map_err(|_| Left)
    }

    /// Changes settings, all of them or none; returns those that are then in force, or what is wrong.
    pub async fn change(&self, change: Change) -> Result<Result<Value, Vec<Fault>>, Left> {
        let (reply, answer) = oneshot::channel();
        self.ask(Ask::Settings { change: Box::new(change), reply }).await?;
        answer.await.map_err(|_| Left)
    }

    /// Writes an event down that changes nothing; returns when it is on disk.
    pub async fn note(&self, body: Body) -> Result<(), Left> {
        let (reply, answer) = oneshot::channel();
        self.ask(Ask::Note { body: Box::new(body), reply }).await?;
        answer.await.map_err(|_| Left)
    }

    /// Notes that somebody is there: an engine that leaves by itself stays a while longer.
    pub fn visit(&self) {
        self.visits.note();
    }

    pub(super) fn visits(&self) -> &Visits {
        &self.visits
    }

    async fn ask(&self, ask: Ask) -> Result<(), Left> {
        self.asks.send(ask).await.map_err(|_| Left)?;
        self.bell.ring();
        Ok(())
    }
}

/// When somebody was last there.
pub(super) struct Visits {
    since: Instant,
    last_ms: AtomicU64,
}

impl Visits {
    fn new() -> Self {
        Self { since: Instant::now(), last_ms: AtomicU64::new(0) }
    }

    fn note(&self) {
        let now = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.fetch_max(now, Ordering::Relaxed);
    }

    pub fn last(&self) -> Instant {
        self.since + std::time::Duration::from_millis(self.last_ms.load(Ordering::Relaxed))
    }
}
