//! The panel beside the tree: tabs, and the lines of the one in front. A tab is a function from the scene to
//! lines, so that all of them scroll alike and each can be tested alone.

pub mod card;
pub mod diff;
pub mod events;
pub mod handoff;
mod limits;
pub mod markdown;
pub mod output;
pub mod parts;
pub mod result;
pub mod silence;
pub mod thoughts;
pub mod tiers;
pub mod tokens;
pub mod why;
pub mod worktree;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::Scene;
use super::text::{put, put_line, span, width};
use super::theme::Role;
use crate::monitor::app::ui::{Drawn, Pane, Tab};

pub use parts::{heading, nothing, pair};

/// Draws the panel.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, drawn: &mut Drawn) {
    let has_keys = scene.ui.pane == Pane::Panel;
    let inner = super::screen::frame(area, buf, scene, "", has_keys);
    tabs(area, buf, scene, drawn);
    let text = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let shown = Shown::of(scene, usize::from(text.width));
    let (all, height) = (shown.len(), usize::from(text.height));
    let most = all.saturating_sub(height);
    let from = scene.ui.scroll.unwrap_or(if scene.ui.tab.follows_end() && scene.ui.settings.stream {
        most
    } else {
        0
    });
    let from = from.min(most);
    for (line, y) in shown.window(scene, from, height).into_iter().zip(text.top()..text.bottom()) {
        put_line(buf, Rect { y, height: 1, ..text }, line);
    }
    if most > 0 {
        scrollbar(area, buf, scene, from, all, height);
    }
    drawn.panel = inner;
    drawn.panel_lines = all;
    drawn.panel_height = height;
}

/// The lines of the tab in front: made for this frame, or kept by the log because there are many.
enum Shown {
    Made(Vec<Line<'static>>),
    Kept { lead: Vec<Line<'static>>, total: usize },
}

impl Shown {
    fn of(scene: &Scene<'_>, width: usize) -> Self {
        let kept = scene.ui.selected(scene.model).filter(|_| scene.ui.tab == Tab::Output);
        let kept = kept.and_then(|(_, node)| output::kept(scene, node, width));
        kept.map_or_else(|| Self::Made(lines(scene, width)), |(lead, total)| Self::Kept { lead, total })
    }

    fn len(&self) -> usize {
        match self {
            Self::Made(lines) => lines.len(),
            Self::Kept { lead, total } => lead.len() + total,
        }
    }

    fn window<'s>(&'s self, scene: &Scene<'s>, from: usize, count: usize) -> Vec<&'s Line<'static>> {
        match self {
            Self::Made(lines) => lines.iter().skip(from).take(count).collect(),
            Self::Kept { lead, .. } => {
                let above = lead.iter().skip(from).take(count);
                let left = count - above.len();
                let log = scene.ui.log.window(from.saturating_sub(lead.len()), left);
                above.chain(log).collect()
            }
        }
    }
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
    let shown = tabs_shown(scene.ui.tab, usize::from(line.width));
    let (before, after) = (shown.start > 0, shown.end < Tab::ALL.len());
    let mut x = line.x;
    if before {
        x = put(buf, line, x, scene.sign("‹", "<"), scene.style(Role::Dim));
    }
    for (nth, tab) in Tab::ALL.into_iter().enumerate().filter(|(nth, _)| shown.contains(nth)) {
        let style = scene.style(if tab == scene.ui.tab { Role::Title } else { Role::Dim });
        let end = put(buf, line, x, &format!(" {} ", tab.as_str()), style);
        drawn.tabs.push((Rect { x, width: end - x, ..line }, nth));
        x = end;
    }
    if after {
        put(buf, line, x, scene.sign("›", ">"), scene.style(Role::Dim));
    }
}

/// Returns which tabs fit into so many cells: all of them, else as many whole names around the one in front.
fn tabs_shown(front: Tab, room: usize) -> std::ops::Range<usize> {
    /// The signs that there are more, before and after.
    const MORE: usize = 2;
    let widths = Tab::ALL.map(|tab| width(tab.as_str()) + 2);
    let wide = |range: std::ops::Range<usize>| widths.get(range).unwrap_or_default().iter().sum::<usize>();
    if wide(0..widths.len()) <= room {
        return 0..widths.len();
    }
    let at = Tab::ALL.iter().position(|tab| *tab == front).unwrap_or(0);
    let (mut from, mut to) = (at, at + 1);
    while to < widths.len() && wide(from..to + 1) + MORE <= room {
        to += 1;
    }
    while from > 0 && wide(from - 1..to) + MORE <= room {
        from -= 1;
    }
    from..to
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
