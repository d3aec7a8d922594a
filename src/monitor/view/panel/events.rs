//! What happened to it, in order: the journal's moments, and the commands that were given, with their proof.

use ratatui::text::Line;

use super::parts::{hang, nothing, time_of};
use crate::model::command::{Receipt, ReceiptState};
use crate::model::node::Node;
use crate::model::time::Stamp;
use crate::monitor::view::Scene;
use crate::monitor::view::text::{fit, pad, span};
use crate::monitor::view::theme::Role;

/// The latest moments are of interest; the journal has all.
const MOST: usize = 1_000;
/// The time and a gap.
const TIME: usize = 10;

/// One line of the timeline.
struct Moment {
    at: Option<Stamp>,
    what: String,
    note: String,
    role: Role,
}

/// Returns the lines of this tab.
pub fn lines(scene: &Scene<'_>, node: &Node, width: usize) -> Vec<Line<'static>> {
    let left = node.timeline.len().saturating_sub(MOST);
    let mut moments: Vec<Moment> = node.timeline.iter().skip(left).map(told).collect();
    let receipts = node.more().map(|more| more.receipts.as_slice()).unwrap_or_default();
    let receipts = receipts.iter().filter_map(|id| scene.model.receipts().get(id));
    moments.extend(receipts.flat_map(|receipt| commanded(scene, receipt)));
    if moments.is_empty() {
        return nothing(scene, "Nothing is on record.", width);
    }
    // Stable: what has no time of its own stays behind what came before it.
    let mut last = None;
    let mut keyed: Vec<(Option<Stamp>, Moment)> = Vec::with_capacity(moments.len());
    for moment in moments {
        last = moment.at.or(last);
        keyed.push((last, moment));
    }
    keyed.sort_by_key(|(at, _)| *at);
    let mut lines = Vec::new();
    if left > 0 {
        lines.extend(nothing(scene, &format!("{left} earlier moments are in the journal."), width));
    }
    let mut day = None;
    for (_, moment) in &keyed {
        let today = moment.at.map(|at| at.to_string().get(..10).unwrap_or_default().to_owned());
        if today.is_some() && today != day {
            let text = today.clone().unwrap_or_default();
            lines.push(Line::from(span(format!("{text} UTC"), scene.style(Role::Faint))));
            day = today;
        }
        lines.extend(drawn(scene, moment, width));
    }
    lines
}

/// One moment: time, name, note; on narrow panels the note stands below the name.
fn drawn(scene: &Scene<'_>, moment: &Moment, width: usize) -> Vec<Line<'static>> {
    /// Names line up in a column where there is room for one.
    const NAME: usize = 20;
    const WIDE: usize = 60;
    let time = moment.at.map(time_of).unwrap_or_default();
    let time = span(pad(&time, TIME), scene.style(Role::Dim));
    if width >= WIDE && !moment.note.is_empty() {
        let name = span(pad(&fit(&moment.what, NAME - 1), NAME), scene.style(moment.role));
        return hang(vec![time, name], &moment.note, width, scene.style(Role::Text));
    }
    let mut lines = hang(vec![time], &moment.what, width, scene.style(moment.role));
    if !moment.note.is_empty() {
        let indent = span(" ".repeat(TIME), scene.style(Role::Dim));
        lines.extend(hang(vec![indent], &moment.note, width, scene.style(Role::Text)));
    }
    lines
}

fn told(moment: &crate::model::node::Moment) -> Moment {
    let name = moment.name.strip_prefix("delegation:").unwrap_or(&moment.name);
    let role = if name.contains("failed") || name.contains("lost") {
        Role::Error
    } else if name.contains("completed") {
        Role::Good
    } else {
        Role::Accent
    };
    Moment {
        at: moment.at,
        what: in_words(&moment.name),
        note: moment.note.as_deref().unwrap_or_default().to_owned(),
        role,
    }
}

/// Says the name of an event in plain words; one that nobody knows here keeps its own.
fn in_words(name: &str) -> String {
    let words = match name {
        "delegation:hint" => "hint given",
        "delegation:decision" => "decided",
        "delegation:budget" => "budget",
        "delegation:subtask-progress" => "step went on",
        "delegation:subtask-usage" => "step spent",
        "delegation:subtask-review" => "step to be reviewed",
        "agent:progress" => "agent went on",
        "agent:usage" => "agent spent",
        "session:intended" => "session prepared",
        _ => "",
    };
    if !words.is_empty() {
        return words.to_owned();
    }
    let name = name.strip_prefix("delegation:").unwrap_or(name);
    let name = name.strip_prefix("subtask-").map_or_else(|| name.to_owned(), |rest| format!("step {rest}"));
    name.replace([':', '-'], " ")
}

/// A command: that it was given, and what became of it.
fn commanded(scene: &Scene<'_>, receipt: &Receipt) -> Vec<Moment> {
    let kind = receipt.kind.as_deref().unwrap_or("command");
    let by = receipt.by.as_deref().map_or_else(String::new, |by| format!("by {by}"));
    let sign = |sign: &'static str, plain: &'static str| scene.sign(sign, plain);
    let given = Moment {
        at: receipt.accepted_at,
        what: format!("{} {kind} accepted", sign("▸", ">")),
        note: by,
        role: Role::Info,
    };
    let (at, what, note, role) = match &receipt.state {
        ReceiptState::Accepted => {
            (None, format!("{} {kind} not confirmed yet", sign("…", ".")), String::new(), Role::Dim)
        }
        ReceiptState::Overdue => {
            let note = "nobody told in time that it was done".to_owned();
            (receipt.deadline, format!("{} {kind} overdue", sign("⧖", "!")), note, Role::Warn)
        }
        ReceiptState::Confirmed { at, proof, effects } => {
            let proof = proof.as_deref().map_or_else(|| effects_of(effects), str::to_owned);
            (*at, format!("{} {kind} confirmed", sign("✔", "+")), proof, Role::Good)
        }
        ReceiptState::Refused { at, code, reason } => {
            let why = reason.as_deref().or(code.as_deref()).unwrap_or("no reason given").to_owned();
            (*at, format!("{} {kind} refused", sign("✖", "x")), why, Role::Error)
        }
    };
    let ended = Moment { at, what, note, role };
    if given.at.is_none() { vec![ended] } else { vec![given, ended] }
}

fn effects_of(effects: &[crate::model::event::payload::Proof]) -> String {
    let done: Vec<&str> = effects.iter().filter_map(|effect| effect.did.as_deref()).collect();
    done.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::event::NAMES;

    #[test]
    fn events_are_told_in_plain_words() {
        assert_eq!(in_words("delegation:subtask-started"), "step started");
        assert_eq!(in_words("delegation:subtask-timed-out"), "step timed out");
        assert_eq!(in_words("question:asked"), "question asked");
        for name in NAMES {
            let words = in_words(name);
            assert!(!words.contains([':', '-']) && !words.contains("subtask"), "{name}: {words}");
        }
    }
}
