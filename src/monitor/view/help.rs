//! The help: every action with its keys, made from the keymap, so that it cannot be wrong; then what the signs mean.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::Scene;
use super::dialog::overlay;
use super::text::{fit, pad, put, put_line, span, width, wrap_line};
use super::theme::Role;
use super::tree::{DISAGREE, sign_of};
use crate::model::status::WORDS;
use crate::monitor::input::action::{Action, Group};
use crate::monitor::input::keymap::Context;

/// As wide as the longest line is.
const WIDEST: u16 = 106;
/// The columns of the keys and of the names.
const KEYS: usize = 18;
const NAMES: usize = 18;
/// Where what an action does begins beside them, and how far it is moved in below them.
const LEAD: usize = 2 + KEYS + 1 + NAMES + 1;
const INDENT: usize = 4;

/// Draws the help over the screen; returns how far it can be scrolled, and how many lines it shows at once.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, scroll: usize) -> (usize, usize) {
    let wide = WIDEST.min(area.width.saturating_sub(2));
    let lines = lines(scene, usize::from(wide.saturating_sub(4)));
    let high = u16::try_from(lines.len() + 3).unwrap_or(u16::MAX);
    let inner = overlay(area, buf, scene, "Keys", (wide, high.min(area.height.saturating_sub(2)).max(4)));
    let body = Rect { height: inner.height.saturating_sub(1), ..inner };
    let most = lines.len().saturating_sub(usize::from(body.height));
    let from = scroll.min(most);
    for (line, y) in lines.iter().skip(from).zip(body.top()..body.bottom()) {
        put_line(buf, Rect { y, height: 1, ..body }, line);
    }
    let foot = Rect { y: inner.bottom().saturating_sub(1), height: 1, ..inner };
    // Of several keys one that is no letter: escape is what people try first.
    let keys = scene.keys.keys_of(Context::Dialog, Action::DialogNo);
    let close = keys.iter().find(|key| key.chars().count() > 1).or(keys.first()).cloned().unwrap_or_default();
    let x = put(buf, foot, foot.x, &close, scene.style(Role::Key));
    let x = put(buf, foot, x, " close   ", scene.style(Role::Dim));
    let more = lines.len().saturating_sub(from + usize::from(body.height));
    if more > 0 {
        let down = scene.keys.hint(Action::DialogDown).unwrap_or_default();
        let x = put(buf, foot, x, &down, scene.style(Role::Key));
        put(buf, foot, x, &format!(" {more} lines more"), scene.style(Role::Dim));
    }
    (most, usize::from(body.height))
}

/// Returns the lines of the help; what an action does is wrapped rather than cut.
pub fn lines(scene: &Scene<'_>, wide: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for group in Group::ALL {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::from(span(group.name(), scene.style(Role::Heading))));
        let context = if *group == Group::Dialog { Context::Dialog } else { Context::Normal };
        for action in Action::ALL.iter().filter(|action| action.group() == *group) {
            let keys = scene.keys.keys_of(context, *action);
            let keys = if keys.is_empty() { "by name".to_owned() } else { keys.join(" ") };
            if wide >= LEAD + 20 {
                lines.extend(beside(scene, *action, &keys, wide));
            } else {
                lines.extend(below(scene, *action, &keys, wide));
            }
        }
    }
    lines.push(Line::default());
    lines.extend(signs(scene, wide));
    lines
}

/// The signs of the rows: each state has a shape, and what else may stand there says something.
fn signs(scene: &Scene<'_>, wide: usize) -> Vec<Line<'static>> {
    const MARKS: [(&str, &str); 9] = [
        ("?", "somebody waits for you"),
        (DISAGREE, "sources disagree about the state: the Why panel says who says what"),
        ("●", "marked"),
        ("…", "a command was sent, and is not confirmed yet"),
        ("~", "an estimate"),
        ("–", "not known"),
        ("≥", "a lower bound: not all of it has a price"),
        ("$?", "no price is known"),
        ("›", "what stands before it is the project"),
    ];
    let states = WORDS.map(|(word, name)| (sign_of(scene, word), name));
    let mut lines = vec![Line::from(span("Signs", scene.style(Role::Heading)))];
    for (sign, says) in states.into_iter().chain(MARKS) {
        let lead = format!("  {} ", pad(sign, 2));
        let mut rest = wrap_line(says, wide.saturating_sub(width(&lead)).max(8)).into_iter();
        let indent = " ".repeat(width(&lead));
        let first = span(rest.next().unwrap_or_default(), scene.style(Role::Dim));
        lines.push(Line::from(vec![span(lead, scene.style(Role::Text)), first]));
        lines.extend(rest.map(|line| Line::from(span(format!("{indent}{line}"), scene.style(Role::Dim)))));
    }
    lines
}

/// Keys, name and what it does, side by side.
fn beside(scene: &Scene<'_>, action: Action, keys: &str, wide: usize) -> Vec<Line<'static>> {
    let mut says = wrap_line(action.describe(), wide.saturating_sub(LEAD)).into_iter();
    let first = vec![
        span(format!("  {} ", pad(&fit(keys, KEYS), KEYS)), scene.style(Role::Key)),
        span(format!("{} ", pad(action.name(), NAMES)), scene.style(Role::Text)),
        span(says.next().unwrap_or_default(), scene.style(Role::Dim)),
    ];
    let rest =
        says.map(|line| Line::from(span(format!("{}{line}", " ".repeat(LEAD)), scene.style(Role::Dim))));
    std::iter::once(Line::from(first)).chain(rest).collect()
}

/// On a narrow screen: the name and its keys, and below them what it does.
fn below(scene: &Scene<'_>, action: Action, keys: &str, wide: usize) -> Vec<Line<'static>> {
    let name = format!("  {}  ", action.name());
    let indented = |text: &str, role: Role| -> Vec<Line<'static>> {
        let lines = wrap_line(text, wide.saturating_sub(INDENT).max(8)).into_iter();
        lines
            .map(|line| Line::from(span(format!("{}{line}", " ".repeat(INDENT)), scene.style(role))))
            .collect()
    };
    let is_short = width(&name) + width(keys) <= wide;
    let mut first = vec![span(name, scene.style(Role::Text))];
    if is_short {
        first.push(span(keys, scene.style(Role::Key)));
    }
    let mut lines = vec![Line::from(first)];
    if !is_short {
        lines.extend(indented(keys, Role::Key));
    }
    lines.extend(indented(action.describe(), Role::Dim));
    lines
}
