//! A proposal that scored high, in a box below the tree; one that did not is its row and no more.
//!
//! ```text
//! ╭ Proposed · score 81 ──────────────────────────────╮
//! │ Split the monolith's billing module               │
//! │ 3 steps: Map the seams, Extract the ledger, …     │
//! │ time ~6m00s, tokens ~18.0K, cost –                │
//! │ a approve   A approve with changes   d reject     │
//! ╰───────────────────────────────────────────────────╯
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Scene;
use super::list::keys;
use super::screen::frame;
use super::text::put;
use super::theme::Role;
use super::tree::label;
use crate::model::NodeIx;
use crate::model::node::Node;
use crate::monitor::app::dialog::proposal::{WORTH_A_BOX, decision, proposed, totals};
use crate::monitor::app::needs::Need;
use crate::monitor::input::action::Action;

/// The box: four lines and a frame.
pub const HEIGHT: u16 = 6;

/// So many proposals are looked at for one that is worth a box.
const LOOKED_AT: usize = 64;

/// Returns the proposal that is worth a box: the selected one, else that which has waited longest.
pub fn foremost<'m>(scene: &Scene<'m>) -> Option<(NodeIx, &'m Node)> {
    let waiting = scene.ui.needs.of(Need::Approval).take(LOOKED_AT);
    let selected = scene.ui.tree.selected.filter(|ix| scene.ui.needs.get(*ix) == Some(Need::Approval));
    let mut nodes = selected.into_iter().chain(waiting).filter_map(|ix| Some((ix, scene.model.get(ix)?)));
    nodes.find(|(_, node)| decision(node).and_then(|one| one.score).is_some_and(|score| score >= WORTH_A_BOX))
}

/// Draws the box.
pub fn render(area: Rect, buf: &mut Buffer, scene: &Scene<'_>) {
    let Some((ix, node)) = foremost(scene) else { return };
    let score = decision(node).and_then(|one| one.score).unwrap_or_default();
    let dot = scene.sign("·", "-");
    let inner = frame(area, buf, scene, &format!("Proposed {dot} score {score:.0}"), false);
    let steps = proposed(node);
    let names: Vec<&str> = steps.iter().map(|step| step.label.as_str()).collect();
    let count = if steps.len() == 1 { "1 step".to_owned() } else { format!("{} steps", steps.len()) };
    let lines = [
        (label(node), Role::Title),
        (format!("{count}: {}", names.join(", ")), Role::Text),
        (totals(steps.iter()), Role::Tokens),
    ];
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    for ((text, role), y) in lines.iter().zip(inner.top()..inner.bottom()) {
        put(buf, Rect { y, height: 1, ..inner }, inner.x, text, scene.style(*role));
    }
    let foot = Rect { y: inner.bottom().saturating_sub(1), height: 1, ..inner };
    if scene.ui.tree.selected == Some(ix) {
        let dealing = [
            (Action::Approve, "approve"),
            (Action::ApproveChanged, "approve with changes"),
            (Action::Reject, "reject"),
        ];
        keys(foot, buf, scene, Some(ix), &dealing);
    } else {
        keys(foot, buf, scene, None, &[(Action::ViewNeedsMe, "deal with it among what needs you")]);
    }
}
