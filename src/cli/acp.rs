//! `quarterdeck acp`: an agent for editors, by the Agent Client Protocol on standard input and output.
//!
//! A conversation is held by the orchestrator, an agent that the engine runs; what it hands on is shown as it happens.
//! One thread listens, each prompt has one that follows what came of it. Whatever is printed here is the protocol's.

mod asks;
mod kept;
mod stage;
mod talk;
mod turn;
mod voice;
mod wire;

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, CancelNotification, Error, Implementation, InitializeRequest, InitializeResponse,
    LoadSessionRequest, LoadSessionResponse, NewSessionRequest, NewSessionResponse, PromptCapabilities,
    PromptRequest, SetSessionModeRequest,
};
use clap::Args;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Outcome, Place, ask};
use talk::Talk;
use wire::Wire;

#[derive(Debug, Args)]
pub(super) struct Acp {
    /// The agent that holds the conversation, by its name in quarterdeck.toml; else the default agent.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Leave agents at work when the editor goes away; else what it asked for is cancelled.
    #[arg(long)]
    keep: bool,
}

impl Acp {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let server = Server {
            wire: Arc::new(Wire::new()),
            agent: self.agent,
            dir: place.dir.clone(),
            shows_agents: AtomicBool::new(false),
            talks: Mutex::default(),
            turns: Mutex::default(),
        };
        let mut input = BufReader::new(io::stdin());
        while let Some(line) = wire::next_line(&mut input)? {
            match line {
                Ok(line) => server.hear(&line),
                Err(error) => server.wire.answer(&Value::Null, Err(error)),
            }
        }
        if !self.keep {
            server.leave();
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What is known between two messages.
struct Server {
    wire: Arc<Wire>,
    agent: Option<String>,
    dir: Option<PathBuf>,
    /// Whether the editor shows sub-agents as sessions of their own.
    shows_agents: AtomicBool,
    talks: Mutex<BTreeMap<String, Arc<Talk>>>,
    turns: Mutex<Vec<JoinHandle<()>>>,
}

impl Server {
    /// Takes a line of the editor's. Whatever is wrong with it is answered, and the next one is waited for.
    fn hear(&self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            self.wire.answer(&Value::Null, Err(Error::parse_error()));
            return;
        };
        let (id, method) = (message.get("id"), message.get("method").and_then(Value::as_str));
        let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
        match (method, id) {
            (Some("session/prompt"), Some(id)) => self.prompt(id, params),
            (Some(method), Some(id)) => {
                let (answer, then) = match self.request(method, params) {
                    Ok((answer, then)) => (Ok(answer), then),
                    Err(error) => (Err(error), None),
                };
                self.wire.answer(id, answer);
                if let Some(talk) = then {
                    talk.greet(&self.wire);
                }
            }
            (Some("session/cancel"), None) => {
                let cancelled = read::<CancelNotification>(params);
                if let Ok(talk) = cancelled.and_then(|it| self.talk(&it.session_id.to_string())) {
                    talk.cancel();
                }
            }
            // What else is only told needs no answer, also where it is not understood.
            (Some(_), None) => {}
            (None, Some(id)) if message.get("result").is_some() || message.get("error").is_some() => {
                self.wire.answered(id, message.get("result").cloned());
            }
            (None, _) => self.wire.answer(id.unwrap_or(&Value::Null), Err(Error::invalid_request())),
        }
    }

    /// Answers a request; a conversation that begins with it is greeted afterwards.
    fn request(&self, method: &str, params: Value) -> Result<(Value, Option<Arc<Talk>>), Error> {
        match method {
            "initialize" => Ok((self.initialize(&read(params)?), None)),
            "authenticate" => Ok((json!({}), None)),
            "session/new" => {
                let wanted = read::<NewSessionRequest>(params)?;
                let talk = self.begin(format!("talk-{}", ask::random()), &wanted.cwd)?;
                kept::sweep(&talk.folder, std::time::SystemTime::now());
                let answer = NewSessionResponse::new(talk.id.clone()).modes(talk.modes());
                Ok((json!(answer), Some(self.hold(talk))))
            }
            "session/load" => {
                let wanted = read::<LoadSessionRequest>(params)?;
                let talk = self.begin(wanted.session_id.to_string(), &wanted.cwd)?;
                talk.recall(&self.wire)?;
                let answer = LoadSessionResponse::new().modes(talk.modes());
                Ok((json!(answer), Some(self.hold(talk))))
            }
            "session/set_mode" => {
                let wanted = read::<SetSessionModeRequest>(params)?;
                self.talk(&wanted.session_id.to_string())?.set_mode(&wanted.mode_id.to_string())?;
                Ok((json!({}), None))
            }
            _ => Err(Error::method_not_found().data(Value::from(method))),
        }
    }

    fn begin(&self, id: String, cwd: &Path) -> Result<Talk, Error> {
        Talk::begin(id, cwd, self.dir.as_deref(), self.agent.as_deref())
    }

    /// Keeps a conversation until the editor goes away.
    fn hold(&self, talk: Talk) -> Arc<Talk> {
        let talk = Arc::new(talk);
        if let Ok(mut talks) = self.talks.lock() {
            talks.insert(talk.id.clone(), Arc::clone(&talk));
        }
        talk
    }

    fn initialize(&self, hello: &InitializeRequest) -> Value {
        self.shows_agents.store(hello.client_capabilities.subagents.is_some(), Ordering::Relaxed);
        let prompts = PromptCapabilities::new().embedded_context(true);
        let who =
            Implementation::new("quarterdeck", env!("CARGO_PKG_VERSION")).title("Quarterdeck".to_owned());
        let answer = InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(AgentCapabilities::new().load_session(true).prompt_capabilities(prompts))
            .agent_info(who);
        json!(answer)
    }

    /// Begins a turn, which answers by itself when it is over.
    fn prompt(&self, id: &Value, params: Value) {
        let begun = read::<PromptRequest>(params).and_then(|prompt| {
            let talk = self.talk(&prompt.session_id.to_string())?;
            talk.take_turn()?;
            Ok((talk, prompt.prompt))
        });
        let (talk, prompt) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                self.wire.answer(id, Err(error));
                return;
            }
        };
        let (wire, request, of) = (Arc::clone(&self.wire), id.clone(), Arc::clone(&talk));
        let shows_agents = self.shows_agents.load(Ordering::Relaxed);
        let spawned = std::thread::Builder::new().spawn(move || {
            let answer = turn::Turn { wire: &wire, talk: &of, shows_agents }.run(&prompt);
            of.end_turn();
            wire.answer(&request, answer);
        });
        match (spawned, self.turns.lock()) {
            (Ok(turn), Ok(mut turns)) => {
                turns.retain(|turn| !turn.is_finished());
                turns.push(turn);
            }
            (Err(error), _) => {
                talk.end_turn();
                self.wire.answer(id, Err(Error::into_internal_error(error)));
            }
            (Ok(_), Err(_)) => {}
        }
    }

    fn talk(&self, id: &str) -> Result<Arc<Talk>, Error> {
        let talk = self.talks.lock().ok().and_then(|talks| talks.get(id).cloned());
        talk.ok_or_else(|| Error::session_not_found(id.to_owned()))
    }

    /// The editor is gone: what it asked for is cancelled, as it would be with an agent of the editor's own.
    fn leave(&self) {
        let talks = self.talks.lock().map(|talks| talks.values().cloned().collect()).unwrap_or_default();
        let talks: Vec<Arc<Talk>> = talks;
        for talk in talks {
            talk.cancel();
        }
        let turns = self.turns.lock().map(|mut turns| std::mem::take(&mut *turns)).unwrap_or_default();
        for turn in turns {
            // One that panicked has nothing left to do.
            let _ = turn.join();
        }
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params)
        .map_err(|error| Error::invalid_params().data(Value::from(error.to_string())))
}

/// Makes an error of something that went wrong on our side, in its own words.
fn trouble(why: impl std::fmt::Display) -> Error {
    Error::new(Error::internal_error().code.into(), why.to_string())
}
