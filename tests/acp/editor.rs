//! An editor, as the protocol's makers have it: it keeps what it is told, and answers what it is asked.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, ClientCapabilities, ContentBlock, InitializeRequest, LoadSessionRequest,
    NewSessionRequest, PromptRequest, PromptResponse, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, SessionId, SessionNotification,
    SubagentCapabilities, TextContent,
};
use agent_client_protocol::{Agent, Client, Error, Lines};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::deck::Deck;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// What an editor does by itself.
#[derive(Clone, Default)]
pub struct Manner {
    /// Whether it shows sub-agents.
    pub shows_agents: bool,
    /// Which option it chooses where it is asked for permission.
    pub chooses: &'static str,
    /// More arguments for us.
    pub arguments: &'static [&'static str],
}

type Kept = Arc<Mutex<Vec<Value>>>;

/// An editor that is connected.
#[derive(Clone)]
pub struct Editor {
    pub cx: ConnectionTo<Agent>,
    told: Kept,
    asked: Kept,
}

impl Editor {
    pub async fn begin(&self, deck: &Deck) -> SessionId {
        let new = NewSessionRequest::new(deck.folder.path());
        self.cx.send_request(new).block_task().await.unwrap().session_id
    }

    pub async fn load(&self, deck: &Deck, session: &SessionId) -> Result<(), Error> {
        let load = LoadSessionRequest::new(session.clone(), deck.folder.path());
        self.cx.send_request(load).block_task().await.map(drop)
    }

    pub async fn prompt(&self, session: &SessionId, text: &str) -> Result<PromptResponse, Error> {
        let prompt = vec![ContentBlock::Text(TextContent::new(text))];
        self.cx.send_request(PromptRequest::new(session.clone(), prompt)).block_task().await
    }

    pub fn cancel(&self, session: &SessionId) {
        self.cx.send_notification(CancelNotification::new(session.clone())).unwrap();
    }

    /// Returns every update of a session, in order.
    pub fn told(&self, session: &str) -> Vec<Value> {
        let told = self.told.lock().unwrap();
        told.iter().filter(|told| told["sessionId"] == session).map(|told| told["update"].clone()).collect()
    }

    pub fn forget(&self) {
        self.told.lock().unwrap().clear();
    }

    pub fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns what was said in a session with a mark.
    pub fn said(&self, session: &str, source: &str) -> String {
        let told = self.told(session);
        let said = told.iter().filter(|update| update["sessionUpdate"] == "agent_message_chunk");
        let said = said.filter(|update| update["_meta"]["source"] == source);
        said.filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    /// Waits until something was told.
    pub async fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let give_up = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < give_up, "{what}: {:#?}", self.told.lock().unwrap());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Starts us as an editor does.
pub fn start(deck: &Deck, arguments: &[&str]) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin("quarterdeck"))
        .arg("acp")
        .args(arguments)
        .current_dir("/")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", deck.folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads what we print, on a thread of its own.
fn listen(stdout: BufReader<ChildStdout>) -> (JoinHandle<()>, UnboundedReceiver<io::Result<String>>) {
    let (told, lines) = tokio::sync::mpsc::unbounded_channel();
    let reader = std::thread::spawn(move || {
        for line in stdout.lines() {
            if told.send(line).is_err() {
                return;
            }
        }
    });
    (reader, lines)
}

/// Lets an editor do something; when it is done it closes our standard input, and we must leave in peace.
pub async fn edit<F: Future<Output = ()>>(deck: &Deck, manner: Manner, script: impl FnOnce(Editor) -> F) {
    let mut child = start(deck, manner.arguments);
    let stdin = child.stdin.take().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (reader, lines) = listen(stdout);
    let incoming = futures_util::stream::unfold(lines, async |mut lines| {
        let line = lines.recv().await?;
        Some((line, lines))
    });
    let outgoing = futures_util::sink::unfold(stdin, async |mut stdin, line: String| {
        writeln!(stdin, "{line}")?;
        stdin.flush()?;
        Ok::<_, io::Error>(stdin)
    });
    let (told, asked) = (Kept::default(), Kept::default());
    let (keeps, notes) = (Arc::clone(&told), Arc::clone(&asked));
    let chooses = manner.chooses;
    let mut can = ClientCapabilities::new();
    if manner.shows_agents {
        can = can.subagents(SubagentCapabilities::new());
    }
    Client
        .v1()
        .on_receive_notification(
            async move |told: SessionNotification, _cx| {
                let told: Value = json!(told);
                keeps.lock().unwrap().push(told);
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _cx| {
                let asked: Value = json!(request);
                notes.lock().unwrap().push(asked);
                let outcome = match chooses {
                    "" => RequestPermissionOutcome::Cancelled,
                    word => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(word)),
                };
                responder.respond(RequestPermissionResponse::new(outcome))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(Lines::new(Box::pin(outgoing), Box::pin(incoming)), async |cx| {
            let hello = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(can);
            let answer = cx.send_request(hello).block_task().await?;
            assert_eq!(answer.protocol_version, ProtocolVersion::V1);
            assert!(answer.agent_capabilities.load_session);
            script(Editor { cx, told, asked }).await;
            Ok(())
        })
        .await
        .unwrap();
    assert!(child.wait().unwrap().success(), "it leaves when its editor does");
    reader.join().unwrap();
}
