//! The log of the session that is looked at: its latest lines, with tool calls and their answers brought
//! together, and text that was streamed in pieces joined.

use std::collections::VecDeque;

use super::effect::LogEntry;
use crate::agent::log::Entry;
use crate::model::id::SessionId;
use crate::model::text;
use crate::model::time::Stamp;

/// How many entries are kept: what a person scrolls through; the whole is on disk.
const KEPT: usize = 5_000;
/// A streamed text is joined up to this size, then begins anew: the panel wraps what it shows.
const LONGEST: usize = 32 * 1024;

/// What is shown of one session.
#[derive(Debug, Default)]
pub struct Log {
    pub session: Option<SessionId>,
    /// The number of the question whose answers belong here.
    pub ticket: u64,
    pub entries: VecDeque<Shown>,
    /// Whether earlier lines were left out.
    pub is_cut: bool,
    /// Grows with every change, so that what is wrapped for the screen can be kept.
    pub version: u64,
}

/// One entry as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    pub at: Option<Stamp>,
    pub what: What,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    Output(String),
    Thought(String),
    Tool { id: Option<String>, name: String, input: String, answer: Option<(Option<bool>, String)> },
    Question(String),
    Result { is_done: bool, summary: String },
    Ended { word: &'static str, error: Option<String> },
}

impl Log {
    /// Begins with another session.
    pub fn follow(&mut self, session: Option<SessionId>, ticket: u64) {
        *self = Self { session, ticket, version: self.version + 1, ..Self::default() };
    }

    /// Takes in more lines.
    pub fn extend(&mut self, lines: Vec<LogEntry>) {
        self.version += 1;
        for line in lines {
            self.push(line);
        }
        while self.entries.len() > KEPT {
            self.entries.pop_front();
            self.is_cut = true;
        }
    }

    fn push(&mut self, line: LogEntry) {
        let what = match line.entry {
            Entry::Output { text, cut } => {
                let more =
                    if cut > 0 { format!("… {cut} bytes more in its output") } else { String::new() };
                What::Output(format!("{}{more}", text::lines(&text)))
            }
            Entry::Thought { text } => What::Thought(text::lines(&text).into()),
            Entry::Tool { id, name, input } => {
                let (name, input) = (text::line(&name).into(), text::line(&input).into());
                What::Tool { id, name, input, answer: None }
            }
            Entry::ToolResult { id, ok, text } => return self.answer(id.as_deref(), ok, &text),
            Entry::Question { text, .. } => What::Question(text::lines(&text).into()),
            Entry::Result { status, summary } => What::Result {
                is_done: status == crate::agent::log::Status::Done,
                summary: text::lines(&summary).into(),
            },
            Entry::Ended { status, error } => {
                let error = error.map(|error| text::lines(&error).into());
                What::Ended { word: word(status), error }
            }
            // These are in the tree already.
            Entry::Progress { .. } | Entry::Usage(_) => return,
        };
        if !self.join(&what) {
            self.entries.push_back(Shown { at: line.at, what });
        }
    }

    /// Adds streamed text to the entry before it, if that is of the same kind.
    fn join(&mut self, what: &What) -> bool {
        let Some(last) = self.entries.back_mut() else { return false };
        match (&mut last.what, what) {
            (What::Output(before), What::Output(more)) | (What::Thought(before), What::Thought(more))
                if before.len() + more.len() < LONGEST =>
            {
                before.push('\n');
                before.push_str(more);
                true
            }
            (_, _) => false,
        }
    }

    /// Puts a tool's answer beside its call.
    fn answer(&mut self, call: Option<&str>, ok: Option<bool>, said: &str) {
        let said: String = text::lines(said).into();
        let open = self.entries.iter_mut().rev().find_map(|entry| match &mut entry.what {
            What::Tool { id, answer, .. }
                if answer.is_none() && (call.is_none() || id.as_deref() == call) =>
            {
                Some(answer)
            }
            _ => None,
        });
        if let Some(answer) = open {
            *answer = Some((ok, said));
        }
    }
}

fn word(status: crate::agent::log::Status) -> &'static str {
    match status {
        crate::agent::log::Status::Done => "done",
        crate::agent::log::Status::Failed => "failed",
        crate::agent::log::Status::Cancelled => "cancelled",
        crate::agent::log::Status::TimedOut => "timed-out",
    }
}
