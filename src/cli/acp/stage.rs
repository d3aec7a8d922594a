//! Who takes part in a turn: the steps below what was begun, each with the logs of its attempts. What is handed on is
//! announced as a tool call and a sub-agent, and the session is in its agent's mode until it is over.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use agent_client_protocol_schema::v1::{
    CurrentModeUpdate, RunningStateUpdate, SessionUpdate, StateUpdate, SubagentUpdate, ToolCall,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use serde_json::json;

use super::talk::{Host, Said};
use super::voice::{self, Asked, Cue, Voice};
use crate::agent::log::{LogLine, Status};
use crate::config::Config;
use crate::model::Model;
use crate::model::id::{DelegationId, QuestionId, SessionId, SubtaskId};
use crate::model::key::NodeKey;
use crate::model::node::Node;
use crate::model::status::StatusWord;
use crate::model::text;
use crate::report::text::title;
use crate::session::tail::Tail;
use crate::store::folder::StateFolder;

/// What the editor is to be told or asked.
#[derive(Debug, PartialEq)]
pub(super) enum Out {
    Update(String, Box<SessionUpdate>),
    /// An agent of a step asks.
    Question {
        delegation: DelegationId,
        subtask: SubtaskId,
        asked: Asked,
    },
    Withdrawn(QuestionId),
    /// An agent wants to hand something on, and may not without a person.
    Offer {
        delegation: DelegationId,
        agent: String,
        title: String,
    },
}

/// The steps of a turn.
pub(super) struct Stage<'a> {
    folder: &'a StateFolder,
    config: &'a Config,
    /// The session of the editor's.
    session: String,
    shows_agents: bool,
    top: DelegationId,
    /// Who speaks for the session itself; nobody where the person handed something over.
    host: Option<Host>,
    /// The mode that the session was in, and is in.
    rest: String,
    mode: String,
    parts: Vec<Part>,
    /// Which of them spoke last in the session itself.
    speaker: Option<usize>,
    offers: BTreeSet<DelegationId>,
}

/// One step.
struct Part {
    delegation: DelegationId,
    subtask: SubtaskId,
    agent: String,
    voice: Voice,
    logs: BTreeMap<SessionId, Tail>,
    is_host: bool,
    has_ended: bool,
}

impl Part {
    fn key(&self) -> NodeKey {
        NodeKey::Subtask(self.delegation.clone(), self.subtask.clone())
    }

    /// The name of the call that announces it, and of its own session.
    fn name(&self) -> String {
        format!("{}/{}", self.delegation, self.subtask)
    }
}

/// Where a turn is played.
pub(super) struct Scene<'a> {
    pub folder: &'a StateFolder,
    pub config: &'a Config,
    pub session: &'a str,
    pub shows_agents: bool,
    pub mode: String,
}

impl<'a> Stage<'a> {
    pub(super) fn new(scene: Scene<'a>, top: DelegationId, host: Option<Host>) -> Self {
        Self {
            folder: scene.folder,
            config: scene.config,
            session: scene.session.to_owned(),
            shows_agents: scene.shows_agents,
            top,
            host,
            rest: scene.mode.clone(),
            mode: scene.mode,
            parts: Vec::new(),
            speaker: None,
            offers: BTreeSet::new(),
        }
    }

    /// Looks at what is there now, and returns what is new in it.
    pub(super) fn look(&mut self, model: &Model) -> io::Result<Vec<Out>> {
        let mut out = Vec::new();
        let Some(top) = model.find(&NodeKey::Delegation(self.top.clone())) else { return Ok(out) };
        for (_, node) in model.subtree(top) {
            self.meet(node, &mut out);
        }
        // A log is written before the end is told: what is known to be over by now has its last line there.
        let over: Vec<bool> = self.parts.iter().map(|part| is_over(model, &part.key())).collect();
        for (nth, part) in self.parts.iter_mut().enumerate() {
            if part.voice.session == self.session && self.speaker.is_some_and(|speaker| speaker != nth) {
                part.voice.interrupt();
            }
            let before = part.voice.said.len();
            listen(part, &mut out)?;
            if part.voice.session == self.session && part.voice.said.len() > before {
                self.speaker = Some(nth);
            }
        }
        for (nth, _) in over.iter().enumerate().filter(|(_, over)| **over) {
            self.part_with(nth, model, &mut out);
        }
        Ok(out)
    }

    /// Returns what its parts said, the host first.
    pub(super) fn said(&self) -> Vec<Said> {
        let mut parts: Vec<&Part> = self.parts.iter().collect();
        parts.sort_by_key(|part| !part.is_host);
        parts.iter().map(|part| Said { by: part.agent.clone(), text: part.voice.said.clone() }).collect()
    }

    /// Takes a node in: a step that began, or what waits for a person.
    fn meet(&mut self, node: &Node, out: &mut Vec<Out>) {
        if let Some((delegation, subtask)) = node.keys.iter().find_map(NodeKey::subtask) {
            let attempts = node.attempts.iter().filter_map(|attempt| attempt.session_id.clone());
            let attempts: Vec<SessionId> = attempts.collect();
            if attempts.is_empty() {
                return;
            }
            let is_it = |part: &Part| part.delegation == *delegation && part.subtask == *subtask;
            let nth = self.parts.iter().position(is_it).unwrap_or_else(|| {
                self.enter(node, delegation, subtask, out);
                self.parts.len() - 1
            });
            let Some(part) = self.parts.get_mut(nth) else { return };
            for attempt in attempts {
                if let (false, Ok(path)) =
                    (part.logs.contains_key(&attempt), self.folder.session_dir(attempt.as_str()))
                {
                    part.logs.insert(attempt, Tail::new(path.join("log.jsonl")));
                }
            }
        } else if let Some(delegation) = node.keys.iter().find_map(NodeKey::delegation)
            && node.status.word() == StatusWord::Offered
            && self.offers.insert(delegation.clone())
        {
            let agent = node.agent.as_ref().map_or("", |name| &**name).to_owned();
            out.push(Out::Offer { delegation: delegation.clone(), agent, title: title(node) });
        }
    }

    /// A step begins: the host's own, or one that is announced.
    fn enter(&mut self, node: &Node, delegation: &DelegationId, subtask: &SubtaskId, out: &mut Vec<Out>) {
        let agent = node.agent.as_ref().map_or("agent", |name| &**name).to_owned();
        let kind = self.config.agent(Some(&agent)).ok().map(|agent| agent.kind);
        let host = self.host.as_ref().filter(|_| *delegation == self.top);
        let (delegation, subtask) = (delegation.clone(), subtask.clone());
        let name = format!("{delegation}/{subtask}");
        let (session, source) = match host {
            Some(host) => (self.session.clone(), host.source.clone()),
            None if self.shows_agents => (name, agent.clone()),
            None => (self.session.clone(), agent.clone()),
        };
        let is_host = host.is_some();
        let mut voice = Voice::new(session, source, agent.clone(), kind).showing_agents(self.shows_agents);
        if !is_host {
            voice = voice.of_delegation(delegation.as_str());
        }
        let part =
            Part { delegation, subtask, agent, voice, logs: BTreeMap::new(), is_host, has_ended: false };
        if !is_host {
            self.announce(&part, &title(node), out);
        }
        self.parts.push(part);
    }

    fn announce(&mut self, part: &Part, title: &str, out: &mut Vec<Out>) {
        let (name, agent) = (part.name(), &part.agent);
        let title = text::line(title);
        let input = json!({ "user_prompt": title, "provider": agent });
        let call = ToolCall::new(name.clone(), format!("{agent}: {title}"))
            .name(format!("{agent}.run"))
            .status(ToolCallStatus::InProgress)
            .raw_input(input)
            .meta(part.voice.meta());
        self.tell(SessionUpdate::ToolCall(call), out);
        if self.shows_agents {
            let update = SubagentUpdate::new(name)
                .title(format!("{agent}: {title}"))
                .state(StateUpdate::Running(RunningStateUpdate::new()));
            self.tell(SessionUpdate::SubagentUpdate(update), out);
        }
        self.turn_to(agent.clone(), out);
    }

    /// A step is over: the next one that still works has the session, or its host.
    fn part_with(&mut self, nth: usize, model: &Model, out: &mut Vec<Out>) {
        let Some(part) = self.parts.get_mut(nth).filter(|part| !part.has_ended && !part.is_host) else {
            return;
        };
        part.has_ended = true;
        let node = model.find(&part.key()).and_then(|ix| model.get(ix));
        let (word, why) =
            node.map_or((StatusWord::Unknown, None), |node| (node.status.word(), node.status.why()));
        let is_good =
            matches!(word, StatusWord::Done | StatusWord::Partial | StatusWord::Skipped | StatusWord::Review);
        let (status, call) = match (is_good, word == StatusWord::Cancelled) {
            (true, _) => (Status::Done, ToolCallStatus::Completed),
            (false, true) => (Status::Cancelled, ToolCallStatus::Failed),
            (false, false) => (Status::Failed, ToolCallStatus::Failed),
        };
        let told = match why.filter(|_| word != StatusWord::Done) {
            Some(why) => format!("{}: {}", word.as_str(), text::lines(why)),
            None => word.as_str().to_owned(),
        };
        let (name, meta) = (part.name(), part.voice.meta());
        let fields = ToolCallUpdateFields::new().status(call).raw_output(json!(told));
        self.tell(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(name.clone(), fields).meta(meta)), out);
        if self.shows_agents {
            self.tell(voice::ended(&name, status), out);
        }
        let next = self.parts.iter().rev().find(|part| !part.has_ended && !part.is_host);
        let next = next.map_or_else(|| self.rest.clone(), |part| part.agent.clone());
        self.turn_to(next, out);
    }

    fn turn_to(&mut self, mode: String, out: &mut Vec<Out>) {
        if self.mode != mode {
            self.tell(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode.clone())), out);
            self.mode = mode;
        }
    }

    fn tell(&self, update: SessionUpdate, out: &mut Vec<Out>) {
        out.push(Out::Update(self.session.clone(), Box::new(update)));
    }
}

/// Reads on in the logs of a step.
fn listen(part: &mut Part, out: &mut Vec<Out>) -> io::Result<()> {
    let Part { delegation, subtask, voice, logs, .. } = part;
    for (attempt, log) in logs {
        for line in log.lines()? {
            let Ok(line) = serde_json::from_slice::<LogLine>(&line.bytes) else { continue };
            out.extend(voice.hear(attempt, &line).into_iter().map(|cue| match cue {
                Cue::Update(session, update) => Out::Update(session, update),
                Cue::Withdrawn(id) => Out::Withdrawn(id),
                Cue::Question(asked) => {
                    Out::Question { delegation: delegation.clone(), subtask: subtask.clone(), asked }
                }
            }));
        }
    }
    Ok(())
}

fn is_over(model: &Model, key: &NodeKey) -> bool {
    model
        .find(key)
        .and_then(|ix| model.get(ix))
        .is_some_and(|node| node.status.is_ended() || node.status.word() == StatusWord::Review)
}
