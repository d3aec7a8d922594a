//! Moving, folding, marking, and going from pane to pane.

use super::Ctx;
use crate::model::NodeIx;
use crate::model::id::SessionId;
use crate::model::node::Node;
use crate::model::tree::Fold;
use crate::monitor::app::effect::Effect;
use crate::monitor::app::tree::Step;
use crate::monitor::app::ui::{Pane, Ui, View};
use crate::monitor::input::action::Action;

/// Goes somewhere.
#[expect(clippy::wildcard_enum_match_arm, reason = "only actions that move come here")]
pub fn go(ui: &mut Ui, cx: Ctx<'_>, action: Action) -> Vec<Effect> {
    match action {
        Action::NextPane | Action::PreviousPane => {
            ui.pane = if ui.pane == Pane::Tree { Pane::Panel } else { Pane::Tree };
            ui.is_panel_open = ui.pane == Pane::Panel;
        }
        Action::NextTab => turn(ui, 1),
        Action::PreviousTab => turn(ui, -1),
        Action::FoldAll => fold_all(ui, cx, Fold::Closed),
        Action::UnfoldAll => fold_all(ui, cx, Fold::Open),
        _ if ui.view == View::Tree && ui.pane == Pane::Panel => scroll(ui, action),
        Action::Collapse if ui.view == View::Tree => collapse(ui, cx),
        Action::Expand if ui.view == View::Tree => expand(ui, cx),
        // Where Enter opens the agent's own program, this leads to the row in the tree.
        Action::Expand if ui.view == View::Sessions => return super::tools::jump(ui, cx),
        _ if ui.view == View::Tree => {
            if let Some(step) = step_of(action, ui.tree.height) {
                ui.tree.step(cx.model, step);
                ui.scroll = None;
            }
        }
        _ => move_in_list(ui, cx, action),
    }
    follow(ui, cx)
}

/// Follows the log of the session that is now looked at.
pub fn follow(ui: &mut Ui, cx: Ctx<'_>) -> Vec<Effect> {
    let wanted = ui.selected(cx.model).and_then(|(ix, node)| {
        let source = node.sources().first().copied()?;
        let last = node.attempts.last().and_then(|last| last.session_id.clone());
        Some((source, last.or_else(|| cx.model.log_name(ix).map(SessionId::from))?))
    });
    if ui.log.session.as_ref() == wanted.as_ref().map(|(_, session)| session) {
        return Vec::new();
    }
    let ticket = ui.next_ticket();
    ui.log.follow(wanted.as_ref().map(|(_, session)| session.clone()), ticket);
    ui.scroll = None;
    vec![Effect::Follow { ticket, session: wanted }]
}

fn turn(ui: &mut Ui, by: isize) {
    ui.tab = ui.tab.shifted(by);
    ui.scroll = None;
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the others are no steps")]
fn step_of(action: Action, page: usize) -> Option<Step> {
    let page = page.saturating_sub(1).max(1);
    Some(match action {
        Action::Up => Step::Up(1),
        Action::Down => Step::Down(1),
        Action::PageUp => Step::Up(page),
        Action::PageDown => Step::Down(page),
        Action::Top => Step::Top,
        Action::Bottom => Step::Bottom,
        _ => return None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "only actions that move come here")]
fn scroll(ui: &mut Ui, action: Action) {
    let most = ui.drawn.panel_lines.saturating_sub(ui.drawn.panel_height);
    let at = ui.scroll.unwrap_or(if ui.tab.follows_end() { most } else { 0 });
    let page = ui.drawn.panel_height.saturating_sub(1).max(1);
    let at = match action {
        Action::Up => at.saturating_sub(1),
        Action::Down => at + 1,
        Action::PageUp => at.saturating_sub(page),
        Action::PageDown => at + page,
        Action::Top => 0,
        Action::Bottom => most,
        Action::Collapse => return turn(ui, -1),
        Action::Expand => return turn(ui, 1),
        _ => at,
    };
    // At the end again, it follows what comes.
    ui.scroll = (at < most || !ui.tab.follows_end()).then_some(at.min(most));
}

fn move_in_list(ui: &mut Ui, cx: Ctx<'_>, action: Action) {
    let page = usize::from(ui.drawn.list.height);
    let Some(step) = step_of(action, page) else { return };
    let view = ui.view;
    let last = super::tools::list_len(ui, cx, view).saturating_sub(1);
    let at = ui.list(view).at;
    let at = match step {
        Step::Up(rows) => at.saturating_sub(rows),
        Step::Down(rows) => at.saturating_add(rows),
        Step::Top => 0,
        Step::Bottom => last,
    };
    ui.select_in_list(at, last + 1);
}

fn collapse(ui: &mut Ui, cx: Ctx<'_>) {
    let Some((ix, node)) = ui.selected(cx.model) else { return };
    if !node.children().is_empty() && ui.tree.is_open(ix) {
        ui.folds.touch(ix);
        ui.tree.fold(cx.model, ix, Fold::Closed);
    } else if let Some(parent) = node.parent() {
        super::find::go_to(ui, cx, parent);
    }
}

fn expand(ui: &mut Ui, cx: Ctx<'_>) {
    let Some((ix, node)) = ui.selected(cx.model) else { return };
    if node.children().is_empty() {
        return;
    }
    if ui.tree.is_open(ix) {
        if let Some(child) = node.children().first() {
            super::find::go_to(ui, cx, *child);
        }
    } else {
        ui.folds.touch(ix);
        ui.tree.fold(cx.model, ix, Fold::Open);
    }
}

fn fold_all(ui: &mut Ui, cx: Ctx<'_>, fold: Fold) {
    ui.folds.clear();
    let with_children: Vec<NodeIx> = cx.model.roots().collect();
    // From here on these are as the person wants them, whatever their state becomes.
    for ix in with_children
        .iter()
        .filter(|ix| cx.model.get(**ix).is_some_and(|node: &Node| !node.children().is_empty()))
    {
        ui.folds.touch(*ix);
    }
    ui.tree.fold_all(cx.model, fold);
}

/// Marks nodes.
#[expect(clippy::wildcard_enum_match_arm, reason = "only actions that mark come here")]
pub fn mark(ui: &mut Ui, cx: Ctx<'_>, action: Action) -> Vec<Effect> {
    match action {
        Action::Mark => {
            if let Some((ix, _)) = ui.selected(cx.model) {
                if !ui.tree.marked.remove(&ix) {
                    ui.tree.marked.insert(ix);
                }
                ui.anchor = Some(ix);
                if ui.view == View::Tree {
                    ui.tree.step(cx.model, Step::Down(1));
                } else {
                    move_in_list(ui, cx, Action::Down);
                }
            }
        }
        Action::MarkRange if ui.view == View::Tree => {
            let from = ui.anchor.and_then(|ix| ui.tree.row_of(cx.model, ix));
            if let Some((from, to)) = from.zip(ui.tree.selected_row(cx.model)) {
                let nodes = ui.tree.between(cx.model, from, to);
                ui.tree.marked.extend(nodes);
            } else {
                ui.anchor = ui.tree.selected;
            }
        }
        Action::MarkRange => ui.say("A range is marked in the tree.", true, cx.now),
        _ => {
            ui.tree.marked.clear();
            ui.anchor = None;
        }
    }
    Vec::new()
}
