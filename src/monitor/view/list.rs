//! The views that are lists: what needs me, the overview, the history, the sessions, the settings.
//!
//! Each has its rows, and below them, where there is room, the selected one in full with the keys that deal
//! with it.

pub mod history;
pub mod needs;
pub mod overview;
pub mod sessions;
pub mod settings;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::Scene;
use super::text::{Side, put, put_column, put_line, width};
use super::theme::Role;
use crate::control::channel;
use crate::model::fact::SourceState;
use crate::model::key::SourceKind;
use crate::model::{NodeIx, Source};
use crate::monitor::app::ui::{Drawn, View};
use crate::monitor::input::action::Action;
use crate::report::text::is_in_trouble;

/// Draws the list of the view in front; returns whether it counts by itself.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, drawn: &mut Drawn) -> bool {
    match scene.ui.view {
        View::Tree => false,
        View::NeedsMe => needs::render(area, buf, scene, drawn),
        View::Overview => overview::render(area, buf, scene, drawn),
        View::History => history::render(area, buf, scene, drawn),
        View::Sessions => sessions::render(area, buf, scene, drawn),
        View::Settings => settings::render(area, buf, scene, drawn),
    }
}

/// Returns which rows of a list are shown, with the chosen one among them.
pub fn window(at: usize, len: usize, height: usize) -> std::ops::Range<usize> {
    let from = (at + 1).saturating_sub(height).min(len.saturating_sub(height));
    // Once it is scrolled, the chosen row stands in the middle: what comes next is seen too.
    let from = if at >= height { (at - height / 2).min(len.saturating_sub(height)) } else { from };
    from..(from + height).min(len)
}

/// Draws a row's ground where it is the chosen one.
pub fn select(row: Rect, buf: &mut Buffer, scene: &Scene<'_>, is_chosen: bool) {
    if is_chosen {
        buf.set_style(row, scene.style(Role::Selection));
    }
}

/// A column: which width it has follows from the width of the whole alone, so that nothing jumps.
pub struct Column {
    pub name: &'static str,
    /// What it has at least.
    pub cells: u16,
    /// Its part of what is left over; 0 stays as it is.
    pub share: u16,
    pub side: Side,
    /// It is there from this width of the list on.
    pub from: u16,
}

impl Column {
    /// A column of a fixed width.
    pub const fn fixed(name: &'static str, cells: u16, side: Side, from: u16) -> Self {
        Self { name, cells, share: 0, side, from }
    }

    /// A column that takes a part of what is left over.
    pub const fn wide(name: &'static str, cells: u16, share: u16, from: u16) -> Self {
        Self { name, cells, share, side: Side::Left, from }
    }
}

/// Returns the place of each column in a row; one that is not there has no width.
pub fn places<const N: usize>(row: Rect, columns: &[Column; N]) -> [Rect; N] {
    let gap = if row.width >= 100 { 2 } else { 1 };
    let is_there = |column: &Column| row.width >= column.from;
    let taken: u16 = columns.iter().filter(|one| is_there(one)).map(|one| one.cells + gap).sum();
    let shares: u16 = columns.iter().filter(|one| is_there(one)).map(|one| one.share).sum();
    let spare = row.width.saturating_sub(taken.saturating_sub(gap));
    let mut x = row.x;
    columns.each_ref().map(|column| {
        if !is_there(column) {
            return Rect { x, width: 0, ..row };
        }
        let more = (spare * column.share).checked_div(shares).unwrap_or(0);
        let wide = (column.cells + more).min(row.right().saturating_sub(x));
        let place = Rect { x, width: wide, ..row };
        x = x.saturating_add(wide + gap).min(row.right());
        place
    })
}

/// Draws the names of the columns.
pub fn names<const N: usize>(row: Rect, buf: &mut Buffer, scene: &Scene<'_>, columns: &[Column; N]) {
    for (place, column) in places(row, columns).into_iter().zip(columns) {
        put_column(buf, place, column.name, scene.style(Role::Faint), column.side);
    }
}

/// Draws the cells of a row, each with its role.
pub fn cells<const N: usize>(
    row: Rect,
    buf: &mut Buffer,
    scene: &Scene<'_>,
    columns: &[Column; N],
    cells: &[(String, Role); N],
) {
    for ((place, column), (text, role)) in places(row, columns).into_iter().zip(columns).zip(cells) {
        put_column(buf, place, text, scene.style(*role), column.side);
    }
}

/// The parts of a list.
pub struct Parts {
    /// The names of the columns; without height where there is no room.
    pub names: Rect,
    pub rows: Rect,
    /// The selected row in full; without height where there is no room.
    pub detail: Rect,
}

/// Divides a view: names of the columns, rows, a line, and what is selected in full.
pub fn parts(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) -> Parts {
    let area = if area.width > 20 { Rect { x: area.x + 1, width: area.width - 2, ..area } } else { area };
    let names = u16::from(area.height >= 5);
    let detail = match area.height {
        0..12 => 0,
        12..24 => 5,
        // Ten are a proposal of six steps with what is said of it.
        high => (high * 2 / 5).clamp(7, 10),
    };
    let line = u16::from(detail > 0);
    let rows = area.height - names - detail - line;
    let rows = Rect { y: area.y + names, height: rows, ..area };
    if line > 0 {
        let place = Rect { y: rows.bottom(), height: 1, ..area };
        let dash = scene.sign("─", "-").repeat(usize::from(place.width));
        put(buf, place, place.x, &dash, scene.style(Role::Border));
    }
    Parts {
        names: Rect { height: names, ..area },
        rows,
        detail: Rect { y: rows.bottom() + line, height: detail, ..area },
    }
}

/// Draws lines into a place; what does not fit is left out.
pub fn put_lines(area: Rect, buf: &mut Buffer, lines: &[Line<'_>]) {
    for (line, y) in lines.iter().zip(area.top()..area.bottom()) {
        put_line(buf, Rect { y, height: 1, ..area }, line);
    }
}

/// Draws the keys that deal with a node; what cannot be done now is dimmed.
pub fn keys(row: Rect, buf: &mut Buffer, scene: &Scene<'_>, ix: Option<NodeIx>, actions: &[(Action, &str)]) {
    let mut x = row.x;
    for (action, word) in actions {
        let Some(key) = scene.keys.hint(*action) else { continue };
        let control = super::footer::control_of(*action);
        let can = control.zip(ix).is_none_or(|(control, ix)| channel(scene.model, ix, control).is_ok());
        let (key_role, word_role) = if can { (Role::Key, Role::Dim) } else { (Role::Faint, Role::Faint) };
        if usize::from(row.right().saturating_sub(x)) < width(&key) + width(word) + 1 {
            return;
        }
        x = put(buf, row, x, &key, scene.style(key_role));
        x = put(buf, row, x, &format!(" {word}   "), scene.style(word_role));
    }
}

/// Says something in the middle of an empty list.
pub fn say(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, lines: &[(String, Role)]) {
    let lines: Vec<Line<'_>> = lines
        .iter()
        .flat_map(|(text, role)| {
            // A blank line stays one.
            let text = if text.is_empty() { " " } else { text };
            super::text::wrap(text, usize::from(area.width), scene.style(*role))
        })
        .collect();
    let top = area.y + area.height.saturating_sub(u16::try_from(lines.len()).unwrap_or(u16::MAX)) / 3;
    for (line, y) in lines.iter().zip(top..area.bottom()) {
        let wide = u16::try_from(line.width()).unwrap_or(u16::MAX).min(area.width);
        let x = area.x + (area.width - wide) / 2;
        put_line(buf, Rect { x, y, width: area.right() - x, height: 1 }, line);
    }
}

/// What is said while there is nothing: that it is read, what cannot be read, or how to begin.
pub fn empty(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    if !scene.ui.is_loaded {
        return say(area, buf, scene, &[(format!("Reading{}", scene.sign("…", "...")), Role::Faint)]);
    }
    let unread = unread(scene);
    if !unread.is_empty() {
        return say(area, buf, scene, &unread);
    }
    let takes_tasks = scene.model.sources().any(|(_, source)| source.kind == SourceKind::Engine);
    let mut lines = vec![("Nothing is delegated here yet.".into(), Role::Text), (String::new(), Role::Text)];
    if takes_tasks {
        let key = scene.keys.hint(Action::Delegate).unwrap_or_default();
        lines.push((format!("{key}  hands a task to an agent"), Role::Dim));
        lines.push(("quarterdeck delegate \"TASK\"  does the same from a shell".into(), Role::Dim));
    }
    lines.push(("quarterdeck demo  shows a fleet at work".into(), Role::Dim));
    say(area, buf, scene, &lines);
}

/// What is said where nothing passes the filter.
pub fn filtered_out(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, of: usize) {
    let key = scene.keys.hint(Action::Back).unwrap_or_default();
    let found = if scene.ui.is_looking() {
        format!("Looking for what matches the filter {}.", scene.ui.filter)
    } else {
        format!("None of {of} matches the filter {}.", scene.ui.filter)
    };
    let lines = [(found, Role::Text), (format!("{key}  takes the filter off"), Role::Dim)];
    say(area, buf, scene, &lines);
}

/// Returns which sources cannot be read, in full, each with what to do about it.
pub fn unread(scene: &Scene<'_>) -> Vec<(String, Role)> {
    let sources = scene.model.sources().filter(|(_, source)| is_in_trouble(source));
    let remedies = sources.map(|(_, source)| remedy(source));
    let told = crate::report::text::unread(scene.model).into_iter().zip(remedies);
    told.flat_map(|(what, remedy)| {
        let what = crate::model::text::line(&what).into();
        [(what, Role::Error), (remedy.to_owned(), Role::Dim), (String::new(), Role::Dim)]
    })
    .collect()
}

fn remedy(source: &Source) -> &'static str {
    match (&source.state, source.kind) {
        (SourceState::Stopped { .. }, _) => {
            "Is an engine running there, and is the address right? It is asked again until it answers."
        }
        (SourceState::Missing { .. }, SourceKind::Engine) => {
            "What is shown is the last that was read. It is read again as soon as it is back."
        }
        (SourceState::Missing { .. }, _) => "Is the path right? It is read as soon as the file is there.",
        (_, SourceKind::Engine) => "quarterdeck doctor  says what is wrong and what can be saved",
        (_, _) => "It is read again as soon as the file changes.",
    }
}
