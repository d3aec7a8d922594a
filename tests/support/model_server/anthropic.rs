//! Anthropic Messages.

use serde_json::{Value, json};

use super::Asked;
use super::reply::{Frame, Reply, pieces};
use super::script::{Step, Turn, Who, text_of};

pub(super) fn read(asked: &Value) -> Asked {
    let messages = asked["messages"].as_array().cloned().unwrap_or_default();
    let parts = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
    let is_result = |part: &Value| part["type"] == "tool_result";
    let turns = messages.iter().map(|message| {
        let parts = parts(message);
        let who = if message["role"] == "assistant" {
            Who::Model
        } else if !parts.is_empty() && parts.iter().all(is_result) {
            Who::Tool
        } else {
            Who::User
        };
        Turn { who, text: text_of(&message["content"]) }
    });
    let results = messages.iter().flat_map(parts).filter(is_result).map(|part| part["content"].to_string());
    Asked {
        wire: "anthropic",
        tools: asked["tools"].as_array().map_or(0, Vec::len),
        model: asked["model"].as_str().unwrap_or_default().into(),
        turns: turns.collect(),
        results: results.collect(),
        answer,
    }
}

fn answer(asked: &Value, step: &Step, id: &dyn Fn(&str) -> String) -> Reply {
    let thinks = asked["thinking"]["type"].as_str().is_some_and(|kind| kind != "disabled");
    let mut blocks = Vec::new();
    if thinks && !step.think.is_empty() {
        blocks.push(json!({ "type": "thinking", "thinking": step.think, "signature": "c2lnbmVk" }));
    }
    if !step.text.is_empty() {
        blocks.push(json!({ "type": "text", "text": step.text }));
    }
    for tool in &step.tools {
        let input = if tool.input.is_null() { json!({}) } else { tool.input.clone() };
        blocks.push(json!({ "type": "tool_use", "id": id("toolu_"), "name": tool.name, "input": input }));
    }
    let usage = step.usage;
    let usage = json!({
        "input_tokens": usage.input, "output_tokens": usage.out, "service_tier": "standard",
        "cache_read_input_tokens": usage.cache_read, "cache_creation_input_tokens": usage.cache_write,
        "cache_creation": { "ephemeral_5m_input_tokens": usage.cache_write, "ephemeral_1h_input_tokens": 0 },
    });
    let why = if step.tools.is_empty() { "end_turn" } else { "tool_use" };
    let mut message = json!({
        "id": id("msg_"), "type": "message", "role": "assistant", "model": asked["model"],
        "content": blocks, "stop_reason": why, "stop_sequence": null, "usage": usage,
    });
    if asked["stream"] != true {
        return Reply::Whole(message);
    }
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    message["usage"]["output_tokens"] = json!(1);
    let event = |kind: &str, mut data: Value| {
        data["type"] = kind.into();
        Frame::event(kind, &data)
    };
    let mut frames = vec![event("message_start", json!({ "message": message })), event("ping", json!({}))];
    for (at, block) in blocks.iter().enumerate() {
        frames.extend(block_frames(at, block, step.size(), &event));
    }
    let delta = json!({ "stop_reason": why, "stop_sequence": null });
    frames.push(event("message_delta", json!({ "delta": delta, "usage": usage })));
    frames.push(event("message_stop", json!({})));
    Reply::Stream(frames)
}

fn block_frames(at: usize, block: &Value, size: usize, event: &dyn Fn(&str, Value) -> Frame) -> Vec<Frame> {
    let start = |empty: Value| event("content_block_start", json!({ "index": at, "content_block": empty }));
    let delta = |delta: Value| event("content_block_delta", json!({ "index": at, "delta": delta }));
    let words = |field: &str| pieces(block[field].as_str().unwrap_or_default(), size);
    let mut frames = Vec::new();
    match block["type"].as_str() {
        Some("thinking") => {
            frames.push(start(json!({ "type": "thinking", "thinking": "", "signature": "" })));
            let said = words("thinking").into_iter();
            frames.extend(
                said.map(|text| delta(json!({ "type": "thinking_delta", "thinking": text })).paced()),
            );
            frames.push(delta(json!({ "type": "signature_delta", "signature": block["signature"] })));
        }
        Some("text") => {
            frames.push(start(json!({ "type": "text", "text": "" })));
            let said = words("text").into_iter();
            frames.extend(said.map(|text| delta(json!({ "type": "text_delta", "text": text })).paced()));
        }
        _ => {
            let empty = json!({ "type": "tool_use", "id": block["id"], "name": block["name"], "input": {} });
            frames.push(start(empty));
            let input = block["input"].to_string();
            frames.push(delta(json!({ "type": "input_json_delta", "partial_json": input })));
        }
    }
    frames.push(event("content_block_stop", json!({ "index": at })));
    frames
}
