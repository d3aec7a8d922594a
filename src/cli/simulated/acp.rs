//! The simulated agent as one that speaks the Agent Client Protocol: it plays a script, and keeps what it was told.
//!
//! The script is one JSON object: `agent` and `session` (answers to `initialize` and `session/new`), `loads` (whether an
//! old session can be taken up), and `turns`, a list of acts for each prompt. Everything that it hears is appended to
//! `heard.jsonl` where it runs.

use std::fs::OpenOptions;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

/// How often it looks whether what it waits for is there.
const LOOK: Duration = Duration::from_millis(20);
const SESSION: &str = "sim-1";

/// What it plays.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Script {
    agent: Value,
    session: Value,
    loads: bool,
    turns: Vec<Vec<Act>>,
}

/// One thing that it does in a turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Act {
    /// Tells what it does.
    Update(Value),
    /// Tells what a child does, by the child's session.
    Child(String, Value),
    /// Asks something of the client, and waits for the answer, which it then says.
    Ask(String, Value),
    /// Prints a line as it is.
    Print(String),
    /// Starts a shell command and goes on.
    Shell(String),
    /// Waits until a file is there.
    Until(String),
    /// Ends the turn with this answer.
    Stop(Value),
    /// Ends the turn with this error.
    Fail(Value),
    /// Leaves.
    Exit(u8),
}

/// How a turn ended.
enum Ended {
    Stopped(Value),
    Failed(Value),
    Left(ExitCode),
}

/// Plays a script to the end of stdin.
pub(super) fn play(script: &Path) -> io::Result<ExitCode> {
    let script: Script = serde_json::from_slice(&std::fs::read(script)?)?;
    let (told, hears) = mpsc::channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if told.send(line).is_err() {
                break;
            }
        }
    });
    let mut player = Player { hears, asked: 0, turns: script.turns.clone().into_iter() };
    player.serve(&script)
}

struct Player {
    hears: Receiver<String>,
    asked: u64,
    turns: std::vec::IntoIter<Vec<Act>>,
}

impl Player {
    fn serve(&mut self, script: &Script) -> io::Result<ExitCode> {
        while let Ok(line) = self.hears.recv() {
            let heard = &keep(&line)?;
            let result = match heard["method"].as_str().unwrap_or_default() {
                "initialize" => Ok(greeting(script)),
                "session/new" => Ok(merged(json!({ "sessionId": SESSION }), &script.session)),
                "session/load" if script.loads => {
                    update(SESSION, &said("This was said before."))?;
                    Ok(script.session.clone())
                }
                "session/load" => Err(json!({ "code": -32002, "message": "Resource not found" })),
                "session/prompt" => match self.turn()? {
                    Ended::Stopped(result) => Ok(result),
                    Ended::Failed(error) => Err(error),
                    Ended::Left(code) => return Ok(code),
                },
                "session/cancel" => continue,
                _ => Ok(json!({})),
            };
            let answer = match result {
                Ok(result) => json!({ "jsonrpc": "2.0", "id": heard["id"], "result": result }),
                Err(error) => json!({ "jsonrpc": "2.0", "id": heard["id"], "error": error }),
            };
            print(&answer.to_string())?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn turn(&mut self) -> io::Result<Ended> {
        for act in self.turns.next().unwrap_or_default() {
            match act {
                Act::Update(what) => update(SESSION, &what)?,
                Act::Child(session, what) => update(&session, &what)?,
                Act::Print(text) => print(&text)?,
                Act::Shell(line) => drop(Command::new("/bin/sh").arg("-c").arg(line).spawn()?),
                Act::Stop(result) => return Ok(Ended::Stopped(result)),
                Act::Fail(error) => return Ok(Ended::Failed(error)),
                Act::Exit(code) => return Ok(Ended::Left(code.into())),
                Act::Ask(method, params) => {
                    self.asked += 1;
                    let id = self.asked;
                    let params = merged(json!({ "sessionId": SESSION }), &params);
                    print(
                        &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
                            .to_string(),
                    )?;
                    let mut answer = None;
                    let is_it = |heard: &Value| heard["id"] == id && heard.get("method").is_none();
                    let ended = self.wait(|heard| {
                        answer = heard.filter(|heard| is_it(heard)).cloned();
                        answer.is_some()
                    })?;
                    if let Some(ended) = ended {
                        return Ok(ended);
                    }
                    let answer = &answer.unwrap_or_default();
                    let told = [&answer["result"], &answer["error"]].into_iter().find(|told| !told.is_null());
                    update(SESSION, &said(&format!("answered: {}\n", told.unwrap_or(&Value::Null))))?;
                }
                Act::Until(file) => {
                    if let Some(ended) = self.wait(|_| Path::new(&file).exists())? {
                        return Ok(ended);
                    }
                }
            }
        }
        Ok(Ended::Stopped(json!({ "stopReason": "end_turn" })))
    }

    /// Waits until something is so; a cancel of the session ends the turn, that of a child the child and the wait.
    fn wait(&mut self, mut is_so: impl FnMut(Option<&Value>) -> bool) -> io::Result<Option<Ended>> {
        loop {
            let heard = match self.hears.recv_timeout(LOOK) {
                Ok(line) => Some(keep(&line)?),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(Some(Ended::Left(ExitCode::SUCCESS))),
            };
            if is_so(heard.as_ref()) {
                return Ok(None);
            }
            let cancelled = heard.filter(|heard| heard["method"] == "session/cancel");
            match cancelled.as_ref().and_then(|heard| heard.pointer("/params/sessionId")?.as_str()) {
                Some(SESSION) => return Ok(Some(Ended::Stopped(json!({ "stopReason": "cancelled" })))),
                Some(child) => {
                    let state = json!({ "state": "idle", "stopReason": "cancelled" });
                    update(
                        SESSION,
                        &json!({ "sessionUpdate": "subagent_update", "sessionId": child, "state": state }),
                    )?;
                    return Ok(None);
                }
                None => {}
            }
        }
    }
}

fn greeting(script: &Script) -> Value {
    let can = merged(json!({ "loadSession": script.loads }), &script.agent);
    json!({ "protocolVersion": 1, "agentCapabilities": can, "agentInfo": { "name": "simulated", "version": "1" } })
}

fn said(text: &str) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
}

fn update(session: &str, what: &Value) -> io::Result<()> {
    let params = json!({ "sessionId": session, "update": what });
    print(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string())
}

fn merged(mut into: Value, more: &Value) -> Value {
    if let (Some(into), Some(more)) = (into.as_object_mut(), more.as_object()) {
        into.extend(more.clone());
    }
    into
}

fn print(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

fn keep(line: &str) -> io::Result<Value> {
    let mut file = OpenOptions::new().append(true).create(true).open("heard.jsonl")?;
    writeln!(file, "{line}")?;
    Ok(serde_json::from_str(line)?)
}
