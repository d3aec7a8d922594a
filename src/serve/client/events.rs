//! The events of an engine, as they come: a connection that breaks is made again, and goes on after the last event
//! that was heard.

use std::collections::VecDeque;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use bytes::{Buf, Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::wire::{self, Request};
use super::{Client, ClientError};
use crate::model::id::Seq;

/// How long to wait before the first attempt to come back, and at most.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// An engine that is silent for so long is gone: it says every 15 s that it is still there.
const SILENCE: Duration = Duration::from_secs(45);
/// No event is longer.
const LONGEST_EVENT: usize = 4 * 1024 * 1024;

/// What there is to hear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// It listens (again), to everything after the last event.
    Listening,
    /// One event: its place, and the event as the journal has it.
    Event { seq: Seq, line: Bytes },
    /// What was heard before is void, or some of it was missed for good: a new snapshot is needed.
    Reset,
    /// The connection is gone, and this is why; it is being made again.
    Lost(String),
}

/// Listens to an engine.
pub struct Events {
    client: Client,
    last: Option<Seq>,
    journal: Option<String>,
    stream: Option<Incoming>,
    buffer: BytesMut,
    ready: VecDeque<News>,
    wait: Duration,
    /// Nothing more is told before somebody says where to go on.
    is_void: bool,
}

impl Events {
    pub(super) fn new(client: Client, after: Option<Seq>) -> Self {
        Self {
            client,
            last: after,
            journal: None,
            stream: None,
            buffer: BytesMut::new(),
            ready: VecDeque::new(),
            wait: Duration::ZERO,
            is_void: false,
        }
    }

    /// Goes on after a snapshot.
    pub fn go_on(&mut self, journal: String, after: Seq) {
        (self.journal, self.last, self.is_void) = (Some(journal), Some(after), false);
        (self.stream, self.wait) = (None, Duration::ZERO);
        self.ready.clear();
        self.buffer.clear();
    }

    /// Returns what is heard next. It may be dropped while it waits: nothing is lost.
    pub async fn next(&mut self) -> Result<News, ClientError> {
        loop {
            if let Some(news) = self.ready.pop_front() {
                if let News::Event { seq, .. } = &news {
                    self.last = Some(*seq);
                }
                self.is_void |= news == News::Reset;
                return Ok(news);
            }
            if self.is_void {
                return Ok(News::Reset);
            }
            if self.stream.is_none() {
                tokio::time::sleep(self.wait).await;
                match self.connect().await {
                    Ok(()) => {}
                    Err(error) if error.is_passing() => {
                        let is_first = self.wait.is_zero();
                        self.slower();
                        // Said once, not at every attempt.
                        if is_first {
                            return Ok(News::Lost(error.to_string()));
                        }
                    }
                    Err(error) => return Err(error),
                }
                continue;
            }
            self.hear().await;
        }
    }

    fn slower(&mut self) {
        self.wait = (self.wait * 2).clamp(FIRST_WAIT, LONGEST_WAIT);
    }

    async fn connect(&mut self) -> Result<(), ClientError> {
        let version = self.client.version().await?;
        let known = self.journal.replace(version.journal.clone());
        if known.is_some_and(|known| known != version.journal) {
            self.ready.push_back(News::Reset);
            return Ok(());
        }
        let last = self.last.map(|last| last.to_string());
        let headers: Vec<(&str, &str)> =
            last.as_deref().map(|last| ("last-event-id", last)).into_iter().collect();
        let path = "/api/delegation/events";
        let request = Request { method: Method::GET, path, headers: &headers, body: None };
        let answer = wire::open(&self.client.place, request).await?;
        if answer.status() != StatusCode::OK {
            return Err(wire::broken(&self.client.place, &format!("it answered {}", answer.status())));
        }
        (self.stream, self.wait) = (Some(answer.into_body()), Duration::ZERO);
        self.buffer.clear();
        self.ready.push_back(News::Listening);
        Ok(())
    }

    /// Takes in the next piece of the stream.
    async fn hear(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        let why = match tokio::time::timeout(SILENCE, stream.frame()).await {
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    self.buffer.extend_from_slice(&data);
                    self.parse();
                }
                if self.buffer.len() <= LONGEST_EVENT {
                    return;
                }
                "it sent an event without an end".to_owned()
            }
            Ok(Some(Err(error))) => error.to_string(),
            Ok(None) => "it left".to_owned(),
            Err(_) => "it fell silent".to_owned(),
        };
        self.stream = None;
        self.slower();
        if !self.ready.contains(&News::Reset) {
            self.ready.push_back(News::Lost(why));
        }
    }

    /// Takes the whole events out of what was heard.
    fn parse(&mut self) {
        while let Some(end) = memchr::memmem::find(&self.buffer, b"\n\n") {
            let event = self.buffer.split_to(end).freeze();
            self.buffer.advance(2);
            self.ready.extend(read(&event));
        }
    }
}

/// Reads one event; a comment is none.
fn read(event: &Bytes) -> Option<News> {
    let (mut seq, mut is_reset, mut line) = (None, false, None);
    for field in event.split(|byte| *byte == b'\n') {
        if let Some(id) = field.strip_prefix(b"id: ") {
            seq = std::str::from_utf8(id).ok().and_then(|id| id.parse().ok()).map(Seq);
        } else if let Some(name) = field.strip_prefix(b"event: ") {
            is_reset = name == b"reset";
        } else if let Some(data) = field.strip_prefix(b"data: ") {
            line = Some(event.slice_ref(data));
        }
    }
    match (is_reset, seq, line) {
        (true, ..) => Some(News::Reset),
        (false, Some(seq), Some(line)) => Some(News::Event { seq, line }),
        (false, ..) => None,
    }
}
