//! Any agent that speaks the Agent Client Protocol (version 1) on stdin and stdout: JSON-RPC, one message a line.
//!
//! The connection is ours: it outlives an engine, with requests open on both sides. So the ids of our requests are
//! always the same, a request follows from the answer that is read, and what else must be known is in the log. Whatever
//! a line means for the log is logged after what it means for stdin was given: an answer that was passed over had its
//! consequence.

mod calls;
mod chunks;
mod handed;
mod hear;
mod judge;
mod run;
mod say;
mod session;
mod spent;
#[cfg(test)]
mod tests;
mod update;

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

pub use run::run;

use super::brief::Brief;
use super::kind::Kind;
use super::lines::{Line, Lines};
use super::log::{Entry, LogLine, Made, Origin, Started, Status, placed};
use super::{Adapter, End, ForStdin, Input, Notice, Step};
use crate::model::id::{AgentId, QuestionId};
use calls::Calls;
use chunks::Chunks;
use judge::Judge;
use spent::Spent;

/// How much of a text goes into the log; all of it is in the session's own file.
const LONGEST_TEXT: usize = 16 * 1024;
/// So long an id may be: it is sent back as it came, so it cannot be cut.
const LONGEST_ID: usize = 256;

/// Reads what an agent says by the protocol, and says to it what people say.
pub struct AcpAdapter {
    brief: Brief,
    out: Lines,
    err: Lines,
    /// The id of the session, once the agent has given it one.
    session: Option<String>,
    model: Option<String>,
    /// The tool that it speaks for: what it does is in that one's files too.
    keeper: Option<Kind>,
    /// What is asked of the session before its first prompt, in order.
    setup: Vec<session::Setup>,
    /// Under which id a prompt is being worked on.
    turn: Turn,
    /// What is to be said when the turn is over, by the ids of the commands.
    queue: VecDeque<(String, String)>,
    agents: BTreeMap<AgentId, Child>,
    /// So many children there were: the latest has the highest number.
    count: u64,
    questions: BTreeMap<QuestionId, Question>,
    calls: Calls,
    chunks: Chunks,
    /// The mode that the session is in, where it told.
    mode: Option<String>,
    /// What the session's own agent said since it last did something.
    said: String,
    judge: Judge,
    spent: Spent,
}

/// Whether it has anything to do.
#[derive(Debug, Default, PartialEq, Eq)]
enum Turn {
    /// The first prompt was not answered yet.
    #[default]
    First,
    /// A later one was given, under this id.
    Told(String),
    /// The last one was answered.
    Over,
}

/// An agent below the session's own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Child {
    /// Its place in the order in which they began.
    nth: u64,
    how: How,
    has_ended: bool,
    /// What it said last.
    said: String,
    /// What was told of it last.
    started: Started,
}

/// How it is known of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
enum How {
    /// The agent announced it as a session of its own.
    Announced { is_stoppable: bool },
    /// By the call that began it, which is its id too.
    Call,
    /// An orchestrator handed its task to another provider's agent, in the same session or in one of that agent's own.
    Handed { provider: String, session: Option<String> },
}

/// A question that was asked, as far as its answer needs it.
#[derive(Debug, Clone, PartialEq, Default)]
struct Question {
    /// The id of the request, its options, and the call that it is about.
    kept: Value,
    is_answered: bool,
}

impl Question {
    fn kept(&self, name: &str) -> &Value {
        self.kept.get(name).unwrap_or(&Value::Null)
    }
}

impl AcpAdapter {
    /// Makes the adapter of a session.
    pub fn new(brief: Brief) -> Self {
        Self {
            brief,
            out: Lines::default(),
            err: Lines::default(),
            session: None,
            model: None,
            keeper: None,
            setup: Vec::new(),
            turn: Turn::default(),
            queue: VecDeque::new(),
            agents: BTreeMap::new(),
            count: 0,
            questions: BTreeMap::new(),
            calls: Calls::default(),
            chunks: Chunks::default(),
            mode: None,
            said: String::new(),
            judge: Judge::default(),
            spent: Spent::default(),
        }
    }

    /// Takes a line of one of the streams.
    fn line(&mut self, origin: Origin, line: &Line, step: &mut Step) {
        let mut made = Vec::new();
        if origin == Origin::Out {
            self.hear(line, &mut made, step);
            // A line that makes something makes also what was gathered before it: what is passed over is kept.
            if !made.is_empty() || self.chunks.is_ripe() {
                let mut all = self.chunks.take();
                all.append(&mut made);
                made = all;
            }
        } else {
            made.push((None, hear::printed(line)));
        }
        self.place(origin, (line.offset, line.next), made, step);
        step.is_over |= origin == Origin::Out && self.is_idle();
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
                // Who hands something on has done something: what was said before is not its last word.
                if !self.agents.contains_key(id) {
                    self.forget_words(started.parent.as_ref());
                }
                self.note_started(id, started);
            }
            (Entry::AgentEnded { .. }, Some(id)) => {
                if let Some(child) = self.agents.get_mut(id) {
                    child.has_ended = true;
                }
            }
            (Entry::Question { id, kept, .. }, _) => {
                let kept = kept.clone().unwrap_or_default();
                self.questions.insert(id.clone(), Question { kept, is_answered: false });
            }
            (Entry::Withdrawn { id, .. }, _) => drop(self.questions.remove(id)),
            (Entry::Named(named), _) => {
                self.session = named.session.clone().or(self.session.take());
                self.model = named.model.clone().or(self.model.take());
                self.keeper = named.keeper.or(self.keeper);
            }
            (Entry::Result { .. }, None) => {
                self.turn = Turn::Over;
                self.said.clear();
            }
            (Entry::Output { text, .. }, agent) if line.from.origin != Origin::Err => {
                if let Some(said) = self.words(agent.as_ref()).filter(|said| said.len() < LONGEST_TEXT) {
                    if !said.is_empty() {
                        said.push('\n');
                    }
                    said.push_str(text);
                }
            }
            (Entry::Tool { id, name, input }, agent) => {
                self.forget_words(agent.as_ref());
                self.note_tool(id.as_deref().unwrap_or_default(), name, input);
            }
            (Entry::ToolResult { id: Some(id), .. }, _) => {
                self.setup.retain(|setup| setup.id != *id);
                self.calls.note_answer(id);
                // Nobody waits for an answer to what is done already.
                self.questions.retain(|_, question| question.kept("call") != id.as_str());
            }
            (Entry::Usage(usage), None) => self.spent.note(usage),
            _ => {}
        }
    }

    /// Returns where the last words of a child, or of the session's own agent, are kept.
    fn words(&mut self, agent: Option<&AgentId>) -> Option<&mut String> {
        match agent {
            Some(id) => self.agents.get_mut(id).map(|child| &mut child.said),
            None => Some(&mut self.said),
        }
    }

    fn forget_words(&mut self, agent: Option<&AgentId>) {
        if let Some(said) = self.words(agent) {
            said.clear();
        }
    }

    /// Returns what one of them said last, with what is not in the log yet.
    fn last_words(&self, agent: Option<&AgentId>) -> String {
        let said = match agent {
            Some(id) => self.agents.get(id).map(|child| child.said.as_str()).unwrap_or_default(),
            None => &self.said,
        };
        let more = self.chunks.words_of(agent);
        let gap = if said.is_empty() || more.is_empty() { "" } else { "\n" };
        cut(format!("{said}{gap}{more}").trim(), LONGEST_TEXT)
    }

    /// Some of what it does is our own wish: a mode, a model, a further prompt.
    fn note_tool(&mut self, id: &str, name: &str, input: &str) {
        if let Some(setup) = session::Setup::of(id, name, input) {
            self.setup.push(setup);
        } else if let Some(command) = id.strip_prefix(say::TOLD) {
            self.turn = Turn::Told(command.to_owned());
        } else if name == handed::MODE {
            self.mode = Some(input.to_owned());
        } else {
            self.calls.note(id, name);
        }
    }

    fn note_started(&mut self, id: &AgentId, started: &Started) {
        let how = match (&started.call, &started.kind) {
            (Some(call), Some(provider)) if handed::is_provider(provider) && call == id.as_str() => {
                let known = self.agents.get(id).map(|child| child.how.clone());
                known.unwrap_or(How::Handed { provider: provider.clone(), session: None })
            }
            (Some(_), _) => How::Call,
            (None, _) => How::Announced { is_stoppable: started.is_stoppable },
        };
        let known = self.agents.remove(id).filter(|known| !known.has_ended);
        let (nth, said) =
            known.map_or_else(|| (self.count + 1, String::new()), |known| (known.nth, known.said));
        self.count = self.count.max(nth);
        let started = started.clone();
        self.agents.insert(id.clone(), Child { nth, how, has_ended: false, said, started });
    }

    /// Returns whether nothing is to be waited for any more: no prompt, no child, nothing to be said.
    fn is_idle(&self) -> bool {
        self.turn == Turn::Over && self.queue.is_empty() && self.agents.values().all(|child| child.has_ended)
    }

    fn finish(&mut self, end: &End, step: &mut Step) {
        for origin in [Origin::Out, Origin::Err] {
            let lines = if origin == Origin::Out { &mut self.out } else { &mut self.err };
            if let Some(line) = lines.finish() {
                self.line(origin, &line, step);
            }
        }
        let mut made = self.chunks.take();
        let left = self.agents.iter().filter(|(_, child)| !child.has_ended);
        let cut_off =
            Entry::AgentEnded { status: Status::Cancelled, text: "it ended with its session".into() };
        made.extend(left.map(|(id, _)| (Some(id.clone()), cut_off.clone())));
        let has_children = self.agents.values().any(|child| !child.has_ended);
        made.push((None, self.judge.verdict(end, has_children)));
        self.place(Origin::Exit, (0, 1), made, step);
        step.is_over = false;
    }
}

impl Adapter for AcpAdapter {
    fn step(&mut self, input: Input<'_>) -> Step {
        let mut step = Step::default();
        match input {
            Input::Bytes { origin: origin @ (Origin::Out | Origin::Err), offset, bytes } => {
                let lines = if origin == Origin::Out { &mut self.out } else { &mut self.err };
                let mut found = Vec::new();
                lines.push(offset, bytes, |line| found.push(line));
                for line in found {
                    self.line(origin, &line, &mut step);
                }
            }
            Input::Notice { notice: Notice::Started, .. } => {
                step.stdin.push(say::initialize());
                // An earlier engine may have died after it heard of the end of the work.
                step.is_over = self.is_idle();
            }
            Input::Bytes { .. } | Input::Notice { .. } => {}
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
}

/// Makes a line for stdin that follows from what was read: the same in every engine, so that it is fed once.
fn line(id: &str, line: String) -> ForStdin {
    ForStdin { id: format!("acp-{id}"), line }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn cut(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    format!("{}…", text.get(..text.floor_char_boundary(longest)).unwrap_or_default())
}
