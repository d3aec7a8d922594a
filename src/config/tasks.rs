//! `tasks.json`: what other tools plan work with. Read with all the drift that real files have; changed in the few
//! places that are ours, every other byte as it was. Pure; `file` reads and writes.

pub mod file;

use serde_json::{Map, Value, json};

use super::json::{self, Node, NotPut};
use super::read::{Dialect, Found, settings};
use super::tree;
use crate::model::time::Stamp;

/// How far a task is, in whichever of seven spellings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    Ready,
    Blocked,
    InProgress,
    Completed,
    /// A word that we do not know.
    Other(String),
    /// Nobody said.
    Unknown,
}

impl Stage {
    /// Reads a word of a file.
    pub fn of(word: Option<&str>) -> Self {
        let Some(word) = word else { return Self::Unknown };
        match word.to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
            "ready" | "pending" | "todo" => Self::Ready,
            "blocked" => Self::Blocked,
            "in_progress" | "inprogress" | "started" => Self::InProgress,
            "completed" | "complete" | "done" => Self::Completed,
            _ => Self::Other(word.to_owned()),
        }
    }
}

/// How a task is split, where somebody said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Split {
    pub strategy: Option<String>,
    pub steps: Option<u64>,
    pub done: Option<u64>,
    pub rule: Option<String>,
}

/// One task, as far as we need it.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub id: String,
    pub title: String,
    pub description: String,
    pub stage: Stage,
    pub phase: Option<String>,
    pub priority: Option<String>,
    /// As it is written, such as 4h.
    pub estimate: Option<Value>,
    pub tags: Vec<String>,
    pub acceptance: Vec<String>,
    pub requires: Vec<String>,
    pub parent: Option<String>,
    pub children: Vec<String>,
    pub split: Option<Split>,
    /// In hundredths.
    pub percent: Option<u64>,
    /// The delegation that works on it, or worked on it last.
    pub delegation: Option<String>,
    /// Whether somebody has it now.
    pub is_delegated: bool,
    /// Its own settings, with what is wrong in them.
    pub config: Found,
    /// All of it, as it is written.
    pub whole: Value,
}

/// What is said where a task could not be told of its delegation.
pub const NOT_TOLD: &str = "cannot be told of";

/// Why a task was not read or updated.
#[derive(Debug, thiserror::Error)]
pub enum NotTold {
    #[error("line {}: {}", .0.line.unwrap_or(1), .0.why)]
    Unreadable(tree::Unreadable),
    #[error(transparent)]
    NotPut(#[from] NotPut),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("others changed it again and again")]
    Busy,
}

/// Reads one task of a file; none where it has no such task.
pub fn task(file: &str, text: &str, id: &str) -> Result<Option<Task>, NotTold> {
    let root = json::read(text).map_err(NotTold::Unreadable)?;
    let Some(node) = root.find(&["tasks", id]) else { return Ok(None) };
    let value = value_of(text, node);
    let word = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let words = |value: Option<&Value>| -> Vec<String> {
        let list = value.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|one| one.as_str().map(str::to_owned)).collect()
    };
    let config = tree::of_json(text).ok().and_then(|tree| {
        let task = &tree.entry("tasks")?.tree.entry(id)?.tree;
        Some(settings(file, &task.entry("delegationConfig")?.tree, Dialect::Task))
    });
    Ok(Some(Task {
        id: id.to_owned(),
        title: word("title").unwrap_or_else(|| id.to_owned()),
        description: word("description").unwrap_or_default(),
        stage: Stage::of(value.get("status").and_then(Value::as_str)),
        phase: word("phase"),
        priority: word("priority"),
        estimate: value.get("estimate").cloned(),
        tags: words(value.get("tags")),
        acceptance: words(value.get("acceptance")),
        requires: words(value.get("depends").and_then(|depends| depends.get("requires"))),
        parent: word("parentTaskId"),
        children: words(value.get("childTaskIds")),
        split: value.get("decomposition").and_then(split),
        percent: value.get("progress").and_then(percent),
        delegation: word("delegationId"),
        is_delegated: value.get("delegatedTo").is_some_and(|to| !to.is_null()),
        config: config.unwrap_or_default(),
        whole: value,
    }))
}

/// Returns the id, the title and the stage of every task of a file, in its order; of what is no such file nothing.
pub fn titles(text: &str) -> Vec<(String, String, Stage)> {
    let Ok(whole) = serde_json::from_str::<Value>(text) else { return Vec::new() };
    let tasks = whole.get("tasks").and_then(Value::as_object).into_iter().flatten();
    let of = |(id, task): (&String, &Value)| {
        let word = |name: &str| task.get(name).and_then(Value::as_str);
        (id.clone(), word("title").unwrap_or(id).to_owned(), Stage::of(word("status")))
    };
    tasks.map(of).collect()
}

fn value_of(text: &str, node: &Node) -> Value {
    text.get(node.at.clone()).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// An object, a bare word, or nothing.
fn split(value: &Value) -> Option<Split> {
    let word = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let count = |name: &str| value.get(name).and_then(Value::as_u64);
    match value {
        Value::String(strategy) => Some(Split { strategy: Some(strategy.clone()), ..Split::default() }),
        Value::Object(_) => Some(Split {
            strategy: word("strategy"),
            steps: count("estimatedSubtasks"),
            done: count("completedSubtasks"),
            rule: word("aggregationRule"),
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

/// A number, or an object that has one.
fn percent(value: &Value) -> Option<u64> {
    let named =
        ["percentComplete", "percent", "percentage"].iter().find_map(|name| value.get(name)?.as_u64());
    value.as_u64().or(named).map(|percent| percent.min(100))
}

impl Task {
    /// Returns what an agent is told to do.
    pub fn prompt(&self) -> String {
        let mut out = self.title.clone();
        if !self.description.trim().is_empty() {
            out.push_str("\n\n");
            out.push_str(self.description.trim());
        }
        if !self.acceptance.is_empty() {
            out.push_str("\n\nIt is done when:\n");
            out.extend(self.acceptance.iter().map(|one| format!("- {one}\n")));
        }
        out
    }

    /// Answers the check before a task is carried out: whether delegating is suggested, and the decision. Nothing is
    /// weighed where delegating is disabled, or somebody has the task already.
    pub fn before(&self, mode: &str, decide: impl FnOnce(&Self) -> (bool, Value)) -> Value {
        if mode == "disabled" || self.is_delegated {
            return json!({ "delegationSuggested": false });
        }
        match decide(self) {
            (true, decision) => json!({ "delegationSuggested": true, "decision": decision }),
            (false, _) => json!({ "delegationSuggested": false }),
        }
    }
}

/// A delegation took a task on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    pub delegation: String,
    pub agent: Option<String>,
    pub at: Stamp,
}

/// How the delegation of a task ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    pub delegation: String,
    /// In our words: done, partial, failed, cancelled, …
    pub status: String,
    pub quality: Option<f64>,
    pub deliverables: Vec<String>,
    pub subtasks_completed: u64,
    pub tokens_used: Option<u64>,
    pub at: Stamp,
}

/// Returns the text with a task linked to its delegation; none where it is already, or there is no such task.
pub fn linked(text: &str, id: &str, taken: &Taken) -> Result<Option<String>, NotTold> {
    let Some(task) = task("", text, id)? else { return Ok(None) };
    if task.delegation.as_deref() == Some(&taken.delegation) {
        return Ok(None);
    }
    let to = json!({
        "agentId": taken.agent,
        "delegationId": taken.delegation,
        "delegatedAt": taken.at,
    });
    let mut fields = vec![("delegatedTo", to), ("delegationId", taken.delegation.as_str().into())];
    if task.stage != Stage::Completed && task.stage != Stage::InProgress {
        fields.push(("status", "in_progress".into()));
    }
    changed(text, id, &fields, taken.at).map(Some)
}

/// Returns the text with what came of a task; none where that is there already, the task is no longer this
/// delegation's, or there is no such task.
pub fn ended(text: &str, id: &str, ended: &Ended) -> Result<Option<String>, NotTold> {
    let Some(task) = task("", text, id)? else { return Ok(None) };
    let info = task.whole.get("delegationInfo");
    let told = info.and_then(|info| info.get("delegationId")?.as_str());
    let is_others = task.delegation.as_ref().is_some_and(|known| *known != ended.delegation);
    if told == Some(ended.delegation.as_str()) || is_others {
        return Ok(None);
    }
    let mut info = Map::new();
    info.insert("delegationId".into(), ended.delegation.as_str().into());
    info.insert("status".into(), ended.status.as_str().into());
    info.insert("subtasksCompleted".into(), ended.subtasks_completed.into());
    info.insert("tokensUsed".into(), json!(ended.tokens_used));
    let mut fields = vec![
        ("delegatedTo", Value::Null),
        ("delegationId", ended.delegation.as_str().into()),
        ("delegationInfo", Value::Object(info)),
        ("updated", json!(ended.at)),
    ];
    match ended.status.as_str() {
        "done" => fields.extend([("status", "completed".into()), ("completed", json!(ended.at))]),
        // Somebody must look at it.
        "partial" | "failed" | "timed-out" | "expired" => fields.push(("status", "blocked".into())),
        _ => fields.push(("status", "ready".into())),
    }
    fields.extend(ended.quality.map(|quality| ("quality", json!(quality))));
    let known = task.whole.get("deliverables").and_then(Value::as_array).cloned().unwrap_or_default();
    let new: Vec<Value> = ended.deliverables.iter().map(|one| Value::from(one.as_str())).collect();
    let new: Vec<Value> = new.into_iter().filter(|one| !known.contains(one)).collect();
    if !new.is_empty() {
        fields.push(("deliverables", known.into_iter().chain(new).collect()));
    }
    changed(text, id, &fields, ended.at).map(Some)
}

/// Puts fields into a task, and counts the version up: whoever edits the same file by that count notices.
fn changed(text: &str, id: &str, fields: &[(&str, Value)], at: Stamp) -> Result<String, NotTold> {
    let mut out = text.to_owned();
    for (name, value) in fields {
        out = json::put(&out, &["tasks", id, name], value)?;
    }
    let root = json::read(&out).map_err(NotTold::Unreadable)?;
    // A file that nobody counts gets no count of ours.
    if let Some(count) = root.find(&["_concurrency"]) {
        let version = count.member("version").and_then(|member| value_of(&out, &member.value).as_u64());
        let put = |text: &str, name: &str, value: Value| json::put(text, &["_concurrency", name], &value);
        out = put(&out, "version", (version.unwrap_or(0) + 1).into())?;
        out = put(&out, "lastModifiedBy", "quarterdeck".into())?;
        out = put(&out, "lastModifiedAt", json!(at))?;
    }
    Ok(out)
}
