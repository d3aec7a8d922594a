//! What came back: the validated return, the worst first.

use ratatui::text::Line;

use super::parts::{Look, cut, field, hang, item, nothing, number, section};
use super::{markdown, output};
use crate::model::handoff::{Artifact, Outcome, ReturnedError};
use crate::model::key::NodeKey;
use crate::model::node::Node;
use crate::model::status::StatusWord;
use crate::model::text as clean;
use crate::monitor::view::Scene;
use crate::monitor::view::text::span;
use crate::monitor::view::theme::Role;
use crate::report::measure::UNKNOWN;
use crate::report::text::title;

/// Lines of one text of a return.
const LONGEST: usize = 1_000;
/// Steps whose results are shown below a delegation's own.
const STEPS: usize = 200;

/// Returns the lines of this tab.
pub fn lines(scene: &Scene<'_>, node: &Node, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let word = node.status.word();
    let sign = crate::monitor::view::tree::sign_of(scene, word);
    let said = node.claims.iter().find_map(|claim| claim.raw.as_deref());
    let said = said.map_or_else(String::new, |raw| format!(" (it says {raw})"));
    lines.extend(field(
        scene,
        "status",
        &format!("{sign} {}{said}", word.as_str()),
        width,
        Role::of_status(word),
    ));
    if let Some(why) = node.status.why() {
        lines.extend(field(scene, "reason", why, width, Role::of_status(word)));
    }
    if let Some(retryable) = node.status.retryable() {
        let text = if retryable { "can be retried" } else { "cannot be retried" };
        lines.extend(field(scene, "", text, width, Role::Dim));
    }
    if let Some(quality) = node.more().and_then(|more| more.quality) {
        lines.extend(field(scene, "quality", &number(quality), width, Role::Text));
    } else if node.status.word() == StatusWord::Done && is_ours(node) {
        let why = "not rated: nothing came back that can be checked";
        lines.extend(field(scene, "quality", why, width, Role::Dim));
    }
    match node.outcome() {
        Some(outcome) => returned(&mut lines, scene, &outcome, width),
        None if node.children().is_empty() => {
            let why =
                if node.status.is_ended() { "It returned nothing." } else { "It has not returned yet." };
            lines.push(Line::default());
            lines.extend(nothing(scene, why, width));
        }
        None => {}
    }
    steps(&mut lines, scene, node, width);
    lines
}

/// Returns whether an engine of ours ran it, and so would have rated it.
fn is_ours(node: &Node) -> bool {
    node.keys.iter().any(|key| matches!(key, NodeKey::Delegation(_) | NodeKey::Subtask(..)))
}

fn returned(lines: &mut Vec<Line<'static>>, scene: &Scene<'_>, outcome: &Outcome, width: usize) {
    if !outcome.errors.is_empty() {
        section(lines, scene, "Errors");
        for error in &outcome.errors {
            failed(lines, scene, error, width);
        }
    }
    if !outcome.findings.is_empty() {
        section(lines, scene, "Return");
        for finding in &outcome.findings {
            let role = if finding.warns { Role::Warn } else { Role::Error };
            let sign = if finding.warns { scene.sign("!", "!") } else { scene.sign("✖", "x") };
            let lead = vec![span(format!("{sign} "), scene.style(role))];
            lines.extend(hang(lead, &finding.message, width, scene.style(role)));
        }
    }
    let look = Look::of(scene);
    let texts = [
        ("Summary", &outcome.summary),
        ("Next steps", &outcome.next_steps),
        ("Tests", &outcome.tests_run),
        ("Evidence", &outcome.evidence),
    ];
    for (name, text) in texts {
        if let Some(text) = text.as_deref().filter(|text| !text.trim().is_empty()) {
            section(lines, scene, name);
            let text = markdown::lines(&look, text, width);
            lines.extend(cut(text, LONGEST, scene.style(Role::Faint)));
        }
    }
    if !outcome.artifacts.is_empty() {
        section(lines, scene, "Artifacts");
        for artifact in &outcome.artifacts {
            made(lines, scene, artifact, width);
        }
    }
    if !outcome.files_modified.is_empty() {
        section(lines, scene, "Files");
        for file in &outcome.files_modified {
            lines.extend(item(scene, file, width, Role::Link));
        }
    }
}

/// An error: what it is, what it says, whether it can be got over, and what to do.
fn failed(lines: &mut Vec<Line<'static>>, scene: &Scene<'_>, error: &ReturnedError, width: usize) {
    let kind = error.kind.as_deref().unwrap_or("error");
    let code = error.code.as_deref().map_or_else(String::new, |code| format!(" {code}"));
    let message = error.message.as_deref().map_or_else(String::new, |message| format!(": {message}"));
    let sign = span(format!("{} ", scene.sign("✖", "x")), scene.style(Role::Error));
    lines.extend(hang(vec![sign], &format!("{kind}{code}{message}"), width, scene.style(Role::Error)));
    let recoverable = match error.recoverable {
        Some(true) => "recoverable",
        Some(false) => "not recoverable",
        None => "recoverable: not told",
    };
    let indent = || vec![span("  ", scene.style(Role::Dim))];
    lines.extend(hang(indent(), recoverable, width, scene.style(Role::Dim)));
    if let Some(advice) = error.recommendation.as_deref() {
        let lead = vec![span(format!("  {} ", scene.sign("→", ">")), scene.style(Role::Info))];
        lines.extend(hang(lead, advice, width, scene.style(Role::Info)));
    }
}

/// Something the agent says it made, and whether anybody found it.
fn made(lines: &mut Vec<Line<'static>>, scene: &Scene<'_>, artifact: &Artifact, width: usize) {
    let (sign, found, role) = match artifact.exists {
        Some(true) => (scene.sign("✔", "+"), "", Role::Good),
        Some(false) => (scene.sign("✖", "x"), "  missing", Role::Error),
        None => (scene.sign("·", "."), "  not checked", Role::Dim),
    };
    let path = clean::line(artifact.path.as_deref().unwrap_or(UNKNOWN));
    let style = if artifact.exists == Some(false) { Role::Error } else { Role::Link };
    let lead = vec![span(format!("{sign} "), scene.style(role))];
    lines.extend(hang(lead, &format!("{path}{found}"), width, scene.style(style)));
    let about = [artifact.kind.as_deref(), artifact.summary.as_deref()];
    let about: Vec<&str> = about.into_iter().flatten().filter(|text| !text.is_empty()).collect();
    if !about.is_empty() {
        let indent = vec![span("  ", scene.style(Role::Dim))];
        lines.extend(hang(indent, &about.join(": "), width, scene.style(Role::Dim)));
    }
}

/// The results of the steps: what failed first, then the others as they stand.
fn steps(lines: &mut Vec<Line<'static>>, scene: &Scene<'_>, node: &Node, width: usize) {
    if node.children().is_empty() {
        return;
    }
    section(lines, scene, "Steps");
    let mut children: Vec<&Node> =
        node.children().iter().filter_map(|child| scene.model.get(*child)).collect();
    children.sort_by_key(|child| u8::from(child.status.word() != StatusWord::Failed));
    for child in children.iter().take(STEPS) {
        let word = child.status.word();
        let sign = crate::monitor::view::tree::sign_of(scene, word);
        let lead = vec![span(format!("{sign} "), scene.style(Role::of_status(word)))];
        lines.extend(hang(lead, &title(child), width, scene.style(Role::Text)));
        let text = child.status.why().or(child.summary());
        if let Some(text) = text.and_then(|text| text.lines().next()).filter(|text| !text.is_empty()) {
            let indent = vec![span("  ", scene.style(Role::Dim))];
            lines.extend(hang(indent, text, width, scene.style(Role::Dim)));
        }
    }
    let left = children.len().saturating_sub(STEPS);
    if left > 0 {
        lines.extend(nothing(scene, &output::more_below(left), width));
    }
}
