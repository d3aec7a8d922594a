//! The folders in which agents work, as their own files name them: noted by who reads those, looked at by who
//! searches them for other tools' state.
//!
//! They are taken from the facts that pass by, so nothing is read to know them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::feed::{Batch, Feed};
use super::watch::{Bell, Watch};
use crate::model::fact::{About, NodeFact};
use crate::model::time::Stamp;

/// The folders that are known so far; whoever holds a copy sees the same.
#[derive(Debug, Clone, Default)]
pub struct Places(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// In the order in which they were named.
    folders: Vec<PathBuf>,
    has: HashSet<PathBuf>,
    /// Who wants to know of new ones.
    bell: Option<Bell>,
}

impl Places {
    /// Returns what became known after the first so many.
    pub fn after(&self, known: usize) -> Vec<PathBuf> {
        self.known().folders.get(known..).unwrap_or_default().to_vec()
    }

    /// Adds a folder.
    pub fn add(&self, folder: &Path) {
        let mut known = self.known();
        // Most sessions of a batch ran where the one before did.
        if known.folders.last().is_some_and(|last| last.as_os_str() == folder.as_os_str()) {
            return;
        }
        if known.has.insert(folder.to_owned()) {
            known.folders.push(folder.to_owned());
            known.bell.iter().for_each(Bell::ring);
        }
    }

    /// Rings there when a folder becomes known.
    pub fn ring(&self, bell: Bell) {
        self.known().bell = Some(bell);
    }

    /// Notes the folders that a batch names.
    fn note(&self, batch: &Batch) {
        let named = batch.facts.iter().flat_map(|fact| workspaces(&fact.about)).map(Path::new);
        named.filter(|folder| folder.is_absolute()).for_each(|folder| self.add(folder));
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn workspaces(about: &About) -> impl Iterator<Item = &str> {
    let one = if let About::Node(_, what) = about { Some(what) } else { None };
    let several = if let About::Several(_, several) = about { several.as_slice() } else { &[] };
    let all = one.into_iter().chain(several.iter().map(|(_, what)| what));
    all.filter_map(|what| if let NodeFact::Described(told) = what { told.workspace.as_deref() } else { None })
}

/// A feed that is heard for the folders it names.
#[derive(Debug)]
pub struct Noted<F> {
    feed: F,
    places: Places,
}

impl<F: Feed> Noted<F> {
    /// Notes there what the feed names.
    pub fn new(feed: F, places: Places) -> Self {
        Self { feed, places }
    }
}

impl<F: Feed> Feed for Noted<F> {
    fn poll(&mut self, now: Stamp) -> Batch {
        let batch = self.feed.poll(now);
        self.places.note(&batch);
        batch
    }

    fn watched(&self) -> Vec<PathBuf> {
        self.feed.watched()
    }

    fn attend(&mut self, watch: &mut Watch) {
        self.feed.attend(watch);
    }
}
