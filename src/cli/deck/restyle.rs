//! Watches the folders of themes, so that a theme that is edited is seen at once.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::monitor::app::effect::News;
use crate::source::watch::{Bell, Watch};

/// Nobody minds when a theme is a few seconds late on a file system that tells nothing.
const LOOK: Duration = Duration::from_secs(5);

/// A thread that watches until it is dropped.
pub(super) struct Restyle {
    stop: Arc<AtomicBool>,
    bell: Bell,
}

/// Watches folders that are there; returns nothing where there are none.
pub(super) fn watch(folders: Vec<PathBuf>, news: mpsc::Sender<News>) -> Option<Restyle> {
    let folders: Vec<PathBuf> = folders.into_iter().filter(|folder| folder.is_dir()).collect();
    if folders.is_empty() {
        return None;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let mut watch = Watch::new();
    let restyle = Restyle { stop: Arc::clone(&stop), bell: watch.bell() };
    let thread = std::thread::Builder::new().name("themes".into()).spawn(move || {
        let mut seen = stamps(&folders);
        while !stop.load(Ordering::Relaxed) {
            watch.want(&folders);
            watch.wait(LOOK);
            let found = stamps(&folders);
            // Also where only the folder's own time changed: nothing is drawn that did not change.
            if found != seen && news.blocking_send(News::ThemeChanged).is_err() {
                return;
            }
            seen = found;
        }
    });
    thread.ok().map(|_| restyle)
}

impl Drop for Restyle {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.bell.ring();
    }
}

fn stamps(folders: &[PathBuf]) -> Vec<(PathBuf, Option<std::time::SystemTime>, u64)> {
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let mut stamps: Vec<_> = files
        .filter_map(|entry| {
            let meta = entry.metadata().ok()?;
            Some((entry.path(), meta.modified().ok(), meta.len()))
        })
        .collect();
    stamps.sort();
    stamps
}
