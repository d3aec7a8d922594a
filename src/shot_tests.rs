use std::num::NonZeroU16;

use proptest::prelude::*;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::*;
use crate::monitor::view::theme::{Role, Theme};

const BOLD_RED: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);

fn blank(width: u16, height: u16) -> Buffer {
    Buffer::empty(Rect::new(0, 0, width, height))
}

fn midnight() -> Theme {
    Theme::built_in("midnight")
}

#[test]
fn text_is_the_characters_without_blanks_at_the_ends() {
    let mut buffer = blank(8, 3);
    buffer.set_string(0, 0, "a 漢 b", BOLD_RED);
    buffer.set_string(2, 2, "x", Style::new().bg(Color::Blue));
    assert_eq!(text(&buffer), "a 漢 b\n\n  x\n");
}

#[test]
fn a_picture_of_nothing_is_nothing() {
    let buffer = blank(0, 0);
    assert_eq!((text(&buffer), ansi(&buffer), styles(&buffer, &midnight())), Default::default());
    assert!(svg(&buffer, &Paint::of(&midnight())).ends_with("</svg>\n"));
}

#[test]
fn ansi_is_the_same_bytes_each_time() {
    let mut buffer = blank(10, 2);
    buffer.set_string(0, 0, "ab", BOLD_RED);
    buffer.set_string(2, 0, "cd", Style::new().fg(Color::Rgb(1, 2, 3)).bg(Color::Indexed(7)));
    buffer.set_string(4, 0, "e", Style::new());
    assert_eq!(ansi(&buffer), "\u{1b}[0;1;31mab\u{1b}[0;38;2;1;2;3;48;5;7mcd\u{1b}[0me\n\n");
}

#[test]
fn styles_are_named_by_role_alone_and_over_another() {
    let theme = midnight();
    let mut buffer = blank(12, 2);
    buffer.set_string(0, 0, "run", theme.style(Role::StatusRunning));
    buffer.set_string(4, 0, "漢", theme.style(Role::Key));
    buffer.set_style(Rect::new(0, 1, 6, 1), theme.style(Role::Selection));
    buffer.set_string(0, 1, "ok", theme.style(Role::StatusDone));
    buffer.set_string(8, 1, "odd", Style::new().fg(Color::Magenta).add_modifier(Modifier::ITALIC));
    assert_eq!(
        styles(&buffer, &theme),
        "aaa.bb\nccdddd..eee\n\
         a = info, status.running, card.border.gemini\n\
         b = key\n\
         c = good on selection\n\
         d = selection\n\
         e = fg Magenta, italic\n"
    );
}

#[test]
fn every_style_has_a_letter_of_its_own() {
    let mut buffer = blank(100, 1);
    for column in 0..100_u8 {
        let style = Style::new().fg(Color::Rgb(column, 0, 0)).add_modifier(Modifier::CROSSED_OUT);
        buffer.set_string(u16::from(column), 0, "x", style);
    }
    let map = styles(&buffer, &midnight());
    let letters: std::collections::HashSet<char> = map.lines().next().unwrap().chars().collect();
    assert_eq!(letters.len(), 100);
}

#[test]
fn svg_pins_runs_to_whole_cells() {
    let mut buffer = blank(20, 2);
    buffer.set_string(1, 1, "two words", BOLD_RED);
    buffer.set_string(12, 1, "漢", Style::new());
    let mut paint = Paint::of(&midnight());
    (paint.font_size, paint.padding) = (20, 9);
    let picture = svg(&buffer, &paint);
    // A cell is 12 by 26; the window's edge and its padding are 10.
    let red = "fill=\"#e86b73\" font-weight=\"bold\"";
    let words = format!(
        "<text x=\"22\" y=\"55.9\" textLength=\"108\" lengthAdjust=\"spacingAndGlyphs\" {red}>two words</text>"
    );
    assert!(picture.contains(&words), "{picture}");
    assert!(picture.contains("<text x=\"154\" y=\"55.9\" textLength=\"24\""), "{picture}");
    assert!(picture.contains("width=\"260\" height=\"72\""), "{picture}");
}

#[test]
fn svg_pins_what_stands_in_columns_column_by_column() {
    let mut buffer = blank(20, 1);
    buffer.set_string(0, 0, "one two   $0.02", Style::new());
    let mut paint = Paint::of(&midnight());
    (paint.font_size, paint.padding) = (20, 9);
    let picture = svg(&buffer, &paint);
    assert!(picture.contains(">one two</text>"), "{picture}");
    assert!(picture.contains("<text x=\"130\""), "{picture}");
    assert!(picture.contains(">$0.02</text>"), "{picture}");
}

#[test]
fn svg_merges_equal_backgrounds_into_one_rectangle() {
    let mut buffer = blank(20, 5);
    buffer.set_style(Rect::new(2, 1, 6, 3), Style::new().bg(Color::Blue));
    let mut paint = Paint::of(&midnight());
    (paint.font_size, paint.padding) = (20, 9);
    let picture = svg(&buffer, &paint);
    assert!(
        picture.contains("<rect x=\"34\" y=\"36\" width=\"72\" height=\"78\" fill=\"#6ea4f2\"/>"),
        "{picture}"
    );
    // The other one is the window.
    assert_eq!(picture.matches("<rect").count(), 2);
}

#[test]
fn lines_of_svg_meet_at_the_edges_of_their_cells() {
    let mut buffer = blank(3, 2);
    buffer.set_string(0, 0, "╭─┬", Style::new());
    buffer.set_string(0, 1, "│ ╰", Style::new());
    let mut paint = Paint::of(&midnight());
    (paint.font_size, paint.padding) = (20, 9);
    let picture = svg(&buffer, &paint);
    for path in
        ["M16 36V29Q16 23 22 23", "M22 23H34", "M34 23H46M40 23V36", "M16 36V62", "M40 36V43Q40 49 46 49"]
    {
        assert!(picture.contains(&format!("d=\"{path}\"")), "no {path} in {picture}");
    }
}

#[test]
fn heavy_lines_of_svg_are_thick_and_one_stroke_for_a_bar() {
    let mut buffer = blank(6, 1);
    buffer.set_string(0, 0, "━━━╸──", Style::new());
    let mut paint = Paint::of(&midnight());
    (paint.font_size, paint.padding) = (20, 9);
    let picture = svg(&buffer, &paint);
    for (path, width) in [("M10 23H46", "3"), ("M46 23H52", "3"), ("M58 23H82", "1.2")] {
        let stroke = format!("d=\"{path}\" fill=\"none\" stroke=\"#ccd3e0\" stroke-width=\"{width}\"");
        assert!(picture.contains(&stroke), "no {stroke} in {picture}");
    }
}

#[test]
fn blocks_of_svg_fill_their_share_of_the_cell() {
    let mut buffer = blank(4, 1);
    buffer.set_string(0, 0, "█▄▌░", Style::new());
    let mut paint = Paint::of(&midnight());
    (paint.font_size, paint.padding) = (20, 9);
    let picture = svg(&buffer, &paint);
    for path in ["M10 10h12v26h-12z", "M22 23h12v13h-12z", "M34 10h6v26h-6z", "M46 10h12v26h-12z"] {
        assert!(picture.contains(&format!("d=\"{path}\"")), "no {path} in {picture}");
    }
    assert!(picture.contains("fill-opacity=\"0.25\""), "{picture}");
}

#[test]
fn svg_shows_reversed_dim_and_hidden_as_terminals_do() {
    let mut buffer = blank(9, 1);
    let style = Style::new().fg(Color::Rgb(200, 0, 0)).bg(Color::Rgb(0, 0, 100));
    buffer.set_string(0, 0, "rrr", style.add_modifier(Modifier::REVERSED));
    buffer.set_string(3, 0, "ddd", style.add_modifier(Modifier::DIM));
    buffer.set_string(6, 0, "hhh", style.add_modifier(Modifier::HIDDEN));
    let picture = svg(&buffer, &Paint::of(&midnight()));
    assert!(picture.contains("fill=\"#000064\">rrr<") && picture.contains("fill=\"#c80000\"/>"), "{picture}");
    assert!(picture.contains("fill=\"#780028\">ddd<"), "{picture}");
    assert!(!picture.contains("hhh"), "{picture}");
}

#[test]
fn nothing_in_the_screen_or_the_title_breaks_out_of_the_svg() {
    let mut buffer = blank(30, 1);
    buffer.set_string(0, 0, "<script>&\"'", Style::new());
    let picture = svg(&buffer, &Paint::of(&midnight()).titled("</text><script>\u{1b}"));
    assert!(picture.contains("&lt;script&gt;&amp;&quot;'"), "{picture}");
    assert!(picture.contains(">&lt;/text&gt;&lt;script&gt;</text>"), "{picture}");
    assert!(!picture.contains("<script>") && !picture.contains('\u{1b}'));
}

fn colours() -> impl Strategy<Value = Color> {
    prop_oneof![
        Just(Color::Reset),
        prop::sample::select(crate::monitor::view::theme::colour::NAMES.map(|(_, colour)| colour).to_vec()),
        any::<u8>().prop_map(Color::Indexed),
        any::<[u8; 3]>().prop_map(|[r, g, b]| Color::Rgb(r, g, b)),
    ]
}

/// The modifiers that the reading terminal tells apart; to it, text is either bold or dim.
fn modifiers() -> impl Strategy<Value = Modifier> {
    let weight = prop::sample::select(vec![Modifier::empty(), Modifier::BOLD, Modifier::DIM]);
    let others = vec![Modifier::ITALIC, Modifier::UNDERLINED, Modifier::REVERSED];
    (weight, prop::sample::subsequence(others, 0..=3))
        .prop_map(|(weight, others)| others.into_iter().fold(weight, |all, one| all | one))
}

fn vt100_colour(colour: Color) -> vt100::Color {
    let named = crate::monitor::view::theme::colour::NAMES.iter().position(|(_, named)| *named == colour);
    match (colour, named) {
        (_, Some(index)) => vt100::Color::Idx(u8::try_from(index).unwrap()),
        (Color::Indexed(index), None) => vt100::Color::Idx(index),
        (Color::Rgb(r, g, b), None) => vt100::Color::Rgb(r, g, b),
        _ => vt100::Color::Default,
    }
}

proptest! {
    #[test]
    fn a_terminal_that_is_shown_the_ansi_has_the_same_cells(
        runs in prop::collection::vec(
            (0_u16..30, 0_u16..6, "[a-zA-Z é漢─▰✔]{1,8}", colours(), colours(), modifiers()),
            0..20,
        )
    ) {
        let (width, height) = (30, 6);
        let mut buffer = blank(width, height);
        for (x, y, text, fg, bg, modifier) in runs {
            buffer.set_string(x, y, text, Style::reset().fg(fg).bg(bg).add_modifier(modifier));
        }
        let mut terminal =
            vt100::Parser::new(NonZeroU16::new(height + 1).unwrap(), NonZeroU16::new(width).unwrap(), 0);
        terminal.process(ansi(&buffer).replace('\n', "\r\n").as_bytes());
        for (row, y) in rows(&buffer).zip(0..) {
            for glyph in row {
                let x = u16::try_from(glyph.column).unwrap();
                let shown = terminal.screen().cell(y, x).unwrap();
                let symbol = if shown.contents().is_empty() { " " } else { shown.contents() };
                prop_assert_eq!(symbol, glyph.symbol);
                prop_assert_eq!(shown.is_wide(), glyph.width == 2);
                prop_assert_eq!(shown.fgcolor(), vt100_colour(glyph.cell.fg));
                prop_assert_eq!(shown.bgcolor(), vt100_colour(glyph.cell.bg));
                let modifier = glyph.cell.modifier;
                prop_assert_eq!(shown.bold(), modifier.contains(Modifier::BOLD));
                prop_assert_eq!(shown.dim(), modifier.contains(Modifier::DIM));
                prop_assert_eq!(shown.italic(), modifier.contains(Modifier::ITALIC));
                prop_assert_eq!(shown.underline(), modifier.contains(Modifier::UNDERLINED));
                prop_assert_eq!(shown.inverse(), modifier.contains(Modifier::REVERSED));
            }
        }
    }

    #[test]
    fn no_screen_breaks_the_picture(cells in prop::collection::vec((any::<String>(), colours()), 12)) {
        let mut buffer = blank(4, 3);
        for (cell, (symbol, colour)) in buffer.content.iter_mut().zip(cells) {
            cell.set_symbol(&symbol).set_fg(colour);
        }
        let picture = svg(&buffer, &Paint::of(&midnight()));
        prop_assert!(picture.chars().all(|c| c == '\n' || !c.is_control()));
        prop_assert_eq!(picture.matches("<text").count(), picture.matches("</text>").count());
        prop_assert_eq!(picture.lines().last(), Some("</svg>"));
    }
}
