//! The tree: one row a node, columns that stand still.
//!
//! ```text
//! ▾ ◐ Audit cleanup, phase 1     sequential  ▰▰▰▰▱▱▱▱  3/7  9m04s ~12m  38.2K   $0.42
//!   ├─ ✔ Delete orphaned modules executor              3/3  2m34s        1.9K   $0.01
//!   ├─ ? Write the migration     executor    asks      1/3    41s        0.4K   $0.01
//!   └▸ ○ Run test validation     waits for Archive stale docs
//! ```
//!
//! Which columns there are follows from the width alone, never from what is in them: so nothing jumps.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::text::{Side, put, put_column, width};
use super::theme::Role;
use super::{Scene, pace};
use crate::model::NodeIx;
use crate::model::node::{Node, NodeKind};
use crate::model::status::StatusWord;
use crate::model::tree::Row;
use crate::monitor::app::sent::SentState;
use crate::monitor::app::stance::Stance;
use crate::monitor::app::ui::{Drawn, Pane};
use crate::report::dissent;
use crate::report::measure::{cost_within, duration, spent_tokens};
use crate::report::text::{symbol, word};

/// The widths of the columns beside the title; 0 where there is no room for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Columns {
    who: u16,
    model: u16,
    bar: u16,
    count: u16,
    time: u16,
    /// How much longer, estimated.
    left: u16,
    tokens: u16,
    cost: u16,
}

impl Columns {
    /// Chooses columns for a width: the title comes first, then how far it is, then time and money.
    fn of(width: u16) -> Self {
        let short = Self { bar: 9, count: 5, time: 6, left: 4, cost: 6, ..Self::default() };
        match width {
            0..35 => Self::default(),
            35..46 => Self { time: 6, ..Self::default() },
            46..58 => Self { count: 5, time: 6, ..Self::default() },
            58..69 => Self { left: 0, ..short },
            69..78 => Self { who: 10, left: 0, ..short },
            78..92 => Self { who: 10, cost: 8, ..short },
            92..120 => Self { who: 10, count: 6, left: 5, tokens: 7, cost: 8, ..short },
            120..150 => Self { who: 12, model: 0, bar: 12, count: 8, time: 7, left: 5, tokens: 7, cost: 8 },
            _ => Self { who: 14, model: 16, bar: 12, count: 8, time: 8, left: 6, tokens: 8, cost: 9 },
        }
    }

    fn all(self) -> [u16; 8] {
        [self.who, self.model, self.bar, self.count, self.time, self.left, self.tokens, self.cost]
    }

    /// Returns the cells that all columns take, each with a blank before it.
    fn total(self) -> u16 {
        self.all().into_iter().filter(|cells| *cells > 0).map(|cells| cells + 1).sum()
    }
}

/// Draws the rows; returns whether something in them works, and so moves by itself.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, drawn: &mut Drawn) -> bool {
    let columns = Columns::of(area.width);
    let mut is_live = false;
    let rows = scene.ui.tree.window(scene.model);
    scene.model.fetch(rows.iter().map(|row| row.ix));
    for (row, y) in rows.into_iter().zip(area.top()..area.bottom()) {
        let Some(node) = scene.model.get(row.ix) else { continue };
        let place = Rect { y, height: 1, ..area };
        let stance = scene.ui.stances.of(row.ix, node);
        is_live |= stance == Stance::Works;
        drawn.counts |= !stance.is_over();
        draw_row(place, buf, scene, &row, node, columns);
    }
    is_live
}

fn draw_row(place: Rect, buf: &mut Buffer, scene: &Scene<'_>, row: &Row, node: &Node, columns: Columns) {
    let is_selected = scene.ui.tree.selected == Some(row.ix);
    let title = Rect { width: place.width.saturating_sub(columns.total()), ..place };
    let x = draw_lead(title, buf, scene, row, node);
    let x = draw_project(title, buf, scene, row, x);
    let text = label(node);
    let style = title_style(scene, row.ix, node);
    let end = put(buf, title, x, &text, style);
    let rest = Rect { x: title.right(), width: columns.total(), ..place };
    let is_queued = node.status.word() == StatusWord::Queued;
    let word = (is_queued && columns.bar == 0).then(|| word(node).to_owned());
    match waits_for(scene, node).or(word) {
        // Beside the columns where there are some, else right after the title.
        Some(waits) if columns.bar > 0 => draw_wait(rest, buf, scene, &waits),
        Some(waits) => draw_wait(
            Rect { x: end + 1, width: place.right().saturating_sub(end + 1), ..place },
            buf,
            scene,
            &waits,
        ),
        None => draw_columns(rest, buf, scene, (row.ix, node), columns),
    }
    let says = says(scene, row.ix, node);
    // What it asks, why it failed or what it does now, where the title leaves room.
    if let Some((text, role)) = says.filter(|_| row.depth > 0 && title.right().saturating_sub(end) > 12) {
        put(buf, title, end + 2, &text, scene.style(role));
    }
    draw_receipt(title, buf, scene, node, end);
    if is_selected {
        let role = if scene.ui.pane == Pane::Tree { Role::Selection } else { Role::SelectionInactive };
        buf.set_style(place, scene.style(role));
    }
}

/// Draws which project a tree is of, where there are several; returns where its title begins.
fn draw_project(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, row: &Row, x: u16) -> u16 {
    /// A name takes no more than this part of the row.
    const PART: u16 = 3;
    let Some(name) = scene.ui.places.name_of(scene.model, row.ix).filter(|_| row.depth == 0) else {
        return x;
    };
    let name = super::text::fit(name, usize::from(area.width / PART));
    let x = put(buf, area, x, &name, scene.style(Role::Accent));
    put(buf, area, x, scene.sign(" › ", " > "), scene.style(Role::Guide))
}

/// Draws how far a command is that was sent from here, beside the title or over its end.
fn draw_receipt(title: Rect, buf: &mut Buffer, scene: &Scene<'_>, node: &Node, end: u16) {
    let Some(sent) = scene.ui.outbox.about(node) else { return };
    let (sign, role) = match &sent.state {
        SentState::Asked | SentState::Accepted => (scene.sign("…", "."), Role::Info),
        SentState::Late => (scene.sign("⧖", "!"), Role::Warn),
        SentState::Confirmed { .. } => (scene.sign("✔", "+"), Role::Good),
        SentState::Refused { .. } | SentState::NotSent { .. } => (scene.sign("✖", "x"), Role::Error),
    };
    let text = format!("  {sign} {} ", sent.verb);
    let wide = u16::try_from(width(&text)).unwrap_or(u16::MAX);
    let x = end.min(title.right().saturating_sub(wide)).max(title.x);
    put(
        buf,
        title,
        x,
        &super::text::pad(&text, usize::from(title.right().saturating_sub(x))),
        scene.style(role),
    );
}

/// Returns the one thing that is worth saying about a row.
fn says(scene: &Scene<'_>, ix: NodeIx, node: &Node) -> Option<(String, Role)> {
    let question = node.more().and_then(|more| more.questions.first());
    if let Some(text) = question.and_then(|question| question.text.as_deref()) {
        return Some((text.lines().next().unwrap_or_default().to_owned(), Role::Warn));
    }
    if scene.ui.needs.get(ix).is_some() && node.children().is_empty() {
        return node.status.why().and_then(|why| why.lines().next()).map(|why| (why.to_owned(), Role::Dim));
    }
    let works = scene.ui.stances.of(ix, node) == Stance::Works;
    node.last_action.as_deref().filter(|_| works).map(|action| (action.to_owned(), Role::Faint))
}

/// Draws guides, the fold's sign, the state's sign and whether that is in dispute; returns where the title begins.
fn draw_lead(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, row: &Row, node: &Node) -> u16 {
    let guide = scene.style(Role::Guide);
    let mut x = area.x;
    let marked = scene.ui.tree.marked.contains(&row.ix);
    let mark = if marked { scene.sign("●", "*") } else { " " };
    x = put(buf, area, x, mark, scene.style(Role::Marked));
    // Deeper than this the guides alone would fill the row.
    let deepest = usize::from(area.width) / 9;
    let from = row.depth.saturating_sub(deepest.max(2));
    if row.depth > 0 {
        x = put(buf, area, x, if from > 0 { scene.sign("… ", "~ ") } else { "  " }, guide);
    }
    for depth in from + 1..row.depth {
        let stem = if row.goes_on(depth) { scene.sign("│  ", "|  ") } else { "   " };
        x = put(buf, area, x, stem, guide);
    }
    if row.depth > 0 {
        let branch = if row.is_last() { scene.sign("└", "`") } else { scene.sign("├", "|") };
        x = put(buf, area, x, branch, guide);
    }
    x = match (row.has_children, row.depth) {
        (true, _) => {
            let fold = if row.is_open { scene.sign("▾", "v") } else { scene.sign("▸", ">") };
            put(buf, area, x, fold, scene.style(Role::Dim))
        }
        (false, 0) => put(buf, area, x, " ", guide),
        (false, _) => put(buf, area, x, scene.sign("─", "-"), guide),
    };
    x = put(buf, area, x, " ", guide);
    let (sign, style) = sign(scene, row.ix, node);
    x = put(buf, area, x, sign, style);
    if dissent::of(scene.model, node).next().is_some() {
        x = put(buf, area, x, scene.sign(DISAGREE, "&"), scene.style(Role::Warn));
    }
    put(buf, area, x, " ", guide)
}

/// Beside the sign of a state about which its sources disagree.
pub const DISAGREE: &str = "≠";

/// What works shows these one after another. No state that stands still has any of these shapes.
const TURNS: [&str; 4] = ["◐", "◓", "◑", "◒"];

/// Returns the sign of what a node does, and how it is drawn; what works turns, unless motion is unwanted.
pub fn sign(scene: &Scene<'_>, ix: NodeIx, node: &Node) -> (&'static str, Style) {
    /// Four turns a second are seen and do not nag.
    const TURN_MS: i64 = 250;
    let stance = scene.ui.stances.of(ix, node);
    let settings = &scene.ui.settings;
    let style = scene.style(role_of(stance));
    let sign = match stance {
        Stance::Works if !settings.ascii && !settings.reduced_motion => {
            let turn = usize::try_from(scene.now.millis() / TURN_MS % 4).unwrap_or(0);
            TURNS.get(turn).copied().unwrap_or("◐")
        }
        Stance::Asks | Stance::WaitsForYou => "?",
        Stance::Works | Stance::Silent | Stance::Overdue | Stance::Idle | Stance::Still(_) => {
            sign_of(scene, stance.status().unwrap_or_default())
        }
    };
    let style = if stance == Stance::Asks { style.add_modifier(Modifier::BOLD) } else { style };
    (sign, style)
}

/// Returns how a stance is shown.
pub fn role_of(stance: Stance) -> Role {
    stance.status().map_or(Role::Warn, Role::of_status)
}

/// Returns the sign of a state, standing still.
pub fn sign_of(scene: &Scene<'_>, word: StatusWord) -> &'static str {
    if scene.ui.settings.ascii { plain_sign(word) } else { symbol(word) }
}

fn plain_sign(word: StatusWord) -> &'static str {
    match word {
        StatusWord::Queued => "o",
        StatusWord::Offered => "?",
        StatusWord::Running => "*",
        StatusWord::Paused => "=",
        StatusWord::Blocked => "#",
        StatusWord::Review => "@",
        StatusWord::Done => "+",
        StatusWord::Partial => "%",
        StatusWord::Failed => "x",
        StatusWord::Rejected => "-",
        StatusWord::Cancelled => "/",
        StatusWord::Skipped => ">",
        StatusWord::Expired => "e",
        StatusWord::TimedOut => "!",
        StatusWord::Stale => "~",
        StatusWord::Unknown => ".",
    }
}

/// Returns what a node is called.
pub fn label(node: &Node) -> String {
    crate::report::text::title(node)
}

fn title_style(scene: &Scene<'_>, ix: NodeIx, node: &Node) -> Style {
    let word = node.status.word();
    let is_past = matches!(word, StatusWord::Done | StatusWord::Skipped | StatusWord::Cancelled);
    let mut style = match (scene.ui.needs.get(ix), is_past) {
        (Some(_), _) => scene.style(role_of(scene.ui.stances.of(ix, node))),
        (None, true) => scene.style(Role::Dim),
        (None, false) => scene.style(Role::Text),
    };
    if node.parent().is_none() {
        style = style.add_modifier(Modifier::BOLD);
    }
    let found = &scene.ui.found;
    // The ink of a match could not be read on the ground of the selection.
    let is_selected = scene.ui.tree.selected == Some(ix);
    if !is_selected && crate::monitor::app::search::matches(found, &label(node)) {
        style = style.patch(scene.style(Role::Match));
    }
    style
}

/// Returns which steps a node that has not begun waits for.
fn waits_for(scene: &Scene<'_>, node: &Node) -> Option<String> {
    if node.status.word() != StatusWord::Queued {
        return None;
    }
    let siblings = node.parent().and_then(|parent| scene.model.get(parent));
    let siblings = siblings.map(Node::children).unwrap_or_default();
    let open = node.depends_on.iter().flatten().filter_map(|id| {
        let step = siblings
            .iter()
            .filter_map(|child| scene.model.get(*child))
            .find(|child| child.keys.iter().any(|key| key.subtask().is_some_and(|(_, step)| step == id)))?;
        (!step.status.is_ended()).then(|| label(step))
    });
    let open: Vec<String> = open.collect();
    match open.as_slice() {
        [] => None,
        [one] => Some(format!("waits for {one}")),
        [one, rest @ ..] => Some(format!("waits for {one} and {} more", rest.len())),
    }
}

fn draw_wait(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, waits: &str) {
    put(buf, area, area.x + 1, waits, scene.style(Role::Faint));
}

fn draw_columns(
    area: Rect,
    buf: &mut Buffer,
    scene: &Scene<'_>,
    (ix, node): (NodeIx, &Node),
    columns: Columns,
) {
    let mut x = area.x;
    let mut next = |cells: u16| {
        let place = Rect { x: x + 1, width: cells, ..area };
        if cells > 0 {
            x += cells + 1;
        }
        place
    };
    let [who, model, bar, count, time, left, tokens, money] = columns.all().map(&mut next);
    let stance = scene.ui.stances.of(ix, node);
    let dim = scene.style(Role::Dim);
    put_column(buf, who, &who_of(node), dim, Side::Left);
    put_column(buf, model, node.model.best().map_or("", |name| name), dim, Side::Left);
    draw_state(bar, buf, scene, node, stance);
    put_column(buf, count, &pace::count(node).unwrap_or_default(), scene.style(Role::Text), Side::Right);
    let took = pace::elapsed(node, scene.now).map(duration).unwrap_or_default();
    put_column(buf, time, &took, dim, Side::Right);
    let rest = pace::remaining(node, stance, scene.now);
    put_column(buf, left, &rest.map(pace::estimate).unwrap_or_default(), dim, Side::Right);
    let spend = node.subtree_spend();
    if !spend.is_nothing() {
        put_column(buf, tokens, &spent_tokens(&spend), scene.style(Role::Tokens), Side::Right);
        // Half a price is a wrong one.
        let text = cost_within(&spend, usize::from(money.width));
        put_column(buf, money, &text, scene.style(Role::Cost), Side::Right);
    }
}

/// Draws how far it is while it works; a word where it does not.
fn draw_state(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, node: &Node, stance: Stance) {
    if area.width == 0 {
        return;
    }
    match (stance, pace::percent(node)) {
        (Stance::Works, Some(percent)) => draw_bar(area, buf, scene, percent),
        (Stance::Works | Stance::Still(StatusWord::Done), _) => {}
        (_, _) => {
            let (whole, room) = (stance.word(), usize::from(area.width));
            let word = if width(whole) <= room { whole } else { stance.short() };
            put_column(buf, area, word, scene.style(role_of(stance)), Side::Left);
        }
    }
}

fn who_of(node: &Node) -> String {
    let who = match node.kind {
        NodeKind::Delegation => node.pattern().map(|name| &**name),
        NodeKind::Subtask | NodeKind::Session | NodeKind::Agent | NodeKind::Group => node.agent.as_deref(),
    };
    who.unwrap_or_default().to_owned()
}

/// Draws a bar that is full to so many percent.
pub fn draw_bar(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, percent: u8) {
    let cells = usize::from(area.width);
    let full = pace::filled(percent, cells);
    let (on, off) = (scene.sign("▰", "#"), scene.sign("▱", "."));
    let x = put(buf, area, area.x, &on.repeat(full), scene.style(Role::BarFill));
    put(buf, area, x, &off.repeat(cells - full), scene.style(Role::BarEmpty));
    debug_assert!(width(on) == 1 && width(off) == 1, "a bar's cells are one cell wide");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::status::WORDS;

    #[test]
    fn nothing_that_stands_still_looks_like_a_turn_of_what_works() {
        for (word, name) in WORDS.into_iter().filter(|(word, _)| *word != StatusWord::Running) {
            assert!(!TURNS.contains(&symbol(word)), "{name}");
            assert_ne!(symbol(word), "?", "{name}: that is what waits for a person");
        }
    }

    #[test]
    fn every_state_has_a_shape_of_its_own() {
        let shapes: std::collections::HashSet<&str> = WORDS.map(|(word, _)| symbol(word)).into();
        assert_eq!(shapes.len(), WORDS.len());
    }

    #[test]
    fn every_word_of_a_state_fits_the_narrowest_column_for_it() {
        let column = (0..400).map(|width| Columns::of(width).bar).filter(|cells| *cells > 0).min().unwrap();
        let still = WORDS.map(|(word, _)| Stance::Still(word));
        let others =
            [Stance::Works, Stance::Asks, Stance::WaitsForYou, Stance::Silent, Stance::Overdue, Stance::Idle];
        for stance in still.into_iter().chain(others) {
            assert!(width(stance.short()) <= usize::from(column), "{}", stance.short());
        }
    }

    #[test]
    fn every_column_of_numbers_holds_the_widest() {
        for columns in (0..400).map(Columns::of) {
            let least = [(columns.time, 6), (columns.tokens, 6), (columns.cost, 6), (columns.count, 5)];
            assert!(least.into_iter().all(|(cells, least)| cells == 0 || cells >= least), "{columns:?}");
        }
    }

    #[test]
    fn the_columns_leave_the_title_room_at_every_width() {
        for width in 0..400 {
            let left = width - Columns::of(width).total();
            assert!(left >= width.min(28), "{left} of {width}");
        }
    }

    #[test]
    fn who_does_it_how_far_it_is_and_what_it_costs_show_on_a_screen_of_120_columns() {
        // Beside the panel and inside its frame the tree has 73 of them.
        let columns = Columns::of(73);
        assert!(columns.who >= 8 && columns.bar >= 8 && columns.cost > 0, "{columns:?}");
    }
}
