//! The task file of the multi-agent template: `tasks.json`, a backlog with tasks that name their parents.
//!
//! It is written by hand and by agents as much as by its own code: seven spellings of a status, a decomposition that
//! is an object, a word or nothing, a progress that is a number or an object.

use std::time::Duration;

use serde_json::{Map, Value};

use super::loose::{Loose, text};
use super::pages::Pages;
use super::sheet::{Leaf, Sheet};
use super::shelf::Wanted::Document;
use super::tool::Tool;
use crate::model::event::payload::Progress;
use crate::model::fact::{Clock, Description, NodeFact};
use crate::model::handoff::Handoff;
use crate::model::key::SourceKind;
use crate::model::node::NodeKind;
use crate::model::words::Field;

/// The folder `.claude/dev-docs`.
pub(super) static TOOL: Tool =
    Tool { kind: SourceKind::MultiAgentTemplate, wanted: &[Document("tasks.json")], past: &[], read };

/// The tool gives a whole delegation an hour.
const STALE: Duration = Duration::from_hours(1);
/// The order in which the backlog is worked off.
const QUEUES: &[&str] = &["now", "next", "later", "someday", "completed"];
/// The group of all tasks; no task has a name with a slash.
const BACKLOG: &str = "backlog/";
/// Kept beside the hand-off as they are.
const KEPT: &[&str] = &["priority", "phase", "tags", "estimate", "delegationConfig", "decomposition"];

fn read(pages: &Pages, sheet: &mut Sheet) {
    let Some(file) = pages.object("tasks.json") else { return };
    let rows = rows(file);
    if rows.is_empty() && file.any(&["backlog"]).is_none() && file.any(&["tasks"]).is_none() {
        return sheet.refuse("it is no task file: it has neither `tasks` nor a `backlog`");
    }
    let project = file.object(&["project"]).and_then(|project| project.text(&["name"]));
    let backlog = sheet.key(BACKLOG);
    let leaf = sheet.node(backlog.clone(), NodeKind::Group);
    let title = project.map_or_else(|| "tasks.json".to_owned(), |name| format!("{name} tasks"));
    leaf.described(Description { title: Some(title), ..Description::default() });
    let order = order(file);
    for (name, row) in &rows {
        let Some(id) = row.text(&["id"]).or_else(|| name.map(str::to_owned)) else {
            sheet.odd("task", "without an id");
            continue;
        };
        let parent = row.text(&["parentTaskId"]).or_else(|| parent_of(&id, &rows));
        let above = parent.map_or_else(|| backlog.clone(), |parent| sheet.key(&parent));
        let place = order.iter().position(|queued| *queued == id);
        let key = sheet.key(&id);
        let leaf = sheet.node(key, NodeKind::Subtask);
        leaf.under(above);
        tell_task(leaf, *row, &id, place.and_then(|place| u32::try_from(place).ok()));
    }
}

/// Returns the tasks: a map by id, or a list.
fn rows(file: Loose<'_>) -> Vec<(Option<&str>, Loose<'_>)> {
    match file.any(&["tasks"]) {
        Some(Value::Object(tasks)) => tasks
            .iter()
            .filter_map(|(id, task)| Some((Some(id.as_str()), Loose(task.as_object()?))))
            .collect(),
        Some(Value::Array(_)) => file.objects(&["tasks"]).map(|task| (None, task)).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => Vec::new(),
    }
}

/// Some tasks are named only by the one above them.
fn parent_of(id: &str, rows: &[(Option<&str>, Loose<'_>)]) -> Option<String> {
    let is_parent =
        |row: &Loose<'_>| row.texts(&["childTaskIds"]).is_some_and(|below| below.iter().any(|b| b == id));
    let (name, row) = rows.iter().find(|(_, row)| is_parent(row))?;
    row.text(&["id"]).or_else(|| name.map(str::to_owned)).filter(|parent| parent != id)
}

fn order(file: Loose<'_>) -> Vec<String> {
    let Some(backlog) = file.object(&["backlog"]) else { return Vec::new() };
    let queue = |name: &&str| match backlog.any(&[name]) {
        Some(Value::Object(queue)) => Loose(queue).texts(&["tasks"]),
        Some(Value::Array(ids)) => Some(ids.iter().filter_map(text).collect()),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => None,
    };
    QUEUES.iter().filter_map(queue).flatten().collect()
}

fn tell_task(leaf: &mut Leaf, row: Loose<'_>, id: &str, place: Option<u32>) {
    let given = row.object(&["delegatedTo"]);
    let agent =
        given.and_then(|given| given.text(&["agentId"])).or_else(|| row.text(&["delegatedTo", "assignee"]));
    let plan = row.object(&["decomposition"]);
    let pattern = plan.and_then(|plan| plan.text(&["strategy"])).or_else(|| row.text(&["decomposition"]));
    let on =
        row.object(&["depends"]).and_then(|depends| depends.texts(&["requires"])).filter(|on| !on.is_empty());
    let count = |number: Option<u64>| number.and_then(|number| u32::try_from(number).ok());
    leaf.described(Description {
        title: row.text(&["title"]).or_else(|| Some(id.to_owned())),
        agent: agent.clone().map(Into::into),
        pattern: pattern.map(Into::into),
        index: place,
        task: Some(id.into()),
        depth: count(row.number(&["delegationDepth"])),
        depends_on: on.map(|on| on.into_iter().map(Into::into).collect()),
        expected_steps: count(plan.and_then(|plan| plan.number(&["estimatedSubtasks"]))),
        estimate_ms: row.text(&["estimate"]).and_then(|text| estimate(&text)),
        ..Description::default()
    });
    let extra: Map<String, Value> =
        KEPT.iter().filter_map(|name| Some(((*name).to_owned(), row.any(&[name])?.clone()))).collect();
    leaf.say(NodeFact::HandedOff(Box::new(Handoff {
        to_agent: agent,
        task_id: Some(id.into()),
        context: row.text(&["description"]),
        expected_output: row
            .texts(&["acceptance"])
            .map(|wanted| wanted.join("\n"))
            .filter(|text| !text.is_empty()),
        extra,
        ..Handoff::default()
    })));
    if let Some(word) = row.text(&["status"]) {
        leaf.status(Field::Task, word, row.text(&["blockedReason", "blockedBy"]));
    }
    if let Some(progress) = row.any(&["progress"]).and_then(progress) {
        leaf.say(NodeFact::Progressed(progress));
    }
    leaf.clock(Clock::Created, row.stamp(&["created", "createdAt"]));
    leaf.clock(Clock::Started, row.stamp(&["started", "startedAt"]));
    leaf.clock(Clock::Ended, row.stamp(&["completed", "completedAt"]));
    leaf.may_sleep(STALE);
    let signs = ["updated", "updatedAt", "started", "startedAt", "created"];
    leaf.sign(signs.iter().filter_map(|name| row.stamp(&[name])).max(), None);
}

/// Reads a progress: a percentage, or an object with counts. What is out of range is not told.
fn progress(value: &Value) -> Option<Progress> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0 to 100")]
    let percent = |number: f64| (0.0..=100.0).contains(&number).then_some(number.floor() as u8);
    if let Some(number) = value.as_f64() {
        return Some(Progress { current: None, total: None, percent: Some(percent(number)?) });
    }
    let row = value.as_object().map(Loose)?;
    let current = row.number(&["current", "completed", "done", "completedSubtasks"]);
    let total = row.number(&["total", "estimatedSubtasks"]);
    let told = row.decimal(&["percent", "percentage", "percentComplete", "overall"]).and_then(percent);
    let fits = !matches!((current, total), (Some(current), Some(total)) if current > total);
    let is_told = told.is_some() || total.is_some();
    (fits && is_told).then_some(Progress { current, total, percent: told })
}

/// Reads an estimate: `4h`, `30m`, `2d` of eight hours, or a bare number of hours.
fn estimate(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let hours = match text.strip_prefix(digits)?.trim().chars().next() {
        None | Some('h') => 1.0,
        Some('d') => 8.0,
        Some('m') => 1.0 / 60.0,
        Some(_) => return None,
    };
    let number: f64 = digits.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and `as` saturates"
    )]
    Some((number * hours * 3_600_000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("4h", Some(14_400_000))]
    #[case("30m", Some(1_800_000))]
    #[case("2d", Some(57_600_000))]
    #[case("1.5 hours", Some(5_400_000))]
    #[case("3", Some(10_800_000))]
    #[case("3-5h", None)]
    #[case("soon", None)]
    fn an_estimate_is_read_in_the_forms_that_are_written(#[case] text: &str, #[case] millis: Option<u64>) {
        assert_eq!(estimate(text), millis);
    }

    #[rstest]
    #[case("40", Some((None, None, Some(40))))]
    #[case("140", None)]
    #[case(r#"{"completed":2,"total":5}"#, Some((Some(2), Some(5), None)))]
    #[case(r#"{"completed":7,"total":5}"#, None)]
    #[case(r#"{"percentage":33.9}"#, Some((None, None, Some(33))))]
    #[case(r#"{"note":"x"}"#, None)]
    fn a_progress_is_a_number_or_an_object(
        #[case] text: &str,
        #[case] read: Option<(Option<u64>, Option<u64>, Option<u8>)>,
    ) {
        let found = progress(&serde_json::from_str(text).unwrap());
        assert_eq!(found.map(|found| (found.current, found.total, found.percent)), read);
    }
}
