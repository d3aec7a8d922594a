//! The log of the session that is looked at: its latest lines, with tool calls and their answers brought
//! together, and text that was streamed in pieces joined.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ratatui::text::Line;

use super::effect::LogEntry;
use crate::agent::log::{Entry, Started};
use crate::model::id::{AgentId, SessionId};
use crate::model::key::NodeKey;
use crate::model::node::{Attempt, Node};
use crate::model::text;
use crate::model::time::Stamp;
use crate::monitor::view::panel::output;
use crate::monitor::view::panel::parts::Look;
use crate::monitor::view::theme::Theme;

/// How many entries are kept: what a person scrolls through; the whole is on disk.
const KEPT: usize = 5_000;
/// A streamed text is joined up to this size, then begins anew: the panel wraps what it shows.
const LONGEST: usize = 32 * 1024;
/// So many wrapped lines are kept at least, where there are as many; twice as many at most, so that the oldest
/// go seldom and what is read does not move.
const WRAPPED: usize = 4_000;

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
    /// The number of the first entry; entries keep their numbers though older ones go.
    first: u64,
    /// Entries that changed since they were wrapped, by number.
    changed: BTreeSet<u64>,
    wrapped: Option<Wrapped>,
    /// Whose agent each sub-agent is: what it answers is shown under that name.
    names: BTreeMap<AgentId, String>,
}

/// The lines of the latest entries, as wide as the panel.
#[derive(Debug)]
struct Wrapped {
    /// The version of the log that it is of.
    version: u64,
    width: usize,
    unfolded: bool,
    ascii: bool,
    theme: Theme,
    /// The number of the first entry that is wrapped.
    first: u64,
    entries: VecDeque<Vec<Line<'static>>>,
    /// How many lines there are.
    total: usize,
}

impl Wrapped {
    fn is_of(&self, look: &Look<'_>, width: usize) -> bool {
        self.width == width
            && self.unfolded == look.unfolded
            && self.ascii == look.ascii
            && self.theme == *look.theme
    }
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
    /// What a sub-agent says, and who that is.
    Answer {
        agent: AgentId,
        by: String,
        text: String,
    },
    Thought(String),
    Tool {
        id: Option<String>,
        name: String,
        input: String,
        answer: Option<(Option<bool>, String)>,
    },
    Question(String),
    Result {
        is_done: bool,
        summary: String,
    },
    Ended {
        word: &'static str,
        error: Option<String>,
    },
}

impl Log {
    /// Begins with another session.
    pub fn follow(&mut self, session: Option<SessionId>, ticket: u64) {
        *self = Self { session, ticket, version: self.version + 1, ..Self::default() };
    }

    /// Returns whether it is that of a session of this node: one of the engine's, or what its agent wrote by itself,
    /// which has the tool, the session and the agent of it in its name.
    pub fn is_of(&self, node: &Node) -> bool {
        let Some(followed) = &self.session else { return false };
        let named = followed.as_str().split_once(':');
        let is_key = |key: &NodeKey| match key {
            NodeKey::Session(own) => own == followed,
            NodeKey::CliSession(tool, id) => named == Some((&**tool, &**id)),
            NodeKey::CliAgent(tool, id) => named.is_some_and(|(by, rest)| {
                by == &**tool && rest.split_once('/').is_some_and(|(_, agent)| agent == &**id)
            }),
            NodeKey::Delegation(_)
            | NodeKey::Subtask(..)
            | NodeKey::Agent(..)
            | NodeKey::ToolUse(_)
            | NodeKey::Process(..)
            | NodeKey::Foreign(..) => false,
        };
        let is_attempt = |attempt: &Attempt| attempt.session_id.as_ref() == Some(followed);
        node.keys.iter().any(is_key) || node.attempts.iter().any(is_attempt)
    }

    /// Takes in more lines.
    pub fn extend(&mut self, lines: Vec<LogEntry>) {
        self.version += 1;
        for line in lines {
            self.push(line);
        }
        while self.entries.len() > KEPT {
            self.entries.pop_front();
            self.first += 1;
            self.is_cut = true;
        }
    }

    /// Wraps what is new, so that a frame only draws. The work is bounded by what came since the last frame
    /// and by how many lines are kept, not by the length of the log.
    pub fn prepare(&mut self, look: &Look<'_>, width: usize) {
        let kept = self.wrapped.take().filter(|wrapped| wrapped.is_of(look, width));
        let mut wrapped = kept.unwrap_or_else(|| Wrapped {
            version: self.version,
            width,
            unfolded: look.unfolded,
            ascii: look.ascii,
            theme: look.theme.clone(),
            first: self.end(),
            entries: VecDeque::new(),
            total: 0,
        });
        for number in std::mem::take(&mut self.changed) {
            let known = number.checked_sub(wrapped.first).and_then(|at| usize::try_from(at).ok());
            if let Some((entry, slot)) =
                self.numbered(number).zip(known.and_then(|at| wrapped.entries.get_mut(at)))
            {
                let lines = output::entry(look, entry, width);
                wrapped.total = wrapped.total + lines.len() - slot.len();
                *slot = lines;
            }
        }
        let wrapped_to = wrapped.first + u64::try_from(wrapped.entries.len()).unwrap_or(0);
        if wrapped.entries.is_empty() {
            self.wrap_backwards(&mut wrapped, look);
        } else {
            for number in wrapped_to..self.end() {
                let lines = self.numbered(number).map(|entry| output::entry(look, entry, width));
                let lines = lines.unwrap_or_default();
                wrapped.total += lines.len();
                wrapped.entries.push_back(lines);
            }
        }
        if wrapped.total > 2 * WRAPPED {
            while wrapped.entries.len() > 1 && wrapped.total > WRAPPED {
                wrapped.total -= wrapped.entries.pop_front().map_or(0, |lines| lines.len());
                wrapped.first += 1;
            }
        }
        wrapped.version = self.version;
        self.wrapped = Some(wrapped);
    }

    /// Wraps from the end, until there are as many lines as are kept.
    fn wrap_backwards(&self, wrapped: &mut Wrapped, look: &Look<'_>) {
        wrapped.first = self.end();
        for entry in self.entries.iter().rev() {
            if wrapped.total >= WRAPPED {
                break;
            }
            let lines = output::entry(look, entry, wrapped.width);
            wrapped.total += lines.len();
            wrapped.entries.push_front(lines);
            wrapped.first -= 1;
        }
    }

    /// Returns how many lines are wrapped for a panel of this width, and whether earlier ones are left out;
    /// `None` where it was not prepared.
    pub fn prepared(&self, look: &Look<'_>, width: usize) -> Option<(usize, bool)> {
        let is_current = |wrapped: &&Wrapped| wrapped.version == self.version && wrapped.is_of(look, width);
        let wrapped = self.wrapped.as_ref().filter(is_current)?;
        Some((wrapped.total, self.is_cut || wrapped.first > self.first))
    }

    /// Returns some of the wrapped lines.
    pub fn window(&self, from: usize, count: usize) -> impl Iterator<Item = &Line<'static>> {
        let entries = self.wrapped.iter().flat_map(|wrapped| &wrapped.entries);
        entries.flatten().skip(from).take(count)
    }

    /// Returns the number that the next entry will have.
    fn end(&self) -> u64 {
        self.first + u64::try_from(self.entries.len()).unwrap_or(0)
    }

    fn numbered(&self, number: u64) -> Option<&Shown> {
        self.entries.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn push(&mut self, line: LogEntry) {
        let what = match line.entry {
            Entry::Output { text, cut } => {
                let more =
                    if cut > 0 { format!("… {cut} bytes more in its output") } else { String::new() };
                let text = format!("{}{more}", text::lines(&text));
                match line.agent {
                    Some(agent) => What::Answer { by: self.name_of(&agent), agent, text },
                    None => What::Output(text),
                }
            }
            Entry::AgentStarted(started) => return self.name(line.agent, started),
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
            Entry::Limited(limited) => {
                What::Output(format!("{}: {}", text::line(&limited.provider), text::lines(&limited.text)))
            }
            // These are in the tree already, or nothing for a person.
            Entry::Progress { .. }
            | Entry::Usage(_)
            | Entry::Withdrawn { .. }
            | Entry::Answered { .. }
            | Entry::Named(_)
            | Entry::AgentEnded { .. }
            | Entry::Unknown { .. } => return,
        };
        if !self.join(&what) {
            self.entries.push_back(Shown { at: line.at, what });
        }
    }

    /// Adds streamed text to the entry before it, if that is of the same kind.
    fn join(&mut self, what: &What) -> bool {
        let number = self.end().saturating_sub(1);
        let Some(last) = self.entries.back_mut() else { return false };
        match (&mut last.what, what) {
            (What::Output(before), What::Output(more)) | (What::Thought(before), What::Thought(more))
                if before.len() + more.len() < LONGEST =>
            {
                before.push('\n');
                before.push_str(more);
                self.changed.insert(number);
                true
            }
            (What::Answer { agent: of, text: before, .. }, What::Answer { agent, text: more, .. })
                if of == agent && before.len() + more.len() < LONGEST =>
            {
                before.push('\n');
                before.push_str(more);
                self.changed.insert(number);
                true
            }
            (_, _) => false,
        }
    }

    /// Remembers who a sub-agent is: its provider or kind, else what it is to do.
    fn name(&mut self, agent: Option<AgentId>, started: Started) {
        if let (Some(agent), Some(name)) = (agent, started.kind.or(started.title)) {
            self.names.insert(agent, text::line(&name).into());
        }
    }

    fn name_of(&self, agent: &AgentId) -> String {
        self.names.get(agent).cloned().unwrap_or_else(|| "agent".to_owned())
    }

    /// Puts a tool's answer beside its call.
    fn answer(&mut self, call: Option<&str>, ok: Option<bool>, said: &str) {
        let said: String = text::lines(said).into();
        let is_open = |entry: &Shown| match &entry.what {
            What::Tool { id, answer, .. } => answer.is_none() && (call.is_none() || id.as_deref() == call),
            What::Output(_)
            | What::Answer { .. }
            | What::Thought(_)
            | What::Question(_)
            | What::Result { .. }
            | What::Ended { .. } => false,
        };
        let Some(at) = self.entries.iter().rposition(is_open) else { return };
        if let Some(Shown { what: What::Tool { answer, .. }, .. }) = self.entries.get_mut(at) {
            *answer = Some((ok, said));
            self.changed.insert(self.first + u64::try_from(at).unwrap_or(0));
        }
    }
}

fn word(status: crate::agent::log::Status) -> &'static str {
    match status {
        crate::agent::log::Status::Done => "done",
        crate::agent::log::Status::Failed | crate::agent::log::Status::FailedForGood => "failed",
        crate::agent::log::Status::Limited => "limited",
        crate::agent::log::Status::Cancelled => "cancelled",
        crate::agent::log::Status::TimedOut => "timed-out",
    }
}
