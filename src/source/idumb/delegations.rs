//! The delegation records, all fourteen fields, each with what became of its task.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::graph::{STALE_NODE, Task, Tasks};
use super::outcome;
use crate::model::fact::{Clock, Description, NodeFact};
use crate::model::handoff::Handoff;
use crate::model::node::NodeKind;
use crate::model::time::Stamp;
use crate::model::words::Field;
use crate::source::loose::Loose;
use crate::source::sheet::Sheet;

/// A task can be handed on so often: the tool counts the records of a task, not the length of a chain.
const DEEPEST: u32 = 3;
/// The fields that have a place of their own.
const KNOWN: &[&str] = &[
    "id",
    "fromAgent",
    "toAgent",
    "taskId",
    "context",
    "expectedOutput",
    "allowedTools",
    "allowedActions",
    "maxDepth",
    "status",
    "createdAt",
    "completedAt",
    "expiresAt",
    "result",
];

/// Tells every record.
pub(super) fn tell(store: Loose<'_>, tasks: &Tasks<'_>, sheet: &mut Sheet) {
    let rows: Vec<Loose<'_>> = store.objects(&["delegations"]).collect();
    let mut newest: HashMap<String, (Option<Stamp>, usize)> = HashMap::new();
    for (nth, row) in rows.iter().enumerate() {
        if let (Some(task), true) = (row.text(&["taskId"]), is_open(*row)) {
            let this = (row.stamp(&["createdAt"]), nth);
            newest.entry(task).and_modify(|known| *known = (*known).max(this)).or_insert(this);
        }
    }
    for (nth, row) in rows.into_iter().enumerate() {
        let Some(id) = row.text(&["id"]) else {
            sheet.odd("delegation", "without an id");
            continue;
        };
        let task_id = row.text(&["taskId"]);
        let task = task_id.as_ref().and_then(|task| tasks.get(task));
        let is_newest =
            task_id.is_some_and(|task| newest.get(&task).is_some_and(|(_, newest)| *newest == nth));
        // What a task became is what its last open record became.
        let joined = task.filter(|task| is_newest && is_for(row, task));
        tell_one(row, &id, task, joined, sheet);
    }
}

fn is_open(row: Loose<'_>) -> bool {
    matches!(row.text(&["status"]).as_deref(), Some("pending" | "accepted"))
}

/// A task that was given to somebody else meanwhile says nothing of this record.
fn is_for(row: Loose<'_>, task: &Task<'_>) -> bool {
    let assigned = task.row.text(&["assignedTo", "assignee"]);
    assigned.is_none_or(|agent| row.text(&["toAgent"]).is_none_or(|to| to == agent))
}

fn tell_one(row: Loose<'_>, id: &str, task: Option<&Task<'_>>, joined: Option<&Task<'_>>, sheet: &mut Sheet) {
    let (key, above) = (sheet.key(id), task.map(|task| sheet.key(&task.id)));
    let leaf = sheet.node(key, NodeKind::Delegation);
    if let Some(above) = above {
        leaf.under(above);
    }
    let task_id = row.text(&["taskId"]);
    let remaining = row.number(&["maxDepth"]).and_then(|depth| u32::try_from(depth).ok());
    let title = row.text(&["context"]).or_else(|| task.and_then(|task| task.row.text(&["name"])));
    leaf.described(Description {
        title: title.or_else(|| task_id.clone()),
        agent: row.text(&["toAgent"]).map(Into::into),
        task: task_id.clone().map(Into::into),
        depth: remaining.map(|left| (DEEPEST + 1).saturating_sub(left).clamp(1, DEEPEST)),
        ..Description::default()
    });
    let word = row.text(&["status"]);
    let task_word = joined.and_then(|task| task.row.text(&["status"]));
    leaf.say(NodeFact::HandedOff(Box::new(Handoff {
        from_agent: row.text(&["fromAgent"]),
        to_agent: row.text(&["toAgent"]),
        task_id: task_id.map(Into::into),
        context: row.text(&["context"]),
        expected_output: row.text(&["expectedOutput"]),
        category: task.and_then(|task| task.category.clone()),
        allowed_tools: row.texts(&["allowedTools"]),
        allowed_actions: row.texts(&["allowedActions"]),
        max_depth: Some(DEEPEST),
        extra: extra(row, task, word.as_deref(), task_word.as_deref()),
        ..Handoff::default()
    })));
    match (&word, task_word.filter(|word| speaks(word))) {
        (Some(own), Some(task)) => {
            let why = format!("Its task is {task}; the record itself still says {own}.");
            leaf.status(Field::Task, task, Some(why));
        }
        (Some(own), None) => {
            leaf.status(Field::Delegation, own.clone(), None);
        }
        (None, _) => {}
    }
    leaf.clock(Clock::Created, row.stamp(&["createdAt"]));
    leaf.clock(Clock::AcceptBy, row.stamp(&["expiresAt"]));
    leaf.clock(Clock::Started, joined.and_then(|task| task.row.stamp(&["startedAt"])));
    let ended = || joined.and_then(|task| task.row.stamp(&["completedAt"]));
    leaf.clock(Clock::Ended, row.stamp(&["completedAt"]).or_else(ended));
    leaf.sign(joined.and_then(Task::last_sign).max(row.stamp(&["createdAt"])), None);
    let result = row.object(&["result"]).or_else(|| joined.and_then(|task| task.row.object(&["result"])));
    if let Some(result) = result {
        leaf.say(NodeFact::Returned(Box::new(outcome(result))));
    }
    leaf.may_sleep(STALE_NODE);
}

/// A task that waits says nothing of the record: nobody may have taken it up.
fn speaks(task: &str) -> bool {
    !matches!(task, "planned" | "blocked" | "deferred")
}

/// Returns what has no place of its own: unknown fields, the remaining depth, the record's own word where it was
/// overruled, and whether its category is routed to this agent.
fn extra(
    row: Loose<'_>,
    task: Option<&Task<'_>>,
    word: Option<&str>,
    task_word: Option<&str>,
) -> Map<String, Value> {
    let unknown = row.0.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str()));
    let mut extra: Map<String, Value> = unknown.map(|(name, value)| (name.clone(), value.clone())).collect();
    if let Some(left) = row.any(&["maxDepth"]) {
        extra.insert("remainingDepth".into(), left.clone());
    }
    if let (Some(word), Some(_)) = (word, task_word) {
        extra.insert("recordStatus".into(), word.into());
    }
    let to = row.text(&["toAgent"]);
    if let (Some(category), Some(to)) = (task.and_then(|task| task.category.as_deref()), to)
        && let Some(mismatch) = mismatch(category, &to)
    {
        extra.insert("routingMismatch".into(), mismatch.into());
    }
    extra
}

/// Returns in which way a category is not routed to an agent; the tool enforces it except for `ad-hoc`.
pub(super) fn mismatch(category: &str, to: &str) -> Option<String> {
    let (executor, investigator) = ("idumb-executor", "idumb-investigator");
    let routed: &[&str] = match category {
        "development" => &[executor],
        "research" | "spec-kit" => &[investigator],
        "governance" => &["idumb-supreme-coordinator"],
        "maintenance" | "ad-hoc" => &[executor, investigator],
        _ => return None,
    };
    if routed.contains(&to) {
        return None;
    }
    let advice = if category == "ad-hoc" { ", which is not enforced" } else { "" };
    Some(format!("{category} goes to {}, not to {to}{advice}", routed.join(" or ")))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("development", "idumb-executor", None)]
    #[case(
        "development",
        "idumb-investigator",
        Some("development goes to idumb-executor, not to idumb-investigator")
    )]
    #[case("maintenance", "idumb-investigator", None)]
    #[case(
        "ad-hoc",
        "x",
        Some("ad-hoc goes to idumb-executor or idumb-investigator, not to x, which is not enforced")
    )]
    #[case("poetry", "x", None)]
    fn a_category_that_is_not_routed_to_the_agent_is_said(
        #[case] category: &str,
        #[case] to: &str,
        #[case] said: Option<&str>,
    ) {
        assert_eq!(mismatch(category, to).as_deref(), said);
    }
}
