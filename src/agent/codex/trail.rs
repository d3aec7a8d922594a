//! A rollout's lines, as statements about its thread.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::line::{Counted, Event, Failure, Item, Meta, Record, TurnContext, TurnItem, UsageRecord, text_of};
use super::replay::Replay;
use super::{TOOL, key, wire};
use crate::agent::excerpt;
use crate::agent::lines::Line;
use crate::agent::trail::{Beside, Lasts, RECENT, SILENT, Said, Trail, rank, silence};
use crate::model::fact::{Action, Clock, Description, NodeFact, StatusReport, UsageReport};
use crate::model::handoff::Outcome;
use crate::model::node::NodeKind;
use crate::model::time::Stamp;
use crate::model::usage::{Context, Tokens};
use crate::model::words::Field;

/// Reads a rollout.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Rollout {
    replay: Replay,
    /// The model of the turn that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Box<str>>,
    /// What the thread was charged so far, by its own count.
    charged: u64,
    tells: Tells,
    /// Whether it says which thread began it. A review does not.
    is_below: bool,
    is_titled: bool,
    /// Whether it was last told to work.
    is_running: bool,
    /// When it was begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<Stamp>,
    /// When it was last heard of.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<Stamp>,
    /// What the turn that runs complained about.
    #[serde(skip_serializing_if = "Option::is_none")]
    complaint: Option<Box<str>>,
}

/// What the version that writes the file tells; older ones tell less.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
struct Tells {
    /// What each response was charged: then the running counts only repeat it.
    records: bool,
    /// When turns begin and end.
    turns: bool,
}

impl Rollout {
    /// Goes on from a state that was put aside; from one that is none of ours, from the beginning.
    pub fn resume(state: &Value) -> Self {
        Self::deserialize(state).unwrap_or_default()
    }
}

impl Trail for Rollout {
    fn line(&mut self, line: &Line, say: &mut Vec<Said>) {
        let Some(record) = Record::of(line) else { return };
        let before = say.len();
        self.record(&record, say);
        if say.len() > before {
            self.last = record.at().max(self.last);
        }
    }

    fn conclude(&self, beside: &Beside<'_>, say: &mut Vec<Said>) {
        let Some(thread) = self.replay.thread.as_deref() else { return };
        let keys = key(thread).into();
        if !self.is_below {
            rank(self.first, self.last, &keys, beside, say);
        }
        if self.is_running {
            silence(self.last, &keys, beside, say);
        }
    }

    fn lasts(&self, beside: &Beside<'_>) -> Lasts {
        let spans: &[Duration] = if self.is_running { &[RECENT, SILENT] } else { &[RECENT] };
        Lasts::after(self.last, spans, beside.now)
    }

    fn state(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Rollout {
    fn record(&mut self, record: &Record<'_>, say: &mut Vec<Said>) {
        let at = record.at();
        if record.kind == "session_meta" {
            if let Some(meta) = wire::part::<Meta>(record.payload) {
                self.meta(&meta, at, say);
            }
            return;
        }
        let Some(thread) = self.replay.thread.clone() else { return };
        let mut voice = Voice { at, thread: &thread, say };
        match &*record.kind {
            "turn_context" => {
                if let Some(context) = wire::part::<TurnContext<'_>>(record.payload)
                    && !self.replay.covers(context.turn_id.as_deref(), at)
                {
                    self.context(&context, &mut voice);
                }
            }
            "event_msg" => {
                if let Some(event) = wire::part::<Event<'_>>(record.payload) {
                    let copied = self.replay.covers(event.turn_id.as_deref(), at);
                    self.event(&event, copied, &mut voice);
                }
            }
            "response_item" if !self.replay.covers(None, at) => {
                if let Some(item) = wire::part::<Item<'_>>(record.payload)
                    && let Some(tool) = item.tool()
                {
                    voice.acts(excerpt::action(tool, &excerpt::purpose(&item.input())));
                    self.goes_on(&mut voice);
                }
            }
            "token_usage_record" => {
                if let Some(record) = wire::part::<UsageRecord<'_>>(record.payload) {
                    let copied = self.replay.covers(record.turn_id.as_deref(), at);
                    self.charge(&record, copied, &mut voice);
                }
            }
            _ => {}
        }
    }

    fn meta(&mut self, meta: &Meta, at: Option<Stamp>, say: &mut Vec<Said>) {
        if !self.replay.meta(&meta.id, meta.forked_from_id.is_some(), at) {
            return;
        }
        let mut voice = Voice { at, thread: &meta.id, say };
        let spawn = meta.spawn();
        let kind = if spawn.is_some() { NodeKind::Agent } else { NodeKind::Session };
        voice.says(NodeFact::Seen(kind));
        let spawn = spawn.unwrap_or_default();
        let parent = spawn.parent_thread_id.as_ref().or(meta.parent_thread_id.as_ref());
        self.is_below = parent.is_some();
        if let Some(parent) = parent {
            voice.says(NodeFact::Under(Box::new(key(parent).into())));
        }
        let nickname = spawn.agent_nickname.or_else(|| meta.agent_nickname.clone());
        let agent = match (nickname, spawn.agent_role) {
            (Some(name), Some(role)) => format!("{name} [{role}]"),
            (Some(name), None) | (None, Some(name)) => name,
            (None, None) => TOOL.to_owned(),
        };
        voice.says(NodeFact::Described(Box::new(Description {
            agent: Some(agent.into()),
            provider: Some(TOOL.into()),
            depth: spawn.depth,
            path: spawn.agent_path.as_deref().map(steps),
            workspace: meta.cwd.clone(),
            ..Description::default()
        })));
        self.first = meta.timestamp.or(at);
        if let Some(created) = self.first {
            voice.says(NodeFact::Clock(Clock::Created, created));
            // There is a file once something was asked.
            voice.says(NodeFact::Clock(Clock::Started, created));
        }
    }

    fn context(&mut self, context: &TurnContext<'_>, voice: &mut Voice<'_>) {
        let Some(model) = context.model.as_deref() else { return };
        if self.model.as_deref() != Some(model) {
            self.model = Some(model.into());
            voice.describes(Description { model_effective: Some(model.into()), ..Description::default() });
        }
    }

    fn event(&mut self, event: &Event<'_>, copied: bool, voice: &mut Voice<'_>) {
        if event.kind == "token_count" {
            // Also in a copy: its count is where the own one begins.
            if let Some(counted) = wire::part::<Counted>(event.info) {
                self.count(&counted, copied, voice);
            }
            return;
        }
        if copied {
            return;
        }
        match &*event.kind {
            "task_started" | "turn_started" => {
                (self.complaint, self.tells.turns, self.is_running) = (None, true, true);
                voice.stands("running", None);
            }
            "task_complete" | "turn_complete" => self.complete(event, voice),
            "turn_aborted" => {
                let why =
                    event.reason.as_deref().filter(|reason| *reason != "interrupted").map(str::to_owned);
                self.is_running = false;
                voice.stands("interrupted", why);
            }
            "error" => self.complaint = event.message.as_deref().map(Into::into),
            "user_message" => {
                self.title(event.message.as_deref().unwrap_or_default(), voice);
                self.goes_on(voice);
            }
            "agent_message" if !self.tells.turns => {
                voice.returns(event.message.as_deref().unwrap_or_default());
                voice.stands("answered", None);
                self.is_running = false;
            }
            "item_completed" => {
                if let Some(item) = wire::part::<TurnItem<'_>>(event.item) {
                    self.item(&item, voice);
                }
            }
            _ => {}
        }
    }

    fn complete(&mut self, event: &Event<'_>, voice: &mut Voice<'_>) {
        let failure = wire::part::<Failure>(event.error);
        let message = event.last_agent_message.as_deref().filter(|message| !message.is_empty());
        // Older versions tell the error before, and then that the turn is complete.
        let complaint = self.complaint.take().filter(|_| message.is_none());
        voice.returns(message.unwrap_or_default());
        self.is_running = false;
        match (failure, complaint) {
            (Some(failure), _) => voice.stands("failed", failure.message),
            (None, Some(complaint)) => voice.stands("failed", Some(complaint.into())),
            (None, None) => voice.stands("completed", None),
        }
    }

    fn item(&mut self, item: &TurnItem<'_>, voice: &mut Voice<'_>) {
        match &*item.kind {
            "UserMessage" => self.title(&text_of(item.content), voice),
            "CollabAgentToolCall" if item.tool.as_deref() == Some("spawn_agent") => {
                for child in &item.receiver_agents {
                    let title = item.prompt.as_deref().and_then(excerpt::title);
                    voice.spawns(&child.thread_id, title, child.agent_nickname.as_deref(), None);
                }
            }
            "SubAgentActivity" => {
                if let Some(child) = &item.agent_thread_id {
                    let path = item.agent_path.as_deref();
                    let task = path.and_then(|path| path.rsplit('/').next()).map(str::to_owned);
                    voice.spawns(child, task, None, path);
                }
            }
            _ => {}
        }
    }

    /// A thread whose turns are not told is seen to work.
    fn goes_on(&mut self, voice: &mut Voice<'_>) {
        if !self.tells.turns {
            self.is_running = true;
            voice.stands("running", None);
        }
    }

    /// The first thing that a person says is what a thread is about.
    fn title(&mut self, prompt: &str, voice: &mut Voice<'_>) {
        if !self.is_titled
            && let Some(title) = excerpt::title(prompt)
        {
            self.is_titled = true;
            voice.describes(Description { title: Some(title), ..Description::default() });
        }
    }

    /// What one response was charged, by its id.
    fn charge(&mut self, record: &UsageRecord<'_>, copied: bool, voice: &mut Voice<'_>) {
        if let Some(total) = &record.thread_token_usage {
            self.charged = total.total;
        }
        let is_own = record.thread_id.as_deref().is_none_or(|thread| thread == voice.thread);
        if copied || !is_own {
            return;
        }
        self.tells.records = true;
        let id = record.response_id.as_deref().map(str::to_owned);
        let id = id.unwrap_or_else(|| format!("{}+{}", voice.thread, self.charged));
        voice.uses(&id, self.model.as_deref(), record.usage.tokens());
    }

    /// A running count: the same as before is told again.
    fn count(&mut self, counted: &Counted, copied: bool, voice: &mut Voice<'_>) {
        let total = counted.total_token_usage.as_ref().map(|total| total.total);
        // A smaller count than before is one that began anew.
        let grown = total.is_some_and(|total| total != self.charged);
        self.charged = total.unwrap_or(self.charged);
        if copied {
            return;
        }
        let Some(last) = &counted.last_token_usage else { return };
        if grown && !self.tells.records {
            let id = format!("{}+{}", voice.thread, self.charged);
            voice.uses(&id, self.model.as_deref(), last.tokens());
        }
        let (used, size) = (last.total, counted.model_context_window);
        voice.says(NodeFact::Filled(Context { used, size }));
    }
}

/// Says things of one thread, at one moment.
struct Voice<'a> {
    at: Option<Stamp>,
    thread: &'a str,
    say: &'a mut Vec<Said>,
}

impl Voice<'_> {
    fn says(&mut self, what: NodeFact) {
        self.say.push(Said::of(self.at, key(self.thread), what));
    }

    fn describes(&mut self, description: Description) {
        self.says(NodeFact::Described(Box::new(description)));
    }

    fn stands(&mut self, word: &'static str, why: Option<String>) {
        self.says(NodeFact::Status(Box::new(StatusReport { why, ..StatusReport::of(Field::Session, word) })));
    }

    fn returns(&mut self, summary: &str) {
        if !summary.is_empty() {
            let outcome = Outcome { summary: Some(summary.to_owned()), ..Outcome::default() };
            self.says(NodeFact::Returned(Box::new(outcome)));
        }
    }

    fn acts(&mut self, last: String) {
        self.says(NodeFact::Active(Action { last: Some(last), next: None }));
    }

    fn uses(&mut self, id: &str, model: Option<&str>, tokens: Tokens) {
        let model = model.map(Into::into);
        let report = UsageReport { id: Some(id.into()), model, tokens, ..UsageReport::default() };
        self.says(NodeFact::Used(Box::new(report)));
    }

    /// Says that a thread is below this one: its own file, which says more, may be gone.
    fn spawns(&mut self, child: &str, title: Option<String>, agent: Option<&str>, path: Option<&str>) {
        let under = key(self.thread).into();
        let mut say = |what| self.say.push(Said::of(self.at, key(child), what));
        say(NodeFact::Seen(NodeKind::Agent));
        say(NodeFact::Under(Box::new(under)));
        let (agent, path) = (agent.map(Into::into), path.map(steps));
        let provider = Some(TOOL.into());
        say(NodeFact::Described(Box::new(Description {
            title,
            agent,
            provider,
            path,
            is_hearsay: true,
            ..Description::default()
        })));
    }
}

/// Returns the steps of an agent's path, such as `/root/part_a`.
fn steps(path: &str) -> Vec<String> {
    path.split('/').filter(|step| !step.is_empty()).map(str::to_owned).collect()
}
