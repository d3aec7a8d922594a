//! A chat of Gemini CLI: any bytes as its file, or as one document, as older versions write it; and a reader that goes on
//! from the state of another.

use quarterdeck::agent::gemini::{Chat, Conversation, Document};
use quarterdeck::agent::lines::Lines;
use quarterdeck::agent::trail::{Beside, Process, Talk, Trail};
use quarterdeck::model::time::Stamp;

pub fn read(bytes: &[u8]) {
    let (mut reader, mut said, mut log) = (Chat::new(None, None), Vec::new(), Vec::new());
    let mut talk = Conversation::default();
    Lines::default().push(0, bytes, |line| {
        reader.line(&line, &mut said);
        talk.line(&line, &mut log);
    });
    let now = Stamp::from_millis(1_800_000_000_000);
    reader.conclude(&Beside { side: None, process: Process::Unknown, now }, &mut said);
    let _ = Chat::resume(&reader.state());
    Document::new(None).conclude(&Beside { side: Some(bytes), process: Process::Unknown, now }, &mut said);
}
