//! Reads one transcript: lines in, statements out.
//!
//! What its own node is doing is concluded from how its last turn stands, not said line by line: whether a process
//! still runs and what the small file beside it says belong to that.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::TOOL;
use super::chains::Chains;
use super::doing::Doing;
use super::line::{Block, Content, Message, Record, is_noise, moment, told_cost};
use super::note::Note;
use super::short::{call, cut, title, typed};
use super::spawns::{Spawns, status};
use super::turn::{Turn, begins, is_given, turn};
use crate::agent::lines::Line;
use crate::agent::skim::Raw;
use crate::agent::trail::{Beside, Lasts, Process, RECENT, Said, Trail, patience, rank};
use crate::model::fact::{Action, Clock, Description, NodeFact, Scope, Sent, UsageReport};
use crate::model::handoff::Outcome;
use crate::model::key::{Keys, NodeKey};
use crate::model::name::Name;
use crate::model::node::NodeKind;
use crate::model::time::Stamp;
use crate::model::usage::Usd;

/// What was left unfinished so long ago, with no process, is over: nobody needs to be told every day.
const ABANDONED: Duration = Duration::from_hours(24);
/// An answer is kept so far: the whole is in the transcript.
const SUMMARY: usize = 2_000;
/// A reason is no longer.
const WHY: usize = 400;
/// Stands for the model where the tool itself wrote the answer.
const SYNTHETIC: &str = "<synthetic>";

/// Whose transcript it is, as its path says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Own {
    /// A session's.
    Session(Arc<str>),
    /// A sub-agent's, of that session; older files say in their lines which.
    Agent(Arc<str>, Option<Arc<str>>),
    /// A helper's of a session, as the one that shortens its conversation: it is no agent, but the session pays for it.
    Helper(Arc<str>),
}

/// The reader of a transcript.
#[derive(Debug)]
pub struct Reader {
    own: Own,
    key: NodeKey,
    state: State,
    /// The last call that was not said yet.
    doing: Doing,
}

/// What it must know to go on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    /// When the file was begun, where its first line says so: what is older was copied from another session.
    #[serde(skip_serializing_if = "Option::is_none")]
    begun: Option<i64>,
    /// The session, where only the lines say which.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<Arc<str>>,
    is_seen: bool,
    /// Whether it has a title that somebody typed.
    is_titled: bool,
    /// The first prompt, for a sub-agent that nothing else describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested: Option<Name>,
    turn: Turn,
    /// Whether the last that was put in is a command: what the model was given for it, if anything, follows.
    is_command: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<i64>,
    /// What the tool says that all of it cost, in billionths of a dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    told_cost: Option<i64>,
    spawns: Spawns,
    chains: Chains,
}

impl Reader {
    /// Makes a reader: a fresh one, or one that goes on from a state. A state that is none is not used.
    pub fn new(own: Own, state: Option<&Value>) -> Self {
        let state = state.and_then(|state| State::deserialize(state).ok()).unwrap_or_default();
        let key = match &own {
            Own::Session(id) | Own::Helper(id) => NodeKey::CliSession(TOOL.into(), Arc::clone(id)),
            Own::Agent(id, _) => NodeKey::CliAgent(TOOL.into(), Arc::clone(id)),
        };
        Self { own, key, state, doing: Doing::default() }
    }

    fn keys(&self) -> Keys {
        self.key.clone().into()
    }

    fn is_session(&self) -> bool {
        matches!(self.own, Own::Session(_))
    }

    /// Notes what every line of its own says, and says who it is once that is known.
    fn note(&mut self, record: &Record<'_>, at: Option<Stamp>, say: &mut Vec<Said>) {
        self.state.last = self.state.last.max(at.map(Stamp::millis));
        if let Some(agent) = record.attribution_agent.as_deref().filter(|_| self.state.agent.is_none()) {
            self.state.agent = Some(agent.into());
        }
        if self.state.session.is_none() {
            self.state.session = record.session_id.and_then(Raw::text).map(Into::into);
        }
        // Of a session that was branched off, what was copied was said before it began.
        if let Some(at) = at.filter(|_| self.state.first.is_none() && !record.is_copy) {
            self.state.first = Some(at.millis());
            say.push(Said::of(None, self.keys(), NodeFact::Clock(Clock::Created, at)));
            say.push(Said::of(None, self.keys(), NodeFact::Clock(Clock::Started, at)));
        }
        if std::mem::replace(&mut self.state.is_seen, true) {
            return;
        }
        let kind = if self.is_session() { NodeKind::Session } else { NodeKind::Agent };
        say.push(Said::of(at, self.keys(), NodeFact::Seen(kind)));
        self.describe(
            Description {
                agent: self.is_session().then(|| TOOL.into()),
                provider: Some("anthropic".into()),
                workspace: record.cwd.and_then(Raw::text).map(Into::into),
                ..Description::default()
            },
            say,
        );
    }

    fn describe(&self, description: Description, say: &mut Vec<Said>) {
        say.push(Said::of(None, self.keys(), NodeFact::Described(Box::new(description))));
    }

    fn user(&mut self, record: &Record<'_>, message: &Message<'_>, at: Option<Stamp>, say: &mut Vec<Said>) {
        let texts: Vec<&str> = match &message.content {
            Content::None => Vec::new(),
            Content::Text(text) => vec![text],
            Content::Blocks(blocks) => {
                let blocks = blocks.as_slice();
                for block in blocks.iter().filter(|block| *block.kind == *b"tool_result") {
                    self.state.turn = Turn::Open;
                    if !record.is_copy {
                        self.state.spawns.answer(block, record.tool_use_result, at, say);
                    }
                }
                blocks.iter().filter_map(|block| block.text.as_deref()).collect()
            }
        };
        if record.is_meta || record.is_compact_summary {
            if record.is_meta && texts.iter().any(|text| is_given(text)) {
                self.given();
            }
            return;
        }
        // That it is a sign of life, whatever it says, is concluded of the last moment.
        for text in texts {
            self.prompt(record, text, at, say);
        }
    }

    /// Notes that the model was given what stands for a command: now it works, and that is what the session is about.
    fn given(&mut self) {
        if std::mem::take(&mut self.state.is_command) {
            self.state.turn = Turn::Open;
            self.state.is_titled = true;
        }
    }

    fn prompt(&mut self, record: &Record<'_>, text: &str, at: Option<Stamp>, say: &mut Vec<Said>) {
        let start = typed(text);
        self.state.is_command = start.starts_with("<command-");
        if start.starts_with("<task-notification>") {
            if !record.is_copy {
                self.state.spawns.notified(text, at, say);
            }
            self.state.turn = Turn::Open;
        } else if start.starts_with("[Request interrupted by user") {
            self.state.turn = Turn::Interrupted;
        } else if begins(start) {
            self.state.turn = Turn::Open;
        }
        self.entitle(text, say);
        // A copy says what it is about only until it goes its own way.
        self.state.is_titled &= !record.is_copy;
    }

    /// Takes a title from the first prompt that somebody typed; till then from a command.
    fn entitle(&mut self, text: &str, say: &mut Vec<Said>) {
        let Some(title) = title(text).filter(|_| !self.state.is_titled) else { return };
        self.state.is_titled = !typed(text).starts_with('<');
        if self.is_session() {
            self.describe(Description { title: Some(title), ..Description::default() }, say);
        } else {
            self.state.prompt = Some(title);
        }
    }

    fn assistant(
        &mut self,
        record: &Record<'_>,
        message: &Message<'_>,
        at: Option<Stamp>,
        say: &mut Vec<Said>,
    ) {
        let blocks = if let Content::Blocks(blocks) = &message.content { blocks.as_slice() } else { &[] };
        let said = blocks.iter().rev().find_map(|block| block.text.as_deref());
        if message.model.as_deref() == Some(SYNTHETIC) || record.is_api_error_message {
            if record.is_api_error_message {
                self.state.turn = Turn::Failed(cut(said.unwrap_or("the model could not be reached"), WHY));
            }
            return;
        }
        self.ran_on(record, message, say);
        say.extend(used(self.keys(), record, message, self.state.model.as_ref(), at));
        // Whose the calls are in an agent's file only the note beside it tells.
        let is_session = self.is_session();
        let Self { state, key, doing, .. } = self;
        let under = is_session.then_some(&*key);
        // Agents stay with the conversation that started them.
        for block in blocks.iter().filter(|block| *block.kind == *b"tool_use" && !record.is_copy) {
            state.spawns.call(block, under, at, say);
            doing.take(block);
        }
        self.state.turn = turn(message.stop_reason.as_deref(), blocks);
        if let Some(text) = said.filter(|_| self.state.turn == Turn::Over) {
            let outcome = Outcome { summary: Some(cut(text, SUMMARY)), ..Outcome::default() };
            say.push(Said::of(at, self.keys(), NodeFact::Returned(Box::new(outcome))));
        }
    }

    fn ran_on(&mut self, record: &Record<'_>, message: &Message<'_>, say: &mut Vec<Said>) {
        let ran = message.model.as_deref().filter(|ran| self.state.model.as_deref() != Some(ran));
        let asked = record.requested_model.as_deref().filter(|_| self.is_session());
        let asked = asked.filter(|asked| self.state.requested.as_deref() != Some(asked));
        if ran.is_none() && asked.is_none() {
            return;
        }
        let (ran, asked): (Option<Name>, Option<Name>) = (ran.map(Into::into), asked.map(Into::into));
        self.state.model = ran.clone().or(self.state.model.take());
        self.state.requested = asked.clone().or(self.state.requested.take());
        self.describe(
            Description { model_effective: ran, model_requested: asked, ..Description::default() },
            say,
        );
    }

    /// A line of a sub-agent that an older version wrote into its session's file.
    fn side_chain(&mut self, record: &Record<'_>, at: Option<Stamp>, say: &mut Vec<Said>) {
        let (Some(uuid), Some(message)) = (record.uuid.and_then(Raw::text), &record.message) else { return };
        let parent = record.parent_uuid.and_then(Raw::text);
        let (first, is_new) = self.state.chains.place(&uuid, parent.as_deref());
        let mut keys = Keys::from(NodeKey::CliAgent(TOOL.into(), Arc::clone(&first)));
        if is_new {
            let prompt = match &message.content {
                Content::Text(text) => text,
                Content::Blocks(blocks) => {
                    blocks.as_slice().iter().find_map(|block| block.text.as_deref()).unwrap_or_default()
                }
                Content::None => "",
            };
            let call = self.state.spawns.by_prompt(prompt);
            if call.is_some() {
                self.state.chains.called(&first);
            }
            // The call describes it; without one its prompt does.
            let title = title(prompt).filter(|_| call.is_none());
            keys.more.extend(call);
            let description =
                Description { title, provider: Some("anthropic".into()), ..Description::default() };
            say.push(Said::of(at, keys.clone(), NodeFact::Seen(NodeKind::Agent)));
            say.push(Said::of(None, keys.clone(), NodeFact::Under(Box::new(self.key.clone().into()))));
            say.push(Said::of(None, keys.clone(), NodeFact::Described(Box::new(description))));
            say.extend(at.map(|at| Said::of(None, keys.clone(), NodeFact::Clock(Clock::Started, at))));
        }
        let Content::Blocks(blocks) = &message.content else {
            say.push(Said::of(at, keys, status("running", None)));
            return;
        };
        let blocks = blocks.as_slice();
        if *record.kind == *b"assistant" && message.model.as_deref() != Some(SYNTHETIC) {
            say.extend(used(keys.clone(), record, message, None, at));
            let model_effective = message.model.as_deref().map(Into::into);
            let description = Description { model_effective, ..Description::default() };
            say.push(Said::of(None, keys.clone(), NodeFact::Described(Box::new(description))));
            let calls = blocks.iter().filter(|block| *block.kind == *b"tool_use");
            say.extend(calls.map(|block| Said::of(at, keys.clone(), active(block))));
        }
        let is_over = *record.kind == *b"assistant"
            && !self.state.chains.is_called(&first)
            && turn(message.stop_reason.as_deref(), blocks) == Turn::Over;
        say.push(Said::of(at, keys, status(if is_over { "completed" } else { "running" }, None)));
    }

    /// Takes what a line of a copied conversation is good for: its title.
    fn copied(&mut self, record: &Record<'_>, say: &mut Vec<Said>) {
        if let Some(Message { content: Content::Text(text), .. }) =
            record.message.as_ref().filter(|_| *record.kind == *b"user" && !record.is_meta)
        {
            self.entitle(text, say);
            // It says what it is about only until it goes its own way.
            self.state.is_titled = false;
        }
    }
}

impl Trail for Reader {
    fn line(&mut self, line: &Line, say: &mut Vec<Said>) {
        if line.cut > 0 {
            return;
        }
        let mut record = Record::default();
        if is_noise(&line.bytes) || record.read(&line.bytes).is_none() {
            if !self.state.is_seen && self.state.begun.is_none() && self.is_session() {
                self.state.begun = moment(&line.bytes).map(Stamp::millis);
            }
            let told = told_cost(&line.bytes).filter(|_| self.is_session());
            self.state.told_cost = told.map(|cost| Usd::from_dollars(cost).0).or(self.state.told_cost);
            return;
        }
        let at = record.at();
        let is_older = at.zip(self.state.begun).is_some_and(|(at, begun)| at.millis() < begun);
        if is_older && !record.is_copy {
            return self.copied(&record, say);
        }
        let is_aside = record.is_sidechain && self.is_session();
        if matches!(self.own, Own::Helper(_)) || (is_aside && record.is_copy) {
            if let Some(message) = record.message.as_ref().filter(|_| *record.kind == *b"assistant") {
                say.extend(used(self.keys(), &record, message, None, at));
            }
            return;
        }
        if is_aside {
            return self.side_chain(&record, at, say);
        }
        match (&*record.kind, &record.message) {
            (b"user", Some(message)) => {
                self.note(&record, at, say);
                self.user(&record, message, at, say);
            }
            (b"assistant", Some(message)) => {
                self.note(&record, at, say);
                self.assistant(&record, message, at, say);
            }
            (b"system", _)
                if matches!(record.subtype.as_deref(), Some("turn_duration" | "stop_hook_summary")) =>
            {
                if self.state.turn == Turn::Open && self.state.is_seen {
                    self.state.turn = Turn::Over;
                }
            }
            (b"custom-title", _) => {
                let title = record.custom_title.as_deref().and_then(title);
                self.state.is_titled |= title.is_some();
                self.describe(Description { title, ..Description::default() }, say);
            }
            (_, _) => {}
        }
    }

    fn stop(&mut self, say: &mut Vec<Said>) {
        if let Some(last) = std::mem::take(&mut self.doing).text() {
            let action = Action { last: Some(last), next: None };
            say.push(Said::of(None, self.keys(), NodeFact::Active(action)));
        }
    }

    fn conclude(&self, beside: &Beside<'_>, say: &mut Vec<Said>) {
        if !self.state.is_seen {
            return;
        }
        let (mut keys, note) = (self.keys(), Note::of(beside));
        if let Own::Agent(_, session) = &self.own {
            keys.more.extend(note.call.as_deref().map(|call| NodeKey::ToolUse(call.into())));
            let above = note.parent.as_deref().map(|agent| NodeKey::CliAgent(TOOL.into(), agent.into()));
            let session = session.as_ref().or(self.state.session.as_ref());
            let session = session.map(|id| NodeKey::CliSession(TOOL.into(), Arc::clone(id)));
            say.extend(
                above
                    .or(session)
                    .map(|above| Said::of(None, keys.clone(), NodeFact::Under(Box::new(above.into())))),
            );
            self.state.spawns.hang(note.call.as_deref(), &self.key, say);
            // Without a note beside it, the call that started it describes it; where none is known, its prompt does.
            let is_hearsay = beside.side.is_none();
            let prompt = self.state.prompt.clone();
            let title = note.description.as_deref().map(|text| cut(text, WHY)).or(prompt);
            let agent = note.agent.as_deref().map(Name::from).or_else(|| self.state.agent.clone());
            let depth = note.depth.and_then(|depth| u32::try_from(depth).ok());
            let description = Description { title, agent, depth, is_hearsay, ..Description::default() };
            say.push(Said::of(None, keys.clone(), NodeFact::Described(Box::new(description))));
        } else {
            if let Process::Alive { pid, start: Some(start) } = beside.process {
                keys.more.push(NodeKey::Process(pid, start));
            }
            let moment = |at: Option<i64>| at.map(Stamp::from_millis);
            rank(moment(self.state.first), moment(self.state.last), &keys, beside, say);
            // It is never paid: its messages are, and those of a copy by another session.
            say.extend(self.state.told_cost.map(|cost| {
                let (scope, sent, cost) = (Scope::Total, Sent::Elsewhere, Some(Usd(cost)));
                let report = UsageReport { scope, cost, sent, ..UsageReport::default() };
                Said::of(None, keys.clone(), NodeFact::Used(Box::new(report)))
            }));
        }
        let alive = matches!(beside.process, Process::Alive { .. });
        say.push(Said::of(None, keys.clone(), NodeFact::MaySleep(patience(beside.process))));
        let last = self.state.last.map(Stamp::from_millis);
        say.push(Said::of(last, keys, self.stands(beside, &note, alive)));
    }

    fn lasts(&self, beside: &Beside<'_>) -> Lasts {
        let last = self.state.last.map(Stamp::from_millis);
        Lasts {
            is_side_final: Note::of(beside).is_finished,
            ..Lasts::after(last, &[RECENT, ABANDONED], beside.now)
        }
    }

    fn state(&self) -> Value {
        serde_json::to_value(&self.state).unwrap_or_default()
    }

    fn kept(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(&self.state).ok()
    }
}

impl Reader {
    /// Returns how it stands, by its last turn, by the note beside it and by its process.
    fn stands(&self, beside: &Beside<'_>, note: &Note<'_>, alive: bool) -> NodeFact {
        let last = self.state.last.map(Stamp::from_millis);
        let is_old = last.is_none_or(|last| beside.now.since(last) > ABANDONED);
        match &self.state.turn {
            // It can be spoken to: it waits for its person.
            Turn::Over | Turn::Interrupted if alive && self.is_session() => status("idle", None),
            Turn::Over => status("completed", None),
            Turn::Failed(why) => status("failed", Some(why.clone())),
            Turn::Interrupted => status("interrupted", None),
            Turn::Open if note.is_finished => status("completed", None),
            Turn::Open if is_old && !alive => {
                status("abandoned", Some("its last turn did not end, and no process of it runs".into()))
            }
            Turn::Open => status("running", None),
        }
    }
}

/// Says what a message used. The model is most likely the one that is known, and then not named anew.
fn used(
    keys: Keys,
    record: &Record<'_>,
    message: &Message<'_>,
    known: Option<&Name>,
    at: Option<Stamp>,
) -> Option<Said> {
    let usage = message.usage.as_ref()?;
    let id = message.id.clone().or_else(|| record.uuid.and_then(Raw::text));
    let same = |model: &str| known.filter(|known| &***known == model).cloned();
    let report = UsageReport {
        id: UsageReport::id_of(id.as_deref(), record.request_id.as_deref()),
        model: message.model.as_deref().map(|model| same(model).unwrap_or_else(|| model.into())),
        tokens: usage.tokens(),
        hour_cache: usage.hour_cache(),
        is_fast: usage.is_fast(),
        searches: usage.searches(),
        sent: if record.is_copy { Sent::Elsewhere } else { Sent::Unknown },
        ..UsageReport::default()
    };
    Some(Said::of(at, keys, NodeFact::Used(Box::new(report))))
}

fn active(block: &Block<'_>) -> NodeFact {
    let last = block.name.and_then(Raw::text).map(|name| call(&name, block.input));
    NodeFact::Active(Action { last, next: None })
}
