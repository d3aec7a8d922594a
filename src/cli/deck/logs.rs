//! Follows the log of one session, from near its end: a panel shows what is new, the whole is on disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::agent::lines::Line as WholeLine;
use crate::agent::log::LogLine;
use crate::agent::trail::Talk;
use crate::model::id::SessionId;
use crate::model::time::Stamp;
use crate::monitor::app::effect::{LogEntry, News};
use crate::serve::client::Client;
use crate::session::tail::{Line as TailLine, Tail};
use crate::source::feed::POLL;
use crate::source::opencode::SessionLog;
use crate::source::watch::{Bell, Watch};

/// How much of a long log is read at first.
const LAST: u64 = 512 * 1024;
/// Lines that are told at once.
const AT_ONCE: usize = 500;

/// A thread that follows a log until it is dropped.
pub(super) struct LogFollower {
    stop: Arc<AtomicBool>,
    bell: Bell,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    at: Option<Stamp>,
    #[serde(flatten)]
    line: LogLine,
}

impl LogFollower {
    /// Follows the log of a session that an engine elsewhere runs.
    pub fn elsewhere(
        client: Client,
        session: SessionId,
        ticket: u64,
        news: mpsc::Sender<News>,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let follower = Self { stop: Arc::clone(&stop), bell: Watch::new().bell() };
        std::thread::Builder::new()
            .name("session log".into())
            .spawn(move || super::elsewhere::log(&client, &session, ticket, &news, &stop))?;
        Ok(follower)
    }

    /// Follows the log of a session of an engine here, by its folder.
    pub fn start(folder: &Path, ticket: u64, news: mpsc::Sender<News>) -> std::io::Result<Self> {
        let each = |line: TailLine, entries: &mut Vec<LogEntry>| entries.extend(read(&line.bytes));
        Self::file(folder.join("log.jsonl"), ticket, news, each)
    }

    /// Follows what an agent wrote by itself.
    pub fn native(
        path: PathBuf,
        mut talk: Box<dyn Talk>,
        ticket: u64,
        news: mpsc::Sender<News>,
    ) -> std::io::Result<Self> {
        Self::file(path, ticket, news, move |line, entries| {
            let mut said = Vec::new();
            let next = line.offset + line.bytes.len() as u64 + 1;
            talk.line(&WholeLine { offset: line.offset, next, bytes: line.bytes.into(), cut: 0 }, &mut said);
            entries.extend(said.into_iter().map(|(at, entry)| LogEntry { at, agent: None, entry }));
        })
    }

    fn file(
        path: PathBuf,
        ticket: u64,
        news: mpsc::Sender<News>,
        mut each: impl FnMut(TailLine, &mut Vec<LogEntry>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let folder = path.parent().unwrap_or(&path).to_owned();
        let mut tail = Tail::near_end(path.clone(), LAST);
        Self::asking(vec![folder, path], ticket, news, move || {
            let mut entries: Vec<LogEntry> = Vec::new();
            for line in tail.lines().unwrap_or_default() {
                each(line, &mut entries);
            }
            entries
        })
    }

    /// Follows what is in a database.
    pub fn rows(mut log: SessionLog, ticket: u64, news: mpsc::Sender<News>) -> std::io::Result<Self> {
        Self::asking(vec![log.folder()], ticket, news, move || {
            log.poll().into_iter().map(|(at, entry)| LogEntry { at, agent: None, entry }).collect()
        })
    }

    /// Asks for what is new whenever something changes at these places, and now and then.
    fn asking(
        places: Vec<PathBuf>,
        ticket: u64,
        news: mpsc::Sender<News>,
        mut next: impl FnMut() -> Vec<LogEntry> + Send + 'static,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut watch = Watch::new();
        let follower = Self { stop: Arc::clone(&stop), bell: watch.bell() };
        std::thread::Builder::new().name("session log".into()).spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let places: Vec<PathBuf> = places.iter().map(|path| existing(path)).collect();
                watch.want(&places);
                for part in next().chunks(AT_ONCE) {
                    let told = News::Log { ticket, lines: part.to_vec(), from_start: false };
                    if stop.load(Ordering::Relaxed) || news.blocking_send(told).is_err() {
                        return;
                    }
                }
                watch.wait(POLL);
            }
        })?;
        Ok(follower)
    }
}

impl Drop for LogFollower {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.bell.ring();
    }
}

fn existing(path: &Path) -> PathBuf {
    path.ancestors().find(|path| path.exists()).unwrap_or(path).to_owned()
}

fn read(bytes: &[u8]) -> Option<LogEntry> {
    let line: Line = serde_json::from_slice(bytes).ok()?;
    Some(LogEntry { at: line.at, agent: line.line.agent, entry: line.line.entry })
}

/// Reads a line as the interface tells it.
pub(super) fn read_value(value: &Value) -> Option<LogEntry> {
    let line = Line::deserialize(value).ok()?;
    Some(LogEntry { at: line.at, agent: line.line.agent, entry: line.line.entry })
}
