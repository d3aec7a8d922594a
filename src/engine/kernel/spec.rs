//! What may be started: a delegation's pattern becomes one graph, or is refused with what to do instead.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::model::command::{Judges, Pattern, Spec, StepSpec};
use crate::model::id::{SubtaskId, file_name};

/// Why a command is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: Code,
    /// What, why, and what to do instead.
    pub reason: String,
}

/// In which way a command is not possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// What it says cannot be.
    Invalid,
    /// What it is about is not there.
    NotFound,
    /// Not in this state.
    Conflict,
    /// A limit forbids it.
    Limit,
    /// The agent, or this engine, cannot do it.
    Unsupported,
    /// Another command came in between.
    Superseded,
    /// Whom it was for is gone.
    Gone,
}

impl Code {
    /// Returns the code on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::NotFound => "not-found",
            Self::Conflict => "conflict",
            Self::Limit => "limit",
            Self::Unsupported => "unsupported",
            Self::Superseded => "superseded",
            Self::Gone => "gone",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.reason)
    }
}

impl Refusal {
    /// Makes one.
    pub fn new(code: Code, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }
}

/// Returns the steps of a spec as one graph: the dependencies say everything.
pub fn expand(spec: &Spec) -> Result<Vec<StepSpec>, Refusal> {
    let invalid = |reason: String| Refusal::new(Code::Invalid, reason);
    let mut steps = spec.subtasks.clone();
    if steps.is_empty() {
        return Err(invalid("The delegation has no subtask.\nGive it at least one.".into()));
    }
    if spec.pattern == Pattern::Direct && steps.len() > 1 {
        let count = steps.len();
        return Err(invalid(format!(
            "A direct delegation has one subtask, and this one has {count}.\nUse the pattern parallel or sequential."
        )));
    }
    let mut seen = HashSet::new();
    for step in &steps {
        if let Err(what) = file_name(step.id.as_str()) {
            return Err(invalid(format!("The subtask id {:?} {what}.\nUse a name such as st-1.", step.id)));
        }
        if step.prompt.trim().is_empty() {
            return Err(invalid(format!("{} has no prompt.\nSay what is to be done.", step.id)));
        }
        if !seen.insert(step.id.clone()) {
            return Err(invalid(format!("Two subtasks have the id {}\nGive each its own.", step.id)));
        }
    }
    if spec.pattern == Pattern::Sequential {
        let before: Vec<SubtaskId> = steps.iter().map(|step| step.id.clone()).collect();
        for (step, before) in steps.iter_mut().skip(1).zip(before) {
            if !step.dependencies.contains(&before) {
                step.dependencies.push(before);
            }
        }
    }
    link_conditions(&mut steps);
    for step in &mut steps {
        let mut once = HashSet::new();
        step.dependencies.retain(|on| once.insert(on.clone()));
        if let Some(on) = step.dependencies.iter().find(|on| !seen.contains(*on)) {
            let reason = format!("{} depends on {on}, which is no subtask here.\nName one that is.", step.id);
            return Err(invalid(reason));
        }
    }
    match in_a_circle(&steps) {
        Some(id) => Err(invalid(format!(
            "The dependencies of {id} lead back to itself, so it could never begin.\nTake one of them away."
        ))),
        None => Ok(steps),
    }
}

/// A step waits for the verdict that it hangs on, and whoever is to give one is asked for it.
fn link_conditions(steps: &mut [StepSpec]) {
    let mut asked = HashSet::new();
    for step in steps.iter_mut() {
        if let Some(when) = &step.when {
            asked.insert(when.step.clone());
            step.dependencies.push(when.step.clone());
        }
    }
    for step in steps.iter_mut().filter(|step| asked.contains(&step.id)) {
        step.judges = Some(Judges::Approval);
    }
}

/// Returns a step that waits for itself, by taking away again and again what waits for nothing.
fn in_a_circle(steps: &[StepSpec]) -> Option<SubtaskId> {
    let mut unmet: HashMap<&SubtaskId, usize> =
        steps.iter().map(|step| (&step.id, step.dependencies.len())).collect();
    let mut dependants: HashMap<&SubtaskId, Vec<&SubtaskId>> = HashMap::new();
    for step in steps {
        for on in &step.dependencies {
            dependants.entry(on).or_default().push(&step.id);
        }
    }
    let mut free: Vec<&SubtaskId> =
        steps.iter().filter(|step| step.dependencies.is_empty()).map(|step| &step.id).collect();
    while let Some(id) = free.pop() {
        unmet.remove(id);
        for dependant in dependants.get(id).into_iter().flatten() {
            if let Some(left) = unmet.get_mut(dependant) {
                *left -= 1;
                if *left == 0 {
                    free.push(dependant);
                }
            }
        }
    }
    steps.iter().map(|step| &step.id).find(|id| unmet.contains_key(id)).cloned()
}
