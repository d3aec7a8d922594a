//! Transcripts of Claude Code that a test writes line by line.

use serde_json::{Value, json};

/// A transcript that grows by a second with each line.
pub struct Script {
    id: String,
    at: u32,
    pub lines: Vec<Value>,
}

impl Script {
    /// Begins one of a session, so many seconds after eight o'clock.
    pub fn of(id: &str, at: u32) -> Self {
        Self { id: id.into(), at, lines: Vec::new() }
    }

    /// Adds a line of these fields.
    pub fn line(&mut self, fields: &Value) -> &mut Self {
        let (minute, second) = (self.at / 60, self.at % 60);
        let mut line = json!({
            "uuid": format!("{}-{}", self.id, self.at),
            "timestamp": format!("2026-11-16T08:{minute:02}:{second:02}.000Z"),
            "cwd": "/srv/shop",
            "sessionId": self.id,
        });
        let fields = fields.as_object().cloned().unwrap_or_default();
        line.as_object_mut().unwrap().extend(fields);
        self.lines.push(line);
        self.at += 1;
        self
    }

    /// Adds what a person, or the tool in a person's place, put in.
    pub fn user(&mut self, text: &str) -> &mut Self {
        self.line(&json!({"type": "user", "message": {"role": "user", "content": text}}))
    }

    /// The same, as the tool writes what nobody typed.
    pub fn meta(&mut self, text: &str) -> &mut Self {
        self.line(&json!({"type": "user", "isMeta": true, "message": {"role": "user", "content": text}}))
    }

    /// Adds an answer that ends its turn.
    pub fn answer(&mut self, id: &str, output: u64) -> &mut Self {
        self.line(&json!({"type": "assistant", "requestId": format!("req_{id}"), "message": {
            "id": id, "role": "assistant", "model": "claude-opus-5-5", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "Done."}],
            "usage": {"input_tokens": 0, "output_tokens": output}}}))
    }

    /// Returns it as a file has it.
    pub fn bytes(&self) -> Vec<u8> {
        self.lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
    }
}
