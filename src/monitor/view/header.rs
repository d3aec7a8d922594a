//! The first line: is everything fine, and what is it costing?

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::Scene;
use super::panel::handoff::depth;
use super::text::{fit, put, width};
use super::theme::Role;
use crate::model::fact::SourceState;
use crate::model::key::SourceKind;
use crate::model::node::NodeKind;
use crate::model::status::StatusWord;
use crate::model::{Model, Source};
use crate::report::measure::{cost, spent_tokens, time_of_day, tokens};
use crate::report::text::{is_in_trouble, symbol};

type Piece = (String, Style);

/// Draws the header. Who needs a person and what works is said at every width: where the line is short, the
/// left part is cut first, then the words of these two.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    buf.set_style(area, scene.style(Role::Header));
    let cells = usize::from(area.width);
    let (urgent, rest) = (urgent(scene, false), rest(scene));
    let in_words = cut_left(scene, cells.saturating_sub(wide(&urgent))).map(|left| (left, urgent));
    let (mut left, mut right) = in_words.unwrap_or_else(|| {
        let short = self::urgent(scene, true);
        (cut_left(scene, cells.saturating_sub(wide(&short))).unwrap_or_default(), short)
    });
    let mut room = cells.saturating_sub(wide(&left) + wide(&right));
    let count = rest.len();
    let fitting: Vec<Piece> = rest
        .into_iter()
        .map_while(|piece| {
            room = room.checked_sub(width(&piece.0))?;
            Some(piece)
        })
        .collect();
    let is_whole = fitting.len() == count;
    right.extend(fitting);
    left.extend(place(scene).filter(|(text, _)| is_whole && width(text) <= room));
    let mut x = area.x;
    for (text, style) in &left {
        x = put(buf, area, x, text, *style);
    }
    let mut x = area.right().saturating_sub(u16::try_from(wide(&right)).unwrap_or(u16::MAX));
    for (text, style) in &right {
        x = put(buf, area, x, text, *style);
    }
}

fn wide(pieces: &[Piece]) -> usize {
    pieces.iter().map(|(text, _)| width(text)).sum()
}

/// Returns as much of the left part as there is room for: first the product's name goes, then the mode, what the
/// engine's sign means, and the project; `None` where not even the sign fits.
fn cut_left(scene: &Scene<'_>, room: usize) -> Option<Vec<Piece>> {
    /// A name is cut to this where room is short.
    const SHORT_NAME: usize = 14;
    let header = scene.style(Role::Header);
    let product =
        (" Quarterdeck ".to_owned(), header.patch(scene.style(Role::Accent)).add_modifier(Modifier::BOLD));
    let named = |name: &str| (format!(" {name} "), header.patch(scene.style(Role::Text)));
    let (project, short) = (named(&scene.ui.project), named(&fit(&scene.ui.project, SHORT_NAME)));
    let (sign, words, role) = engine(scene);
    let sign = (format!(" {sign} "), header.patch(scene.style(role)));
    let words = (format!("{words} "), header.patch(scene.style(Role::Dim)));
    // As the engine's own settings tell it.
    let told = scene.model.sources().find_map(|(_, source)| source.settings.as_ref()?.get("mode")?.as_str());
    let mode = told.map(crate::model::text::line).into_iter();
    let mode = mode.map(|mode| (format!(" mode {mode} "), header.patch(scene.style(Role::Badge))));
    let mode: Vec<Piece> = mode.collect();
    let choices = [
        [vec![product, project.clone(), sign.clone(), words.clone()], mode.clone()].concat(),
        [vec![project.clone(), sign.clone(), words.clone()], mode].concat(),
        vec![project, sign.clone(), words.clone()],
        vec![short.clone(), sign.clone(), words],
        vec![short, sign.clone()],
        vec![sign],
    ];
    choices.into_iter().find(|pieces| wide(pieces) <= room)
}

/// Where the selected delegation stands: how deep it is, and how many steps it has.
fn place(scene: &Scene<'_>) -> Option<Piece> {
    let (ix, node) = scene.ui.selected(scene.model)?;
    let above = scene.model.ancestors(ix).filter_map(|up| Some((up, scene.model.get(up)?)));
    let mut chain = std::iter::once((ix, node)).chain(above);
    let (ix, node) = chain.find(|(_, node)| node.kind == NodeKind::Delegation)?;
    let depth = depth(scene, ix, node);
    let children = node.children().len();
    let word = if children == 1 { "child" } else { "children" };
    let dot = scene.sign("·", "-");
    let text = format!(" depth {depth} {dot} {children} {word} ");
    Some((text, scene.style(Role::Header).patch(scene.style(Role::Faint))))
}

/// What is known of the engine: running, not running, or that there is none; before that, of a source that
/// cannot be read.
fn engine(scene: &Scene<'_>) -> (&'static str, String, Role) {
    let (dot, hollow) = if scene.ui.settings.ascii { ("*", "o") } else { ("●", "○") };
    if !scene.ui.is_loaded {
        return (hollow, "reading".into(), Role::Faint);
    }
    let sources = || scene.model.sources().map(|(_, source)| source);
    if let Some(source) = sources().find(|source| is_in_trouble(source)) {
        return ("!", trouble(source), Role::Error);
    }
    if let Some((done, total)) = reading(scene.model) {
        return (hollow, format!("reading {done} of {total}"), Role::Faint);
    }
    let engines: Vec<&Source> = sources().filter(|source| source.kind == SourceKind::Engine).collect();
    let running = engines.iter().filter(|source| source.engine.running).count();
    match (running, engines.len()) {
        (0, 0) => (hollow, "no engine".into(), Role::Faint),
        (0, _) => (hollow, "engine off".into(), Role::Warn),
        (1, 1) => (dot, "engine".into(), Role::Good),
        (some, all) => (dot, format!("{some} of {all} engines"), Role::Good),
    }
}

/// Returns how many files of how many are read, while agents' files are read for the first time.
fn reading(model: &Model) -> Option<(u32, u32)> {
    let loading = model.sources().filter_map(|(_, source)| {
        if let SourceState::Loading { done, total } = source.state { Some((done, total)) } else { None }
    });
    loading.reduce(|one, two| (one.0.saturating_add(two.0), one.1.saturating_add(two.1)))
}

/// Says in a few words which source cannot be read, and in which way.
fn trouble(source: &Source) -> String {
    let is_engine = source.kind == SourceKind::Engine;
    let file = source.root.rsplit('/').next().unwrap_or_default();
    let journal = if is_engine { "journal".to_owned() } else { crate::model::text::line(file).into() };
    match &source.state {
        SourceState::Stopped { .. } if is_engine => "engine not reachable".into(),
        SourceState::Stopped { .. } => format!("{journal} not reachable"),
        SourceState::Missing { .. } => format!("{journal} missing"),
        SourceState::Corrupt { .. } => format!("{journal} unreadable"),
        SourceState::Partial { .. } | SourceState::Ok | SourceState::Loading { .. } => {
            format!("{journal} partly unreadable")
        }
    }
}

/// Who needs a person, and what works: in words, or where there is no room, by their signs.
fn urgent(scene: &Scene<'_>, is_short: bool) -> Vec<Piece> {
    let header = scene.style(Role::Header);
    let needs = u32::try_from(scene.ui.needs.len()).unwrap_or(u32::MAX);
    let need = if needs == 1 { "needs me" } else { "need me" };
    let works = scene.sign(symbol(StatusWord::Running), "*");
    let counts =
        [(needs, need, "!", Role::Warn), (scene.ui.stances.working(), "running", works, Role::StatusRunning)];
    let told = counts.into_iter().filter(|(count, ..)| *count > 0);
    told.map(|(count, words, sign, role)| {
        let text = if is_short { format!("{sign}{count} ") } else { format!("{count} {words}  ") };
        (text, header.patch(scene.style(role)))
    })
    .collect()
}

/// The other counts, the most urgent first: they are dropped from the end.
fn rest(scene: &Scene<'_>) -> Vec<Piece> {
    let header = scene.style(Role::Header);
    let totals = &scene.ui.totals;
    let mut pieces = Vec::new();
    pieces.extend(limits(scene));
    let mut count = |count: u32, words: &str, role: Role| {
        if count > 0 {
            pieces.push((format!("{count} {words}  "), header.patch(scene.style(role))));
        }
    };
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

/// The providers that take nothing more, and until when: that is why nothing new begins.
fn limits(scene: &Scene<'_>) -> Vec<Piece> {
    let style = scene.style(Role::Header).patch(scene.style(Role::Warn));
    let limits = scene.model.sources().flat_map(|(_, source)| &source.engine.limits);
    let hold = limits.filter(|(_, limit)| limit.until > scene.now);
    hold.map(|(provider, limit)| (format!("{provider} limit until {}  ", time_of_day(limit.until)), style))
        .collect()
}
