//! What Claude Code prints: one JSON object a line, each with a `type`.

use serde_json::Value;

use super::ClaudeAdapter;
use crate::agent::Step;
use crate::agent::lines::Line;
use crate::agent::log::{Entry, Limited, Made, Named, Started, Status};
use crate::model::id::AgentId;
use crate::model::time::Stamp;

/// How much of a text goes into the log; all of it is in the session's own file.
const LONGEST_TEXT: usize = 16 * 1024;
/// How much is kept of a tool's input or answer.
const LONGEST_SUMMARY: usize = 400;
/// So long an id may be: it is sent back as it came, so it cannot be cut.
const LONGEST_ID: usize = 256;
/// The answers to a request for permission.
const PERMISSION: [&str; 3] = ["allow", "deny", "allow-for-session"];

impl ClaudeAdapter {
    /// Takes a line of the stream.
    pub(super) fn hear(&mut self, line: &Line, made: &mut Made, step: &mut Step) {
        let value = if line.cut == 0 { serde_json::from_slice::<Value>(&line.bytes).ok() } else { None };
        let Some(value) = value.as_ref().filter(|value| value.is_object()) else {
            if !line.bytes.trim_ascii().is_empty() {
                made.push((None, printed(line)));
            }
            return;
        };
        match value["type"].as_str().unwrap_or_default() {
            "assistant" => self.assistant(value, made),
            "user" => self.user(value, made),
            "system" => self.system(value, made, step),
            "result" => {
                made.push((None, result(value)));
                self.turn.is_over = true;
                step.close_stdin |= self.turn.is_idle();
            }
            "control_request" => self.asks(value, line, made),
            "control_cancel_request" => {
                let id = text(&value["request_id"]).into();
                let reason = "the agent no longer waits for it".into();
                made.push((None, Entry::Withdrawn { id, reason }));
            }
            "control_response" => made.push((None, answered(&value["response"]))),
            "rate_limit_event" => made.extend(limited(&value["rate_limit_info"]).map(|limit| (None, limit))),
            // What the model says letter by letter, and what the tool says of itself: it comes whole later, or not at
            // all.
            "stream_event" | "tool_progress" | "tool_use_summary" | "keep_alive" | "auth_status" => {}
            other => made.push((None, unknown(other, line))),
        }
    }

    fn system(&mut self, value: &Value, made: &mut Made, step: &mut Step) {
        match value["subtype"].as_str().unwrap_or_default() {
            "init" => made.extend(self.init(value).map(|named| (None, named))),
            "task_started" => made.extend(self.task_started(value)),
            "task_progress" => made.extend(self.task_progress(value)),
            "task_updated" => made.extend(self.task_updated(value)),
            "task_notification" => {
                made.extend(self.task_ended(value));
                step.close_stdin |= self.turn.is_idle();
            }
            "background_tasks_changed" => {
                let tasks = value["tasks"].as_array().map(Vec::as_slice).unwrap_or_default();
                self.turn.background = tasks.iter().map(|task| text(&task["task_id"])).collect();
                step.close_stdin |= self.turn.is_idle();
            }
            "api_retry" => {
                made.push((None, retried(value)));
                step.end |= self.judge.is_hopeless(value);
            }
            "permission_denied" => {
                let told = format!("{} was denied: {}", text(&value["tool_name"]), text(&value["message"]));
                made.push((None, Entry::Output { text: told, cut: 0 }));
            }
            "status"
            | "thinking_tokens"
            | "compact_boundary"
            | "hook_started"
            | "hook_progress"
            | "hook_response"
            | "session_state_changed"
            | "files_persisted"
            | "local_command_output"
            | "elicitation_complete"
            | "turn_duration"
            | "stop_hook_summary" => {}
            other => {
                let what = format!("system/{other}");
                made.push((None, Entry::Unknown { what, text: short(&value.to_string()) }));
            }
        }
    }

    /// Every turn tells it anew; only what is news is told on.
    fn init(&self, value: &Value) -> Option<Entry> {
        let fresh = |value: &Value, known: &Option<String>| {
            value.as_str().filter(|told| known.as_deref() != Some(*told)).map(str::to_owned)
        };
        let (session, model) = &self.named;
        let (session, model) = (fresh(&value["session_id"], session), fresh(&value["model"], model));
        let named = Named { session, model, ..Named::default() };
        (named != Named::default()).then_some(Entry::Named(named))
    }

    fn task_started(&mut self, value: &Value) -> Option<(Option<AgentId>, Entry)> {
        let id = task(value)?;
        // A shell command that runs for long is a task too, and no agent.
        if value["task_type"] != "local_agent" || self.agents.contains_key(&id) {
            return None;
        }
        let some = |value: &Value| value.as_str().map(str::to_owned);
        let started = Started {
            parent: value["parent_task_id"].as_str().map(AgentId::from),
            title: some(&value["description"]),
            task: value["prompt"].as_str().map(|task| cut(task, LONGEST_TEXT)),
            kind: some(&value["subagent_type"]),
            call: some(&value["tool_use_id"]),
            is_background: value["is_backgrounded"] == true,
            file: Some(self.next_file()),
            is_stoppable: true,
            ..Started::default()
        };
        Some((Some(id), Entry::AgentStarted(started)))
    }

    fn task_progress(&self, value: &Value) -> Option<(Option<AgentId>, Entry)> {
        let id = task(value).filter(|id| self.agents.contains_key(id))?;
        let current = value.pointer("/usage/tool_uses").and_then(Value::as_u64).unwrap_or(0);
        let last_action = value["description"].as_str().map(short);
        Some((Some(id), Entry::Progress { current, total: None, last_action }))
    }

    /// Only an end that no notification follows is taken from here: that one says what it came to.
    fn task_updated(&self, value: &Value) -> Option<(Option<AgentId>, Entry)> {
        let id = self.at_work(value)?;
        let patch = &value["patch"];
        let status = match patch["status"].as_str()? {
            "failed" => Status::Failed,
            "killed" => Status::Cancelled,
            _ => return None,
        };
        Some((Some(id), Entry::AgentEnded { status, text: cut(&text(&patch["error"]), LONGEST_TEXT) }))
    }

    fn task_ended(&mut self, value: &Value) -> Option<(Option<AgentId>, Entry)> {
        self.turn.background.remove(value["task_id"].as_str().unwrap_or_default());
        let id = self.at_work(value)?;
        let status = match value["status"].as_str().unwrap_or_default() {
            "completed" => Status::Done,
            "stopped" | "killed" => Status::Cancelled,
            _ => Status::Failed,
        };
        Some((Some(id), Entry::AgentEnded { status, text: cut(&text(&value["summary"]), LONGEST_TEXT) }))
    }

    /// Returns the sub-agent that a line is about, while it works.
    fn at_work(&self, value: &Value) -> Option<AgentId> {
        task(value).filter(|id| self.agents.get(id).is_some_and(|agent| !agent.has_ended))
    }

    fn assistant(&mut self, value: &Value, made: &mut Made) {
        let (agent, message) = (self.speaker(value), &value["message"]);
        if value["is_api_error_message"] == true || value["error"].is_string() {
            self.judge.api_error(value, agent.is_some());
        }
        for block in message["content"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let entry = match block["type"].as_str().unwrap_or_default() {
                "text" => output(&text(&block["text"])),
                "thinking" => Entry::Thought { text: cut(&text(&block["thinking"]), LONGEST_TEXT) },
                "tool_use" | "server_tool_use" | "mcp_tool_use" => Entry::Tool {
                    id: block["id"].as_str().map(str::to_owned),
                    name: short(&text(&block["name"])),
                    input: purpose(&block["input"]),
                },
                // What only its maker can read, and what the model's own tools answer.
                _ => continue,
            };
            made.push((agent.clone(), entry));
        }
        let usage = self.spent.message(message, value["request_id"].as_str());
        made.extend(usage.map(|usage| (agent, Entry::Usage(usage))));
    }

    fn user(&self, value: &Value, made: &mut Made) {
        let agent = self.speaker(value);
        let content = value.pointer("/message/content").and_then(Value::as_array);
        for block in content.map(Vec::as_slice).unwrap_or_default() {
            if block["type"] == "tool_result" {
                let id = block["tool_use_id"].as_str().map(str::to_owned);
                let ok = Some(block["is_error"] != true);
                made.push((
                    agent.clone(),
                    Entry::ToolResult { id, ok, text: short(&texts(&block["content"])) },
                ));
            } else if text(&block["text"]).starts_with("[Request interrupted") {
                made.push((agent.clone(), output(&text(&block["text"]))));
            }
        }
    }

    /// Returns the sub-agent that said something; nothing for the session's own agent.
    fn speaker(&self, value: &Value) -> Option<AgentId> {
        if let Some(id) = value["agent_id"].as_str() {
            return Some(id.into());
        }
        let call = value["parent_tool_use_id"].as_str()?;
        let is_it = |agent: &&super::Agent| agent.call.as_deref() == Some(call);
        self.agents.iter().find(|(_, agent)| is_it(agent)).map(|(id, _)| id.clone())
    }

    fn asks(&self, value: &Value, line: &Line, made: &mut Made) {
        let (id, request) = (text(&value["request_id"]), &value["request"]);
        if request["subtype"] != "can_use_tool" || id.is_empty() || id.len() > LONGEST_ID {
            made.push((None, unknown(&format!("control_request/{}", text(&request["subtype"])), line)));
            return;
        }
        let (tool, input) = (text(&request["tool_name"]), &request["input"]);
        let (asked, options) = match input["questions"].as_array().and_then(|all| all.first()) {
            Some(question) if tool == "AskUserQuestion" => {
                let labels = question["options"].as_array().map(Vec::as_slice).unwrap_or_default();
                (text(&question["question"]), labels.iter().map(|option| text(&option["label"])).collect())
            }
            _ => (format!("May it use {tool}? {}", purpose(input)), PERMISSION.map(str::to_owned).to_vec()),
        };
        let question = Entry::Question {
            id: id.into(),
            text: cut(&asked, LONGEST_TEXT),
            tool: Some(tool),
            options,
            input: Some(input.clone()),
            kept: Some(request["permission_suggestions"].clone()).filter(|kept| !kept.is_null()),
        };
        made.push((self.speaker(request), question));
    }
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

fn output(text: &str) -> Entry {
    let kept = text.get(..text.floor_char_boundary(LONGEST_TEXT)).unwrap_or(text);
    Entry::Output { text: kept.to_owned(), cut: (text.len() - kept.len()) as u64 }
}

/// An API failure calls itself a success: whether it is an error counts, not what it is called.
fn result(value: &Value) -> Entry {
    let is_done = value["is_error"] != true && value["subtype"] == "success";
    let errors = value["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let errors: Vec<String> = errors.iter().map(text).collect();
    let summary = match value["result"].as_str() {
        Some(result) => result.to_owned(),
        None if errors.is_empty() && !is_done => text(&value["subtype"]),
        None => errors.join("\n"),
    };
    let for_good = matches!(value["api_error_status"].as_u64(), Some(400 | 401 | 403 | 404 | 413 | 422));
    let status = match (is_done, for_good) {
        (true, _) => Status::Done,
        (false, true) => Status::FailedForGood,
        (false, false) => Status::Failed,
    };
    Entry::Result { status, summary: cut(&summary, LONGEST_TEXT) }
}

fn answered(response: &Value) -> Entry {
    let trouble = (response["subtype"] != "success").then(|| cut(&text(&response["error"]), LONGEST_TEXT));
    Entry::Answered { command: text(&response["request_id"]).into(), trouble }
}

/// Only a limit that was reached is one: the tool tells also how near it is.
fn limited(value: &Value) -> Option<Entry> {
    if value["status"] != "rejected" {
        return None;
    }
    let until = value["resetsAt"].as_f64().and_then(Stamp::from_number);
    let kind = text(&value["rateLimitType"]);
    let text = if kind.is_empty() { "usage limit reached".into() } else { format!("{kind} limit reached") };
    Some(Entry::Limited(Limited { provider: "anthropic".into(), until, text }))
}

fn retried(value: &Value) -> Entry {
    let (attempt, most) =
        (value["attempt"].as_u64().unwrap_or(0), value["max_retries"].as_u64().unwrap_or(0));
    let status = value["error_status"].as_u64().map_or("no answer".to_owned(), |status| status.to_string());
    let delay = value["retry_delay_ms"].as_f64().unwrap_or(0.0) / 1000.0;
    let error = short(&text(&value["error"]));
    let text = format!("provider: {status} {error}; asked again in {delay:.1} s ({attempt} of {most})");
    Entry::Output { text, cut: 0 }
}

fn unknown(what: &str, line: &Line) -> Entry {
    Entry::Unknown { what: short(what), text: short(&String::from_utf8_lossy(&line.bytes)) }
}

fn task(value: &Value) -> Option<AgentId> {
    value["task_id"].as_str().filter(|id| !id.is_empty() && id.len() <= LONGEST_ID).map(AgentId::from)
}

/// Returns what a tool is used for: the one field that says it, where there is one.
fn purpose(input: &Value) -> String {
    const TELLING: [&str; 8] =
        ["command", "file_path", "description", "pattern", "url", "query", "path", "prompt"];
    match TELLING.iter().find_map(|name| input[*name].as_str()) {
        Some(text) => short(text),
        None if input.is_null() => String::new(),
        None => short(&input.to_string()),
    }
}

/// Returns the text of a content: a string, or the texts of its blocks.
fn texts(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn short(text: &str) -> String {
    cut(text, LONGEST_SUMMARY)
}

fn cut(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    format!("{}…", text.get(..text.floor_char_boundary(longest)).unwrap_or_default())
}
