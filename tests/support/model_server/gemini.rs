//! Google's generative API.

use serde_json::{Value, json};

use super::Asked;
use super::reply::{Frame, Reply, pieces};
use super::script::{Step, Turn, Who, text_of};

/// Reads a request to `…/models/<model>:<verb>`; another path is none.
pub(super) fn read(path: &str, asked: &Value) -> Option<Asked> {
    let (model, verb) = path.rsplit('/').next()?.split_once(':')?;
    let answer = match verb {
        "generateContent" => whole,
        "streamGenerateContent" => stream,
        _ => return None,
    };
    let contents = asked["contents"].as_array().cloned().unwrap_or_default();
    let parts = |content: &Value| content["parts"].as_array().cloned().unwrap_or_default();
    let is_result = |part: &Value| !part["functionResponse"].is_null();
    let turns = contents.iter().map(|content| {
        let own = parts(content);
        let who = if content["role"] == "model" {
            Who::Model
        } else if !own.is_empty() && own.iter().all(is_result) {
            Who::Tool
        } else {
            Who::User
        };
        Turn { who, text: text_of(&content["parts"]) }
    });
    let results =
        contents.iter().flat_map(parts).filter(is_result).map(|part| part["functionResponse"].to_string());
    Some(Asked {
        wire: "gemini",
        tools: asked["tools"].as_array().map_or(0, Vec::len),
        model: model.into(),
        turns: turns.collect(),
        results: results.collect(),
        answer,
    })
}

fn whole(asked: &Value, step: &Step, id: &dyn Fn(&str) -> String) -> Reply {
    let parts = parts(asked, step, id, usize::MAX);
    Reply::Whole(frame(step, &parts, true))
}

fn stream(asked: &Value, step: &Step, id: &dyn Fn(&str) -> String) -> Reply {
    let parts = parts(asked, step, id, step.size());
    let mut frames: Vec<Frame> = parts
        .iter()
        .map(|part| Frame::data(&frame(step, std::slice::from_ref(part), false).to_string()).paced())
        .collect();
    frames.push(Frame::data(&frame(step, &[json!({ "text": "" })], true).to_string()));
    Reply::Stream(frames)
}

fn parts(asked: &Value, step: &Step, id: &dyn Fn(&str) -> String, size: usize) -> Vec<Value> {
    let wants_json = asked["generationConfig"]["responseMimeType"] == "application/json";
    let text = if wants_json && step.tools.is_empty() {
        // What its own questions about the talk (which model, who is next) need for an answer.
        json!({ "reasoning": "as scripted", "model_choice": "flash", "complexity_reasoning": "as scripted",
                "complexity_score": 10, "next_speaker": "user" })
        .to_string()
    } else {
        step.text.clone()
    };
    let size = if wants_json { usize::MAX } else { size };
    let mut parts: Vec<Value> =
        pieces(&step.think, size).into_iter().map(|text| json!({ "text": text, "thought": true })).collect();
    parts.extend(pieces(&text, size).into_iter().map(|text| json!({ "text": text })));
    parts.extend(step.tools.iter().map(|tool| {
        let call = json!({ "id": id("fc_"), "name": tool.name, "args": tool.input });
        json!({ "functionCall": call, "thoughtSignature": "c2lnbmVk" })
    }));
    if parts.is_empty() {
        parts.push(json!({ "text": "" }));
    }
    parts
}

fn frame(step: &Step, parts: &[Value], is_last: bool) -> Value {
    let usage = step.usage;
    let prompt = usage.input + usage.cache_read;
    let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts } });
    if is_last {
        candidate["finishReason"] = "STOP".into();
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": prompt, "cachedContentTokenCount": usage.cache_read,
            "candidatesTokenCount": usage.out, "thoughtsTokenCount": usage.think,
            "totalTokenCount": prompt + usage.out + usage.think,
        },
    })
}
