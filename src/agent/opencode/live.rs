//! OpenCode at work: its server's events as they come through the bridge, one JSON object a line.
//!
//! The server tells of every session that it has, so sub-agents, which are sessions of their own, are heard at any
//! depth. It says everything several times: a message with every step, a tool with every line that it prints. What was
//! told is known by its id. The bridge adds lines of its own: which session it is, how each turn ended, and what became
//! of what it was told to do.

mod event;
mod hear;
mod judge;
mod run;
mod say;
mod sieve;
#[cfg(test)]
mod tests;
mod told;
mod wish;

use std::collections::BTreeMap;

pub use run::run;
pub use sieve::Sieve;
pub use wish::{Plan, Request, Wish, Work};

use super::super::brief::Brief;
use super::super::lines::{Line, Lines};
use super::super::log::{Entry, LogLine, Made, Origin, Status, placed};
use super::super::{Adapter, End, ForStdin, Input, Notice, Step};
use crate::model::id::{AgentId, QuestionId};
use judge::Judge;
use told::Told;

/// The id of the first line on stdin: the same in every engine, so that it is fed once.
const PROMPT: &str = "prompt";

/// Reads what OpenCode's server tells, and says to it what people say.
pub struct OpenCodeAdapter {
    brief: Brief,
    out: Lines,
    err: Lines,
    /// The session's own id, once it is known.
    session: Option<String>,
    model: Option<String>,
    agents: BTreeMap<AgentId, Agent>,
    /// Whose session was begun from which, with its title and kind, until the call that began it is heard.
    born: BTreeMap<String, Born>,
    questions: BTreeMap<QuestionId, Asks>,
    /// Whom each session asks.
    providers: BTreeMap<String, String>,
    told: Told,
    judge: Judge,
    /// How a turn ended was the last that it said.
    is_over: bool,
}

/// A sub-agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Agent {
    has_ended: bool,
    /// What it said last.
    said: String,
    /// What went wrong with it.
    trouble: Option<(Status, String)>,
}

/// A session that was begun from another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Born {
    parent: Option<String>,
    title: Option<String>,
    kind: Option<String>,
}

/// What a question is about, as far as its answer needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// Whether it may do something.
    Permission,
    /// This many questions of its own.
    Words(usize),
}

impl OpenCodeAdapter {
    /// Makes the adapter of a session.
    pub fn new(brief: Brief) -> Self {
        Self {
            session: brief.session.clone(),
            brief,
            out: Lines::default(),
            err: Lines::default(),
            model: None,
            agents: BTreeMap::new(),
            born: BTreeMap::new(),
            questions: BTreeMap::new(),
            providers: BTreeMap::new(),
            told: Told::default(),
            judge: Judge::default(),
            is_over: false,
        }
    }

    /// Takes a line of one of the streams.
    fn line(&mut self, origin: Origin, line: &Line, step: &mut Step) {
        let mut made = Vec::new();
        match origin {
            Origin::Out => self.hear(line, &mut made, step),
            Origin::Err => made.push((None, hear::printed(line))),
            Origin::In | Origin::Host | Origin::Exit | Origin::Command | Origin::Beside(_) => {}
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
            (Entry::AgentStarted(_), Some(id)) => drop(self.agents.insert(id.clone(), Agent::default())),
            (Entry::AgentEnded { .. }, Some(id)) => {
                if let Some(agent) = self.agents.get_mut(id) {
                    agent.has_ended = true;
                }
            }
            (Entry::Output { text, .. }, Some(id)) => {
                if let Some(agent) = self.agents.get_mut(id) {
                    agent.said.clone_from(text);
                }
            }
            (Entry::Question { id, kept, .. }, _) => {
                let questions = kept.as_ref().and_then(serde_json::Value::as_u64);
                let asks = questions.and_then(|count| usize::try_from(count).ok());
                self.questions.insert(id.clone(), asks.map_or(Asks::Permission, Asks::Words));
            }
            (Entry::Withdrawn { id, .. }, _) => drop(self.questions.remove(id)),
            (Entry::Named(named), _) => {
                self.session = named.session.clone().or(self.session.take());
                self.model = named.model.clone().or(self.model.take());
            }
            (Entry::Result { .. }, None) => self.is_over = true,
            (Entry::Thought { .. } | Entry::Tool { .. }, None) => self.is_over = false,
            (Entry::Usage(usage), _) => self.told.used(usage),
            _ => {}
        }
    }

    /// Takes what the host said.
    fn notice(&mut self, notice: &Notice, step: &mut Step) {
        if *notice == Notice::Started {
            let work = Work::Prompt { text: self.brief.prompt.clone() };
            step.stdin.push(ForStdin { id: PROMPT.into(), line: Wish { id: PROMPT.into(), work }.line() });
            // An earlier engine may have died after it heard of the end of the work.
            step.close_stdin = self.is_over;
        }
    }

    fn lines(&mut self, origin: Origin) -> Option<&mut Lines> {
        match origin {
            Origin::Out => Some(&mut self.out),
            Origin::Err => Some(&mut self.err),
            Origin::In | Origin::Host | Origin::Exit | Origin::Command | Origin::Beside(_) => None,
        }
    }

    fn finish(&mut self, end: &End, step: &mut Step) {
        for origin in [Origin::Out, Origin::Err] {
            if let Some(line) = self.lines(origin).and_then(Lines::finish) {
                self.line(origin, &line, step);
            }
        }
        let left = self.agents.iter().filter(|(_, agent)| !agent.has_ended).map(|(id, _)| id.clone());
        let cut_off = |id| {
            let text = "it ended with its session".to_owned();
            (Some(id), Entry::AgentEnded { status: Status::Cancelled, text })
        };
        let made = left.map(cut_off).chain([(None, self.judge.verdict(end))]).collect();
        self.place(Origin::Exit, (0, 1), made, step);
    }
}

impl Adapter for OpenCodeAdapter {
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
            Input::Command { id, command } => match self.say(command) {
                Ok(work) => {
                    let line = Wish { id: id.into(), work }.line();
                    step.stdin.push(ForStdin { id: id.into(), line });
                }
                Err(why) => step.refused = Some(why),
            },
            Input::End(end) => self.finish(end, &mut step),
        }
        step
    }

    fn recall(&mut self, line: &LogLine) {
        self.note(line);
    }
}
