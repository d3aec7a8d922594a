//! What the selected node changed, by file: how much of each on top, then the changes.

use ratatui::text::Line;

use super::parts::{hang, item, nothing, section};
use crate::model::NodeIx;
use crate::model::key::SourceKind;
use crate::model::node::Node;
use crate::model::text as clean;
use crate::monitor::input::action::Action;
use crate::monitor::view::Scene;
use crate::monitor::view::text::{fit, pad, span, width as cells};
use crate::monitor::view::theme::Role;

/// Lines of a diff that are shown; the whole is in the work tree.
const MOST: usize = 3_000;
/// Bytes of a diff that are looked at.
const LONGEST: usize = 1 << 20;

/// Why it can be read and no more.
const NO_WORK_TREE: &str = "Merge, keep and discard are not available: all steps work in one folder, so this is \
    what was changed there since the last commit, by whomever.";

/// Returns the lines of this tab.
pub fn lines(scene: &Scene<'_>, ix: NodeIx, node: &Node, width: usize) -> Vec<Line<'static>> {
    let mut lines = super::worktree::lines(scene, node, width);
    lines.extend(changes(scene, ix, node, width));
    lines
}

fn changes(scene: &Scene<'_>, ix: NodeIx, node: &Node, width: usize) -> Vec<Line<'static>> {
    let asked = scene.ui.diff.as_ref().filter(|(of, _, _)| *of == ix);
    match asked {
        Some((_, _, Some(Ok(text)))) if text.trim().is_empty() => {
            let mut lines = nothing(scene, "Nothing is changed.", width);
            told(&mut lines, scene, node, width);
            lines
        }
        Some((_, _, Some(Ok(text)))) => shown(scene, text, width),
        Some((_, _, Some(Err(why)))) => {
            let mut lines = super::parts::paragraph(scene, "The diff could not be made:", width, Role::Error);
            lines.extend(super::parts::paragraph(scene, why, width, Role::Text));
            told(&mut lines, scene, node, width);
            lines
        }
        Some((_, _, None)) => nothing(scene, "Reading what it changed…", width),
        None => unasked(scene, node, width),
    }
}

fn unasked(scene: &Scene<'_>, node: &Node, width: usize) -> Vec<Line<'static>> {
    let is_ours = |source| scene.model.source(source).is_some_and(|one| one.kind == SourceKind::Engine);
    let has_workspace = node.more().is_some_and(|more| more.workspace.is_some());
    let has_folder = has_workspace || node.sources().into_iter().any(is_ours);
    let text = match scene.keys.hint(Action::Diff) {
        _ if !has_folder => "It has no work tree of its own, so there is no diff.".to_owned(),
        Some(keys) => format!("Press {keys} to read what it changed."),
        None => "No key is set for the diff.".to_owned(),
    };
    let mut lines = nothing(scene, &text, width);
    told(&mut lines, scene, node, width);
    lines
}

/// The files that it says it changed.
fn told(lines: &mut Vec<Line<'static>>, scene: &Scene<'_>, node: &Node, width: usize) {
    let files = node.beyond_words().map(|outcome| outcome.files_modified.as_slice());
    let files = files.unwrap_or_default();
    if files.is_empty() {
        return;
    }
    section(lines, scene, "It says it changed");
    for file in files {
        lines.extend(item(scene, file, width, Role::Link));
    }
}

/// What a diff does to one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changed {
    pub file: String,
    pub added: usize,
    pub removed: usize,
}

/// Sums a unified diff up by file, in its order.
pub fn summary(diff: &str) -> Vec<Changed> {
    let mut files: Vec<Changed> = Vec::new();
    let mut hunk = Hunk::default();
    let mut before = "";
    for line in diff.lines() {
        if hunk.takes(line) {
            let Some(file) = files.last_mut() else { continue };
            file.added += usize::from(line.starts_with('+'));
            file.removed += usize::from(line.starts_with('-'));
        } else if let Some(name) = line.strip_prefix("--- ") {
            before = name;
        } else if let Some(name) = line.strip_prefix("+++ ") {
            let name = if name.starts_with("/dev/null") { before } else { name };
            files.push(Changed { file: file_name(name), ..Changed::default() });
        } else if line.starts_with("@@") {
            hunk = Hunk::of(line);
        } else if let Some(names) = line.strip_prefix("Binary files ") {
            let name = names.trim_end_matches(" differ").rsplit(" and ").next().unwrap_or(names);
            files.push(Changed { file: format!("{} (binary)", file_name(name)), ..Changed::default() });
        }
    }
    files
}

/// How many lines of a hunk are still to come: inside one, `--- ` is a removed line and no file's name.
#[derive(Debug, Clone, Copy, Default)]
struct Hunk {
    old: u64,
    new: u64,
}

impl Hunk {
    /// Reads `@@ -1,4 +1,5 @@`.
    fn of(line: &str) -> Self {
        let count = |sign: char| {
            let range = line.split(' ').find_map(|part| part.strip_prefix(sign))?;
            range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok())
        };
        Self { old: count('-').unwrap_or(0), new: count('+').unwrap_or(0) }
    }

    /// Returns whether a line is of this hunk, and counts it.
    fn takes(&mut self, line: &str) -> bool {
        if self.old == 0 && self.new == 0 {
            return false;
        }
        match line.as_bytes().first() {
            Some(b'+') => self.new = self.new.saturating_sub(1),
            Some(b'-') => self.old = self.old.saturating_sub(1),
            Some(b'\\') => {}
            Some(_) | None => {
                self.old = self.old.saturating_sub(1);
                self.new = self.new.saturating_sub(1);
            }
        }
        true
    }
}

fn file_name(name: &str) -> String {
    let name = name.split('\t').next().unwrap_or(name).trim().trim_matches('"');
    let name = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
    clean::line(name).into()
}

fn shown(scene: &Scene<'_>, text: &str, width: usize) -> Vec<Line<'static>> {
    let part = text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default();
    let mut is_cut = part.len() < text.len();
    let mut lines = summed(scene, &summary(part), is_cut, width);
    lines.push(Line::default());
    lines.extend(nothing(scene, NO_WORK_TREE, width));
    lines.push(Line::default());
    let mut hunk = Hunk::default();
    for line in part.lines() {
        if lines.len() >= MOST {
            is_cut = true;
            break;
        }
        let in_hunk = hunk.takes(line);
        if !in_hunk && line.starts_with("@@") {
            hunk = Hunk::of(line);
        }
        let style = scene.style(role(line, in_hunk));
        let line = clean::line(&line.replace('\t', "    "));
        // What is wrapped goes on beside its sign, not below it.
        let sign = if in_hunk { line.chars().next().filter(char::is_ascii) } else { None };
        let lead = sign.map_or_else(String::new, |sign| sign.to_string());
        let rest = line.strip_prefix(&lead).unwrap_or(&line);
        lines.extend(hang(vec![span(lead, style)], rest, width, style));
    }
    if is_cut {
        lines.push(Line::default());
        lines.extend(nothing(scene, "The rest is in its work tree.", width));
    }
    lines
}

fn role(line: &str, in_hunk: bool) -> Role {
    match line.as_bytes().first() {
        Some(b'+') if in_hunk => Role::DiffAdd,
        Some(b'-') if in_hunk => Role::DiffRemove,
        Some(b'@') if !in_hunk => Role::DiffHunk,
        _ if in_hunk => Role::Text,
        _ => Role::Dim,
    }
}

/// The files with how many lines came and went, in columns.
fn summed(scene: &Scene<'_>, files: &[Changed], is_cut: bool, width: usize) -> Vec<Line<'static>> {
    /// A number of lines and its sign.
    const COUNT: usize = 7;
    const FILES: usize = 200;
    let sum = |of: fn(&Changed) -> usize| files.iter().map(of).sum::<usize>();
    let minus = scene.sign("−", "-");
    let word = if files.len() == 1 { "file" } else { "files" };
    let least = if is_cut { scene.sign("≥ ", ">= ") } else { "" };
    let text = format!("{least}{} {word}  +{} {minus}{}", files.len(), sum(|f| f.added), sum(|f| f.removed));
    let mut lines = vec![super::heading(scene, &fit(&text, width))];
    let room = width.saturating_sub(2 * COUNT + 1);
    let widest = files.iter().map(|file| cells(&file.file)).max().unwrap_or(0).min(room);
    for file in files.iter().take(FILES) {
        lines.push(Line::from(vec![
            span(pad(&shortened(&file.file, widest), widest), scene.style(Role::Link)),
            span(format!(" {:>COUNT$}", format!("+{}", file.added)), scene.style(Role::DiffAdd)),
            span(format!("{:>COUNT$}", format!("{minus}{}", file.removed)), scene.style(Role::DiffRemove)),
        ]));
    }
    if files.len() > FILES {
        lines.extend(nothing(scene, &format!("{} more files.", files.len() - FILES), width));
    }
    lines
}

/// Cuts a path at its beginning: its end tells files apart.
fn shortened(path: &str, most: usize) -> String {
    if cells(path) <= most {
        return path.to_owned();
    }
    if most == 0 {
        return String::new();
    }
    let mut kept = path;
    while cells(kept) + 1 > most {
        let Some(first) = kept.chars().next() else { break };
        kept = kept.strip_prefix(first).unwrap_or_default();
    }
    format!("…{kept}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,3 @@\n one\n--- was a comment\n+++ is one too\n two\n@@ -9 +9,2 @@\n-x\n+y\n+z\ndiff --git a/gone b/gone\n--- a/gone\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-1\n-2\nBinary files a/p.png and b/p.png differ\n";

    #[test]
    fn a_removed_line_that_looks_like_a_header_is_counted_as_a_line() {
        let changed = |file: &str, added, removed| Changed { file: file.into(), added, removed };
        assert_eq!(
            summary(DIFF),
            [changed("src/a.rs", 3, 2), changed("gone", 0, 2), changed("p.png (binary)", 0, 0)]
        );
    }

    #[test]
    fn a_path_keeps_its_end() {
        assert_eq!(shortened("src/monitor/view.rs", 10), "…r/view.rs");
        assert_eq!(shortened("view.rs", 10), "view.rs");
    }
}
