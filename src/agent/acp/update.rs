//! Notices of what the agent does. Each says of which session it is: the agent's own, or one of a child of it.

use agent_client_protocol_schema::v1::{
    ContentChunk, Cost, IdleStopReason, Plan, PlanEntryStatus, SessionConfigOptionCategory, SessionMessage,
    SessionUpdate, StateUpdate, SubagentUpdate, ToolCall, ToolCallUpdate, UsageUpdate,
};
use serde_json::{Value, json};

use super::calls::{Told, block};
use super::hear::unknown;
use super::{AcpAdapter, How, LONGEST_ID, LONGEST_TEXT, Made, Turn, cut, handed, judge, say, session, text};
use crate::agent::excerpt::brief;
use crate::agent::log::{Entry, Named, Started, Status};
use crate::model::id::AgentId;

impl AcpAdapter {
    pub(super) fn updated(&mut self, params: &Value, offset: u64, made: &mut Made) {
        let update = &as_the_protocol_has_it(&params["update"]);
        let Ok(read) = serde_json::from_value::<SessionUpdate>(update.clone()) else {
            if !self.is_loading() {
                made.push((None, unknown(&text(&update["sessionUpdate"]), update)));
            }
            return;
        };
        if self.is_loading() {
            if let SessionUpdate::UsageUpdate(usage) = &read {
                usage.cost.iter().for_each(|cost| self.spent.begin_at(cost));
            }
            return;
        }
        match read {
            SessionUpdate::AgentMessageChunk(chunk) => self.says(params, update, &chunk, false, made),
            SessionUpdate::AgentThoughtChunk(chunk) => self.says(params, update, &chunk, true, made),
            SessionUpdate::ToolCall(call) => {
                if !self.hands_over(&call, made) {
                    self.call(params, update, whole(call, update), made);
                }
            }
            SessionUpdate::ToolCallUpdate(call) => self.call(params, update, told_of(&call, update), made),
            SessionUpdate::Plan(plan) => {
                let agent = self.speaker(params, update, made);
                made.push((agent, progress(&plan)));
            }
            SessionUpdate::CurrentModeUpdate(change) => {
                self.mode_changed(&change.current_mode_id.to_string(), offset, made);
            }
            SessionUpdate::ConfigOptionUpdate(options) => {
                let model = session::current(&options.config_options, &SessionConfigOptionCategory::Model);
                if let Some(model) = model {
                    self.works_with(params, model, made);
                }
            }
            SessionUpdate::UsageUpdate(usage) => self.spends(params, update, &usage, made),
            SessionUpdate::SubagentUpdate(child) => self.child(params, &child, made),
            SessionUpdate::Notice(notice) => {
                let more = notice.description.map_or_else(String::new, |more| format!(": {more}"));
                made.push((None, Entry::Output { text: format!("{}{more}", notice.title), cut: 0 }));
            }
            SessionUpdate::SessionMessage(message) => self.task_of_child(&message, made),
            // What we said ourselves, what it offers a person to type, its title, and its memory put in order.
            SessionUpdate::UserMessageChunk(_)
            | SessionUpdate::AvailableCommandsUpdate(_)
            | SessionUpdate::SessionInfoUpdate(_)
            | SessionUpdate::CompactionUpdate(_)
            | SessionUpdate::CompactionSummaryChunk(_)
            | SessionUpdate::SessionMessageChunk(_) => {}
            _ => made.push((None, unknown(&text(&update["sessionUpdate"]), update))),
        }
    }

    /// What an agent says to its child is the child's task.
    fn task_of_child(&self, message: &SessionMessage, made: &mut Made) {
        let Some(to) = message.recipient_session_id.value() else { return };
        let said: Vec<String> = message.content.value().into_iter().flatten().filter_map(block).collect();
        let task = Some(cut(&said.join("\n"), LONGEST_TEXT)).filter(|task| !task.is_empty());
        self.learn(&to.to_string(), |started| started.task = started.task.take().or(task), made);
    }

    fn spends(&self, params: &Value, update: &Value, usage: &UsageUpdate, made: &mut Made) {
        // Claude's adapter says in a place of its own which model its choice came to.
        if let Some(model) = update.pointer("/_meta/_claude~1model").and_then(Value::as_str) {
            self.works_with(params, model.to_owned(), made);
        }
        let cost = usage.cost.as_ref().and_then(|cost| self.cost(params, cost));
        made.extend(cost.map(|used| (None, used)));
    }

    fn says(
        &mut self,
        params: &Value,
        update: &Value,
        chunk: &ContentChunk,
        is_thought: bool,
        made: &mut Made,
    ) {
        let Some(said) = block(&chunk.content).filter(|said| !said.is_empty()) else { return };
        let agent = self.speaker(params, update, made);
        if !is_thought && handed::is_orchestrator(update) {
            self.end_what_answered(made);
        }
        self.chunks.push(agent, is_thought, &said);
    }

    /// Only what the agent's own session cost is booked: what its children did is in it.
    fn cost(&self, params: &Value, cost: &Cost) -> Option<Entry> {
        let is_own = params["sessionId"].as_str() == self.session.as_deref();
        let turn = match &self.turn {
            Turn::Told(command) => format!("{}{command}", say::TOLD),
            Turn::First | Turn::Over => say::PROMPT.to_owned(),
        };
        let used = self.spent.cost(&turn, self.model.as_deref(), cost);
        used.filter(|_| is_own).map(Entry::Usage)
    }

    fn call(&mut self, params: &Value, update: &Value, told: Told, made: &mut Made) {
        let agent = self.speaker(params, update, made);
        let (id, status) = (told.id.clone(), told.status);
        if self.handed_call(&id, &told, made) {
            return;
        }
        self.calls.take(agent.as_ref(), told, made);
        // A call that began an agent ends with it.
        let child = AgentId::from(id.as_str());
        let is_at_work = |known: &super::Child| known.how == How::Call && !known.has_ended;
        if self.agents.get(&child).is_some_and(is_at_work)
            && let Some(status) = status.and_then(ended)
        {
            let text = self.last_words(Some(&child));
            made.push((Some(child), Entry::AgentEnded { status, text }));
        }
    }

    /// Takes what is told of a child that has a session of its own.
    fn child(&mut self, params: &Value, told: &SubagentUpdate, made: &mut Made) {
        let id = AgentId::from(told.session_id.to_string().as_str());
        if id.as_str().is_empty() || id.as_str().len() > LONGEST_ID {
            return;
        }
        let known = self.agents.get(&id);
        let is_at_work = known.is_none_or(|known| !known.has_ended);
        let over = told.state.value().and_then(over);
        let before = known.map(|known| known.started.clone());
        let above = || {
            let above = params["sessionId"].as_str().map(AgentId::from);
            above.filter(|above| self.agents.contains_key(above))
        };
        let before =
            before.unwrap_or_else(|| Started { parent: above(), keeper: self.keeper, ..Started::default() });
        let can = told.capabilities.value();
        let now = Started {
            title: told
                .title
                .value()
                .or(told.description.value())
                .map(|title| brief(title))
                .or(before.title.clone()),
            is_stoppable: can.map_or(before.is_stoppable, |can| can.cancel.is_some()),
            ..before.clone()
        };
        let goes_on = !is_at_work && over.is_none() && told.state.is_value();
        if known.is_none() || goes_on || is_at_work && now != before {
            made.push((Some(id.clone()), Entry::AgentStarted(now)));
        }
        if let Some((status, why)) = over.filter(|_| is_at_work) {
            let text = if status == Status::Done { self.last_words(Some(&id)) } else { why };
            made.push((Some(id), Entry::AgentEnded { status, text }));
        }
    }

    /// Takes more that is known of a child at work: its task, its model.
    fn learn(&self, id: &str, learn: impl FnOnce(&mut Started), made: &mut Made) {
        let id = AgentId::from(id);
        let Some(child) = self.agents.get(&id).filter(|child| !child.has_ended) else { return };
        let mut started = child.started.clone();
        learn(&mut started);
        if started != child.started {
            made.push((Some(id), Entry::AgentStarted(started)));
        }
    }

    /// Takes the model that a session works with now: the agent's own, or a child's.
    fn works_with(&self, params: &Value, model: String, made: &mut Made) {
        let session = text(&params["sessionId"]);
        if self.session.as_ref() != Some(&session) {
            self.learn(&session, |started| started.model = Some(model), made);
        } else if self.model.as_ref() != Some(&model) {
            made.push((None, Entry::Named(Named { model: Some(model), ..Named::default() })));
        }
    }

    /// Returns the child that a message is of; nothing for the session's own agent. One that was never announced is
    /// begun by this.
    pub(super) fn speaker(&mut self, params: &Value, update: &Value, made: &mut Made) -> Option<AgentId> {
        let session = params["sessionId"].as_str().unwrap_or_default();
        if self.session.as_deref() != Some(session) && !session.is_empty() && session.len() <= LONGEST_ID {
            if let Some(id) = self.handed_in(session) {
                return Some(id);
            }
            let id = AgentId::from(session);
            if !self.agents.contains_key(&id) {
                self.begin(&id, Started { keeper: self.keeper, ..Started::default() }, made);
            }
            return Some(id);
        }
        let above = update.pointer("/_meta/claudeCode/parentToolUseId").and_then(Value::as_str);
        if let Some(call) = above.filter(|call| !call.is_empty() && call.len() <= LONGEST_ID) {
            let id = AgentId::from(call);
            if !self.agents.contains_key(&id) {
                let known = self.calls.get(call);
                let input = |name: &str| known.and_then(|known| known.input.get(name)?.as_str());
                let (title, task) = (known.map(super::calls::Call::purpose), input("prompt"));
                let task = task.map(|task| cut(task, LONGEST_TEXT));
                let kind = input("subagent_type").map(str::to_owned);
                let (call, keeper) = (Some(call.into()), self.keeper);
                let started = Started { title, task, kind, call, keeper, ..Started::default() };
                self.begin(&id, started, made);
            }
            return Some(id);
        }
        self.handed_to(update)
    }

    /// Begins a child now: what is made of the same line is of it.
    pub(super) fn begin(&mut self, id: &AgentId, started: Started, made: &mut Made) {
        self.note_started(id, &started);
        made.push((Some(id.clone()), Entry::AgentStarted(started)));
    }
}

fn ended(status: agent_client_protocol_schema::v1::ToolCallStatus) -> Option<Status> {
    use agent_client_protocol_schema::v1::ToolCallStatus as Call;
    match status {
        Call::Completed => Some(Status::Done),
        Call::Failed => Some(Status::Failed),
        Call::Pending | Call::InProgress | _ => None,
    }
}

/// Returns how a child ended, where its state is an end.
fn over(state: &StateUpdate) -> Option<(Status, String)> {
    let StateUpdate::Idle(idle) = state else { return None };
    Some(match &idle.stop_reason {
        None | Some(IdleStopReason::EndTurn) => (Status::Done, String::new()),
        Some(IdleStopReason::Cancelled) => (Status::Cancelled, String::new()),
        Some(IdleStopReason::MaxTokens) => (Status::Failed, "max_tokens".into()),
        Some(IdleStopReason::MaxTurnRequests) => (Status::Failed, "max_turn_requests".into()),
        Some(IdleStopReason::Refusal) => (Status::Failed, "refusal".into()),
        Some(IdleStopReason::Error(error)) => {
            let said = error.error.as_ref().map(|error| judge::in_its_words(&json!(error)).0);
            (Status::Failed, said.unwrap_or_default())
        }
        Some(other) => (Status::Failed, brief(&json!(other).to_string())),
    })
}

fn progress(plan: &Plan) -> Entry {
    let done = plan.entries.iter().filter(|entry| entry.status == PlanEntryStatus::Completed).count();
    let now = plan.entries.iter().find(|entry| entry.status == PlanEntryStatus::InProgress);
    Entry::Progress {
        current: done as u64,
        total: Some(plan.entries.len() as u64),
        last_action: now.map(|entry| brief(&entry.content)),
    }
}

/// Returns what a whole message of a call says.
fn whole(call: ToolCall, update: &Value) -> Told {
    Told {
        id: call.tool_call_id.to_string(),
        name: call.name.or_else(|| tool_name(update)),
        title: Some(call.title),
        kind: Some(call.kind),
        status: Some(call.status),
        input: call.raw_input,
        output: call.raw_output,
        content: call.content,
    }
}

/// Returns what a message says that changes a call.
pub(super) fn told_of(call: &ToolCallUpdate, update: &Value) -> Told {
    let fields = call.fields.clone();
    Told {
        id: call.tool_call_id.to_string(),
        name: fields.name.or_else(|| tool_name(update)),
        title: fields.title,
        kind: fields.kind,
        status: fields.status,
        input: fields.raw_input,
        output: fields.raw_output,
        content: fields.content.unwrap_or_default(),
    }
}

/// Claude's adapter names its tools only in a place of its own.
fn tool_name(update: &Value) -> Option<String> {
    update.pointer("/_meta/claudeCode/toolName").and_then(Value::as_str).map(str::to_owned)
}

/// Returns an update with the names that the protocol has today: some speak an older dialect of it.
fn as_the_protocol_has_it(update: &Value) -> Value {
    let old = |name: &str| update.get(name).filter(|old| old.is_object());
    let kind = text(&update["sessionUpdate"]);
    match kind.as_str() {
        "tool_call" if old("tool_call").is_some() => {
            let call = &update["tool_call"];
            json!({
                "sessionUpdate": kind, "toolCallId": call["call_id"], "title": call["name"],
                "name": call["name"], "rawInput": call["arguments"], "_meta": update["_meta"],
            })
        }
        "tool_call_update" if update.get("toolCallId").is_none() => {
            let call = old("tool_call_update").or(old("tool_call")).unwrap_or(update);
            let status = match call["status"].as_str() {
                Some("started") => json!("in_progress"),
                Some("error") => json!("failed"),
                _ => call["status"].clone(),
            };
            let output = [&call["output"], &call["error"]].into_iter().find(|said| !said.is_null());
            json!({
                "sessionUpdate": kind, "toolCallId": call["call_id"], "status": status,
                "rawOutput": output, "_meta": update["_meta"],
            })
        }
        "current_mode_update" if update.get("currentModeId").is_none() => {
            json!({ "sessionUpdate": kind, "currentModeId": update["current_mode_id"] })
        }
        _ => update.clone(),
    }
}
