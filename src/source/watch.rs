//! Rings when something in a set of folders changes. Whoever is woken looks for itself, so an overflow, a lost
//! event or a storm of them cost nothing but a look; where there are very many files, [`Watch::rung`] says
//! where to look.
//!
//! Folders are watched, not files: a watch on a file goes dead when the file is replaced. Where the system
//! tells of no appends that way (kqueue), the growing files are watched too.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

/// Whether a watch on a folder does not tell of appends to the files in it.
pub const FILES_TOO: bool = cfg!(any(target_os = "macos", target_os = "freebsd"));

/// So many changed paths are remembered; of more it is only known that there were many.
const REMEMBERED: usize = 1024;

/// Where something changed since it was last asked.
#[derive(Debug, Default)]
pub struct Rung {
    /// In order: what rang together is always read in the same one.
    pub paths: BTreeSet<PathBuf>,
    /// Whether anything else may have changed too.
    pub anywhere: bool,
}

impl Rung {
    fn note(&mut self, event: notify::Result<notify::Event>) {
        match event {
            Ok(event) if !event.need_rescan() => self.paths.extend(event.paths),
            Ok(_) | Err(_) => self.anywhere = true,
        }
        if self.paths.len() > REMEMBERED {
            self.paths.clear();
            self.anywhere = true;
        }
    }
}

/// Folders under watch.
#[derive(Debug)]
pub struct Watch {
    watcher: Option<RecommendedWatcher>,
    /// What is watched, by the inode that it had: another one means that the watch is dead.
    watched: HashMap<PathBuf, u64>,
    bell: Bell,
    rung: Receiver<()>,
    changed: Arc<Mutex<Rung>>,
    /// Why the system cannot watch; then only the poll is left.
    trouble: Option<String>,
}

/// Wakes the one who waits.
#[derive(Debug, Clone)]
pub struct Bell(SyncSender<()>);

impl Bell {
    /// Rings; ringing twice before anybody looks is ringing once.
    pub fn ring(&self) {
        match self.0.try_send(()) {
            // Full: it rings already. Disconnected: nobody is there to be woken.
            Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
        }
    }
}

impl Watch {
    /// Begins to watch nothing.
    pub fn new() -> Self {
        let (sender, rung) = sync_channel(1);
        let bell = Bell(sender);
        let ringer = bell.clone();
        let changed = Arc::new(Mutex::new(Rung::default()));
        let noted = Arc::clone(&changed);
        let made = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading a file is no change; everything else, also an error or an overflow, is worth a look.
            if !event.as_ref().is_ok_and(|event| event.kind.is_access()) {
                noted.lock().unwrap_or_else(PoisonError::into_inner).note(event);
                ringer.ring();
            }
        });
        let (watcher, trouble) = match made {
            Ok(watcher) => (Some(watcher), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Self { watcher, watched: HashMap::new(), bell, rung, changed, trouble }
    }

    /// Returns what wakes the one who waits here.
    pub fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Returns why the system cannot watch everything that is wanted, if so.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Watches exactly these paths: new ones are added, others dropped, replaced ones watched anew.
    pub fn want(&mut self, paths: &[PathBuf]) {
        let Some(watcher) = &mut self.watcher else { return };
        let wanted: BTreeSet<&PathBuf> = paths.iter().collect();
        self.watched.retain(|path, inode| {
            let keep = wanted.contains(path) && inode_of(path) == Some(*inode);
            if !keep {
                // It fails where the path is gone, and then there is nothing left to undo.
                let _ = watcher.unwatch(path);
            }
            keep
        });
        for path in paths {
            if let (Some(inode), false) = (inode_of(path), self.watched.contains_key(path)) {
                match watcher.watch(path, RecursiveMode::NonRecursive) {
                    Ok(()) => drop(self.watched.insert(path.clone(), inode)),
                    Err(error) => self.trouble = Some(error.to_string()),
                }
            }
        }
    }

    /// Watches one more path, and returns whether it was not watched before; one that is costs nothing.
    pub fn add(&mut self, path: &Path) -> bool {
        let Some(watcher) = self.watcher.as_mut().filter(|_| !self.watched.contains_key(path)) else {
            return false;
        };
        let Some(inode) = inode_of(path) else { return false };
        match watcher.watch(path, RecursiveMode::NonRecursive) {
            Ok(()) => self.watched.insert(path.to_owned(), inode).is_none(),
            Err(error) => {
                self.trouble = Some(error.to_string());
                false
            }
        }
    }

    /// Returns where something changed since this was last asked.
    pub fn rung(&self) -> Rung {
        std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until something changes, or for so long; returns whether something did, as far as it is told.
    pub fn wait(&self, at_most: Duration) -> bool {
        self.rung.recv_timeout(at_most).is_ok()
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self::new()
    }
}

fn inode_of(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|found| found.ino())
}
