//! Rows of OpenCode: any text as the JSON of a session, a message and a part.

use quarterdeck::agent::opencode::{MessageRow, PartRow, SessionRow, entries, message, part, session};

pub fn read(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let text = text.to_owned();
    let mut said = Vec::new();
    if let Some(row) = SessionRow::of_file(&text) {
        session(&row, &mut said);
    }
    let _ = MessageRow::of_file(text.clone());
    let row = MessageRow { id: "m".into(), session: "s".into(), data: text.clone() };
    let _ = message(&row, None, &mut said);
    let row = PartRow { session: "s".into(), updated: None, data: text };
    part(&row, &mut said);
    let _ = entries(&row);
}
