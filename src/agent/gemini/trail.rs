//! A chat file's lines, as statements about its session.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::{Call, Header, Message, Patch, Record};
use super::{TOOL, answer_of, key};
use crate::agent::excerpt;
use crate::agent::lines::Line;
use crate::agent::trail::{Beside, Lasts, RECENT, SILENT, Said, Trail, rank, silence};
use crate::model::fact::{Action, Clock, Description, NodeFact, StatusReport, UsageReport};
use crate::model::handoff::Outcome;
use crate::model::node::NodeKind;
use crate::model::time::Stamp;
use crate::model::usage::Context;
use crate::model::words::Field;

/// The tool by which a sub-agent is invoked, and the one by which it says that it is done.
pub(super) const INVOKE: &str = "invoke_agent";
pub(super) const COMPLETE: &str = "complete_task";
/// How a message begins that only sets the scene.
pub(super) const SCENE: &str = "<session_context>";

/// What stands before the task in the prompt of some sub-agents.
pub(super) const OBJECTIVE: &str = "<objective>";

/// Reads a chat file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Chat {
    /// The session that invoked this one, where the file's folder is named after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Box<str>>,
    /// The folder that the chat is about, where somebody else than the file knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<Box<str>>,
    /// What a person's chat said of itself, until something is said in it: it is begun before anybody asks, also where
    /// another session is then made, as by the Agent Client Protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    unopened: Option<Unopened>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Box<str>>,
    is_subagent: bool,
    is_titled: bool,
    /// Whether it was last told to work.
    is_running: bool,
    /// When it was begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<Stamp>,
    /// The latest moment of which anything was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Stamp>,
}

/// What is to be told of a chat in which nothing was said yet.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
struct Unopened {
    since: Option<Stamp>,
    workspace: Option<Box<str>>,
}

impl Chat {
    /// Begins a file: under which session it hangs and what folder it is about, where the path tells.
    pub fn new(parent: Option<&str>, workspace: Option<&str>) -> Self {
        let (parent, workspace) = (parent.map(Into::into), workspace.map(Into::into));
        Self { is_subagent: parent.is_some(), parent, workspace, ..Self::default() }
    }

    /// Goes on from a state that was put aside; from one that is none of ours, from the beginning.
    pub fn resume(state: &Value) -> Self {
        Self::deserialize(state).unwrap_or_default()
    }
}

impl Trail for Chat {
    fn line(&mut self, line: &Line, say: &mut Vec<Said>) {
        let Some(record) = Record::of(line) else { return };
        if let Some(header) = &record.header {
            self.header(header, say);
        }
        if let Some(patch) = &record.patch {
            self.patch(patch, say);
        }
        for message in &record.messages {
            self.message(message, say);
        }
    }

    fn conclude(&self, beside: &Beside<'_>, say: &mut Vec<Said>) {
        let Some(session) = self.session.as_deref() else { return };
        let keys = key(session).into();
        if !self.is_subagent && self.unopened.is_none() {
            rank(self.first, self.at, &keys, beside, say);
        }
        if self.is_running {
            silence(self.at, &keys, beside, say);
        }
    }

    fn lasts(&self, beside: &Beside<'_>) -> Lasts {
        let spans: &[Duration] = if self.is_running { &[RECENT, SILENT] } else { &[RECENT] };
        Lasts::after(self.at, spans, beside.now)
    }

    fn state(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Chat {
    fn header(&mut self, header: &Header, say: &mut Vec<Said>) {
        let Some(session) = header.session_id.as_deref() else { return };
        // A resumed chat says again who it is.
        if self.session.as_deref() == Some(session) {
            return;
        }
        self.session = Some(session.into());
        self.is_subagent |= header.kind.as_deref() == Some("subagent");
        (self.first, self.at) = (header.start_time, header.start_time);
        let folder = header.directories.first().map(String::as_str).or(self.workspace.as_deref());
        self.unopened = Some(Unopened { since: self.at, workspace: folder.map(Into::into) });
        if self.is_subagent {
            self.open(say);
        }
        if let Some(summary) = &header.summary {
            self.summary(summary, say);
        }
    }

    /// Tells of the chat, unless that was done.
    fn open(&mut self, say: &mut Vec<Said>) {
        let (Some(known), Some(session)) = (self.unopened.take(), &self.session) else { return };
        let kind = if self.is_subagent { NodeKind::Agent } else { NodeKind::Session };
        let mut voice = Voice { at: known.since, session, say };
        voice.says(NodeFact::Seen(kind));
        if let Some(parent) = &self.parent {
            voice.says(NodeFact::Under(Box::new(key(parent).into())));
        }
        let agent = (!self.is_subagent).then(|| TOOL.into());
        voice.describes(Description {
            agent,
            provider: Some(TOOL.into()),
            workspace: known.workspace.map(Into::into),
            ..Description::default()
        });
        if let Some(at) = known.since {
            voice.says(NodeFact::Clock(Clock::Created, at));
            // There is a file once something was asked.
            voice.says(NodeFact::Clock(Clock::Started, at));
        }
        if self.is_subagent {
            voice.stands("running", None);
        }
    }

    fn patch(&mut self, patch: &Patch, say: &mut Vec<Said>) {
        self.at = patch.last_updated.max(self.at);
        if patch.messages.iter().any(|message| !message.text().starts_with(SCENE)) {
            self.open(say);
        }
        // What is listed again, as when a chat is resumed, is no news but for what it was charged.
        for message in &patch.messages {
            self.charge(message, say);
        }
        if let Some(summary) = &patch.summary {
            self.summary(summary, say);
        }
    }

    /// A sub-agent's summary is its result; a person's chat has one as its title.
    fn summary(&mut self, summary: &str, say: &mut Vec<Said>) {
        self.open(say);
        let Some(session) = self.session.clone() else { return };
        let mut voice = Voice { at: self.at, session: &session, say };
        if self.is_subagent {
            voice.returns(&answer_of(summary));
            voice.stands("completed", None);
            self.is_running = false;
        } else if let Some(title) = excerpt::title(summary) {
            self.is_titled = true;
            voice.describes(Description { title: Some(title), ..Description::default() });
        }
    }

    fn message(&mut self, message: &Message, say: &mut Vec<Said>) {
        let Some(session) = self.session.clone() else { return };
        let text = message.text();
        if !text.starts_with(SCENE) {
            self.open(say);
        }
        self.charge(message, say);
        let said = message.timestamp.or(self.at);
        let calls = &message.tool_calls;
        let at = calls.iter().map(|call| call.timestamp).max().flatten().max(said);
        self.at = at.max(self.at);
        let mut voice = Voice { at, session: &session, say };
        match message.by.as_deref() {
            Some("user") if text.starts_with(SCENE) => {}
            Some("user") => {
                if !self.is_titled
                    && let Some(title) =
                        excerpt::title(text.split_once(OBJECTIVE).map_or(&*text, |(_, what)| what))
                {
                    self.is_titled = true;
                    voice.describes(Description { title: Some(title), ..Description::default() });
                }
                voice.stands("running", None);
                self.is_running = true;
            }
            Some("gemini") => {
                for call in calls {
                    voice.calls(call);
                }
                let is_done = calls.iter().any(|call| call.name == COMPLETE && call.worked());
                let word = standing(&text, !calls.is_empty(), is_done);
                if word == "answered" && !self.is_subagent {
                    voice.returns(&text);
                }
                voice.stands(word, None);
                self.is_running = word == "running";
            }
            Some("error") => {
                voice.stands("error", excerpt::title(&text));
                self.is_running = false;
            }
            _ => {}
        }
    }

    fn charge(&mut self, message: &Message, say: &mut Vec<Said>) {
        let (Some(session), Some(charge)) = (self.session.clone(), &message.tokens) else { return };
        let mut voice = Voice { at: message.timestamp, session: &session, say };
        if let Some(model) = message.model.as_deref()
            && self.model.as_deref() != Some(model)
        {
            self.model = Some(model.into());
            voice.describes(Description { model_effective: Some(model.into()), ..Description::default() });
        }
        let model = message.model.as_deref().or(self.model.as_deref()).map(Into::into);
        let id = message.id.as_deref().map(Into::into);
        let tokens = charge.tokens();
        let report = UsageReport { id, model, tokens, ..UsageReport::default() };
        voice.says(NodeFact::Used(Box::new(report)));
        voice.says(NodeFact::Filled(Context { used: charge.used(), size: None }));
    }
}

/// Returns how a session stands after what its model said.
///
/// A message that calls tools is written without them first, and again when they have answered: one with words
/// and no calls may still be followed by calls. It is taken as the answer until then.
fn standing(text: &str, has_calls: bool, is_done: bool) -> &'static str {
    match (is_done, has_calls, text.is_empty()) {
        (true, _, _) => "completed",
        (false, false, false) => "answered",
        (false, true, _) | (false, false, true) => "running",
    }
}

impl Call {
    pub(super) fn worked(&self) -> bool {
        self.status.as_deref() == Some("success")
    }
}

/// Says things of one session, at one moment.
struct Voice<'a> {
    at: Option<Stamp>,
    session: &'a str,
    say: &'a mut Vec<Said>,
}

impl Voice<'_> {
    fn says(&mut self, what: NodeFact) {
        self.say.push(Said::of(self.at, key(self.session), what));
    }

    fn describes(&mut self, description: Description) {
        self.says(NodeFact::Described(Box::new(description)));
    }

    fn stands(&mut self, word: &'static str, why: Option<String>) {
        self.says(NodeFact::Status(Box::new(StatusReport { why, ..StatusReport::of(Field::Session, word) })));
    }

    fn returns(&mut self, summary: &str) {
        let outcome = Outcome { summary: Some(summary.to_owned()), ..Outcome::default() };
        self.says(NodeFact::Returned(Box::new(outcome)));
    }

    fn calls(&mut self, call: &Call) {
        let last = excerpt::action(&call.name, &excerpt::purpose(&call.args));
        self.says(NodeFact::Active(Action { last: Some(last), next: None }));
        if call.name == INVOKE
            && let Some(child) = &call.agent_id
        {
            self.invokes(child, call);
        }
    }

    /// Says what the call that invoked a sub-agent tells of it.
    fn invokes(&mut self, child: &str, call: &Call) {
        let under = key(self.session).into();
        let at = call.timestamp.or(self.at);
        let mut say = |what| self.say.push(Said::of(at, key(child), what));
        say(NodeFact::Seen(NodeKind::Agent));
        say(NodeFact::Under(Box::new(under)));
        let text = |name: &str| call.args.get(name).and_then(Value::as_str);
        let agent = text("agent_name").map(Into::into);
        let title = text("prompt").and_then(excerpt::title);
        let provider = Some(TOOL.into());
        say(NodeFact::Described(Box::new(Description { title, agent, provider, ..Description::default() })));
        let status = |word: &'static str, why: Option<&str>| {
            let why = why.map(str::to_owned);
            NodeFact::Status(Box::new(StatusReport { why, ..StatusReport::of(Field::Session, word) }))
        };
        // Only the call tells how a sub-agent ended that never said that it is done.
        match (call.status.as_deref(), call.termination()) {
            (_, Some("GOAL")) => say(status("completed", None)),
            (_, Some("ABORTED")) | (Some("cancelled"), _) => say(status("cancelled", call.termination())),
            (_, Some("TIMEOUT")) => say(status("timeout", None)),
            (_, Some(why)) => say(status("failed", Some(why))),
            (Some("error"), None) => say(status("failed", call.answer())),
            _ => {}
        }
    }
}
