//! The sub-agents that a conversation started: what it says of them, from the call to the answer.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::TOOL;
use super::line::{Block, text_of};
use super::short::{between, cut, first_line};
use crate::agent::skim::Raw;
use crate::agent::trail::Said;
use crate::model::fact::{Clock, Description, NodeFact, StatusReport};
use crate::model::key::{Keys, NodeKey};
use crate::model::node::NodeKind;
use crate::model::time::Stamp;
use crate::model::words::Field;

/// So many open calls are remembered; an answer to an older one says nothing.
const REMEMBERED: usize = 512;
/// A reason is no longer.
const WHY: usize = 400;

/// The calls that started sub-agents.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spawns {
    calls: Vec<Spawn>,
    /// How many there were.
    count: u32,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Spawn {
    call: Arc<str>,
    /// The agent's id, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<Arc<str>>,
    /// A checksum of its prompt, by which older versions' agents are found.
    prompt: u32,
    /// How many were started before it: so they stand in the tree, whichever of their files is read first.
    nth: u32,
}

/// What a call says of the agent that it starts.
#[derive(Default)]
struct Input<'a> {
    description: Option<Cow<'a, str>>,
    prompt: Option<Cow<'a, str>>,
    subagent_type: Option<Cow<'a, str>>,
    model: Option<Cow<'a, str>>,
}

impl<'a> Input<'a> {
    fn read(from: Raw<'a>) -> Option<Self> {
        let mut input = Self::default();
        let mut from = from.skim();
        if !from.is_object() {
            return None;
        }
        from.members(|name, value| {
            match name {
                b"description" => input.description = value.text()?,
                b"prompt" => input.prompt = value.text()?,
                b"subagent_type" => input.subagent_type = value.text()?,
                b"model" => input.model = value.text()?,
                _ => drop(value.raw()?),
            }
            Some(())
        })?;
        Some(input)
    }
}

/// What the answer to a call says beside its text.
#[derive(Default)]
struct Answer<'a> {
    agent_id: Option<Cow<'a, str>>,
    status: Option<Cow<'a, str>>,
}

impl<'a> Answer<'a> {
    fn read(from: Raw<'a>) -> Option<Self> {
        let mut answer = Self::default();
        from.skim().members(|name, value| {
            match name {
                b"agentId" => answer.agent_id = value.text()?,
                b"status" => answer.status = value.text()?,
                _ => drop(value.raw()?),
            }
            Some(())
        })?;
        Some(answer)
    }
}

impl Spawns {
    /// Takes a call, if it starts a sub-agent. It hangs under whoever made it, where that is known.
    pub fn call(
        &mut self,
        block: &Block<'_>,
        under: Option<&NodeKey>,
        at: Option<Stamp>,
        say: &mut Vec<Said>,
    ) {
        let Some(b"Agent" | b"Task") = block.name.map(Raw::word).as_deref() else { return };
        let Some(id) = block.id.and_then(Raw::text) else { return };
        let input: Option<Input<'_>> = block.input.and_then(Input::read);
        let Some(input) = input else { return };
        let call: Arc<str> = (*id).into();
        let before = self.calls.iter().position(|known| known.call == call).map(|at| self.calls.remove(at));
        let nth = before.map_or(self.count, |known| known.nth);
        self.count = self.count.max(nth.saturating_add(1));
        if self.calls.len() >= REMEMBERED {
            self.calls.remove(0);
        }
        let prompt = input.prompt.as_deref().map_or(0, prompt_crc);
        self.calls.push(Spawn { call: Arc::clone(&call), agent: None, prompt, nth });
        let keys = Keys::from(NodeKey::ToolUse(call));
        let description = Description {
            title: input.description.as_deref().map(|text| first_line(text, 200)),
            agent: input.subagent_type.as_deref().map(Into::into),
            provider: Some("anthropic".into()),
            model_requested: input.model.as_deref().map(Into::into),
            index: Some(nth),
            ..Description::default()
        };
        say.push(Said::of(None, keys.clone(), NodeFact::Seen(NodeKind::Agent)));
        let under = under.map(|under| NodeFact::Under(Box::new(under.clone().into())));
        say.extend(under.map(|under| Said::of(None, keys.clone(), under)));
        say.push(Said::of(None, keys.clone(), NodeFact::Described(Box::new(description))));
        say.extend(at.map(|at| Said::of(None, keys.clone(), NodeFact::Clock(Clock::Created, at))));
        // Whether it runs its own transcript says; it may be refused.
        say.push(Said::of(at, keys, status("pending", None)));
    }

    /// Hangs the agents of these calls under the one that made them, who was started by a call itself. One that was
    /// given its parent's conversation has a copy of the calls up to its own: those are its parent's.
    pub fn hang(&self, own: Option<&str>, under: &NodeKey, say: &mut Vec<Said>) {
        let copied = self.calls.iter().find(|known| own == Some(&*known.call)).map(|known| known.nth);
        for known in self.calls.iter().filter(|known| copied.is_none_or(|copied| known.nth > copied)) {
            let key = NodeKey::ToolUse(Arc::clone(&known.call));
            say.push(Said::of(None, key, NodeFact::Under(Box::new(under.clone().into()))));
        }
    }

    /// Takes a tool's answer, if it is a sub-agent's.
    pub fn answer(
        &mut self,
        block: &Block<'_>,
        result: Option<Raw<'_>>,
        at: Option<Stamp>,
        say: &mut Vec<Said>,
    ) {
        // Most conversations never started one, and most answers are a tool's.
        let Some(call) = block.tool_use_id.filter(|_| !self.calls.is_empty()).and_then(Raw::text) else {
            return;
        };
        let Some(known) = self.calls.iter_mut().find(|known| *known.call == *call) else { return };
        let answer: Option<Answer<'_>> = result.and_then(Answer::read);
        let agent = answer.as_ref().and_then(|answer| answer.agent_id.as_deref());
        known.agent = agent.map(Into::into).or(known.agent.take());
        let keys = known.keys();
        let word = answer.and_then(|answer| answer.status).map(|word| word.to_string());
        let report = match (word.as_deref(), block.is_error) {
            (Some("async_launched" | "remote_launched"), _) => status("running", None),
            (Some(word), _) => status(word, None),
            (None, Some(true)) => failed(&block.content.map(text_of).unwrap_or_default()),
            (None, _) => status("completed", None),
        };
        say.push(Said::of(at, keys, report));
    }

    /// Takes a notification that a background agent is through, if it is one of these.
    pub fn notified(&mut self, text: &str, at: Option<Stamp>, say: &mut Vec<Said>) {
        let (task, call) = (between(text, "task-id"), between(text, "tool-use-id"));
        let is_it = |known: &&Spawn| {
            call.is_some_and(|call| *known.call == *call)
                || task.is_some_and(|task| known.agent.as_deref() == Some(task))
        };
        let Some(known) = self.calls.iter().find(is_it) else { return };
        let word = between(text, "status").unwrap_or("completed");
        let why = between(text, "summary").filter(|_| word != "completed").map(|why| cut(why, WHY));
        say.push(Said::of(at, known.keys(), status(word, why)));
    }

    /// Returns the call that an agent with this prompt was started by.
    pub fn by_prompt(&self, prompt: &str) -> Option<NodeKey> {
        let crc = prompt_crc(prompt);
        let known = self.calls.iter().rev().find(|known| known.prompt == crc)?;
        Some(NodeKey::ToolUse(Arc::clone(&known.call)))
    }
}

impl Spawn {
    fn keys(&self) -> Keys {
        let call = NodeKey::ToolUse(Arc::clone(&self.call));
        match &self.agent {
            Some(agent) => Keys::from(NodeKey::CliAgent(TOOL.into(), Arc::clone(agent))).and(call),
            None => call.into(),
        }
    }
}

fn prompt_crc(prompt: &str) -> u32 {
    crc32fast::hash(prompt.trim().as_bytes())
}

fn failed(text: &str) -> NodeFact {
    let is_interrupted = text.contains("interrupted by user") || text.contains("doesn't want to proceed");
    let word = if is_interrupted { "interrupted" } else { "failed" };
    status(word, Some(cut(text.trim(), WHY)).filter(|why| !why.is_empty()))
}

/// Makes a status report of a session or an agent.
pub fn status(word: &str, why: Option<String>) -> NodeFact {
    NodeFact::Status(Box::new(StatusReport { why, ..StatusReport::of(Field::Session, word.to_owned()) }))
}
