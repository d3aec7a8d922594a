//! Any program as an agent: plain lines are output, lines of our small protocol say more.
//!
//! `docs/agent-protocol.md` describes the protocol. A line that is none of it, or none that can be read, is
//! output: nothing that an agent prints is an error.

mod judge;
mod protocol;

use super::lines::{Line, Lines};
use super::log::{Entry, LogLine, Origin, Place};
use super::{Adapter, ForStdin, Input, Step};
use judge::Judge;

/// How much of a line of output goes into the log; all of it is in the session's own file.
const LONGEST_OUTPUT: usize = 16 * 1024;

/// The adapter of `kind = "command"`, and of the simulated agent.
#[derive(Debug, Default)]
pub struct CommandAdapter {
    out: Lines,
    err: Lines,
    judge: Judge,
}

impl Adapter for CommandAdapter {
    fn step(&mut self, input: Input<'_>) -> Step {
        let mut step = Step::default();
        match input {
            Input::Bytes { origin: Origin::Out, offset, bytes } => {
                let judge = &mut self.judge;
                self.out.push(offset, bytes, |line| step.log.push(said(judge, Origin::Out, &line)));
            }
            Input::Bytes { origin: Origin::Err, offset, bytes } => {
                let judge = &mut self.judge;
                self.err.push(offset, bytes, |line| step.log.push(said(judge, Origin::Err, &line)));
            }
            // What it was fed and what the host says is in their own files already.
            Input::Bytes { .. } | Input::Notice { .. } => {}
            Input::Command { id, command } => match protocol::write(command) {
                Some(line) => step.stdin.push(ForStdin { id: id.into(), line }),
                None => step.refused = Some("This agent has no channel for that.".into()),
            },
            Input::End(end) => {
                for (origin, lines) in [(Origin::Out, &mut self.out), (Origin::Err, &mut self.err)] {
                    step.log.extend(lines.finish().map(|line| said(&mut self.judge, origin, &line)));
                }
                let from = Place { origin: Origin::Exit, offset: 0, next: 1, part: 0 };
                step.log.push(LogLine::new(from, self.judge.verdict(end)));
            }
        }
        step
    }

    fn recall(&mut self, line: &LogLine) {
        self.judge.note(line);
    }
}

/// Makes a log line of a line that the agent printed.
fn said(judge: &mut Judge, origin: Origin, line: &Line) -> LogLine {
    let spoken = if origin == Origin::Out && line.cut == 0 { protocol::read(&line.bytes) } else { None };
    let from = Place { origin, offset: line.offset, next: line.next, part: 0 };
    let line = LogLine::new(from, spoken.unwrap_or_else(|| output(line)));
    judge.note(&line);
    line
}

fn output(line: &Line) -> Entry {
    let bytes = line.bytes.strip_suffix(b"\r").unwrap_or(&line.bytes);
    let kept = bytes.get(..LONGEST_OUTPUT).unwrap_or(bytes);
    let cut = line.cut + (bytes.len() - kept.len()) as u64;
    let text = String::from_utf8_lossy(kept);
    let text = if cut > 0 { format!("{text} … ({cut} more bytes)") } else { text.into_owned() };
    Entry::Output { text, cut }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
