//! Claude Code at work: JSON lines both ways, with its own requests for permission, and its transcripts beside.
//!
//! What it prints says what happens, at once; its transcripts say what each message really used, since the counts in
//! the stream are taken before the message is whole. One process takes many turns: it is told that there is nothing
//! more by the end of its stdin, when a turn is over and nobody works in the background.

mod hear;
mod judge;
mod run;
mod say;
mod spent;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

pub use run::run;

use super::super::brief::Brief;
use super::super::lines::{Line, Lines};
use super::super::log::{Entry, LogLine, Made, Origin, placed};
use super::super::{Adapter, Beside, ForStdin, Input, Notice, Step};
use crate::model::id::{AgentId, QuestionId};
use judge::Judge;
use spent::Spent;

/// The id of the first line on stdin: the same in every engine, so that it is fed once.
const PROMPT: &str = "prompt";

/// Reads what Claude Code prints and writes, and says to it what people say.
pub struct ClaudeAdapter {
    brief: Brief,
    out: Lines,
    err: Lines,
    /// The transcripts, by their number.
    files: BTreeMap<u32, Lines>,
    agents: BTreeMap<AgentId, Agent>,
    questions: BTreeMap<QuestionId, Question>,
    turn: Turn,
    judge: Judge,
    spent: Spent,
    /// What was told last of the session, so that it is not told with every turn.
    named: (Option<String>, Option<String>),
}

/// A sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Agent {
    /// The number of its transcript.
    file: u32,
    call: Option<String>,
    has_ended: bool,
}

/// A question that was asked, as far as its answer needs it.
#[derive(Debug, Clone, PartialEq, Default)]
struct Question {
    tool: Option<String>,
    input: Value,
    suggestions: Value,
}

/// Whether it has anything to do.
#[derive(Debug, Default)]
struct Turn {
    /// A result was the last that it said.
    is_over: bool,
    /// What works in the background, as far as it told.
    background: BTreeSet<String>,
}

impl Turn {
    fn is_idle(&self) -> bool {
        self.is_over && self.background.is_empty()
    }
}

impl ClaudeAdapter {
    /// Makes the adapter of a session.
    pub fn new(brief: Brief) -> Self {
        Self {
            named: (brief.session.clone(), None),
            brief,
            out: Lines::default(),
            err: Lines::default(),
            files: BTreeMap::new(),
            agents: BTreeMap::new(),
            questions: BTreeMap::new(),
            turn: Turn::default(),
            judge: Judge::default(),
            spent: Spent::default(),
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
                made.extend(self.spent.read(line).map(|usage| (agent, Entry::Usage(usage))));
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
                let call = started.call.clone();
                self.agents.insert(id.clone(), Agent { file, call, has_ended: false });
                if started.is_background {
                    self.turn.background.insert(id.to_string());
                }
            }
            (Entry::AgentEnded { .. }, Some(id)) => {
                self.turn.background.remove(id.as_str());
                if let Some(agent) = self.agents.get_mut(id) {
                    agent.has_ended = true;
                }
            }
            (Entry::Question { id, tool, input, kept, .. }, _) => {
                let (input, suggestions) =
                    (input.clone().unwrap_or_default(), kept.clone().unwrap_or_default());
                self.questions.insert(id.clone(), Question { tool: tool.clone(), input, suggestions });
            }
            (Entry::Withdrawn { id, .. }, _) => drop(self.questions.remove(id)),
            (Entry::Named(named), _) => {
                let (session, model) = &mut self.named;
                *session = named.session.clone().or(session.take());
                *model = named.model.clone().or(model.take());
            }
            (Entry::Result { .. }, None) => self.turn.is_over = true,
            (Entry::Output { .. } | Entry::Thought { .. } | Entry::Tool { .. }, None)
                if line.from.origin == Origin::Out =>
            {
                self.turn.is_over = false;
            }
            _ => {}
        }
    }

    fn next_file(&self) -> u32 {
        // The session's own transcript is the first.
        self.agents.values().map(|agent| agent.file).max().unwrap_or(0) + 1
    }

    /// Takes what the host said.
    fn notice(&mut self, notice: &Notice, step: &mut Step) {
        if *notice == Notice::Started {
            step.stdin.push(ForStdin { id: PROMPT.into(), line: say::user(&self.brief.prompt) });
            // An earlier engine may have died after it heard of the end of the work.
            step.close_stdin = self.turn.is_idle();
        }
    }

    fn lines(&mut self, origin: Origin) -> Option<&mut Lines> {
        match origin {
            Origin::Out => Some(&mut self.out),
            Origin::Err => Some(&mut self.err),
            Origin::Beside(file) => Some(self.files.entry(file).or_default()),
            Origin::In | Origin::Host | Origin::Exit | Origin::Command => None,
        }
    }

    fn finish(&mut self, end: &super::super::End, step: &mut Step) {
        let origins = self.files.keys().copied().map(Origin::Beside);
        let origins: Vec<Origin> = [Origin::Out, Origin::Err].into_iter().chain(origins).collect();
        for origin in origins {
            if let Some(line) = self.lines(origin).and_then(Lines::finish) {
                self.line(origin, &line, step);
            }
        }
        let is_cut_off = |agent: &&AgentId| self.agents.get(*agent).is_some_and(|agent| !agent.has_ended);
        let left: Vec<AgentId> = self.agents.keys().filter(is_cut_off).cloned().collect();
        let verdict = self.judge.verdict(end, !self.turn.background.is_empty());
        let text = "it ended with its session";
        let cut_off = |id| {
            let status = super::super::log::Status::Cancelled;
            (Some(id), Entry::AgentEnded { status, text: text.to_owned() })
        };
        let made = left.into_iter().map(cut_off).chain([(None, verdict)]).collect();
        self.place(Origin::Exit, (0, 1), made, step);
    }
}

impl Adapter for ClaudeAdapter {
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
                Ok(line) => step.stdin.push(ForStdin { id: id.into(), line }),
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
        let (Some(home), Some(session)) = (&self.brief.home, &self.named.0) else { return Vec::new() };
        // An id from outside is no path.
        if crate::model::id::file_name(session).is_err() {
            return Vec::new();
        }
        let projects = home.join("projects/*");
        let own = Beside { nth: 0, pattern: projects.join(format!("{session}.jsonl")) };
        let agents = self.agents.iter().filter(|(id, _)| crate::model::id::file_name(id.as_str()).is_ok());
        let agents =
            agents.map(|(id, agent)| Beside { nth: agent.file, pattern: transcript(&projects, session, id) });
        [own].into_iter().chain(agents).collect()
    }
}

fn transcript(projects: &Path, session: &str, agent: &AgentId) -> std::path::PathBuf {
    projects.join(session).join("subagents").join(format!("agent-{agent}.jsonl"))
}
