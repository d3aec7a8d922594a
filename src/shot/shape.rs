//! Lines and blocks as paths: they fill their cell to the edge, so rows and columns join without a gap.

use std::fmt::Write as _;

/// How a run of drawing characters is drawn.
pub enum Shape {
    /// A path to be stroked.
    Strokes { path: String, is_heavy: bool },
    /// A path of rectangles to be filled, with what makes them half transparent.
    Fill { path: String, opacity: &'static str },
    /// A path of slanted shapes to be filled.
    Smooth(String),
}

/// Where a line character reaches from its middle (`l`, `r`, `u`, `d`), and what kind of line it is.
#[derive(Clone, Copy)]
struct Arms {
    reach: &'static str,
    line: Line,
}

/// Kinds of lines.
#[derive(Clone, Copy, PartialEq)]
enum Line {
    Light,
    Heavy,
    /// Light, with a round corner.
    Round,
}

impl Arms {
    fn reach(self, arm: char) -> bool {
        self.reach.contains(arm)
    }
}

/// A block in eighths of its cell.
struct Block {
    left: u8,
    top: u8,
    right: u8,
    bottom: u8,
    /// What makes it half transparent, as an attribute.
    opacity: &'static str,
}

/// Returns the shape of a run of one drawing character in cells of a size; nothing for text.
pub fn of(run: &str, (x, y): (u32, u32), (width, height): (u32, u32)) -> Option<Shape> {
    let c = run.chars().next().filter(|first| run.chars().all(|c| c == *first))?;
    let cells = u32::try_from(run.chars().count()).ok()?;
    if let Some(arms) = arms(c) {
        let mut path = String::new();
        if matches!(c, '─' | '━') {
            // One stroke for the whole run keeps the file small and the line even.
            stroke(&mut path, arms, (x, y), (width * cells, height));
        } else {
            for n in 0..cells {
                stroke(&mut path, arms, (x + n * width, y), (width, height));
            }
        }
        return Some(Shape::Strokes { path, is_heavy: arms.line == Line::Heavy });
    }
    if matches!(c, '▰' | '▱') {
        let path = (0..cells).map(|n| slanted(c, x + n * width, y, (width, height))).collect();
        return Some(Shape::Smooth(path));
    }
    let block = block(c)?;
    let share = |part: u8, whole: u32| f64::from(whole) * f64::from(part) / 8.0;
    let (wide, high) = (share(block.right - block.left, width), share(block.bottom - block.top, height));
    let mut path = String::new();
    for n in 0..cells {
        let left = f64::from(x + n * width) + share(block.left, width);
        let top = f64::from(y) + share(block.top, height);
        // A string takes whatever is written to it.
        _ = write!(path, "M{left} {top}h{wide}v{high}h-{wide}z");
    }
    Some(Shape::Fill { path, opacity: block.opacity })
}

fn arms(c: char) -> Option<Arms> {
    let (reach, line) = match c {
        '─' => ("lr", Line::Light),
        '│' => ("ud", Line::Light),
        '┌' => ("rd", Line::Light),
        '┐' => ("ld", Line::Light),
        '└' => ("ru", Line::Light),
        '┘' => ("lu", Line::Light),
        '╭' => ("rd", Line::Round),
        '╮' => ("ld", Line::Round),
        '╰' => ("ru", Line::Round),
        '╯' => ("lu", Line::Round),
        '├' => ("udr", Line::Light),
        '┤' => ("udl", Line::Light),
        '┬' => ("lrd", Line::Light),
        '┴' => ("lru", Line::Light),
        '┼' => ("lrud", Line::Light),
        '━' => ("lr", Line::Heavy),
        '┃' => ("ud", Line::Heavy),
        '╸' => ("l", Line::Heavy),
        '╹' => ("u", Line::Heavy),
        '╺' => ("r", Line::Heavy),
        '╻' => ("d", Line::Heavy),
        '╴' => ("l", Line::Light),
        '╵' => ("u", Line::Light),
        '╶' => ("r", Line::Light),
        '╷' => ("d", Line::Light),
        _ => return None,
    };
    Some(Arms { reach, line })
}

/// Adds the strokes of one cell, from its edges to its middle.
fn stroke(path: &mut String, arms: Arms, (x, y): (u32, u32), (width, height): (u32, u32)) {
    let (left, top) = (f64::from(x), f64::from(y));
    let (right, bottom) = (left + f64::from(width), top + f64::from(height));
    let (middle, centre) = (f64::midpoint(left, right), f64::midpoint(top, bottom));
    let mut add = |text: std::fmt::Arguments<'_>| {
        // A string takes whatever is written to it.
        _ = path.write_fmt(text);
    };
    if arms.line == Line::Round {
        let end = if arms.reach('r') { right } else { left };
        let start = if arms.reach('d') { bottom } else { top };
        let bend =
            if arms.reach('d') { centre + (right - left) / 2.0 } else { centre - (right - left) / 2.0 };
        return add(format_args!("M{middle} {start}V{bend}Q{middle} {centre} {end} {centre}"));
    }
    if arms.reach('l') || arms.reach('r') {
        let (from, to) =
            (if arms.reach('l') { left } else { middle }, if arms.reach('r') { right } else { middle });
        add(format_args!("M{from} {centre}H{to}"));
    }
    if arms.reach('u') || arms.reach('d') {
        let (from, to) =
            (if arms.reach('u') { top } else { centre }, if arms.reach('d') { bottom } else { centre });
        add(format_args!("M{middle} {from}V{to}"));
    }
}

fn block(c: char) -> Option<Block> {
    const FULL: Block = Block { left: 0, top: 0, right: 8, bottom: 8, opacity: "" };
    let after = |first: char| u32::from(c).checked_sub(u32::from(first)).and_then(|n| u8::try_from(n).ok());
    Some(match c {
        '▁'..='█' => Block { top: 7 - after('▁')?, ..FULL },
        '▉'..='▏' => Block { right: 7 - after('▉')?, ..FULL },
        '▀' => Block { bottom: 4, ..FULL },
        '▐' => Block { left: 4, ..FULL },
        '░' => Block { opacity: " fill-opacity=\"0.25\"", ..FULL },
        '▒' => Block { opacity: " fill-opacity=\"0.5\"", ..FULL },
        '▓' => Block { opacity: " fill-opacity=\"0.75\"", ..FULL },
        _ => return None,
    })
}

/// Returns a slanted cell of a progress bar: full, or its outline as a shape with a hole.
fn slanted(c: char, x: u32, y: u32, (width, height): (u32, u32)) -> String {
    let (left, width) = (f64::from(x), f64::from(width));
    let (top, bottom) = (f64::from(y) + f64::from(height) * 0.27, f64::from(y) + f64::from(height) * 0.73);
    let (lean, gap) = (width * 0.22, width * 0.05);
    let (from, to) = (left + gap, left + width - gap);
    let mut path = format!("M{:.1} {top:.1}H{to:.1}L{:.1} {bottom:.1}H{from:.1}z", from + lean, to - lean);
    if c == '▱' {
        let (from, to, top, bottom) = (from + 1.3, to - 1.3, top + 1.0, bottom - 1.0);
        // Against the clock, so that it is a hole.
        _ = write!(
            path,
            "M{:.1} {top:.1}L{from:.1} {bottom:.1}H{:.1}L{to:.1} {top:.1}z",
            from + lean,
            to - lean
        );
    }
    path
}
