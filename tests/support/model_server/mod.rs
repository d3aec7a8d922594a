//! A model server for tests with the real coding agents: loopback only, and what it answers is written in the
//! prompt.
//!
//! It speaks enough of four wire formats for whole turns: Anthropic Messages (`claude`), `OpenAI` Responses
//! (`codex`), `OpenAI` Chat (`opencode`) and Google's generative API (`gemini`). A prompt carries its script after
//! [`script::MARK`], and a sub-agent finds its own in the prompt that its parent hands it; so the server keeps no
//! state but the list of what it served, which is the truth that totals are compared with.

mod anthropic;
mod chat;
mod gemini;
mod reply;
mod responses;
pub mod script;

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use reply::{Frame, Reply};
use script::{Step, Turn};
use serde_json::{Value, json};

/// A request for a model's words, and what it was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Served {
    /// The wire format.
    pub wire: &'static str,
    pub model: String,
    /// What the headers say of who asks.
    pub session: Option<String>,
    pub agent: Option<String>,
    /// Whether it is a question of the program's own, without tools: a title, or which model to take.
    pub is_aside: bool,
    /// The HTTP status.
    pub status: u16,
    /// What it charged, in the project's own measure; nothing for an error.
    pub charged: Option<Charged>,
    /// The text of the prompt that carried the script, without the script.
    pub task: String,
    /// All of that prompt.
    pub whole: String,
}

/// Tokens as they are counted here: input without what came from a cache, output with reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Charged {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Charged {
    pub fn add(self, other: Self) -> Self {
        Self {
            input: self.input + other.input,
            output: self.output + other.output,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
        }
    }
}

/// A running server; it ends with this value.
pub struct ModelServer {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Default)]
struct Shared {
    served: Mutex<Vec<Served>>,
    /// How often a step that fails a few times was asked for.
    tries: Mutex<HashMap<String, u32>>,
    ids: AtomicU64,
}

impl ModelServer {
    /// Starts one on a free port of the loopback interface.
    pub fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let shared = Arc::new(Shared::default());
        let listener = runtime.block_on(tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { address, shared, _runtime: runtime }
    }

    /// Returns the address as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns all that was served so far.
    pub fn served(&self) -> Vec<Served> {
        self.shared.served.lock().unwrap().clone()
    }
}

/// Makes the answer to a request, with fresh ids that begin as it says.
type Answerer = fn(&Value, &Step, &dyn Fn(&str) -> String) -> Reply;

/// What a wire format makes of a request: the talk so far, and how to answer.
struct Asked {
    wire: &'static str,
    model: String,
    turns: Vec<Turn>,
    /// How many tools are offered.
    tools: usize,
    /// What the tools answered, as text.
    results: Vec<String>,
    answer: Answerer,
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (path, headers) = (request.uri().path().to_owned(), request.headers().clone());
    let body = axum::body::to_bytes(request.into_body(), 64 << 20).await.unwrap_or_default();
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    if path.ends_with("/count_tokens") {
        return json_answer(StatusCode::OK, &json!({ "input_tokens": body.len() / 4 }));
    }
    if path.ends_with(":countTokens") {
        return json_answer(StatusCode::OK, &json!({ "totalTokens": body.len() / 4 }));
    }
    if path.ends_with("/models") {
        return json_answer(StatusCode::OK, &json!({ "object": "list", "data": [], "models": [] }));
    }
    let read = if path.ends_with("/messages") {
        Some(anthropic::read(&asked))
    } else if path.ends_with("/responses") {
        Some(responses::read(&asked))
    } else if path.ends_with("/chat/completions") {
        Some(chat::read(&asked))
    } else {
        gemini::read(&path, &asked)
    };
    match read {
        Some(read) => play(&shared, &headers, read, asked, body.len()).await,
        None => json_answer(StatusCode::NOT_FOUND, &json!({ "error": { "message": path } })),
    }
}

async fn play(shared: &Shared, headers: &HeaderMap, read: Asked, asked: Value, bytes: usize) -> Response {
    let mut picked = script::pick(&read.turns);
    let is_aside = read.tools == 0;
    if is_aside {
        picked.step = script::aside();
    }
    let step = picked.step.filled(&read.results).measured(bytes);
    let fails = step.error.as_ref().filter(|error| {
        let mut tries = shared.tries.lock().unwrap();
        let key = format!("{}#{}#{}", read.wire, picked.task, picked.index);
        let nth = tries.entry(key).or_default();
        *nth += 1;
        error.times.is_none_or(|times| *nth <= times)
    });
    let said =
        |names: &[&str]| names.iter().find_map(|name| headers.get(*name)?.to_str().ok()).map(str::to_owned);
    let served = Served {
        wire: read.wire,
        model: read.model.clone(),
        session: said(&["x-claude-code-session-id", "session_id", "session-id"]),
        agent: said(&["x-claude-code-agent-id", "thread-id", "x-openai-subagent"]),
        is_aside,
        status: fails.map_or(200, |error| error.status),
        charged: fails.is_none().then(|| step.charged(read.wire)),
        task: picked.task.clone(),
        whole: picked.whole.clone(),
    };
    shared.served.lock().unwrap().push(served);
    tokio::time::sleep(Duration::from_millis(step.delay_ms)).await;
    if let Some(error) = fails {
        return error_answer(read.wire, error);
    }
    let id = |prefix: &str| format!("{prefix}{:016x}", shared.ids.fetch_add(1, Ordering::Relaxed) + 0x5eed);
    match (read.answer)(&asked, &step, &id) {
        Reply::Whole(value) => json_answer(StatusCode::OK, &value),
        Reply::Stream(frames) => stream(frames, &step),
    }
}

fn error_answer(wire: &str, error: &script::Failure) -> Response {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let (kind, message) = (&error.kind, &error.message);
    let value = match wire {
        "gemini" => json!({ "error": { "code": error.status, "message": message, "status": kind } }),
        _ => json!({ "type": "error", "error": { "type": kind, "message": message, "code": kind } }),
    };
    let mut response = json_answer(status, &value);
    if let Ok(after) = error.retry_after.to_string().parse() {
        response.headers_mut().insert(header::RETRY_AFTER, after);
    }
    response
}

fn json_answer(status: StatusCode, value: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// Sends frames at the step's pace; one that is to be cut ends in the middle, without an end.
fn stream(frames: Vec<Frame>, step: &Step) -> Response {
    let (hang, pace, cut) = (step.hang_ms, step.chunk_ms, step.cut);
    let last = frames.len() / 2;
    let frames: Vec<Frame> = if cut { frames.into_iter().take(last.max(1)).collect() } else { frames };
    let sent =
        futures_util::stream::iter(frames.into_iter().enumerate()).then(move |(at, frame)| async move {
            let pause = if at == 1 { hang } else { 0 } + if frame.is_text { pace } else { 0 };
            if pause > 0 {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            Ok::<_, std::io::Error>(Bytes::from(frame.text))
        });
    let broken = futures_util::stream::iter(cut.then(|| Err(std::io::Error::other("cut"))));
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(sent.chain(broken))).into_response()
}
