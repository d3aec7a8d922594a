//! A card: what a delegated agent answered, in a frame that names its provider. What the one who delegates
//! says has none, so that the two are never taken for each other.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::parts::Look;
use crate::monitor::view::text::{fit, span, width as cells};

/// How wide the text in a card may be.
pub fn inside(width: usize) -> usize {
    width.saturating_sub(4).max(1)
}

/// Frames lines that are no wider than [`inside`]; the title stands in the upper border.
pub fn card(
    look: &Look<'_>,
    title: &str,
    border: Style,
    lines: Vec<Line<'static>>,
    width: usize,
) -> Vec<Line<'static>> {
    let (side, dash) = (look.sign("│", "|"), look.sign("─", "-"));
    let inner = inside(width);
    let title = fit(title, width.saturating_sub(6));
    let rule = dash.repeat(width.saturating_sub(cells(&title) + 5));
    let (top_left, top_right) = (look.sign("╭", "+"), look.sign("╮", "+"));
    let (low_left, low_right) = (look.sign("╰", "+"), look.sign("╯", "+"));
    let mut framed = vec![Line::from(span(format!("{top_left}{dash} {title} {rule}{top_right}"), border))];
    for line in lines {
        let used: usize = line.spans.iter().map(|span| cells(&span.content)).sum();
        let mut spans = vec![span(format!("{side} "), border)];
        spans.extend(line.spans);
        spans.push(Span::raw(" ".repeat(inner.saturating_sub(used))));
        spans.push(span(format!(" {side}"), border));
        framed.push(Line::from(spans));
    }
    let low = dash.repeat(width.saturating_sub(2));
    framed.push(Line::from(span(format!("{low_left}{low}{low_right}"), border)));
    framed
}
