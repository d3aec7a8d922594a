//! The script in a prompt: an array of steps, one for each turn of the model.

use serde::Deserialize;
use serde_json::Value;

use super::Charged;

/// Stands before the script in a prompt.
pub const MARK: &str = "PLAY:";

/// One turn of the model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    pub think: String,
    pub text: String,
    pub tools: Vec<Tool>,
    pub usage: Usage,
    /// Before the first byte.
    pub delay_ms: u64,
    /// Between the first frame and the second.
    pub hang_ms: u64,
    /// Between pieces of text.
    pub chunk_ms: u64,
    /// How many characters are in a piece.
    pub chunk: Option<usize>,
    pub error: Option<Failure>,
    /// The connection breaks in the middle.
    pub cut: bool,
}

/// A call of a tool. In its input `$FIRST:key`, `$LAST:key` and `$ALL:key` stand for values of earlier results.
#[derive(Debug, Clone, Deserialize)]
pub struct Tool {
    pub name: String,
    #[serde(default)]
    pub input: Value,
}

/// What the turn costs.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    #[serde(rename = "in")]
    pub input: u64,
    pub out: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub think: u64,
}

/// An error instead of an answer.
#[derive(Debug, Clone, Deserialize)]
pub struct Failure {
    pub status: u16,
    #[serde(default, rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub message: String,
    /// Only the first so many times.
    #[serde(default)]
    pub times: Option<u32>,
    #[serde(default)]
    pub retry_after: u64,
}

/// One turn of a talk.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub who: Who,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    User,
    Model,
    Tool,
}

/// The step to be played now.
#[derive(Debug)]
pub struct Picked {
    pub step: Step,
    pub index: usize,
    pub task: String,
    /// All of the prompt that carried the script.
    pub whole: String,
}

/// Finds the last prompt with a script, and the step that follows the turns of the model since.
pub fn pick(turns: &[Turn]) -> Picked {
    let scripted = turns.iter().enumerate().rev().filter(|(_, turn)| turn.who == Who::User);
    let parsed = scripted.filter_map(|(at, turn)| Some((at, parse(&turn.text)?, turn.text.clone())));
    let mut parsed: Vec<_> = parsed.collect();
    // What only speaks of an earlier prompt has its script in quotes.
    let chosen = parsed.iter().position(|(_, script, _)| script.steps.is_ok()).unwrap_or(0);
    if parsed.is_empty() {
        return Picked { step: said("Done."), index: 0, task: String::new(), whole: String::new() };
    }
    let (at, Script { steps, task }, whole) = parsed.swap_remove(chosen);
    // A script that cannot be read is a mistake of the test, and must not look like an answer.
    let steps = steps.unwrap_or_else(|rest| vec![said(&format!("the script cannot be read: {rest}"))]);
    let (mut index, mut before) = (0, Who::User);
    for turn in turns.iter().skip(at + 1) {
        if turn.who == Who::Model && before != Who::Model {
            index += 1;
        }
        before = turn.who;
    }
    let step = steps.get(index).cloned().unwrap_or_else(|| said("There is nothing more to do."));
    Picked { step, index, task, whole }
}

/// Returns the answer to a question of the program's own.
pub fn aside() -> Step {
    Step { usage: Usage { input: 3, out: 2, ..Usage::default() }, ..said("A title") }
}

fn said(text: &str) -> Step {
    Step { text: text.into(), ..Step::default() }
}

/// What a prompt carries.
struct Script {
    /// The steps, or what cannot be read as such.
    steps: Result<Vec<Step>, String>,
    /// What stands before it in its line: programs put reminders of their own before.
    task: String,
}

/// Returns the script of a text. The prompt may be told twice: as it is, and in quotes as part of something else.
fn parse(text: &str) -> Option<Script> {
    let read = |text: &str| serde_json::Deserializer::from_str(text).into_iter().next()?.ok();
    let (mut left, mut unread) = (text, None);
    while let Some((before, after)) = left.split_once(MARK) {
        let task = || before.lines().last().unwrap_or_default().trim().to_owned();
        let unquoted = after.replace("\\\"", "\"");
        if let Some(steps) = read(after).or_else(|| read(&unquoted)) {
            return Some(Script { steps: Ok(steps), task: task() });
        }
        unread.get_or_insert_with(|| Script { steps: Err(after.to_owned()), task: task() });
        left = after;
    }
    unread
}

impl Step {
    /// Returns how many characters are in a piece of text.
    pub fn size(&self) -> usize {
        self.chunk.unwrap_or(24)
    }

    /// Returns the step with what earlier results said put into its tools' inputs.
    pub fn filled(mut self, results: &[String]) -> Self {
        let said = results.join("\n").replace("\\\"", "\"");
        for tool in &mut self.tools {
            fill(&mut tool.input, &said);
        }
        self
    }

    /// Returns the step with a cost, where the script names none.
    pub fn measured(mut self, bytes: usize) -> Self {
        if self.usage.input == 0 && self.usage.cache_read == 0 {
            self.usage.input = bytes as u64 / 4;
        }
        if self.usage.out == 0 {
            self.usage.out = 1 + (self.text.len() + self.think.len()) as u64 / 4;
        }
        self
    }

    /// Returns what it charges, as far as the wire format can tell it.
    pub fn charged(&self, wire: &str) -> Charged {
        let usage = self.usage;
        Charged {
            input: usage.input,
            output: usage.out + if wire == "gemini" { usage.think } else { 0 },
            cache_read: usage.cache_read,
            cache_write: if wire == "anthropic" { usage.cache_write } else { 0 },
        }
    }
}

fn fill(value: &mut Value, said: &str) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|value| fill(value, said)),
        Value::Array(items) => items.iter_mut().for_each(|value| fill(value, said)),
        Value::String(text) => {
            if let Some(key) = text.strip_prefix("$ALL:") {
                *value = values_of(key, said).into_iter().map(Value::from).collect();
            } else if let Some(key) = text.strip_prefix("$LAST:") {
                *value = values_of(key, said).pop().unwrap_or_default().into();
            } else if let Some(key) = text.strip_prefix("$FIRST:") {
                *value = values_of(key, said).into_iter().next().unwrap_or_default().into();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns every value that stands after a key in a text, each once.
fn values_of(key: &str, said: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, rest) in said.match_indices(key).map(|(at, key)| said.split_at(at + key.len())) {
        let rest = rest.trim_start_matches(['"', ':', '=', ' ']);
        let value: String = rest.chars().take_while(|c| c.is_alphanumeric() || "-_./".contains(*c)).collect();
        if !value.is_empty() && !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// Returns the text of a message's content, whatever its form.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter(|part| part["type"] != "tool_result").filter_map(|part| {
                part.as_str().or_else(|| part["text"].as_str()).or_else(|| part["encrypted_content"].as_str())
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
