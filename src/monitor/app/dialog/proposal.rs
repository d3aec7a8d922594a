//! The form of a proposal: its steps, to be ticked one by one and changed before they begin, and what those that
//! are ticked are estimated to take.

use super::answer::agent;
use super::ask::{AGENT, Aim, STEPS, TITLE, agent_of};
use super::{Check, Estimate, Field, Form, Note, Purpose, Tone};
use crate::control::Control;
use crate::model::command::ApprovedStep;
use crate::model::handoff::{Decision, SubtaskSpec};
use crate::model::node::Node;
use crate::model::text;
use crate::report::measure::{UNKNOWN, duration, tokens};

/// A proposal of this score or more is worth a box; one below it is a line.
pub const WORTH_A_BOX: f64 = 75.0;

/// Makes the form. Of several at once each is taken whole: the steps of one are not those of another.
pub fn ask(aim: Aim<'_>) -> Form {
    let steps = match aim.nodes {
        [one] => aim.model.get(*one).map(proposed).unwrap_or_default(),
        _ => Vec::new(),
    };
    let fields = if steps.is_empty() {
        Vec::new()
    } else {
        vec![Field::Checks { label: STEPS.into(), items: steps, at: 0 }]
    };
    let notes = match aim.nodes {
        [one] => aim.model.get(*one).and_then(decision).map(reasons).unwrap_or_default(),
        _ => aim.each(),
    };
    Form { notes, ..aim.form(Control::Approve, "approve", fields) }
}

/// Why it is proposed, as far as that was told.
fn reasons(decision: &Decision) -> Vec<Note> {
    let mut notes = Vec::new();
    notes.extend(decision.score.map(|score| Note::new(Tone::Plain, format!("score {score:.0}"))));
    let pattern = decision.suggested_pattern.as_deref();
    notes.extend(pattern.map(|pattern| Note::new(Tone::Dim, format!("pattern {}", text::line(pattern)))));
    notes.extend(decision.reasoning.as_deref().map(|why| Note::new(Tone::Dim, text::line(why))));
    notes
}

/// Returns what is known of a proposal.
pub fn decision(node: &Node) -> Option<&Decision> {
    node.more().and_then(|more| more.decision.as_deref())
}

/// Returns the proposed steps.
pub fn proposed(node: &Node) -> Vec<Check> {
    let steps = decision(node).map(|decision| decision.subtasks.as_slice()).unwrap_or_default();
    steps.iter().map(|step| check(step, steps)).collect()
}

/// Returns a step as something to tick; those that it comes after are named by their place among all.
pub fn check(step: &SubtaskSpec, all: &[SubtaskSpec]) -> Check {
    let clean = |text: &str| text::line(text).into_string();
    let mut parts = Vec::new();
    // What comes first is what is seen where there is little room.
    let after: Vec<String> = step.dependencies.iter().map(ToString::to_string).collect();
    let places = step.dependencies.iter().map(|id| {
        let place = all.iter().position(|other| other.id == *id);
        place.map_or_else(|| id.to_string(), |place| (place + 1).to_string())
    });
    if !after.is_empty() {
        parts.push(format!("after {}", places.collect::<Vec<_>>().join(", ")));
    }
    parts.extend(step.estimated_duration.map(|ms| format!("~{}", span(ms))));
    parts.extend(step.complexity.map(|complexity| format!("complexity {complexity:.0}")));
    let number = |name: &str| step.extra.get(name);
    Check {
        is_on: true,
        id: step.id.to_string(),
        label: clean(step.title.as_deref().unwrap_or(step.id.as_str())),
        agent: step.agent.as_deref().map(clean),
        note: clean(&parts.join(" · ")),
        after,
        estimate: Estimate {
            ms: step.estimated_duration,
            tokens: number("estimatedTokens").and_then(serde_json::Value::as_u64),
            dollars: number("estimatedCost").and_then(serde_json::Value::as_f64),
        },
        ..Check::default()
    }
}

/// Returns what a step is called in a list: with its number where others speak of it by that.
pub fn numbered(items: &[Check], nth: usize, label: &str) -> String {
    let is_spoken_of = items.iter().any(|item| !item.after.is_empty());
    if is_spoken_of { format!("{}. {label}", nth + 1) } else { label.to_owned() }
}

/// Says which ticked steps come after one that is not ticked; nothing where none does.
pub fn gaps(items: &[Check]) -> Option<String> {
    let is_off = |id: &String| items.iter().any(|item| item.id == *id && !item.is_on);
    let gaps = items.iter().filter(|item| item.is_on && item.after.iter().any(is_off));
    let names: Vec<&str> = gaps.map(|item| item.label.as_str()).collect();
    (!names.is_empty())
        .then(|| text::line(&format!("without what comes before: {}", names.join(", "))).into())
}

/// Returns what these are estimated to take together, in words.
pub fn totals<'c>(checks: impl Iterator<Item = &'c Check>) -> String {
    let all: Vec<Estimate> = checks.map(|check| check.estimate).collect();
    let time = sum(all.iter().map(|one| one.ms), |ms| span(ms.iter().sum()));
    let spent = sum(all.iter().map(|one| one.tokens), |all| tokens(all.iter().sum()));
    let money = sum(all.iter().map(|one| one.dollars), |all| format!("${:.2}", all.iter().sum::<f64>()));
    format!("time {time}, tokens {spent}, cost {money}")
}

/// Returns a sum of estimates: with a plus where some are not known, nothing where none is.
fn sum<T>(parts: impl Iterator<Item = Option<T>>, add: impl Fn(&[T]) -> String) -> String {
    let parts: Vec<Option<T>> = parts.collect();
    let count = parts.len();
    let known: Vec<T> = parts.into_iter().flatten().collect();
    match known.len() {
        0 => UNKNOWN.to_owned(),
        all if all == count => format!("~{}", add(&known)),
        _ => format!("~{}+", add(&known)),
    }
}

fn span(ms: u64) -> String {
    duration(std::time::Duration::from_millis(ms))
}

/// Makes the form that changes one step of the form in front.
pub fn edit(form: &Form, agents: &[String]) -> Option<Form> {
    let Some(Field::Checks { items, at, .. }) = form.fields.get(form.focus) else { return None };
    let item = items.get(*at)?;
    let agent = agent_of(agents, "as proposed", "");
    let fields = vec![Field::text(TITLE, "what the step is called"), agent];
    let mut edit =
        Form { fields, ..Form::new(Purpose::EditStep(*at), format!("Change {}", item.id), "change it") };
    edit.fill(TITLE, &item.label);
    edit.fill(AGENT, item.agent.as_deref().unwrap_or_default());
    Some(edit)
}

/// Changes a step as it was filled in.
pub fn change(check: &mut Check, edit: &Form) -> Result<(), String> {
    let title = edit.typed(TITLE).ok_or("A step needs a title.")?;
    check.is_retitled |= title != check.label;
    check.label = title;
    if let Some(agent) = agent(edit).filter(|agent| check.agent.as_ref() != Some(agent)) {
        check.is_reassigned = true;
        check.agent = Some(agent);
    }
    Ok(())
}

/// Returns what is ticked, with what was changed of it, in its order.
pub fn approved(form: &Form) -> Vec<ApprovedStep> {
    let of = |item: &&Check| ApprovedStep {
        id: item.id.as_str().into(),
        title: item.is_retitled.then(|| item.label.clone()),
        agent: item.agent.clone().filter(|_| item.is_reassigned),
    };
    form.ticked().iter().map(of).collect()
}
