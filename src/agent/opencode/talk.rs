//! Parts, as what was said and done.

use super::row::{Part, PartRow};
use crate::agent::excerpt;
use crate::agent::log::Entry;
use crate::agent::wire;
use crate::model::time::Stamp;

/// Makes a part of an agent's message readable.
pub fn entries(row: &PartRow) -> Vec<(Option<Stamp>, Entry)> {
    let Some(part) = wire::read::<Part>(&row.data) else { return Vec::new() };
    let at = part.time.start.or(row.updated);
    match (&*part.kind, part.tool, part.text) {
        ("text", _, Some(text)) if !text.is_empty() => vec![(at, Entry::Output { text, cut: 0 })],
        ("reasoning", _, Some(text)) if !text.is_empty() => vec![(at, Entry::Thought { text })],
        ("tool", Some(name), _) => {
            let (state, id) = (part.state, part.call);
            let input = excerpt::purpose(&state.input);
            let began = state.time.start.or(at);
            let mut entries = vec![(began, Entry::Tool { id: id.clone(), name, input })];
            let ok = match &*state.status {
                "completed" => Some(true),
                "error" => Some(false),
                _ => return entries,
            };
            let text = state.error.or(state.output).as_deref().map(excerpt::brief).unwrap_or_default();
            entries.push((state.time.end.or(at), Entry::ToolResult { id, ok, text }));
            entries
        }
        _ => Vec::new(),
    }
}
