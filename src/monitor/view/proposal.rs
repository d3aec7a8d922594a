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
use super::text::{put, width};
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
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let lines = [
        (label(node), Role::Title),
        (named(&format!("{count}: "), &names, usize::from(inner.width)), Role::Text),
        (totals(steps.iter()), Role::Tokens),
    ];
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

/// Names as many as there is room for, and says how many more there are: half a name says little.
fn named(head: &str, names: &[&str], room: usize) -> String {
    let told = |shown: usize| {
        let (first, rest) = names.split_at(shown.min(names.len()));
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        format!("{head}{}{more}", first.join(", "))
    };
    let fitting = (1..=names.len()).rev().map(told).find(|text| width(text) <= room);
    // Not even one fits whole: then it is cut.
    fitting.unwrap_or_else(|| told(1))
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn a_name_is_whole_or_counted() {
        let names = ["Map the seams", "Extract the ledger", "Move it"];
        assert_eq!(named("3 steps: ", &names, 60), "3 steps: Map the seams, Extract the ledger, Move it");
        assert_eq!(named("3 steps: ", &names, 40), "3 steps: Map the seams and 2 more");
        assert_eq!(named("3 steps: ", &names, 4), "3 steps: Map the seams and 2 more");
        assert_eq!(named("no steps: ", &[], 40), "no steps: ");
    }
}
