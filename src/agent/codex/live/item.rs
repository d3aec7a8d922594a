//! What a turn brings about, item by item: words, thoughts, commands, changes, calls.

use serde_json::Value;

use super::hear::{cut, output};
use crate::agent::excerpt;
use crate::agent::log::Entry;

/// How much of a text goes into the log; all of it is in the tool's own file.
pub(super) const LONGEST_TEXT: usize = 16 * 1024;

/// Returns what an item that began says: which tool is used, and for what.
pub(super) fn begun(item: &Value) -> Option<Entry> {
    let (name, input) = tool(item)?;
    Some(Entry::Tool { id: item["id"].as_str().map(str::to_owned), name, input })
}

/// Returns what an item that is whole says.
pub(super) fn completed(item: &Value) -> Option<Entry> {
    let kind = item["type"].as_str().unwrap_or_default();
    match kind {
        "agentMessage" | "plan" => {
            let text = item["text"].as_str().filter(|text| !text.is_empty())?;
            Some(output(text))
        }
        "reasoning" => {
            let text =
                [&item["summary"], &item["content"]].map(lines).into_iter().find(|text| !text.is_empty())?;
            Some(Entry::Thought { text: cut(&text, LONGEST_TEXT) })
        }
        // What a person said is known, and what the tool does for itself is not shown.
        "userMessage" | "hookPrompt" | "contextCompaction" | "sleep" | "enteredReviewMode"
        | "exitedReviewMode" | "functionCallOutput" | "subAgentActivity" => None,
        _ if tool(item).is_some() => {
            let id = item["id"].as_str().map(str::to_owned);
            Some(Entry::ToolResult { id, ok: is_ok(item), text: result(item) })
        }
        _ => {
            let what = excerpt::brief(&format!("item/{kind}"));
            Some(Entry::Unknown { what, text: excerpt::brief_value(item) })
        }
    }
}

/// Returns the files that a change is about.
pub(super) fn changed(item: &Value) -> String {
    let changes = item["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let paths: Vec<&str> = changes.iter().filter_map(|change| change["path"].as_str()).collect();
    excerpt::brief(&paths.join(", "))
}

/// Returns the command that is to be run: what is run stands in a shell's words, what is meant beside it.
pub(super) fn command(item: &Value) -> String {
    let meant = item.pointer("/commandActions/0/command").and_then(Value::as_str);
    let is_one = item["commandActions"].as_array().is_some_and(|actions| actions.len() == 1);
    excerpt::brief(meant.filter(|_| is_one).or(item["command"].as_str()).unwrap_or_default())
}

fn tool(item: &Value) -> Option<(String, String)> {
    let word = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let (name, input) = match item["type"].as_str()? {
        "commandExecution" => ("shell".to_owned(), command(item)),
        "fileChange" => ("apply_patch".to_owned(), changed(item)),
        "mcpToolCall" => {
            (format!("{}.{}", word("server"), word("tool")), excerpt::purpose(&item["arguments"]))
        }
        "dynamicToolCall" => (word("tool"), excerpt::purpose(&item["arguments"])),
        "collabAgentToolCall" => (word("tool"), excerpt::title(&word("prompt")).unwrap_or_default()),
        "webSearch" => ("web_search".to_owned(), excerpt::brief(&word("query"))),
        "imageView" => ("view_image".to_owned(), excerpt::brief(&word("path"))),
        "imageGeneration" => ("generate_image".to_owned(), excerpt::brief(&word("revisedPrompt"))),
        _ => return None,
    };
    Some((excerpt::brief(&name), input))
}

fn is_ok(item: &Value) -> Option<bool> {
    match (item["status"].as_str(), item["exitCode"].as_i64()) {
        (Some("failed" | "declined" | "interrupted"), _) => Some(false),
        (_, Some(code)) => Some(code == 0),
        (Some("completed"), None) => Some(true),
        _ => None,
    }
}

fn result(item: &Value) -> String {
    if let Some(output) = item["aggregatedOutput"].as_str() {
        return excerpt::brief(output);
    }
    let told = ["/error/message", "/result/content", "/contentItems", "/agentsStates"];
    let told = told.iter().filter_map(|place| item.pointer(place)).find(|told| !told.is_null());
    told.map(excerpt::brief_value).unwrap_or_default()
}

fn lines(texts: &Value) -> String {
    let texts = texts.as_array().map(Vec::as_slice).unwrap_or_default();
    texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}
