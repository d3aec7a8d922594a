//! A chat of an older version: one JSON document that is written anew each time, and says the same as the lines do.

use serde_json::Value;

use super::trail::Chat;
use crate::agent::lines::Line;
use crate::agent::trail::{Beside, Lasts, Said, Trail};

/// Reads a chat that is one document. Its lines say nothing by themselves: it is given whole, as what is known
/// beside the file.
#[derive(Debug, Clone, Default)]
pub struct Document {
    chat: Chat,
}

impl Document {
    /// Begins a document, of a chat about this folder, where the path tells.
    pub fn new(workspace: Option<&str>) -> Self {
        Self { chat: Chat::new(None, workspace) }
    }
}

impl Document {
    /// Reads the document that is there now.
    fn read(&self, beside: &Beside<'_>, say: &mut Vec<Said>) -> Option<Chat> {
        let bytes = beside.side?;
        let mut chat = self.chat.clone();
        chat.line(&Line { offset: 0, next: bytes.len() as u64, bytes: bytes.into(), cut: 0 }, say);
        Some(chat)
    }
}

impl Trail for Document {
    fn line(&mut self, _line: &Line, _say: &mut Vec<Said>) {}

    fn conclude(&self, beside: &Beside<'_>, say: &mut Vec<Said>) {
        if let Some(chat) = self.read(beside, say) {
            chat.conclude(beside, say);
        }
    }

    fn lasts(&self, beside: &Beside<'_>) -> Lasts {
        self.read(beside, &mut Vec::new()).map_or_else(Lasts::default, |chat| chat.lasts(beside))
    }

    fn state(&self) -> Value {
        self.chat.state()
    }
}
