//! The log of a session that no engine runs: what its agent wrote down itself, made readable by its tool's reader.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;

use serde_json::Value;

use super::super::natives::{self, Transcript};
use super::super::session::Known;
use super::super::{CliError, Outcome, shown};
use super::{LOOK, readable};
use crate::agent::lines::Line;
use crate::agent::log::Entry;
use crate::control;
use crate::model::time::Stamp;
use crate::model::{NodeIx, secrets, text};
use crate::session::tail::Tail;

/// What was said, and when.
type Said = (Option<Stamp>, Entry);

/// Whose log is meant.
pub(super) enum Whose {
    /// An engine's after all: this is its step.
    Engine(control::Target),
    Native(Box<Log>),
}

/// The log of a session, and how far it was read.
pub(super) struct Log {
    transcript: Transcript,
    tail: Option<Tail>,
    /// Whether nothing more will come.
    is_over: bool,
}

/// Returns whose log a node has that a person named so; or why there is none.
pub(super) fn find(known: &Known, ix: NodeIx, on: &str) -> Result<Whose, Box<dyn std::error::Error>> {
    let why = |why: String| CliError::Unreadable(text::lines(&why).into());
    let node = known.model.get(ix).ok_or_else(|| why(format!("{on} is no longer there.")))?;
    if let Ok(target) = control::target(&known.model, node) {
        return Ok(Whose::Engine(target));
    }
    let name = known.model.log_name(ix).ok_or_else(|| {
        why(format!("{on} is run by no engine, and which session it works on is not known: it has no log."))
    })?;
    let transcript = natives::transcript(&name).ok_or_else(|| {
        why(format!("{on} is run by no engine, and the files of its own tool that would tell are not there."))
    })?;
    let tail = if let Transcript::File(path, _) = &transcript { Some(Tail::new(path.clone())) } else { None };
    Ok(Whose::Native(Box::new(Log { transcript, tail, is_over: node.status.is_ended() })))
}

impl Log {
    /// Shows it; where it is followed and not over, what comes too, until the reader has seen enough.
    pub fn run(mut self, follow: bool, json: bool) -> Outcome {
        while self.show(json)?.is_continue() && follow && !self.is_over {
            std::thread::sleep(LOOK);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn show(&mut self, json: bool) -> io::Result<ControlFlow<()>> {
        let mut new = String::new();
        for (at, entry) in self.next()? {
            let line = if json { Some(as_json(at, &entry)) } else { readable(&entry) };
            new.extend(line.map(|line| line + "\n"));
        }
        let mut out = io::stdout().lock();
        match out.write_all(new.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(ControlFlow::Continue(())),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
            Err(error) => Err(error),
        }
    }

    /// Returns what was said since the last look.
    fn next(&mut self) -> io::Result<Vec<Said>> {
        let mut said = Vec::new();
        match (&mut self.transcript, &mut self.tail) {
            (Transcript::File(path, talk), Some(tail)) => {
                let lines =
                    tail.lines().map_err(|error| io::Error::other(format!("{}: {error}", shown(path))))?;
                for line in lines {
                    let next = line.offset + line.bytes.len() as u64 + 1;
                    talk.line(
                        &Line { offset: line.offset, next, bytes: line.bytes.into(), cut: 0 },
                        &mut said,
                    );
                }
            }
            (Transcript::Rows(rows), _) => said = rows.poll(),
            (Transcript::File(..), None) => {}
        }
        Ok(said)
    }
}

fn as_json(at: Option<Stamp>, entry: &Entry) -> String {
    let mut line = serde_json::to_value(entry).unwrap_or_default();
    if let (Some(at), Value::Object(line)) = (at, &mut line) {
        line.insert("at".into(), at.to_string().into());
    }
    secrets::without(&line.to_string()).into()
}
