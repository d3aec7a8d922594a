//! One moment of a session: what was said is read, the rules are asked, what happened is recorded, and an answer made.
//!
//! The order is fixed: a person's order first, then the rules, then the guards; the model is put in last, since a call
//! that does not happen needs none.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::advise::advise;
use super::agents::Agents;
use super::desk::{Call, Desk, Touch, Wish};
use super::gate::{self, Caller};
use super::guard::{self, Found};
use super::hold::{Order, Orders, Want};
use super::inject::{Injected, inject};
use super::input::{Input, Moment};
use super::lineage;
use super::output::Reply;
use super::settings::{Settings, Strength};
use super::state::state;
use super::tools::{kind, path};
use crate::decide::models::{Own, bare};
use crate::model::event::payload::HookRecorded;
use crate::model::secrets::take_out;
use crate::model::time::Stamp;
use crate::store::folder::StateFolder;

/// Who changes files where no sub-agent does.
pub(super) const MAIN: &str = "main";
/// How often a call that is held looks whether it may go on.
const LOOK: Duration = Duration::from_millis(100);
/// So much of a prompt or a result is recorded.
const LONGEST: usize = 16 * 1024;

/// What a hook has around it.
pub struct Around<'a> {
    /// The state folder; without one nothing is remembered or recorded.
    pub folder: Option<&'a StateFolder>,
    pub settings: &'a Settings,
    /// Where agents are defined, the project's own first.
    pub definitions: Vec<PathBuf>,
    /// The coding agent's name.
    pub tool: &'a str,
    pub now: Stamp,
    /// Whether an answer should show what is active.
    pub dashboard: bool,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Done {
    pub reply: Reply,
    /// For whoever wants to know what was done.
    pub debug: Vec<String>,
    /// What went wrong with the hook itself.
    pub trouble: Vec<String>,
}

/// Answers one moment of a session; what happened goes to `record` as it happens.
pub fn run(moment: Moment, input: &Input, around: &Around<'_>, record: &mut dyn FnMut(HookRecorded)) -> Done {
    let mut hook = Hook { input, around, record, done: Done::default() };
    match moment {
        Moment::PreToolUse => hook.before_tool(),
        Moment::PostToolUse => hook.after_tool(),
        Moment::UserPromptSubmit => hook.prompt(),
        Moment::SubagentStart => hook.agent_started(),
        Moment::SubagentStop => hook.agent_ended(),
        Moment::SessionStart => {
            hook.tell("session-started", |record| record.reason.clone_from(&input.reason));
            hook.say_state();
        }
        Moment::SessionEnd => hook.session_ended(),
        Moment::Notification => hook.notified(),
        Moment::PreCompact => hook.tell("compacting", |record| record.reason.clone_from(&input.reason)),
        Moment::Stop => {}
    }
    hook.done
}

struct Hook<'a> {
    input: &'a Input,
    around: &'a Around<'a>,
    record: &'a mut dyn FnMut(HookRecorded),
    done: Done,
}

impl Hook<'_> {
    fn desk_path(&self) -> Option<PathBuf> {
        self.around.folder?.hook_desk(self.input.session.as_deref()?).ok()
    }

    fn desk(&self) -> Desk {
        self.desk_path().map(|path| Desk::read(&path)).unwrap_or_default()
    }

    fn change<T: Default>(&mut self, change: impl FnOnce(&mut Desk) -> T) -> T {
        let Some(path) = self.desk_path() else { return T::default() };
        Desk::change(&path, change).unwrap_or_else(|error| {
            self.done.trouble.push(format!("cannot write {}: {error}", path.display()));
            T::default()
        })
    }

    /// Records that something happened.
    fn tell(&mut self, kind: &str, fill: impl FnOnce(&mut HookRecorded)) {
        let Some(session) = self.input.session.clone() else { return };
        if !self.around.settings.record {
            return;
        }
        let mut record = HookRecorded {
            kind: kind.to_owned(),
            session,
            at: Some(self.around.now),
            tool: Some(self.around.tool.to_owned()),
            cwd: self.input.cwd.clone(),
            ..HookRecorded::default()
        };
        fill(&mut record);
        let key = record.tool_use_id.clone().or_else(|| record.agent_id.clone());
        // The same call told twice is the same record, however many hooks are set.
        record.id = match (kind, key) {
            ("called" | "refused", Some(key)) => format!("{kind}-{key}"),
            (_, key) => {
                format!("{kind}-{}-{}", key.as_deref().unwrap_or("session"), self.around.now.millis())
            }
        };
        // What is recorded outlives the session, and may be handed on.
        let said = [&mut record.title, &mut record.prompt, &mut record.reason, &mut record.summary];
        said.into_iter().flatten().for_each(take_out);
        (self.record)(record);
    }

    fn caller(&self, desk: &Desk) -> Caller {
        let Some(agent) = self.input.agent_id.as_deref() else {
            // A session may be run as one of the agents.
            return Caller { path: self.input.agent_type.clone().into_iter().collect(), ..Caller::default() };
        };
        let transcript = self.input.transcript.as_deref().unwrap_or_default();
        let meta = lineage::meta(transcript, agent).unwrap_or_default();
        let by_call = meta.tool_use_id.as_ref().and_then(|call| desk.calls.get(call));
        let record = by_call.or_else(|| desk.of_agent(agent).map(|(_, call)| call)).cloned();
        let mut path = lineage::path(transcript, agent);
        if path.is_empty() {
            path = record.as_ref().map(|call| call.path.clone()).unwrap_or_default();
            path.extend(self.input.agent_type.clone());
        }
        let depth = meta.spawn_depth.or(record.as_ref().map(|call| call.depth));
        let depth = depth.unwrap_or_else(|| u32::try_from(path.len().max(1)).unwrap_or(u32::MAX));
        Caller { path, depth, record }
    }

    fn before_tool(&mut self) {
        if let Some(why) = self.held() {
            self.done.reply.denied = Some(why);
            return;
        }
        let (input, settings) = (self.input, self.around.settings);
        let changes = input.tool.as_deref().and_then(kind) == Some("write");
        let is_inside = input.agent_id.is_some() || input.agent_type.is_some();
        let desk = if is_inside || changes || input.delegates() { self.desk() } else { Desk::default() };
        let caller = self.caller(&desk);
        let mut denied = None;
        let mut no_rule = false;
        if is_inside {
            let found = gate::tool(input, &caller, settings);
            no_rule |= found.no_rule;
            self.done.reply.context.extend(found.said);
            denied = found.denied;
        }
        if denied.is_none() && input.delegates() {
            let found = gate::delegation(input, &caller, &desk, settings, self.around.now);
            no_rule |= found.no_rule;
            self.done.reply.context.extend(found.said);
            denied = found.denied;
        }
        for found in guard::check(input, &desk, settings) {
            match found {
                Found::Said(text) => self.done.reply.say(text),
                Found::Denied(text) => denied = denied.or(Some(text)),
            }
        }
        if no_rule && settings.matrix != Strength::Off {
            let agent = if input.delegates() { input.called() } else { input.agent_type.clone() };
            self.done
                .debug
                .push(format!("[quarterdeck] no rule names {}", agent.as_deref().unwrap_or("this agent")));
        }
        if input.delegates() {
            self.delegated(&caller, denied.as_deref(), no_rule);
        } else if let Some(why) = &denied {
            self.tell("denied", |record| {
                record.agent_id.clone_from(&input.agent_id);
                record.agent_type.clone_from(&input.agent_type);
                record.tool_name.clone_from(&input.tool);
                record.reason = Some(why.clone());
            });
        }
        self.done.reply.denied = denied;
    }

    /// Puts the model in, and records the call; also one that does not happen.
    fn delegated(&mut self, caller: &Caller, denied: Option<&str>, no_rule: bool) {
        let (input, now) = (self.input, self.around.now);
        let deployed = Agents::read(self.around.definitions.iter().map(PathBuf::as_path));
        let injected = self.routed(&deployed, denied.is_some());
        let fields = input.fields.clone().unwrap_or_default();
        let agent = input.called();
        let defined =
            agent.as_deref().and_then(|agent| deployed.get(agent)).and_then(|own| own.tools.clone());
        let call = Call {
            agent,
            title: fields.text(&["description"]),
            by: input.agent_id.clone(),
            depth: caller.depth + 1,
            path: caller.path.clone(),
            allowed_tools: fields.words(&["allowedTools", "allowed_tools"]).or(defined),
            allowed_actions: fields.words(&["allowedActions", "allowed_actions"]),
            made: Some(now),
            expires: Some(now.plus(self.around.settings.accept)),
            background: fields.get("run_in_background").unwrap_or(false),
            ..Call::default()
        };
        let kind = if denied.is_some() { "refused" } else { "called" };
        self.tell(kind, |record| {
            record.tool_use_id.clone_from(&input.call);
            record.parent_agent_id.clone_from(&input.agent_id);
            record.caller_type = caller.path.last().cloned();
            record.agent_type.clone_from(&call.agent);
            record.title.clone_from(&call.title);
            record.prompt = fields.text(&["prompt", "message"]).map(|text| cut(&text));
            record.model_requested = injected.requested;
            record.model_injected = injected.model;
            record.background = Some(call.background);
            record.depth = Some(call.depth);
            record.path = Some(call.path.clone());
            record.category = fields.text(&["category"]);
            record.allowed_tools.clone_from(&call.allowed_tools);
            record.allowed_actions.clone_from(&call.allowed_actions);
            record.expires_at = call.expires;
            record.rule = no_rule.then(|| "no rule".to_owned());
            record.reason = denied.map(str::to_owned);
        });
        if denied.is_none() {
            self.done.reply.updated = injected.updated;
            self.remember(call);
        }
        if self.around.dashboard {
            self.say_state();
        }
    }

    /// Returns what becomes of the model of a call; one that does not happen gets none.
    fn routed(&mut self, deployed: &Agents, is_denied: bool) -> Injected {
        let (input, settings) = (self.input, self.around.settings);
        if is_denied || !settings.inject {
            let requested = input.fields.as_ref().and_then(|fields| fields.text(&["model"]));
            return Injected { requested, ..Injected::default() };
        }
        let mut own: Own =
            deployed.models().map(|(name, model)| (name.to_owned(), model.to_owned())).collect();
        own.extend(settings.models.clone());
        let mut injected = inject(input, &own, deployed);
        if let (Some(model), Some(agent)) = (&injected.model, input.called()) {
            self.done.debug.push(format!("[OMC] Auto-injecting model: {model} for {}", bare(&agent)));
        }
        if let Some(trouble) = injected.trouble.take() {
            self.done.debug.push(format!("[quarterdeck] {trouble}"));
            self.done.reply.say(trouble);
        }
        injected
    }

    /// Remembers a call until it ends, and forgets those that nobody took up in time.
    fn remember(&mut self, call: Call) {
        let (now, made) = (self.around.now, self.input.call.clone());
        let lapsed = self.change(|desk| {
            let lapsed = desk.calls.iter().filter(|(_, call)| is_lapsed(call, now));
            let lapsed: Vec<String> = lapsed.map(|(id, _)| id.clone()).collect();
            for id in &lapsed {
                desk.calls.remove(id);
            }
            made.map(|id| desk.calls.insert(id, call));
            lapsed
        });
        for id in lapsed {
            self.tell("expired", |record| {
                record.tool_use_id = Some(id);
                record.reason = Some("Nobody took it up in time.".into());
            });
        }
    }

    /// Holds a call that a person paused; returns why it must not happen at all.
    fn held(&mut self) -> Option<String> {
        let path = self.around.folder?.hold_file(self.input.session.as_deref()?).ok()?;
        let mut order = self.order(&Orders::read(&path))?;
        if order.want == Want::Pause {
            let (was, agent) = (order.clone(), self.input.agent_id.clone());
            self.tell("held", |record| {
                record.agent_id.clone_from(&agent);
                record.command_id.clone_from(&was.command_id);
                record.reason = Some(was.reason.unwrap_or_else(|| "Paused by a person.".into()));
            });
            let until = Instant::now() + self.around.settings.hold;
            while order.want == Want::Pause && Instant::now() < until {
                std::thread::sleep(LOOK);
                let Some(now) = self.order(&Orders::read(&path)) else {
                    self.tell("released", |record| record.agent_id.clone_from(&agent));
                    return None;
                };
                order = now;
            }
        }
        let why = order.reason.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
        Some(match order.want {
            Want::Pause => format!(
                "A person paused this{why}.\nUse instead: nothing else; try this same call again until it goes through.\nSet by a person, with `quarterdeck`."
            ),
            Want::Cancel => {
                let agent = self.input.agent_id.clone();
                self.tell("stopped", |record| {
                    record.agent_id = agent;
                    record.command_id.clone_from(&order.command_id);
                    record.reason = Some(format!("Told to stop at its next tool call{why}."));
                });
                format!(
                    "A person cancelled this{why}.\nStop now: call no more tools, and end with what you have.\nSet by a person, with `quarterdeck`."
                )
            }
        })
    }

    /// Returns the order that holds for this call: for its agent, for one above that, or for the session.
    fn order(&self, orders: &Orders) -> Option<Order> {
        let agent = self.input.agent_id.as_deref();
        if let (Some(agent), false) = (agent, orders.agents.is_empty()) {
            let transcript = self.input.transcript.as_deref().unwrap_or_default();
            let above = lineage::above(transcript, agent);
            if let Some(order) = above.iter().find_map(|above| orders.agents.get(above)) {
                return Some(order.clone());
            }
        }
        orders.of(agent).cloned()
    }

    fn after_tool(&mut self) {
        let input = self.input;
        if !input.delegates() {
            let file =
                input.tool.as_deref().filter(|tool| kind(tool) == Some("write")).and_then(|_| path(input));
            if let (Some(file), Some(agent), true) =
                (file, input.agent_id.clone(), self.around.settings.ownership != Strength::Off)
            {
                let at = self.around.now;
                self.change(|desk| drop(desk.touched.insert(file, Touch { by: agent, at })));
            }
            return;
        }
        let (Some(call), Some(response)) = (input.call.clone(), input.response.clone()) else { return };
        let now = self.around.now;
        let agent = response.text(&["agentId", "agent_id"]);
        let tokens: Option<u64> = response.get("totalTokens");
        let status = response.text(&["status"]);
        let is_launched = status.as_deref().is_some_and(|status| status.ends_with("launched"));
        let known = self.change(|desk| {
            if is_launched {
                let call = desk.calls.get_mut(&call)?;
                call.agent_id = call.agent_id.take().or_else(|| agent.clone());
                call.started = call.started.or(Some(now));
                call.background = true;
                return Some(call.clone());
            }
            desk.tokens = desk.tokens.saturating_add(tokens.unwrap_or(0));
            desk.calls.remove(&call)
        });
        self.tell(if is_launched { "started" } else { "ended" }, |record| {
            record.tool_use_id = Some(call);
            record.agent_id = agent;
            record.parent_agent_id.clone_from(&input.agent_id);
            record.agent_type = response.text(&["agentType"]).or(known.and_then(|known| known.agent));
            record.model_effective = response.text(&["resolvedModel"]);
            record.duration_ms = response.get("totalDurationMs").or(input.duration_ms);
            record.tokens = tokens;
            record.status = status.filter(|_| !is_launched);
        });
    }

    fn agent_started(&mut self) {
        let input = self.input;
        let Some(agent) = input.agent_id.clone() else { return };
        let meta = lineage::meta(input.transcript.as_deref().unwrap_or_default(), &agent).unwrap_or_default();
        let now = self.around.now;
        let kind = input.agent_type.clone().unwrap_or_default();
        let call = self.change(|desk| {
            let id = meta.tool_use_id.clone().or_else(|| desk.waiting_for(&kind))?;
            let call = desk.calls.get_mut(&id)?;
            (call.agent_id, call.started) = (Some(agent.clone()), Some(now));
            Some(id)
        });
        self.tell("started", |record| {
            record.tool_use_id = meta.tool_use_id.or(call);
            record.agent_id = Some(agent);
            record.parent_agent_id = meta.parent_agent_id;
            record.agent_type.clone_from(&input.agent_type);
        });
    }

    fn agent_ended(&mut self) {
        let input = self.input;
        let Some(agent) = input.agent_id.clone() else { return };
        let meta = lineage::meta(input.transcript.as_deref().unwrap_or_default(), &agent).unwrap_or_default();
        let now = self.around.now;
        let known = self.change(|desk| {
            let by_agent = desk.of_agent(&agent).map(|(id, _)| id.clone());
            let id = meta.tool_use_id.clone().or(by_agent)?;
            desk.calls.remove(&id).map(|call| (id, call))
        });
        let (call, known) = known.unzip();
        self.tell("ended", |record| {
            record.tool_use_id = meta.tool_use_id.or(call);
            record.agent_id = Some(agent);
            record.parent_agent_id = meta.parent_agent_id;
            record.agent_type.clone_from(&input.agent_type);
            record.transcript.clone_from(&input.agent_transcript);
            record.summary = input.last_message.as_deref().map(cut);
            let started = known.and_then(|known| known.started);
            record.duration_ms = started.and_then(|at| u64::try_from(now.since(at).as_millis()).ok());
        });
    }

    fn prompt(&mut self) {
        let settings = self.around.settings;
        if let Some(prompt) = self.input.prompt.as_deref().filter(|_| settings.advise) {
            self.done.reply.context.extend(advise(prompt, &settings.deciding));
        }
        self.say_state();
    }

    fn say_state(&mut self) {
        let settings = self.around.settings;
        if settings.state {
            let orders = self.around.folder.zip(self.input.session.as_deref());
            let orders = orders.and_then(|(folder, session)| folder.hold_file(session).ok());
            let orders = orders.map(|path| Orders::read(&path)).unwrap_or_default();
            let desk = self.desk();
            let text = state(&desk, &orders, settings.deciding.limits.max_depth, self.around.now);
            self.done.reply.context.extend(text);
            // Whoever types has seen what was wanted.
            if desk.wants.is_some() {
                self.change(|desk| desk.wants = None);
            }
        }
    }

    /// The session wants something of the person.
    fn notified(&mut self) {
        let (wanted, at) = (self.input.reason.clone(), self.around.now);
        self.tell("notified", |record| record.reason.clone_from(&wanted));
        if let Some(text) = wanted.filter(|_| self.around.settings.state) {
            self.change(|desk| desk.wants = Some(Wish { text: cut(&text), at }));
        }
    }

    /// What a session's hooks remembered is of no use after it.
    fn session_ended(&mut self) {
        let input = self.input;
        self.tell("session-ended", |record| record.reason.clone_from(&input.reason));
        let hold = self.around.folder.zip(self.input.session.as_deref());
        let hold = hold.and_then(|(folder, session)| folder.hold_file(session).ok());
        for path in [self.desk_path(), hold].into_iter().flatten() {
            // One that is not there, or stays, is swept later.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn is_lapsed(call: &Call, now: Stamp) -> bool {
    call.started.is_none() && call.expires.is_some_and(|expires| expires < now)
}

fn cut(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}
