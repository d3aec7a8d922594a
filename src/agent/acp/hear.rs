//! What the agent prints: answers to our requests, requests of its own, and notices of what it does.

use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, PROTOCOL_LEVEL_METHOD_NAMES, PermissionOptionKind, PromptResponse,
    RequestPermissionRequest,
};
use serde_json::{Value, json};

use super::{AcpAdapter, LONGEST_ID, LONGEST_TEXT, Made, Turn, calls, cut, judge, line, say, session, text};
use crate::agent::Step;
use crate::agent::excerpt::{brief, brief_value};
use crate::agent::lines::Line;
use crate::agent::log::{Entry, Status};
use crate::model::id::QuestionId;

impl AcpAdapter {
    /// Takes a line of the stream.
    pub(super) fn hear(&mut self, from: &Line, made: &mut Made, step: &mut Step) {
        let value = if from.cut == 0 { serde_json::from_slice::<Value>(&from.bytes).ok() } else { None };
        let Some(value) = value.as_ref().filter(|value| value.is_object()) else {
            if !from.bytes.trim_ascii().is_empty() {
                made.push((None, printed(from)));
            }
            return;
        };
        match (value["method"].as_str(), value.get("id").filter(|id| !id.is_null())) {
            (Some(method), Some(id)) => self.asked(method, id, &value["params"], from, made, step),
            (Some(method), None) => self.notified(method, &value["params"], from, made),
            (None, Some(id)) => self.answered(id, value, made, step),
            (None, None) => made.push((None, unknown("message", value))),
        }
    }

    fn notified(&mut self, method: &str, params: &Value, from: &Line, made: &mut Made) {
        if method == CLIENT_METHOD_NAMES.session_update {
            self.updated(params, from.offset, made);
        } else if method == PROTOCOL_LEVEL_METHOD_NAMES.cancel_request {
            let id = question_id(&params["requestId"]);
            if self.questions.contains_key(&id) {
                made.push((None, withdrawn(id)));
            }
        } else if !self.is_loading() {
            made.push((None, unknown(method, params)));
        }
    }

    fn answered(&mut self, id: &Value, value: &Value, made: &mut Made, step: &mut Step) {
        let error = value.get("error").filter(|error| !error.is_null());
        let (id, result) = (text(id), &value["result"]);
        match (id.as_str(), error) {
            (say::INITIALIZE, None) => self.initialized(result, made, step),
            (say::INITIALIZE, Some(error)) => session::refused("to begin", error, made, step),
            (say::NEW, None) => self.begun(true, result, made, step),
            (say::NEW, Some(error)) => session::refused("a session", error, made, step),
            (say::LOAD, None) => self.begun(false, result, made, step),
            (say::LOAD, Some(error)) => self.not_loaded(error, made, step),
            (say::PROMPT, _) => self.turn_over(&id, result, error, made, step),
            (told, _) if told.starts_with(say::TOLD) => self.turn_over(&id, result, error, made, step),
            (setup, error) if self.setup.iter().any(|known| known.id == setup) => {
                self.set(setup, error, made, step);
            }
            (_, _) => made.push((None, unknown("answer", value))),
        }
    }

    /// A prompt was answered: its turn is over. What was to be said meanwhile is said now.
    fn turn_over(
        &mut self,
        id: &str,
        result: &Value,
        error: Option<&Value>,
        made: &mut Made,
        step: &mut Step,
    ) {
        let said = self.last_words(None);
        let read = serde_json::from_value::<PromptResponse>(result.clone());
        let ended = match (error, &read) {
            (Some(error), _) => judge::failed("", error),
            (None, Ok(response)) => judge::stopped(response.stop_reason, &said),
            (None, Err(_)) => judge::failed("Its answer to the prompt cannot be read: ", result),
        };
        let is_done = matches!(ended, Entry::Result { status: Status::Done, .. });
        if let Ok(response) = &read {
            let model = self.model.as_deref();
            let used = response.usage.as_ref().map(|used| self.spent.turn(id, model, used));
            let used = used.or_else(|| self.spent.quota(id, model, result.pointer("/_meta/quota")?));
            made.extend(used.map(|used| (None, Entry::Usage(used))));
        }
        if id.starts_with(say::TOLD) {
            let answer = Entry::ToolResult { id: Some(id.into()), ok: Some(is_done), text: String::new() };
            made.push((None, answer));
        }
        let open = self.questions.iter().filter(|(_, question)| !question.is_answered);
        made.extend(open.map(|(id, _)| (None, withdrawn(id.clone()))));
        self.end_with_turn(is_done, made);
        made.push((None, ended));
        if !is_done {
            // Nobody is there any more to hear it: it is refused when the session has ended.
            self.queue.clear();
        }
        let Some((command, text)) = self.queue.pop_front() else { return };
        let Some(session) = self.session.clone() else { return };
        let told = format!("{}{command}", say::TOLD);
        let line = say::prompt(&told, &session, &text);
        step.stdin.push(crate::agent::ForStdin { id: command.clone(), line });
        made.push((None, Entry::Tool { id: Some(told), name: "told".into(), input: brief(&text) }));
        self.turn = Turn::Told(command);
    }

    /// Takes a request of the agent's: for permission, or for what was never offered.
    fn asked(
        &mut self,
        method: &str,
        id: &Value,
        params: &Value,
        from: &Line,
        made: &mut Made,
        step: &mut Step,
    ) {
        let is_short = id.as_str().is_none_or(|id| id.len() <= LONGEST_ID);
        let is_for_permission = method == CLIENT_METHOD_NAMES.session_request_permission;
        let request = serde_json::from_value::<RequestPermissionRequest>(params.clone()).ok();
        let Some(request) = request.filter(|_| is_short && is_for_permission) else {
            made.push((None, unknown(method, params)));
            step.stdin.push(line(&format!("refused-{}", from.offset), say::not_offered(id, method)));
            return;
        };
        let agent = self.speaker(params, &params["toolCall"], made);
        let told = super::update::told_of(&request.tool_call, &params["toolCall"]);
        let call_id = told.id.clone();
        self.calls.take(agent.as_ref(), told, made);
        let call = self.calls.get(&call_id).cloned().unwrap_or_default();
        made.push((agent, question(id, &request, &call)));
    }
}

/// Makes a question of a request for permission.
fn question(id: &Value, request: &RequestPermissionRequest, call: &calls::Call) -> Entry {
    let mut words: Vec<String> = Vec::new();
    for option in &request.options {
        let word = match option.kind {
            PermissionOptionKind::AllowOnce => "allow",
            PermissionOptionKind::AllowAlways => "allow-for-session",
            PermissionOptionKind::RejectOnce | PermissionOptionKind::RejectAlways => "deny",
            _ => option.name.as_str(),
        };
        // A second of a kind has no word of its own: it goes by its name.
        let is_taken = words.iter().any(|known| known == word);
        let word = if is_taken && word != "deny" { option.name.as_str() } else { word };
        if !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    if !words.iter().any(|word| word == "deny") {
        words.push("deny".into());
    }
    let options: Vec<Value> = request
        .options
        .iter()
        .map(|option| json!({ "id": option.option_id, "name": option.name, "kind": option.kind }))
        .collect();
    let tool = if call.name.is_empty() { "a tool" } else { &call.name };
    Entry::Question {
        id: question_id(id),
        text: cut(&format!("May it use {tool}? {}", call.purpose()), LONGEST_TEXT),
        tool: Some(tool.to_owned()),
        options: words,
        input: Some(call.input.clone()).filter(|input| !input.is_null()),
        kept: Some(json!({ "rpc": id, "options": options, "call": request.tool_call.tool_call_id })),
    }
}

fn question_id(id: &Value) -> QuestionId {
    let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
    format!("ask-{id}").into()
}

fn withdrawn(id: QuestionId) -> Entry {
    Entry::Withdrawn { id, reason: "the agent no longer waits for it".into() }
}

/// Returns what a line says that is no JSON.
pub(super) fn printed(line: &Line) -> Entry {
    let bytes = line.bytes.strip_suffix(b"\r").unwrap_or(&line.bytes);
    let kept = bytes.get(..LONGEST_TEXT).unwrap_or(bytes);
    let cut = line.cut + (bytes.len() - kept.len()) as u64;
    let text = String::from_utf8_lossy(kept);
    let text = if cut > 0 { format!("{text} … ({cut} more bytes)") } else { text.into_owned() };
    Entry::Output { text, cut }
}

pub(super) fn unknown(what: &str, value: &Value) -> Entry {
    Entry::Unknown { what: brief(what), text: brief_value(value) }
}
