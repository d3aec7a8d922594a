//! Writing what is selected, or the history, to a file: as JSON, CSV or Markdown.

use super::Ctx;
use crate::model::NodeIx;
use crate::model::time::Stamp;
use crate::monitor::app::dialog::ask::HOW;
use crate::monitor::app::dialog::{Choice, Exported, Field, Form, Format, Note, Purpose, Tone};
use crate::monitor::app::effect::{Effect, PastEntry};
use crate::monitor::app::ui::{Layer, Ui, View};
use crate::report::table::{self, Table};
use crate::report::{csv, json, markdown};

/// Asks in which form.
pub fn ask(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let what = if ui.view == View::History {
        Exported::Past
    } else {
        let aimed = ui.aimed(cx.model);
        Exported::Nodes(if aimed.is_empty() { cx.model.roots().collect() } else { outermost(cx, &aimed) })
    };
    let title = match &what {
        Exported::Past => format!("Export the history: {} entries", ui.past.len()),
        Exported::Nodes(nodes) => match nodes.as_slice() {
            [] => {
                ui.say("There is nothing to export.", true, cx.now);
                return Vec::new();
            }
            [one] => format!("Export {}", id(cx, *one)),
            several => format!("Export {} with all below them", several.len()),
        },
    };
    let forms = vec![
        Choice::new("json", "JSON", "everything that is known, for programs"),
        Choice::new("csv", "CSV", "one row each, for spreadsheets"),
        Choice::new("markdown", "Markdown", "one row each, for issues and notes"),
    ];
    let note = Note::new(Tone::Dim, "It is written to the folder that you started from.");
    let form = Form {
        notes: vec![note],
        fields: vec![Field::choice(HOW, forms)],
        ..Form::new(Purpose::Export(what), title, "write it")
    };
    ui.layers.push(Layer::Form(Box::new(form)));
    Vec::new()
}

/// Leaves out what is below another one: it comes with that.
fn outermost(cx: Ctx<'_>, nodes: &[NodeIx]) -> Vec<NodeIx> {
    let is_below = |ix: &NodeIx| cx.model.ancestors(*ix).any(|above| nodes.contains(&above));
    nodes.iter().copied().filter(|ix| !is_below(ix)).collect()
}

fn id(cx: Ctx<'_>, ix: NodeIx) -> String {
    cx.model.get(ix).and_then(|node| node.keys.first()).map(ToString::to_string).unwrap_or_default()
}

/// Makes the file.
pub fn write(ui: &mut Ui, cx: Ctx<'_>, what: &Exported, format: Format) -> Vec<Effect> {
    let name = match what {
        Exported::Past => "quarterdeck-history".into(),
        Exported::Nodes(nodes) => match nodes.as_slice() {
            [one] => safe(&id(cx, *one)),
            _ => "quarterdeck-tree".into(),
        },
    };
    let made = match (what, format) {
        (Exported::Past, Format::Json) => {
            let records: Vec<&str> = ui.past.shown().map(|entry| &*entry.record).collect();
            Ok(format!("[{}]\n", records.join(",\n")))
        }
        (Exported::Nodes(nodes), Format::Json) => {
            serde_json::to_string_pretty(&json::tree(cx.model, nodes)).map(|text| format!("{text}\n"))
        }
        (_, Format::Csv) => Ok(csv::table(&flat(ui, cx, what))),
        (_, Format::Markdown) => Ok(markdown::table(&flat(ui, cx, what))),
    };
    let end = match format {
        Format::Json => "json",
        Format::Csv => "csv",
        Format::Markdown => "md",
    };
    match made {
        Ok(text) => vec![Effect::Export { name: format!("{name}.{end}"), text }],
        Err(error) => {
            ui.say(format!("It cannot be written: {error}"), true, cx.now);
            Vec::new()
        }
    }
}

/// Returns a name that is a file name everywhere.
fn safe(id: &str) -> String {
    let safe: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).take(80).collect();
    let safe = safe.trim_matches('-').to_owned();
    if safe.is_empty() { "quarterdeck-export".into() } else { safe }
}

fn flat(ui: &Ui, cx: Ctx<'_>, what: &Exported) -> Table {
    match what {
        Exported::Nodes(nodes) => table::nodes(cx.model, nodes),
        Exported::Past => Table {
            columns: vec![
                "id",
                "title",
                "status",
                "pattern",
                "agent",
                "started",
                "ended",
                "seconds",
                "steps",
                "tokens",
                "cost_usd",
                "cost_basis",
            ],
            rows: ui.past.shown().map(past_row).collect(),
        },
    }
}

fn past_row(entry: &PastEntry) -> Vec<String> {
    let clean = |text: &str| crate::model::text::line(text).into_string();
    let moment = |at: Option<Stamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let took = entry.started.zip(entry.ended).map(|(from, to)| to.since(from).as_secs());
    let mut row = vec![
        clean(&entry.id),
        clean(&entry.title),
        clean(&entry.status),
        clean(entry.pattern.as_deref().unwrap_or_default()),
        clean(entry.agent.as_deref().unwrap_or_default()),
        moment(entry.started),
        moment(entry.ended),
        took.map(|seconds| seconds.to_string()).unwrap_or_default(),
        entry.steps.to_string(),
    ];
    row.extend(table::spent(&entry.spend));
    row
}
