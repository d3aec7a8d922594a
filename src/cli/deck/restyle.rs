//! Watches the folders of themes, so that a theme that is edited is seen at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::monitor::app::effect::News;
use crate::monitor::view::theme::Theme;
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
            if found != seen {
                let changed = found
                    .iter()
                    .filter(|one| !seen.contains(one))
                    .filter_map(|(path, ..)| odd(path, &folders));
                let odd = changed.map(|text| News::Said { text, is_error: true });
                if std::iter::once(News::ThemeChanged)
                    .chain(odd)
                    .any(|told| news.blocking_send(told).is_err())
                {
                    return;
                }
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

/// Returns what cannot be used of a theme that was edited, the first of it: the rest falls back role by role.
fn odd(path: &Path, folders: &[PathBuf]) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".toml")?;
    let (_, odd) = Theme::load(name, |name| super::looks::find(name, folders));
    odd.into_iter().next()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_of_an_edited_theme_is_said() {
        let temp = tempfile::tempdir().unwrap();
        let folders = [temp.path().to_owned()];
        let path = temp.path().join("mine.toml");
        std::fs::write(&path, "inherits = \"paper\"\n").unwrap();
        assert_eq!(odd(&path, &folders), None);
        std::fs::write(&path, "inherits = [").unwrap();
        assert!(odd(&path, &folders).unwrap().starts_with("Theme \"mine\" is no TOML"));
        assert_eq!(odd(&temp.path().join("notes.txt"), &folders), None);
    }
}
