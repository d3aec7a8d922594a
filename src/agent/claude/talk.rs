//! Makes a transcript readable for the panels: what was asked, thought, said and done.

use super::line::{Block, Content, Record, is_noise, text_of};
use super::short::{cut, target};
use crate::agent::lines::Line;
use crate::agent::log::Entry;
use crate::agent::trail::Talk;
use crate::model::time::Stamp;

/// An answer of a tool is shown so far.
const ANSWER: usize = 2_000;

/// Reads a transcript for the panels.
#[derive(Debug, Default)]
pub struct Speech;

impl Talk for Speech {
    fn line(&mut self, line: &Line, log: &mut Vec<(Option<Stamp>, Entry)>) {
        if line.cut > 0 || is_noise(&line.bytes) {
            return;
        }
        let Some(record) = Record::read(&line.bytes).filter(|record| !record.is_meta) else { return };
        let at = record.at();
        let is_user = record.kind == "user";
        let Some(message) = record.message.filter(|_| is_user || record.kind == "assistant") else { return };
        match message.content {
            Content::None => {}
            Content::Text(text) => log.push((at, said(&text, is_user))),
            Content::Blocks(blocks) => {
                log.extend(blocks.iter().filter_map(|block| Some((at, entry(block, is_user)?))));
            }
        }
    }
}

fn entry(block: &Block<'_>, is_user: bool) -> Option<Entry> {
    match &*block.kind {
        "text" => block.text.as_deref().map(|text| said(text, is_user)),
        "thinking" => {
            let text = block.thinking?.text()?.into_owned();
            (!text.is_empty()).then_some(Entry::Thought { text })
        }
        "tool_use" => Some(Entry::Tool {
            id: block.id.as_deref().map(str::to_owned),
            name: block.name.as_deref().unwrap_or("tool").to_owned(),
            input: target(block.input),
        }),
        "tool_result" => Some(Entry::ToolResult {
            id: block.tool_use_id.as_deref().map(str::to_owned),
            ok: block.is_error.map(|is_error| !is_error),
            text: cut(&block.content.map(text_of).unwrap_or_default(), ANSWER),
        }),
        _ => None,
    }
}

/// What a person typed is marked, so that it is not taken for the agent's.
fn said(text: &str, is_user: bool) -> Entry {
    let text = if is_user { format!("> {text}") } else { text.to_owned() };
    Entry::Output { text, cut: 0 }
}
