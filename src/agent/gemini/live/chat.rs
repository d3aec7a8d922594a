//! What the chat files tell that the stream does not: thoughts, what each message used, and all of the sub-agents.

use super::super::answer_of;
use super::super::record::{Call, Header, Message, Record};
use super::super::trail::{OBJECTIVE, SCENE};
use super::{COMPLETE, GeminiAdapter, INVOKE, Made, hear, parent};
use crate::agent::excerpt;
use crate::agent::lines::Line;
use crate::agent::log::{Entry, Started, Status, Usage};
use crate::model::id::AgentId;

impl GeminiAdapter {
    /// Takes a line of a chat file.
    pub(super) fn read(&mut self, nth: u32, line: &Line, made: &mut Made) {
        let Some(file) = self.files.get(&nth).filter(|file| !file.is_foreign) else { return };
        let agent = file.agent.clone();
        let Some(record) = Record::of(line) else { return };
        if let Some(header) = &record.header
            && self.is_foreign(agent.as_ref(), header)
        {
            if let Some(file) = self.files.get_mut(&nth) {
                file.is_foreign = true;
            }
            return;
        }
        for message in &record.messages {
            match &agent {
                Some(agent) => self.of_agent(nth, agent, message, made),
                None => self.own(message, made),
            }
        }
        let Some(patch) = &record.patch else { return };
        // What is listed again, as when a chat is resumed, is no news but for what it used.
        for message in &patch.messages {
            made.extend(self.used(message).map(|usage| (agent.clone(), usage)));
        }
        if let (Some(agent), Some(summary)) = (agent, &patch.summary)
            && self.is_at_work(&agent)
        {
            let text = hear::cut(&answer_of(summary));
            made.push((Some(agent), Entry::AgentEnded { status: Status::Done, text }));
        }
    }

    /// Names of files have only the beginning of a session's id; and a session that is gone on with has files of the
    /// agents of its earlier runs.
    fn is_foreign(&self, agent: Option<&AgentId>, header: &Header) -> bool {
        match agent {
            Some(agent) => {
                let is_earlier =
                    header.start_time.zip(self.began).is_some_and(|(start, began)| start < began);
                is_earlier && !self.agents.contains_key(agent)
            }
            None => header.session_id.as_deref() != self.brief.session.as_deref(),
        }
    }

    /// Takes a message of the session's own agent: what it says and does is heard in the stream already.
    fn own(&self, message: &Message, made: &mut Made) {
        if message.by.as_deref() != Some("gemini") {
            return;
        }
        let is_of_run = self.began.is_some() && message.timestamp >= self.began;
        if is_of_run {
            self.thoughts(message, None, made);
        }
        for call in &message.tool_calls {
            self.ended(call, made);
        }
        made.extend(self.used(message).map(|usage| (None, usage)));
    }

    fn of_agent(&mut self, nth: u32, agent: &AgentId, message: &Message, made: &mut Made) {
        let (text, is_started) = (message.text(), self.agents.contains_key(agent));
        let is_begun = is_started || made.iter().any(|(_, entry)| matches!(entry, Entry::AgentStarted(_)));
        match message.by.as_deref() {
            Some("user") if is_begun || text.starts_with(SCENE) => {}
            Some("user") => made.push((Some(agent.clone()), self.started(nth, &text))),
            Some("gemini") => {
                if !is_begun {
                    made.push((Some(agent.clone()), self.started(nth, "")));
                }
                self.thoughts(message, Some(agent), made);
                let is_new = message.id.as_ref().is_none_or(|id| !self.told.contains(id));
                if is_new && !text.is_empty() {
                    made.push((Some(agent.clone()), hear::output(&text)));
                }
                for call in &message.tool_calls {
                    self.called(agent, call, made);
                    self.ended(call, made);
                }
                // Last: what is told of a message is whole when this is in the log.
                made.extend(self.used(message).map(|usage| (Some(agent.clone()), usage)));
            }
            Some("error") => made.push((Some(agent.clone()), hear::output(&text))),
            _ => {}
        }
    }

    fn thoughts(&self, message: &Message, agent: Option<&AgentId>, made: &mut Made) {
        if message.id.as_ref().is_some_and(|id| self.told.contains(id)) {
            return;
        }
        for thought in &message.thoughts {
            let text = format!("{}\n{}", thought.subject, thought.description);
            made.push((agent.cloned(), Entry::Thought { text: hear::cut(text.trim()) }));
        }
    }

    /// Tells of a tool that a sub-agent used: it is written down when it has answered.
    fn called(&self, agent: &AgentId, call: &Call, made: &mut Made) {
        if call.id.as_ref().is_some_and(|id| self.told.contains(id)) || call.name == COMPLETE {
            return;
        }
        let (id, name) = (call.id.clone(), call.name.clone());
        let input = excerpt::purpose(&call.args);
        made.push((Some(agent.clone()), Entry::Tool { id: id.clone(), name, input }));
        let text = call.answer().map(excerpt::brief).unwrap_or_default();
        made.push((Some(agent.clone()), Entry::ToolResult { id, ok: Some(call.worked()), text }));
    }

    /// Tells how a sub-agent ended, as the call that invoked it says: one that never said that it is done.
    fn ended(&self, call: &Call, made: &mut Made) {
        let agent = call.agent_id.as_deref().filter(|_| call.name == INVOKE).map(AgentId::from);
        let Some(agent) = agent.filter(|agent| self.is_at_work(agent)) else { return };
        let status = match (call.status.as_deref(), call.termination()) {
            (_, Some("GOAL")) | (Some("success"), None) => Status::Done,
            (_, Some("ABORTED")) | (Some("cancelled"), _) => Status::Cancelled,
            (_, Some("TIMEOUT")) => Status::TimedOut,
            _ => Status::Failed,
        };
        let text = hear::cut(call.answer().unwrap_or_default());
        made.push((Some(agent), Entry::AgentEnded { status, text }));
    }

    fn is_at_work(&self, agent: &AgentId) -> bool {
        self.agents.get(agent).is_some_and(|agent| !agent.has_ended)
    }

    /// Tells of a sub-agent that began: which call it was shows in its task.
    fn started(&self, nth: u32, text: &str) -> Entry {
        let is_it = |call: &&super::Call| {
            !call.is_answered && !call.title.is_empty() && text.contains(call.title.as_str())
        };
        let call = self.calls.iter().find(|(_, call)| is_it(call));
        let task = text.split_once(OBJECTIVE).map_or(text, |(_, task)| task);
        let task = task.split_once("</objective>").map_or(task, |(task, _)| task).trim();
        let above = self.files.get(&nth).and_then(|file| parent(&file.path)).map(AgentId::from);
        Entry::AgentStarted(Started {
            parent: above.filter(|above| self.agents.contains_key(above)),
            title: excerpt::title(task),
            task: Some(hear::cut(task)).filter(|task| !task.is_empty()),
            kind: call.map(|(_, call)| call.kind.clone()).filter(|kind| !kind.is_empty()),
            call: call.map(|(id, _)| id.clone()),
            ..Started::default()
        })
    }

    fn used(&self, message: &Message) -> Option<Entry> {
        let (id, tokens) = (message.id.as_ref()?, message.tokens.as_ref()?.tokens());
        if self.spent.get(id) == Some(&tokens) {
            return None;
        }
        Some(Entry::Usage(Usage {
            message_id: Some(id.clone()),
            is_shared: true,
            model: message.model.clone(),
            tokens,
            ..Usage::default()
        }))
    }
}
