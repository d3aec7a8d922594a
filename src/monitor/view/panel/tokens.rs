//! What the selected node spent.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::monitor::view::Scene;

/// Draws the tokens.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    super::super::screen::frame(area, buf, scene, "Tokens", false);
}
