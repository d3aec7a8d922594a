//! Rows of OpenCode: any text as the JSON of a session, a message and a part.

#![no_main]

use libfuzzer_sys::fuzz_target;
use quarterdeck::agent::opencode::{MessageRow, PartRow, SessionRow, entries, message, part, session};

fuzz_target!(|text: String| {
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
});
