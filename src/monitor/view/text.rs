//! Text in cells: put at a place, cut at a width, wrapped to lines. The one place that measures.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

pub use crate::report::cells::{fit, pad, width};

/// Writes text into one row, cut at the row's end; returns where it ended.
pub fn put(buf: &mut Buffer, area: Rect, x: u16, text: &str, style: Style) -> u16 {
    let room = area.right().saturating_sub(x);
    if room == 0 || area.height == 0 {
        return x;
    }
    let (end, _) = buf.set_stringn(x, area.y, fit(text, usize::from(room)), usize::from(room), style);
    end
}

/// Writes text into a column of fixed width, to the left or to the right of it.
pub fn put_column(buf: &mut Buffer, area: Rect, text: &str, style: Style, side: Side) {
    let room = usize::from(area.width);
    let text = fit(text, room);
    let gap = match side {
        Side::Left => 0,
        Side::Right => room.saturating_sub(width(&text)),
    };
    let gap = u16::try_from(gap).unwrap_or(u16::MAX);
    put(buf, area, area.x.saturating_add(gap), &text, style);
}

/// Where text stands in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

/// Draws a line of spans into one row, cut at the row's end.
pub fn put_line(buf: &mut Buffer, area: Rect, line: &Line<'_>) {
    let mut x = area.x;
    for span in &line.spans {
        x = put(buf, area, x, &span.content, line.style.patch(span.style));
    }
}

/// Returns a styled piece of text that owns it.
pub fn span(text: impl Into<String>, style: Style) -> Span<'static> {
    Span::styled(text.into(), style)
}

/// Wraps text to lines of at most `most` cells: at spaces where that works, else where it must.
///
/// Indentation is kept, also on the lines that follow, so that lists and code stay readable.
pub fn wrap(text: &str, most: usize, style: Style) -> Vec<Line<'static>> {
    text.lines().flat_map(|line| wrap_line(line, most)).map(|line| Line::from(span(line, style))).collect()
}

/// Splits text where a line may end: around spaces and around wide characters, which have no spaces between
/// them. Paths, addresses and hyphenated names stay whole where they fit.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_apart = |piece: &str| piece.trim().is_empty() || width(piece) > piece.chars().count();
    let mut pieces = text.split_word_bound_indices().peekable();
    std::iter::from_fn(move || {
        let (start, first) = pieces.next()?;
        let mut end = start + first.len();
        if !is_apart(first) {
            while let Some((_, more)) = pieces.next_if(|(_, piece)| !is_apart(piece)) {
                end += more.len();
            }
        }
        text.get(start..end)
    })
}

/// Puts plain characters in the place of signs that the parts of a frame have in common: an ellipsis, a dash.
pub fn make_plain(area: Rect, buf: &mut Buffer) {
    for place in area.positions() {
        let Some(cell) = buf.cell_mut(place).filter(|cell| !cell.symbol().is_ascii()) else { continue };
        let mut chars = cell.symbol().chars();
        if let (Some(sign), None) = (chars.next(), chars.next())
            && let Some(stands) = crate::report::cells::plain(sign)
        {
            cell.set_symbol(stands);
        }
    }
}

/// Wraps one line.
pub fn wrap_line(line: &str, most: usize) -> Vec<String> {
    let most = most.max(1);
    if width(line) <= most {
        return vec![line.to_owned()];
    }
    let indent: String = line.chars().take_while(|c| *c == ' ').take(most / 2).collect();
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut used = 0;
    for word in words(line) {
        let wide = width(word);
        if used + wide > most && used > width(&indent) {
            lines.push(std::mem::replace(&mut current, indent.clone()).trim_end().to_owned());
            used = width(&indent);
            if word.trim().is_empty() {
                continue;
            }
        }
        if used + wide <= most {
            current.push_str(word);
            used += wide;
            continue;
        }
        for grapheme in word.graphemes(true) {
            let wide = width(grapheme);
            if used + wide > most && !current.is_empty() {
                lines.push(std::mem::take(&mut current));
                used = 0;
            }
            current.push_str(grapheme);
            used += wide;
        }
    }
    if !current.trim().is_empty() || lines.is_empty() {
        lines.push(current.trim_end().to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_breaks_at_spaces_and_keeps_its_indentation() {
        assert_eq!(wrap_line("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap_line("  - a list item", 9), ["  - a", "  list", "  item"]);
        assert_eq!(wrap_line("at docs/set-up.md", 14), ["at", "docs/set-up.md"]);
        assert_eq!(wrap_line("unbreakable", 4), ["unbr", "eaka", "ble"]);
        assert_eq!(wrap_line("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(wrap_line("", 5), [""]);
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_it_may_be_and_no_letter_is_lost(text in "[ a-z漢]{0,60}", most in 2usize..20) {
            let lines = wrap_line(&text, most);
            prop_assert!(lines.iter().all(|line| width(line) <= most), "{:?}", lines);
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
