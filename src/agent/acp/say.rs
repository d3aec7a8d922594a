//! What is said to the agent, as the lines that its stdin takes.

use std::path::Path;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::rpc::{JsonRpcMessage, Notification};
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, CancelNotification, ClientCapabilities, Implementation, InitializeRequest,
    LoadSessionRequest, NewSessionRequest, PromptRequest, Request, RequestId, RequestPermissionOutcome,
    RequestPermissionResponse, ResumeSessionRequest, SelectedPermissionOutcome,
    SetSessionConfigOptionRequest, SetSessionModeRequest, SubagentCapabilities,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{AcpAdapter, How, Question, Turn, line, text};
use crate::agent::{Command, ForStdin};
use crate::model::command::Answer;
use crate::model::id::{AgentId, QuestionId};

/// The ids of our requests.
pub(super) const INITIALIZE: &str = "initialize";
pub(super) const NEW: &str = "new";
pub(super) const LOAD: &str = "load";
pub(super) const PROMPT: &str = "prompt";
/// Before the id of the command that a further prompt came by.
pub(super) const TOLD: &str = "told:";

/// The first line. Neither files nor terminals are offered: what it does, it does by itself, in its own folder.
pub(super) fn initialize() -> ForStdin {
    let can = ClientCapabilities::new().subagents(SubagentCapabilities::new());
    let us = Implementation::new("quarterdeck", env!("CARGO_PKG_VERSION"));
    let params = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(can).client_info(us);
    line(INITIALIZE, request(INITIALIZE, AGENT_METHOD_NAMES.initialize, params))
}

pub(super) fn new_session(cwd: &Path) -> ForStdin {
    line(NEW, request(NEW, AGENT_METHOD_NAMES.session_new, NewSessionRequest::new(cwd)))
}

pub(super) fn load_session(session: &str, cwd: &Path) -> ForStdin {
    let params = LoadSessionRequest::new(session.to_owned(), cwd);
    line(LOAD, request(LOAD, AGENT_METHOD_NAMES.session_load, params))
}

pub(super) fn resume_session(session: &str, cwd: &Path) -> ForStdin {
    let params = ResumeSessionRequest::new(session.to_owned(), cwd);
    line(LOAD, request(LOAD, AGENT_METHOD_NAMES.session_resume, params))
}

pub(super) fn set_mode(id: &str, session: &str, mode: &str) -> String {
    let params = SetSessionModeRequest::new(session.to_owned(), mode.to_owned());
    request(id, AGENT_METHOD_NAMES.session_set_mode, params)
}

pub(super) fn set_option(id: &str, session: &str, option: &str, value: &str) -> String {
    let params = SetSessionConfigOptionRequest::new(session.to_owned(), option.to_owned(), value);
    request(id, AGENT_METHOD_NAMES.session_set_config_option, params)
}

/// As agents take it that do not have the model among their options yet.
pub(super) fn set_model(id: &str, session: &str, model: &str) -> String {
    request(id, "session/set_model", json!({ "sessionId": session, "modelId": model }))
}

pub(super) fn prompt(id: &str, session: &str, text: &str) -> String {
    let params = PromptRequest::new(session.to_owned(), vec![text.into()]);
    request(id, AGENT_METHOD_NAMES.session_prompt, params)
}

/// Says no to a request for something that was never offered.
pub(super) fn not_offered(id: &Value, method: &str) -> String {
    let error = json!({ "code": -32601, "message": format!("{method} is not offered by this client") });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

fn cancel(session: &str) -> String {
    let params = CancelNotification::new(session.to_owned());
    let method = AGENT_METHOD_NAMES.session_cancel.into();
    written(&JsonRpcMessage::wrap(Notification { method, params: Some(params) }))
}

fn request(id: &str, method: &str, params: impl Serialize) -> String {
    let id = RequestId::Str(id.to_owned());
    written(&JsonRpcMessage::wrap(Request { id, method: method.into(), params: Some(params) }))
}

fn written(message: &impl Serialize) -> String {
    // Its messages are made of texts, numbers and paths that were found to be UTF-8.
    serde_json::to_string(message).unwrap_or_default()
}

impl AcpAdapter {
    /// Returns the lines that say it, or why it cannot be said.
    pub(super) fn say(&mut self, id: &str, command: &Command) -> Result<Vec<ForStdin>, String> {
        let one = |line: String| vec![ForStdin { id: id.to_owned(), line }];
        match command {
            Command::Answer { question, answer } => self.answer(question, answer).map(one),
            Command::Tell(text) => self.tell(id, text),
            Command::Interrupt => self.interrupt(id),
            Command::StopAgent(agent) => self.stop(agent).map(one),
            Command::SetModel(_) => Err("Its model is set when it starts.".into()),
        }
    }

    /// The protocol has one prompt at a time: a further one waits until the turn is over.
    fn tell(&mut self, id: &str, text: &str) -> Result<Vec<ForStdin>, String> {
        if self.turn == Turn::Over {
            return Err("Its work is over, and it is told nothing more.".into());
        }
        let is_known =
            self.turn == Turn::Told(id.to_owned()) || self.queue.iter().any(|(known, _)| known == id);
        if !is_known {
            self.queue.push_back((id.to_owned(), text.to_owned()));
        }
        Ok(Vec::new())
    }

    /// A request of its own that is open then must be answered too: the protocol wants it so.
    fn interrupt(&self, id: &str) -> Result<Vec<ForStdin>, String> {
        let session = self.session.as_ref().ok_or("It has no session yet.")?;
        let mut lines = vec![ForStdin { id: id.to_owned(), line: cancel(session) }];
        let open = self.questions.values().filter(|question| !question.is_answered);
        for (nth, question) in open.enumerate() {
            let line = decided(question.kept("rpc"), RequestPermissionOutcome::Cancelled);
            lines.push(ForStdin { id: format!("{id}-question-{nth}"), line });
        }
        Ok(lines)
    }

    fn stop(&self, agent: &AgentId) -> Result<String, String> {
        let child = self.agents.get(agent).ok_or_else(|| format!("It has no sub-agent {agent}"))?;
        match &child.how {
            _ if child.has_ended => Err(format!("{agent} has ended already.")),
            How::Announced { is_stoppable: true } => Ok(cancel(agent.as_str())),
            How::Handed { session: Some(session), .. } => Ok(cancel(session)),
            How::Announced { .. } | How::Call | How::Handed { .. } => Err(format!(
                "This agent has no channel to end {agent} alone.\nCancel the step to end all of it."
            )),
        }
    }

    fn answer(&mut self, id: &QuestionId, answer: &Answer) -> Result<String, String> {
        let question = self.questions.get_mut(id).ok_or_else(|| format!("Nobody asked {id}"))?;
        let option = chosen(question, answer)?;
        question.is_answered = true;
        let outcome = match option {
            Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option)),
            // It offers no way to say no but to call the request off.
            None => RequestPermissionOutcome::Cancelled,
        };
        Ok(decided(question.kept("rpc"), outcome))
    }
}

fn decided(rpc: &Value, outcome: RequestPermissionOutcome) -> String {
    let result = RequestPermissionResponse::new(outcome);
    json!({ "jsonrpc": "2.0", "id": rpc, "result": result }).to_string()
}

/// Returns the option that an answer stands for.
fn chosen(question: &Question, answer: &Answer) -> Result<Option<String>, String> {
    let options = question.kept("options").as_array().map(Vec::as_slice).unwrap_or_default();
    let first = |kinds: &[&str]| {
        let of = |kind: &&str| options.iter().find(|option| option["kind"] == **kind);
        kinds.iter().find_map(of).map(|option| text(&option["id"]))
    };
    let known = || options.iter().map(|option| text(&option["name"])).collect::<Vec<_>>().join(", ");
    let wanted = match answer {
        Answer::Allow => first(&["allow_once"]).or_else(|| first(&["allow_always"])),
        Answer::AllowForSession => first(&["allow_always"]),
        Answer::Deny => return Ok(first(&["reject_once", "reject_always"])),
        Answer::Text(said) => {
            let is_it = |option: &&Value| option["name"] == said.as_str() || option["id"] == said.as_str();
            options.iter().find(is_it).map(|option| text(&option["id"]))
        }
    };
    wanted.map(Some).ok_or_else(|| format!("It does not take that answer.\nIt takes: {}.", known()))
}
