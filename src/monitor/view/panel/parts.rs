//! What all tabs are made of: headings, fields, lists and styled text, wrapped so that nothing is clipped.
//! Whatever comes from outside is cleaned here, at the last moment before it is shown.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::model::text as clean;
use crate::model::time::Stamp;
use crate::monitor::view::Scene;
use crate::monitor::view::text::{fit, pad, span, width, words, wrap_line};
use crate::monitor::view::theme::{Role, Theme};

/// One text takes no more lines than this: a frame must not wrap megabytes, and nobody reads on here.
const LONGEST: usize = 200;

/// Names stand in a column, so that what they name lines up.
const NAME: usize = 13;

/// What text is drawn with, where there is no whole scene: so that wrapped lines can be kept.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    pub theme: &'a Theme,
    pub ascii: bool,
    pub unfolded: bool,
}

impl<'a> Look<'a> {
    /// Returns how a scene looks.
    pub fn of(scene: &Scene<'a>) -> Self {
        Self { theme: scene.theme, ascii: scene.ui.settings.ascii, unfolded: scene.ui.unfolded }
    }

    /// Returns the style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    /// Returns a sign: as it is, or for terminals with plain characters only.
    pub fn sign(&self, sign: &'static str, plain: &'static str) -> &'static str {
        if self.ascii { plain } else { sign }
    }
}

/// Returns a text ready to be shown; of a huge one only its beginning is looked at.
pub fn cleaned(text: &str) -> Box<str> {
    /// More than a cleaned text may have, so that nothing goes that would be shown.
    const ENOUGH: usize = 128 * 1024;
    clean::lines(text.get(..text.floor_char_boundary(ENOUGH)).unwrap_or_default())
}

/// Says that there is nothing to show, and why.
pub fn nothing(scene: &Scene<'_>, why: &str, width: usize) -> Vec<Line<'static>> {
    paragraph(scene, why, width, Role::Faint)
}

/// Returns a heading inside a panel.
pub fn heading(scene: &Scene<'_>, text: &str) -> Line<'static> {
    Line::from(span(text, scene.style(Role::Heading)))
}

/// Begins a part of a tab: a blank line where something stands above, and a heading.
pub fn section(lines: &mut Vec<Line<'static>>, scene: &Scene<'_>, text: &str) {
    if !lines.is_empty() {
        lines.push(Line::default());
    }
    lines.push(heading(scene, text));
}

/// Returns text of several lines, wrapped.
pub fn paragraph(scene: &Scene<'_>, text: &str, width: usize, role: Role) -> Vec<Line<'static>> {
    hang(Vec::new(), text, width, scene.style(role))
}

/// Leaves out what is beyond so many lines, and says so.
#[must_use]
pub fn cut(mut lines: Vec<Line<'static>>, most: usize, style: Style) -> Vec<Line<'static>> {
    if lines.len() > most {
        lines.truncate(most);
        lines.push(Line::from(span("…", style)));
    }
    lines
}

/// Returns a name and what it is; long values go on below themselves.
pub fn field(scene: &Scene<'_>, name: &str, value: &str, width: usize, role: Role) -> Vec<Line<'static>> {
    let lead = pad(&fit(name, NAME - 1), NAME);
    hang(vec![span(lead, scene.style(Role::Dim))], value, width, scene.style(role))
}

/// Returns a short name and what it is, in one line.
pub fn pair(scene: &Scene<'_>, name: &str, value: String, role: Role) -> Line<'static> {
    let name = pad(&fit(name, NAME - 1), NAME);
    Line::from(vec![span(name, scene.style(Role::Dim)), span(value, scene.style(role))])
}

/// Returns an item of a list.
pub fn item(scene: &Scene<'_>, text: &str, width: usize, role: Role) -> Vec<Line<'static>> {
    let sign = span(format!("{} ", scene.sign("•", "-")), scene.style(Role::Dim));
    hang(vec![sign], text, width, scene.style(role))
}

/// Returns text that goes on below itself, beside what leads it.
pub fn hang(lead: Vec<Span<'static>>, text: &str, most: usize, style: Style) -> Vec<Line<'static>> {
    let used: usize = lead.iter().map(|span| width(&span.content)).sum();
    let room = most.saturating_sub(used).max(1);
    let all = cleaned(text);
    // What cannot be in the lines that are kept is not wrapped either; a cell has seldom more than four bytes.
    let text = all.get(..all.floor_char_boundary((LONGEST + 1) * room * 4)).unwrap_or_default();
    let mut rows: Vec<String> = text.lines().flat_map(|line| wrap_line(line, room)).collect();
    if rows.is_empty() {
        rows.push(String::new());
    }
    let mut lead = Some(lead);
    let lines = rows.into_iter().take(LONGEST + 1).map(|row| {
        let mut spans = lead.take().unwrap_or_else(|| vec![Span::raw(" ".repeat(used))]);
        spans.push(span(row, style));
        Line::from(spans)
    });
    let mut lines = cut(lines.collect(), LONGEST, style);
    if text.len() < all.len() && lines.len() <= LONGEST {
        lines.push(Line::from(span("…", style)));
    }
    lines
}

/// Wraps pieces of text, each with its style, behind what leads the first line and the others.
pub fn flow(
    pieces: &[(String, Style)],
    most: usize,
    first: &Span<'static>,
    rest: &Span<'static>,
) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut current = vec![first.clone()];
    let mut used = width(&first.content);
    let mut has_text = false;
    let mut turn = |current: &mut Vec<Span<'static>>| {
        lines.push(Line::from(std::mem::replace(current, vec![rest.clone()])));
        width(&rest.content)
    };
    for (text, style) in pieces {
        for word in words(text) {
            let wide = width(word);
            if used + wide > most && has_text {
                used = turn(&mut current);
                has_text = false;
            }
            if word.trim().is_empty() && !has_text {
                continue;
            }
            if used + wide <= most {
                add(&mut current, word, *style);
                used += wide;
                has_text = true;
                continue;
            }
            for grapheme in word.graphemes(true) {
                let wide = width(grapheme);
                if used + wide > most && has_text {
                    used = turn(&mut current);
                }
                add(&mut current, grapheme, *style);
                used += wide;
                has_text = true;
            }
        }
    }
    if has_text || lines.is_empty() {
        lines.push(Line::from(current));
    }
    lines
}

/// Adds text to the last span where that has the same style.
fn add(spans: &mut Vec<Span<'static>>, text: &str, style: Style) {
    match spans.last_mut() {
        Some(last) if last.style == style => last.content.to_mut().push_str(text),
        Some(_) | None => spans.push(span(text, style)),
    }
}

/// Returns pieces in one line, as many as fit: what is left out is left out whole.
pub fn row(pieces: Vec<Span<'static>>, most: usize) -> Line<'static> {
    const GAP: &str = "  ";
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut used = 0;
    for piece in pieces {
        let gap = if spans.is_empty() { 0 } else { GAP.len() };
        let wide = width(&piece.content);
        if used + gap + wide > most {
            if spans.is_empty() {
                spans.push(span(fit(&piece.content, most), piece.style));
            }
            break;
        }
        if gap > 0 {
            spans.push(Span::raw(GAP));
        }
        used += gap + wide;
        spans.push(piece);
    }
    Line::from(spans)
}

/// Returns the time of day, in UTC as everything on record is.
pub fn time_of(at: Stamp) -> String {
    at.to_string().get(11..19).unwrap_or_default().to_owned()
}

/// Returns a bar of so many cells, some of them full.
pub fn bar(scene: &Scene<'_>, full: usize, cells: usize, role: Role) -> Vec<Span<'static>> {
    let full = full.min(cells);
    let (on, off) = (scene.sign("━", "#"), scene.sign("─", "."));
    vec![
        span(on.repeat(full), scene.style(role)),
        span(off.repeat(cells - full), scene.style(Role::BarEmpty)),
    ]
}

/// Returns a number with at most one digit behind the point.
pub fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_leaves_out_whole_pieces_never_halves() {
        let pieces = ["in 9.1K", "out 2.2K", "cache 31.0K"].map(Span::raw).to_vec();
        assert_eq!(row(pieces.clone(), 30).to_string(), "in 9.1K  out 2.2K  cache 31.0K");
        assert_eq!(row(pieces.clone(), 29).to_string(), "in 9.1K  out 2.2K");
        assert_eq!(row(pieces, 4).to_string(), "in …");
    }

    #[test]
    fn a_text_that_is_too_long_says_that_it_is_cut() {
        let style = Style::new();
        let text = |letters: usize| hang(vec![Span::raw("- ")], &"x".repeat(letters), 6, style);
        assert_eq!(text(4 * LONGEST).len(), LONGEST);
        assert_eq!(text(4 * LONGEST + 1).len(), LONGEST + 1);
        assert_eq!(text(60_000).last().map(ToString::to_string).as_deref(), Some("…"));
    }

    #[test]
    fn styled_text_breaks_between_words_across_styles() {
        let plain = Style::new();
        let bold = Style::new().bold();
        let pieces =
            [("one ".to_owned(), plain), ("two three".to_owned(), bold), (" four".to_owned(), plain)];
        let lines = flow(&pieces, 9, &Span::raw("- "), &Span::raw("  "));
        let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["- one two", "  three ", "  four"]);
    }

    #[test]
    fn the_time_of_day_is_that_of_the_record() {
        let at = Stamp::parse("2026-11-16T04:22:07.123Z").unwrap();
        assert_eq!(time_of(at), "04:22:07");
    }
}
