//! The small protocol: JSON objects with a `quarterdeck` field, one a line, in both directions.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::agent::Command;
use crate::agent::log::{Entry, Status, Usage};
use crate::model::command::Answer;
use crate::model::usage::{Tokens, Usd};

/// How much of a tool's input is kept where it is not a text already.
const LONGEST_SUMMARY: usize = 400;

/// So long an id may be: it is sent back as it came, so it cannot be cut.
const LONGEST_ID: usize = 256;

/// What an agent may say; unknown fields are ignored.
#[derive(Debug, Deserialize)]
#[serde(tag = "quarterdeck", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum Spoken {
    Progress {
        #[serde(default)]
        current: u64,
        total: Option<u64>,
        last_action: Option<String>,
    },
    Thought {
        text: String,
    },
    Tool {
        id: Option<String>,
        name: String,
        #[serde(default)]
        input: Value,
    },
    ToolResult {
        id: Option<String>,
        ok: Option<bool>,
        #[serde(default)]
        text: Value,
    },
    Usage {
        message_id: Option<String>,
        request_id: Option<String>,
        model: Option<String>,
        #[serde(default)]
        tokens: Tokens,
        /// In dollars.
        cost: Option<Usd>,
    },
    Question {
        id: String,
        text: String,
        tool: Option<String>,
        #[serde(default)]
        options: Vec<String>,
    },
    Result {
        status: Option<String>,
        #[serde(default)]
        summary: String,
    },
}

/// Reads a line of the protocol; `None` if it is none.
pub(super) fn read(line: &[u8]) -> Option<Entry> {
    // Most lines are plain, and need no parser to tell.
    if !line.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    Some(match serde_json::from_slice(line).ok()? {
        Spoken::Progress { current, total, last_action } => Entry::Progress { current, total, last_action },
        Spoken::Thought { text } => Entry::Thought { text },
        Spoken::Tool { id, name, input } => Entry::Tool { id, name, input: summary(&input) },
        Spoken::ToolResult { id, ok, text } => Entry::ToolResult { id, ok, text: summary(&text) },
        Spoken::Usage { message_id, request_id, model, tokens, cost } => {
            // What is no amount of money is none.
            let cost = cost.filter(|cost| cost.0 >= 0);
            Entry::Usage(Usage { message_id, request_id, model, tokens, cost, ..Usage::default() })
        }
        Spoken::Question { id, .. } if id.len() > LONGEST_ID => return None,
        Spoken::Question { id, text, tool, options } => {
            Entry::Question { id: id.into(), text, tool, options, input: None, kept: None }
        }
        Spoken::Result { status, summary } => Entry::Result { status: judged(status.as_deref()), summary },
    })
}

/// Writes what is said to the agent; `None` for what the protocol has no words for.
pub(super) fn write(command: &Command) -> Option<String> {
    let said = match command {
        Command::Answer { question, answer } => {
            json!({"quarterdeck": "answer", "question": question, "answer": word(answer)})
        }
        Command::Tell(text) => json!({"quarterdeck": "tell", "text": text}),
        Command::Interrupt => json!({"quarterdeck": "interrupt"}),
        Command::StopAgent(_) | Command::SetModel(_) => return None,
    };
    Some(said.to_string())
}

fn word(answer: &Answer) -> &str {
    match answer {
        Answer::Allow => "allow",
        Answer::Deny => "deny",
        Answer::AllowForSession => "allow-for-session",
        Answer::Text(text) => text,
    }
}

/// A result without a word is a good one: an agent that failed says so.
fn judged(status: Option<&str>) -> Status {
    match status {
        None | Some("done" | "completed" | "success" | "ok") => Status::Done,
        Some(_) => Status::Failed,
    }
}

fn summary(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    match text.char_indices().nth(LONGEST_SUMMARY) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
