//! The sessions.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::monitor::view::Scene;

/// Draws it; returns whether it counts by itself.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) -> bool {
    let _ = (area, buf, scene);
    false
}
