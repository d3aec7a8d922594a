//! The form of a cancel: what would end, what it cost, what it leaves behind, and how far it goes.

use super::ask::{Aim, CHANGES, HOW, REASON, SCOPE};
use super::{Choice, Field, Form, Note, Purpose, Tone};
use crate::control::{Control, Target, channel};
use crate::model::node::Node;
use crate::model::{Model, NodeIx};

/// The word of the choice to roll back: what cannot be rolled back withdraws it.
pub const ROLLBACK: &str = "rollback";

/// Returns the choice to roll back.
pub fn rollback(label: &str) -> Choice {
    Choice::new(ROLLBACK, label, "undo what it changed, as far as it is still so")
}

/// Returns the note whose place it takes what a rollback would do, once that is known.
pub fn unforeseen(ticket: u64) -> Note {
    Note { ticket: Some(ticket), ..Note::new(Tone::Dim, "Roll back: looking what that would undo…") }
}

/// Makes the form.
pub fn ask(aim: Aim<'_>) -> Form {
    let dependants = dependants(aim.model, aim.nodes);
    let waiting: Vec<Target> =
        dependants.iter().filter_map(|ix| channel(aim.model, *ix, Control::Cancel).ok()?.engine()).collect();
    let title = format!("Cancel {}", aim.names());
    let mut notes = aim.each();
    notes.extend(aim.reach());
    let mut fields = Vec::new();
    if !waiting.is_empty() {
        let names: Vec<String> =
            dependants.iter().filter_map(|ix| aim.model.get(*ix)).map(crate::report::text::title).collect();
        let note = format!("{} too: {}", names.len(), names.join(", "));
        let scope = vec![
            Choice::new("this", "this, with all below it", "what waits for it can no longer run"),
            Choice::new("dependants", "and what waits for it", note),
        ];
        fields.push(Field::choice(SCOPE, scope));
    }
    // One agent inside a session has no snapshots of its own.
    if aim.targets.iter().all(|target| target.agent.is_none()) {
        let changes = vec![Choice::new("keep", "stay as they are", ""), rollback("roll back")];
        fields.push(Field::choice(CHANGES, changes));
    }
    fields.push(Field::text(REASON, "why, for the record (may stay empty)"));
    let purpose = Purpose::Cancel { targets: aim.targets, dependants: waiting };
    // The keys go to the reason: the rest is as it is mostly meant.
    let focus = fields.len() - 1;
    Form { notes, fields, focus, ..Form::new(purpose, title, "cancel it") }
}

/// Returns the note whose place the count of changed files takes, once it was counted.
pub fn uncounted(ticket: u64) -> Note {
    Note { ticket: Some(ticket), ..Note::new(Tone::Dim, "Uncommitted changes: not known yet.") }
}

/// Returns the steps that have not ended and wait, at whatever distance, for one of these.
pub fn dependants(model: &Model, nodes: &[NodeIx]) -> Vec<NodeIx> {
    let mut found: Vec<NodeIx> = Vec::new();
    let mut from: Vec<NodeIx> = nodes.to_vec();
    while let Some(ix) = from.pop() {
        let Some(node) = model.get(ix) else { continue };
        let siblings =
            node.parent().and_then(|parent| model.get(parent)).map(Node::children).unwrap_or_default();
        for other in siblings {
            let waits =
                model.get(*other).is_some_and(|other| !other.status.is_ended() && waits_for(other, node));
            if waits && !found.contains(other) && !nodes.contains(other) {
                found.push(*other);
                from.push(*other);
            }
        }
    }
    found.sort_unstable();
    found
}

fn waits_for(node: &Node, other: &Node) -> bool {
    let is_it = |id| other.keys.iter().any(|key| key.subtask().is_some_and(|(_, step)| step == id));
    node.depends_on.iter().flatten().any(is_it)
}

/// Returns what a filled-in form ends.
pub fn chosen<'a>(form: &Form, targets: &'a [Target], dependants: &'a [Target]) -> Vec<&'a Target> {
    let others = if form.chosen(SCOPE) == Some("dependants") { dependants } else { &[] };
    targets.iter().chain(others).collect()
}

/// Returns whether a filled-in form wants the changes undone.
pub fn undoes(form: &Form) -> bool {
    form.chosen(CHANGES).or_else(|| form.chosen(HOW)) == Some(ROLLBACK)
}
