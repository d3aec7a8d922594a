//! What every source can do: be asked what is new, and say what to watch. A thread asks it when the watch
//! rings, and at least once a second: some file systems tell nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::watch::{Bell, Watch};
use crate::model::fact::Fact;
use crate::model::time::Stamp;

/// The safety net under the watch.
pub const POLL: Duration = Duration::from_secs(1);

/// Facts that belong together.
#[derive(Debug, Default)]
pub struct Batch {
    pub facts: Vec<Fact>,
    /// Whether there is more already: ask again before anything else.
    pub more: bool,
}

/// A source of facts.
pub trait Feed: Send + 'static {
    /// Returns what became known since it was last asked. It never fails: what cannot be read is a fact.
    fn poll(&mut self, now: Stamp) -> Batch;

    /// Returns the folders, and where the system needs it the files, whose changes matter.
    fn watched(&self) -> Vec<PathBuf>;

    /// Says to the watch what matters now. A feed of very many files says only what is new, and hears what rang.
    fn attend(&mut self, watch: &mut Watch) {
        watch.want(&self.watched());
    }
}

impl<F: Feed + ?Sized> Feed for Box<F> {
    fn poll(&mut self, now: Stamp) -> Batch {
        (**self).poll(now)
    }

    fn watched(&self) -> Vec<PathBuf> {
        (**self).watched()
    }

    fn attend(&mut self, watch: &mut Watch) {
        (**self).attend(watch);
    }
}

/// A feed that is followed by a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct Following {
    stop: Arc<AtomicBool>,
    bell: Bell,
    thread: Option<JoinHandle<()>>,
}

/// Follows a feed: sends what it tells, beginning with what is there now.
///
/// The channel is bounded by its maker: when it is full the feed waits, and what changes meanwhile is
/// read in one go afterwards. When nobody receives any more, following ends.
pub fn follow(
    feed: impl Feed,
    clock: impl Fn() -> Stamp + Send + 'static,
    out: SyncSender<Batch>,
) -> std::io::Result<Following> {
    follow_into(feed, clock, move |batch| out.send(batch).is_ok())
}

/// Follows a feed: hands over what it tells, until `tell` says that nobody receives any more.
pub fn follow_into(
    mut feed: impl Feed,
    clock: impl Fn() -> Stamp + Send + 'static,
    mut tell: impl FnMut(Batch) -> bool + Send + 'static,
) -> std::io::Result<Following> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut watch = Watch::new();
    let bell = watch.bell();
    let stopped = Arc::clone(&stop);
    let thread = thread::Builder::new().name("follow".into()).spawn(move || {
        let mut is_read = false;
        while !stopped.load(Ordering::Relaxed) {
            // Watching before reading: what changes in between rings.
            feed.attend(&mut watch);
            let batch = feed.poll(clock());
            let more = batch.more;
            // That there is nothing is news too, once: somebody waits for all to be read.
            let is_news = !batch.facts.is_empty() || !(more || is_read);
            is_read |= !more;
            if is_news && !tell(batch) {
                return;
            }
            if !more {
                watch.wait(POLL);
            }
        }
    })?;
    Ok(Following { stop, bell, thread: Some(thread) })
}

impl Drop for Following {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.bell.ring();
        if let Some(thread) = self.thread.take().filter(JoinHandle::is_finished) {
            // One that still waits for a full channel ends when the receiver is dropped.
            let _ = thread.join();
        }
    }
}
