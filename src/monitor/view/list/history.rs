//! What left the tree: newest first, or as it is sorted; filtered by the same words as the tree.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{Column, cells, keys, names, parts, put_lines, say, window};
use crate::model::status::{StatusWord, WORDS};
use crate::model::text as clean;
use crate::monitor::app::effect::PastEntry;
use crate::monitor::app::ui::{Drawn, View};
use crate::monitor::input::action::Action;
use crate::monitor::view::Scene;
use crate::monitor::view::text::{Side, span, wrap};
use crate::monitor::view::theme::Role;
use crate::monitor::view::tree::sign_of;
use crate::report::measure::{UNKNOWN, cost_within, duration, moment, spent_tokens};

const COLUMNS: [Column; 9] = [
    Column::fixed("ended", 11, Side::Left, 50),
    Column::fixed("", 1, Side::Left, 0),
    Column::fixed("state", 9, Side::Left, 0),
    Column::wide("what", 10, 4, 0),
    Column::fixed("pattern", 11, Side::Left, 88),
    Column::fixed("steps", 5, Side::Right, 64),
    Column::fixed("took", 7, Side::Right, 44),
    Column::fixed("tokens", 7, Side::Right, 72),
    Column::fixed("cost", COST, Side::Right, 72),
];
/// Most prices in full, and `no price`.
const COST: u16 = 8;

/// Draws it; returns whether it counts by itself.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, drawn: &mut Drawn) -> bool {
    let past = &scene.ui.past;
    if past.is_empty() {
        nothing(area, buf, scene);
        return false;
    }
    let parts = parts(area, buf, scene);
    names(parts.names, buf, scene, &COLUMNS);
    drawn.list = parts.rows;
    let at = scene.ui.list(View::History).at.min(past.len() - 1);
    let shown = window(at, past.len(), usize::from(parts.rows.height));
    let rows = past.shown().enumerate().skip(shown.start);
    for ((nth, entry), y) in rows.zip(parts.rows.top()..parts.rows.bottom()) {
        let row = Rect { y, height: 1, ..parts.rows };
        draw_row(row, buf, scene, entry);
        super::select(row, buf, scene, nth == at);
    }
    if let Some(entry) = past.shown().nth(at).filter(|_| parts.detail.height > 0) {
        draw_detail(parts.detail, buf, scene, entry);
    }
    false
}

fn nothing(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    let past = &scene.ui.past;
    let lines = if let Some(trouble) = &past.trouble {
        vec![("The history cannot be read.".into(), Role::Error), (clean::line(trouble).into(), Role::Dim)]
    } else if !past.is_read {
        vec![("Reading…".into(), Role::Faint)]
    } else if past.entries.is_empty() {
        vec![
            ("Nothing has left the tree yet.".into(), Role::Text),
            ("Delegations come here some time after they have ended.".into(), Role::Dim),
        ]
    } else {
        return super::filtered_out(area, buf, scene, past.entries.len());
    };
    say(area, buf, scene, &lines);
}

fn word_of(entry: &PastEntry) -> StatusWord {
    WORDS.into_iter().find(|(_, name)| *name == entry.status).map_or(StatusWord::Unknown, |(word, _)| word)
}

fn draw_row(row: Rect, buf: &mut Buffer, scene: &Scene<'_>, entry: &PastEntry) {
    let word = word_of(entry);
    let role = Role::of_status(word);
    let shown = [
        (when(scene, entry), Role::Dim),
        (sign_of(scene, word).into(), role),
        (clean::line(&entry.status).into(), role),
        (title(entry), Role::Text),
        (entry.pattern.as_deref().map(|text| clean::line(text).into()).unwrap_or_default(), Role::Dim),
        (if entry.steps == 0 { UNKNOWN.into() } else { entry.steps.to_string() }, Role::Dim),
        (took(entry), Role::Dim),
        (spent_tokens(&entry.spend), Role::Tokens),
        (cost_within(&entry.spend, usize::from(COST)), Role::Cost),
    ];
    cells(row, buf, scene, &COLUMNS, &shown);
}

fn title(entry: &PastEntry) -> String {
    let title = if entry.title.is_empty() { &entry.id } else { &entry.title };
    clean::line(title).into()
}

fn when(scene: &Scene<'_>, entry: &PastEntry) -> String {
    entry.ended.or(entry.started).map_or_else(|| UNKNOWN.into(), |at| moment(at, scene.now))
}

fn took(entry: &PastEntry) -> String {
    entry.started.zip(entry.ended).map_or_else(|| UNKNOWN.into(), |(from, to)| duration(to.since(from)))
}

fn draw_detail(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, entry: &PastEntry) {
    let told = |text: Option<&str>| text.map_or_else(|| UNKNOWN.to_owned(), |text| clean::line(text).into());
    let at = |stamp: Option<crate::model::time::Stamp>| {
        stamp.map_or_else(|| UNKNOWN.to_owned(), |at| at.to_string())
    };
    let wide = usize::from(area.width);
    let mut lines = wrap(&title(entry), wide, scene.style(Role::Title));
    lines.truncate(2);
    lines.push(Line::from(vec![
        span(clean::line(&entry.id), scene.style(Role::Dim)),
        span(format!("  agent {}", told(entry.agent.as_deref())), scene.style(Role::Dim)),
        span(format!("  pattern {}", told(entry.pattern.as_deref())), scene.style(Role::Dim)),
    ]));
    let span_of_time = format!("{} to {}, {}", at(entry.started), at(entry.ended), took(entry));
    lines.push(Line::from(span(span_of_time, scene.style(Role::Dim))));
    lines.truncate(usize::from(area.height.saturating_sub(1)));
    put_lines(area, buf, &lines);
    let foot = Rect { y: area.bottom().saturating_sub(1), height: 1, ..area };
    let dealing = [
        (Action::Open, "in full"),
        (Action::Export, "export"),
        (Action::Filter, "filter"),
        (Action::Sort, "sort"),
    ];
    keys(foot, buf, scene, None, &dealing);
}
