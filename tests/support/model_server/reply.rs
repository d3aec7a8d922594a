//! What is sent back: a whole answer, or frames of a stream.

use serde_json::Value;

/// An answer.
pub(super) enum Reply {
    Whole(Value),
    Stream(Vec<Frame>),
}

/// One frame of a stream.
pub(super) struct Frame {
    pub text: String,
    /// Whether it is a piece of what the model says, which is sent at the step's pace.
    pub is_text: bool,
}

impl Frame {
    /// Makes a server-sent event with a name.
    pub fn event(name: &str, data: &Value) -> Self {
        Self { text: format!("event: {name}\ndata: {data}\n\n"), is_text: false }
    }

    /// Makes a server-sent event without one.
    pub fn data(data: &str) -> Self {
        Self { text: format!("data: {data}\n\n"), is_text: false }
    }

    /// Says that it is a piece of what the model says.
    pub fn paced(self) -> Self {
        Self { is_text: true, ..self }
    }
}

/// Cuts a text into pieces of so many characters.
pub(super) fn pieces(text: &str, size: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(size.max(1)).map(|piece| piece.iter().collect()).collect()
}
