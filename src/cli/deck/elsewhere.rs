//! An engine elsewhere (`--connect`): followed through its interface, and commanded through it.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::cli::{ask, delegate};
use crate::control::Target;
use crate::model::command::{Command, ReceiptState, Spec, Verb};
use crate::model::fact::{Fact, SourceFact, SourceState};
use crate::model::id::SessionId;
use crate::model::key::SourceId;
use crate::model::rollback::Rollback;
use crate::model::text;
use crate::monitor::app::effect::{Handover, LogEntry, News, Planned};
use crate::serve::client::{Blocking, Client, ClientError, Outcome, Place, Remote};
use crate::serve::token::Token;
use crate::source::feed::Batch;

/// How soon a log that had nothing new is asked for again.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// How often a waiting thread looks whether it is still wanted.
const STEP: Duration = Duration::from_millis(50);

/// Makes the client of an address: `http://HOST:PORT`, or the path of a socket.
pub(super) fn client(url: &str, token_file: Option<&Path>) -> Result<Client, String> {
    if let Some(path) = url.strip_prefix("unix:").or_else(|| url.starts_with(['/', '.']).then_some(url)) {
        return Ok(Client::new(Place::Socket(path.into())));
    }
    let Some(address) = url.strip_prefix("http://") else {
        return Err(format!(
            "{url:?} is no address of an engine.\nWrite http://HOST:PORT, or the path of its socket; for another machine use a tunnel such as ssh -L."
        ));
    };
    let address = address.trim_end_matches('/');
    let found: Option<SocketAddr> = address.to_socket_addrs().ok().and_then(|mut all| all.next());
    let found = found.ok_or_else(|| format!("{address:?} is no host and port."))?;
    let token = match token_file {
        Some(path) => Some(Token::read(path).ok_or_else(|| {
            format!(
                "{} holds no token that only you can read.\nCopy the engine's engine.token, mode 600.",
                path.display()
            )
        })?),
        None => None,
    };
    Ok(Client::new(Place::Tcp(found, token)))
}

/// A thread that follows an engine until it is dropped.
pub(super) struct Elsewhere {
    stop: Arc<AtomicBool>,
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Follows an engine; tells what it tells.
pub(super) fn follow(
    client: Client,
    source: SourceId,
    news: mpsc::Sender<News>,
) -> std::io::Result<Elsewhere> {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("elsewhere".into()).spawn(move || {
        runtime.block_on(async {
            let mut remote = Remote::new(client, source);
            let mut is_first = true;
            while !stopped.load(Ordering::Relaxed) {
                match remote.next().await {
                    Ok(facts) => {
                        // The first only says where it is; the snapshot comes next.
                        let batch = Batch { facts, more: std::mem::take(&mut is_first) };
                        if news.send(News::Facts(batch)).await.is_err() {
                            return;
                        }
                    }
                    Err(error) => {
                        // Asking again is no use: it is said for as long as the monitor is open.
                        let state = SourceState::Stopped { why: error.to_string().into() };
                        let facts = vec![Fact::source(source, SourceFact::State(state))];
                        let _ = news.send(News::Facts(Batch { facts, more: false })).await;
                        return;
                    }
                }
            }
        });
    })?;
    Ok(Elsewhere { stop })
}

/// Gives a command again and again until its receipt is final; the receipt itself comes with the events.
pub(super) fn send(client: &Client, command: &Command, patience: Duration) -> Result<(), String> {
    let client = Blocking::new(client.clone()).map_err(|error| error.to_string())?;
    let give_up = Instant::now() + patience;
    client.version().map_err(|error| one_line(&error))?;
    while Instant::now() < give_up {
        match client.command(command) {
            Ok(Outcome::Final(_)) => return Ok(()),
            Ok(Outcome::Pending) => {}
            Err(ClientError::Broken { .. }) => std::thread::sleep(LOOK_AGAIN),
            Err(error) => return Err(one_line(&error)),
        }
    }
    Ok(())
}

/// Weighs a task by the settings that hold there, and splits it; nothing of it begins.
pub(super) fn plan(client: &Client, handover: &Handover) -> Result<Planned, String> {
    let client = Blocking::new(client.clone()).map_err(|error| error.to_string())?;
    let told = client.post("/api/delegation/decision", &ask::random(), &json!({ "task": handover.text }));
    let told = told.map_err(|error| one_line(&error))?;
    let decision = told.body.get("decision").cloned().unwrap_or_default();
    let decision = serde_json::from_value(decision).map_err(|error| format!("no decision came: {error}"))?;
    delegate::dialog::plan_of(handover, decision)
}

/// Begins a delegation there, with the agents that are configured there; returns its id.
pub(super) fn begin(client: &Client, spec: Spec) -> Result<String, String> {
    let id = delegate::dialog::id();
    let command = ask::command(id.clone(), None, Verb::Start { spec: Box::new(spec) });
    let client = Blocking::new(client.clone()).map_err(|error| error.to_string())?;
    match client.command(&command).map_err(|error| one_line(&error))? {
        Outcome::Final(receipt) => match receipt.state {
            ReceiptState::Refused { reason, .. } => Err(reason.unwrap_or_else(|| "refused".into()).into()),
            ReceiptState::Accepted | ReceiptState::Overdue | ReceiptState::Confirmed { .. } => {
                Ok(id.to_string())
            }
        },
        Outcome::Pending => Err("the engine has not answered yet".into()),
    }
}

/// Asks what a command would undo there.
pub(super) fn foretold(client: &Client, command: &Command) -> Result<Rollback, String> {
    let step = command.subtask_id.as_ref().map(|step| format!("/subtask/{step}")).unwrap_or_default();
    let (id, kind) = (&command.delegation_id, command.verb.kind());
    let path = format!("/api/delegation/{id}{step}/{kind}?preview=true");
    let body = if kind == "cancel" { json!({ "rollback": true }) } else { json!({}) };
    let client = Blocking::new(client.clone()).map_err(|error| error.to_string())?;
    let told = client.post(&path, &ask::random(), &body).map_err(|error| error.to_string())?;
    let told = told.body.pointer("/preview/rollback").cloned().unwrap_or_default();
    serde_json::from_value(told).map_err(|error| format!("no preview came: {error}"))
}

/// Asks why something does not run.
pub(super) fn explain(client: &Client, target: &Target) -> Vec<String> {
    let step = target.step.as_ref().map(|step| format!("/subtask/{step}")).unwrap_or_default();
    let path = format!("/api/delegation/{}{step}/explain", target.delegation);
    let answered = Blocking::new(client.clone())
        .map_err(|error| error.to_string())
        .and_then(|client| client.get(&path).map_err(|error| one_line(&error)));
    match answered {
        Ok(reply) => reasons(&reply.body),
        Err(why) => vec![why],
    }
}

fn reasons(body: &Value) -> Vec<String> {
    let word =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let of = |step: &Value| text::line(&format!("{}: {}", word(step, "subtaskId"), word(step, "why"))).into();
    match body.get("subtasks").and_then(Value::as_array) {
        Some(steps) => steps.iter().map(of).collect(),
        None => vec![of(body)],
    }
}

/// Follows the log of a session there, a page at a time, until `stop` is set.
pub(super) fn log(
    client: &Client,
    session: &SessionId,
    ticket: u64,
    news: &mpsc::Sender<News>,
    stop: &AtomicBool,
) {
    let Ok(client) = Blocking::new(client.clone()) else { return };
    let mut offset = 0;
    while !stop.load(Ordering::Relaxed) {
        let path = format!("/api/delegation/session/{session}/log?offset={offset}");
        // An engine that is away for a while is asked again.
        let page = client.get(&path).ok().map(|reply| reply.body).unwrap_or_default();
        let lines = page.get("lines").and_then(Value::as_array).cloned().unwrap_or_default();
        offset = page.get("next").and_then(Value::as_u64).unwrap_or(offset);
        let entries: Vec<LogEntry> = lines.iter().filter_map(super::logs::read_value).collect();
        let is_empty = entries.is_empty();
        if !is_empty && news.blocking_send(News::Log { ticket, lines: entries, from_start: false }).is_err() {
            return;
        }
        let until = Instant::now() + LOOK_AGAIN;
        while is_empty && Instant::now() < until && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(STEP);
        }
    }
}

fn one_line(error: &ClientError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
