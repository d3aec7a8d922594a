//! A rollout's lines, as what was said and done.

use super::line::{Event, Failure, Item, Meta, Record, TurnContext, text_of};
use super::replay::Replay;
use super::wire;
use crate::agent::excerpt;
use crate::agent::lines::Line;
use crate::agent::log::{Entry, Status};
use crate::agent::trail::Talk;
use crate::model::time::Stamp;

/// Makes a rollout readable. What was copied from another thread is left out: that one has it.
#[derive(Debug, Default)]
pub struct Conversation {
    replay: Replay,
}

impl Talk for Conversation {
    fn line(&mut self, line: &Line, log: &mut Vec<(Option<Stamp>, Entry)>) {
        let Some(record) = Record::of(line) else { return };
        let at = record.at();
        match &*record.kind {
            "session_meta" => {
                if let Some(meta) = wire::part::<Meta>(record.payload) {
                    self.replay.meta(&meta.id, meta.forked_from_id.is_some(), at);
                }
            }
            "turn_context" => {
                let context = wire::part::<TurnContext<'_>>(record.payload);
                self.replay.covers(context.and_then(|context| context.turn_id).as_deref(), at);
            }
            "response_item" if !self.replay.covers(None, at) => {
                let item = wire::part::<Item<'_>>(record.payload);
                log.extend(item.and_then(|item| entry(&item)).map(|entry| (at, entry)));
            }
            "event_msg" => {
                if let Some(event) = wire::part::<Event<'_>>(record.payload)
                    && !self.replay.covers(event.turn_id.as_deref(), at)
                {
                    log.extend(ending(&event).map(|entry| (at, entry)));
                }
            }
            _ => {}
        }
    }
}

fn entry(item: &Item<'_>) -> Option<Entry> {
    let id = item.call_id.as_deref().map(str::to_owned);
    if let Some(tool) = item.tool() {
        return Some(Entry::Tool { id, name: tool.to_owned(), input: excerpt::purpose(&item.input()) });
    }
    match &*item.kind {
        "message" if item.role.as_deref() == Some("assistant") => {
            let text = text_of(item.content);
            (!text.is_empty()).then_some(Entry::Output { text, cut: 0 })
        }
        "reasoning" => {
            let pieces = item.summary.iter().filter_map(|piece| piece.text.as_deref());
            let text = pieces.collect::<Vec<_>>().join("\n");
            (!text.is_empty()).then_some(Entry::Thought { text })
        }
        "function_call_output" | "custom_tool_call_output" => {
            let output = wire::part(item.output).unwrap_or_default();
            Some(Entry::ToolResult { id, ok: None, text: excerpt::brief_value(&output) })
        }
        _ => None,
    }
}

fn ending(event: &Event<'_>) -> Option<Entry> {
    match &*event.kind {
        "task_complete" | "turn_complete" => {
            let failure: Failure = wire::part(event.error)?;
            Some(Entry::Ended { status: Status::Failed, error: failure.message })
        }
        "turn_aborted" => Some(Entry::Ended { status: Status::Cancelled, error: None }),
        _ => None,
    }
}
