//! The journal as the rest of the program sees it: append, read, watch.
//!
//! [`Journal`] is the whole contract, so that another store can take the place of the file's one.
//! [`FileJournal`] is a handle on the one thread that writes (`writer.rs`). The invariant: an append that
//! is acknowledged is on disk, and is read back by every later opening.

use std::fmt;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};

use tokio::sync::{oneshot, watch};

use super::disk::Disk;
use super::error::{Error, Failure, Result};
use super::folder::StateFolder;
use super::line::Draft;
use super::reader;
use super::segment::Segment;
use super::writer::{Request, Writer};
use crate::model::id::Seq;

/// How many appends may wait for the writer; when it is full the producer waits.
const QUEUE: usize = 1024;

/// Where an append expects to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Wherever the journal is.
    Next,
    /// At this place; if another is next, the append is refused.
    Exactly(Seq),
}

/// The places that one append got: consecutive, and on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// The first.
    pub first: Seq,
    /// The last.
    pub last: Seq,
}

/// An append, a read and a watch: what a journal can do.
pub trait Journal: Send + Sync {
    /// Hands events over to be written, in one piece, at consecutive places.
    ///
    /// Waits while too many wait already: a task that must not block hands over from a blocking thread.
    fn append(&self, drafts: Vec<Draft>, place: Place) -> Ack;

    /// Reads the lines of durable events from a place on, until `each` breaks; returns the last one read.
    fn read(&self, from: Seq, each: &mut dyn FnMut(Seq, &[u8]) -> ControlFlow<()>) -> Result<Seq>;

    /// Returns the last event that is on disk.
    fn durable(&self) -> Seq;

    /// Returns a channel that always holds the last event on disk, and wakes when it changes.
    fn watch(&self) -> watch::Receiver<Seq>;
}

/// The answer to an append, once there is one: wait for it on a thread, or await it in a task.
#[must_use = "an append is durable only once it is acknowledged"]
#[derive(Debug)]
pub struct Ack(pub(super) oneshot::Receiver<Result<Written>>);

impl Ack {
    /// Blocks this thread until the events are on disk; not for use inside a task.
    pub fn wait(self) -> Result<Written> {
        self.0.blocking_recv().unwrap_or(Err(Error::Closed))
    }
}

impl Future for Ack {
    type Output = Result<Written>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|answer| answer.unwrap_or(Err(Error::Closed)))
    }
}

/// What the writer tells everybody.
#[derive(Debug)]
pub(super) struct Shared {
    /// The last event on disk.
    pub durable: watch::Sender<Seq>,
    /// How many bytes were written.
    pub bytes: AtomicU64,
    /// Why nothing is written any more.
    pub failure: OnceLock<Arc<Failure>>,
}

/// The journal in the state folder, and its one writer.
pub struct FileJournal {
    disk: Arc<dyn Disk>,
    folder: StateFolder,
    shared: Arc<Shared>,
    /// Taken when it is dropped: the writer ends when nobody can send any more.
    requests: Option<SyncSender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for FileJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileJournal")
            .field("folder", &self.folder)
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}

impl FileJournal {
    /// Starts the writer on a segment that recovery began.
    pub fn start(disk: Arc<dyn Disk>, folder: StateFolder, segment: Segment) -> Result<Self> {
        let last = Seq(segment.header.first.0.saturating_sub(1));
        let shared = Arc::new(Shared {
            durable: watch::Sender::new(last),
            bytes: AtomicU64::new(0),
            failure: OnceLock::new(),
        });
        // Bounded: a producer that is faster than the disk waits.
        let (sender, receiver) = sync_channel(QUEUE);
        let path = segment.path.clone();
        let writer = Writer::new(Arc::clone(&disk), folder.clone(), segment, Arc::clone(&shared));
        let thread = thread::Builder::new()
            .name("journal".into())
            .spawn(move || writer.run(&receiver))
            .map_err(Error::io("start the writer of", &path))?;
        Ok(Self { disk, folder, shared, requests: Some(sender), thread: Some(thread) })
    }

    /// Begins a new segment, unless the present one is still empty.
    pub fn rotate(&self) -> Result<()> {
        let (answer, receiver) = oneshot::channel();
        self.send(Request::Rotate { answer });
        receiver.blocking_recv().unwrap_or(Err(Error::Closed))
    }

    /// Returns how many bytes were written since it was opened.
    pub fn bytes_written(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// Returns why nothing is written any more, if that is so.
    pub fn failure(&self) -> Option<Arc<Failure>> {
        self.shared.failure.get().cloned()
    }

    fn send(&self, request: Request) {
        // Without a writer the request is dropped, and its answer with it: the caller is told `Closed`.
        let _ = self.requests.as_ref().map(|requests| requests.send(request));
    }
}

impl Journal for FileJournal {
    fn append(&self, drafts: Vec<Draft>, place: Place) -> Ack {
        let (answer, receiver) = oneshot::channel();
        self.send(Request::Append { drafts, place, answer });
        Ack(receiver)
    }

    fn read(&self, from: Seq, each: &mut dyn FnMut(Seq, &[u8]) -> ControlFlow<()>) -> Result<Seq> {
        reader::read(&*self.disk, &self.folder, from, self.durable(), each)
    }

    fn durable(&self) -> Seq {
        *self.shared.durable.borrow()
    }

    fn watch(&self) -> watch::Receiver<Seq> {
        self.shared.durable.subscribe()
    }
}

impl Drop for FileJournal {
    /// Waits until everything that was handed over is written or refused.
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            // It panicked if this fails, and then every ack was dropped: nobody was told a lie.
            let _ = thread.join();
        }
    }
}
