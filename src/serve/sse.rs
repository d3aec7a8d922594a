//! The events as they happen, one server-sent event each: `id:` is its place in the journal, `event:` its name,
//! `data:` the event as the journal has it.
//!
//! Nobody misses one: who falls behind the ring, or comes back with `Last-Event-ID`, is read the rest from the
//! journal. Where compaction has removed that, the last thing said is `reset`: take a new snapshot.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::Api;
use super::problem::Problem;
use crate::engine::door::Published;
use crate::model::event::Event;
use crate::model::id::Seq;
use crate::store::disk::RealDisk;
use crate::store::error::Error;
use crate::store::folder::StateFolder;
use crate::store::reader;

/// So often a silent stream says that it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How much goes out at once.
const PIECE: usize = 64 * 1024;
/// How many bytes are read from the journal at a time.
const PAGE: usize = 1024 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct After {
    /// As `Last-Event-ID`, for whoever cannot set that.
    after: Option<u64>,
}

pub(super) async fn events(
    State(api): State<Api>,
    after: Result<Query<After>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let after = match headers.get("last-event-id") {
        Some(sent) => {
            let sent = sent.to_str().ok().and_then(|sent| sent.trim().parse::<u64>().ok());
            Some(sent.ok_or_else(|| Problem::malformed("Last-Event-ID is the number of an event."))?)
        }
        None => after?.0.after,
    };
    let permit = Arc::clone(&api.0.streams).try_acquire_owned().map_err(|_| {
        let text = "Too many listen to the events already.\nClose one of them.";
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "limit", text)
    })?;
    let (seq, live) = api.0.door.look(|view| (view.seq, view.listen())).await?;
    let listener = Listener {
        folder: api.0.door.folder().clone(),
        last: after.map_or(seq, Seq),
        upto: seq,
        live,
        held: None,
        greeting: Some(format!("retry: 1000\n: journal {}, at {seq}\n\n", api.0.version.journal).into()),
        is_over: false,
        _permit: permit,
    };
    let pieces = stream::unfold(listener, |mut listener| async move {
        let piece = listener.next().await?;
        Some((Ok::<_, Infallible>(piece), listener))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// One who listens, and how far they are.
struct Listener {
    folder: StateFolder,
    /// The last event that was sent.
    last: Seq,
    /// The journal is to be read up to here before anything else is sent.
    upto: Seq,
    live: Receiver<Arc<Published>>,
    /// What comes after that.
    held: Option<Arc<Published>>,
    greeting: Option<Bytes>,
    is_over: bool,
    _permit: OwnedSemaphorePermit,
}

impl Listener {
    /// Returns what to send next; nothing when the engine leaves, or after a reset.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(greeting) = self.greeting.take() {
            return Some(greeting);
        }
        if self.is_over {
            return None;
        }
        if self.last > self.upto && self.held.is_none() {
            // It names an event that this journal does not have.
            return Some(self.reset(self.last.next(), self.upto));
        }
        if self.last < self.upto {
            return Some(self.read_journal().await);
        }
        match self.held.take() {
            Some(event) => Some(self.gather(&event)),
            None => self.wait().await,
        }
    }

    async fn wait(&mut self) -> Option<Bytes> {
        loop {
            match tokio::time::timeout(KEEP_ALIVE, self.live.recv()).await {
                Err(_) => return Some(Bytes::from_static(b": still here\n\n")),
                Ok(Err(RecvError::Closed)) => return None,
                // The next that comes tells up to where the journal is to be read.
                Ok(Err(RecvError::Lagged(_))) => {}
                Ok(Ok(event)) if event.event.seq <= self.last => {}
                Ok(Ok(event)) if event.event.seq == self.last.next() => return Some(self.gather(&event)),
                Ok(Ok(event)) => {
                    self.upto = Seq(event.event.seq.0 - 1);
                    self.held = Some(event);
                    return Some(self.read_journal().await);
                }
            }
        }
    }

    /// Returns an event, and with it what has come meanwhile: many go out as one.
    fn gather(&mut self, first: &Published) -> Bytes {
        let mut piece = first.wire(render);
        self.reached(first.event.seq);
        let mut more = BytesMut::new();
        while piece.len() + more.len() < PIECE {
            match self.live.try_recv() {
                Ok(event) if event.event.seq == self.last.next() => {
                    if more.is_empty() {
                        more.extend_from_slice(&piece);
                        piece = Bytes::new();
                    }
                    more.extend_from_slice(&event.wire(render));
                    self.reached(event.event.seq);
                }
                Ok(event) if event.event.seq <= self.last => {}
                Ok(event) => {
                    self.upto = Seq(event.event.seq.0 - 1);
                    self.held = Some(event);
                    break;
                }
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        if more.is_empty() { piece } else { more.freeze() }
    }

    fn reached(&mut self, seq: Seq) {
        self.last = seq;
        self.upto = self.upto.max(seq);
    }

    /// Reads on in the journal, a page at a time.
    async fn read_journal(&mut self) -> Bytes {
        let (folder, from, upto) = (self.folder.clone(), self.last.next(), self.upto);
        let read = tokio::task::spawn_blocking(move || {
            let mut page = BytesMut::new();
            let last = reader::read(&RealDisk, &folder, from, upto, &mut |seq, line| {
                render_line(seq, line, &mut page);
                if page.len() < PAGE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            (last, page)
        });
        match read.await {
            Ok((Ok(last), page)) => {
                self.reached(last);
                page.freeze()
            }
            Ok((Err(Error::Compacted { asked, oldest }), _)) => self.reset(asked, oldest),
            // The journal cannot be read: whatever it is, a snapshot is the way on.
            Ok((Err(_), _)) | Err(_) => self.reset(from, upto),
        }
    }

    fn reset(&mut self, asked: Seq, oldest: Seq) -> Bytes {
        self.is_over = true;
        format!("event: reset\ndata: {{\"asked\":{asked},\"oldest\":{oldest}}}\n\n").into()
    }
}

/// An event as it goes out.
fn render(event: &Event) -> Bytes {
    let data = serde_json::to_string(event).unwrap_or_default();
    let mut text = BytesMut::with_capacity(data.len() + 96);
    frame(event.seq, event.body.name(), data.as_bytes(), &mut text);
    text.freeze()
}

/// A line of the journal as it goes out: what was added to it on disk is left out.
fn render_line(seq: Seq, line: &[u8], out: &mut BytesMut) {
    /// What a record has after its event.
    const ADDED: &[u8] = b",\"synced\":";
    let end = memchr::memmem::rfind(line, ADDED).unwrap_or(line.len());
    let mut data = line.get(..end).unwrap_or_default().to_vec();
    data.push(b'}');
    let name = Event::read(&data).ok().map(|event| event.body.name().to_owned());
    frame(seq, name.as_deref().unwrap_or("unreadable"), &data, out);
}

fn frame(seq: Seq, name: &str, data: &[u8], out: &mut BytesMut) {
    out.extend_from_slice(format!("id: {seq}\nevent: {}\ndata: ", one_line(name)).as_bytes());
    // Between the fields of a foreign event there may be any white space; a line end would end the event.
    out.extend(data.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte }));
    out.extend_from_slice(b"\n\n");
}

fn one_line(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).collect()
}
