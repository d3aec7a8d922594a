//! `OpenAI` Chat Completions.

use serde_json::{Value, json};

use super::Asked;
use super::reply::{Frame, Reply, pieces};
use super::script::{Step, Turn, Who, text_of};

pub(super) fn read(asked: &Value) -> Asked {
    let messages = asked["messages"].as_array().cloned().unwrap_or_default();
    let spoken =
        messages.iter().filter(|message| !matches!(message["role"].as_str(), Some("system" | "developer")));
    let turns = spoken.map(|message| {
        let who = match message["role"].as_str() {
            Some("assistant") => Who::Model,
            Some("tool") => Who::Tool,
            _ => Who::User,
        };
        Turn { who, text: text_of(&message["content"]) }
    });
    let results =
        messages.iter().filter(|message| message["role"] == "tool").map(|one| text_of(&one["content"]));
    Asked {
        wire: "chat",
        tools: asked["tools"].as_array().map_or(0, Vec::len),
        model: asked["model"].as_str().unwrap_or_default().into(),
        turns: turns.collect(),
        results: results.collect(),
        answer,
    }
}

fn answer(asked: &Value, step: &Step, id: &dyn Fn(&str) -> String) -> Reply {
    let usage = step.usage;
    let prompt = usage.input + usage.cache_read;
    let usage = json!({
        "prompt_tokens": prompt, "completion_tokens": usage.out, "total_tokens": prompt + usage.out,
        "prompt_tokens_details": { "cached_tokens": usage.cache_read },
        "completion_tokens_details": { "reasoning_tokens": usage.think },
    });
    let calls: Vec<Value> = step
        .tools
        .iter()
        .enumerate()
        .map(|(at, tool)| {
            let function = json!({ "name": tool.name, "arguments": tool.input.to_string() });
            json!({ "index": at, "id": id("call_"), "type": "function", "function": function })
        })
        .collect();
    let why = if calls.is_empty() { "stop" } else { "tool_calls" };
    let base = |kind: &str, choices: Value, usage: &Value| {
        json!({
            "id": "chatcmpl-1", "created": 1_790_000_000, "model": asked["model"], "object": kind,
            "choices": choices, "usage": usage,
        })
    };
    if asked["stream"] != true {
        let mut message = json!({ "role": "assistant", "content": step.text });
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        let choices = json!([{ "index": 0, "message": message, "finish_reason": why }]);
        return Reply::Whole(base("chat.completion", choices, &usage));
    }
    let kind = "chat.completion.chunk";
    let event = |delta: Value, finish: Option<&str>| {
        let choices = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        Frame::data(&base(kind, choices, &Value::Null).to_string())
    };
    let mut frames = vec![event(json!({ "role": "assistant", "content": "" }), None)];
    let thoughts = pieces(&step.think, step.size()).into_iter();
    frames.extend(thoughts.map(|text| event(json!({ "reasoning_content": text }), None).paced()));
    let words = pieces(&step.text, step.size()).into_iter();
    frames.extend(words.map(|text| event(json!({ "content": text }), None).paced()));
    if !calls.is_empty() {
        frames.push(event(json!({ "tool_calls": calls }), None));
    }
    frames.push(event(json!({}), Some(why)));
    frames.push(Frame::data(&base(kind, json!([]), &usage).to_string()));
    frames.push(Frame::data("[DONE]"));
    Reply::Stream(frames)
}
