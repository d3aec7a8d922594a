//! What the agent says and does, as it comes: its text as markdown, each tool call folded to a line, what a
//! delegated agent answered in a card. A node without a session of its own shows what those below it came to.

use ratatui::text::{Line, Span};

use super::card::{card, inside};
use super::parts::{Look, cut, hang, paragraph};
use super::{markdown, silence};
use crate::model::node::{Node, NodeKind};
use crate::monitor::app::log::{Log, Shown, What};
use crate::monitor::input::action::Action;
use crate::monitor::view::Scene;
use crate::monitor::view::text::{fit, span, width as cells};
use crate::monitor::view::theme::Role;
use crate::report::text::title;

/// Lines that are wrapped for one frame, where the log has none at hand.
const MOST: usize = 4_000;
/// Lines of one entry; the whole is in the session's log.
const LONGEST: usize = 2_000;
/// Lines of a child's answer in its card.
const CARD: usize = 40;
/// Cards of children that are shown.
const CARDS: usize = 50;
/// Tools that hand work to another agent.
const DELEGATES: [&str; 5] = ["task", "agent", "delegate", "spawn_agent", "subagent"];

/// Returns the lines of this tab.
pub fn lines(scene: &Scene<'_>, node: &Node, width: usize) -> Vec<Line<'static>> {
    let Some(log) = silence::log_of(&scene.ui.log, node).filter(|log| !log.entries.is_empty()) else {
        return without_log(scene, node, width);
    };
    let look = Look::of(scene);
    let mut entries: Vec<Vec<Line<'static>>> = Vec::new();
    let mut count = 0;
    for shown in log.entries.iter().rev() {
        if count >= MOST {
            break;
        }
        let lines = entry(&look, shown, width);
        count += lines.len();
        entries.push(lines);
    }
    let is_cut = log.is_cut || entries.len() < log.entries.len();
    let mut lines = lead(scene, is_cut, width);
    lines.extend(entries.into_iter().rev().flatten());
    lines
}

/// Returns what stands above the log's own lines and how many those are, where the log keeps them wrapped.
pub fn kept(scene: &Scene<'_>, node: &Node, width: usize) -> Option<(Vec<Line<'static>>, usize)> {
    let log: &Log = silence::log_of(&scene.ui.log, node).filter(|log| !log.entries.is_empty())?;
    let (total, is_cut) = log.prepared(&Look::of(scene), width)?;
    Some((lead(scene, is_cut, width), total))
}

fn lead(scene: &Scene<'_>, is_cut: bool, width: usize) -> Vec<Line<'static>> {
    if !is_cut {
        return Vec::new();
    }
    let mut lines = paragraph(scene, "Earlier lines are in the session's log.", width, Role::Faint);
    lines.push(Line::default());
    lines
}

/// Returns one entry as lines, a blank line below what is longer than one.
pub fn entry(look: &Look<'_>, shown: &Shown, width: usize) -> Vec<Line<'static>> {
    let style = |role| look.style(role);
    let mut lines = match &shown.what {
        What::Output(text) => cut(markdown::lines(look, text, width), LONGEST, style(Role::Faint)),
        What::Answer { by, text, .. } => answer_card(look, by, text, width),
        What::Thought(text) => thought(look, text, width),
        What::Tool { name, input, answer, .. } => return tool(look, name, input, answer.as_ref(), width),
        What::Question(text) => {
            let mark = span(format!("{} ", look.sign("?", "?")), style(Role::Warn));
            hang(vec![mark], text, width, style(Role::Warn))
        }
        What::Result { is_done, summary } => {
            let (mark, role) = mark(look, Some(*is_done));
            let lead = vec![span(format!("{mark} result  "), style(role))];
            hang(lead, summary, width, style(Role::Text))
        }
        What::Ended { word, error } => {
            let (mark, role) = mark(look, Some(*word == "done"));
            let text = error.as_deref().map_or_else(String::new, |error| format!(": {error}"));
            hang(
                vec![span(format!("{mark} "), style(role))],
                &format!("ended {word}{text}"),
                width,
                style(role),
            )
        }
    };
    lines.push(Line::default());
    lines
}

/// A thought between the lines is quiet, and short unless it is unfolded.
fn thought(look: &Look<'_>, text: &str, width: usize) -> Vec<Line<'static>> {
    let mark = span(format!("{} ", look.sign("∴", "~")), look.style(Role::Faint));
    let mut lines = hang(vec![mark], text, width, look.style(Role::Dim));
    if !look.unfolded {
        super::thoughts::fold(&mut lines, look, width);
    }
    lines
}

fn mark(look: &Look<'_>, ok: Option<bool>) -> (&'static str, Role) {
    match ok {
        Some(true) => (look.sign("✔", "+"), Role::Good),
        Some(false) => (look.sign("✖", "x"), Role::Error),
        None => (look.sign("…", "."), Role::Dim),
    }
}

/// A tool call: one line, or with its input and answer below; what another agent answered is a card.
fn tool(
    look: &Look<'_>,
    name: &str,
    input: &str,
    answer: Option<&(Option<bool>, String)>,
    width: usize,
) -> Vec<Line<'static>> {
    let (sign, role) = match answer {
        // An answer that does not say how it went came all the same.
        Some((ok, _)) => mark(look, Some(ok.unwrap_or(true))),
        None => mark(look, None),
    };
    let name = fit(name, width / 2);
    let gear = look.sign("⚙", "*");
    let used = cells(gear) + 1 + cells(&name) + 2 + 2 + cells(sign);
    let room = width.saturating_sub(used);
    let head = vec![
        span(format!("{gear} "), look.style(Role::Dim)),
        span(name.clone(), look.style(Role::Accent)),
        Span::raw("  "),
        span(fit(&gist(input), room), look.style(Role::Dim)),
        Span::raw("  "),
        span(sign, look.style(role)),
    ];
    let mut lines = vec![Line::from(head)];
    let delegates = DELEGATES.contains(&name.to_lowercase().as_str());
    if look.unfolded && !input.is_empty() {
        lines.extend(hang(vec![Span::raw("  ")], input, width, look.style(Role::Dim)));
    }
    match answer {
        Some((_, said)) if delegates && !said.is_empty() => {
            lines.extend(answer_card(look, &delegated_kind(input), said, width));
        }
        Some((_, said)) if look.unfolded && !said.is_empty() => {
            let lead = span(format!("  {} ", look.sign("└", "`")), look.style(Role::Faint));
            lines.extend(hang(vec![lead], said, width, look.style(Role::Text)));
        }
        Some(_) | None => {}
    }
    lines
}

/// What another agent says, in a frame with its name.
fn answer_card(look: &Look<'_>, by: &str, said: &str, width: usize) -> Vec<Line<'static>> {
    let inner = cut(markdown::lines(look, said, inside(width)), LONGEST, look.style(Role::Faint));
    card(look, by, look.style(Role::of_agent(by)), inner, width)
}

/// Returns what of a call's input is worth the one line: the command, the file, the pattern.
fn gist(input: &str) -> String {
    const TELLING: [&str; 10] = [
        "command",
        "cmd",
        "file_path",
        "filePath",
        "path",
        "pattern",
        "description",
        "query",
        "url",
        "prompt",
    ];
    let value: serde_json::Value = serde_json::from_str(input).unwrap_or_default();
    let told = TELLING.iter().find_map(|name| value.get(name)?.as_str());
    told.map_or_else(|| input.to_owned(), |told| crate::model::text::line(told).into())
}

/// Returns whom a call hands work to, as its input says.
fn delegated_kind(input: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(input).unwrap_or_default();
    let names = ["provider", "subagent_type", "agent", "agent_type"];
    let told = names.iter().find_map(|name| value.get(name)?.as_str());
    told.map_or_else(|| "agent".to_owned(), |name| crate::model::text::line(name).into())
}

/// What there is to show without a log: the children's answers, or why there is nothing.
fn without_log(scene: &Scene<'_>, node: &Node, width: usize) -> Vec<Line<'static>> {
    let look = Look::of(scene);
    let children: Vec<&Node> =
        node.children().iter().take(CARDS).filter_map(|child| scene.model.get(*child)).collect();
    if children.is_empty() {
        return nothing_yet(scene, node, width);
    }
    let mut lines = Vec::new();
    for child in children {
        lines.extend(child_card(scene, &look, child, width));
    }
    let left = node.children().len().saturating_sub(CARDS);
    if left > 0 {
        lines.extend(super::nothing(scene, &more_below(left), width));
    }
    lines
}

fn nothing_yet(scene: &Scene<'_>, node: &Node, width: usize) -> Vec<Line<'static>> {
    if let Some(summary) = node.summary() {
        let lines = markdown::lines(&Look::of(scene), summary, width);
        return cut(lines, LONGEST, scene.style(Role::Faint));
    }
    let has_session = !node.attempts.is_empty() || node.kind == NodeKind::Session;
    let why = if !has_session && !node.status.is_ended() {
        "It has not started, so it has said nothing.".to_owned()
    } else if let Some(action) = node.last_action.as_deref() {
        format!("No log of its session is at hand. Its last action: {action}")
    } else {
        "No log of its session is at hand.".to_owned()
    };
    let mut lines = super::nothing(scene, &why, width);
    if let Some(keys) = scene.keys.hint(Action::Attach).filter(|_| has_session && !node.status.is_ended()) {
        let text = format!("Press {keys} to open the agent's own program on it.");
        lines.extend(super::nothing(scene, &text, width));
    }
    lines
}

/// One child: its provider in the border, its state, and what it came to or does now.
fn child_card(scene: &Scene<'_>, look: &Look<'_>, child: &Node, width: usize) -> Vec<Line<'static>> {
    let word = child.status.word();
    let kind = child.provider.as_deref().or(child.agent.as_deref()).unwrap_or("agent");
    let sign = crate::monitor::view::tree::sign_of(scene, word);
    let room = inside(width);
    let head = vec![span(format!("{sign} "), scene.style(Role::of_status(word)))];
    let mut inner = hang(head, &title(child), room, scene.style(Role::Text));
    let summary = child.summary().filter(|text| !text.trim().is_empty());
    match (summary, child.status.why(), child.last_action.as_deref()) {
        (Some(summary), _, _) => inner.extend(markdown::lines(look, summary, room)),
        (None, Some(why), _) => inner.extend(paragraph(scene, why, room, Role::of_status(word))),
        (None, None, Some(action)) => inner.extend(paragraph(scene, action, room, Role::Dim)),
        (None, None, None) => inner.extend(paragraph(scene, word.as_str(), room, Role::of_status(word))),
    }
    let inner = cut(inner, CARD, scene.style(Role::Faint));
    let kind = crate::model::text::line(kind);
    card(look, &kind, look.style(Role::of_agent(&kind)), inner, width)
}

/// Says how many are left out.
pub fn more_below(left: usize) -> String {
    format!("{left} more below it.")
}
