//! The projects of `ProofChecker`: those of `specs/state.json`, and what its agents wrote back beside them.
//!
//! Agents edit the file with their own tools, so its types drift and some versions are no JSON, or several documents
//! one after the other. A return file is there from the agent's first write until its command took it in.

use std::time::Duration;

use serde_json::Value;

use super::loose::{Loose, text};
use super::pages::Pages;
use super::sheet::{Leaf, Sheet};
use super::shelf::Wanted::Document;
use super::tool::Tool;
use crate::model::fact::{Clock, Description, NodeFact};
use crate::model::handoff::{Artifact, Handoff, Outcome, ReturnedError};
use crate::model::key::{NodeKey, STEP_MARK, SourceKind};
use crate::model::node::{Attempt, NodeKind};
use crate::model::words::Field;

/// A `specs` folder.
pub(super) static TOOL: Tool = Tool {
    kind: SourceKind::ProofChecker,
    wanted: &[
        Document("state.json"),
        Document("*/.return-meta.json"),
        Document("*/.meta/*-return-meta.json"),
        Document("*/.postflight-pending"),
    ],
    past: &[],
    read,
};

/// The most time that the tool gives any command; after that nobody works on it any more.
const STALE: Duration = Duration::from_hours(4);
/// Holds all projects; theirs are numbers.
const PROJECTS: &str = "specs";

fn read(pages: &Pages, sheet: &mut Sheet) {
    let Some(state) = pages.object("state.json") else {
        if !pages.is_empty() {
            sheet.refuse("it has no projects: `state.json` is missing or no object");
        }
        return;
    };
    if is_project(state) {
        return sheet.reject(
            "`state.json` holds a single project, or several one after the other, and not the list of them; \
             let the tool write it anew",
        );
    }
    let lists = ["active_projects", "completed_projects"];
    if lists.iter().chain(&["next_project_number"]).all(|name| state.any(&[name]).is_none()) {
        return sheet.refuse("`state.json` is something else: it has no projects");
    }
    let group = sheet.key(PROJECTS);
    let title = Some(PROJECTS.to_owned());
    sheet.node(group.clone(), NodeKind::Group).described(Description { title, ..Description::default() });
    for (list, word) in [("active_projects", None), ("completed_projects", Some("completed"))] {
        for row in state.objects(&[list]) {
            tell_project(row, word, &group, sheet);
        }
    }
    for folder in pages.folders("") {
        tell_folder(pages, folder, &group, sheet);
    }
}

fn is_project(state: Loose<'_>) -> bool {
    state.any(&["project_number"]).is_some() && state.any(&["active_projects"]).is_none()
}

fn tell_project(row: Loose<'_>, word: Option<&str>, group: &NodeKey, sheet: &mut Sheet) {
    let Some(number) = row.text(&["project_number", "project_name"]) else {
        return sheet.odd("project", "without a number");
    };
    let number = plain_number(&number);
    let key = sheet.key(&number);
    let leaf = sheet.node(key, NodeKind::Subtask);
    leaf.under(group.clone());
    let on = row.texts(&["dependencies"]).filter(|on| !on.is_empty());
    leaf.described(Description {
        title: Some(title(row, &number)),
        task: Some(number.as_str().into()),
        pattern: row.text(&["language"]).map(Into::into),
        index: number.parse().ok(),
        depends_on: on.map(|on| on.into_iter().map(Into::into).collect()),
        ..Description::default()
    });
    if let Some(context) = row.text(&["description"]) {
        let task_id = Some(number.as_str().into());
        let handoff = Handoff { task_id, context: Some(context), ..Handoff::default() };
        leaf.say(NodeFact::HandedOff(Box::new(handoff)));
    }
    if let Some(word) = row.text(&["status"]).or_else(|| word.map(str::to_owned)) {
        leaf.status(Field::Task, word, row.text(&["blocked_reason", "blocking_reason", "hold_reason"]));
    }
    leaf.clock(Clock::Created, row.stamp(&["created", "created_at"]));
    leaf.clock(Clock::Started, row.stamp(&["started", "started_at"]));
    leaf.clock(Clock::Ended, row.stamp(&["completed", "completed_at"]));
    let signs = ["last_updated", "updated", "started", "created"];
    leaf.sign(signs.iter().filter_map(|name| row.stamp(&[name])).max(), None);
    leaf.may_sleep(STALE);
    if let Some(summary) = row.text(&["completion_summary"]) {
        let artifacts = artifacts(row);
        leaf.say(NodeFact::Returned(Box::new(Outcome {
            summary: Some(summary),
            artifacts,
            ..Outcome::default()
        })));
    }
}

fn title(row: Loose<'_>, number: &str) -> String {
    let name = row.text(&["project_name"]).map(|name| name.replace('_', " "));
    match name {
        Some(name) if row.any(&["project_number"]).is_some() => format!("{number} {name}"),
        Some(name) => name,
        None => number.to_owned(),
    }
}

/// Project 28 is `028` in the name of its folder.
fn plain_number(number: &str) -> String {
    let plain = number.trim_start_matches('0');
    let is_number = !plain.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    if is_number { plain.to_owned() } else { number.to_owned() }
}

/// Tells what agents wrote back in a project's folder `<number>_<name>`.
fn tell_folder(pages: &Pages, folder: &str, group: &NodeKey, sheet: &mut Sheet) {
    let Some((number, _)) = folder.split_once('_') else { return };
    if number.is_empty() || !number.bytes().all(|digit| digit.is_ascii_digit()) {
        return;
    }
    let number = plain_number(number);
    let above = sheet.key(&number);
    let own = pages.object(&format!("{folder}/.return-meta.json")).map(|page| ("return", page));
    let named = pages.objects(&format!("{folder}/.meta/"), "-return-meta.json");
    for (name, page) in own.into_iter().chain(named) {
        sheet.node(above.clone(), NodeKind::Subtask).under(group.clone());
        let key = sheet.key(&format!("{number}{STEP_MARK}{name}"));
        let leaf = sheet.node(key, NodeKind::Agent);
        leaf.under(above.clone());
        tell_return(leaf, page);
    }
    if let Some(pending) = pages.object(&format!("{folder}/.postflight-pending")) {
        let leaf = sheet.node(above, NodeKind::Subtask);
        let note = pending.text(&["reason"]).or_else(|| pending.text(&["operation"]));
        leaf.happened(0, pending.stamp(&["created"]), "postflight pending", note);
    }
}

fn tell_return(leaf: &mut Leaf, page: Loose<'_>) {
    let about = page.object(&["metadata"]);
    let told = |names: &[&str]| about.and_then(|about| about.text(names));
    let depth = about.and_then(|about| about.number(&["delegation_depth"]));
    leaf.described(Description {
        title: told(&["agent_type"]),
        agent: told(&["agent_type"]).map(Into::into),
        path: about.and_then(|about| about.texts(&["delegation_path"])),
        depth: depth.and_then(|depth| u32::try_from(depth).ok()),
        ..Description::default()
    });
    if let Some(session) = told(&["session_id"]) {
        // Its number is the next free one of the node; the same session is the same attempt.
        let attempt = Attempt { session_id: Some(session.as_str().into()), ..Attempt::default() };
        leaf.say(NodeFact::Attempted(Box::new(attempt)));
    }
    if let Some(word) = page.text(&["status"]) {
        let why = page.text(&["review_reason"]).or_else(|| {
            page.object(&["partial_progress"]).and_then(|progress| progress.text(&["details", "stage"]))
        });
        leaf.status(Field::Return, word, why);
    }
    leaf.clock(Clock::Started, page.stamp(&["started_at"]));
    leaf.sign(page.stamp(&["started_at"]), None);
    leaf.may_sleep(STALE);
    leaf.say(NodeFact::Returned(Box::new(outcome(page))));
}

fn outcome(page: Loose<'_>) -> Outcome {
    let known = ["status", "summary", "artifacts", "errors", "next_steps", "started_at"];
    let extra = page.0.iter().filter(|(name, _)| !known.contains(&name.as_str()));
    let completion = page.object(&["completion_data"]).and_then(|done| done.text(&["completion_summary"]));
    Outcome {
        summary: page.text(&["summary"]).or(completion),
        artifacts: artifacts(page),
        errors: page.objects(&["errors"]).map(error).collect(),
        next_steps: page
            .text(&["next_steps"])
            .or_else(|| page.texts(&["next_steps"]).map(|steps| steps.join("\n"))),
        extra: extra.map(|(name, value)| (name.clone(), value.clone())).collect(),
        ..Outcome::default()
    }
}

/// An artifact is an object, or only its path.
fn artifacts(row: Loose<'_>) -> Vec<Artifact> {
    let items = row.any(&["artifacts"]).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let read = |item: &Value| match item.as_object().map(Loose) {
        Some(item) => Some(Artifact {
            kind: item.text(&["type"]),
            path: item.text(&["path"]),
            summary: item.text(&["summary"]),
            ..Artifact::default()
        }),
        None => Some(Artifact { path: Some(text(item)?), ..Artifact::default() }),
    };
    items.iter().filter_map(read).collect()
}

fn error(row: Loose<'_>) -> ReturnedError {
    ReturnedError {
        kind: row.text(&["type"]),
        message: row.text(&["message"]),
        code: row.text(&["code"]),
        recoverable: row.any(&["recoverable"]).and_then(Value::as_bool),
        recommendation: row.text(&["recommendation"]),
        ..ReturnedError::default()
    }
}
