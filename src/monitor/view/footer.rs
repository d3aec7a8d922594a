//! The last two lines: what became of the latest command and what is wrong with the sources; then the keys that
//! make sense now. Every key shown comes from the keymap.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::Scene;
use super::text::{fit, pad, put, width, wrap_line};
use super::theme::Role;
use crate::control::{Control, channel};
use crate::model::time::Stamp;
use crate::monitor::app::sent::{Sent, SentState};
use crate::monitor::app::ui::{Pane, Toast, View};
use crate::monitor::input::action::Action;
use crate::monitor::input::keymap::Context;
use crate::report::measure::duration;
use crate::report::text::troubles;

/// Draws the receipt that matters most, and the state of the sources. What says why something was refused is never
/// cut: it takes the whole line, and where that is too short the lines above.
pub fn receipts(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    if area.height == 0 {
        return;
    }
    let said = said(scene);
    let taken = said.as_ref().map_or(0, |(text, _)| width(text) + 1);
    let (right, role) = sources(scene, usize::from(area.width).saturating_sub(taken + 3));
    let beside = usize::from(area.width).saturating_sub(width(&right) + 2);
    let Some((text, said_role)) = said else {
        return put_right(area, buf, &right, scene.style(role));
    };
    if taken <= beside || !is_trouble(scene) {
        // That all is well goes where there is no room for both.
        let is_both = taken <= beside || (beside > 20 && role != Role::Faint);
        if is_both {
            put_right(area, buf, &right, scene.style(role));
        }
        let wide = if is_both { u16::try_from(beside).unwrap_or(area.width) } else { area.width };
        put(buf, Rect { width: wide, ..area }, area.x + 1, &text, scene.style(said_role));
        return;
    }
    let _ = notice(area, buf, scene, &text, scene.style(said_role));
}

fn put_right(area: Rect, buf: &mut Buffer, text: &str, style: Style) {
    let wide = u16::try_from(width(text)).unwrap_or(u16::MAX);
    if wide + 1 < area.width {
        put(buf, area, area.right().saturating_sub(wide + 1), text, style);
    }
}

/// Returns what became of the command that matters most, and of the others.
fn said(scene: &Scene<'_>) -> Option<(String, Role)> {
    let sent = scene.ui.outbox.foremost()?;
    let (sign, text, role) = receipt(scene, sent);
    let others = scene.ui.outbox.others();
    let more = if others.is_empty() { String::new() } else { format!("   and {others}") };
    Some((format!("{sign} {text}{more}"), role))
}

fn is_trouble(scene: &Scene<'_>) -> bool {
    let sent = scene.ui.outbox.foremost();
    sent.is_some_and(|sent| matches!(sent.state, SentState::Refused { .. } | SentState::NotSent { .. }))
}

/// Draws words to the person that are read in full: from this line upwards, as many lines as they take. Returns where
/// the last one ends.
fn notice(line: Rect, buf: &mut Buffer, scene: &Scene<'_>, text: &str, style: Style) -> u16 {
    let most = usize::from(line.width.saturating_sub(2)).max(1);
    let rows = wrap_line(text, most);
    let wide = rows.iter().map(|row| width(row)).max().unwrap_or(0);
    let style = scene.style(Role::Overlay).patch(style);
    let mut end = line.x;
    // The first line of the screen says whether all is well: it stays.
    let room = usize::from(line.y.saturating_sub(buf.area.y));
    let rows = rows.get(..rows.len().min(room.max(1))).unwrap_or_default();
    for (row, y) in rows.iter().rev().zip((0..=line.y).rev()) {
        let text = format!(" {} ", if rows.len() > 1 { pad(row, wide) } else { row.clone() });
        let cells = u16::try_from(width(&text)).unwrap_or(u16::MAX).min(line.width);
        let place = Rect { y, height: 1, width: cells, ..line };
        ratatui::widgets::Widget::render(ratatui::widgets::Clear, place, buf);
        put(buf, place, place.x, &text, style);
        end = end.max(place.right());
    }
    end
}

/// Returns a short time to a tenth of a second: a receipt is mostly there at once.
fn brief(span: Duration) -> String {
    if span < Duration::from_secs(10) { format!("{:.1} s", span.as_secs_f32()) } else { duration(span) }
}

fn receipt<'s>(scene: &Scene<'s>, sent: &Sent) -> (&'s str, String, Role) {
    let what = &sent.what;
    let took = |at: Stamp| brief(at.since(sent.at));
    match &sent.state {
        SentState::Asked => (scene.sign("…", "."), format!("{what}: asked, waiting"), Role::Info),
        SentState::Accepted => {
            (scene.sign("…", "."), format!("{what}: accepted, not confirmed yet"), Role::Info)
        }
        SentState::Late => {
            (scene.sign("⧖", "!"), format!("{what}: no answer yet; it may still happen"), Role::Warn)
        }
        SentState::Confirmed { at, proof } => {
            (scene.sign("✔", "+"), format!("{what}: confirmed, {proof} ({})", took(*at)), Role::Good)
        }
        SentState::Refused { why, .. } => {
            (scene.sign("✖", "x"), format!("{what}: refused: {why}"), Role::Error)
        }
        SentState::NotSent { why, .. } => {
            (scene.sign("✖", "x"), format!("{what}: not sent: {why}"), Role::Error)
        }
    }
}

/// Returns what is wrong with the sources, in so many cells or a few more: where it is cut, which key shows all of it.
fn sources(scene: &Scene<'_>, room: usize) -> (String, Role) {
    /// The sources are worth so much of a line that says something else too.
    const LEAST: usize = 70;
    if !scene.ui.is_loaded {
        return ("reading…".into(), Role::Faint);
    }
    let room = room.max(LEAST);
    match troubles(scene.model).into_iter().next() {
        Some(trouble) if width(&trouble) <= room => (trouble, Role::Warn),
        Some(trouble) => {
            let key = scene.keys.hint(Action::ViewOverview).filter(|_| scene.ui.view != View::Overview);
            let all = key.map(|key| format!(" ({key} shows all)")).unwrap_or_default();
            (format!("{}{all}", fit(&trouble, room.saturating_sub(width(&all)))), Role::Warn)
        }
        None => (format!("store ok · {} nodes", scene.model.len()), Role::Faint),
    }
}

/// The keys of each view, in the order of their use.
const TREE_KEYS: [Action; 17] = [
    Action::Pause,
    Action::Resume,
    Action::Cancel,
    Action::Retry,
    Action::Skip,
    Action::Approve,
    Action::Answer,
    Action::Tell,
    Action::Delegate,
    Action::Why,
    Action::Find,
    Action::Filter,
    Action::Palette,
    Action::NextPane,
    Action::NextTab,
    Action::Help,
    Action::Quit,
];
const PANEL_KEYS: [Action; 7] = [
    Action::Down,
    Action::NextTab,
    Action::PreviousTab,
    Action::Open,
    Action::Back,
    Action::Help,
    Action::Quit,
];
/// What deals with a need, the likeliest first.
const NEEDS_KEYS: [Action; 12] = [
    Action::Answer,
    Action::Approve,
    Action::Retry,
    Action::Skip,
    Action::Open,
    Action::Reject,
    Action::Accept,
    Action::Cancel,
    Action::Why,
    Action::ViewTree,
    Action::Help,
    Action::Quit,
];
const LIST_KEYS: [Action; 7] = [
    Action::Down,
    Action::Open,
    Action::Export,
    Action::ViewTree,
    Action::Palette,
    Action::Help,
    Action::Quit,
];
/// These stay when the line is short.
const ALWAYS: [Action; 2] = [Action::Help, Action::Quit];
/// How to begin something and how to see more of it: nobody finds these by trying, so they come with the controls.
const WAYS: [Action; 2] = [Action::Delegate, Action::NextPane];
/// What somebody waits for: where one of these can be done it is shown, whatever else has to go.
const AWAITED: [Action; 2] = [Action::Approve, Action::Answer];
/// So many controls of a view are shown also where they cannot be done now: dimmed, and pressed they say why.
const MAIN_CONTROLS: usize = 5;

/// Draws the keys that make sense now; what cannot be done is dimmed.
pub fn keys(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    if area.height == 0 {
        return;
    }
    buf.set_style(area, scene.style(Role::Footer));
    if !scene.ui.pending.is_empty() {
        return pending(area, buf, scene);
    }
    let actions: &[Action] = match (scene.ui.view, scene.ui.pane) {
        (View::Tree, Pane::Tree) => &TREE_KEYS,
        (View::Tree, Pane::Panel) => &PANEL_KEYS,
        (View::NeedsMe, _) => &NEEDS_KEYS,
        (_, _) => &LIST_KEYS,
    };
    let mut x = area.x + 1;
    for action in shown(scene, actions, usize::from(area.width)) {
        x = draw_key(area, buf, scene, x, action) + 2;
    }
}

/// Chooses the keys that there is room for, in their order: the main controls first, also where they are dimmed,
/// if all of them fit beside what must be seen; then what can be done.
fn shown(scene: &Scene<'_>, actions: &[Action], cells: usize) -> Vec<Action> {
    /// From this width on everything is shown.
    const ROOMY: usize = 140;
    /// The blanks after the last key may be missing, the one before the first not.
    const SLACK: usize = 1;
    let all_wide = |actions: &[Action]| actions.iter().map(|action| wide(scene, *action)).sum::<usize>();
    let mut room = (cells + SLACK).saturating_sub(all_wide(&ALWAYS));
    let of_view = |action: &Action| actions.contains(action);
    let can = |action: &Action| is_possible(scene, *action);
    let main: Vec<Action> =
        actions.iter().copied().filter(|action| is_control(*action)).take(MAIN_CONTROLS).collect();
    let others = WAYS.into_iter().filter(of_view).chain(AWAITED.into_iter().filter(of_view).filter(can));
    let others: Vec<Action> = others.filter(|action| !main.contains(action)).collect();
    let possible: Vec<Action> = main.iter().copied().filter(can).collect();
    let first = [[main.as_slice(), &others].concat(), [possible.as_slice(), &others].concat(), main];
    let first = first.into_iter().find(|some| all_wide(some) <= room).unwrap_or_default();
    room -= all_wide(&first);
    let mut kept = [first.as_slice(), &ALWAYS].concat();
    for action in actions {
        let wide = wide(scene, *action);
        let is_wanted = !is_control(*action) || cells >= ROOMY || can(action);
        if !kept.contains(action) && is_wanted && wide <= room {
            room -= wide;
            kept.push(*action);
        }
    }
    actions.iter().copied().filter(|action| kept.contains(action)).collect()
}

fn wide(scene: &Scene<'_>, action: Action) -> usize {
    scene.keys.hint(action).map_or(0, |key| width(&key) + width(short(action)) + 3)
}

fn draw_key(area: Rect, buf: &mut Buffer, scene: &Scene<'_>, x: u16, action: Action) -> u16 {
    let Some(key) = scene.keys.hint(action) else { return x.saturating_sub(2) };
    let possible = !is_control(action) || is_possible(scene, action);
    let (key_role, word_role) = if possible { (Role::Key, Role::Dim) } else { (Role::Faint, Role::Faint) };
    let ground = scene.style(Role::Footer);
    let x = put(buf, area, x, &key, ground.patch(scene.style(key_role)));
    put(buf, area, x, &format!(" {}", short(action)), ground.patch(scene.style(word_role)))
}

/// Returns the word of an action at the foot of the screen.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others are called what they are called")]
fn short(action: Action) -> &'static str {
    match action {
        Action::Down => "scroll",
        Action::NextTab => "tab",
        Action::NextPane => "panel",
        Action::Delegate => "task",
        Action::PreviousTab => "tab back",
        Action::Palette => "command",
        Action::ViewTree => "tree",
        other => other.name(),
    }
}

fn is_control(action: Action) -> bool {
    control_of(action).is_some()
}

/// Returns the control behind an action.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others send nothing")]
pub fn control_of(action: Action) -> Option<Control> {
    Some(match action {
        Action::Pause => Control::Pause,
        Action::Drain => Control::Drain,
        Action::Resume => Control::Resume,
        Action::Cancel => Control::Cancel,
        Action::Retry => Control::Retry,
        Action::Skip => Control::Skip,
        Action::Approve | Action::ApproveChanged => Control::Approve,
        Action::Reject => Control::Reject,
        Action::Answer => Control::Answer,
        Action::Tell => Control::Tell,
        Action::Accept => Control::Accept,
        Action::Raise => Control::Raise,
        Action::Settle => Control::Settle,
        Action::Rollback => Control::Rollback,
        _ => return None,
    })
}

fn is_possible(scene: &Scene<'_>, action: Action) -> bool {
    let Some(control) = control_of(action) else { return true };
    scene.ui.aimed(scene.model).into_iter().any(|ix| channel(scene.model, ix, control).is_ok())
}

/// While a chord is begun: how it can go on.
fn pending(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    let ground = scene.style(Role::Footer);
    let begun: Vec<String> = scene.ui.pending.iter().map(ToString::to_string).collect();
    let mut x = put(buf, area, area.x + 1, &begun.join(" "), ground.patch(scene.style(Role::Accent)));
    for (keys, action) in scene.keys.continuations(Context::Normal, &scene.ui.pending) {
        x = put(buf, area, x + 2, &keys, ground.patch(scene.style(Role::Key)));
        x = put(buf, area, x + 1, action.name(), ground.patch(scene.style(Role::Dim)));
    }
}

/// Draws what was said in passing, the latest two: on the line of the receipts where that is free, and on the frame
/// above it, but never over what the frame says. The newest word to the person wins: that something cannot be done
/// takes the line from a receipt that is older, and is read in full.
pub fn toasts(line: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    let mut toasts = scene.ui.toasts.iter().rev();
    let Some(newest) = toasts.next() else { return };
    let above = line.y.checked_sub(1).filter(|y| *y > 0);
    let frame = |buf: &Buffer| {
        let place = above.map(|y| on_frame(Rect { y, height: 1, ..line }, buf, scene));
        place.filter(|place| place.width >= NARROWEST)
    };
    let fits = |place: &Rect, text: &str| width(text) + 2 <= usize::from(place.width);
    let receipt = scene.ui.outbox.foremost();
    let is_latest = newest.is_error && receipt.is_none_or(|sent| newest.at >= sent.changed());
    let mut second = None;
    if line.height > 0 && (receipt.is_none() || is_latest) {
        let end = notice(line, buf, scene, &newest.text, tint(scene, newest));
        make_way(Rect { x: end, width: line.right().saturating_sub(end), ..line }, buf, scene);
        // What was there stands above it, where there is room.
        let moved = said(scene).zip(frame(buf));
        if let Some(((text, role), place)) = moved.filter(|((text, _), place)| fits(place, text)) {
            let _ = notice(place, buf, scene, &text, scene.style(role));
            return;
        }
        second = toasts.next();
    } else if let Some(place) = frame(buf).filter(|place| line.height == 0 || fits(place, &newest.text)) {
        let text = fit(&newest.text, usize::from(place.width).saturating_sub(2));
        let _ = notice(place, buf, scene, &text, tint(scene, newest));
    } else if let Some(y) = above.filter(|_| line.height > 0) {
        let _ = notice(Rect { y, height: 1, ..line }, buf, scene, &newest.text, tint(scene, newest));
    }
    if let Some((toast, place)) = second.zip(frame(buf)) {
        let text = fit(&toast.text, usize::from(place.width).saturating_sub(2));
        let _ = notice(place, buf, scene, &text, tint(scene, toast));
    }
}

fn tint(scene: &Scene<'_>, toast: &Toast) -> Style {
    scene.style(if toast.is_error { Role::Error } else { Role::Info })
}

/// A frame with less room than this says nothing that could be read.
const NARROWEST: u16 = 12;

/// Returns the part of a frame's line that says nothing, from its left end on.
fn on_frame(line: Rect, buf: &Buffer, scene: &Scene<'_>) -> Rect {
    let from = line.x.saturating_add(2);
    let dash = scene.sign("─", "-");
    let is_bare = |x: &u16| buf.cell((*x, line.y)).is_some_and(|cell| cell.symbol() == dash);
    let bare = (from..line.right()).take_while(is_bare).count();
    Rect { x: from, width: u16::try_from(bare).unwrap_or(u16::MAX), ..line }
}

/// Clears what stood beside the news: the rest of a receipt, or of what is said of the sources. Of the latter as much as
/// there is room for stands there anew: half a word means nothing.
fn make_way(beside: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    ratatui::widgets::Widget::render(ratatui::widgets::Clear, beside, buf);
    let room = usize::from(beside.width.saturating_sub(3));
    let (said, role) = sources(scene, room);
    if width(&said) <= room {
        put_right(beside, buf, &said, scene.style(role));
    } else if room >= usize::from(NARROWEST) {
        put(buf, beside, beside.x + 2, &fit(&said, room), scene.style(role));
    }
}
