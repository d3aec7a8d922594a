//! Codex at work: `codex app-server`, JSON-RPC lines both ways, and its rollouts beside.
//!
//! One process has the session's thread and a thread for each sub-agent; what it prints says of every one what happens,
//! at once. The rollouts say what each response was charged, by the provider's own id, so that it counts once though
//! others read the same files. The server waits for ever: it is told that there is nothing more by the end of its
//! stdin, when the session's own turn is over and no sub-agent works.

mod ask;
mod below;
mod hear;
mod item;
mod judge;
mod run;
mod say;
mod spent;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use run::run;

use super::super::brief::Brief;
use super::super::lines::{Line, Lines};
use super::super::log::{Entry, LogLine, Made, Origin, Started, Status, placed};
use super::super::{Adapter, Beside, End, ForStdin, Input, Notice, Step};
use crate::model::id::{AgentId, QuestionId, file_name};
use crate::model::time::Stamp;
use ask::Question;
use judge::Judge;
use spent::Spent;

/// Reads what Codex prints and writes, and says to it what people say.
pub struct CodexAdapter {
    brief: Brief,
    out: Lines,
    err: Lines,
    /// The rollouts, by their number.
    files: BTreeMap<u32, (Lines, Spent)>,
    /// The session's own thread, when it is known.
    thread: Option<String>,
    turn: Turn,
    agents: BTreeMap<AgentId, Agent>,
    questions: BTreeMap<QuestionId, Question>,
    /// The last change of files that was begun, and which files: it may be asked for.
    changing: Option<(String, String)>,
    /// Until when the limits last that were told of as reached.
    limits: Option<Stamp>,
    judge: Judge,
}

/// A turn of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Turn {
    id: Option<String>,
    is_over: bool,
}

/// A sub-agent: a thread below the session's own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Agent {
    /// The number of its rollout.
    file: u32,
    started: Started,
    turn: Turn,
}

impl CodexAdapter {
    /// Makes the adapter of a session.
    pub fn new(brief: Brief) -> Self {
        Self {
            thread: brief.session.clone(),
            brief,
            out: Lines::default(),
            err: Lines::default(),
            files: BTreeMap::new(),
            turn: Turn::default(),
            agents: BTreeMap::new(),
            questions: BTreeMap::new(),
            changing: None,
            limits: None,
            judge: Judge::default(),
        }
    }

    /// Takes a line of one of the streams.
    fn line(&mut self, origin: Origin, line: &Line, step: &mut Step) {
        let mut made = Vec::new();
        match origin {
            Origin::Out => self.hear(line, &mut made, step),
            Origin::Err => made.push((None, hear::printed(line))),
            Origin::Beside(file) => {
                let agent =
                    self.agents.iter().find(|(_, agent)| agent.file == file).map(|(id, _)| id.clone());
                if let Some((_, spent)) = self.files.get_mut(&file) {
                    made.extend(spent.read(line).into_iter().map(|used| (agent.clone(), Entry::Usage(used))));
                }
            }
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
        match (&line.entry, &line.agent) {
            (Entry::AgentStarted(started), Some(id)) => {
                let file = started.file.unwrap_or_else(|| self.next_file());
                let agent = self.agents.entry(id.clone()).or_default();
                agent.file = file;
                agent.turn.is_over = false;
                agent.started = started.clone();
            }
            (Entry::AgentEnded { .. }, Some(id)) => {
                if let Some(agent) = self.agents.get_mut(id) {
                    agent.turn.is_over = true;
                }
            }
            (Entry::Named(named), Some(id)) => {
                if let (Some(agent), Some(turn)) = (self.agents.get_mut(id), &named.turn) {
                    agent.turn.id = Some(turn.clone());
                }
            }
            (Entry::Named(named), None) => {
                self.thread = named.session.clone().or(self.thread.take());
                if named.turn.is_some() {
                    self.turn = Turn { id: named.turn.clone(), is_over: false };
                }
            }
            (Entry::Question { id, kept, .. }, _) => {
                if let Some(question) = kept.as_ref().and_then(Question::read) {
                    self.questions.insert(id.clone(), question);
                }
            }
            (Entry::Withdrawn { id, .. }, _) => drop(self.questions.remove(id)),
            (Entry::Result { .. }, None) => self.turn.is_over = true,
            (Entry::Usage(used), agent) => {
                if let Origin::Beside(file) = line.from.origin {
                    let thread = agent.as_ref().map(AgentId::as_str).or(self.thread.as_deref());
                    let thread = thread.unwrap_or_default().to_owned();
                    let (_, spent) = self.files.entry(file).or_default();
                    spent.recall(&thread, used);
                }
            }
            _ => {}
        }
    }

    fn next_file(&self) -> u32 {
        // The session's own rollout is the first.
        self.agents.values().map(|agent| agent.file).max().unwrap_or(0) + 1
    }

    /// Its work is over, and nobody below it works.
    fn is_idle(&self) -> bool {
        self.turn.is_over && self.agents.values().all(|agent| agent.turn.is_over)
    }

    /// Takes what the host said.
    fn notice(&mut self, notice: &Notice, step: &mut Step) {
        if *notice == Notice::Started {
            step.stdin.extend(self.first_lines());
            // An earlier engine may have died after it heard of its thread, or of the end of the work.
            if self.judge.has_begun() {
                step.stdin.extend(self.prompt());
            }
            step.close_stdin = self.is_idle();
        }
    }

    fn finish(&mut self, end: &End, step: &mut Step) {
        let besides = self.files.keys().copied().map(Origin::Beside);
        let origins: Vec<Origin> = [Origin::Out, Origin::Err].into_iter().chain(besides).collect();
        for origin in origins {
            if let Some(line) = self.lines(origin).and_then(Lines::finish) {
                self.line(origin, &line, step);
            }
        }
        let left = self.agents.iter().filter(|(_, agent)| !agent.turn.is_over).map(|(id, _)| id.clone());
        let left: Vec<AgentId> = left.collect();
        let verdict = self.judge.verdict(end, !left.is_empty());
        let cut_off = |id| {
            let text = "it ended with its session".to_owned();
            (Some(id), Entry::AgentEnded { status: Status::Cancelled, text })
        };
        let made = left.into_iter().map(cut_off).chain([(None, verdict)]).collect();
        self.place(Origin::Exit, (0, 1), made, step);
    }

    fn lines(&mut self, origin: Origin) -> Option<&mut Lines> {
        match origin {
            Origin::Out => Some(&mut self.out),
            Origin::Err => Some(&mut self.err),
            Origin::Beside(file) => Some(&mut self.files.entry(file).or_default().0),
            Origin::In | Origin::Host | Origin::Exit | Origin::Command => None,
        }
    }
}

impl Adapter for CodexAdapter {
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
            Input::Notice { notice, .. } => self.notice(notice, &mut step),
            Input::Command { id, command } => match self.say(id, command) {
                Ok(lines) => step.stdin = lines,
                Err(why) => step.refused = Some(why),
            },
            Input::End(end) => self.finish(end, &mut step),
        }
        step
    }

    fn recall(&mut self, line: &LogLine) {
        self.note(line);
    }

    fn beside(&self) -> Vec<Beside> {
        let Some(home) = &self.brief.home else { return Vec::new() };
        let own = self.thread.as_deref().map(|thread| (0, thread));
        let agents = self.agents.iter().map(|(id, agent)| (agent.file, id.as_str()));
        // An id from outside is no path.
        let safe = own.into_iter().chain(agents).filter(|(_, thread)| file_name(thread).is_ok());
        let days = home.join("sessions/*/*/*");
        safe.map(|(nth, thread)| Beside { nth, pattern: days.join(format!("rollout-*-{thread}.jsonl")) })
            .collect()
    }
}

/// Returns a line for stdin.
fn line_of(id: &str, value: &serde_json::Value) -> ForStdin {
    ForStdin { id: id.to_owned(), line: value.to_string() }
}
