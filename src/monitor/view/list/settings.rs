//! The settings: those of the screen, which are switched here; then the engine's, which are only shown.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{keys, parts, put_lines, window};
use crate::config::Layer;
use crate::config::keys::Key;
use crate::monitor::app::ui::{Drawn, View};
use crate::monitor::app::update::{SETTINGS, Setting, Told, of_engine};
use crate::monitor::input::action::Action;
use crate::monitor::view::Scene;
use crate::monitor::view::text::{fit, put, span, wrap};
use crate::monitor::view::theme::Role;

/// Names stand in a column of this width.
const NAME: u16 = 24;
/// Before them, whether they are on.
const SWITCH: u16 = 8;

/// A line of the list.
enum Item {
    Heading(&'static str),
    Switch(Setting, &'static str, &'static str),
    Keep,
    Engine(Box<Told>),
}

impl Item {
    fn is_row(&self) -> bool {
        !matches!(self, Self::Heading(_))
    }
}

fn items(scene: &Scene<'_>) -> Vec<Item> {
    let mut items = vec![Item::Heading("The screen")];
    items.extend(SETTINGS.map(|(setting, name, says)| Item::Switch(setting, name, says)));
    items.push(Item::Keep);
    let engine = of_engine(scene.ui, scene.model);
    if !engine.is_empty() {
        items.push(Item::Heading("The engine, as it told"));
        items.extend(engine.into_iter().map(|told| Item::Engine(Box::new(told))));
    }
    items
}

/// Draws it; returns whether it counts by itself.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, drawn: &mut Drawn) -> bool {
    let parts = parts(area, buf, scene);
    // Its headings say more than names of columns would.
    let rows = Rect { y: parts.names.y, height: parts.rows.height + parts.names.height, ..parts.rows };
    drawn.list = rows;
    let items = items(scene);
    let count = items.iter().filter(|item| item.is_row()).count();
    let at = scene.ui.list(View::Settings).at.min(count.saturating_sub(1));
    let place =
        items.iter().enumerate().filter(|(_, item)| item.is_row()).nth(at).map_or(0, |(place, _)| place);
    let shown = window(place, items.len(), usize::from(rows.height));
    let lines = items.iter().enumerate().skip(shown.start);
    for ((nth, item), y) in lines.zip(rows.top()..rows.bottom()) {
        let row = Rect { y, height: 1, ..rows };
        draw_item(row, buf, scene, item);
        super::select(row, buf, scene, nth == place);
    }
    if let Some(item) = items.get(place).filter(|_| parts.detail.height > 0) {
        draw_detail(parts.detail, buf, scene, item);
    }
    false
}

fn draw_item(row: Rect, buf: &mut Buffer, scene: &Scene<'_>, item: &Item) {
    let name_end = row.x + 2 + SWITCH + NAME.min(row.width / 2);
    match item {
        Item::Heading(text) => {
            put(buf, row, row.x, text, scene.style(Role::Heading));
        }
        Item::Switch(setting, name, says) => {
            let is_on = setting.is_on(&scene.ui.settings);
            let (sign, word, role) = if is_on {
                (scene.sign("●", "[x]"), "on", Role::Good)
            } else {
                (scene.sign("○", "[ ]"), "off", Role::Dim)
            };
            put(buf, row, row.x + 2, &format!("{sign} {word}"), scene.style(role));
            let x = put(buf, row, row.x + 2 + SWITCH, name, scene.style(Role::Text));
            let x = x.max(name_end) + 1;
            // A few letters of it would say nothing; the selected one is explained below.
            if row.right().saturating_sub(x) >= 16 {
                put(buf, row, x, says, scene.style(Role::Dim));
            }
        }
        Item::Keep => {
            put(buf, row, row.x + 2 + SWITCH, "Keep these settings…", scene.style(Role::Accent));
        }
        Item::Engine(told) => draw_told(row, buf, scene, told, name_end),
    }
}

/// A setting of the engine: its name, its value, and where that comes from where there is room for it.
fn draw_told(row: Rect, buf: &mut Buffer, scene: &Scene<'_>, told: &Told, name_end: u16) {
    if told.is_fault {
        put(
            buf,
            row,
            row.x + 2,
            &format!("{} {}", scene.sign("▲", "!"), told.value),
            scene.style(Role::Warn),
        );
        return;
    }
    let room = usize::from(name_end - row.x).saturating_sub(3);
    let role = if told.key.is_some() { Role::Text } else { Role::Dim };
    put(buf, row, row.x + 2, &fit(&told.name, room), scene.style(role));
    let layer = told.layer.filter(|layer| *layer > Layer::BuiltIn).map_or("", Layer::as_str);
    let wide = u16::try_from(layer.len()).unwrap_or(0);
    let x = name_end + 1;
    let is_roomy = row.right().saturating_sub(x) > wide + 12;
    let end = if is_roomy && wide > 0 { row.right() - wide - 2 } else { row.right() };
    let value = fit(in_words(&told.value), usize::from(end.saturating_sub(x)));
    put(buf, row, x, &value, scene.style(if wide > 0 { Role::Accent } else { Role::Text }));
    if is_roomy && wide > 0 {
        put(buf, row, end + 1, layer, scene.style(Role::Dim));
    }
}

/// What a setting does, what it may be, and where its value comes from.
fn explained(told: &Told, key: &Key) -> String {
    let from = told.layer.map_or("the engine", Layer::as_str);
    let is_built_in = told.layer == Some(Layer::BuiltIn);
    let warns = if key.only_warns && is_built_in { " While nobody sets it, it only warns." } else { "" };
    format!("{} It is {} ({from}), and may be {}.{warns}", key.says, in_words(&told.value), key.range())
}

/// Explains the selected one.
fn draw_detail(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, item: &Item) {
    let (title, text, dealing): (&str, String, &[(Action, &str)]) = match item {
        Item::Heading(_) => return,
        Item::Switch(_, name, says) => (name, format!("On: {says}."), &[(Action::Open, "switch")]),
        Item::Keep => (
            "Keep these settings",
            "Writes them to a file, for this project or for you; until then they last while this runs."
                .into(),
            &[(Action::Open, "choose where")],
        ),
        Item::Engine(told) => match told.key {
            Some(key) => (key.name, explained(told, key), &[(Action::Open, "change it")]),
            None if told.is_fault => ("Something is wrong in a file", told.value.clone(), &[]),
            None => {
                let text = format!(
                    "{}. The engine told so; it is changed in the project's configuration.",
                    told.value
                );
                (&told.name, text, &[])
            }
        },
    };
    let mut lines = vec![Line::from(span(title, scene.style(Role::Title)))];
    lines.extend(wrap(&text, usize::from(area.width), scene.style(Role::Text)));
    lines.truncate(usize::from(area.height.saturating_sub(1)));
    put_lines(area, buf, &lines);
    let foot = Rect { y: area.bottom().saturating_sub(1), height: 1, ..area };
    keys(foot, buf, scene, None, dealing);
}

/// Returns a value as a person says it.
fn in_words(value: &str) -> &str {
    if value == "null" { "none" } else { value }
}
