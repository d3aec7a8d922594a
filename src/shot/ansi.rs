//! The screen as a terminal would be told to show it, for `cat`.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::{Glyph, rows};

/// The modifiers with their numbers in an escape sequence.
const MODIFIERS: [(Modifier, u8); 9] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::SLOW_BLINK, 5),
    (Modifier::RAPID_BLINK, 6),
    (Modifier::REVERSED, 7),
    (Modifier::HIDDEN, 8),
    (Modifier::CROSSED_OUT, 9),
];

/// Returns the screen as text with escape sequences, one line a row, without plain blanks at the ends.
///
/// Each change of style is written whole, so any line can be cut out and shown alone.
pub fn ansi(buffer: &Buffer) -> String {
    let mut out = String::new();
    for row in rows(buffer) {
        let mut style = String::new();
        let end = row.iter().rposition(|glyph| !is_plain_blank(glyph)).map_or(0, |last| last + 1);
        for glyph in row.iter().take(end) {
            let wanted = sequence(glyph.cell);
            if wanted != style {
                out.push_str(if wanted.is_empty() { "\u{1b}[0m" } else { &wanted });
                style = wanted;
            }
            out.push_str(glyph.symbol);
        }
        out.push_str(if style.is_empty() { "\n" } else { "\u{1b}[0m\n" });
    }
    out
}

fn is_plain_blank(glyph: &Glyph<'_>) -> bool {
    glyph.symbol == " " && sequence(glyph.cell).is_empty()
}

/// Returns the sequence that sets a cell's style after whatever came before; none for the plain style.
fn sequence(cell: &Cell) -> String {
    let mut codes = String::new();
    for (modifier, code) in MODIFIERS {
        if cell.modifier.contains(modifier) {
            // A string takes whatever is written to it.
            _ = write!(codes, ";{code}");
        }
    }
    push_colour(&mut codes, cell.fg, Ground::Text);
    push_colour(&mut codes, cell.bg, Ground::Background);
    if codes.is_empty() { codes } else { format!("\u{1b}[0{codes}m") }
}

/// Which colour is set, by the number that begins its codes.
#[derive(Clone, Copy)]
enum Ground {
    Text = 30,
    Background = 40,
}

fn push_colour(codes: &mut String, colour: Color, ground: Ground) {
    let first = ground as u8;
    let written = match colour {
        Color::Reset => return,
        Color::Black => write!(codes, ";{first}"),
        Color::Red => write!(codes, ";{}", first + 1),
        Color::Green => write!(codes, ";{}", first + 2),
        Color::Yellow => write!(codes, ";{}", first + 3),
        Color::Blue => write!(codes, ";{}", first + 4),
        Color::Magenta => write!(codes, ";{}", first + 5),
        Color::Cyan => write!(codes, ";{}", first + 6),
        Color::Gray => write!(codes, ";{}", first + 7),
        Color::DarkGray => write!(codes, ";{}", first + 60),
        Color::LightRed => write!(codes, ";{}", first + 61),
        Color::LightGreen => write!(codes, ";{}", first + 62),
        Color::LightYellow => write!(codes, ";{}", first + 63),
        Color::LightBlue => write!(codes, ";{}", first + 64),
        Color::LightMagenta => write!(codes, ";{}", first + 65),
        Color::LightCyan => write!(codes, ";{}", first + 66),
        Color::White => write!(codes, ";{}", first + 67),
        Color::Indexed(index) => write!(codes, ";{};5;{index}", first + 8),
        Color::Rgb(r, g, b) => write!(codes, ";{};2;{r};{g};{b}", first + 8),
    };
    // A string takes whatever is written to it.
    _ = written;
}
