//! What Gemini CLI prints: one JSON object a line, each with a `type`.

use serde_json::Value;

use super::{GeminiAdapter, INVOKE, Made};
use crate::agent::lines::Line;
use crate::agent::log::{Entry, Named, Origin, Status};
use crate::agent::{Step, excerpt};
use crate::model::time::Stamp;

/// How much of a text goes into the log; all of it is in the session's own file.
pub(super) const LONGEST_TEXT: usize = 16 * 1024;
/// Words come in pieces: so much of them is told at the latest.
const LONGEST_PIECE: usize = 2 * 1024;
/// How it says that it has stopped because it did the same again and again; what follows calls itself a success.
const LOOP: &str = "Loop detected";

/// Words that come piece by piece, each a line of the stream.
#[derive(Debug)]
pub(super) struct Words {
    text: String,
    offset: u64,
    next: u64,
}

impl GeminiAdapter {
    /// Takes a line if it goes on with what is being said; else tells what was said so far.
    pub(super) fn goes_on(&mut self, line: &Line, step: &mut Step) -> bool {
        let value = &serde_json::from_slice::<Value>(&line.bytes).unwrap_or_default();
        let is_piece = value["type"] == "message" && value["role"] == "assistant" && line.cut == 0;
        if !is_piece {
            self.flush(step);
            return false;
        }
        let words = self.words.get_or_insert(Words { text: String::new(), offset: line.offset, next: 0 });
        words.text.push_str(value["content"].as_str().unwrap_or_default());
        words.next = line.next;
        if words.text.ends_with('\n') || words.text.len() >= LONGEST_PIECE {
            self.flush(step);
        }
        true
    }

    /// Tells what was said so far.
    pub(super) fn flush(&mut self, step: &mut Step) {
        if let Some(words) = self.words.take()
            && !words.text.is_empty()
        {
            self.place(Origin::Out, (words.offset, words.next), vec![(None, output(&words.text))], step);
        }
    }

    /// Takes a line of the stream.
    pub(super) fn hear(&mut self, line: &Line, made: &mut Made) {
        let value = if line.cut == 0 { serde_json::from_slice::<Value>(&line.bytes).ok() } else { None };
        let Some(value) = value.as_ref().filter(|value| value.is_object()) else {
            if !line.bytes.trim_ascii().is_empty() {
                made.push((None, printed(line)));
            }
            return;
        };
        let entry = match value["type"].as_str().unwrap_or_default() {
            "init" => self.init(value),
            // What it was asked.
            "message" => return,
            "tool_use" => used(value),
            "tool_result" => answered(value),
            "error" => trouble(value),
            "result" => self.result(value),
            other => {
                let text = excerpt::brief(&String::from_utf8_lossy(&line.bytes));
                Entry::Unknown { what: excerpt::brief(other), text }
            }
        };
        made.push((None, entry));
    }

    fn init(&mut self, value: &Value) -> Entry {
        self.began = value["timestamp"].as_str().and_then(Stamp::parse).or(self.began);
        // `auto` is none: which model it takes shows with each message.
        let model = value["model"].as_str().filter(|model| !model.starts_with("auto"));
        let session = value["session_id"].as_str();
        Entry::Named(Named {
            session: session.map(str::to_owned),
            model: model.map(str::to_owned),
            ..Named::default()
        })
    }

    fn result(&self, value: &Value) -> Entry {
        if value["status"] == "success" {
            return Entry::Result { status: Status::Done, summary: cut(self.answer.trim()) };
        }
        let (code, said) =
            words_of(value.pointer("/error/message").and_then(Value::as_str).unwrap_or_default());
        let status = match code {
            Some(400 | 401 | 403 | 404 | 413 | 422) => Status::FailedForGood,
            _ => Status::Failed,
        };
        Entry::Result { status, summary: cut(&said) }
    }
}

/// Returns the status and the words of the provider in what the tool makes of its answer:
/// `[API Error: {"error":{"code":400,"message":"…","status":"…"}}]`.
pub(super) fn words_of(text: &str) -> (Option<u64>, String) {
    let inner = text.find('{').and_then(|at| text.get(at..));
    let read = |text: &str| serde_json::Deserializer::from_str(text).into_iter::<Value>().next()?.ok();
    let read = inner.and_then(read);
    let Some(error) = read.as_ref().and_then(|value| value.get("error")).filter(|error| error.is_object())
    else {
        return (None, text.to_owned());
    };
    let code = error["code"].as_u64();
    let said = error["message"].as_str().unwrap_or_default();
    // An answer that was passed on may be in an answer.
    let (within, said) = if said.contains("\"error\"") { words_of(said) } else { (None, said.to_owned()) };
    let code = within.or(code);
    let told = match (code, error["status"].as_str().filter(|status| !status.is_empty())) {
        (Some(code), Some(status)) if within.is_none() => format!("API error {code} {status}: {said}"),
        (Some(code), None) if within.is_none() => format!("API error {code}: {said}"),
        _ => said,
    };
    // When to come back may stand beside the words.
    let details = error["details"].as_array().map(Vec::as_slice).unwrap_or_default();
    let delay = details.iter().find_map(|detail| detail["retryDelay"].as_str());
    (code, delay.map_or(told.clone(), |delay| format!("{told}\nSuggested retry after {delay}.")))
}

fn used(value: &Value) -> Entry {
    let (name, parameters) = (text(&value["tool_name"]), &value["parameters"]);
    let input = if name == INVOKE {
        let task = parameters["prompt"].as_str().and_then(excerpt::title).unwrap_or_default();
        format!("{}: {task}", text(&parameters["agent_name"]))
    } else {
        excerpt::purpose(parameters)
    };
    Entry::Tool { id: value["tool_id"].as_str().map(str::to_owned), name: excerpt::brief(&name), input }
}

fn answered(value: &Value) -> Entry {
    let said = value["output"].as_str().or_else(|| value.pointer("/error/message").and_then(Value::as_str));
    Entry::ToolResult {
        id: value["tool_id"].as_str().map(str::to_owned),
        ok: Some(value["status"] == "success"),
        text: said.map(excerpt::brief).unwrap_or_default(),
    }
}

/// What it calls an error ends its work, and so does a loop, which it calls a warning.
fn trouble(value: &Value) -> Entry {
    let said = text(&value["message"]);
    if value["severity"] == "error" || said.starts_with(LOOP) {
        return Entry::Result { status: Status::Failed, summary: cut(&said) };
    }
    Entry::Output { text: format!("warning: {}", cut(&said)), cut: 0 }
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

pub(super) fn cut(text: &str) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.to_owned();
    }
    format!("{}…", text.get(..text.floor_char_boundary(LONGEST_TEXT)).unwrap_or_default())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
