//! A quick look at a task: whether the whole decision is worth asking for.

use serde::Serialize;

use super::complexity;
use super::settings::Settings;
use super::task::Task;
use super::words::Words;

/// What a quick look finds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hint {
    pub should_consider_delegation: bool,
    pub quick_factors: QuickFactors,
    pub hint: &'static str,
}

/// What it looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuickFactors {
    pub complexity: u32,
    pub subtask_potential: usize,
}

/// Takes a quick look at a task.
pub fn hint(task: &Task, settings: &Settings) -> Hint {
    let words = Words::of([task.title.as_str(), task.description.as_str()]);
    let complexity = complexity::estimate(task, &words);
    let subtask_potential = complexity::parts(task);
    let from = &settings.thresholds;
    let several = usize::try_from(from.min_subtasks).unwrap_or(usize::MAX);
    let consider = f64::from(complexity) >= from.complexity_trigger || subtask_potential >= several;
    Hint {
        should_consider_delegation: consider,
        quick_factors: QuickFactors { complexity, subtask_potential },
        hint: if consider {
            "Task may benefit from delegation"
        } else {
            "Task appears suitable for direct execution"
        },
    }
}
