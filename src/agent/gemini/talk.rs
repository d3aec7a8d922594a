//! A chat file's lines, as what was said and done.

use std::collections::BTreeMap;

use super::record::{Message, Record};
use crate::agent::excerpt;
use crate::agent::lines::Line;
use crate::agent::log::{Entry, Status};
use crate::agent::trail::Talk;
use crate::model::time::Stamp;

/// Makes a chat readable: of a message that is written again, only what is new.
#[derive(Debug, Default)]
pub struct Conversation {
    /// How many calls of each message were told.
    told: BTreeMap<String, usize>,
}

impl Talk for Conversation {
    fn line(&mut self, line: &Line, log: &mut Vec<(Option<Stamp>, Entry)>) {
        let Some(record) = Record::of(line) else { return };
        for message in &record.messages {
            match message.by.as_deref() {
                Some("gemini") => self.tell(message, log),
                Some("error") => {
                    let entry = Entry::Ended { status: Status::Failed, error: Some(message.text()) };
                    log.push((message.timestamp, entry));
                }
                _ => {}
            }
        }
    }
}

impl Conversation {
    fn tell(&mut self, message: &Message, log: &mut Vec<(Option<Stamp>, Entry)>) {
        let at = message.timestamp;
        let id = message.id.clone().unwrap_or_default();
        let told = self.told.get(&id).copied();
        if told.is_none() {
            for thought in &message.thoughts {
                let text = format!("{}\n{}", thought.subject, thought.description);
                log.push((at, Entry::Thought { text: text.trim().to_owned() }));
            }
            let text = message.text();
            if !text.is_empty() {
                log.push((at, Entry::Output { text, cut: 0 }));
            }
        }
        for call in message.tool_calls.iter().skip(told.unwrap_or(0)) {
            let (id, name) = (call.id.clone(), call.name.clone());
            log.push((at, Entry::Tool { id: id.clone(), name, input: excerpt::purpose(&call.args) }));
            let text = call.answer().map(excerpt::brief).unwrap_or_default();
            log.push((call.timestamp.or(at), Entry::ToolResult { id, ok: Some(call.worked()), text }));
        }
        self.told.insert(id, message.tool_calls.len());
    }
}
