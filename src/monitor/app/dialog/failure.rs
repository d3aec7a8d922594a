//! The form of a failure: what failed, in the agent's words, whether a retry helps, and what can be done. Of a
//! delegation each step that failed can be dealt with by itself.

use super::answer::agent;
use super::ask::{HOW, MODEL, REASON, by_whom, named};
use super::cancel::{ROLLBACK, rollback};
use super::{Choice, Failed, Field, Form, Label, Note, Purpose, Tone};
use crate::control::{Target, target};
use crate::model::command::Verb;
use crate::model::node::Node;
use crate::model::status::{Ending, Status};
use crate::model::text;
use crate::model::{Model, NodeIx};

/// So many failed steps have a field of their own; what is chosen for all reaches the others too.
const OWN_FIELDS: usize = 12;

/// Makes the form.
pub fn ask(model: &Model, ix: NodeIx, target: Target, agents: &[String]) -> Option<Form> {
    let node = model.get(ix)?;
    let steps = if target.step.is_some() { Vec::new() } else { failed_steps(model, node) };
    let title = if steps.is_empty() {
        format!("{}: {}", named(&target, Some(node)), node.status.word().as_str())
    } else {
        format!("Failed steps of {}", named(&target, Some(node)))
    };
    let mut notes = words_of(node, !steps.is_empty());
    let mut fields =
        vec![Field::choice(HOW, if steps.is_empty() { of_one(model, ix, &target) } else { of_all() })];
    if !steps.is_empty() {
        let done = node.children().len().saturating_sub(steps.len());
        notes.push(Note::new(Tone::Plain, format!("{} of its steps failed, {done} did not.", steps.len())));
    }
    fields.extend(steps.iter().take(OWN_FIELDS).map(|(label, ..)| Field::choice(label.clone(), of_step())));
    if let Some(more) = steps.len().checked_sub(OWN_FIELDS).filter(|more| *more > 0) {
        notes.push(Note::new(Tone::Dim, format!("{more} more failed steps get what all get.")));
    }
    fields.extend(by_whom(agents));
    fields
        .push(Field::text(REASON, "why, where it is skipped, taken as done or rolled back (may stay empty)"));
    let is_over = node.status.is_ended();
    let failed = Failed { ix, target, steps, is_over };
    Some(Form { notes, fields, ..Form::new(Purpose::Failure(failed), title, "do it") })
}

/// What the agent says of it, and whether a retry helps; of one whose steps tell that, what it says beside.
fn words_of(node: &Node, is_told_below: bool) -> Vec<Note> {
    let why = node.status.why().or((!is_told_below).then_some("It gave no reason."));
    let mut notes: Vec<Note> = why.map(|why| Note::new(Tone::Bad, why)).into_iter().collect();
    for error in node.beyond_words().into_iter().flat_map(|outcome| &outcome.errors) {
        notes.extend(error.message.as_deref().map(|said| Note::new(Tone::Bad, text::lines(said))));
        notes.extend(error.recommendation.as_deref().map(|said| Note::new(Tone::Dim, text::lines(said))));
    }
    if is_told_below {
        return notes;
    }
    notes.push(match node.status.retryable() {
        Some(true) => Note::new(Tone::Good, "It can be retried."),
        Some(false) => Note::new(Tone::Warn, "It says that a retry will not help."),
        None => Note::new(Tone::Dim, "Whether a retry helps is not known."),
    });
    notes
}

/// Returns the steps of a delegation that failed, each with what its field is called.
fn failed_steps(model: &Model, node: &Node) -> Vec<(Label, Target)> {
    let steps =
        node.children().iter().filter_map(|child| model.get(*child)).filter(|child| has_failed(child));
    let named = steps.filter_map(|step| {
        let target = target(model, step).ok().filter(|target| target.step.is_some())?;
        let why = step.status.why().and_then(|why| why.lines().next()).map(text::line);
        let hopeless = if step.status.retryable() == Some(false) { "; a retry will not help" } else { "" };
        let why = why.map(|why| format!(": {why}{hopeless}")).unwrap_or_default();
        // The id makes it another field than that of a step of the same title.
        let id = target.step.as_ref().map(ToString::to_string).unwrap_or_default();
        Some((Label::from(format!("{} ({id}){why}", crate::report::text::title(step))), target))
    });
    named.collect()
}

/// Returns whether something ended badly.
pub fn has_failed(node: &Node) -> bool {
    matches!(
        node.status,
        Status::Ended { how: Ending::Failed { .. } | Ending::TimedOut | Ending::Partial, .. }
    )
}

/// Returns whether a delegation has steps that failed, each to be dealt with.
pub fn has_failed_steps(model: &Model, node: &Node) -> bool {
    node.children().iter().filter_map(|child| model.get(*child)).any(has_failed)
}

fn of_one(model: &Model, ix: NodeIx, target: &Target) -> Vec<Choice> {
    let mut how = vec![
        Choice::new("retry", "retry", "the same prompt, a fresh clock"),
        Choice::new("failure", "retry with the failure", "the error's output is added to the prompt"),
        Choice::new("fresh", "retry from the beginning", "in a new session of its agent"),
    ];
    if target.step.is_some() {
        how.push(Choice::new("skip", "skip", "go on without it"));
    }
    how.push(Choice::new("accept", "mark done anyway", "what depends on it goes on"));
    how.push(rollback("roll back"));
    how.push(match model.get(ix).and_then(super::super::update::opens) {
        Some(_) => Choice::new("open", "open the file", "what it left, in your editor"),
        None => Choice::unavailable("open", "open the file", "it left none"),
    });
    how
}

fn of_all() -> Vec<Choice> {
    vec![
        Choice::new("retry", "retry all failed", "the same prompts, fresh clocks"),
        Choice::new("failure", "retry all failed, with the failure", "the errors are added to the prompts"),
        Choice::new("skip", "skip all failed", "go on without them"),
        Choice::new("accept", "mark all done anyway", "what depends on them goes on"),
        Choice::new("leave", "leave them", "only what is chosen below is done"),
        rollback("roll back all"),
    ]
}

fn of_step() -> Vec<Choice> {
    vec![
        Choice::new("", "as all", ""),
        Choice::new("retry", "retry", ""),
        Choice::new("failure", "with the failure", ""),
        Choice::new("skip", "skip", ""),
        Choice::new("accept", "mark done", ""),
        Choice::new("leave", "leave it", ""),
    ]
}

/// Returns the commands that a filled-in form asks for.
pub fn commands(form: &Form, failed: &Failed) -> Result<Vec<(Target, Verb)>, String> {
    let all = form.chosen(HOW).unwrap_or("retry");
    if all == ROLLBACK {
        return Ok(vec![(failed.target.clone(), Verb::Rollback { reason: form.typed(REASON) })]);
    }
    if failed.steps.is_empty() {
        return Ok(verb(form, all).map(|verb| (failed.target.clone(), verb)).into_iter().collect());
    }
    let own = |label: &Label| form.chosen(label).filter(|word| !word.is_empty());
    let is_for_all = failed.steps.iter().all(|(label, _)| own(label).is_none());
    // To the whole: what was cut off when it ended comes back with it.
    if is_for_all && failed.is_over && matches!(all, "retry" | "failure" | "fresh") {
        return Ok(verb(form, all).map(|verb| (failed.target.clone(), verb)).into_iter().collect());
    }
    let each = failed.steps.iter().filter_map(|(label, target)| {
        verb(form, own(label).unwrap_or(all)).map(|verb| (target.clone(), verb))
    });
    let commands: Vec<(Target, Verb)> = each.collect();
    if commands.is_empty() { Err("Choose what is to be done with a step.".into()) } else { Ok(commands) }
}

fn verb(form: &Form, word: &str) -> Option<Verb> {
    let reason = form.typed(REASON);
    Some(match word {
        "skip" => Verb::Skip { reason, result: None },
        "accept" => Verb::Accept { reason },
        "retry" | "failure" | "fresh" => Verb::Retry {
            with_failure: word == "failure",
            agent: agent(form),
            model: form.typed(MODEL),
            fresh: word == "fresh",
        },
        _ => return None,
    })
}
