//! The views that are lists: what needs me, the overview, the history, the sessions, the settings.

pub mod history;
pub mod needs;
pub mod overview;
pub mod sessions;
pub mod settings;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Scene;
use super::text::put;
use super::theme::Role;
use crate::monitor::app::ui::View;
use crate::monitor::input::action::Action;

/// Draws the list of the view in front; returns whether it counts by itself.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) -> bool {
    match scene.ui.view {
        View::Tree => false,
        View::NeedsMe => needs::render(area, buf, scene),
        View::Overview => overview::render(area, buf, scene),
        View::History => history::render(area, buf, scene),
        View::Sessions => sessions::render(area, buf, scene),
        View::Settings => settings::render(area, buf, scene),
    }
}

/// Returns which rows of a list are shown, with the chosen one among them.
pub fn window(at: usize, len: usize, height: usize) -> std::ops::Range<usize> {
    let from = (at + 1).saturating_sub(height).min(len.saturating_sub(height));
    // Once it is scrolled, the chosen row stands in the middle: what comes next is seen too.
    let from = if at >= height { (at - height / 2).min(len.saturating_sub(height)) } else { from };
    from..(from + height).min(len)
}

/// Draws a row's ground where it is the chosen one.
pub fn select(row: Rect, buf: &mut Buffer, scene: &Scene<'_>, is_chosen: bool) {
    if is_chosen {
        buf.set_style(row, scene.style(Role::Selection));
    }
}

/// What is said while there is nothing: that it is read, or how to begin.
pub fn empty(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    let key = scene.keys.hint(Action::Delegate).unwrap_or_default();
    let lines: Vec<(String, Role)> = if scene.ui.is_loaded {
        vec![
            ("Nothing is delegated here yet.".into(), Role::Text),
            (String::new(), Role::Text),
            (format!("{key}  hands a task to an agent"), Role::Dim),
            ("quarterdeck delegate \"…\"  does the same from a shell".into(), Role::Dim),
            ("quarterdeck demo  shows a fleet at work".into(), Role::Dim),
        ]
    } else {
        vec![("Reading…".into(), Role::Faint)]
    };
    let top = area.y + area.height.saturating_sub(u16::try_from(lines.len()).unwrap_or(0)) / 3;
    for ((text, role), y) in lines.iter().zip(top..area.bottom()) {
        let wide = u16::try_from(super::text::width(text)).unwrap_or(u16::MAX);
        let x = area.x + area.width.saturating_sub(wide) / 2;
        put(buf, Rect { y, height: 1, ..area }, x, text, scene.style(*role));
    }
}
