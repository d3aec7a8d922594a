//! What lies over the screen: forms, the palette, and the line at the foot.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Clear, Widget};
use tui_input::Input;

use super::Scene;
use super::text::{Side, fit, put, put_column, put_line, span, width, wrap};
use super::theme::Role;
use crate::monitor::app::dialog::offers::Offers;
use crate::monitor::app::dialog::proposal::{gaps, numbered, totals};
use crate::monitor::app::dialog::{Check, Choice, Field, Form, Purpose, Tone};
use crate::monitor::app::effect::TaskName;
use crate::monitor::app::filter;
use crate::monitor::app::ui::{Palette, Prompt, PromptKind, Scrolled};
use crate::monitor::app::update::palette::matching;
use crate::monitor::input::action::Action;
use crate::monitor::input::keymap::Context;

/// How wide a form is at most.
const WIDEST: u16 = 76;
/// The lines of a form that are its frame and its keys.
const FRAME: usize = 4;

/// Draws a box over the screen; returns what is inside.
pub fn overlay(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, title: &str, size: (u16, u16)) -> Rect {
    let (wide, high) = (size.0.min(area.width), size.1.min(area.height));
    let place = Rect {
        x: area.x + (area.width - wide) / 2,
        y: area.y + (area.height - high) / 3,
        width: wide,
        height: high,
    };
    Clear.render(place, buf);
    buf.set_style(place, scene.style(Role::Overlay));
    if wide < 8 || high < 4 {
        return place;
    }
    let title = fit(title, usize::from(wide).saturating_sub(6));
    let block = super::screen::block(scene, Role::BorderFocus)
        .title(span(format!(" {title} "), scene.style(Role::Title)));
    let inner = block.inner(place);
    block.render(place, buf);
    Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner }
}

/// Draws a form; returns how far it is scrolled. One that is taller than the screen says so on its frame.
pub fn form(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, form: &Form) -> Scrolled {
    let wide = WIDEST.min(area.width);
    let text_width = usize::from(wide.saturating_sub(4));
    let (mut lines, mut focus) = form_lines(scene, form, text_width, Pack::Roomy);
    if too_tall(&lines, area) {
        // Closer together it may be seen whole; where not, it is scrolled and stays as it is.
        let (packed, at) = form_lines(scene, form, text_width, Pack::Tight);
        if !too_tall(&packed, area) {
            (lines, focus) = (packed, at);
        }
    }
    let high = u16::try_from(lines.len() + FRAME).unwrap_or(u16::MAX);
    let inner = overlay(area, buf, scene, &form.title, (wide, high));
    let body = Rect { height: inner.height.saturating_sub(2), ..inner };
    let room = usize::from(body.height);
    // A form that is taller than the screen shows the field that has the keys.
    let most = lines.len().saturating_sub(room);
    let from = form.scroll.unwrap_or(focus.end.saturating_sub(room)).min(most);
    for (line, y) in lines.iter().skip(from).zip(body.top()..body.bottom()) {
        put_line(buf, Rect { y, height: 1, ..body }, line);
    }
    buttons(inner, buf, scene, form);
    if most > 0 && inner.height > 2 {
        let place = Rect { y: inner.bottom() - 2, height: 1, ..inner };
        let key =
            scene.keys.keys_of(Context::Dialog, Action::PageDown).into_iter().next().unwrap_or_default();
        let to = (from + room).min(lines.len());
        let seen = format!("{key} lines {} to {to} of {}", from + 1, lines.len());
        put_column(buf, place, &seen, scene.style(Role::Faint), Side::Right);
    }
    Scrolled { from, most, height: room }
}

/// How close together the lines of a form stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pack {
    /// A blank line before each field, and what is typed below its name.
    Roomy,
    /// No line more than is needed.
    Tight,
}

fn too_tall(lines: &[Line<'_>], area: Rect) -> bool {
    lines.len() + FRAME > usize::from(area.height)
}

/// The lines of a form, and which of them are the field that has the keys.
fn form_lines(
    scene: &Scene<'_>,
    form: &Form,
    text_width: usize,
    pack: Pack,
) -> (Vec<Line<'static>>, std::ops::Range<usize>) {
    let mut lines = Vec::new();
    for note in &form.notes {
        let role = match note.tone {
            Tone::Plain => Role::Text,
            Tone::Dim => Role::Dim,
            Tone::Good => Role::Good,
            Tone::Warn => Role::Warn,
            Tone::Bad => Role::Error,
        };
        lines.extend(wrap(&note.text, text_width, scene.style(role)));
    }
    if form.ticket.is_some() {
        lines.push(Line::from(span(waiting(form), scene.style(Role::Faint))));
    }
    let mut focus = 0..0;
    for (nth, field) in form.fields.iter().enumerate() {
        // Short ones stand together.
        let is_short = |field: &Field| matches!(field, Field::Text { is_short: true, .. });
        let before = nth.checked_sub(1).and_then(|before| form.fields.get(before));
        let is_apart = pack == Pack::Roomy || nth == 0;
        if is_apart && !(is_short(field) && before.is_some_and(is_short)) {
            lines.push(Line::default());
        }
        let from = lines.len();
        lines.extend(field_lines(scene, field, nth == form.focus, text_width, pack));
        if nth == form.focus {
            focus = from..lines.len();
        }
    }
    (lines, focus)
}

/// The last line of a form: what its keys do.
fn buttons(inner: Rect, buf: &mut Buffer, scene: &Scene<'_>, form: &Form) {
    let row = Rect { y: inner.bottom().saturating_sub(1), height: 1, ..inner };
    let mut x = row.x;
    let mut hint = |action: Action, word: &str| {
        // A letter would be typed into the field: the keys that always work are shown.
        let keys = scene.keys.keys_of(Context::Dialog, action);
        let key = keys.iter().find(|key| key.chars().count() > 1).or(keys.first());
        if let Some(key) = key {
            x = put(buf, row, x, key, scene.style(Role::Key));
            x = put(buf, row, x, &format!(" {word}   "), scene.style(Role::Dim));
        }
    };
    hint(Action::DialogYes, form.yes);
    // What is only read is closed by either.
    if form.purpose != Purpose::Read {
        hint(Action::DialogNo, "leave it");
    }
    if form.fields.len() > 1 {
        hint(Action::DialogNext, "next field");
    }
    if form.fields.iter().any(|field| matches!(field, Field::Checks { .. })) {
        hint(Action::DialogToggle, "tick");
        hint(Action::DialogEdit, "change");
    }
}

fn field_lines(
    scene: &Scene<'_>,
    field: &Field,
    has_keys: bool,
    room: usize,
    pack: Pack,
) -> Vec<Line<'static>> {
    let label = |text: &str| {
        let role = if has_keys { Role::Accent } else { Role::Dim };
        Line::from(span(text, scene.style(role)))
    };
    match field {
        Field::Text { label: name, hint, input, is_short, offers } if *is_short || pack == Pack::Tight => {
            /// As wide as the longest of such labels.
            const LABEL: usize = 14;
            let mut line = label(&format!("{name:<LABEL$}"));
            line.extend(text_line(scene, input, hint, has_keys, room.saturating_sub(LABEL)).spans);
            let mut lines = vec![line];
            lines.extend(offered(scene, offers, input.value(), has_keys));
            lines
        }
        Field::Text { label: name, hint, input, offers, .. } => {
            let mut lines = vec![label(name), text_line(scene, input, hint, has_keys, room)];
            lines.extend(offered(scene, offers, input.value(), has_keys));
            lines
        }
        Field::Choice { label: name, options, at } if fits_a_line(options, room) => {
            let choices = options.iter().enumerate();
            let spans = choices.flat_map(|(nth, option)| choice(scene, option, nth == *at, has_keys).spans);
            // What has nothing to say beside its name needs no line of its own.
            vec![
                label(name),
                Line::from(spans.filter(|span| !span.content.trim().is_empty()).collect::<Vec<_>>()),
            ]
        }
        Field::Choice { label: name, options, at } => {
            let mut lines = vec![label(name)];
            lines.extend(
                options.iter().enumerate().map(|(nth, option)| choice(scene, option, nth == *at, has_keys)),
            );
            lines
        }
        Field::Checks { label: name, items, at } => {
            let ticked = items.iter().filter(|item| item.is_on);
            let count = ticked.clone().count();
            let mut lines = vec![label(&format!("{name}: {count} of {}", items.len()))];
            lines.push(Line::from(span(format!("  {}", totals(ticked)), scene.style(Role::Tokens))));
            let gaps = gaps(items).map(|gaps| Line::from(span(format!("  {gaps}"), scene.style(Role::Warn))));
            lines.extend(gaps);
            lines.extend(items.iter().enumerate().map(|(nth, item)| {
                let label = numbered(items, nth, &item.label);
                check(scene, item, &label, nth == *at && has_keys)
            }));
            lines
        }
    }
}

/// What a form waits for.
fn waiting(form: &Form) -> &'static str {
    if matches!(form.purpose, Purpose::Delegate(_)) {
        "weighing it…"
    } else if matches!(form.purpose, Purpose::Start(..)) {
        "the plan is being made…"
    } else {
        "asking the engine…"
    }
}

/// The tasks that a text may mean; of one that it does mean, the title.
fn offered(scene: &Scene<'_>, offers: &Offers, typed: &str, has_keys: bool) -> Vec<Line<'static>> {
    if let Some(task) = offers.named(typed) {
        return vec![Line::from(span(format!("  task: {}", task.title), scene.style(Role::Good)))];
    }
    if !has_keys {
        return Vec::new();
    }
    let row = |(nth, task): (usize, &&TaskName)| {
        let is_pointed = offers.at == Some(nth);
        let sign = if is_pointed { scene.sign("▸ ", "> ") } else { "  " };
        let role = if is_pointed { Role::Accent } else { Role::Dim };
        let key =
            if nth == offers.at.unwrap_or(0) { scene.sign("  → takes it", "  right takes it") } else { "" };
        Line::from(vec![
            span(format!("  {sign}{}", task.id), scene.style(role)),
            span(format!("  {}", task.title), scene.style(Role::Faint)),
            span(key, scene.style(Role::Key)),
        ])
    };
    offers.fitting(typed).iter().enumerate().map(row).collect()
}

/// Returns whether choices that are only a name each fit beside one another.
fn fits_a_line(options: &[Choice], room: usize) -> bool {
    /// Two blanks, a dot and a blank.
    const DOT: usize = 4;
    options.iter().all(|option| option.note.is_empty())
        && options.iter().map(|option| width(&option.label) + DOT).sum::<usize>() <= room
}

fn choice(scene: &Scene<'_>, option: &Choice, is_chosen: bool, has_keys: bool) -> Line<'static> {
    let (dot, style) = match (is_chosen, has_keys) {
        (true, true) => (scene.sign("◉ ", "(*) "), scene.style(Role::Text).add_modifier(Modifier::BOLD)),
        (true, false) => (scene.sign("◉ ", "(*) "), scene.style(Role::Text)),
        (false, _) => (scene.sign("○ ", "( ) "), scene.style(Role::Dim)),
    };
    let style = if option.why_not.is_some() { scene.style(Role::Faint) } else { style };
    Line::from(vec![
        span(format!("  {dot}{}", option.label), style),
        span(format!("  {}", option.note), scene.style(Role::Faint)),
    ])
}

fn check(scene: &Scene<'_>, item: &Check, label: &str, is_pointed: bool) -> Line<'static> {
    let tick = if item.is_on { scene.sign("☑ ", "[x] ") } else { scene.sign("☐ ", "[ ] ") };
    let mut style = scene.style(if item.is_on { Role::Text } else { Role::Dim });
    if is_pointed {
        style = style.add_modifier(Modifier::BOLD).patch(scene.style(Role::Accent));
    }
    let label = span(format!("  {tick}{label}"), style);
    let agent = item.agent.as_ref().map(|agent| format!("  {agent}")).unwrap_or_default();
    let changed = if item.is_retitled || item.is_reassigned { "  changed" } else { "" };
    Line::from(vec![
        label,
        span(agent, scene.style(Role::Dim)),
        span(changed, scene.style(Role::Warn)),
        span(format!("  {}", item.note), scene.style(Role::Faint)),
    ])
}

/// A line of text with its cursor.
fn text_line(scene: &Scene<'_>, input: &Input, hint: &str, has_keys: bool, room: usize) -> Line<'static> {
    let prefix = span("  ", Style::default());
    if input.value().is_empty() && !has_keys {
        return Line::from(vec![prefix, span(hint.to_owned(), scene.style(Role::Faint))]);
    }
    let mut spans = vec![prefix];
    spans.extend(with_cursor(scene, input, has_keys, room.saturating_sub(4)));
    if input.value().is_empty() {
        spans.push(span(format!(" {hint}"), scene.style(Role::Faint)));
    }
    Line::from(spans)
}

/// The typed text around its cursor, cut so that the cursor shows.
fn with_cursor(
    scene: &Scene<'_>,
    input: &Input,
    has_keys: bool,
    room: usize,
) -> Vec<ratatui::text::Span<'static>> {
    let text = scene.style(Role::Text);
    // The end of a line, in a text that has several.
    let shown_as = |c: char| if c == '\n' { '↵' } else { c };
    let value = input.value();
    let split = value.char_indices().nth(input.cursor()).map_or(value.len(), |(at, _)| at);
    let (before, after) = value.split_at_checked(split).unwrap_or((value, ""));
    // From the cursor back, as far as there is room: a long text costs no more than what is seen of it.
    let mut used = 1;
    let mut tail: Vec<char> = before
        .chars()
        .rev()
        .map(shown_as)
        .take_while(|c| {
            used += width(c.encode_utf8(&mut [0; 4]));
            used <= room
        })
        .collect();
    tail.reverse();
    let shown: String = tail.into_iter().collect();
    let at: String = after.chars().next().map_or_else(|| " ".into(), |c| shown_as(c).to_string());
    let left = room.saturating_sub(width(&shown) + width(&at));
    // One more than there is room for, so that what is cut shows as cut.
    let rest: String = after.chars().skip(1).take(left + 1).map(shown_as).collect();
    let cursor = if has_keys { text.add_modifier(Modifier::REVERSED) } else { text };
    vec![span(shown, text), span(at, cursor), span(fit(&rest, left), text)]
}

/// Draws the palette.
pub fn palette(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, palette: &Palette) {
    let actions = matching(palette.input.value());
    let high = u16::try_from(actions.len() + 4).unwrap_or(u16::MAX).clamp(6, 22);
    let inner = overlay(area, buf, scene, "Command", (WIDEST, high));
    let line = Rect { height: 1.min(inner.height), ..inner };
    let mut typed = vec![span(": ", scene.style(Role::Accent))];
    typed.extend(with_cursor(scene, &palette.input, true, usize::from(inner.width).saturating_sub(2)));
    put_line(buf, line, &Line::from(typed));
    let rows = Rect { y: inner.y + 2, height: inner.height.saturating_sub(2), ..inner };
    let shown = super::list::window(palette.at, actions.len(), usize::from(rows.height));
    if actions.is_empty() || palette.input.value().starts_with('/') {
        let help = "/delegate TASK   /direct TASK   /delegation status|history|pause|resume|cancel ID";
        put(buf, Rect { height: 1.min(rows.height), ..rows }, rows.x, help, scene.style(Role::Faint));
        return;
    }
    for ((nth, action), y) in actions.iter().enumerate().skip(shown.start).zip(rows.top()..rows.bottom()) {
        let row = Rect { y, height: 1, ..rows };
        let key = scene.keys.hint(*action).unwrap_or_default();
        put(buf, row, row.x, &fit(&key, 8), scene.style(Role::Key));
        put(buf, row, row.x + 9, action.name(), scene.style(Role::Text));
        put(buf, row, row.x + 28, action.describe(), scene.style(Role::Dim));
        super::list::select(row, buf, scene, nth == palette.at);
    }
}

/// Draws the line at the foot of the screen.
pub fn prompt(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, prompt: &Prompt) {
    let (sign, help) = match prompt.kind {
        PromptKind::Find => ("find ", "words, in any order"),
        PromptKind::Filter => ("filter ", filter::NAMES),
    };
    Clear.render(area, buf);
    buf.set_style(area, scene.style(Role::Overlay));
    let mut spans = vec![span(format!(" {sign}"), scene.style(Role::Accent))];
    spans.extend(with_cursor(scene, &prompt.input, true, usize::from(area.width) / 2));
    spans.push(span(format!("   {help}"), scene.style(Role::Faint)));
    let odd = filter::Filter::parse(prompt.input.value()).odd;
    if prompt.kind == PromptKind::Filter && !odd.is_empty() {
        spans.push(span(format!("   means nothing: {}", odd.join(" ")), scene.style(Role::Warn)));
    }
    if scene.ui.is_looking() {
        spans.push(span("   searching", scene.style(Role::Faint)));
    } else if prompt.is_lost {
        spans.push(span("   nothing matches", scene.style(Role::Warn)));
    }
    put_line(buf, area, &Line::from(spans));
}
