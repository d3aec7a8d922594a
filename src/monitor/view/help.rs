//! The help: every action with its keys, made from the keymap, so that it cannot be wrong.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::Scene;
use super::dialog::overlay;
use super::text::{fit, pad, put, put_line, span};
use super::theme::Role;
use crate::monitor::input::action::{Action, Group};
use crate::monitor::input::keymap::Context;

/// Draws the help over the screen.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, scroll: usize) {
    let lines = lines(scene);
    let high = u16::try_from(lines.len() + 3).unwrap_or(u16::MAX);
    let inner = overlay(area, buf, scene, "Keys", (78, high.min(area.height.saturating_sub(2)).max(4)));
    let body = Rect { height: inner.height.saturating_sub(1), ..inner };
    let from = scroll.min(lines.len().saturating_sub(usize::from(body.height)));
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
}

/// Returns the lines of the help.
pub fn lines(scene: &Scene<'_>) -> Vec<Line<'static>> {
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
            lines.push(Line::from(vec![
                span(format!("  {} ", pad(&fit(&keys, 18), 18)), scene.style(Role::Key)),
                span(format!("{} ", pad(action.name(), 18)), scene.style(Role::Text)),
                span(action.describe(), scene.style(Role::Dim)),
            ]));
        }
    }
    lines
}
