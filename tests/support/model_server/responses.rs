//! `OpenAI` Responses.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::Asked;
use super::reply::{Frame, Reply, pieces};
use super::script::{Step, Tool, Turn, Who, text_of};

pub(super) fn read(asked: &Value) -> Asked {
    let items = items(asked);
    let is_output = |item: &&Value| item["type"].as_str().is_some_and(|kind| kind.ends_with("_output"));
    let turns = items.iter().map(|item| {
        let who = match item["type"].as_str().unwrap_or("message") {
            "message" | "agent_message" if item["role"] == "assistant" => Who::Model,
            "message" | "agent_message" => Who::User,
            kind if kind.ends_with("_output") => Who::Tool,
            _ => Who::Model,
        };
        let text = if who == Who::User { text_of(&item["content"]) } else { String::new() };
        Turn { who, text }
    });
    Asked {
        wire: "responses",
        tools: asked["tools"].as_array().map_or(0, Vec::len),
        model: asked["model"].as_str().unwrap_or_default().into(),
        turns: turns.collect(),
        results: items.iter().filter(is_output).map(|item| item["output"].to_string()).collect(),
        answer,
    }
}

fn items(asked: &Value) -> Vec<Value> {
    match &asked["input"] {
        Value::Array(items) => items.clone(),
        Value::String(text) => vec![json!({ "type": "message", "role": "user", "content": text })],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// What a call must be called: tools may live in a namespace, and some take free text.
struct Tools {
    spaces: HashMap<String, String>,
    custom: HashSet<String>,
}

impl Tools {
    fn of(asked: &Value) -> Self {
        let listed = asked["tools"].as_array().cloned().unwrap_or_default();
        // Some are told only after a search for them.
        let found = items(asked).into_iter().filter(|item| item["type"] == "tool_search_output");
        let found = found.flat_map(|item| item["tools"].as_array().cloned().unwrap_or_default());
        let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
        let (mut spaces, mut custom) = (HashMap::new(), HashSet::new());
        for tool in listed.into_iter().chain(found) {
            match tool["type"].as_str() {
                Some("namespace") => {
                    let inner = tool["tools"].as_array().cloned().unwrap_or_default();
                    spaces.extend(inner.iter().map(|inner| (name(inner), name(&tool))));
                }
                Some("custom") => {
                    custom.insert(name(&tool));
                }
                _ => {}
            }
        }
        Self { spaces, custom }
    }

    fn call(&self, tool: &Tool, id: &dyn Fn(&str) -> String) -> Value {
        let mut call =
            json!({ "id": id("fc_"), "call_id": id("call_"), "name": tool.name, "status": "completed" });
        if tool.name == "tool_search" {
            return json!({
                "type": "tool_search_call", "id": id("ts_"), "call_id": id("call_"), "status": "completed",
                "execution": "client", "arguments": tool.input,
            });
        }
        if self.custom.contains(&tool.name) {
            let text = tool.input.as_str().map_or_else(|| tool.input.to_string(), str::to_owned);
            call["type"] = "custom_tool_call".into();
            call["input"] = text.into();
            return call;
        }
        call["type"] = "function_call".into();
        call["arguments"] = tool.input.to_string().into();
        if let Some(space) = self.spaces.get(&tool.name) {
            call["namespace"] = space.as_str().into();
        }
        call
    }
}

fn answer(asked: &Value, step: &Step, id: &dyn Fn(&str) -> String) -> Reply {
    let tools = Tools::of(asked);
    let mut output = Vec::new();
    if !step.think.is_empty() {
        let summary = json!([{ "type": "summary_text", "text": step.think }]);
        output.push(json!({ "type": "reasoning", "id": id("rs_"), "encrypted_content": "c2VjcmV0", "summary": summary }));
    }
    if !step.text.is_empty() {
        let content = json!([{ "type": "output_text", "text": step.text, "annotations": [] }]);
        output.push(json!({
            "type": "message", "id": id("msg_"), "role": "assistant", "status": "completed", "content": content,
        }));
    }
    output.extend(step.tools.iter().map(|tool| tools.call(tool, id)));
    let usage = step.usage;
    let prompt = usage.input + usage.cache_read;
    let done = json!({
        "id": id("resp_"), "object": "response", "status": "completed", "model": asked["model"], "output": output,
        "usage": {
            "input_tokens": prompt, "input_tokens_details": { "cached_tokens": usage.cache_read },
            "output_tokens": usage.out, "output_tokens_details": { "reasoning_tokens": usage.think },
            "total_tokens": prompt + usage.out,
        },
    });
    if asked["stream"] != true {
        return Reply::Whole(done);
    }
    let mut begun = done.clone();
    begun["status"] = "in_progress".into();
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut frames = Frames { sent: Vec::new() };
    frames.push("response.created", json!({ "response": begun }), false);
    for (at, item) in output.iter().enumerate() {
        frames.item(at, item, step);
    }
    frames.push("response.completed", json!({ "response": done }), false);
    Reply::Stream(frames.sent)
}

/// Frames with their numbers.
struct Frames {
    sent: Vec<Frame>,
}

impl Frames {
    fn push(&mut self, kind: &str, mut data: Value, is_text: bool) {
        data["type"] = kind.into();
        data["sequence_number"] = self.sent.len().into();
        let frame = Frame::event(kind, &data);
        self.sent.push(if is_text { frame.paced() } else { frame });
    }

    fn item(&mut self, at: usize, item: &Value, step: &Step) {
        let id = &item["id"];
        let (mut begun, kind) = (item.clone(), item["type"].as_str().unwrap_or_default());
        let part = |place: &str, text: &str, word: &str| {
            let mut told = json!({ "item_id": id, "output_index": at });
            told[place] = 0.into();
            told[word] = text.into();
            told
        };
        match kind {
            "reasoning" => {
                begun["summary"] = json!([]);
                self.push("response.output_item.added", json!({ "output_index": at, "item": begun }), false);
                let mut added = part("summary_index", "", "text");
                added["part"] = json!({ "type": "summary_text", "text": "" });
                self.push("response.reasoning_summary_part.added", added, false);
                for text in pieces(&step.think, step.size()) {
                    let delta = part("summary_index", &text, "delta");
                    self.push("response.reasoning_summary_text.delta", delta, true);
                }
                let all = part("summary_index", &step.think, "text");
                self.push("response.reasoning_summary_text.done", all, false);
            }
            "message" => {
                begun["content"] = json!([]);
                self.push("response.output_item.added", json!({ "output_index": at, "item": begun }), false);
                let mut added = part("content_index", "", "text");
                added["part"] = json!({ "type": "output_text", "text": "", "annotations": [] });
                self.push("response.content_part.added", added, false);
                for text in pieces(&step.text, step.size()) {
                    self.push("response.output_text.delta", part("content_index", &text, "delta"), true);
                }
                self.push("response.output_text.done", part("content_index", &step.text, "text"), false);
            }
            _ => self.push("response.output_item.added", json!({ "output_index": at, "item": begun }), false),
        }
        self.push("response.output_item.done", json!({ "output_index": at, "item": item }), false);
    }
}
