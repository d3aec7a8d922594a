//! The screen as a picture that any browser draws.
//!
//! Everything is pinned to a grid of whole pixels: a run of text is squeezed or stretched to its cells, so
//! no font can move what is beside it. Lines and blocks are drawn, not written: in a font they leave gaps
//! between rows as soon as the font is not the one we had.

use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::style::Modifier;

use super::shape::{self, Shape};
use super::{Glyph, Paint, rows};

/// Height of the title bar, in pixels.
const BAR: u32 = 36;
/// Room around the window, in pixels, so that its frame is not cut.
const MARGIN: u32 = 1;

/// Sizes in pixels, all whole.
struct Grid {
    cell_width: u32,
    cell_height: u32,
    left: u32,
    top: u32,
}

/// How one cell is drawn.
#[derive(Clone, Copy, PartialEq)]
struct Ink {
    text: [u8; 3],
    ground: Option<[u8; 3]>,
    shown: Modifier,
}

/// Returns the screen as an SVG document.
pub fn svg(buffer: &Buffer, paint: &Paint) -> String {
    let grid = Grid::of(paint);
    let width = grid.left * 2 + u32::from(buffer.area.width) * grid.cell_width;
    let height =
        grid.top + u32::from(buffer.area.height) * grid.cell_height + u32::from(paint.padding) + MARGIN;
    let mut out = String::new();
    window(&mut out, paint, width, height);
    let mut grounds = Vec::new();
    let mut body = String::new();
    for (row, y) in rows(buffer).zip(0..) {
        ground_of(&mut grounds, &row, y, paint);
        for run in row.chunk_by(|one, next| go_together(one, next, paint)) {
            draw(&mut body, run, y, &grid, paint);
        }
    }
    out.push_str("<g shape-rendering=\"crispEdges\">\n");
    for ground in &grounds {
        fill(&mut out, ground, &grid, u32::from(buffer.area.width));
    }
    out.push_str("</g>\n");
    line(
        &mut out,
        format_args!(
            "<g xml:space=\"preserve\" style=\"white-space:pre\" font-family=\"{}\" font-size=\"{}\">",
            escape(&paint.font_family),
            paint.font_size
        ),
    );
    out.push_str(&body);
    out.push_str("</g>\n</svg>\n");
    out
}

impl Grid {
    fn of(paint: &Paint) -> Self {
        let (font_size, padding) = (u32::from(paint.font_size), u32::from(paint.padding));
        let bar = if paint.title.is_some() { BAR } else { 0 };
        Self {
            // The fonts that we name are 0.6 wide; 1.3 high lets lines breathe.
            cell_width: (font_size * 6 + 5) / 10,
            cell_height: (font_size * 13 + 5) / 10,
            left: padding + MARGIN,
            top: padding.max(bar) + MARGIN,
        }
    }

    /// Returns the upper left corner of a cell.
    fn at(&self, column: u32, row: u32) -> (u32, u32) {
        (self.left + column * self.cell_width, self.top + row * self.cell_height)
    }
}

/// Writes a line. A string takes whatever is written to it.
fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    _ = writeln!(out, "{text}");
}

/// Opens the document with the window, its frame and its title bar.
fn window(out: &mut String, paint: &Paint, width: u32, height: u32) {
    let frame = hex(mix(paint.foreground, paint.background, 24));
    line(
        out,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
             <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"10\" fill=\"{}\" stroke=\"{frame}\"/>",
            width - 1,
            height - 1,
            hex(paint.background)
        ),
    );
    let Some(title) = &paint.title else { return };
    for (x, colour) in [(20, [0xe2, 0x6d, 0x66]), (40, [0xdc, 0xb0, 0x58]), (60, [0x72, 0xb0, 0x68])] {
        line(out, format_args!("<circle cx=\"{x}\" cy=\"19\" r=\"6\" fill=\"{}\"/>", hex(colour)));
    }
    line(
        out,
        format_args!(
            "<text x=\"{}\" y=\"23\" text-anchor=\"middle\" font-family=\"system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif\" font-size=\"13\" fill=\"{}\">{}</text>",
            width / 2,
            hex(mix(paint.foreground, paint.background, 60)),
            escape(title)
        ),
    );
}

impl Ink {
    fn of(glyph: &Glyph<'_>, paint: &Paint) -> Self {
        let cell = glyph.cell;
        let mut text = paint.rgb(cell.fg).unwrap_or(paint.foreground);
        let mut ground = paint.rgb(cell.bg);
        if cell.modifier.contains(Modifier::REVERSED) {
            (text, ground) = (ground.unwrap_or(paint.background), Some(text));
        }
        if cell.modifier.contains(Modifier::DIM) {
            text = mix(text, ground.unwrap_or(paint.background), 60);
        }
        let shown = Modifier::BOLD
            | Modifier::ITALIC
            | Modifier::UNDERLINED
            | Modifier::CROSSED_OUT
            | Modifier::HIDDEN;
        Self { text, ground, shown: cell.modifier & shown }
    }
}

/// A rectangle of cells with one background.
struct Ground {
    column: u32,
    row: u32,
    width: u32,
    height: u32,
    fill: [u8; 3],
}

/// Adds a row's backgrounds; one that lies under an equal one makes that one higher.
fn ground_of(grounds: &mut Vec<Ground>, row: &[Glyph<'_>], y: u32, paint: &Paint) {
    let of = |glyph: &Glyph<'_>| Ink::of(glyph, paint).ground;
    for run in row.chunk_by(|one, next| of(one) == of(next)) {
        let (Some(first), Some(fill)) = (run.first(), run.first().and_then(of)) else { continue };
        let width = run.iter().map(|glyph| glyph.width).sum();
        let above = grounds.iter_mut().rev().find(|it| {
            it.column == first.column && it.width == width && it.row + it.height == y && it.fill == fill
        });
        match above {
            Some(above) => above.height += 1,
            None => grounds.push(Ground { column: first.column, row: y, width, height: 1, fill }),
        }
    }
}

/// Draws a background; at the edge of the screen it goes on to the edge of the window.
fn fill(out: &mut String, ground: &Ground, grid: &Grid, columns: u32) {
    let (mut x, y) = grid.at(ground.column, ground.row);
    let (mut width, height) = (ground.width * grid.cell_width, ground.height * grid.cell_height);
    let room = grid.left - MARGIN;
    if ground.column + ground.width == columns {
        width += room;
    }
    if ground.column == 0 {
        (x, width) = (MARGIN, width + room);
    }
    let fill = hex(ground.fill);
    line(
        out,
        format_args!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>"),
    );
}

/// Whether two neighbours are drawn as one: same ink, and both of a font that surely has them.
///
/// A glyph that the font may lack comes from another one with other widths; alone, it moves nothing. What stands in
/// columns is drawn column by column: who draws it may not stretch a run, and a wide one would then move what is last.
fn go_together(one: &Glyph<'_>, next: &Glyph<'_>, paint: &Paint) -> bool {
    let is_sure = |glyph: &Glyph<'_>| glyph.width == 1 && glyph.symbol.chars().all(|c| c < '\u{250}');
    let is_same = one.symbol == next.symbol && one.width == 1;
    let ink = Ink::of(one, paint);
    let is_gap = one.symbol == " " && next.symbol == " ";
    let is_ruled = ink.shown.intersects(Modifier::UNDERLINED | Modifier::CROSSED_OUT);
    ink == Ink::of(next, paint) && (is_ruled || !is_gap) && (is_same || (is_sure(one) && is_sure(next)))
}

fn draw(out: &mut String, run: &[Glyph<'_>], row: u32, grid: &Grid, paint: &Paint) {
    let Some(first) = run.first() else { return };
    let ink = Ink::of(first, paint);
    if ink.shown.contains(Modifier::HIDDEN) {
        return;
    }
    let text: String = run.iter().map(|glyph| glyph.symbol).collect();
    let at = grid.at(first.column, row);
    let fill = hex(ink.text);
    match shape::of(&text, at, (grid.cell_width, grid.cell_height)) {
        Some(Shape::Strokes { path, is_heavy }) => {
            let width = match (is_heavy, ink.shown.contains(Modifier::BOLD)) {
                (true, _) => "3",
                (false, true) => "1.8",
                (false, false) => "1.2",
            };
            line(
                out,
                format_args!("<path d=\"{path}\" fill=\"none\" stroke=\"{fill}\" stroke-width=\"{width}\"/>"),
            );
        }
        Some(Shape::Fill { path, opacity }) => line(
            out,
            format_args!("<path d=\"{path}\" fill=\"{fill}\"{opacity} shape-rendering=\"crispEdges\"/>"),
        ),
        Some(Shape::Smooth(path)) => line(out, format_args!("<path d=\"{path}\" fill=\"{fill}\"/>")),
        None => write_text(out, run, at, grid, paint),
    }
}

/// Writes a run of text over exactly its cells.
fn write_text(out: &mut String, run: &[Glyph<'_>], (_, y): (u32, u32), grid: &Grid, paint: &Paint) {
    let Some(ink) = run.first().map(|first| Ink::of(first, paint)) else { return };
    // Blanks at the ends draw nothing, unless a line runs through them.
    let is_lined = ink.shown.intersects(Modifier::UNDERLINED | Modifier::CROSSED_OUT);
    let is_seen = |glyph: &Glyph<'_>| is_lined || glyph.symbol != " ";
    let (Some(from), Some(to)) = (run.iter().position(is_seen), run.iter().rposition(is_seen)) else {
        return;
    };
    let seen = run.get(from..=to).unwrap_or_default();
    let text: String = seen.iter().map(|glyph| glyph.symbol).collect();
    let x = seen.first().map_or(0, |first| grid.at(first.column, 0).0);
    let length = seen.iter().map(|glyph| glyph.width).sum::<u32>() * grid.cell_width;
    // The middle of the letters of the fonts that we name is 0.345 above the line they stand on.
    let base = f64::from(y) + f64::from(grid.cell_height) / 2.0 + f64::from(paint.font_size) * 0.345;
    line(
        out,
        format_args!(
            "<text x=\"{x}\" y=\"{base:.1}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\" \
             fill=\"{}\"{}>{}</text>",
            hex(ink.text),
            attributes(ink.shown),
            escape(&text)
        ),
    );
}

fn attributes(shown: Modifier) -> String {
    let mut out = String::new();
    if shown.contains(Modifier::BOLD) {
        out.push_str(" font-weight=\"bold\"");
    }
    if shown.contains(Modifier::ITALIC) {
        out.push_str(" font-style=\"italic\"");
    }
    match (shown.contains(Modifier::UNDERLINED), shown.contains(Modifier::CROSSED_OUT)) {
        (true, true) => out.push_str(" text-decoration=\"underline line-through\""),
        (true, false) => out.push_str(" text-decoration=\"underline\""),
        (false, true) => out.push_str(" text-decoration=\"line-through\""),
        (false, false) => {}
    }
    out
}

/// Returns text that is safe in XML; characters that XML cannot hold are left out.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Mixes a share of one colour, in hundredths, into another.
fn mix(one: [u8; 3], other: [u8; 3], share: u16) -> [u8; 3] {
    let [r, g, b] = one;
    let [r2, g2, b2] = other;
    let channel = |one: u8, other: u8| {
        u8::try_from((u16::from(one) * share + u16::from(other) * (100 - share)) / 100).unwrap_or(u8::MAX)
    };
    [channel(r, r2), channel(g, g2), channel(b, b2)]
}
