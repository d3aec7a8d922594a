//! The first line: is everything fine, and what is it costing?

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::Scene;
use super::text::{put, width};
use super::theme::Role;
use crate::model::fact::SourceState;
use crate::model::key::SourceKind;
use crate::model::status::StatusWord;
use crate::report::measure::{cost, spent_tokens, tokens};

type Piece = (String, Style);

/// Draws the header. What stands right is cut from its left end where the line is short.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    buf.set_style(area, scene.style(Role::Header));
    let left = left(scene);
    let mut x = area.x;
    for (text, style) in &left {
        x = put(buf, area, x, text, *style);
    }
    let room = usize::from(area.right().saturating_sub(x));
    let mut right = right(scene);
    let wide = |pieces: &[Piece]| pieces.iter().map(|(text, _)| width(text)).sum::<usize>();
    while wide(&right) > room && !right.is_empty() {
        right.pop();
    }
    let wide = u16::try_from(wide(&right)).unwrap_or(u16::MAX);
    let mut x = area.right().saturating_sub(wide);
    for (text, style) in &right {
        x = put(buf, area, x, text, *style);
    }
}

fn left(scene: &Scene<'_>) -> Vec<Piece> {
    let header = scene.style(Role::Header);
    let mut pieces = vec![
        (" Quarterdeck ".to_owned(), header.patch(scene.style(Role::Accent)).add_modifier(Modifier::BOLD)),
        (format!(" {} ", scene.ui.project), header.patch(scene.style(Role::Text))),
    ];
    let (sign, words, role) = engine(scene);
    pieces.push((format!(" {sign} "), header.patch(scene.style(role))));
    pieces.push((format!("{words} "), header.patch(scene.style(Role::Dim))));
    if let Some(mode) = &scene.ui.mode {
        pieces.push((format!(" mode {mode} "), header.patch(scene.style(Role::Badge))));
    }
    pieces
}

/// What is known of the engine: running, not running, or that there is none.
fn engine(scene: &Scene<'_>) -> (&'static str, String, Role) {
    let engines: Vec<_> =
        scene.model.sources().filter(|(_, source)| source.kind == SourceKind::Engine).collect();
    let dot = scene.sign("●", "*").to_owned();
    let dot: &'static str = if dot == "●" { "●" } else { "*" };
    let hollow: &'static str = if scene.ui.settings.ascii { "o" } else { "○" };
    if !scene.ui.is_loaded {
        return (hollow, "reading".into(), Role::Faint);
    }
    let broken = engines
        .iter()
        .any(|(_, source)| !matches!(source.state, SourceState::Ok | SourceState::Missing { .. }));
    let running = engines.iter().filter(|(_, source)| source.engine.running).count();
    match (running, engines.len(), broken) {
        (_, _, true) => ("!", "engine's journal is damaged".into(), Role::Error),
        (0, 0, false) => (hollow, "no engine".into(), Role::Faint),
        (0, _, false) => (hollow, "engine off".into(), Role::Warn),
        (1, 1, false) => (dot, "engine".into(), Role::Good),
        (some, all, false) => (dot, format!("{some} of {all} engines"), Role::Good),
    }
}

/// The counts, the most urgent first: they are dropped from the end.
fn right(scene: &Scene<'_>) -> Vec<Piece> {
    let header = scene.style(Role::Header);
    let totals = &scene.ui.totals;
    let mut pieces = Vec::new();
    let mut count = |count: u32, words: &str, role: Role| {
        if count > 0 {
            pieces.push((format!("{count} {words}  "), header.patch(scene.style(role))));
        }
    };
    let needs = u32::try_from(scene.ui.needs.len()).unwrap_or(u32::MAX);
    count(needs, if needs == 1 { "needs me" } else { "need me" }, Role::Warn);
    count(scene.ui.stances.working(), "running", Role::StatusRunning);
    count(totals.of(StatusWord::Paused), "paused", Role::StatusPaused);
    count(totals.of(StatusWord::Stale), "silent", Role::StatusStale);
    count(totals.of(StatusWord::Queued), "queued", Role::Dim);
    if !totals.spend.is_nothing() {
        let spent = &totals.spend;
        pieces.push((format!("{}  ", cost(spent)), header.patch(scene.style(Role::Cost))));
        pieces.push((format!("{} tok  ", spent_tokens(spent)), header.patch(scene.style(Role::Tokens))));
    }
    if let Some(rate) = scene.ui.burn.all().per_minute(scene.now).filter(|rate| *rate > 0) {
        let arrow = scene.sign("↑", "^");
        pieces.push((format!("{arrow}{}/min ", tokens(rate)), header.patch(scene.style(Role::Dim))));
    }
    pieces
}
