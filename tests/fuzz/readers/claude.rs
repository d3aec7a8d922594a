//! A transcript of Claude Code: any bytes as its file and as the note beside it, of a session, an agent and a helper; and
//! a reader that goes on from the state of another.

use quarterdeck::agent::claude::{Own, Reader, Speech};
use quarterdeck::agent::lines::Lines;
use quarterdeck::agent::trail::{Beside, Process, Talk, Trail};
use quarterdeck::model::time::Stamp;

pub fn read(bytes: &[u8]) {
    let own = [Own::Session("s".into()), Own::Agent("a".into(), None), Own::Helper("s".into())];
    for own in own {
        let (mut reader, mut said, mut log) = (Reader::new(own.clone(), None), Vec::new(), Vec::new());
        let mut talk = Speech;
        Lines::default().push(0, bytes, |line| {
            reader.line(&line, &mut said);
            talk.line(&line, &mut log);
        });
        reader.stop(&mut said);
        let now = Stamp::from_millis(1_800_000_000_000);
        reader.conclude(&Beside { side: Some(bytes), process: Process::Unknown, now }, &mut said);
        let _ = Reader::new(own, Some(&reader.state()));
    }
}
