//! A transcript of Claude Code: any bytes as its file, and a reader that goes on from the state of another.

#![no_main]

use libfuzzer_sys::fuzz_target;
use quarterdeck::agent::claude::{Own, Reader, Speech};
use quarterdeck::agent::lines::Lines;
use quarterdeck::agent::trail::{Beside, Process, Talk, Trail};
use quarterdeck::model::time::Stamp;

fuzz_target!(|bytes: &[u8]| {
    let (mut reader, mut said, mut log) = (Reader::new(Own::Session("s".into()), None), Vec::new(), Vec::new());
    let mut talk = Speech;
    Lines::default().push(0, bytes, |line| {
        reader.line(&line, &mut said);
        talk.line(&line, &mut log);
    });
    let now = Stamp::from_millis(1_800_000_000_000);
    reader.conclude(&Beside { side: None, process: Process::Unknown, now }, &mut said);
    let _ = Reader::new(Own::Session("s".into()), Some(&reader.state()));
});
