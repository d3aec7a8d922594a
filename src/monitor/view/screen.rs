//! The whole screen, laid out:
//!
//! ```text
//! header                                                       one line
//! ╭ Delegations ──────────╮╭ Why ─ Thoughts ─ Output ─ … ────╮
//! │ tree                  ││ panel                           │
//! ├ Proposed ─────────────┤├ Tokens ─────────────────────────┤
//! │ while one waits       ││ tokens                          │
//! ╰───────────────────────╯╰─────────────────────────────────╯
//! the latest receipt, what is wrong with the sources           one line
//! keys                                                         one line
//! ```
//!
//! Under 100 columns there is one box: the tree, or the panel while that is open. Under 5 lines the frame goes.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Modifier;
use ratatui::widgets::{Block, BorderType, Widget};

use super::text::{put, span};
use super::theme::Role;
use super::{Scene, dialog, footer, header, help, list, panel, proposal, tree};
use crate::monitor::app::dialog::Purpose;
use crate::monitor::app::ui::{Drawn, Layer, Pane, View};

/// From this width on the panel stands beside the tree.
const WIDE: u16 = 100;
/// The tokens below the panel: four lines and a frame.
const TOKENS: u16 = 6;

/// Where things go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    pub header: Rect,
    /// The box of the tree or the list; empty where the panel takes its place.
    pub main: Rect,
    /// The proposal that is worth a box; empty where none is, or where there is no room.
    pub proposal: Rect,
    pub panel: Rect,
    pub tokens: Rect,
    pub receipts: Rect,
    pub keys: Rect,
}

impl Places {
    /// Lays out a screen.
    pub fn of(area: Rect, scene: &Scene<'_>) -> Self {
        let is_tiny = area.height < 8;
        let lines = u16::from(!is_tiny);
        let [header, body, receipts, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Min(0),
            Constraint::Length(lines),
            Constraint::Length(lines),
        ])
        .areas(area);
        let nowhere = Rect { width: 0, height: 0, ..body };
        let settings = &scene.ui.settings;
        let has_panel = scene.ui.view == View::Tree && settings.show_reasoning_panel;
        let (main, side) = match (has_panel, area.width >= WIDE) {
            (true, true) => {
                // A narrow panel still reads well, a narrow tree loses its columns.
                let share = if area.width < 130 { [5, 3] } else { [11, 9] };
                let [main, side] = Layout::horizontal(share.map(Constraint::Fill)).areas(body);
                (main, side)
            }
            (true, false) if scene.ui.is_panel_open => (nowhere, body),
            (_, _) => (body, nowhere),
        };
        let has_tokens = settings.show_token_usage && side.height > TOKENS + 6;
        let [panel, tokens] =
            Layout::vertical([Constraint::Min(0), Constraint::Length(if has_tokens { TOKENS } else { 0 })])
                .areas(side);
        let has_box =
            scene.ui.view == View::Tree && main.height > 2 * proposal::HEIGHT + 4 && main.width >= 40;
        let boxed = if has_box && proposal::foremost(scene).is_some() { proposal::HEIGHT } else { 0 };
        let [main, proposal] = Layout::vertical([Constraint::Min(0), Constraint::Length(boxed)]).areas(main);
        Self { header, main, proposal, panel, tokens, receipts, keys }
    }
}

/// Returns how wide the text of the panel is, where there is one.
pub fn panel_width(places: &Places) -> Option<usize> {
    let inner = if is_framed(places.panel) { 2 } else { 0 };
    (places.panel.height > 0).then(|| usize::from(places.panel.width.saturating_sub(inner + 2)))
}

/// Draws everything; returns where it is.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) -> Drawn {
    if let Some(ground) = scene.style(Role::Text).bg {
        buf.set_style(area, ratatui::style::Style::new().bg(ground));
    }
    let places = Places::of(area, scene);
    let mut drawn = Drawn::default();
    header::render(places.header, buf, scene);
    if places.main.height > 0 && places.main.width > 0 {
        drawn.is_live |= main(places.main, buf, scene, &mut drawn);
    }
    if places.proposal.height > 0 {
        proposal::render(places.proposal, buf, scene);
    }
    if places.panel.height > 0 {
        panel::render(places.panel, buf, scene, &mut drawn);
    }
    if places.tokens.height > 0 {
        panel::tokens::render(places.tokens, buf, scene);
    }
    footer::receipts(places.receipts, buf, scene);
    footer::keys(places.keys, buf, scene);
    let covers = |layer: &Layer| !matches!(layer, Layer::Prompt(_));
    if scene.ui.layers.iter().any(covers) {
        recede(area, buf, scene);
    }
    for (nth, layer) in scene.ui.layers.iter().enumerate() {
        match layer {
            // A plan takes the place of what it was made from.
            Layer::Form(_) if scene.ui.layers.get(nth + 1).is_some_and(is_plan) => {}
            Layer::Help { scroll } => {
                (drawn.help_most, drawn.help_height) = help::render(area, buf, scene, *scroll);
            }
            Layer::Form(form) => drawn.form = dialog::form(area, buf, scene, form),
            Layer::Palette(palette) => dialog::palette(area, buf, scene, palette),
            Layer::Prompt(prompt) => dialog::prompt(places.keys, buf, scene, prompt),
        }
    }
    footer::toasts(places.receipts, buf, scene);
    if scene.ui.settings.ascii {
        super::text::make_plain(area, buf);
    }
    drawn
}

/// Takes the colour from what a dialog lies over: scraps of it beside the dialog are not to be read with it.
fn recede(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    let faint = scene.style(Role::Faint);
    let plain = faint.remove_modifier(Modifier::BOLD);
    buf.set_style(area, ratatui::style::Style { bg: None, ..plain });
}

/// Returns whether a layer shows what would be started.
fn is_plan(layer: &Layer) -> bool {
    matches!(layer, Layer::Form(form) if matches!(form.purpose, Purpose::Start(..)))
}

fn main(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, drawn: &mut Drawn) -> bool {
    let title = if scene.ui.view == View::Tree { "Delegations" } else { scene.ui.view.as_str() };
    let inner = frame(area, buf, scene, title, scene.ui.pane == Pane::Tree);
    draw_counts(area, buf, scene);
    match scene.ui.view {
        View::Tree if scene.model.is_empty() => {
            drawn.tree = inner;
            list::empty(inner, buf, scene);
            false
        }
        View::Tree if scene.ui.tree.is_empty() && !scene.ui.filter.is_empty() => {
            drawn.tree = inner;
            list::filtered_out(inner, buf, scene, scene.model.len());
            false
        }
        View::Tree => {
            drawn.tree = inner;
            tree::render(inner, buf, scene, drawn)
        }
        View::NeedsMe | View::Overview | View::History | View::Sessions | View::Settings => {
            drawn.list = inner;
            list::render(inner, buf, scene, drawn)
        }
    }
}

/// Returns whether a place has room for a frame.
pub fn is_framed(area: Rect) -> bool {
    area.height >= 4 && area.width >= 8
}

/// Draws a frame with a title; returns what is inside. Where there is no room for a frame there is none.
pub fn frame(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, title: &str, has_keys: bool) -> Rect {
    if !is_framed(area) {
        return area;
    }
    let role = if has_keys { Role::BorderFocus } else { Role::Border };
    let block = block(scene, role).title(span(format!(" {title} "), scene.style(Role::Title)));
    let inner = block.inner(area);
    block.render(area, buf);
    inner
}

/// Returns the block that every box is drawn with.
pub fn block(scene: &Scene<'_>, role: Role) -> Block<'static> {
    let block = Block::bordered().border_style(scene.style(role));
    if scene.ui.settings.ascii {
        block.border_set(ratatui::symbols::border::Set {
            top_left: "+",
            top_right: "+",
            bottom_left: "+",
            bottom_right: "+",
            vertical_left: "|",
            vertical_right: "|",
            horizontal_top: "-",
            horizontal_bottom: "-",
        })
    } else {
        block.border_type(BorderType::Rounded)
    }
}

/// How many rows there are, which are filtered out, and how they are sorted: in the frame's last line.
fn draw_counts(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    let ui = scene.ui;
    if area.height < 4 || area.width < 30 {
        return;
    }
    let (at, len, height) = match ui.view {
        View::Tree => (ui.tree.selected_row(scene.model), ui.tree.len(), ui.tree.height),
        View::NeedsMe => (Some(ui.list(ui.view).at), ui.needs.len(), 0),
        View::Sessions => (Some(ui.list(ui.view).at), ui.sessions.len(), 0),
        View::History => (Some(ui.list(ui.view).at), ui.past.len(), 0),
        View::Overview | View::Settings => return,
    };
    let mut parts = Vec::new();
    let marked = ui.tree.marked.len();
    if marked > 0 && ui.view != View::History {
        parts.push(format!("{marked} marked"));
    }
    if matches!(ui.view, View::Tree | View::History) {
        if !ui.filter.is_empty() {
            parts.push(format!("filter {}", ui.filter));
        }
        if ui.sort != crate::monitor::app::ui::Sort::Created {
            parts.push(format!("by {}", ui.sort.as_str()));
        }
    }
    if len > height {
        parts.push(format!("{} of {len}", at.map_or(0, |row| row + 1).min(len)));
    }
    if parts.is_empty() {
        return;
    }
    let text = format!(" {} ", parts.join(" · "));
    let wide = u16::try_from(super::text::width(&text)).unwrap_or(u16::MAX);
    let line = Rect { y: area.bottom() - 1, height: 1, width: area.width.saturating_sub(2), ..area };
    put(buf, line, line.right().saturating_sub(wide).max(area.x + 2), &text, scene.style(Role::Dim));
}
