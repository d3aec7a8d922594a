//! `--plain`: what changes, one line each, for screen readers and pipes. It draws nothing and takes no keys.

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::cli::{Outcome, now};
use crate::model::Model;
use crate::monitor::app::effect::News;
use crate::monitor::plain::Announcer;
use crate::report::cells::in_plain;

/// Deadlines and silence are looked at this often.
const LOOK: Duration = Duration::from_secs(1);

/// Tells what changes, until nobody reads any more.
pub(super) fn run(news: &Receiver<News>, mut unread: usize, is_ascii: bool) -> Outcome {
    let (mut model, mut announcer) = (Model::default(), Announcer::default());
    let mut has_begun = false;
    loop {
        let facts = match news.recv_timeout(LOOK) {
            Ok(News::Facts(batch)) => {
                unread -= usize::from(!batch.more && unread > 0);
                batch.facts
            }
            Ok(_) => continue,
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Err(RecvTimeoutError::Disconnected) => return Ok(ExitCode::SUCCESS),
        };
        let mut lines = announcer.hear(&mut model, facts, now());
        // What is there at first is summed up, not told line by line.
        if unread > 0 {
            continue;
        }
        if !std::mem::replace(&mut has_begun, true) {
            lines = announcer.begin(&model, now());
        }
        for line in lines {
            let line = if is_ascii { in_plain(&line) } else { line };
            if !told(&line)? {
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
}

/// Prints a line; returns whether somebody still reads.
fn told(line: &str) -> std::io::Result<bool> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error),
    }
}
