//! idumb, a plugin of OpenCode: delegation records, the graph of task nodes, and the older task store.
//!
//! No code of its own accepts or completes a record, so a record says "pending" until it is recalled. What became of
//! it stands in the task node that it names: the two are joined here, and the record's own word is kept beside.

mod delegations;
mod graph;

use super::pages::Pages;
use super::sheet::Sheet;
use super::shelf::Wanted::Document;
use super::tool::Tool;
use crate::model::handoff::Outcome;
use crate::model::key::SourceKind;
use crate::source::loose::Loose;

/// A `.idumb` folder. Where a file has an older name too, the newer one counts.
pub(super) static TOOL: Tool = Tool {
    kind: SourceKind::Idumb,
    wanted: &[
        Document("brain/delegations.json"),
        Document("brain/graph.json"),
        Document("brain/task-graph.json"),
        Document("brain/tasks.json"),
        Document("brain/state.json"),
        Document("brain/hook-state.json"),
    ],
    past: &[],
    read,
};

fn read(pages: &Pages, sheet: &mut Sheet) {
    let page = |names: [&str; 2]| names.iter().find_map(|name| pages.object(&format!("brain/{name}.json")));
    let graph = page(["graph", "task-graph"]);
    let tasks = graph::gather(graph, pages.object("brain/tasks.json"));
    graph::tell(graph, pages.object("brain/tasks.json"), sheet);
    if let Some(store) = pages.object("brain/delegations.json") {
        delegations::tell(store, &tasks, sheet);
    }
    if let Some(state) = page(["state", "hook-state"]) {
        graph::tell_sessions(state, &tasks, sheet);
    }
}

/// Returns the evidence that came back.
fn outcome(result: Loose<'_>) -> Outcome {
    let known = ["evidence", "filesModified", "testsRun"];
    let extra = result.0.iter().filter(|(name, _)| !known.contains(&name.as_str()));
    Outcome {
        evidence: result.text(&["evidence"]),
        files_modified: result.texts(&["filesModified"]).unwrap_or_default(),
        tests_run: result.text(&["testsRun"]).filter(|text| !text.is_empty()),
        extra: extra.map(|(name, value)| (name.clone(), value.clone())).collect(),
        ..Outcome::default()
    }
}
