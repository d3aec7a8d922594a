//! The journal's one writer: takes all that waits, writes it at once, syncs once, then acknowledges.
//!
//! No timer is needed: a batch is what queued while the last one was synced. The invariant: nothing is
//! acknowledged or published before it is on disk, and after the first error nothing is written again. A
//! failed sync is never repeated, since the system drops what it could not write and then reports success.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use tokio::sync::oneshot;

use super::disk::Disk;
use super::error::{Error, Failure, Result};
use super::folder::StateFolder;
use super::journal::{Place, Shared, Written};
use super::line::Draft;
use super::segment::{self, Header, Segment};
use crate::model::id::Seq;

/// A batch is closed when it has this many bytes, so that one sync never takes long.
const LARGEST_BATCH: usize = 4 * 1024 * 1024;

/// What the writer can be asked.
pub enum Request {
    /// To write events.
    Append { drafts: Vec<Draft>, place: Place, answer: oneshot::Sender<Result<Written>> },
    /// To begin a new segment.
    Rotate { answer: oneshot::Sender<Result<()>> },
}

/// The writer's own state; nobody else touches the segment.
pub struct Writer {
    disk: Arc<dyn Disk>,
    folder: StateFolder,
    segment: Segment,
    shared: Arc<Shared>,
    /// The last event on disk.
    durable: Seq,
    /// The checksum of the last event framed.
    last_crc: u32,
    batch: Batch,
}

/// What is framed, but not on disk.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// The last event in it; `None` if there is none.
    last: Option<Seq>,
    answers: Vec<(oneshot::Sender<Result<Written>>, Written)>,
}

impl Writer {
    /// Makes a writer that goes on where the segment begins.
    pub fn new(disk: Arc<dyn Disk>, folder: StateFolder, segment: Segment, shared: Arc<Shared>) -> Self {
        let durable = Seq(segment.header.first.0.saturating_sub(1));
        let last_crc = segment.header.prev_crc;
        Self { disk, folder, segment, shared, durable, last_crc, batch: Batch::default() }
    }

    /// Serves requests until nobody can send one any more.
    pub fn run(mut self, requests: &Receiver<Request>) {
        while let Ok(first) = requests.recv() {
            let mut waiting = Some(first);
            let mut rotation = None;
            while let Some(request) = waiting.take() {
                match request {
                    Request::Append { drafts, place, answer } => self.frame(&drafts, place, answer),
                    Request::Rotate { answer } => {
                        rotation = Some(answer);
                        break;
                    }
                }
                if self.batch.bytes.len() < LARGEST_BATCH {
                    waiting = requests.try_recv().ok();
                }
            }
            self.commit();
            if let Some(answer) = rotation {
                answered(answer, self.rotate());
            }
        }
    }

    /// Frames one append into the batch, or refuses it.
    fn frame(&mut self, drafts: &[Draft], place: Place, answer: oneshot::Sender<Result<Written>>) {
        if let Some(failure) = self.shared.failure.get() {
            return answered(answer, Err(Arc::clone(failure).into()));
        }
        let last = self.batch.last.unwrap_or(self.durable);
        let first = last.next();
        if let Place::Exactly(expected) = place
            && expected != first
        {
            return answered(answer, Err(Error::Fenced { expected, next: first }));
        }
        let mut written = Written { first, last };
        for draft in drafts {
            written.last = written.last.next();
            self.last_crc = draft.frame(written.last, self.durable, &mut self.batch.bytes);
            self.batch.last = Some(written.last);
        }
        self.batch.answers.push((answer, written));
    }

    /// Makes the batch durable, and only then says so.
    fn commit(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        if let Some(last) = batch.last {
            match self.write(&batch.bytes) {
                Ok(()) => {
                    self.durable = last;
                    self.shared.bytes.fetch_add(batch.bytes.len() as u64, Ordering::Relaxed);
                    self.shared.durable.send_replace(last);
                }
                Err(failure) => drop(self.stop(failure)),
            }
        }
        for (answer, written) in batch.answers {
            let failed = self.shared.failure.get().map(|failure| Err(Arc::clone(failure).into()));
            answered(answer, failed.unwrap_or(Ok(written)));
        }
        // The buffer is kept: batches are alike.
        self.batch.bytes = batch.bytes;
        self.batch.bytes.clear();
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let path = &self.segment.path;
        let failed = |attempt| move |source| Failure { attempt, path: path.clone(), source };
        self.segment.writer.write_all(bytes).map_err(failed("write to"))?;
        self.segment.writer.sync_data().map_err(failed("sync"))
    }

    fn rotate(&mut self) -> Result<()> {
        if let Some(failure) = self.shared.failure.get() {
            return Err(Arc::clone(failure).into());
        }
        let first = self.durable.next();
        if self.segment.header.first == first {
            return Ok(());
        }
        let header = Header { first, prev_crc: self.last_crc, ..self.segment.header.clone() };
        match segment::begin(&*self.disk, &self.folder, header) {
            Ok(segment) => {
                self.segment = segment;
                Ok(())
            }
            Err(error) => {
                let failure = self.stop(as_failure(error, self.folder.segment(first)));
                Err(failure.into())
            }
        }
    }

    /// Ends all writing; the first reason stands.
    fn stop(&self, failure: Failure) -> Arc<Failure> {
        Arc::clone(self.shared.failure.get_or_init(|| Arc::new(failure)))
    }
}

fn as_failure(error: Error, path: PathBuf) -> Failure {
    if let Error::Io { attempt, path, source } = error {
        return Failure { attempt, path, source };
    }
    Failure { attempt: "begin the segment", path, source: io::Error::other(error) }
}

/// Answers; a caller that no longer waits has lost interest, not its event.
fn answered<T>(answer: oneshot::Sender<Result<T>>, result: Result<T>) {
    let _ = answer.send(result);
}
