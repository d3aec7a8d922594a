//! What Codex prints: answers to our requests, requests of its own, and what happens in every thread.

use serde_json::Value;

use super::item::{self, LONGEST_TEXT};
use super::judge::Trouble;
use super::say::{HELLO, PROMPT, THREAD};
use super::{CodexAdapter, Made};
use crate::agent::Step;
use crate::agent::excerpt;
use crate::agent::lines::Line;
use crate::agent::log::{Entry, Limited, Named, Status};
use crate::model::id::AgentId;
use crate::model::time::Stamp;

/// So long an id may be: it is sent back as it came, so it cannot be cut.
const LONGEST_ID: usize = 256;

impl CodexAdapter {
    /// Takes a line of the stream.
    pub(super) fn hear(&mut self, line: &Line, made: &mut Made, step: &mut Step) {
        let value = if line.cut == 0 { serde_json::from_slice::<Value>(&line.bytes).ok() } else { None };
        let Some(value) = value.as_ref().filter(|value| value.is_object()) else {
            if !line.bytes.trim_ascii().is_empty() {
                made.push((None, printed(line)));
            }
            return;
        };
        match (value["method"].as_str(), &value["id"]) {
            (Some(method), Value::Null) => self.told(method, &value["params"], made, step),
            (Some(_), _) => self.asked(value, made, step),
            (None, Value::Null) => made.push((None, unknown("line", value))),
            (None, id) => self.answered(id.as_str().unwrap_or_default(), value, made, step),
        }
    }

    /// Takes the answer to a request of ours.
    fn answered(&mut self, id: &str, value: &Value, made: &mut Made, step: &mut Step) {
        let trouble =
            value.pointer("/error/message").and_then(Value::as_str).map(|why| cut(why, LONGEST_TEXT));
        match (id, trouble) {
            // Without a thread, or a turn, nothing will ever come of it.
            (HELLO | THREAD | PROMPT, Some(why)) => {
                made.push((None, Entry::Result { status: Status::Failed, summary: why }));
                step.close_stdin = true;
            }
            (THREAD, None) => {
                let result = &value["result"];
                let some = |value: &Value| value.as_str().filter(|text| is_id(text)).map(str::to_owned);
                let named = Named {
                    session: result.pointer("/thread/id").and_then(some),
                    model: some(&result["model"]),
                    ..Named::default()
                };
                self.thread = named.session.clone().or(self.thread.take());
                step.stdin.extend(self.prompt());
                made.push((None, Entry::Named(named)));
            }
            (HELLO | PROMPT, None) => {}
            (command, trouble) => made.push((None, Entry::Answered { command: command.into(), trouble })),
        }
    }

    /// Takes word of something that happened.
    fn told(&mut self, method: &str, params: &Value, made: &mut Made, step: &mut Step) {
        match method {
            "item/started" => self.item_started(params, made),
            "item/completed" => self.item_completed(params, made, step),
            "turn/started" => self.turn_started(params, made),
            "turn/completed" => {
                self.turn_completed(params, made);
                step.close_stdin |= self.will_be_idle(made);
            }
            "thread/closed" => {
                let text = "its thread was closed".to_owned();
                made.extend(self.ended(&params["threadId"], Status::Cancelled, text));
                step.close_stdin |= self.will_be_idle(made);
            }
            "turn/plan/updated" => made.extend(progress(params).map(|entry| (self.speaker(params), entry))),
            "error" => self.error(params, made, step),
            "serverRequest/resolved" => self.resolved(params, made),
            "account/rateLimits/updated" => self.limits = reached(&params["rateLimits"]),
            "warning" | "guardianWarning" | "configWarning" | "deprecationNotice" => {
                let said = params["message"].as_str().or(params["summary"].as_str()).unwrap_or_default();
                made.push((self.speaker(params), output(&format!("{method}: {said}"))));
            }
            "model/rerouted" => {
                let text = format!("model rerouted: {}", excerpt::brief_value(params));
                made.push((self.speaker(params), output(&text)));
            }
            _ if is_noise(method) => {}
            _ => made.push((None, unknown(method, params))),
        }
    }

    fn item_started(&mut self, params: &Value, made: &mut Made) {
        let item = &params["item"];
        if item["type"] == "fileChange" {
            self.changing = item["id"].as_str().map(|id| (id.to_owned(), item::changed(item)));
        }
        if item["type"] == "subAgentActivity" {
            made.extend(self.activity(params));
        }
        made.extend(item::begun(item).map(|entry| (self.speaker(params), entry)));
    }

    fn item_completed(&mut self, params: &Value, made: &mut Made, step: &mut Step) {
        let item = &params["item"];
        made.extend(item::completed(item).map(|entry| (self.speaker(params), entry)));
        match item["type"].as_str() {
            Some("collabAgentToolCall") if item["tool"] == "spawnAgent" => self.spawned(item, made),
            Some("collabAgentToolCall") => {
                for (thread, state) in item["agentsStates"].as_object().into_iter().flatten() {
                    made.extend(self.state(thread, state));
                }
                step.close_stdin |= self.will_be_idle(made);
            }
            Some("subAgentActivity") => made.extend(self.activity(params)),
            _ => {}
        }
    }

    fn turn_completed(&mut self, params: &Value, made: &mut Made) {
        let turn = &params["turn"];
        let items = turn["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let last = items.iter().rev().find(|item| item["type"] == "agentMessage");
        let said = last.and_then(|item| item["text"].as_str()).unwrap_or_default();
        let (status, text) = match turn["status"].as_str() {
            Some("completed") => (Status::Done, said.to_owned()),
            Some("interrupted") => (Status::Failed, "its turn was interrupted".to_owned()),
            _ => {
                let trouble = Trouble::read(&turn["error"]);
                (trouble.status, trouble.words)
            }
        };
        let text = cut(&text, LONGEST_TEXT);
        if self.below(&params["threadId"]).is_none() {
            made.push((None, Entry::Result { status, summary: text }));
            return;
        }
        let status = if turn["status"] == "interrupted" { Status::Cancelled } else { status };
        made.extend(self.ended(&params["threadId"], status, text));
    }

    /// Takes word of trouble with the provider. Mostly it is tried again.
    fn error(&mut self, params: &Value, made: &mut Made, step: &mut Step) {
        let trouble = Trouble::read(&params["error"]);
        let agent = self.speaker(params);
        if trouble.is_limit {
            let (until, text) = (self.limits, trouble.words.clone());
            made.push((None, Entry::Limited(Limited { provider: "openai".into(), until, text })));
        }
        if params["willRetry"] == true {
            if trouble.is_key && agent.is_none() {
                self.judge.give_up(trouble.words.clone());
                step.end = true;
            }
            let counted = params.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
            made.push((agent, output(&format!("provider: {}; {counted}", trouble.words))));
        }
    }

    /// Returns the sub-agent that something is about; nothing for the session's own agent.
    pub(super) fn speaker(&self, params: &Value) -> Option<AgentId> {
        self.below(&params["threadId"]).filter(|id| self.agents.contains_key(id))
    }

    /// Returns a thread that is not the session's own.
    pub(super) fn below(&self, thread: &Value) -> Option<AgentId> {
        let is_below = |thread: &&str| is_id(thread) && self.thread.as_deref() != Some(*thread);
        thread.as_str().filter(is_below).map(AgentId::from)
    }

    /// Returns whether nobody works any more, when what was made of this line is noted.
    fn will_be_idle(&self, made: &[(Option<AgentId>, Entry)]) -> bool {
        let ends = |id: &AgentId| {
            let is_end = |(agent, entry): &(Option<AgentId>, Entry)| {
                agent.as_ref() == Some(id) && matches!(entry, Entry::AgentEnded { .. })
            };
            made.iter().any(is_end)
        };
        let is_result = |(agent, entry): &(Option<AgentId>, Entry)| {
            agent.is_none() && matches!(entry, Entry::Result { .. })
        };
        (self.turn.is_over || made.iter().any(is_result))
            && self.agents.iter().all(|(id, agent)| agent.turn.is_over || ends(id))
    }
}

/// Returns when the last limit that was reached is over.
fn reached(limits: &Value) -> Option<Stamp> {
    let windows = [&limits["primary"], &limits["secondary"]].into_iter();
    let full = windows.filter(|window| window["usedPercent"].as_f64().is_some_and(|used| used >= 100.0));
    full.filter_map(|window| window["resetsAt"].as_f64().and_then(Stamp::from_number)).max()
}

fn progress(params: &Value) -> Option<Entry> {
    let steps = params["plan"].as_array()?;
    let is = |step: &&Value, word: &str| step["status"] == word;
    let current = steps.iter().filter(|step| is(step, "completed")).count() as u64;
    let now = steps.iter().find(|step| is(step, "inProgress"));
    let last_action = now.and_then(|step| step["step"].as_str()).map(excerpt::brief);
    Some(Entry::Progress { current, total: Some(steps.len() as u64), last_action })
}

/// What says nothing that is shown, or comes whole with something else.
fn is_noise(method: &str) -> bool {
    const AREAS: [&str; 15] = [
        "account/",
        "app/",
        "command/exec/",
        "externalAgentConfig/",
        "fs/",
        "fuzzyFileSearch/",
        "hook/",
        "item/",
        "mcpServer/",
        "modelProvider/",
        "process/",
        "project/",
        "remoteControl/",
        "skills/",
        "thread/",
    ];
    const OTHERS: [&str; 5] = [
        "turn/diff/updated",
        "turn/moderationMetadata",
        "model/verification",
        "model/safetyBuffering/updated",
        "autoApprovalReview/strictReviewRequired",
    ];
    AREAS.iter().any(|area| method.starts_with(area)) || OTHERS.contains(&method)
}

fn unknown(what: &str, value: &Value) -> Entry {
    Entry::Unknown { what: excerpt::brief(what), text: excerpt::brief_value(value) }
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

pub(super) fn output(text: &str) -> Entry {
    let kept = text.get(..text.floor_char_boundary(LONGEST_TEXT)).unwrap_or(text);
    Entry::Output { text: kept.to_owned(), cut: (text.len() - kept.len()) as u64 }
}

pub(super) fn cut(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    format!("{}…", text.get(..text.floor_char_boundary(longest)).unwrap_or_default())
}

pub(super) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_ID
}
