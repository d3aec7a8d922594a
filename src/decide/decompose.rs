//! What a task falls into: the steps that it lists, what must be true in the end, the sentences that say to do
//! something, and where there is none of it a template for its phase.
//!
//! The plan is a proposal. Its dependencies never form a circle, and it has at most [`MOST`] steps.

mod agent;
mod order;
mod outline;

use std::fmt::Write as _;

use serde_json::Value;

use super::complexity;
use super::settings::Settings;
use super::task::Task;
use super::words::Words;
use crate::model::handoff::SubtaskSpec;
use crate::model::id::SubtaskId;
use crate::model::text;
pub use outline::Source;

/// The most steps that a plan has.
pub const MOST: usize = 7;
/// The longest title of a step, in letters.
const LONGEST_TITLE: usize = 80;
/// What a step takes besides what its complexity says, as a complexity.
const LEAST_WEIGHT: f64 = 5.0;
const HOUR_MS: f64 = 3_600_000.0;
const MINUTE_MS: u64 = 60_000;

/// Steps, and where they come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub source: Source,
    pub subtasks: Vec<SubtaskSpec>,
}

/// Proposes the steps of a task.
pub fn decompose(task: &Task, settings: &Settings) -> Plan {
    let (source, outlines) = outline::outlines(task);
    let before = order::dependencies(task, source, &outlines);
    let ids: Vec<SubtaskId> = (1..=outlines.len()).map(|nth| format!("st-{nth}").into()).collect();
    let mut subtasks: Vec<SubtaskSpec> = outlines
        .iter()
        .zip(&before)
        .zip(&ids)
        .map(|((outline, before), id)| {
            let words = Words::of([outline.text.as_str()]);
            let alone = Task { hours: Some(share(task, outlines.len())), ..Task::from_text(&outline.text) };
            let mut step = SubtaskSpec {
                id: id.clone(),
                title: Some(title(&outline.text)),
                complexity: Some(f64::from(complexity::estimate(&alone, &words))),
                dependencies: before.iter().filter_map(|nth| ids.get(*nth).cloned()).collect(),
                agent: agent::suggest(task, &words, settings),
                ..SubtaskSpec::default()
            };
            if step.title.as_deref() != Some(outline.text.as_str()) {
                step.extra.insert("description".into(), Value::from(outline.text.as_str()));
            }
            step
        })
        .collect();
    estimate(task, &mut subtasks);
    Plan { source, subtasks }
}

/// The part of a task's effort that falls to each of its steps, in hours.
fn share(task: &Task, steps: usize) -> f64 {
    task.effort() / f64::from(u32::try_from(steps.max(1)).unwrap_or(u32::MAX))
}

/// Divides the task's effort among its steps, the more complex ones the more.
fn estimate(task: &Task, steps: &mut [SubtaskSpec]) {
    let weight = |step: &SubtaskSpec| step.complexity.unwrap_or_default() + LEAST_WEIGHT;
    let all: f64 = steps.iter().map(weight).sum();
    for step in steps {
        let ms = task.effort() * HOUR_MS * weight(step) / all;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast holds at the ends"
        )]
        let minutes = (ms as u64).div_ceil(MINUTE_MS);
        step.estimated_duration = Some(minutes.saturating_mul(MINUTE_MS));
    }
}

/// Cuts a step's text to what fits a row.
fn title(text: &str) -> String {
    if text.chars().count() <= LONGEST_TITLE {
        return text.to_owned();
    }
    let cut: String = text.chars().take(LONGEST_TITLE - 1).collect();
    let at_word = cut.rfind(' ').filter(|at| *at > LONGEST_TITLE / 2);
    let cut = at_word.and_then(|at| cut.get(..at)).unwrap_or(&cut);
    format!("{}…", cut.trim_end())
}

/// Returns steps as lines for people.
pub fn to_text(steps: &[SubtaskSpec]) -> String {
    let mut lines = String::new();
    for step in steps {
        let minutes = step.estimated_duration.unwrap_or_default() / MINUTE_MS;
        let after: Vec<&str> = step.dependencies.iter().map(SubtaskId::as_str).collect();
        let after = if after.is_empty() { String::new() } else { format!(", after {}", after.join(", ")) };
        let agent = step.agent.as_deref().map(|agent| format!(", {}", text::line(agent))).unwrap_or_default();
        let title = text::line(step.title.as_deref().unwrap_or_default());
        let complexity = step.complexity.unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(
            lines,
            "  {}  {title} (complexity {complexity}, about {minutes} min{after}{agent})",
            step.id
        );
    }
    lines
}
