//! The help: every action with its keys, made from the keymap, so that it cannot be wrong.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::Scene;
use super::dialog::overlay;
use super::text::{fit, pad, put, put_line, span, wrap_line};
use super::theme::Role;
use crate::monitor::input::action::{Action, Group};
use crate::monitor::input::keymap::Context;

/// As wide as the longest line is.
const WIDEST: u16 = 106;
/// The columns of the keys and of the names.
const KEYS: usize = 18;
const NAMES: usize = 18;

/// Draws the help over the screen; returns how far it can be scrolled.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, scroll: usize) -> usize {
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
    let close = scene.keys.hint(Action::DialogNo).unwrap_or_default();
    let x = put(buf, foot, foot.x, &close, scene.style(Role::Key));
    let x = put(buf, foot, x, " close   ", scene.style(Role::Dim));
    let more = lines.len().saturating_sub(from + usize::from(body.height));
    if more > 0 {
        let down = scene.keys.hint(Action::DialogDown).unwrap_or_default();
        let x = put(buf, foot, x, &down, scene.style(Role::Key));
        put(buf, foot, x, &format!(" {more} lines more"), scene.style(Role::Dim));
    }
    most
}

/// Returns the lines of the help; what an action does is wrapped rather than cut.
pub fn lines(scene: &Scene<'_>, wide: usize) -> Vec<Line<'static>> {
    let lead = 2 + KEYS + 1 + NAMES + 1;
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
            // On a narrow screen what it does stands below its name.
            let is_beside = wide >= lead + 20;
            let indent = if is_beside { lead } else { 4 };
            let mut says = wrap_line(action.describe(), wide.saturating_sub(indent).max(8)).into_iter();
            let mut spans = vec![
                span(format!("  {} ", pad(&fit(&keys, KEYS), KEYS)), scene.style(Role::Key)),
                span(format!("{} ", pad(action.name(), NAMES)), scene.style(Role::Text)),
            ];
            if is_beside {
                spans.push(span(says.next().unwrap_or_default(), scene.style(Role::Dim)));
            }
            lines.push(Line::from(spans));
            let rest = says.map(|line| span(format!("{}{line}", " ".repeat(indent)), scene.style(Role::Dim)));
            lines.extend(rest.map(Line::from));
        }
    }
    lines
}
