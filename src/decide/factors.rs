//! The six factors of a decision, and what each adds to the score.

use super::complexity;
use super::settings::{Limits, Settings};
use super::task::{Agent, Task};
use super::words::Words;
use crate::model::handoff::{Contributions, Factors};

/// What is assumed of an agent's context where nobody tells, in percent.
const USUAL_CONTEXT: f64 = 50.0;
/// What is assumed of an agent's confidence: where nobody tells, and where only its phase is known.
const USUAL_CONFIDENCE: f64 = 75.0;
const IN_ITS_PHASE: f64 = 85.0;
const OUT_OF_ITS_PHASE: f64 = 60.0;

/// How much of a context is used, where the asker knows it better than the agent tells.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct Context {
    pub tokens_used: Option<f64>,
    pub max_tokens: Option<f64>,
}

/// Measures the factors; `words` are those of the task's title and description.
pub fn measure(
    task: &Task,
    words: &Words,
    agent: Option<&Agent>,
    context: Context,
    settings: &Settings,
) -> Factors {
    let depth = agent.map_or(0, |agent| agent.depth);
    Factors {
        complexity: f64::from(complexity::estimate(task, words)),
        context_utilization: utilization(agent, context),
        subtask_count: count(complexity::parts(task)),
        agent_confidence: agent.map_or(USUAL_CONFIDENCE, |agent| confidence(agent, task)).clamp(0.0, 100.0),
        agent_load: agent.map_or(0.0, load),
        depth_remaining: f64::from(deepest(settings).saturating_sub(depth)),
    }
}

/// Returns how deep work may be handed down; a setting out of range is taken at its nearest end.
pub fn deepest(settings: &Settings) -> u32 {
    settings.limits.max_depth.clamp(1, Limits::DEEPEST)
}

fn utilization(agent: Option<&Agent>, context: Context) -> f64 {
    let of = |used: Option<f64>, most: Option<f64>| {
        let (used, most) = (used.filter(|used| *used > 0.0)?, most.filter(|most| *most > 0.0)?);
        Some(percent(used, most))
    };
    agent
        .and_then(|agent| of(agent.tokens_used, agent.max_tokens))
        .or_else(|| of(context.tokens_used, context.max_tokens))
        .unwrap_or(USUAL_CONTEXT)
}

fn confidence(agent: &Agent, task: &Task) -> f64 {
    if let Some(told) = agent.confidence.filter(|told| !told.is_nan()) {
        return told;
    }
    if let Some(has) = agent.capabilities.as_ref().filter(|_| !task.capabilities.is_empty()) {
        let covered = task.capabilities.iter().filter(|needed| has.contains(needed)).count();
        return percent(count(covered), count(task.capabilities.len()));
    }
    match (&agent.phase, &task.phase) {
        (Some(its), Some(needed)) if its.eq_ignore_ascii_case(needed) => IN_ITS_PHASE,
        (Some(_), Some(_)) => OUT_OF_ITS_PHASE,
        (None, _) | (_, None) => USUAL_CONFIDENCE,
    }
}

fn load(agent: &Agent) -> f64 {
    match (agent.queue, agent.max_children) {
        (Some((queued, most)), _) => percent(queued, most),
        (None, Some(most)) if agent.children > 0 => percent(count(agent.children), most),
        (None, Some(_) | None) => 0.0,
    }
}

/// Returns a part in whole percent, at most all of it; nothing can be part of nothing.
fn percent(part: f64, whole: f64) -> f64 {
    let percent = (part / whole * 100.0).round().clamp(0.0, 100.0);
    if whole > 0.0 && !percent.is_nan() { percent } else { 0.0 }
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Returns what each factor adds to the score.
pub fn contributions(factors: &Factors, settings: &Settings) -> Contributions {
    let (weights, from) = (&settings.weights, &settings.thresholds);
    let unsure = (100.0 - factors.agent_confidence).max(0.0);
    let complexity = share(factors.complexity, from.complexity_trigger);
    let context = share(factors.context_utilization, from.context_utilization);
    let subtasks = share(factors.subtask_count, f64::from(from.min_subtasks));
    let depth = share(factors.depth_remaining, f64::from(deepest(settings)));
    Contributions {
        complexity: complexity * weights.complexity,
        context_utilization: context * weights.context_utilization,
        subtask_count: subtasks * weights.subtask_count,
        confidence: share(unsure, 100.0 - from.confidence_floor) * weights.confidence,
        agent_load: factors.agent_load * weights.agent_load,
        depth_remaining: depth * weights.depth_remaining,
    }
}

/// Returns how much of the full measure something is, at most 100; a measure of nothing is full.
fn share(value: f64, full: f64) -> f64 {
    if full > 0.0 { (value / full * 100.0).clamp(0.0, 100.0) } else { 100.0 }
}

/// Returns the score: what the factors add, 0 to 100.
pub fn score(added: &Contributions) -> f64 {
    let sum = added.complexity
        + added.context_utilization
        + added.subtask_count
        + added.confidence
        + added.agent_load
        + added.depth_remaining;
    // Weights come from people: one that is no number counts as nothing.
    if sum.is_nan() { 0.0 } else { sum.round().clamp(0.0, 100.0) }
}

/// Returns how sure a decision is, 50 to 100: the clearer its signals, the surer.
pub fn sureness(factors: &Factors, score: f64) -> f64 {
    let clear = |is_clear: bool, points: f64| if is_clear { points } else { 0.0 };
    let outside = |value: f64, low: f64, high: f64| value < low || value > high;
    let sure = 50.0
        + clear(outside(factors.complexity, 20.0, 80.0), 15.0)
        + clear(factors.subtask_count >= 5.0 || factors.subtask_count <= 1.0, 10.0)
        + clear(outside(factors.agent_confidence, 40.0, 90.0), 10.0)
        + clear(outside(factors.context_utilization, 30.0, 85.0), 10.0)
        + clear(outside(score, 30.0, 80.0), 15.0);
    sure.min(100.0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "factors are whole numbers")]

    use super::*;

    fn measured(task: &Task, agent: Option<&Agent>, context: Context) -> Factors {
        measure(task, &Words::of([task.title.as_str()]), agent, context, &Settings::default())
    }

    #[test]
    fn what_nobody_tells_is_assumed() {
        let factors = measured(&Task::from_text("x"), None, Context::default());
        let assumed = [factors.context_utilization, factors.agent_confidence, factors.agent_load];
        assert_eq!(assumed, [50.0, 75.0, 0.0]);
        assert_eq!(factors.depth_remaining, 3.0);
    }

    #[test]
    fn confidence_is_told_else_covered_else_by_phase() {
        let task = Task {
            capabilities: vec!["rust".into(), "sql".into(), "css".into()],
            phase: Some("design".into()),
            ..Task::from_text("x")
        };
        let of = |agent: &Agent| measured(&task, Some(agent), Context::default()).agent_confidence;
        let told = Agent { confidence: Some(12.0), capabilities: Some(vec![]), ..Agent::default() };
        assert_eq!(of(&told), 12.0);
        let covers = Agent { capabilities: Some(vec!["sql".into(), "rust".into()]), ..Agent::default() };
        assert_eq!(of(&covers), 67.0);
        let phase = |phase: &str| Agent { phase: Some(phase.into()), ..Agent::default() };
        assert_eq!([of(&phase("Design")), of(&phase("testing"))], [85.0, 60.0]);
        assert_eq!(of(&Agent { confidence: Some(900.0), ..Agent::default() }), 100.0);
    }

    #[test]
    fn context_and_load_are_whole_percents_within_a_hundred() {
        let task = Task::from_text("x");
        let told = Context { tokens_used: Some(1.0), max_tokens: Some(3.0) };
        assert_eq!(measured(&task, None, told).context_utilization, 33.0);
        let agent = Agent {
            tokens_used: Some(300.0),
            max_tokens: Some(200.0),
            queue: Some((9.0, 4.0)),
            ..Agent::default()
        };
        let factors = measured(&task, Some(&agent), told);
        assert_eq!([factors.context_utilization, factors.agent_load], [100.0, 100.0]);
        let idle = Agent { queue: Some((0.0, 0.0)), max_tokens: Some(0.0), ..Agent::default() };
        let factors = measured(&task, Some(&idle), told);
        assert_eq!([factors.context_utilization, factors.agent_load], [33.0, 0.0]);
    }

    #[test]
    fn absurd_settings_leave_the_score_within_its_bounds() {
        let factors = measured(&Task::from_text("x"), None, Context::default());
        for weight in [f64::NAN, f64::INFINITY, -5.0, 1e300] {
            let mut settings = Settings::default();
            settings.weights.complexity = weight;
            settings.thresholds.complexity_trigger = 0.0;
            settings.thresholds.confidence_floor = 100.0;
            settings.thresholds.min_subtasks = 0;
            settings.limits.max_depth = 0;
            let score = score(&contributions(&factors, &settings));
            assert!((0.0..=100.0).contains(&score), "{weight}: {score}");
        }
    }
}
