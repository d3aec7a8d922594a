//! Tools that are used, each folded to one line and one answer, though it is told of again and again.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1::{ContentBlock, ToolCallContent, ToolCallStatus, ToolKind};
use serde_json::Value;

use super::{LONGEST_ID, Made};
use crate::agent::excerpt;
use crate::agent::log::Entry;
use crate::model::id::AgentId;

/// So many calls are remembered; those that were answered go first.
const MOST: usize = 4096;

/// The calls that were told of.
#[derive(Debug, Default)]
pub(super) struct Calls {
    known: BTreeMap<String, Call>,
}

/// What is known of one call.
#[derive(Debug, Default, Clone)]
pub(super) struct Call {
    pub name: String,
    pub title: String,
    pub input: Value,
    is_told: bool,
    is_answered: bool,
}

/// What a message says of a call; what it leaves out stays as it was.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub id: String,
    pub name: Option<String>,
    pub title: Option<String>,
    pub kind: Option<ToolKind>,
    pub status: Option<ToolCallStatus>,
    pub input: Option<Value>,
    pub output: Option<Value>,
    pub content: Vec<ToolCallContent>,
}

impl Calls {
    pub(super) fn get(&self, id: &str) -> Option<&Call> {
        self.known.get(id)
    }

    /// Remembers a call that is in the log.
    pub(super) fn note(&mut self, id: &str, name: &str) {
        let call = self.known.entry(id.to_owned()).or_default();
        call.is_told = true;
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
    }

    pub(super) fn note_answer(&mut self, id: &str) {
        if let Some(call) = self.known.get_mut(id) {
            call.is_answered = true;
        }
    }

    /// Takes what is said of a call.
    pub(super) fn take(&mut self, agent: Option<&AgentId>, told: Told, made: &mut Made) {
        if told.id.is_empty() || told.id.len() > LONGEST_ID {
            return;
        }
        if self.known.len() >= MOST {
            self.known.retain(|_, call| !call.is_answered);
        }
        let call = self.known.entry(told.id.clone()).or_default();
        call.learn(&told);
        if call.is_answered {
            return;
        }
        let status = told.status.unwrap_or_default();
        // Many are told of before anything is known of them: the line would say nothing.
        let is_telling = status != ToolCallStatus::Pending || call.is_telling();
        if is_telling && !call.is_told {
            made.push((agent.cloned(), call.entry(&told.id)));
        }
        let ok = match status {
            ToolCallStatus::Completed => true,
            ToolCallStatus::Failed => false,
            ToolCallStatus::Pending | ToolCallStatus::InProgress | _ => return,
        };
        let text = answer(&told);
        made.push((agent.cloned(), Entry::ToolResult { id: Some(told.id), ok: Some(ok), text }));
    }
}

impl Call {
    fn learn(&mut self, told: &Told) {
        if let Some(title) = told.title.as_deref().filter(|title| !title.is_empty()) {
            title.clone_into(&mut self.title);
        }
        if let Some(input) = told.input.as_ref().filter(|input| !is_empty(input)) {
            self.input = input.clone();
        }
        if let Some(name) = &told.name {
            self.name.clone_from(name);
        } else if let Some(kind) = told.kind.filter(|_| self.name.is_empty()) {
            self.name = word(kind);
        }
    }

    /// Returns what it is used for, in short.
    pub(super) fn purpose(&self) -> String {
        if self.is_telling() { excerpt::purpose(&self.input) } else { excerpt::brief(&self.title) }
    }

    /// Returns whether its input says what it is used for.
    fn is_telling(&self) -> bool {
        !is_empty(&self.input) && !excerpt::purpose(&self.input).starts_with('{')
    }

    fn entry(&self, id: &str) -> Entry {
        let name = if self.name.is_empty() { "tool" } else { &self.name };
        Entry::Tool { id: Some(id.to_owned()), name: excerpt::brief(name), input: self.purpose() }
    }
}

fn word(kind: ToolKind) -> String {
    serde_json::to_value(kind).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

fn is_empty(input: &Value) -> bool {
    input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty)
}

/// Returns what a call came to, in short: what is meant for people, else what the tool itself returned.
fn answer(told: &Told) -> String {
    let parts: Vec<String> = told
        .content
        .iter()
        .filter_map(|part| match part {
            ToolCallContent::Content(content) => block(&content.content),
            ToolCallContent::Diff(diff) => Some(format!("changed {}", diff.path.display())),
            ToolCallContent::Terminal(_) | _ => None,
        })
        .collect();
    let shown = parts.join("\n");
    let shown = unfenced(&shown);
    if !shown.trim().is_empty() {
        return excerpt::brief(shown);
    }
    let Some(output) = &told.output else { return String::new() };
    let said = ["output", "stdout", "error", "text"].iter().find_map(|name| output.get(*name)?.as_str());
    said.map_or_else(|| excerpt::brief_value(output), excerpt::brief)
}

/// Returns a text that is all in a code fence without the fence.
fn unfenced(text: &str) -> &str {
    let inner = text.trim().strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inner = inner.and_then(|rest| rest.split_once('\n')).map(|(_, inner)| inner);
    inner.filter(|inner| !inner.contains("```")).unwrap_or(text)
}

/// Returns the text of a block.
pub(super) fn block(content: &ContentBlock) -> Option<String> {
    match content {
        ContentBlock::Text(text) => Some(text.text.clone()),
        ContentBlock::ResourceLink(link) => Some(format!("[{}]", link.uri)),
        ContentBlock::Image(_) => Some("[image]".into()),
        ContentBlock::Audio(_) => Some("[audio]".into()),
        ContentBlock::Resource(_) | _ => None,
    }
}
