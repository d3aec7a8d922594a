//! What left the tree, opened: all that its record says, to be read.

use serde_json::Value;

use crate::model::text;
use crate::monitor::app::dialog::{Form, Note, Tone};
use crate::monitor::app::effect::{Effect, PastEntry};
use crate::monitor::app::ui::{Layer, Ui, View};
use crate::report::measure::{UNKNOWN, cost, duration, spent_tokens};

/// So many steps are listed; the export has them all.
const STEPS: usize = 500;

/// Shows the selected entry in full.
pub fn open(ui: &mut Ui) -> Vec<Effect> {
    if let Some(entry) = ui.past.shown().nth(ui.list(View::History).at) {
        let title = if entry.title.is_empty() { &entry.id } else { &entry.title };
        let form = Form::message(text::line(title), notes(entry));
        ui.layers.push(Layer::Form(Box::new(form)));
    }
    Vec::new()
}

fn notes(entry: &PastEntry) -> Vec<Note> {
    let told = |text: Option<&str>| text.map_or_else(|| UNKNOWN.to_owned(), |text| text::line(text).into());
    let at = |stamp: Option<crate::model::time::Stamp>| {
        stamp.map_or_else(|| UNKNOWN.to_owned(), |at| at.to_string())
    };
    let took = entry.started.zip(entry.ended).map(|(from, to)| duration(to.since(from)));
    let lines = [
        format!("{} {}", told(Some(&entry.id)), told(Some(&entry.status))),
        format!("agent {}, pattern {}", told(entry.agent.as_deref()), told(entry.pattern.as_deref())),
        format!("{} to {}, {}", at(entry.started), at(entry.ended), told(took.as_deref())),
        format!("{} tokens, {}", spent_tokens(&entry.spend), cost(&entry.spend)),
    ];
    let mut notes: Vec<Note> = lines.map(|line| Note::new(Tone::Dim, line)).into();
    // A record of another version says what it can.
    let record: Value = serde_json::from_str(&entry.record).unwrap_or_default();
    notes.extend(of_record(&record));
    notes
}

fn of_record(record: &Value) -> Vec<Note> {
    let word = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(text::line);
    let mut notes = Vec::new();
    notes.extend(word(record, "reason").map(|why| Note::new(Tone::Bad, why)));
    let summary = record.get("result").and_then(|result| word(result, "summary"));
    notes.extend(summary.map(|summary| Note::new(Tone::Good, summary)));
    let steps = record.get("subtasks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for step in steps.iter().take(STEPS) {
        let status = word(step, "status").unwrap_or_else(|| UNKNOWN.into());
        let title = word(step, "title").or_else(|| word(step, "subtaskId")).unwrap_or_default();
        let why = word(step, "reason").map(|why| format!(": {why}")).unwrap_or_default();
        notes.push(Note::new(Tone::Plain, format!("{status}  {title}{why}")));
    }
    if let Some(more) = steps.len().checked_sub(STEPS).filter(|more| *more > 0) {
        notes.push(Note::new(Tone::Dim, format!("and {more} more steps: the export has them all")));
    }
    notes
}
