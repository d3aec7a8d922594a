//! What the agent thinks, as it tells: the latest last, each with its time, folded to two lines unless it is
//! unfolded.

use ratatui::text::{Line, Span};

use super::parts::{Look, hang, nothing, time_of};
use super::silence;
use crate::model::node::Node;
use crate::monitor::app::log::What;
use crate::monitor::input::action::Action;
use crate::monitor::view::Scene;
use crate::monitor::view::text::{fit, span};
use crate::monitor::view::theme::Role;

/// Lines of a folded thought.
const FOLDED: usize = 2;
/// Lines that are wrapped for one frame.
const MOST: usize = 2_000;

/// Returns the lines of this tab.
pub fn lines(scene: &Scene<'_>, node: &Node, width: usize) -> Vec<Line<'static>> {
    let look = Look::of(scene);
    let entries = silence::log_of(&scene.ui.log, node).map(|log| &log.entries);
    let thoughts = entries.into_iter().flatten().rev().filter_map(|shown| match &shown.what {
        What::Thought(text) => Some((shown.at, text)),
        What::Output(_)
        | What::Tool { .. }
        | What::Answer { .. }
        | What::Question(_)
        | What::Result { .. }
        | What::Ended { .. } => None,
    });
    let mut blocks: Vec<Vec<Line<'static>>> = Vec::new();
    let mut count = 0;
    for (at, text) in thoughts {
        if count >= MOST {
            blocks.push(nothing(scene, "Earlier thoughts are in the session's log.", width));
            break;
        }
        let time = at.map_or_else(|| " ".repeat(8), time_of);
        let lead = vec![span(format!("{time}  "), scene.style(Role::Dim))];
        let mut block = hang(lead, text, width, scene.style(Role::Text));
        if !look.unfolded {
            fold(&mut block, &look, width);
        }
        count += block.len();
        blocks.push(block);
    }
    if blocks.is_empty() {
        return none(scene, node, width);
    }
    let mut lines: Vec<Line<'static>> = blocks.into_iter().rev().flatten().collect();
    if let Some(keys) = scene.keys.hint(Action::Open).filter(|_| !look.unfolded) {
        lines.push(Line::default());
        lines.extend(nothing(scene, &format!("{keys} unfolds them."), width));
    }
    lines
}

fn none(scene: &Scene<'_>, node: &Node, width: usize) -> Vec<Line<'static>> {
    let why = if node.status.is_ended() {
        "No thoughts are on record."
    } else {
        "No thoughts yet. Not every agent tells them."
    };
    nothing(scene, why, width)
}

/// Cuts a thought to its first lines; the last of them says that there is more.
pub fn fold(lines: &mut Vec<Line<'static>>, look: &Look<'_>, width: usize) {
    if lines.len() <= FOLDED {
        return;
    }
    lines.truncate(FOLDED);
    let Some(last) = lines.last_mut() else { return };
    let more = look.sign(" …", "...");
    let used: usize = last.spans.iter().rev().skip(1).map(Span::width).sum();
    if let Some(text) = last.spans.last_mut() {
        let room = width.saturating_sub(used + more.chars().count());
        let mut kept = fit(&text.content, room);
        if kept != *text.content
            && let Some((whole, _)) = kept.rsplit_once(' ')
        {
            kept = whole.to_owned();
        }
        text.content = format!("{}{more}", kept.trim_end_matches(['…', ' '])).into();
    }
}
