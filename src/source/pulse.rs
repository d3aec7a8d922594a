//! Whether the engine that a journal speaks of still lives. One that is killed writes no last word: its lock, which says
//! who it is, tells.

use std::path::PathBuf;
use std::sync::Arc;

use super::feed::{Batch, Feed};
use super::watch::Watch;
use crate::model::fact::{About, EngineFact, Fact};
use crate::model::key::SourceId;
use crate::model::time::Stamp;
use crate::store::disk::{Disk, RealDisk};
use crate::store::folder::StateFolder;
use crate::store::lock::{self, Pulse};

/// A state folder that is followed, with its engine's end also where nobody wrote it down.
pub struct Pulsed<F> {
    feed: F,
    disk: Arc<dyn Disk>,
    folder: StateFolder,
    source: SourceId,
    /// Whether an engine runs, as far as was told.
    is_running: bool,
}

impl<F: Feed> Pulsed<F> {
    /// Watches over what a feed tells of a folder's engine.
    pub fn new(feed: F, folder: StateFolder, source: SourceId) -> Self {
        Self { feed, disk: Arc::new(RealDisk), folder, source, is_running: false }
    }
}

impl<F: Feed> Feed for Pulsed<F> {
    fn poll(&mut self, now: Stamp) -> Batch {
        let mut batch = self.feed.poll(now);
        for fact in &batch.facts {
            if let About::Engine(told) = &fact.about {
                match told {
                    EngineFact::Started { .. } => self.is_running = true,
                    EngineFact::Stopped { .. } => self.is_running = false,
                    EngineFact::Limited { .. } => {}
                }
            }
        }
        // What is still to be read may say that it stopped.
        if self.is_running && !batch.more && lock::pulse(&*self.disk, &self.folder) == Pulse::Gone {
            self.is_running = false;
            let why = Some("it is gone without a word".into());
            let about = About::Engine(EngineFact::Stopped { why });
            batch.facts.push(Fact { source: self.source, at: None, about });
        }
        batch
    }

    fn watched(&self) -> Vec<PathBuf> {
        self.feed.watched()
    }

    fn attend(&mut self, watch: &mut Watch) {
        self.feed.attend(watch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tells these batches, one a poll.
    struct Told(Vec<Batch>);

    impl Feed for Told {
        fn poll(&mut self, _: Stamp) -> Batch {
            self.0.pop().unwrap_or_default()
        }

        fn watched(&self) -> Vec<PathBuf> {
            Vec::new()
        }
    }

    fn started(more: bool) -> Batch {
        let about = About::Engine(EngineFact::Started { pid: None, version: None, epoch: None });
        Batch { facts: vec![Fact { source: SourceId(0), at: None, about }], more }
    }

    /// Returns whether a poll says that the engine stopped.
    fn says_so(pulsed: &mut Pulsed<Told>) -> bool {
        let told = pulsed.poll(Stamp::from_millis(0)).facts;
        told.iter().any(|fact| matches!(fact.about, About::Engine(EngineFact::Stopped { .. })))
    }

    #[test]
    fn an_engine_that_was_killed_is_told_as_stopped_once_and_one_that_lives_is_not() {
        let temp = tempfile::tempdir().unwrap();
        let folder = StateFolder::at(temp.path().to_owned());
        let mut pulsed = Pulsed::new(Told(vec![started(false), started(true)]), folder.clone(), SourceId(0));
        assert!(!says_so(&mut pulsed), "there is more to be read");
        assert!(!says_so(&mut pulsed), "nobody says whose it is");
        let alive = serde_json::to_string(&lock::Holder::this_process(1)).unwrap();
        std::fs::write(folder.engine_lock(), &alive).unwrap();
        assert!(!says_so(&mut pulsed));
        std::fs::write(folder.engine_lock(), "{\"pid\":").unwrap();
        assert!(!says_so(&mut pulsed), "somebody is writing it");
        let dead = lock::Holder { start: Some(1), ..lock::Holder::this_process(1) };
        std::fs::write(folder.engine_lock(), serde_json::to_string(&dead).unwrap()).unwrap();
        assert!(says_so(&mut pulsed));
        assert!(!says_so(&mut pulsed), "once is enough");
        pulsed.feed.0.push(started(false));
        std::fs::write(folder.engine_lock(), alive).unwrap();
        assert!(!says_so(&mut pulsed), "the next one lives");
    }
}
