//! The work tree of an isolated step: how far it is, where, what stands in the way of a merge, and which key asks.

use ratatui::text::Line;

use super::parts::{item, paragraph};
use crate::model::node::Node;
use crate::model::worktree::{TreeState, WorkTree};
use crate::monitor::input::action::Action;
use crate::monitor::view::Scene;
use crate::monitor::view::theme::Role;

/// So many paths in the way are listed.
const LISTED: usize = 20;

/// Returns what stands above the diff; nothing for a node that works in the project's folder.
pub fn lines(scene: &Scene<'_>, node: &Node, width: usize) -> Vec<Line<'static>> {
    let Some(tree) = tree(node) else { return Vec::new() };
    let mut lines = paragraph(scene, &said(tree), width, role(tree));
    for path in tree.conflicts.iter().take(LISTED) {
        lines.extend(item(scene, path, width, Role::Link));
    }
    if let Some(path) = tree.path.as_deref().filter(|_| tree.state.is_open()) {
        lines.extend(paragraph(scene, path, width, Role::Dim));
    }
    let keys = scene.keys.hint(Action::Settle).filter(|_| tree.state.is_open() && node.status.is_ended());
    if let Some(keys) = keys {
        let text = format!("Press {keys} to merge, keep or discard it.");
        lines.extend(paragraph(scene, &text, width, Role::Text));
    }
    lines.push(Line::default());
    lines
}

/// Returns what a person is asked, for the list of what needs one.
pub fn asked(node: &Node) -> Option<String> {
    let tree = tree(node).filter(|tree| tree.asks())?;
    Some(match tree.conflicts.as_slice() {
        [] => said(tree),
        paths => {
            format!("{}: {}", said(tree), paths.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", "))
        }
    })
}

fn tree(node: &Node) -> Option<&WorkTree> {
    node.more().and_then(|more| more.tree.as_deref())
}

fn said(tree: &WorkTree) -> String {
    let files = match tree.file_count {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    let reason = tree.reason.as_deref().unwrap_or_default();
    match tree.state {
        TreeState::None => format!("It works in the project's folder: {reason}"),
        TreeState::Made => "It works in a work tree of its own.".into(),
        TreeState::Recorded => format!("It changed {files} in a work tree of its own"),
        TreeState::Merged => format!("What it changed is merged: {files}."),
        TreeState::Kept => format!("Its work tree is kept: {files} changed."),
        TreeState::Discarded => "Its work tree is discarded.".into(),
        TreeState::Conflict if tree.conflicts.is_empty() => {
            format!("Its work tree could not be settled: {reason}")
        }
        TreeState::Conflict => "What it changed does not fit the project's files".into(),
    }
}

fn role(tree: &WorkTree) -> Role {
    match tree.state {
        TreeState::Conflict => Role::Warn,
        TreeState::Merged => Role::Good,
        TreeState::Recorded => Role::Title,
        TreeState::None | TreeState::Made | TreeState::Kept | TreeState::Discarded => Role::Dim,
    }
}
