//! `quarterdeck delegate --dry-run`: the decision and the plan, shown and left at that.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::json;

use super::{Outcome, decide, print};
use crate::decide::decision::to_json;
use crate::decide::plan::{BUILT_IN, PLANNED_BY};
use crate::decide::settings::Settings;
use crate::model::command::{Spec, StepSpec};
use crate::model::handoff::Decision;
use crate::model::id::SubtaskId;
use crate::model::text;

/// Prints what would be started.
pub(super) fn show(spec: &Spec, settings: &Settings, json: bool) -> Outcome {
    let decision = spec.decision.as_deref();
    if json {
        let plan = Spec { decision: None, ..spec.clone() };
        let told = json!({ "decision": decision.map(to_json), "plan": plan });
        print(&format!("{told:#}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut page = String::new();
    if let Some(decision) = decision {
        // The steps are shown below, with who does them.
        let alone = Decision { subtasks: Vec::new(), ..decision.clone() };
        page.push_str(&decide::page(&alone, settings));
        page.push('\n');
    }
    page.push_str(&tree(spec, decision));
    page.push_str("Nothing was started.\n");
    print(&page)?;
    Ok(ExitCode::SUCCESS)
}

fn tree(spec: &Spec, decision: Option<&Decision>) -> String {
    let title = text::line(spec.title.as_deref().unwrap_or("The plan"));
    let by = decision.and_then(|decision| decision.extra.get(PLANNED_BY)?.as_str()).unwrap_or(BUILT_IN);
    let waits = if spec.propose { ", waits for approval" } else { "" };
    // Writing to a string cannot fail.
    let mut lines = format!("{title} ({}, plan {by}{waits})\n", spec.pattern.as_str());
    let count = spec.subtasks.len();
    for (nth, step) in (1..).zip(&spec.subtasks) {
        let branch = if nth == count { "└─" } else { "├─" };
        let _ = writeln!(lines, "{branch} {}", line(step, decision));
    }
    lines
}

fn line(step: &StepSpec, decision: Option<&Decision>) -> String {
    let title = text::line(step.title.as_deref().unwrap_or(&step.prompt));
    let mut notes = Vec::new();
    notes.extend(step.agent.as_deref().map(|agent| text::line(agent).into_string()));
    let after: Vec<&str> = step.dependencies.iter().map(SubtaskId::as_str).collect();
    if !after.is_empty() {
        notes.push(format!("after {}", after.join(", ")));
    }
    let weighed = decision.and_then(|decision| decision.subtasks.iter().find(|one| one.id == step.id));
    let ms = weighed.and_then(|weighed| weighed.estimated_duration);
    notes.extend(ms.map(|ms| format!("about {} min", ms.div_ceil(60_000))));
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
    format!("{}  {title}{notes}", step.id)
}
