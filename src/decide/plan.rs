//! From a task to what is started: weighed, and split into steps where that is worth it.
//!
//! The plan comes from the task's own text, or from an agent that was asked for one as JSON. Either way the decision
//! that goes with it says which it was.

use serde_json::Value;

use super::decision::{Options, decide};
use super::decompose::{self, MOST, Source};
use super::pattern::{self, Cast, Pattern};
use super::settings::{Patterns, Settings};
use super::task::Task;
use crate::model::command::{Limits, Spec, StepSpec};
use crate::model::handoff::{Decision, SubtaskSpec};
use crate::model::time::Stamp;

/// Where a decision says who made its plan.
pub const PLANNED_BY: &str = "plannedBy";
/// Who made it where no agent was asked.
pub const BUILT_IN: &str = "built-in";

/// Where a decision says what was not as it should be, and what became of it.
pub const WARNINGS: &str = "warnings";

/// How somebody wants a task to be worked on, whatever the decision says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    pub pattern: Option<Pattern>,
    pub cast: Cast,
}

/// What is started, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub decision: Decision,
    pub pattern: Pattern,
    pub steps: Vec<StepSpec>,
}

/// Weighs a task, and makes its steps; `whole` is what an agent is told that does all of it.
pub fn plan(task: &Task, whole: &str, wanted: &Wanted, settings: &Settings, now: Stamp) -> Plan {
    let decision = decide(task, None, Options::default(), settings, now);
    let outline = decompose::decompose(task, settings);
    // The usual steps are not what somebody meant who asked for a pattern.
    let is_meant = wanted.pattern.is_none() || outline.source != Source::Template;
    let subtasks = if is_meant { outline.subtasks } else { Vec::new() };
    of_decision(Decision { subtasks, ..decision }, whole, wanted, &settings.patterns)
}

/// Makes the steps of a pattern, those that a decision proposes, or one where it is not worth more.
pub fn of_decision(mut decision: Decision, whole: &str, wanted: &Wanted, patterns: &Patterns) -> Plan {
    decision.extra.insert(PLANNED_BY.into(), BUILT_IN.into());
    let should = decision.should_delegate == Some(true);
    let suggested = decision.suggested_pattern.as_deref().and_then(Pattern::from_name);
    let pattern = wanted.pattern.or(suggested).unwrap_or(patterns.default);
    let woven = pattern::steps(pattern, whole, &wanted.cast, patterns);
    if let Some(steps) = woven.filter(|_| should || wanted.pattern.is_some()) {
        decision.subtasks = steps.iter().map(told).collect();
        return Plan { decision, pattern, steps };
    }
    let is_split = decision.subtasks.len() > 1
        && match wanted.pattern {
            Some(Pattern::Direct) => false,
            Some(_) => true,
            None => should,
        };
    if !is_split {
        decision.subtasks = Vec::new();
        let pattern = wanted.pattern.unwrap_or(Pattern::Direct);
        return Plan { decision, pattern, steps: cast(vec![step(1, whole)], wanted) };
    }
    // The text says that it has parts: that they are done by one agent is for a person to say.
    let pattern = if pattern == Pattern::Direct { Pattern::Parallel } else { pattern };
    let steps = decision.subtasks.iter().map(|part| part_of(part, whole)).collect();
    Plan { decision, pattern, steps: cast(steps, wanted) }
}

/// Hands the steps to those who are to take part, in turn.
fn cast(mut steps: Vec<StepSpec>, wanted: &Wanted) -> Vec<StepSpec> {
    wanted.cast.assign(&mut steps);
    steps
}

/// Returns a step of a pattern as a decision tells it.
fn told(step: &StepSpec) -> SubtaskSpec {
    SubtaskSpec {
        id: step.id.clone(),
        title: step.title.clone(),
        dependencies: step.dependencies.clone(),
        agent: step.agent.clone(),
        ..SubtaskSpec::default()
    }
}

/// Notes in a decision what was not as it should be.
pub fn warn(decision: &mut Decision, what: String) {
    let noted = decision.extra.entry(WARNINGS).or_insert_with(|| Value::Array(Vec::new()));
    if let Some(noted) = noted.as_array_mut() {
        noted.push(what.into());
    }
}

/// Returns what a decision warns of.
pub fn warnings(decision: &Decision) -> impl Iterator<Item = &str> {
    decision.extra.get(WARNINGS).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Returns the pattern that a plan names; one that does not exist is parallel, and that is said.
pub fn pattern_of(name: &str) -> (Pattern, Option<String>) {
    if let Some(pattern) = Pattern::from_name(name) {
        return (pattern, None);
    }
    let (name, all) = (crate::model::text::line(name), Pattern::names());
    let why = format!("There is no pattern {name:?}, so its steps go in parallel. There are {all}.");
    (Pattern::Parallel, Some(why))
}

/// Returns one step that does all of it.
pub fn step(nth: usize, whole: &str) -> StepSpec {
    StepSpec {
        id: format!("st-{nth}").into(),
        title: Some(whole.lines().next().unwrap_or_default().to_owned()),
        prompt: whole.to_owned(),
        ..StepSpec::default()
    }
}

/// Returns a proposed step as one that can be run: it knows the whole, and does its part.
fn part_of(part: &SubtaskSpec, whole: &str) -> StepSpec {
    let title = part.title.clone().unwrap_or_default();
    let own = part.extra.get("description").and_then(Value::as_str).unwrap_or(&title);
    StepSpec {
        id: part.id.clone(),
        prompt: format!("{own}\n\nDo only this. It is one step of a larger task:\n\n{whole}"),
        title: Some(title),
        agent: part.agent.clone(),
        dependencies: part.dependencies.clone(),
        ..StepSpec::default()
    }
}

/// Returns what a planner is asked.
pub fn question(whole: &str, settings: &Settings) -> String {
    let agents = &settings.agents.known;
    let agents = if agents.is_empty() {
        String::new()
    } else {
        format!(" A step may name one of these agents as \"agent\": {}.", agents.join(", "))
    };
    format!(
        "Split this task into at most {MOST} steps that agents can do. Do nothing of it yourself.\n\
         Answer with JSON and nothing else: {{\"subtasks\": [{{\"id\": \"st-1\", \"title\": \"…\", \
         \"description\": \"…\", \"dependencies\": []}}]}}.{agents}\n\n{whole}"
    )
}

/// Returns the one step in which a planner makes its plan.
pub fn asking(planner: &str, whole: &str, settings: &Settings, limits: &Limits) -> Spec {
    let title = format!("Plan: {}", whole.lines().next().unwrap_or_default());
    let step = StepSpec {
        id: "st-1".into(),
        title: Some(title.clone()),
        prompt: question(whole, settings),
        agent: Some(planner.to_owned()),
        ..StepSpec::default()
    };
    let timeout = Some(settings.limits.subtask_timeout.value);
    let limits = Limits { subtask_timeout_ms: timeout, auto_retry: false, ..limits.clone() };
    let subtasks = vec![step];
    Spec { title: Some(title), pattern: Pattern::Direct, subtasks, limits, ..Spec::default() }
}

/// Takes the steps that a planner answered; else says what is wrong with them.
pub fn answered(plan: Plan, by: &str, answer: &str, whole: &str) -> Result<Plan, String> {
    let found = json_in(answer).ok_or("its answer has no JSON")?;
    let list = found.get("subtasks").or(found.get("steps")).unwrap_or(&found);
    let list = list.as_array().ok_or("its answer has no list of subtasks")?;
    if list.is_empty() || list.len() > MOST {
        return Err(format!("its plan has {} steps, and 1 to {MOST} are allowed", list.len()));
    }
    let parts = (1..).zip(list).map(|(nth, told)| part(nth, told)).collect::<Result<Vec<_>, _>>()?;
    for part in &parts {
        if let Some(on) = part.dependencies.iter().find(|on| !parts.iter().any(|other| other.id == **on)) {
            return Err(format!("its step {} depends on {on}, which is no step of it", part.id));
        }
    }
    let Plan { mut decision, mut pattern, .. } = plan;
    let steps = parts.iter().map(|part| part_of(part, whole)).collect();
    decision.subtasks = parts;
    decision.extra.insert(PLANNED_BY.into(), by.into());
    if let Some(name) = found.get("pattern").and_then(Value::as_str) {
        let (named, why) = pattern_of(name);
        pattern = named;
        if let Some(why) = why {
            warn(&mut decision, why);
        }
    }
    // Whoever names the steps does not leave them to a pattern.
    let pattern = if pattern == Pattern::Sequential { pattern } else { Pattern::Parallel };
    Ok(Plan { decision, pattern, steps })
}

fn part(nth: usize, told: &Value) -> Result<SubtaskSpec, String> {
    let text =
        |name: &str| told.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let Some(title) = text("title").or(text("description")) else {
        return Err(format!("its step {nth} says nothing"));
    };
    let on = told.get("dependencies").or(told.get("dependsOn")).and_then(Value::as_array);
    let mut part = SubtaskSpec {
        id: text("id").map_or_else(|| format!("st-{nth}").into(), Into::into),
        title: Some(title.to_owned()),
        dependencies: on.into_iter().flatten().filter_map(Value::as_str).map(Into::into).collect(),
        agent: text("agent").map(str::to_owned),
        ..SubtaskSpec::default()
    };
    if let Some(description) = text("description").or(text("prompt")) {
        part.extra.insert("description".into(), description.into());
    }
    Ok(part)
}

/// Finds the JSON in what an agent said: all of it, or what is between the first and the last bracket.
pub(super) fn json_in(answer: &str) -> Option<Value> {
    let between = |open: char, close: char| {
        let (from, to) = (answer.find(open)?, answer.rfind(close)?);
        serde_json::from_str(answer.get(from..=to)?).ok()
    };
    serde_json::from_str(answer.trim()).ok().or_else(|| between('{', '}')).or_else(|| between('[', ']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "Rework the complete API with security, database and performance integration\n\
        1. Design the async database schema\n2. Implement the API after the schema\n\
        3. Test the security of all endpoints\n4. Measure the performance of the full integration";

    fn of(text: &str, pattern: Option<Pattern>) -> Plan {
        plan(
            &Task::from_text(text),
            text,
            &Wanted { pattern, ..Wanted::default() },
            &Settings::default(),
            Stamp::from_millis(0),
        )
    }

    #[test]
    fn a_plain_sentence_is_one_step_with_its_own_words() {
        let made = of("Fix the typo", None);
        assert_eq!((made.pattern, made.steps), (Pattern::Direct, vec![step(1, "Fix the typo")]));
        assert_eq!(made.decision.should_delegate, Some(false));
        assert_eq!(made.decision.extra[PLANNED_BY], BUILT_IN);
    }

    #[test]
    fn what_is_worth_it_is_split_and_direct_is_not() {
        let made = of(LONG, None);
        assert_eq!(made.decision.should_delegate, Some(true), "{:?}", made.decision.reasoning);
        assert_eq!(made.steps.len(), 4);
        let first = &made.steps[0];
        assert!(first.prompt.starts_with("Design the async database schema\n\nDo only this."), "{first:?}");
        assert!(first.prompt.ends_with("integration"), "every step knows the whole");
        assert_eq!(of(LONG, Some(Pattern::Direct)).steps, [step(1, LONG)]);
        assert_eq!(of(LONG, Some(Pattern::Sequential)).pattern, Pattern::Sequential);
    }

    #[test]
    fn a_pattern_that_is_asked_for_splits_what_is_listed_and_nothing_else() {
        assert_eq!(of("Tidy\n- one file\n- another file", Some(Pattern::Parallel)).steps.len(), 2);
        assert_eq!(of("Tidy", Some(Pattern::Parallel)).steps.len(), 1);
    }

    #[test]
    fn a_planners_answer_is_taken_and_named() {
        let told = "Here it is:\n```json\n{\"subtasks\":[{\"id\":\"x\",\"title\":\"One\"},\
            {\"title\":\"Two\",\"description\":\"Do two\",\"dependencies\":[\"x\"],\"agent\":\"codex\"}]}\n```";
        let made = answered(of("Do it", None), "claude", told, "Do it").unwrap();
        assert_eq!(made.decision.extra[PLANNED_BY], "claude");
        assert_eq!(made.pattern, Pattern::Parallel);
        let told: Vec<_> = made.steps.iter().map(|step| (step.id.as_str(), step.agent.as_deref())).collect();
        assert_eq!(told, [("x", None), ("st-2", Some("codex"))]);
        assert!(made.steps[1].prompt.starts_with("Do two\n"));
    }

    #[test]
    fn a_pattern_that_makes_its_own_steps_is_taken_whole_by_wish_or_by_decision() {
        let made = of("Pick a queue", Some(Pattern::Debate));
        let ids: Vec<_> = made.steps.iter().map(|step| step.id.as_str()).collect();
        assert_eq!(
            (made.pattern, ids),
            (Pattern::Debate, vec!["for-1", "against-1", "for-2", "against-2", "synthesis"])
        );
        assert_eq!(made.decision.subtasks.len(), 5, "what is shown is what is started");
        assert_eq!(of("Pick a queue", None).pattern, Pattern::Direct, "nobody asked for it");
        let long = format!("{LONG}\nDiscuss, evaluate and compare the options and alternatives.");
        let made = of(&long, None);
        assert_eq!((made.pattern, made.steps.len()), (Pattern::Debate, 5), "{:?}", made.decision.reasoning);
    }

    #[test]
    fn a_pattern_that_nobody_knows_is_parallel_in_a_plan_and_that_is_said() {
        let told = "{\"pattern\":\"swarm\",\"subtasks\":[{\"title\":\"One\"},{\"title\":\"Two\"}]}";
        let made = answered(of("Do it", None), "claude", told, "Do it").unwrap();
        assert_eq!(made.pattern, Pattern::Parallel);
        let warned: Vec<_> = warnings(&made.decision).collect();
        assert_eq!(
            warned,
            [
                "There is no pattern \"swarm\", so its steps go in parallel. There are parallel, sequential, debate, \
              review, ensemble, direct."
            ]
        );
        let told = told.replace("swarm", "Sequential");
        let made = answered(of("Do it", None), "claude", &told, "Do it").unwrap();
        assert_eq!((made.pattern, warnings(&made.decision).count()), (Pattern::Sequential, 0));
    }

    #[test]
    fn what_is_no_plan_is_named() {
        let wrong = |told: &str| answered(of("Do it", None), "claude", told, "Do it").unwrap_err();
        assert_eq!(wrong("I cannot."), "its answer has no JSON");
        assert_eq!(wrong("{\"a\":1}"), "its answer has no list of subtasks");
        assert_eq!(wrong("[]"), "its plan has 0 steps, and 1 to 7 are allowed");
        assert_eq!(wrong("[{}]"), "its step 1 says nothing");
        assert!(wrong("[{\"title\":\"a\",\"dependencies\":[\"z\"]}]").contains("depends on z"));
    }
}
