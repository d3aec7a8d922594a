//! The panel beside the tree: tabs, and the lines of the one in front. A tab is a function from the scene to
//! lines, so that all of them scroll alike and each can be tested alone.

pub mod diff;
pub mod events;
pub mod handoff;
pub mod markdown;
pub mod output;
pub mod result;
pub mod thoughts;
pub mod tokens;
pub mod why;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::Scene;
use super::text::{put, put_line, span, width};
use super::theme::Role;
use crate::monitor::app::ui::{Drawn, Pane, Tab};

/// Draws the panel.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, drawn: &mut Drawn) {
    let has_keys = scene.ui.pane == Pane::Panel;
    let inner = super::screen::frame(area, buf, scene, "", has_keys);
    tabs(area, buf, scene, drawn);
    let text = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let lines = lines(scene, usize::from(text.width));
    let height = usize::from(text.height);
    let most = lines.len().saturating_sub(height);
    let from = scene.ui.scroll.unwrap_or(if scene.ui.tab.follows_end() && scene.ui.settings.stream {
        most
    } else {
        0
    });
    let from = from.min(most);
    for (line, y) in lines.iter().skip(from).zip(text.top()..text.bottom()) {
        put_line(buf, Rect { y, height: 1, ..text }, line);
    }
    if most > 0 {
        scrollbar(area, buf, scene, from, lines.len(), height);
    }
    drawn.panel = inner;
    drawn.panel_lines = lines.len();
    drawn.panel_height = height;
}

/// Returns the lines of the tab in front.
pub fn lines(scene: &Scene<'_>, width: usize) -> Vec<Line<'static>> {
    let Some((ix, node)) = scene.ui.selected(scene.model) else {
        return vec![Line::from(span("Nothing is selected.", scene.style(Role::Faint)))];
    };
    match scene.ui.tab {
        Tab::Why => why::lines(scene, ix, node, width),
        Tab::Thoughts => thoughts::lines(scene, node, width),
        Tab::Output => output::lines(scene, node, width),
        Tab::Diff => diff::lines(scene, ix, node, width),
        Tab::Result => result::lines(scene, node, width),
        Tab::Handoff => handoff::lines(scene, ix, node, width),
        Tab::Events => events::lines(scene, node, width),
    }
}

/// Draws the names of the tabs into the frame's first line; short ones where they do not fit.
fn tabs(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, drawn: &mut Drawn) {
    if area.height < 4 || area.width < 16 {
        return;
    }
    let line = Rect { x: area.x + 2, width: area.width - 4, height: 1, ..area };
    let all: usize = Tab::ALL.iter().map(|tab| width(tab.as_str()) + 2).sum();
    let is_narrow = all > usize::from(line.width);
    let mut x = line.x;
    for (nth, tab) in Tab::ALL.into_iter().enumerate() {
        let is_front = tab == scene.ui.tab;
        let name =
            if is_narrow && !is_front { super::text::fit(tab.as_str(), 3) } else { tab.as_str().to_owned() };
        let style = if is_front { scene.style(Role::Title) } else { scene.style(Role::Dim) };
        let text = format!(" {} ", name.trim_end_matches('…'));
        let end = put(buf, line, x, &text, style);
        drawn.tabs.push((Rect { x, width: end - x, ..line }, nth));
        x = end;
    }
}

/// Draws where in the whole the shown part is, on the frame's right side.
fn scrollbar(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, from: usize, all: usize, shown: usize) {
    let track = area.height.saturating_sub(2);
    if track == 0 || all == 0 {
        return;
    }
    let length = (usize::from(track) * shown / all).max(1);
    let top = (usize::from(track) - length.min(usize::from(track))) * from / all.saturating_sub(shown).max(1);
    for y in 0..usize::from(track) {
        if (top..top + length).contains(&y) {
            let y = area.y + 1 + u16::try_from(y).unwrap_or(0);
            let place = Rect { x: area.right() - 1, y, width: 1, height: 1 };
            put(buf, place, place.x, scene.sign("┃", "#"), scene.style(Role::Dim));
        }
    }
}

/// Says that there is nothing to show, and why.
pub fn nothing(scene: &Scene<'_>, why: &str, width: usize) -> Vec<Line<'static>> {
    super::text::wrap(why, width, scene.style(Role::Faint))
}

/// Returns a heading inside a panel.
pub fn heading(scene: &Scene<'_>, text: &str) -> Line<'static> {
    Line::from(span(text, scene.style(Role::Heading)))
}

/// Returns a line of a name and what it is.
pub fn pair(scene: &Scene<'_>, name: &str, value: String, role: Role) -> Line<'static> {
    /// Names stand in a column, so that what they name lines up.
    const NAME: usize = 14;
    let name = super::text::pad(&super::text::fit(name, NAME), NAME);
    Line::from(vec![span(format!("{name} "), scene.style(Role::Dim)), span(value, scene.style(role))])
}
