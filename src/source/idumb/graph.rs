//! Work plans with their task nodes, epics with their tasks, and which OpenCode session works on which.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::outcome;
use crate::model::fact::{Clock, Description, NodeFact};
use crate::model::key::NodeKey;
use crate::model::node::NodeKind;
use crate::model::time::Stamp;
use crate::model::words::Field;
use crate::source::loose::Loose;
use crate::source::sheet::{Leaf, Sheet};

/// The graph warns of an active node after this long without a checkpoint.
pub(super) const STALE_NODE: Duration = Duration::from_mins(30);
/// The older store has more patience.
const STALE_TASK: Duration = Duration::from_hours(4);

/// A task node or a task, with what its plan says.
#[derive(Debug)]
pub(super) struct Task<'a> {
    pub id: String,
    pub row: Loose<'a>,
    pub category: Option<String>,
}

pub(super) type Tasks<'a> = BTreeMap<String, Task<'a>>;

impl Task<'_> {
    /// Returns when it last gave a sign: a change, or a checkpoint.
    pub fn last_sign(&self) -> Option<Stamp> {
        last_sign(self.row)
    }
}

fn last_sign(row: Loose<'_>) -> Option<Stamp> {
    let checkpoints = row.objects(&["checkpoints"]).filter_map(|checkpoint| checkpoint.stamp(&["timestamp"]));
    checkpoints.max().max(row.stamp(&["modifiedAt"])).max(row.stamp(&["createdAt"]))
}

/// Gathers every task by its id.
pub(super) fn gather<'a>(graph: Option<Loose<'a>>, store: Option<Loose<'a>>) -> Tasks<'a> {
    let mut tasks = Tasks::new();
    let plans = graph.into_iter().flat_map(|graph| graph.objects(&["workPlans"]));
    let epics = store.into_iter().flat_map(|store| store.objects(&["epics"]));
    for plan in plans.filter(|plan| !is_purged(*plan)).chain(epics) {
        let category = plan.text(&["category"]);
        for row in plan.objects(&["tasks"]).chain(plan.objects(&["planAhead"])) {
            if let Some(id) = row.text(&["id"]) {
                tasks.insert(id.clone(), Task { id, row, category: category.clone() });
            }
        }
    }
    tasks
}

/// A plan that was abandoned two days ago is kept on disk, and hidden.
fn is_purged(plan: Loose<'_>) -> bool {
    plan.any(&["purgedAt"]).is_some()
}

/// Tells plans and epics with what is below them.
pub(super) fn tell(graph: Option<Loose<'_>>, store: Option<Loose<'_>>, sheet: &mut Sheet) {
    for plan in graph.into_iter().flat_map(|graph| graph.objects(&["workPlans"])) {
        if !is_purged(plan) {
            tell_plan(plan, STALE_NODE, sheet);
        }
    }
    for epic in store.into_iter().flat_map(|store| store.objects(&["epics"])) {
        tell_plan(epic, STALE_TASK, sheet);
    }
}

fn tell_plan(plan: Loose<'_>, stale: Duration, sheet: &mut Sheet) {
    let Some(id) = plan.text(&["id"]) else { return sheet.odd("plan", "without an id") };
    let key = sheet.key(&id);
    let leaf = sheet.node(key.clone(), NodeKind::Delegation);
    leaf.described(Description {
        title: plan.text(&["name"]),
        agent: plan.text(&["ownedBy"]).map(Into::into),
        pattern: plan.text(&["category"]).map(Into::into),
        ..Description::default()
    });
    tell_state(leaf, plan, Field::Delegation, stale);
    let tasks = plan.objects(&["tasks"]).chain(plan.objects(&["planAhead"]));
    for (nth, row) in (1..).zip(tasks) {
        let Some(id) = row.text(&["id"]) else {
            sheet.odd("task", "without an id");
            continue;
        };
        let task = sheet.key(&id);
        let leaf = sheet.node(task.clone(), NodeKind::Subtask);
        leaf.under(key.clone());
        tell_task(leaf, row, nth, stale);
        for (nth, row) in (1..).zip(row.objects(&["subtasks"])) {
            let Some(id) = row.text(&["id"]) else {
                sheet.odd("subtask", "without an id");
                continue;
            };
            let step = sheet.key(&id);
            let leaf = sheet.node(step, NodeKind::Subtask);
            leaf.under(task.clone());
            tell_task(leaf, row, nth, stale);
        }
    }
}

fn tell_task(leaf: &mut Leaf, row: Loose<'_>, nth: u32, stale: Duration) {
    let on = row.texts(&["dependsOn"]).filter(|on| !on.is_empty());
    leaf.described(Description {
        title: row.text(&["name", "title"]),
        agent: row.text(&["assignedTo", "assignee"]).map(Into::into),
        index: Some(nth),
        depends_on: on.map(|on| on.into_iter().map(Into::into).collect()),
        ..Description::default()
    });
    tell_state(leaf, row, Field::Task, stale);
    for checkpoint in row.objects(&["checkpoints"]) {
        let note = checkpoint.text(&["summary"]);
        let name = checkpoint.text(&["tool"]).unwrap_or_else(|| "checkpoint".into());
        leaf.happened(0, checkpoint.stamp(&["timestamp"]), &name, note.clone());
        leaf.sign(checkpoint.stamp(&["timestamp"]), note);
    }
    if let Some(result) = row.object(&["result"]) {
        leaf.say(NodeFact::Returned(Box::new(outcome(result))));
    }
}

fn tell_state(leaf: &mut Leaf, row: Loose<'_>, field: Field, stale: Duration) {
    let gate = row.object(&["temporalGate"]).and_then(|gate| gate.text(&["reason"]));
    if let Some(word) = row.text(&["status"]) {
        leaf.status(field, word, gate);
    }
    leaf.clock(Clock::Created, row.stamp(&["createdAt"]));
    leaf.clock(Clock::Started, row.stamp(&["startedAt"]));
    leaf.clock(Clock::Ended, row.stamp(&["completedAt"]));
    leaf.may_sleep(stale);
    leaf.sign(last_sign(row), None);
}

/// Tells which session works on a task; of the others nothing is known but that they were.
pub(super) fn tell_sessions(state: Loose<'_>, tasks: &Tasks<'_>, sheet: &mut Sheet) {
    for (id, session) in state.object(&["sessions"]).into_iter().flat_map(|sessions| sessions.0.iter()) {
        let Some(session) = session.as_object().map(Loose) else { continue };
        let Some(task) = session.object(&["activeTask"]).and_then(|task| task.text(&["id"])) else {
            continue;
        };
        if !tasks.contains_key(&task) {
            continue;
        }
        let above = sheet.key(&task);
        let leaf =
            sheet.node(NodeKey::CliSession(Arc::from("opencode"), id.as_str().into()), NodeKind::Session);
        leaf.under(above);
        let agent = session.text(&["capturedAgent"]).map(Into::into);
        leaf.described(Description { agent, ..Description::default() });
    }
}
