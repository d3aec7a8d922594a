//! Which style each cell has, as letters: what a test compares.

use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

use super::rows;
use crate::monitor::view::theme::{Role, Theme};

/// How many roles of one style the legend names; more would only be noise.
const NAMED: usize = 3;

/// Returns one letter a cell, `.` for the plain style, and a legend of the styles by their roles.
///
/// Letters are given in the order in which styles appear, so a new style shows as a changed letter.
pub fn styles(buffer: &Buffer, theme: &Theme) -> String {
    let mut known: Vec<Style> = Vec::new();
    let mut out = String::new();
    for row in rows(buffer) {
        let mut line = String::new();
        for glyph in &row {
            let style = look(glyph.cell.style());
            let letter = if style == look(Style::reset()) {
                '.'
            } else {
                let at = known.iter().position(|other| *other == style).unwrap_or_else(|| {
                    known.push(style);
                    known.len() - 1
                });
                letter(at)
            };
            line.extend(std::iter::repeat_n(letter, if glyph.width > 1 { 2 } else { 1 }));
        }
        out.push_str(line.trim_end_matches('.'));
        out.push('\n');
    }
    for (at, style) in known.iter().enumerate() {
        // A string takes whatever is written to it.
        _ = writeln!(out, "{} = {}", letter(at), describe(*style, theme));
    }
    out
}

/// Returns small letters, then capitals, then whatever letters the alphabets after them have.
fn letter(at: usize) -> char {
    let more = ('\u{3b1}'..='\u{3c9}').chain('\u{430}'..='\u{44f}');
    ('a'..='z').chain('A'..='Z').chain('0'..='9').chain(more).nth(at).unwrap_or('#')
}

/// Returns what is seen of a style: what it leaves open is the default.
fn look(style: Style) -> Style {
    Style {
        fg: Some(style.fg.unwrap_or(Color::Reset)),
        bg: Some(style.bg.unwrap_or(Color::Reset)),
        underline_color: None,
        add_modifier: style.add_modifier,
        sub_modifier: Modifier::empty(),
    }
}

/// Names a style by the roles that look so, alone or one over another, or by its colours.
fn describe(style: Style, theme: &Theme) -> String {
    let alone: Vec<&str> =
        Role::ALL.iter().filter(|role| look(theme.style(**role)) == style).map(|role| role.name()).collect();
    if !alone.is_empty() {
        let rest = if alone.len() > NAMED { ", …" } else { "" };
        return format!("{}{rest}", alone.iter().take(NAMED).copied().collect::<Vec<_>>().join(", "));
    }
    for under in Role::ALL {
        for over in Role::ALL {
            if look(theme.style(*under).patch(theme.style(*over))) == style {
                return format!("{} on {}", over.name(), under.name());
            }
        }
    }
    let mut words = Vec::new();
    words.extend(style.fg.filter(|colour| *colour != Color::Reset).map(|colour| format!("fg {colour}")));
    words.extend(style.bg.filter(|colour| *colour != Color::Reset).map(|colour| format!("bg {colour}")));
    words.extend(style.add_modifier.iter_names().map(|(name, _)| name.to_lowercase()));
    words.join(", ")
}
