//! Makes a transcript readable for the panels: what was asked, thought, said and done.

use super::line::{Block, Content, Record, is_noise, text_of};
use super::short::{between, cut, target};
use crate::agent::lines::Line;
use crate::agent::log::Entry;
use crate::agent::skim::Raw;
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
        let Some(record) = Record::of(&line.bytes).filter(|record| !record.is_meta) else { return };
        let at = record.at();
        let is_user = *record.kind == *b"user";
        let Some(message) = record.message.filter(|_| is_user || *record.kind == *b"assistant") else {
            return;
        };
        match message.content {
            Content::None => {}
            Content::Text(text) => log.push((at, said(&text, is_user))),
            Content::Blocks(blocks) => {
                log.extend(blocks.as_slice().iter().filter_map(|block| Some((at, entry(block, is_user)?))));
            }
        }
    }
}

fn entry(block: &Block<'_>, is_user: bool) -> Option<Entry> {
    match &*block.kind {
        b"text" => block.text.as_deref().map(|text| said(text, is_user)),
        b"thinking" => {
            let text = block.thinking?.text()?.into_owned();
            (!text.is_empty()).then_some(Entry::Thought { text })
        }
        b"tool_use" => Some(Entry::Tool {
            id: block.id.and_then(Raw::text).map(Into::into),
            name: block.name.and_then(Raw::text).unwrap_or("tool".into()).into(),
            input: target(block.input),
        }),
        b"tool_result" => Some(Entry::ToolResult {
            id: block.tool_use_id.and_then(Raw::text).map(Into::into),
            ok: block.is_error.map(|is_error| !is_error),
            text: cut(&block.content.map(text_of).unwrap_or_default(), ANSWER),
        }),
        _ => None,
    }
}

/// What a person typed is marked, so that it is not taken for the agent's. That an agent in the background has ended the
/// tool tells in the person's place: of that only the sentence is for people.
fn said(text: &str, is_user: bool) -> Entry {
    let told = text.trim_start().starts_with("<task-notification>").then(|| between(text, "summary"));
    let text = match told.flatten().filter(|_| is_user) {
        Some(summary) => summary.to_owned(),
        None if is_user => format!("> {text}"),
        None => text.to_owned(),
    };
    Entry::Output { text, cut: 0 }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::a_person("Go on.", true, "> Go on.")]
    #[case::the_agent("Done.", false, "Done.")]
    #[case::an_agent_ended(
        "<task-notification>\n<task-id>a1</task-id>\n<summary>Agent \"Find it\" completed</summary></task-notification>",
        true,
        "Agent \"Find it\" completed"
    )]
    #[case::one_that_says_nothing(
        "<task-notification></task-notification>",
        true,
        "> <task-notification></task-notification>"
    )]
    #[case::an_agent_that_writes_of_it(
        "<task-notification><summary>x</summary>",
        false,
        "<task-notification><summary>x</summary>"
    )]
    fn who_spoke_is_seen(#[case] text: &str, #[case] is_user: bool, #[case] shown: &str) {
        assert_eq!(said(text, is_user), Entry::Output { text: shown.into(), cut: 0 });
    }
}
