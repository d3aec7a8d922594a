//! A rollout of Codex: any bytes as its file, and a reader that goes on from the state of another.

use quarterdeck::agent::codex::{Conversation, Rollout};
use quarterdeck::agent::lines::Lines;
use quarterdeck::agent::trail::{Beside, Process, Talk, Trail};
use quarterdeck::model::time::Stamp;

pub fn read(bytes: &[u8]) {
    let (mut reader, mut said, mut log) = (Rollout::default(), Vec::new(), Vec::new());
    let mut talk = Conversation::default();
    Lines::default().push(0, bytes, |line| {
        reader.line(&line, &mut said);
        talk.line(&line, &mut log);
    });
    let now = Stamp::from_millis(1_800_000_000_000);
    reader.conclude(&Beside { side: None, process: Process::Unknown, now }, &mut said);
    let _ = Rollout::resume(&reader.state());
}
