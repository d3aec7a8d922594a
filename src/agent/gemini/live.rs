//! Gemini CLI at work: JSON lines on stdout, and its chat files beside.
//!
//! The stream tells what the session's own agent says and does, at once. Its thoughts, what each message used, and all
//! of its sub-agents are only in chat files: a sub-agent's is found in a folder named after its session, and which call
//! began it shows in the task that it was given. Nothing can be said to it: its stdin is the prompt, and ends.

mod chat;
mod hear;
mod judge;
mod run;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub use run::run;

use super::super::brief::Brief;
use super::super::lines::{Line, Lines};
use super::super::log::{Entry, LogLine, Made, Origin, Status, placed};
use super::super::{Adapter, Beside, End, Input, Step};
use super::trail::{COMPLETE, INVOKE};
use crate::model::id::{AgentId, file_name};
use crate::model::time::Stamp;
use crate::model::usage::Tokens;
use hear::Words;
use judge::Judge;

/// Reads what Gemini CLI prints and writes.
pub struct GeminiAdapter {
    brief: Brief,
    out: Lines,
    err: Lines,
    /// The chat files that were found, by their number.
    files: BTreeMap<u32, File>,
    agents: BTreeMap<AgentId, Agent>,
    /// The calls that began sub-agents, by their id.
    calls: BTreeMap<String, Call>,
    /// What is being said, and not told yet.
    words: Option<Words>,
    /// What was said since the last tool: the answer, if nothing follows.
    answer: String,
    /// When this run began: what the files tell of earlier is of earlier runs.
    began: Option<Stamp>,
    /// The messages and calls of the chats that are in the log, and those of the line that is being put there.
    told: BTreeSet<String>,
    telling: Vec<String>,
    /// What each message used, as it was told last.
    spent: BTreeMap<String, Tokens>,
    judge: Judge,
}

/// A chat file.
#[derive(Debug)]
struct File {
    path: PathBuf,
    lines: Lines,
    /// Whose it is, where it is not the session's own.
    agent: Option<AgentId>,
    /// It is of another session, or of an earlier run.
    is_foreign: bool,
}

/// A sub-agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Agent {
    has_ended: bool,
}

/// A call that began a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Call {
    kind: String,
    /// How its task begins.
    title: String,
    is_answered: bool,
}

impl GeminiAdapter {
    /// Makes the adapter of a session.
    pub fn new(brief: Brief) -> Self {
        Self {
            brief,
            out: Lines::default(),
            err: Lines::default(),
            files: BTreeMap::new(),
            agents: BTreeMap::new(),
            calls: BTreeMap::new(),
            words: None,
            answer: String::new(),
            began: None,
            told: BTreeSet::new(),
            telling: Vec::new(),
            spent: BTreeMap::new(),
            judge: Judge::default(),
        }
    }

    fn line(&mut self, origin: Origin, line: &Line, step: &mut Step) {
        let mut made = Vec::new();
        match origin {
            Origin::Out => {
                if self.goes_on(line, step) {
                    return;
                }
                self.hear(line, &mut made);
            }
            Origin::Err => made.push((None, hear::printed(line))),
            Origin::Beside(nth) => self.read(nth, line, &mut made),
            Origin::In | Origin::Host | Origin::Exit | Origin::Command => {}
        }
        self.place(origin, (line.offset, line.next), made, step);
    }

    /// Puts what was made of one place into the log.
    fn place(&mut self, origin: Origin, reach: (u64, u64), made: Made, step: &mut Step) {
        for line in placed(origin, reach, made) {
            self.note(&line);
            step.log.push(line);
        }
    }

    /// Remembers what matters of a line of the log, be it made now or by an earlier adapter.
    fn note(&mut self, line: &LogLine) {
        self.judge.note(line);
        let is_of_stream = line.from.origin == Origin::Out;
        match (&line.entry, &line.agent) {
            (Entry::AgentStarted(started), Some(id)) => {
                self.agents.insert(id.clone(), Agent::default());
                if let Some(call) = started.call.as_ref().and_then(|call| self.calls.get_mut(call)) {
                    call.is_answered = true;
                }
            }
            (Entry::AgentEnded { .. }, Some(id)) => {
                if let Some(agent) = self.agents.get_mut(id) {
                    agent.has_ended = true;
                }
            }
            // An earlier engine heard when it began; what is read from now on came later.
            (Entry::Named(_), _) => self.began = self.began.or(Some(Stamp::from_millis(i64::MIN))),
            (Entry::Output { text, .. }, None) if is_of_stream => self.answer.push_str(text),
            (Entry::Tool { id, name, input }, None) if is_of_stream => {
                self.answer.clear();
                if let (INVOKE, Some(id)) = (name.as_str(), id) {
                    self.calls.entry(id.clone()).or_insert_with(|| Call::of(input));
                }
            }
            (Entry::Tool { id: Some(id), .. }, _) => self.telling.push(id.clone()),
            (Entry::Usage(usage), _) => {
                if let Some(id) = &usage.message_id {
                    self.spent.insert(id.clone(), usage.tokens);
                    self.telling.push(id.clone());
                }
            }
            _ => {}
        }
        if line.from.next != line.from.offset {
            self.told.extend(self.telling.drain(..));
        }
    }

    fn lines(&mut self, origin: Origin) -> Option<&mut Lines> {
        match origin {
            Origin::Out => Some(&mut self.out),
            Origin::Err => Some(&mut self.err),
            Origin::Beside(nth) => self.files.get_mut(&nth).map(|file| &mut file.lines),
            Origin::In | Origin::Host | Origin::Exit | Origin::Command => None,
        }
    }

    fn finish(&mut self, end: &End, step: &mut Step) {
        let files = self.files.keys().copied().map(Origin::Beside);
        let origins: Vec<Origin> = [Origin::Out, Origin::Err].into_iter().chain(files).collect();
        for origin in origins {
            if let Some(line) = self.lines(origin).and_then(Lines::finish) {
                self.line(origin, &line, step);
            }
        }
        self.flush(step);
        let is_cut_off = |agent: &&AgentId| self.agents.get(*agent).is_some_and(|agent| !agent.has_ended);
        let left: Vec<AgentId> = self.agents.keys().filter(is_cut_off).cloned().collect();
        let text = "it ended with its session";
        let cut_off = |id| (Some(id), Entry::AgentEnded { status: Status::Cancelled, text: text.to_owned() });
        let verdict = self.judge.verdict(end);
        let made = left.into_iter().map(cut_off).chain([(None, verdict)]).collect();
        self.place(Origin::Exit, (0, 1), made, step);
    }
}

impl Call {
    /// Makes it of what the log says of it.
    fn of(input: &str) -> Self {
        let (kind, title) = input.split_once(": ").unwrap_or((input, ""));
        Self { kind: kind.to_owned(), title: title.trim_end_matches('…').to_owned(), is_answered: false }
    }
}

impl Adapter for GeminiAdapter {
    fn step(&mut self, input: Input<'_>) -> Step {
        let mut step = Step::default();
        match input {
            Input::Bytes { origin, offset, bytes } => {
                let mut found = Vec::new();
                if let Some(lines) = self.lines(origin) {
                    lines.push(offset, bytes, |line| found.push(line));
                }
                for line in found {
                    self.line(origin, &line, &mut step);
                }
            }
            Input::Notice { .. } => {}
            Input::Command { .. } => {
                let why = "Gemini CLI takes nothing but its prompt: it cannot be spoken to while it works.";
                step.refused = Some(why.to_owned());
            }
            Input::End(end) => self.finish(end, &mut step),
        }
        step
    }

    fn recall(&mut self, line: &LogLine) {
        self.note(line);
    }

    fn beside(&self) -> Vec<Beside> {
        // Which sub-agents are of this run can be told only when it is known when it began.
        let due = self.files.iter().filter(|(_, file)| file.agent.is_none() || self.began.is_some());
        due.map(|(nth, file)| Beside { nth: *nth, pattern: file.path.clone() }).collect()
    }

    fn wanted(&self) -> Vec<PathBuf> {
        let (Some(home), Some(session)) = (&self.brief.home, &self.brief.session) else { return Vec::new() };
        // An id from outside is no path.
        let Some(short) = session.get(..8).filter(|_| file_name(session).is_ok()) else { return Vec::new() };
        // Where the first of its files is, the others are too.
        let own = self.files.values().find(|file| file.agent.is_none()).and_then(|file| file.path.parent());
        let chats = own.map_or_else(|| home.join("tmp/*/chats"), Path::to_owned);
        let agents = self.agents.keys().map(AgentId::as_str).filter(|id| file_name(id).is_ok());
        let of_agents = [session.as_str()].into_iter().chain(agents).map(|id| chats.join(id).join("*.jsonl"));
        [chats.join(format!("session-*-{short}.jsonl"))].into_iter().chain(of_agents).collect()
    }

    fn found(&mut self, path: &Path) {
        let (Some(name), Some(stem)) = (path.file_name(), path.file_stem().and_then(|stem| stem.to_str()))
        else {
            return;
        };
        let is_own = stem.starts_with("session-");
        let agent = (!is_own).then(|| AgentId::from(stem));
        let file = File { path: path.to_owned(), lines: Lines::default(), agent, is_foreign: false };
        self.files.entry(number(name.as_encoded_bytes())).or_insert(file);
    }
}

/// Returns the number of a file: the same in every engine, in whatever order files are found.
fn number(name: &[u8]) -> u32 {
    name.iter().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Returns who invoked the agent of a file: the session whose name its folder has.
fn parent(path: &Path) -> Option<&str> {
    path.parent()?.file_name()?.to_str()
}
