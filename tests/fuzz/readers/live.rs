//! What a running agent prints: any bytes as the stream of each adapter; the first byte chooses which. However the
//! stream is cut, its log is the same, it can be taken up from its log, and it ends with a verdict.

use quarterdeck::agent::brief::Brief;
use quarterdeck::agent::kind::Kind;
use quarterdeck::agent::log::{Entry, LogLine, Origin};
use quarterdeck::agent::{Adapter, Cause, Command, End, Input};

const KINDS: [Kind; 6] = [Kind::Claude, Kind::Codex, Kind::OpenCode, Kind::Gemini, Kind::Acp, Kind::Command];

fn adapter(kind: Kind) -> Box<dyn Adapter> {
    let session = Some("00000000-0000-4000-8000-000000000001".to_owned());
    Brief { prompt: "Do it.".into(), session, home: Some("/home/x".into()), ..Brief::of(kind) }.adapter()
}

/// Returns the log of a stream that comes in two pieces.
fn log(kind: Kind, bytes: &[u8], cut: usize) -> Vec<LogLine> {
    let mut adapter = adapter(kind);
    let (one, other) = bytes.split_at(cut);
    let mut log = adapter.step(Input::Bytes { origin: Origin::Out, offset: 0, bytes: one }).log;
    let rest = Input::Bytes { origin: Origin::Out, offset: cut as u64, bytes: other };
    log.extend(adapter.step(rest).log);
    let _ = (adapter.beside(), adapter.wanted());
    for command in [Command::Tell("x".into()), Command::Interrupt, Command::SetModel("m".into())] {
        let _ = adapter.step(Input::Command { id: "cmd-1", command: &command });
    }
    let end = End { cause: Cause::Itself, code: Some(0), signal: None, error: None };
    log.extend(adapter.step(Input::End(&end)).log);
    log
}

pub fn read(bytes: &[u8]) {
    let [choice, bytes @ ..] = bytes else { return };
    let kind = KINDS[usize::from(*choice) % KINDS.len()];
    let cut = bytes.len() * usize::from(*choice) / 256;
    let (whole, pieces) = (log(kind, bytes, 0), log(kind, bytes, cut));
    assert_eq!(whole, pieces, "{kind:?}");
    assert!(matches!(whole.last().map(|line| &line.entry), Some(Entry::Ended { .. })), "{kind:?}: {whole:?}");
    let mut later = adapter(kind);
    for line in &whole {
        later.recall(line);
    }
}
