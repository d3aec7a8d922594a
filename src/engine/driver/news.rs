//! What a session told since the last look, and what the journal is to hold of it.

use std::collections::BTreeMap;

use super::cut::cut;
use crate::agent::kind::Kind;
use crate::agent::log::{Entry, Limited, LogLine, Named, Origin, Place, Started, Status, Usage};
use crate::engine::kernel::input::Exit;
use crate::model::event::{Body, payload as p};
use crate::model::fact::UsageReport;
use crate::model::handoff::Outcome;
use crate::model::id::{AgentId, CommandId, DelegationId, QuestionId, SessionId, SubtaskId};
use crate::model::price::Prices;
use crate::model::usage::Usd;
use crate::session::files::Said;

/// What a session told since the last look.
#[derive(Default)]
pub(in crate::engine::driver) struct News {
    pub said: Vec<Said>,
    pub log: Vec<LogLine>,
    pub questions: Vec<p::Asked>,
    pub exit: Option<Exit>,
    /// The host is gone without a record.
    pub is_gone: bool,
    /// The host is gone, and never took the folder: why, as far as it said.
    pub not_started: Option<String>,
    /// There is more to read than was read in this turn.
    pub more: bool,
    /// How the agent's tool is called in keys, where it is a known one.
    pub tool: Option<&'static str>,
}

impl News {
    /// Takes a question back that cannot be asked: the log tells what became of it.
    pub fn refuse(&mut self, asked: &p::Asked, why: &str) {
        let is_it = |line: &&mut LogLine| {
            matches!(&line.entry, Entry::Question { id, .. } if *id == asked.question_id)
                && Some(line.from.offset) == asked.from
        };
        if let Some(line) = self.log.iter_mut().find(is_it) {
            let text = asked.text.as_deref().unwrap_or_default();
            let text = format!("… {} was not asked: {why}. {text}", asked.question_id);
            line.entry = Entry::Output { text, cut: 0 };
        }
    }

    /// Returns what the journal is to hold of it: who began and ended, what was used, and how far it is now.
    ///
    /// What was read may be read again after a crash: then the same lines make usages of the same ids, which
    /// count once, and the last word on how far it is stays the last.
    pub fn events(
        &self,
        delegation: &DelegationId,
        step: &SubtaskId,
        session: &SessionId,
        prices: &Prices,
    ) -> Vec<Body> {
        let teller = Teller { delegation, step, session, tool: self.tool, prices };
        let mut events = Vec::new();
        let mut latest: BTreeMap<Option<&AgentId>, Latest> = BTreeMap::new();
        for line in &self.log {
            let agent = line.agent.as_ref();
            match &line.entry {
                Entry::Usage(usage) => events.push(teller.used(agent, usage, &line.from)),
                Entry::Progress { current, total, last_action: action } => {
                    let latest = latest.entry(agent).or_default();
                    latest.progress =
                        Some(p::Progress { current: Some(*current), total: *total, percent: None });
                    latest.last_action = action.as_deref().map(cut).or(latest.last_action.take());
                }
                Entry::Tool { name, input, .. } => {
                    latest.entry(agent).or_default().last_action = Some(cut(&format!("{name} {input}")));
                }
                // The number of a turn is the adapter's business.
                Entry::Named(named)
                    if agent.is_none() && (named.session.is_some() || named.model.is_some()) =>
                {
                    events.push(teller.named(named));
                }
                Entry::AgentStarted(started) => {
                    events.extend(agent.map(|agent| teller.agent_started(agent, started)));
                }
                Entry::AgentEnded { status, text } => {
                    // What it did last stands before its end.
                    let last = latest.remove(&agent).map(|latest| teller.progressed(agent, latest));
                    events.extend(last);
                    events.extend(agent.map(|agent| teller.agent_ended(agent, *status, text)));
                }
                Entry::Limited(limited) => events.push(teller.limited(limited)),
                Entry::Named(_)
                | Entry::Output { .. }
                | Entry::Thought { .. }
                | Entry::ToolResult { .. }
                | Entry::Question { .. }
                | Entry::Withdrawn { .. }
                | Entry::Answered { .. }
                | Entry::Unknown { .. }
                | Entry::Result { .. }
                | Entry::Ended { .. } => {}
            }
        }
        // An agent may tell a thousand times a second how far it is: of one turn the last word counts.
        events.extend(latest.into_iter().map(|(agent, latest)| teller.progressed(agent, latest)));
        events
    }

    /// Returns the questions that nobody waits for any more, each with the reason.
    pub fn withdrawn(&self) -> impl Iterator<Item = (&QuestionId, &str)> {
        self.log.iter().filter_map(|line| {
            if let Entry::Withdrawn { id, reason } = &line.entry { Some((id, reason.as_str())) } else { None }
        })
    }

    /// Returns the commands that the agent itself refused, each with the reason.
    pub fn refused(&self) -> impl Iterator<Item = (&CommandId, &str)> {
        self.log.iter().filter_map(|line| {
            if let Entry::Answered { command, trouble: Some(why) } = &line.entry {
                Some((command, why.as_str()))
            } else {
                None
            }
        })
    }

    /// Returns the limits of providers that it told of.
    pub fn limits(&self) -> impl Iterator<Item = &Limited> {
        self.log
            .iter()
            .filter_map(|line| if let Entry::Limited(limited) = &line.entry { Some(limited) } else { None })
    }
}

/// What one agent did last.
#[derive(Default)]
struct Latest {
    progress: Option<p::Progress>,
    last_action: Option<String>,
}

/// Makes events of what one session's agents say.
struct Teller<'a> {
    delegation: &'a DelegationId,
    step: &'a SubtaskId,
    session: &'a SessionId,
    tool: Option<&'static str>,
    prices: &'a Prices,
}

impl Teller<'_> {
    fn used(&self, agent: Option<&AgentId>, usage: &Usage, from: &Place) -> Body {
        let (message_id, request_id) = usage_ids(self.session, usage, from);
        let (model, tokens) = (usage.model.as_deref().map(cut), Some(usage.tokens));
        let (cost, price_date) = self.cost(usage);
        match agent {
            Some(agent) => Body::AgentUsage(p::AgentUsage {
                session_id: self.session.clone(),
                agent_id: agent.clone(),
                message_id,
                request_id,
                model,
                usage: tokens,
                cost,
                price_date,
                ..p::AgentUsage::default()
            }),
            None => Body::SubtaskUsage(p::SubtaskUsage {
                delegation_id: self.delegation.clone(),
                subtask_id: self.step.clone(),
                session_id: Some(self.session.clone()),
                message_id,
                request_id,
                model,
                usage: tokens,
                cost,
                price_date,
                of_turn: usage.of_turn.then_some(true),
                ..p::SubtaskUsage::default()
            }),
        }
    }

    /// Returns what a message cost, and the day of the prices where the tool did not tell it itself.
    fn cost(&self, usage: &Usage) -> (Option<Usd>, Option<String>) {
        if usage.cost.is_some() {
            return (usage.cost, None);
        }
        let report = UsageReport {
            model: usage.model.as_deref().map(Into::into),
            tokens: usage.tokens,
            hour_cache: usage.hour_cache,
            is_fast: usage.is_fast,
            searches: usage.searches,
            ..UsageReport::default()
        };
        let cost = self.prices.cost(&report);
        (cost, cost.map(|_| self.prices.date.clone()))
    }

    fn progressed(&self, agent: Option<&AgentId>, latest: Latest) -> Body {
        let Latest { progress, last_action } = latest;
        match agent {
            Some(agent) => Body::AgentProgress(p::AgentProgress {
                session_id: self.session.clone(),
                agent_id: agent.clone(),
                progress,
                last_action,
                ..p::AgentProgress::default()
            }),
            None => Body::SubtaskProgress(p::SubtaskProgress {
                delegation_id: self.delegation.clone(),
                subtask_id: self.step.clone(),
                progress,
                last_action,
                ..p::SubtaskProgress::default()
            }),
        }
    }

    fn named(&self, named: &Named) -> Body {
        Body::SessionNamed(p::SessionNamed {
            session_id: self.session.clone(),
            delegation_id: Some(self.delegation.clone()),
            subtask_id: Some(self.step.clone()),
            tool: self.tool.filter(|_| named.session.is_some()).map(str::to_owned),
            cli_session_id: named.session.as_deref().map(cut),
            model: named.model.as_deref().map(cut),
            keeper: named.keeper.and_then(Kind::tool).map(str::to_owned),
            ..p::SessionNamed::default()
        })
    }

    fn agent_started(&self, agent: &AgentId, started: &Started) -> Body {
        // The ids of one who only speaks a protocol are its session's own, and its children may be of any provider:
        // only who keeps them in its files says what they are.
        let is_known = self.tool != Kind::Acp.tool();
        let known = if is_known { self.tool } else { started.keeper.and_then(Kind::tool) };
        // A child that is known by its call has no other id.
        let by_id = known.filter(|_| is_known || started.call.is_none());
        Body::AgentStarted(p::AgentStarted {
            session_id: self.session.clone(),
            agent_id: agent.clone(),
            parent_agent_id: started.parent.clone(),
            delegation_id: Some(self.delegation.clone()),
            subtask_id: Some(self.step.clone()),
            title: started.title.as_deref().map(cut),
            agent_type: started.kind.as_deref().map(cut),
            provider: known.map(str::to_owned).or_else(|| started.kind.as_deref().map(cut)),
            model: started.model.as_deref().map(cut),
            tool_use_id: known.and(started.call.as_deref()).map(cut),
            tool: by_id.map(str::to_owned),
            background: started.is_background.then_some(true),
            task: started.task.as_deref().map(cut),
            ..p::AgentStarted::default()
        })
    }

    fn agent_ended(&self, agent: &AgentId, status: Status, text: &str) -> Body {
        let word = match status {
            Status::Done => "done",
            Status::Failed | Status::FailedForGood | Status::Limited => "failed",
            Status::Cancelled => "cancelled",
            Status::TimedOut => "timed-out",
        };
        let told = Some(cut(text)).filter(|text| !text.is_empty());
        let is_done = status == Status::Done;
        let result = told.clone().filter(|_| is_done);
        Body::AgentEnded(p::AgentEnded {
            session_id: self.session.clone(),
            agent_id: agent.clone(),
            status: Some(word.into()),
            error: told.filter(|_| !is_done),
            result: result.map(|summary| Box::new(Outcome { summary: Some(summary), ..Outcome::default() })),
            ..p::AgentEnded::default()
        })
    }

    fn limited(&self, limited: &Limited) -> Body {
        Body::ProviderLimited(p::ProviderLimited {
            provider: cut(&limited.provider),
            until: limited.until,
            reason: Some(cut(&limited.text)),
            session_id: Some(self.session.clone()),
            ..p::ProviderLimited::default()
        })
    }
}

/// Returns the ids under which a usage counts once.
///
/// Any program can be an agent, and many call their first message `m1`: an id is the session's own. Where there is
/// none, the place of the line stands for it: read again, it is the same.
fn usage_ids(session: &SessionId, usage: &Usage, from: &Place) -> (Option<String>, Option<String>) {
    if usage.is_shared {
        return (usage.message_id.clone(), usage.request_id.clone());
    }
    let own = |id: &String| format!("{session}:{id}");
    match (&usage.message_id, &usage.request_id) {
        (Some(message), request) => (Some(own(message)), request.clone()),
        (None, Some(request)) => (None, Some(own(request))),
        (None, None) => {
            let stream = match from.origin {
                Origin::Err => "err".to_owned(),
                Origin::Beside(nth) => format!("beside-{nth}"),
                Origin::Out | Origin::In | Origin::Host | Origin::Exit | Origin::Command => "out".to_owned(),
            };
            (Some(format!("{session}@{stream}:{}.{}", from.offset, from.part)), None)
        }
    }
}
