//! What a delegation is to be, read from a request's body or a plan file: what the interface leaves out of a step is
//! filled in, and a field that nobody knows is refused. A typing error must not pass for a plan without it.

use serde_json::{Map, Value, json};

use crate::decide;
use crate::decide::pattern::{Cast, MOST_ANSWERS, MOST_ROUNDS, Pattern};
use crate::decide::settings::Patterns;
use crate::model::command::{Limits, Spec};

/// What a planner knows of a step and an engine does not need.
const ADVICE: [&str; 3] = ["complexity", "estimatedDuration", "estimatedTokens"];

/// What holds where a plan says nothing.
#[derive(Debug, Clone, Default)]
pub struct Otherwise {
    pub limits: Limits,
    pub patterns: Patterns,
}

/// Reads a plan file. A pattern that nobody knows is parallel there, and the decision says so: whoever wrote the
/// file may not be here.
pub fn read_file(mut fields: Map<String, Value>, otherwise: &Otherwise) -> Result<Spec, String> {
    let named = fields.get("pattern").and_then(Value::as_str).map(decide::plan::pattern_of);
    let Some((pattern, why)) = named else { return read(fields, otherwise) };
    fields.insert("pattern".into(), pattern.as_str().into());
    let mut spec = read(fields, otherwise)?;
    if let Some(why) = why {
        decide::plan::warn(spec.decision.get_or_insert_default(), why);
    }
    Ok(spec)
}

/// Reads what a delegation is to be; what is not understood is an error that names it.
pub fn read(mut fields: Map<String, Value>, otherwise: &Otherwise) -> Result<Spec, String> {
    let cast = take_cast(&mut fields)?;
    if let Some(told) = fields.get("pattern").filter(|told| !told.is_null()) {
        let found = told.as_str().and_then(Pattern::from_name);
        let found = found.ok_or_else(|| format!("{told} is no pattern.\nThere are {}.", Pattern::names()))?;
        fields.insert("pattern".into(), found.as_str().into());
    }
    let mut spec = spec(fields, &otherwise.limits)?;
    weave(&mut spec, &cast, &otherwise.patterns)?;
    Ok(spec)
}

/// Takes out what is said of the size of a pattern and of who takes part.
pub(super) fn take_cast(fields: &mut Map<String, Value>) -> Result<Cast, String> {
    let mut count = |name: &str, most: u32| match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(told) => {
            let found = told.as_u64().and_then(|told| u32::try_from(told).ok());
            let found = found.filter(|found| (1..=most).contains(found));
            found.map(Some).ok_or_else(|| format!("`{name}` must be a whole number from 1 to {most}."))
        }
    };
    let (rounds, answers) = (count("rounds", MOST_ROUNDS)?, count("answers", MOST_ANSWERS)?);
    let agents = match fields.remove("agents") {
        None | Some(Value::Null) => Vec::new(),
        Some(told) => serde_json::from_value(told).map_err(|_| "`agents` must be a list of names.")?,
    };
    Ok(Cast { rounds, answers, agents })
}

/// Makes the steps of a pattern that makes them by itself, where only the task is given; a plan whose steps depend
/// on each other is taken as it is.
fn weave(spec: &mut Spec, cast: &Cast, patterns: &Patterns) -> Result<(), String> {
    let pattern = spec.pattern;
    if pattern.is_woven() && spec.subtasks.iter().all(|step| step.dependencies.is_empty()) {
        let [task] = spec.subtasks.as_slice() else {
            let count = spec.subtasks.len();
            return Err(format!(
                "A delegation of the pattern {pattern} has one task, and this one has {count}.\n\
                 Give one, or steps that depend on each other."
            ));
        };
        let only: Vec<String> = task.agent.clone().into_iter().collect();
        let cast = if cast.agents.is_empty() { Cast { agents: only, ..cast.clone() } } else { cast.clone() };
        let (title, whole) = (task.title.clone(), task.prompt.clone());
        if let Some(steps) = decide::pattern::steps(pattern, &whole, &cast, patterns) {
            spec.subtasks = steps;
            spec.title = spec.title.take().or(title);
        }
        return Ok(());
    }
    cast.assign(&mut spec.subtasks);
    Ok(())
}

/// Reads the fields that a delegation has. What they do not say of its limits is as in `otherwise`.
fn spec(mut fields: Map<String, Value>, otherwise: &Limits) -> Result<Spec, String> {
    let options = fields.remove("options").unwrap_or_default();
    let mut limits = fields.remove("limits").unwrap_or_else(|| json!({}));
    if let (Some(limits), Some(options)) = (limits.as_object_mut(), options.as_object()) {
        limits.extend(options.clone());
    } else if !options.is_null() {
        return Err("`options` must be an object.".into());
    }
    if let (Some(limits), Ok(Value::Object(otherwise))) =
        (limits.as_object_mut(), serde_json::to_value(otherwise))
    {
        for (name, value) in otherwise {
            limits.entry(name).or_insert(value);
        }
    }
    let stated = keys(&limits);
    fields.insert("limits".into(), limits);
    // One step without more ado.
    if let Some(prompt) = fields.remove("prompt") {
        let agent = fields.remove("agent").unwrap_or_default();
        let step = json!({"prompt": prompt, "agent": agent});
        if fields.insert("subtasks".into(), json!([step])).is_some() {
            return Err("There are a `prompt` and `subtasks`.\nGive one of them.".into());
        }
        fields.entry("pattern").or_insert_with(|| "direct".into());
    }
    let mut steps = Vec::new();
    for (nth, step) in
        (1..).zip(fields.get_mut("subtasks").and_then(Value::as_array_mut).into_iter().flatten())
    {
        fill(nth, step);
        steps.push(keys(step));
    }
    let given: Vec<String> =
        fields.iter().filter(|(_, value)| is_said(value)).map(|(key, _)| key.clone()).collect();
    let spec = serde_json::from_value::<Spec>(Value::Object(fields));
    let spec = spec.map_err(|error| format!("That is no delegation: {error}."))?;
    let unknown = stray(&spec, &given)
        .or_else(|| stray(&spec.limits, &stated))
        .or_else(|| spec.subtasks.iter().zip(&steps).find_map(|(step, given)| stray(step, given)));
    match unknown {
        Some(stray) => {
            Err(format!("A delegation knows no {stray:?} there.\ndocs/api.md says what it takes."))
        }
        None => Ok(spec),
    }
}

/// Gives a step what the interface leaves out: an id, and what to do.
fn fill(nth: u32, step: &mut Value) {
    let Some(step) = step.as_object_mut() else { return };
    step.retain(|key, _| !ADVICE.contains(&key.as_str()));
    step.entry("id").or_insert_with(|| format!("st-{nth}").into());
    let description = step.remove("description");
    if !step.contains_key("prompt") {
        let prompt = description.or_else(|| step.get("title").cloned());
        step.extend(prompt.map(|prompt| ("prompt".into(), prompt)));
    }
    if !step.contains_key("title") {
        let first = step.get("prompt").and_then(Value::as_str).and_then(|prompt| prompt.lines().next());
        let title = first.map(|line| Value::from(line.to_owned()));
        step.extend(title.map(|title| ("title".into(), title)));
    }
}

fn keys(object: &Value) -> Vec<String> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(_, value)| is_said(value)).map(|(key, _)| key.clone()).collect()
}

/// What is empty or null says nothing, and is not written back.
fn is_said(value: &Value) -> bool {
    !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty())
}

/// Returns the first field that was given and is not one of what was understood: a typing error must not pass for
/// a request without it.
pub(super) fn stray(understood: &impl serde::Serialize, given: &[String]) -> Option<String> {
    let known = serde_json::to_value(understood).unwrap_or_default();
    given.iter().find(|field| known.get(field.as_str()).is_none()).cloned()
}
