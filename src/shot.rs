//! Pictures of the screen without a terminal: as SVG, as ANSI text, as plain text, and as a map of styles.
//!
//! A picture is a pure function of the buffer, so the same screen always gives the same bytes.

mod ansi;
mod paint;
mod shape;
mod styles;
mod svg;

use ratatui::buffer::{Buffer, Cell};
use unicode_width::UnicodeWidthStr;

pub use ansi::ansi;
pub use paint::Paint;
pub use styles::styles;
pub use svg::svg;

/// Returns the characters alone, one line a row, without blanks at the ends.
pub fn text(buffer: &Buffer) -> String {
    let mut out = String::new();
    for row in rows(buffer) {
        let line: String = row.iter().map(|glyph| glyph.symbol).collect();
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// What stands in one cell, or in two if it is wide.
struct Glyph<'a> {
    column: u32,
    width: u32,
    symbol: &'a str,
    cell: &'a Cell,
}

/// Returns the rows of a buffer; a cell that a wide glyph covers is left out.
fn rows(buffer: &Buffer) -> impl Iterator<Item = Vec<Glyph<'_>>> {
    let width = usize::from(buffer.area.width).max(1);
    buffer.content.chunks(width).map(|cells| {
        let mut row = Vec::with_capacity(cells.len());
        let mut covered = 0;
        for (cell, column) in cells.iter().zip(0_u32..) {
            if column < covered {
                continue;
            }
            // A cell that was covered before keeps an empty symbol.
            let symbol = if cell.symbol().is_empty() { " " } else { cell.symbol() };
            let width = if symbol.width() > 1 { 2 } else { 1 };
            covered = column + width;
            row.push(Glyph { column, width, symbol, cell });
        }
        row
    })
}

#[cfg(test)]
#[path = "shot_tests.rs"]
mod tests;
