//! The screen as a terminal would be told to show it, for `cat`.

use ratatui::buffer::Buffer;

/// Returns the screen as text with escape sequences, one line a row.
pub fn ansi(buffer: &Buffer) -> String {
    super::text(buffer)
}
