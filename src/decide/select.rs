//! Which pattern suits a task: words in its text, its parts and their order, its phase, and how sure its agent is.

use std::collections::BTreeSet;

use super::pattern::Pattern;
use super::settings::Settings;
use super::task::Task;
use super::words::{Words, counted};
use crate::model::handoff::Factors;

/// What each word that speaks for a pattern counts.
const WORD: usize = 2;
/// From how many parts on their number counts.
const SEVERAL: f64 = 3.0;

/// The words that speak for a pattern without any setting.
fn built_in(pattern: Pattern) -> &'static [&'static str] {
    match pattern {
        Pattern::Parallel => &["independent", "concurrent", "parallel", "batch", "simultaneously"],
        Pattern::Sequential => &["then", "after", "before", "depends", "prerequisite", "first", "finally"],
        Pattern::Debate => &["discuss", "evaluate", "compare", "controversial", "options", "alternatives"],
        Pattern::Review => &["create", "write", "draft", "review", "critique", "revise"],
        Pattern::Ensemble => &["verify", "validate", "ensure", "critical", "important", "redundant"],
        Pattern::Direct => &[],
    }
}

/// What speaks for a pattern.
struct Case {
    pattern: Pattern,
    points: usize,
    reasons: Vec<String>,
}

impl Case {
    fn add(&mut self, points: usize, why: impl Into<String>) {
        self.points += points;
        self.reasons.push(why.into());
    }
}

/// Returns the pattern that most speaks for, and what does.
pub fn pattern(task: &Task, words: &Words, factors: &Factors, settings: &Settings) -> (Pattern, Vec<String>) {
    let candidates = Pattern::ALL.into_iter().filter(|pattern| *pattern != Pattern::Direct);
    let mut cases: Vec<Case> = candidates.map(|pattern| by_words(pattern, words, settings)).collect();
    for case in &mut cases {
        by_parts(case, task, factors);
        by_agent(case, factors);
        by_phase(case, task);
    }
    // Of equals the first one.
    let best = cases.into_iter().reduce(|best, case| if case.points > best.points { case } else { best });
    match best {
        Some(best) if best.points > 0 => (best.pattern, best.reasons),
        Some(_) | None => {
            (settings.patterns.default, vec!["nothing speaks for another one: the default".into()])
        }
    }
}

fn by_words(pattern: Pattern, words: &Words, settings: &Settings) -> Case {
    let told =
        settings.patterns.hints.get(&pattern).into_iter().flatten().map(|word| word.trim().to_lowercase());
    let all: BTreeSet<String> = built_in(pattern).iter().map(|word| (*word).to_owned()).chain(told).collect();
    let found: Vec<String> = all.into_iter().filter(|word| words.has(word)).collect();
    let mut case = Case { pattern, points: 0, reasons: Vec::new() };
    if !found.is_empty() {
        case.add(WORD * found.len(), format!("its text says {}", found.join(", ")));
    }
    case
}

fn by_parts(case: &mut Case, task: &Task, factors: &Factors) {
    if factors.subtask_count < SEVERAL {
        return;
    }
    let requires = task.requires.len();
    match case.pattern {
        Pattern::Parallel if requires == 0 => {
            case.add(3, format!("{} parts, and it waits for no other task", factors.subtask_count));
        }
        Pattern::Sequential if requires > 0 => {
            case.add(requires, format!("it waits for {}", counted(requires, "other task")));
        }
        Pattern::Parallel
        | Pattern::Sequential
        | Pattern::Debate
        | Pattern::Review
        | Pattern::Ensemble
        | Pattern::Direct => {}
    }
}

fn by_agent(case: &mut Case, factors: &Factors) {
    if factors.agent_confidence >= 50.0 {
        return;
    }
    let points = match case.pattern {
        Pattern::Debate => 2,
        Pattern::Ensemble => 1,
        Pattern::Parallel | Pattern::Sequential | Pattern::Review | Pattern::Direct => return,
    };
    case.add(points, format!("its agent is only {} % sure", factors.agent_confidence));
}

fn by_phase(case: &mut Case, task: &Task) {
    let Some(phase) = task.phase.as_deref() else { return };
    let points = match (phase, case.pattern) {
        ("implementation", Pattern::Parallel | Pattern::Sequential) => 1,
        ("research" | "planning", Pattern::Debate) | ("design" | "validation", Pattern::Review) => 2,
        _ => return,
    };
    case.add(points, format!("it is {phase}"));
}
