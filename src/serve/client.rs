//! The one client of the interface, for every command and every screen: over the socket of a folder, or over TCP
//! with its token. It is made to be asked again: the same key never acts twice.

pub mod brief;
mod events;
mod remote;
mod wire;

pub use events::{Events, News};
pub use remote::Remote;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::announce::{Announced, read_live};
use super::token::Token;
use super::{API, PATIENCE, VERSION, Version};
use crate::model::command::{Command, Receipt, Verb};
use crate::model::id::Seq;
use crate::model::record::ModelRecord;
use crate::model::text;
use crate::store::folder::StateFolder;

/// How long an engine may take to answer, beside the time that it waits by itself.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Where an engine is.
#[derive(Debug, Clone)]
pub enum Place {
    Socket(PathBuf),
    Tcp(SocketAddr, Option<Token>),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(f),
            Self::Tcp(address, _) => address.fmt(f),
        }
    }
}

/// Why an engine did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nothing was sent.
    #[error("no engine answers at {place}: {why}")]
    Unreachable { place: String, why: String },
    /// Something was sent, and what became of it is not known: ask again with the same key.
    #[error("the connection to the engine at {place} broke: {why}")]
    Broken { place: String, why: String },
    #[error("{0}")]
    OtherApi(String),
    /// It answered that it will not.
    #[error("{message}{}", hint.as_ref().map(|hint| format!("\n{hint}")).unwrap_or_default())]
    Refused {
        status: u16,
        code: String,
        message: String,
        hint: Option<String>,
        receipt: Option<Box<Receipt>>,
    },
    #[error("the engine at {place} answered what cannot be understood: {why}")]
    Nonsense { place: String, why: String },
}

impl ClientError {
    /// Returns whether asking again, perhaps another engine, makes sense.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Broken { .. } => true,
            Self::Refused { status, .. } => *status == StatusCode::SERVICE_UNAVAILABLE.as_u16(),
            Self::OtherApi(_) | Self::Nonsense { .. } => false,
        }
    }
}

/// An answer: what the engine said, and whether it is the last word.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub body: Value,
}

/// An error on the wire.
#[derive(Deserialize)]
struct Failed {
    error: Said,
    #[serde(default)]
    receipt: Option<Box<Receipt>>,
}

#[derive(Deserialize)]
struct Said {
    code: String,
    message: String,
    #[serde(default)]
    hint: Option<String>,
}

/// A model as an engine has it, at one place of its journal.
#[derive(Debug, Deserialize)]
pub struct Snapshot {
    pub journal: String,
    pub seq: Seq,
    pub model: ModelRecord,
}

/// How far a command is, as the engine says.
#[derive(Debug)]
pub enum Outcome {
    /// Confirmed, or refused with its receipt.
    Final(Box<Receipt>),
    /// Still being done.
    Pending,
}

/// Speaks with one engine.
#[derive(Debug, Clone)]
pub struct Client {
    place: Place,
}

impl Client {
    /// Makes a client; nothing is asked yet.
    pub fn new(place: Place) -> Self {
        Self { place }
    }

    /// Returns the client of a folder's engine, if one runs that can be reached.
    pub fn of(folder: &StateFolder) -> Option<(Self, Announced)> {
        let announced = read_live(folder)?;
        let socket = announced.socket.clone().map(Place::Socket);
        let tcp = announced.tcp.map(|address| Place::Tcp(address, Token::read(&folder.engine_token())));
        Some((Self::new(socket.or(tcp)?), announced))
    }

    /// Asks which engine it is; one that speaks another version of the interface is an error that says which
    /// side to restart.
    pub async fn version(&self) -> Result<Version, ClientError> {
        /// All that every version of the interface has.
        #[derive(Deserialize)]
        struct Least {
            api: u32,
            version: String,
        }
        let reply = self.get("/api/version").await?;
        let least: Least = self.read(reply.body.clone())?;
        match least.api.cmp(&API) {
            std::cmp::Ordering::Equal => self.read(reply.body),
            std::cmp::Ordering::Less => Err(ClientError::OtherApi(differ(
                &least.version,
                least.api,
                "Restart the engine: `quarterdeck engine stop`, then `quarterdeck engine start`; its agents go on.",
            ))),
            std::cmp::Ordering::Greater => Err(ClientError::OtherApi(differ(
                &least.version,
                least.api,
                "Restart this program with that version.",
            ))),
        }
    }

    /// Asks for something.
    pub async fn get(&self, path: &str) -> Result<Reply, ClientError> {
        let request = wire::Request { method: Method::GET, path, headers: &[], body: None };
        self.exchange(request).await
    }

    /// Asks for something to be done; the same key never acts twice.
    pub async fn post(&self, path: &str, key: &str, body: &impl Serialize) -> Result<Reply, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| self.nonsense(&error.to_string()))?;
        let headers = &[("idempotency-key", key)];
        let request = wire::Request { method: Method::POST, path, headers, body: Some(body) };
        self.exchange(request).await
    }

    /// Puts something in the place of what is there; twice is as good as once.
    pub async fn put(&self, path: &str, body: &impl Serialize) -> Result<Reply, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| self.nonsense(&error.to_string()))?;
        let request = wire::Request { method: Method::PUT, path, headers: &[], body: Some(body) };
        self.exchange(request).await
    }

    /// Gives a command. It may be given again and again: it acts once.
    pub async fn command(&self, command: &Command) -> Result<Outcome, ClientError> {
        let (path, body) = self.route(command)?;
        match self.post(&path, command.id.as_str(), &body).await {
            Ok(reply) if reply.status == StatusCode::ACCEPTED.as_u16() => Ok(Outcome::Pending),
            Ok(mut reply) => {
                let receipt = reply.body.get_mut("receipt").map(Value::take).unwrap_or_default();
                Ok(Outcome::Final(self.read(receipt)?))
            }
            Err(ClientError::Refused { receipt: Some(receipt), .. }) => Ok(Outcome::Final(receipt)),
            Err(error) => Err(error),
        }
    }

    /// Returns the engine's model.
    pub async fn snapshot(&self) -> Result<Snapshot, ClientError> {
        self.read(self.get("/api/delegation/snapshot?shape=model").await?.body)
    }

    /// Listens to the events after one; with none, to those that come.
    pub fn events(&self, after: Option<Seq>) -> Events {
        Events::new(self.clone(), after)
    }

    /// Returns the route of a command, and what to send there.
    fn route(&self, command: &Command) -> Result<(String, Value), ClientError> {
        let encode = |error: serde_json::Error| self.nonsense(&error.to_string());
        let (path, mut body) = match (&command.verb, &command.subtask_id) {
            (Verb::Start { spec }, _) => {
                let mut body = serde_json::to_value(spec).map_err(encode)?;
                if let Some(body) = body.as_object_mut() {
                    body.insert("delegationId".into(), command.delegation_id.as_str().into());
                }
                ("/api/delegation/start".to_owned(), body)
            }
            (verb, step) => {
                let step = step.as_ref().map(|step| format!("/subtask/{}", wire::escaped(step.as_str())));
                let id = wire::escaped(command.delegation_id.as_str());
                let path = format!("/api/delegation/{id}{}/{}", step.unwrap_or_default(), verb.kind());
                let mut body = serde_json::to_value(verb).map_err(encode)?;
                if let Some(body) = body.as_object_mut() {
                    body.remove("kind");
                }
                (path, body)
            }
        };
        if let (Some(body), Some(by)) = (body.as_object_mut(), &command.by) {
            body.insert("by".into(), by.as_str().into());
        }
        Ok((path, body))
    }

    async fn exchange(&self, request: wire::Request<'_>) -> Result<Reply, ClientError> {
        let within = PATIENCE + ANSWER_WITHIN;
        let answered = tokio::time::timeout(within, wire::exchange(&self.place, request)).await;
        let (status, body) =
            answered.unwrap_or_else(|_| Err(wire::broken(&self.place, "it did not answer in time")))?;
        if status.is_success() {
            let body = serde_json::from_slice(&body).map_err(|error| self.nonsense(&error.to_string()))?;
            return Ok(Reply { status: status.as_u16(), body });
        }
        let failed: Failed = serde_json::from_slice(&body)
            .map_err(|_| self.nonsense(&format!("{status}, without a word that it is an engine's")))?;
        let Failed { error: Said { code, message, hint }, receipt } = failed;
        // It goes to a terminal, and an engine elsewhere is somebody else's.
        let (message, hint) = (text::lines(&message).into(), hint.map(|hint| text::lines(&hint).into()));
        Err(ClientError::Refused { status: status.as_u16(), code, message, hint, receipt })
    }

    fn read<T: DeserializeOwned>(&self, body: Value) -> Result<T, ClientError> {
        serde_json::from_value(body).map_err(|error| self.nonsense(&error.to_string()))
    }

    fn nonsense(&self, why: &str) -> ClientError {
        ClientError::Nonsense { place: self.place.to_string(), why: why.to_owned() }
    }
}

fn differ(version: &str, api: u32, hint: &str) -> String {
    let version = text::line(version);
    format!(
        "the engine is version {version} with interface {api}, this program is version {VERSION} with interface {API}.\n{hint}"
    )
}

/// The client for a thread that has no tasks.
#[derive(Debug)]
pub struct Blocking {
    runtime: tokio::runtime::Runtime,
    pub client: Client,
}

impl Blocking {
    /// Makes a client that waits on this thread.
    pub fn new(client: Client) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, client })
    }

    /// Asks which engine it is, and whether both speak the same version.
    pub fn version(&self) -> Result<Version, ClientError> {
        self.runtime.block_on(self.client.version())
    }

    /// Asks for something.
    pub fn get(&self, path: &str) -> Result<Reply, ClientError> {
        self.runtime.block_on(self.client.get(path))
    }

    /// Asks about something; it may be asked again.
    pub fn post(&self, path: &str, key: &str, body: &impl Serialize) -> Result<Reply, ClientError> {
        self.runtime.block_on(self.client.post(path, key, body))
    }

    /// Puts something in the place of what is there.
    pub fn put(&self, path: &str, body: &impl Serialize) -> Result<Reply, ClientError> {
        self.runtime.block_on(self.client.put(path, body))
    }

    /// Gives a command, and waits as long as the engine does.
    pub fn command(&self, command: &Command) -> Result<Outcome, ClientError> {
        self.runtime.block_on(self.client.command(command))
    }
}
