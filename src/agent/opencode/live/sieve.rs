//! Which of the server's events go on: it repeats a whole tool call with every line that a command prints.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::row::Part;
use super::event::{About, Event, Piece};
use crate::agent::wire;

/// So many parts are remembered; of one that is older the same is told again, and dropped by the reader.
const REMEMBERED: usize = 65_536;

/// Drops what says nothing new.
#[derive(Debug, Default)]
pub struct Sieve {
    passed: HashSet<(String, String, bool)>,
}

/// What of a line decides.
#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, default)]
    info: Option<&'a RawValue>,
}

impl Sieve {
    /// Returns whether an event goes on. What is not known does.
    pub fn passes(&mut self, line: &str) -> bool {
        let Some(event) = wire::read::<Event<'_>>(line) else { return true };
        match event.kind.as_str() {
            "message.part.updated" => self.part(&event),
            // A session tells its totals with every step; what began it is told once.
            "session.updated" | "session.diff" | "plugin.added" | "catalog.updated" | "server.heartbeat" => {
                false
            }
            "message.updated" => {
                wire::part::<Kind<'_>>(event.properties).is_some_and(|kind| kind.info.is_some())
            }
            kind => kind.rsplit('.').next() != Some("delta"),
        }
    }

    fn part(&mut self, event: &Event<'_>) -> bool {
        let raw = wire::part::<About<'_>>(event.properties).and_then(|about| about.part);
        let (Some(part), Some(piece)) = (wire::part::<Part>(raw), wire::part::<Piece>(raw)) else {
            return true;
        };
        if self.passed.len() > REMEMBERED {
            self.passed.clear();
        }
        match part.kind.as_str() {
            // It grows letter by letter, and is told once more when it is whole.
            "text" | "reasoning" => {
                part.time.end.is_some() && self.passed.insert((piece.id, String::new(), false))
            }
            "tool" => {
                let has_agent = piece.state.metadata.get("sessionId").is_some();
                self.passed.insert((piece.id, part.state.status, has_agent))
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(status: &str, metadata: &str) -> String {
        format!(
            r#"{{"type":"message.part.updated","properties":{{"sessionID":"s","part":{{"id":"p","type":"tool","tool":"bash","state":{{"status":"{status}","metadata":{metadata}}}}}}}}}"#
        )
    }

    #[test]
    fn a_tool_passes_once_for_each_state_and_a_text_when_it_is_whole() {
        let mut sieve = Sieve::default();
        let passed: Vec<bool> = [
            tool("running", "{}"),
            tool("running", r#"{"output":"a"}"#),
            tool("running", r#"{"sessionId":"ses_2"}"#),
            tool("completed", "{}"),
            r#"{"type":"message.part.updated","properties":{"part":{"id":"t","type":"text","text":"","time":{"start":1}}}}"#.to_owned(),
            r#"{"type":"message.part.updated","properties":{"part":{"id":"t","type":"text","text":"x","time":{"start":1,"end":2}}}}"#.to_owned(),
            r#"{"type":"message.part.delta","properties":{}}"#.to_owned(),
            r#"{"type":"sung","properties":{}}"#.to_owned(),
            "no JSON".to_owned(),
        ]
        .iter()
        .map(|line| sieve.passes(line))
        .collect();
        assert_eq!(passed, [true, false, true, true, false, true, false, true, true]);
    }
}
