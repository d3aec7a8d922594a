//! Our own journal: events to facts, a pure function. The engine is one more source.
//!
//! One event tells several facts, about the delegation or the step that it names; the last of them is
//! how far the journal was read. Ids are shared, not copied.

mod delegation;
mod subtask;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use hashbrown::HashMap;

use super::hooked;
use crate::model::anomaly::{Anomaly, Misfit};
use crate::model::command::CommandFact;
use crate::model::event::{self, Body, Event, Raw, payload as p};
use crate::model::fact::{About, EngineFact, Fact, NodeFact, SourceFact, StatusReport, session, target};
use crate::model::id::Seq;
use crate::model::key::{Keys, SourceId};
use crate::model::name::Name;
use crate::model::node::Moment;
use crate::model::time::Stamp;
use crate::model::words::Field;

/// So much most events tell of a node.
const FACTS: usize = 4;

/// The names of events, each made once.
static NAMES: LazyLock<HashMap<&str, Name>> =
    LazyLock::new(|| event::NAMES.iter().map(|name| (*name, Name::from(*name))).collect());

/// Tells what an event says.
pub fn facts(event: Event, source: SourceId, out: &mut Vec<Fact>) {
    let begin = out.len();
    let mut teller = Teller { source, at: event.at, seq: event.seq, begin, out };
    teller.tell(event.body);
    out.push(Fact::source(source, SourceFact::Reached(event.seq)));
}

/// Tells what a checked line of the journal says. One that is no event keeps its place: a person can see
/// that it was there, and what comes after it is read.
pub fn line_facts(line: &[u8], seq: Seq, source: SourceId, out: &mut Vec<Fact>) {
    match Event::read(line) {
        Ok(event) => facts(event, source, out),
        Err(error) => {
            let anomaly = Anomaly {
                misfit: Misfit::Unreadable,
                at: None,
                about: format!("event {seq}").into(),
                what: error.to_string().into(),
            };
            out.push(Fact { source, at: None, about: About::Anomaly(anomaly) });
            out.push(Fact::source(source, SourceFact::Reached(seq)));
        }
    }
}

/// Collects the facts of one event.
struct Teller<'a> {
    source: SourceId,
    at: Stamp,
    seq: Seq,
    /// Where the facts of this event begin in `out`.
    begin: usize,
    out: &'a mut Vec<Fact>,
}

impl Teller<'_> {
    /// Routes an event to what it tells; the table of names is in `model::event`.
    fn tell(&mut self, body: Body) {
        let name = body.known_name().unwrap_or_default();
        match body {
            // Advice before anything was handed over: nothing in the tree yet.
            Body::Hint(_) => {}
            Body::Decided(data) => self.decided(data),
            Body::Proposed(data) => self.proposed(data, name),
            Body::Approved(data) => self.approved(&data, name),
            Body::Rejected(data) => self.turn(data, "rejected", name),
            Body::Started(data) => self.started(data, name),
            Body::Taken(data) => self.taken(data, name),
            Body::Paused(data) => self.turn(data, "paused", name),
            Body::Resumed(data) => self.turn(data, "running", name),
            Body::Cancelled(data) => self.cancelled(data, name),
            Body::Completed(data) => self.completed(data, name),
            Body::Failed(data) => self.failed(data, name),
            Body::Expired(data) => self.turn(data, "expired", name),
            Body::BudgetReached(data) => self.budget_reached(data, name),
            Body::RolledBack(data) => self.rolled_back(data, name),
            Body::RollbackFailed(data) => self.rollback_failed(data, name),
            Body::Archived(data) => self.node(target(&data.delegation_id, None), NodeFact::Gone),
            Body::SubtaskStarted(data) => self.subtask_started(data, name),
            Body::SubtaskProgress(data) => self.subtask_progress(data),
            Body::SubtaskUsage(data) => self.subtask_usage(data),
            Body::SubtaskPaused(data) => self.subtask_turn(data, "paused", name),
            Body::SubtaskResumed(data) => self.subtask_turn(data, "running", name),
            Body::SubtaskCompleted(data) => self.subtask_completed(data, name),
            Body::SubtaskFailed(data) => self.subtask_failed(data, name),
            Body::SubtaskRetried(data) => self.subtask_retried(data, name),
            Body::SubtaskSkipped(data) => self.subtask_skipped(data, name),
            Body::SubtaskCancelled(data) => self.subtask_turn(data, "cancelled", name),
            Body::SubtaskTimedOut(data) => self.subtask_turn(data, "timed-out", name),
            Body::SubtaskReview(data) => self.subtask_turn(data, "review", name),
            Body::SubtaskReported(data) => self.subtask_reported(data, name),
            Body::SubtaskTree(data) => self.subtask_tree(data, name),
            Body::AgentStarted(data) => self.agent_started(data, name),
            Body::AgentProgress(data) => self.agent_progress(data),
            Body::AgentUsage(data) => self.agent_usage(data),
            Body::AgentEnded(data) => self.agent_ended(data, name),
            body @ (Body::Asked(_)
            | Body::Answered(_)
            | Body::Withdrawn(_)
            | Body::SessionIntended(_)
            | Body::SessionStarted(_)
            | Body::SessionNamed(_)
            | Body::SessionLost(_)
            | Body::SessionEnded(_)) => self.tell_session(body, name),
            body @ (Body::CommandAccepted(_)
            | Body::CommandConfirmed(_)
            | Body::CommandRefused(_)
            | Body::EngineStarted(_)
            | Body::EngineRecovered(_)
            | Body::EngineStopped(_)
            | Body::ProviderLimited(_)
            | Body::SettingsChanged(_)) => self.tell_around(body),
            Body::HookRecorded(data) => hooked::facts(&data, self.source, Some(self.at), self.seq, self.out),
            Body::Unknown(raw) | Body::Unreadable(raw) => self.tell_unknown(&raw),
        }
    }

    /// A newer engine's event keeps its place, and a person can see that it was there.
    fn tell_unknown(&mut self, raw: &Raw) {
        self.about(About::Anomaly(Anomaly {
            misfit: Misfit::Unreadable,
            at: Some(self.at),
            about: format!("event {}", self.seq).into(),
            what: format!("{} cannot be read by this version: {}", raw.name, raw.data.get()).into(),
        }));
    }

    /// Routes what is about sessions and their questions.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "`tell` routes only these here, and names every event"
    )]
    fn tell_session(&mut self, body: Body, name: &'static str) {
        match body {
            Body::Asked(data) => self.asked(data, name),
            Body::Answered(data) | Body::Withdrawn(data) => self.settled(data, name),
            Body::SessionIntended(data) => self.session_intended(data),
            Body::SessionStarted(data) => self.session_started(data),
            Body::SessionNamed(data) => self.session_named(data),
            Body::SessionLost(data) | Body::SessionEnded(data) => self.session_ended(data, name),
            _ => {}
        }
    }

    /// Routes what is about commands, the engine and its settings.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "`tell` routes only these here, and names every event"
    )]
    fn tell_around(&mut self, body: Body) {
        match body {
            Body::CommandAccepted(data) => self.command_accepted(data),
            Body::CommandConfirmed(data) => {
                let p::CommandConfirmed { command_id, kind, proof, effects, .. } = data;
                let effects = effects.unwrap_or_default();
                self.about(About::Command(command_id, CommandFact::Confirmed { kind, proof, effects }));
            }
            Body::CommandRefused(data) => {
                let p::CommandRefused { command_id, kind, code, reason, .. } = data;
                self.about(About::Command(command_id, CommandFact::Refused { kind, code, reason }));
            }
            Body::EngineStarted(data) | Body::EngineRecovered(data) => {
                let p::EngineTurn { pid, version, epoch, .. } = data;
                self.about(About::Engine(EngineFact::Started { pid, version, epoch }));
            }
            Body::ProviderLimited(p::ProviderLimited { provider, until: Some(until), reason, .. }) => {
                self.about(About::Engine(EngineFact::Limited { provider, until, reason }));
            }
            Body::EngineStopped(data) => self.about(About::Engine(EngineFact::Stopped { why: data.reason })),
            Body::SettingsChanged(p::SettingsChanged { settings: Some(settings), .. }) => {
                self.about(About::Settings(settings));
            }
            _ => {}
        }
    }

    fn command_accepted(&mut self, data: p::CommandAccepted) {
        let on = data.delegation_id.as_ref().map(|id| target(id, data.subtask_id.as_ref()));
        let accepted = CommandFact::Accepted {
            kind: data.kind.clone().unwrap_or_default(),
            target: on,
            by: data.by,
            // What a start was given is told by the start itself; a receipt need not hold all of it again.
            options: data.options.filter(|_| data.kind.as_deref() != Some("start")),
            deadline: data.deadline,
        };
        self.about(About::Command(data.command_id, accepted));
    }

    fn about(&mut self, about: About) {
        self.out.push(Fact { source: self.source, at: Some(self.at), about });
    }

    /// Tells something of a node, together with what this event told of it just before.
    fn node<'k>(&mut self, keys: impl Into<Cow<'k, Keys>>, what: NodeFact) {
        let (keys, at) = (keys.into(), Some(self.at));
        match self.out.get_mut(self.begin..).and_then(<[Fact]>::last_mut) {
            Some(Fact { about: About::Several(same, list), .. }) if *same == *keys => list.push((at, what)),
            _ => {
                let mut list = Vec::with_capacity(FACTS);
                list.push((at, what));
                let about = About::Several(keys.into_owned(), list);
                self.out.push(Fact { source: self.source, at, about });
            }
        }
    }

    /// Tells a status word, and writes the event into the node's timeline.
    fn status(&mut self, keys: &Keys, report: StatusReport, name: &'static str) {
        let note = report.why.as_deref().map(Into::into);
        self.node(keys, NodeFact::Status(Box::new(report)));
        self.happened(keys, name, note);
    }

    fn happened(&mut self, keys: &Keys, name: &'static str, note: Option<Box<str>>) {
        let name = NAMES.get(name).cloned().unwrap_or_else(|| name.into());
        let moment = Moment { at: Some(self.at), seq: self.seq, name, note };
        self.node(keys, NodeFact::Happened(moment));
    }

    /// Returns the id under which a usage without ids of its own counts: its event's place.
    fn usage_id(&self, on: &Keys, message: Option<&str>, request: Option<&str>) -> Arc<str> {
        crate::model::fact::UsageReport::id_of(message, request)
            .unwrap_or_else(|| format!("{}#{}", on.first, self.seq).into())
    }
}

/// Returns the keys of a step, with its session's where the event names one.
fn step(
    delegation: &crate::model::id::DelegationId,
    subtask: &crate::model::id::SubtaskId,
    session_id: Option<&crate::model::id::SessionId>,
) -> Keys {
    let keys = Keys::from(target(delegation, Some(subtask)));
    match session_id {
        Some(id) => keys.and(session(id)),
        None => keys,
    }
}

/// Makes the report of a canonical word.
fn report(field: Field, word: &'static str, why: Option<String>, attempt: Option<u32>) -> StatusReport {
    StatusReport { why, attempt, ..StatusReport::of(field, word) }
}
