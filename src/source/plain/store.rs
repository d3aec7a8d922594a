//! The delegation store's records: those of the delegation protocol, ours, and what others make of them.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{Reading, crc_of};
use crate::model::event::payload::Progress;
use crate::model::fact::{Fact, NodeFact, Scope, StatusReport, UsageReport};
use crate::model::handoff::Outcome;
use crate::model::key::{NodeKey, STEP_MARK, SourceId};
use crate::model::node::NodeKind;
use crate::model::record::{Record, restore};
use crate::model::usage::Usd;
use crate::model::words::Field;
use crate::source::loose::{Loose, text};
use crate::source::told::Entry;

/// The fields that have a place of their own; all others are kept beside the hand-off.
const KNOWN: &[&str] = &[
    "id",
    "delegationId",
    "title",
    "status",
    "reason",
    "fromAgent",
    "toAgent",
    "taskId",
    "context",
    "expectedOutput",
    "category",
    "allowedTools",
    "allowedActions",
    "maxDepth",
    "pattern",
    "agent",
    "agentId",
    "provider",
    "model",
    "createdAt",
    "acceptedAt",
    "startedAt",
    "completedAt",
    "expiresAt",
    "deadline",
    "result",
    "subtasks",
    "progress",
    "lastAction",
    "parentDelegationId",
    "parentSubtaskId",
    "error",
    "path",
    "usage",
    "cost",
    "kind",
    "keys",
    "since",
    "timeline",
    "attempts",
    "decision",
    "budget",
];

/// Of these a delegation record has at least one; an object without any is something else.
const TELLING: &[&str] = &["status", "taskId", "fromAgent", "toAgent", "delegationId", "subtasks", "context"];

/// Returns every record with what it tells, and which delegation each task has.
pub(super) fn entries(value: &Value, source: SourceId, tasks: &mut HashMap<String, NodeKey>) -> Reading {
    let mut found = Reading::default();
    let Some(rows) = rows(value) else {
        found.refused = Some("it is no delegation store: it has no `delegations`".into());
        return found;
    };
    tasks.clear();
    let (mut nameless, mut odd, mut twice) = (0, 0, 0);
    let mut seen: HashMap<NodeKey, usize> = HashMap::new();
    for (name, value) in rows {
        let Some(row) = value.as_object().map(Loose) else {
            odd += 1;
            continue;
        };
        let Some(id) = row.text(&["delegationId", "id"]).or_else(|| name.map(str::to_owned)) else {
            nameless += 1;
            continue;
        };
        let entry = entry(value, row, &id, source, &mut found.is_ours);
        if let Some(task) = row.text(&["taskId"]) {
            tasks.insert(task, entry.key.clone());
        }
        // Of two records with one id the later one counts, and counts alone.
        match seen.insert(entry.key.clone(), found.entries.len()) {
            None => found.entries.push(entry),
            Some(before) => {
                twice += 1;
                seen.insert(entry.key.clone(), before);
                if let Some(place) = found.entries.get_mut(before) {
                    *place = entry;
                }
            }
        }
    }
    found.trouble = trouble([
        (nameless, "without an id"),
        (odd, "that are no objects"),
        (twice, "with an id that another has too"),
    ]);
    found
}

/// Says what could not be read; nothing where all could.
fn trouble(counts: [(usize, &str); 3]) -> Option<String> {
    let said = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| match count {
        1 => format!("1 record {what}"),
        many => format!("{many} records {what}"),
    });
    Some(said.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
}

fn entry(value: &Value, row: Loose<'_>, id: &str, source: SourceId, is_ours: &mut bool) -> Entry {
    let mut facts = Vec::new();
    let key = if let Some(record) = own_record(value) {
        *is_ours = true;
        restore::facts(record, source, &mut facts);
        NodeKey::Delegation(id.into())
    } else {
        delegation(row, id, source, &mut facts);
        NodeKey::Foreign(source, id.into())
    };
    Entry { key, crc: crc_of(value, ""), facts }
}

/// Returns a record that our own engine wrote: it names its keys.
fn own_record(value: &Value) -> Option<Record> {
    value.get("keys").filter(|keys| keys.is_array())?;
    serde_json::from_value(value.clone()).ok()
}

/// Returns the records: of a store's list, of a map by id, or of a bare list; `None` if it is no store.
fn rows(value: &Value) -> Option<Vec<(Option<&str>, &Value)>> {
    let is_record = |row: &Value| TELLING.iter().any(|field| row.get(field).is_some());
    let (rows, is_named) = match value.get("delegations") {
        Some(rows) => (rows, true),
        None => (value, false),
    };
    if let Some(rows) = rows.as_array() {
        let fits = is_named || rows.is_empty() || rows.iter().any(is_record);
        return fits.then(|| rows.iter().map(|row| (None, row)).collect());
    }
    let rows = rows.as_object()?;
    // Without the name, only what looks like records: any other file is an object of objects too.
    let fits = is_named || (!rows.is_empty() && rows.values().all(is_record));
    fits.then(|| rows.iter().map(|(name, row)| (Some(name.as_str()), row)).collect())
}

/// Names a step of a foreign delegation, so that no delegation can have the same name.
pub(super) fn step_name(delegation: &str, step: &str) -> String {
    format!("{delegation}{STEP_MARK}{step}")
}

fn delegation(row: Loose<'_>, id: &str, source: SourceId, out: &mut Vec<Fact>) {
    let key = NodeKey::Foreign(source, id.into());
    let mut record = record(row, key.clone(), NodeKind::Delegation);
    let extra: Map<String, Value> = row
        .0
        .iter()
        .filter(|(name, _)| !KNOWN.contains(&name.as_str()))
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect();
    record.handoff_extra = Some(extra).filter(|extra| !extra.is_empty());
    if let Some(above) = row.text(&["parentDelegationId"]) {
        let above = match row.text(&["parentSubtaskId"]) {
            Some(step) => step_name(&above, &step),
            None => above,
        };
        record.parent = Some(NodeKey::Foreign(source, above.into()));
    }
    let status = status(row, Field::Delegation);
    restore::facts(record, source, out);
    tell_status(status, &key, source, out);
    tell_usage(row, &key, source, out);
    for (nth, step) in (1..).zip(row.objects(&["subtasks"])) {
        let step_id = step.text(&["subtaskId", "id"]).unwrap_or_else(|| nth.to_string());
        let step_key = NodeKey::Foreign(source, step_name(id, &step_id).into());
        let mut record = self::record(step, step_key.clone(), NodeKind::Subtask);
        record.parent = Some(key.clone());
        record.index.get_or_insert(nth);
        restore::facts(record, source, out);
        tell_status(self::status(step, Field::Task), &step_key, source, out);
        tell_usage(step, &step_key, source, out);
    }
}

/// Reads what a delegation and a step have in common.
fn record(row: Loose<'_>, key: NodeKey, kind: NodeKind) -> Record {
    let agent = row.text(&["agent", "agentId"]);
    let model = row.text(&["model"]);
    Record {
        keys: vec![key],
        kind: Some(kind),
        title: row.text(&["title", "description"]).map(Into::into),
        index: row.number(&["index", "subtaskIndex"]).and_then(|index| u32::try_from(index).ok()),
        task_id: row.text(&["taskId"]).map(Into::into),
        pattern: row.text(&["pattern"]).map(Into::into),
        agent: agent.map(Into::into),
        provider: row.text(&["provider"]).map(Into::into),
        model: model.map(|name| crate::model::node::Models {
            effective: Some(name.into()),
            ..crate::model::node::Models::default()
        }),
        created_at: row.stamp(&["createdAt"]),
        accepted_at: row.stamp(&["acceptedAt"]),
        started_at: row.stamp(&["startedAt"]),
        completed_at: row.stamp(&["completedAt", "endedAt"]),
        expires_at: row.stamp(&["expiresAt"]),
        deadline: row.stamp(&["deadline"]),
        progress: row.object(&["progress"]).map(progress),
        last_action: row.text(&["lastAction"]).map(Into::into),
        from_agent: row.text(&["fromAgent"]),
        to_agent: row.text(&["toAgent"]),
        context: row.text(&["context"]),
        expected_output: row.text(&["expectedOutput"]),
        category: row.text(&["category"]),
        allowed_tools: row.texts(&["allowedTools"]),
        allowed_actions: row.texts(&["allowedActions"]),
        max_depth: row.number(&["maxDepth"]).and_then(|depth| u32::try_from(depth).ok()),
        result: row.any(&["result"]).map(|result| Box::new(outcome(result))),
        path: row.texts(&["path"]).unwrap_or_default(),
        dependencies: row.texts(&["dependencies"]).unwrap_or_default().into_iter().map(Into::into).collect(),
        ..Record::default()
    }
}

fn progress(row: Loose<'_>) -> Progress {
    Progress {
        current: row.number(&["current", "completed"]),
        total: row.number(&["total"]),
        percent: row.number(&["percent", "percentage"]).and_then(|percent| u8::try_from(percent).ok()),
    }
}

/// A result of another shape than ours is kept whole.
fn outcome(result: &Value) -> Outcome {
    if let Some(summary) = text(result).filter(|_| !result.is_object()) {
        return Outcome { summary: Some(summary), ..Outcome::default() };
    }
    serde_json::from_value(result.clone()).unwrap_or_else(|_| Outcome {
        extra: result.as_object().cloned().unwrap_or_default(),
        ..Outcome::default()
    })
}

fn status(row: Loose<'_>, field: Field) -> Option<StatusReport> {
    let word = row.text(&["status"])?;
    let why = row.text(&["reason", "error"]);
    Some(StatusReport { why, ..StatusReport::of(field, word) })
}

/// The word without a moment: a file that was set back in time is still what counts now.
fn tell_status(report: Option<StatusReport>, key: &NodeKey, source: SourceId, out: &mut Vec<Fact>) {
    if let Some(report) = report {
        out.push(Fact::node(source, None, key.clone(), NodeFact::Status(Box::new(report))));
    }
}

/// Tokens of a record: a list of messages, or one total. A bare `tokensUsed` does not say input or output,
/// so it is no count of ours: it stays with the fields that are shown as they are.
fn tell_usage(row: Loose<'_>, key: &NodeKey, source: SourceId, out: &mut Vec<Fact>) {
    let mut tell = |usage| out.push(Fact::node(source, None, key.clone(), NodeFact::Used(Box::new(usage))));
    let cost = row.decimal(&["cost", "estimatedCost"]).map(Usd::from_dollars);
    for message in row.objects(&["usage"]) {
        tell(UsageReport {
            id: message.text(&["id"]).map(Into::into),
            scope: Scope::Message,
            model: message.text(&["model"]).map(Into::into),
            tokens: message
                .any(&["tokens"])
                .and_then(|tokens| serde_json::from_value(tokens.clone()).ok())
                .unwrap_or_default(),
            cost: message.decimal(&["cost"]).map(Usd::from_dollars),
            ..UsageReport::default()
        });
    }
    let total =
        row.object(&["usage"]).and_then(|usage| serde_json::from_value(Value::Object(usage.0.clone())).ok());
    if let Some(tokens) = total {
        let id = Some(format!("{key}@total").into());
        tell(UsageReport { id, scope: Scope::Total, tokens, cost, ..UsageReport::default() });
    }
}
