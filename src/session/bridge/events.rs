//! The server's events as lines. A connection that breaks is made again, and what was missed is asked for: every
//! message of every session, which the reader knows by its id where it was told before.

use std::time::Duration;

use bytes::BytesMut;
use http_body_util::BodyExt;
use hyper::Method;
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::http::Client;
use super::{now, print, say};
use crate::agent::opencode::live::Sieve;

/// No event is longer.
const LONGEST_EVENT: usize = 64 * 1024 * 1024;
/// How long to wait before a connection is made again.
const WAIT: Duration = Duration::from_millis(200);
/// So many sessions are asked for when something was missed: a loop among them must end.
const MOST_SESSIONS: usize = 10_000;

/// Listens to the server.
pub(super) struct Events {
    client: Client,
    stream: Option<Incoming>,
    buffer: BytesMut,
    sieve: Sieve,
    /// When it began, in milliseconds: what is older is of earlier attempts.
    began: u128,
    /// The main session, once there is one.
    pub session: Option<String>,
}

impl Events {
    /// Begins to listen: what happens from now on is heard.
    pub(super) async fn listen(client: Client) -> Result<Self, String> {
        let stream = Some(connect(&client).await?);
        Ok(Self {
            client,
            stream,
            buffer: BytesMut::new(),
            sieve: Sieve::default(),
            began: now(),
            session: None,
        })
    }

    /// Takes in the next piece of the stream; returns whether it is broken, and to be taken up again. It may be dropped
    /// while it waits: nothing is lost.
    pub(super) async fn next(&mut self) -> bool {
        let Some(stream) = &mut self.stream else {
            tokio::time::sleep(WAIT).await;
            return true;
        };
        let why = match stream.frame().await {
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    self.buffer.extend_from_slice(&data);
                    self.tell();
                }
                if self.buffer.len() <= LONGEST_EVENT {
                    return false;
                }
                "an event has no end".to_owned()
            }
            Some(Err(error)) => error.to_string(),
            None => "the server closed it".to_owned(),
        };
        self.stream = None;
        self.buffer.clear();
        say(
            "bridge.note",
            &json!({ "message": format!("The stream of events broke: {why}. It is taken up again.") }),
        );
        true
    }

    /// Takes the stream up again, and asks for what was missed.
    pub(super) async fn again(&mut self) {
        // As long as the server lives this is tried again; when it has ended, that is noticed elsewhere.
        self.stream = connect(&self.client).await.ok();
        if let (Some(_), Some(session)) = (&self.stream, self.session.clone()) {
            self.catch_up(&session).await;
        }
    }

    /// Asks for everything that may have been missed: the messages of a session, then of those that it began, and what
    /// waits for a person.
    pub(super) async fn catch_up(&mut self, session: &str) {
        let (mut sessions, mut nth) = (vec![session.to_owned()], 0);
        while let Some(session) = sessions.get(nth).cloned().filter(|_| nth < MOST_SESSIONS) {
            nth += 1;
            let messages = self.client.get(&format!("/session/{session}/message")).await;
            for message in list(&messages.body) {
                if !self.is_ours(message, "/info/time/created") {
                    continue;
                }
                self.tell_message(message);
            }
            let children = self.client.get(&format!("/session/{session}/children")).await;
            for child in list(&children.body) {
                if self.is_ours(child, "/time/created") {
                    self.pass(&json!({ "type": "session.created", "properties": { "info": child } }));
                }
                let id = child.get("id").and_then(Value::as_str).map(str::to_owned);
                sessions.extend(id.filter(|id| !sessions.contains(id)));
            }
        }
        for (path, kind) in [("/permission", "permission.asked"), ("/question", "question.asked")] {
            let waiting = self.client.get(path).await;
            for asked in list(&waiting.body) {
                self.pass(&json!({ "type": kind, "properties": asked }));
            }
        }
    }

    /// Tells a message with its parts.
    pub(super) fn tell_message(&mut self, message: &Value) {
        let Some(info) = message.get("info") else { return };
        let session = info.get("sessionID");
        self.pass(
            &json!({ "type": "message.updated", "properties": { "sessionID": session, "info": info } }),
        );
        for part in message.get("parts").map(list).unwrap_or_default() {
            let part = json!({ "sessionID": session, "part": part });
            self.pass(&json!({ "type": "message.part.updated", "properties": part }));
        }
    }

    fn is_ours(&self, value: &Value, path: &str) -> bool {
        value.pointer(path).and_then(Value::as_u64).is_some_and(|created| u128::from(created) >= self.began)
    }

    fn pass(&mut self, event: &Value) {
        let line = event.to_string();
        if self.sieve.passes(&line) {
            print(&line);
        }
    }

    /// Tells the whole events of what was heard.
    fn tell(&mut self) {
        while let Some(end) = memchr::memmem::find(&self.buffer, b"\n\n") {
            let event = self.buffer.split_to(end + 2);
            let event = String::from_utf8_lossy(&event);
            let data: Vec<&str> = event.lines().filter_map(|line| line.strip_prefix("data:")).collect();
            let line = data.iter().map(|line| line.trim_start()).collect::<Vec<_>>().join(" ");
            if !line.is_empty() && self.sieve.passes(&line) {
                print(&line);
            }
        }
    }
}

async fn connect(client: &Client) -> Result<Incoming, String> {
    let answer = client.open(Method::GET, "/event", Vec::new()).await;
    let answer = answer.map_err(|error| format!("its server tells no events: {error}"))?;
    match answer.status().as_u16() {
        200 => Ok(answer.into_body()),
        status => Err(format!("its server tells no events: it answered {status}.")),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
