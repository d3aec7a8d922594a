//! What every source can do: be asked what is new, and say what to watch. A thread asks it when the watch
//! rings, and now and then anyway: some file systems tell nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::watch::{Bell, Watch};
use crate::model::fact::Fact;
use crate::model::time::Stamp;

/// The safety net under the watch, while something happens.
pub const POLL: Duration = Duration::from_secs(1);
/// The same while nothing does: each look that finds nothing doubles the wait, up to this.
pub const SLOWEST: Duration = Duration::from_secs(4);

/// Returns how long to wait for the watch after having waited so long: as long again if nothing came of it.
fn next_wait(waited: Duration, is_quiet: bool, can_watch: bool) -> Duration {
    // Where the system cannot watch, the poll is all there is.
    if is_quiet && can_watch { (waited * 2).clamp(POLL, SLOWEST) } else { POLL }
}

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
        let (mut is_read, mut wait, mut has_rung) = (false, POLL, true);
        while !stopped.load(Ordering::Relaxed) {
            // Watching before reading: what changes in between rings.
            feed.attend(&mut watch);
            let batch = feed.poll(clock());
            let more = batch.more;
            // That there is nothing is news too, once: somebody waits for all to be read.
            let is_news = !batch.facts.is_empty() || !(more || is_read);
            is_read |= !more;
            wait = next_wait(wait, !is_news && !has_rung, watch.trouble().is_none());
            if is_news && !tell(batch) {
                return;
            }
            if !more {
                has_rung = watch.wait(wait);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_poll_is_slow_only_while_nothing_happens_and_the_watch_works() {
        let quiet: Vec<u64> = std::iter::successors(Some(POLL), |wait| Some(next_wait(*wait, true, true)))
            .map(|wait| wait.as_secs())
            .take(4)
            .collect();
        assert_eq!(quiet, [1, 2, 4, 4]);
        assert_eq!(next_wait(SLOWEST, false, true), POLL);
        assert_eq!(next_wait(SLOWEST, true, false), POLL);
    }
}
