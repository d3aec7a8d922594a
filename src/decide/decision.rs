//! Should it be handed over, and how: the decision, with everything that led to it.
//!
//! The answer has the one shape that events, records and the monitor know, [`Decision`]; every field of it is told.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use super::decompose::{self, Source};
use super::factors::{self, Context};
use super::pattern::Pattern;
use super::select;
use super::settings::Settings;
use super::task::{Agent, Task};
use super::words::{Words, counted};
use crate::model::handoff::{Decision, Factors};
use crate::model::time::Stamp;

/// The version of what the thresholds in an answer mean.
const CONFIG_VERSION: &str = "1.0.0";
/// From how many parts on there is something to hand over.
const FEWEST_PARTS: f64 = 2.0;

/// How a decision is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Options {
    /// Weigh it anew, whatever is remembered.
    #[serde(skip)]
    pub skip_cache: bool,
    /// Propose subtasks.
    pub include_subtasks: bool,
    /// Say why.
    pub include_reasoning: bool,
    pub context: Context,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            skip_cache: false,
            include_subtasks: true,
            include_reasoning: true,
            context: Context::default(),
        }
    }
}

/// Why something is not handed over, whatever it scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    NoDepth,
    Split(usize),
    Question,
    OnePart,
    Children(usize),
}

impl Stop {
    fn words(self) -> String {
        match self {
            Self::NoDepth => "No depth is left: what is this deep does its work itself".into(),
            Self::Split(count) => format!("It was split into {} already", counted(count, "task")),
            Self::Question => "It is a question: it is answered, not handed over".into(),
            Self::OnePart => "It names fewer than two parts, so there is nothing to hand over".into(),
            Self::Children(count) => format!("Its agent has {count} children already"),
        }
    }
}

/// Decides about a task.
pub fn decide(
    task: &Task,
    agent: Option<&Agent>,
    options: Options,
    settings: &Settings,
    now: Stamp,
) -> Decision {
    let words = Words::of([task.title.as_str(), task.description.as_str()]);
    let factors = factors::measure(task, &words, agent, options.context, settings);
    let added = factors::contributions(&factors, settings);
    let score = factors::score(&added);
    let stop = stop(task, &words, agent, &factors, settings);
    let delegates = stop.is_none() && score >= settings.thresholds.delegation_score;
    let (pattern, reasons) = if delegates {
        select::pattern(task, &words, &factors, settings)
    } else {
        (Pattern::Direct, Vec::new())
    };
    let mut metadata = json!({
        "taskId": task.id,
        "agentId": agent.and_then(|agent| agent.id.as_deref()),
        "timestamp": now.to_string(),
        "configVersion": CONFIG_VERSION,
        "thresholds": settings.thresholds,
    });
    if let Some(metadata) = metadata.as_object_mut()
        && options.include_reasoning
        && !reasons.is_empty()
    {
        metadata.insert("patternReasons".into(), reasons.into());
    }
    let reasoning = || reasoning(&factors, score, stop, pattern, settings);
    Decision {
        should_delegate: Some(delegates),
        confidence: Some(factors::sureness(&factors, score)),
        score: Some(score),
        reasoning: options.include_reasoning.then(reasoning),
        hints: hints(&factors, delegates, pattern, settings),
        subtasks: if options.include_subtasks { subtasks(task, delegates, settings) } else { Vec::new() },
        factors: Some(factors),
        factor_contributions: Some(added),
        suggested_pattern: Some(pattern.as_str().into()),
        metadata: Some(metadata.into()),
        ..Decision::default()
    }
}

/// Returns what stands against it, whatever it scores.
fn stop(
    task: &Task,
    words: &Words,
    agent: Option<&Agent>,
    factors: &Factors,
    settings: &Settings,
) -> Option<Stop> {
    let children = agent.map_or(0, |agent| agent.children);
    let most = usize::try_from(settings.limits.max_children).unwrap_or(usize::MAX);
    if factors.depth_remaining <= 0.0 {
        Some(Stop::NoDepth)
    } else if task.children > 0 {
        Some(Stop::Split(task.children))
    } else if factors.subtask_count < FEWEST_PARTS {
        Some(if is_question(task, words) { Stop::Question } else { Stop::OnePart })
    } else if children >= most {
        Some(Stop::Children(children))
    } else {
        None
    }
}

/// Whether somebody wants to know something, and nothing done.
fn is_question(task: &Task, words: &Words) -> bool {
    const ASKS: [&str; 14] = [
        "what", "how", "why", "who", "when", "where", "which", "can", "could", "do", "does", "is", "are",
        "will",
    ];
    let last = if task.description.trim().is_empty() { &task.title } else { &task.description };
    last.trim_end().ends_with('?') && words.iter().next().is_some_and(|first| ASKS.contains(&first))
}

/// Says in sentences what the decision comes from.
fn reasoning(
    factors: &Factors,
    score: f64,
    stop: Option<Stop>,
    pattern: Pattern,
    settings: &Settings,
) -> String {
    let from = &settings.thresholds;
    let needed = from.delegation_score;
    let mut sentences = vec![match stop {
        Some(stop) => format!("{} (score {score})", stop.words()),
        None if score >= needed => format!("Worth handing over: score {score}, {needed} is needed"),
        None => format!("Better done directly: score {score}, {needed} is needed"),
    }];
    let Factors { complexity, context_utilization: context, subtask_count: parts, .. } = factors;
    let (confidence, load) = (factors.agent_confidence, factors.agent_load);
    if *complexity >= from.complexity_trigger {
        sentences.push(format!("Its complexity of {complexity} speaks for splitting it"));
    } else if stop.is_none() && score < needed {
        sentences.push(format!("Its complexity of {complexity} is low"));
    }
    if *context >= from.context_utilization {
        sentences.push(format!("{context} % of the context is used: fresh ones help"));
    }
    if *parts >= f64::from(from.min_subtasks) {
        sentences.push(format!("It names {parts} parts"));
    }
    if confidence < from.confidence_floor {
        sentences.push(format!("Its agent is only {confidence} % sure"));
    }
    if load >= 70.0 {
        sentences.push(format!("Its agent is busy ({load} %)"));
    }
    if pattern != Pattern::Direct {
        sentences.push(format!("The pattern is {pattern}"));
    }
    sentences.join(". ") + "."
}

/// Says what to mind.
fn hints(factors: &Factors, delegates: bool, pattern: Pattern, settings: &Settings) -> Vec<String> {
    let mut hints: Vec<&str> = match pattern {
        Pattern::Parallel => vec!["Steps that write the same files get in each other's way."],
        Pattern::Sequential => vec!["Each step gets the result of the one before."],
        Pattern::Debate => vec!["Let them argue for two or three rounds."],
        Pattern::Review => vec!["One makes it, two read it."],
        Pattern::Ensemble => vec!["Let at least three do the same, and compare."],
        Pattern::Direct => Vec::new(),
    };
    let from = &settings.thresholds;
    if delegates && factors.depth_remaining <= 1.0 {
        hints.push("It is the last level: its steps cannot hand anything on.");
    }
    if !delegates && factors.complexity >= from.complexity_trigger && factors.subtask_count < FEWEST_PARTS {
        hints.push("List its steps or its acceptance criteria, and it can be split.");
    }
    if !delegates && factors.context_utilization >= from.context_utilization {
        hints.push("The context is nearly used up: compact it, or begin anew.");
    }
    hints.into_iter().map(str::to_owned).collect()
}

/// Proposes subtasks; a template is only worth showing for what is handed over.
fn subtasks(task: &Task, delegates: bool, settings: &Settings) -> Vec<crate::model::handoff::SubtaskSpec> {
    let plan = decompose::decompose(task, settings);
    if delegates || plan.source != Source::Template { plan.subtasks } else { Vec::new() }
}

/// Returns a decision as JSON for other programs: whole numbers are written as such.
pub fn to_json(decision: &Decision) -> Value {
    let mut value = serde_json::to_value(decision).unwrap_or_default();
    whole_numbers(&mut value);
    value
}

fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e15);
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
            if let Some(float) = float {
                *number = (float as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Returns a decision as a page for people.
pub fn to_text(decision: &Decision) -> String {
    let told = |number: Option<f64>| number.unwrap_or_default();
    let verdict = if decision.should_delegate == Some(true) { "hand it over" } else { "do it directly" };
    let pattern = decision.suggested_pattern.as_deref().unwrap_or_default();
    let needed = decision.metadata.as_ref().and_then(|it| it.number("/thresholds/delegationScore"));
    let needed = needed.unwrap_or_default();
    let (score, sure) = (told(decision.score), told(decision.confidence));
    let mut page = format!("{verdict} ({pattern}): score {score}, {needed} is needed; {sure} % sure\n");
    if let Some((is, adds)) = decision.factors.as_ref().zip(decision.factor_contributions.as_ref()) {
        let rows = [
            ("complexity", is.complexity, adds.complexity),
            ("context used", is.context_utilization, adds.context_utilization),
            ("subtasks", is.subtask_count, adds.subtask_count),
            ("agent confidence", is.agent_confidence, adds.confidence),
            ("agent load", is.agent_load, adds.agent_load),
            ("depth left", is.depth_remaining, adds.depth_remaining),
        ];
        for (name, value, adds) in rows {
            // Writing to a string cannot fail.
            let _ = writeln!(page, "  {name:<17}{value:>4}  {adds:>+5.1}");
        }
    }
    if let Some(reasoning) = &decision.reasoning {
        page.push_str(reasoning);
        page.push('\n');
    }
    for hint in &decision.hints {
        let _ = writeln!(page, "  - {hint}");
    }
    for warning in super::plan::warnings(decision) {
        let _ = writeln!(page, "warning: {warning}");
    }
    page.push_str(&decompose::to_text(&decision.subtasks));
    page
}
