//! Feeds the agent's stdin: the lines of `in`, in order, each whole and once.

use std::collections::{HashSet, VecDeque};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ChildStdin;

use super::voice::Voice;
use crate::session::files::{Feed, Said};
use crate::session::folder::Folder;
use crate::session::tail::Tail;

/// The agent's stdin, and what is still to be written to it.
pub(super) struct Feeder {
    pipe: Option<ChildStdin>,
    tail: Tail,
    queue: VecDeque<(String, Vec<u8>)>,
    /// How much of the first line in the queue the agent has already.
    written: usize,
    known: HashSet<String>,
    closing: bool,
}

impl Feeder {
    pub(super) fn new(folder: &Folder, pipe: Option<ChildStdin>) -> Self {
        if let Some(pipe) = &pipe {
            // If it is refused, a write may wait for an agent that does not read; nothing else is lost.
            let _ = rustix::io::ioctl_fionbio(pipe, true);
        }
        let tail = Tail::new(folder.input());
        Self { pipe, tail, queue: VecDeque::new(), written: 0, known: HashSet::new(), closing: false }
    }

    /// Takes up what was appended to `in`.
    pub(super) fn read(&mut self, voice: &mut Voice) {
        // A file that cannot be read now is looked at again within a second.
        for line in self.tail.lines().unwrap_or_default() {
            let Ok(Feed { id, line: text }) = serde_json::from_slice(&line.bytes) else {
                voice.say(Said::Unreadable { file: "in".into(), offset: line.offset });
                continue;
            };
            if !self.known.insert(id.clone()) {
                continue;
            }
            if self.pipe.is_none() || self.closing {
                voice.say(Said::NotFed { id, why: "the agent's stdin is closed".into() });
                continue;
            }
            let mut bytes = text.into_bytes();
            bytes.push(b'\n');
            self.queue.push_back((id, bytes));
        }
    }

    /// Writes what the agent takes; never waits for it.
    pub(super) fn write(&mut self, voice: &mut Voice) {
        while let (Some(pipe), Some((id, bytes))) = (&mut self.pipe, self.queue.front()) {
            match pipe.write(bytes.get(self.written..).unwrap_or_default()) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return self.give_up(&error.to_string(), voice),
            }
            if self.written >= bytes.len() {
                voice.say(Said::Fed { id: id.clone() });
                self.written = 0;
                self.queue.pop_front();
            }
        }
        if self.closing && self.queue.is_empty() {
            self.pipe = None;
        }
    }

    /// Closes stdin once everything that was given before this order is written.
    pub(super) fn close(&mut self, voice: &mut Voice) {
        // What was appended before the order is visible now, though it may not have been a moment ago.
        self.read(voice);
        self.closing = true;
        self.write(voice);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.pipe.is_none()
    }

    fn give_up(&mut self, why: &str, voice: &mut Voice) {
        self.pipe = None;
        for (id, _) in self.queue.drain(..) {
            voice.say(Said::NotFed { id, why: format!("the agent does not read its stdin: {why}") });
        }
    }

    /// Returns the pipe if something waits to be written to it.
    pub(super) fn waits_for(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().filter(|_| !self.queue.is_empty()).map(AsFd::as_fd)
    }
}
