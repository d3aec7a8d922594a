//! The diff of the selected node.

use ratatui::text::Line;

use crate::model::NodeIx;
use crate::model::node::Node;
use crate::monitor::view::Scene;

/// Returns the lines of this tab.
pub fn lines(scene: &Scene<'_>, ix: NodeIx, node: &Node, width: usize) -> Vec<Line<'static>> {
    let _ = (ix, node);
    super::nothing(scene, "Nothing yet.", width)
}
