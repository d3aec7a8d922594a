//! The sub-agents of a session: threads below its own, as the threads above them and their own turns tell.

use serde_json::Value;

use super::hear::{cut, is_id};
use super::item::LONGEST_TEXT;
use super::{Agent, CodexAdapter, Made};
use crate::agent::excerpt;
use crate::agent::log::{Entry, Named, Started, Status};
use crate::model::id::AgentId;

impl CodexAdapter {
    /// The first kind of sub-agents: a call names them, and says what they are to do.
    pub(super) fn spawned(&self, item: &Value, made: &mut Made) {
        let prompt = item["prompt"].as_str().unwrap_or_default();
        for thread in item["receiverThreadIds"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let started = Started {
                parent: self.below(&item["senderThreadId"]),
                title: excerpt::title(prompt),
                task: Some(cut(prompt, LONGEST_TEXT)).filter(|task| !task.is_empty()),
                model: item["model"].as_str().filter(|model| !model.is_empty()).map(str::to_owned),
                call: item["id"].as_str().map(str::to_owned),
                is_background: true,
                ..Started::default()
            };
            made.extend(self.begins(thread, started));
        }
    }

    /// The second kind: told as something that happens in the thread above, by a path and no task.
    pub(super) fn activity(&self, params: &Value) -> Option<(Option<AgentId>, Entry)> {
        let item = &params["item"];
        let thread = item["agentThreadId"].as_str()?;
        match item["kind"].as_str()? {
            "started" => {
                let path = item["agentPath"].as_str().unwrap_or_default();
                let name = path.rsplit('/').next().filter(|name| !name.is_empty());
                let started = Started {
                    parent: self.below(&params["threadId"]),
                    title: name.map(excerpt::brief),
                    model: item["model"].as_str().map(str::to_owned),
                    call: item["id"].as_str().map(str::to_owned),
                    is_background: true,
                    ..Started::default()
                };
                self.begins(thread, started)
            }
            "interrupted" => {
                self.ended(&item["agentThreadId"], Status::Cancelled, "it was interrupted".into())
            }
            // Its own turn says how it ended, and comes before.
            _ => None,
        }
    }

    /// Returns that a sub-agent begins, where that is news.
    fn begins(&self, thread: &str, started: Started) -> Option<(Option<AgentId>, Entry)> {
        if !is_id(thread) || self.thread.as_deref() == Some(thread) {
            return None;
        }
        let id = AgentId::from(thread);
        let file = match self.agents.get(&id) {
            None => self.next_file(),
            // It was heard before anybody said who began it.
            Some(known) if known.started.call.is_none() => known.file,
            Some(_) => return None,
        };
        Some((Some(id), Entry::AgentStarted(Started { file: Some(file), ..started })))
    }

    /// Returns what the thread above says of how a sub-agent is.
    pub(super) fn state(&self, thread: &str, state: &Value) -> Option<(Option<AgentId>, Entry)> {
        let status = match state["status"].as_str()? {
            "completed" => Status::Done,
            "errored" => Status::Failed,
            "shutdown" | "interrupted" => Status::Cancelled,
            _ => return None,
        };
        let text = cut(state["message"].as_str().unwrap_or_default(), LONGEST_TEXT);
        self.ended(&Value::from(thread), status, text)
    }

    /// Returns that a sub-agent ended, where that is news.
    pub(super) fn ended(
        &self,
        thread: &Value,
        status: Status,
        text: String,
    ) -> Option<(Option<AgentId>, Entry)> {
        let id = self.below(thread)?;
        let works = self.agents.get(&id).is_some_and(|agent| !agent.turn.is_over);
        works.then_some((Some(id), Entry::AgentEnded { status, text }))
    }

    pub(super) fn turn_started(&mut self, params: &Value, made: &mut Made) {
        let turn = params.pointer("/turn/id").and_then(Value::as_str).filter(|turn| is_id(turn));
        let agent = self.below(&params["threadId"]);
        match agent.as_ref().map(|id| self.agents.get(id)) {
            // Nobody has said yet who began it.
            Some(None) => {
                let thread = params["threadId"].as_str().unwrap_or_default();
                made.extend(self.begins(thread, Started::default()));
            }
            // It was given more to do.
            Some(Some(Agent { started, turn, file })) if turn.is_over => {
                let again = Started { file: Some(*file), ..started.clone() };
                made.push((agent.clone(), Entry::AgentStarted(again)));
            }
            Some(Some(_)) | None => {}
        }
        if let Some(turn) = turn {
            let named = Named { turn: Some(turn.to_owned()), ..Named::default() };
            made.push((agent, Entry::Named(named)));
        }
    }
}
