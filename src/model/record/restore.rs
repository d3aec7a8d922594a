//! Records told again, as facts: how a snapshot, a plain store or a page of history enters a model.

use std::borrow::Cow;

use super::{ModelRecord, Record, UsageRecord};
use crate::model::command::{CommandFact, Receipt, ReceiptState};
use crate::model::fact::{
    About, Action, Clock, Description, EngineFact, Fact, NodeFact, Scope, StatusReport, UsageReport,
};
use crate::model::handoff::Handoff;
use crate::model::key::{Keys, NodeKey, SourceId, SourceKind};
use crate::model::node::{Models, NodeKind};
use crate::model::words::{Field, meaning};
use crate::model::{Model, NodeIx};

/// How many facts most records tell; the list of them is then still small to the system's memory.
const FACTS: usize = 12;

/// Tells a whole model again.
pub fn model_facts(record: ModelRecord, source: SourceId, out: &mut Vec<Fact>) {
    for delegation in record.delegations {
        facts(delegation, source, out);
    }
    for receipt in record.receipts {
        receipt_facts(receipt, source, out);
    }
    let mut engine = record.engine;
    let limits = std::mem::take(&mut engine.limits);
    if engine.since.is_some() || engine.running {
        let started = EngineFact::Started {
            pid: engine.pid,
            version: engine.version.map(Into::into),
            epoch: engine.epoch,
        };
        out.push(Fact { source, at: engine.since, about: About::Engine(started) });
        if !engine.running {
            let stopped = EngineFact::Stopped { why: engine.why.map(Into::into) };
            out.push(Fact { source, at: engine.since, about: About::Engine(stopped) });
        }
    }
    for (provider, limit) in limits {
        let (provider, reason) = (provider.into(), limit.reason.map(Into::into));
        let limited = EngineFact::Limited { provider, until: limit.until, reason };
        out.push(Fact { source, at: None, about: About::Engine(limited) });
    }
    let settings = record.settings.into_iter().map(About::Settings);
    let anomalies = record.anomalies.into_iter().map(About::Anomaly);
    out.extend(settings.chain(anomalies).map(|about| Fact { source, at: None, about }));
}

/// Returns a model of one record alone, and its node.
pub fn alone(record: &Record) -> (Model, Option<NodeIx>) {
    let mut told = Vec::new();
    facts(record.clone(), SourceId(0), &mut told);
    let mut model = Model::default();
    let _ = model.apply_all(told);
    let root = model.roots().next();
    (model, root)
}

/// Tells one record again: the delegation, its steps, and what is below them.
pub fn facts(mut record: Record, source: SourceId, out: &mut Vec<Fact>) {
    let steps = std::mem::take(&mut record.subtasks);
    let Some(key) = record.keys.first().cloned() else { return };
    node_facts(record, None, source, out);
    for mut step in steps {
        let agents = std::mem::take(&mut step.agents);
        node_facts(step, Some(&key), source, out);
        for agent in agents {
            node_facts(agent, None, source, out);
        }
    }
}

fn node_facts(mut record: Record, parent: Option<&NodeKey>, source: SourceId, out: &mut Vec<Fact>) {
    let mut keys = std::mem::take(&mut record.keys).into_iter();
    let Some(first) = keys.next() else { return };
    let keys = Keys { first, more: keys.collect() };
    let kind = record.kind.unwrap_or(NodeKind::Group);
    let mut told = Vec::with_capacity(FACTS);
    told.push((None, NodeFact::Seen(kind)));
    let mut tell = |at, what| told.push((at, what));
    if let Some(parent) = record.parent.take().or_else(|| parent.cloned()) {
        tell(None, NodeFact::Under(Box::new(parent.into())));
    }
    tell(None, NodeFact::Described(Box::new(description(&mut record))));
    if let Some(handoff) = handoff(&mut record) {
        tell(None, NodeFact::HandedOff(Box::new(handoff)));
    }
    for attempt in std::mem::take(&mut record.attempts) {
        tell(None, NodeFact::Attempted(Box::new(attempt)));
    }
    if let Some(report) = status(&mut record, kind) {
        tell(record.since, NodeFact::Status(Box::new(report)));
    }
    let clocks = [
        (Clock::Created, record.created_at),
        (Clock::Started, record.started_at),
        (Clock::Ended, record.completed_at),
        (Clock::AcceptBy, record.expires_at),
        (Clock::FinishBy, record.deadline),
    ];
    for (clock, at) in clocks {
        if let Some(at) = at {
            tell(None, NodeFact::Clock(clock, at));
        }
    }
    let rest = [
        record.stale_after_ms.map(NodeFact::MaySleep),
        record.progress.map(NodeFact::Progressed),
        record.decision.take().map(NodeFact::Decided),
        record.result.take().map(NodeFact::Returned),
        record.tree.take().map(NodeFact::Worked),
        record.quality.map(NodeFact::Quality),
        record.budget.take().map(Box::new).map(NodeFact::Budgeted),
        record.context_window.map(NodeFact::Filled),
    ];
    rest.into_iter().flatten().for_each(|what| tell(None, what));
    let questions = std::mem::take(&mut record.questions).into_iter();
    questions.for_each(|question| tell(None, NodeFact::Asked(Box::new(question))));
    let usage: Vec<UsageReport> = std::mem::take(&mut record.usage).into_iter().map(report).collect();
    if !usage.is_empty() {
        tell(None, NodeFact::UsedAll(usage));
    }
    let moments = std::mem::take(&mut record.timeline).into_iter();
    moments.for_each(|moment| tell(None, NodeFact::Happened(moment)));
    let action = Action {
        last: record.last_action.take().map(Into::into),
        next: record.next_action.take().map(Into::into),
    };
    if action != Action::default() || record.last_sign_at.is_some() {
        tell(record.last_sign_at, NodeFact::Active(action));
    }
    out.push(Fact { source, at: None, about: About::Several(keys, told) });
}

fn description(record: &mut Record) -> Description {
    let Models { requested, injected, effective } = record.model.take().unwrap_or_default();
    Description {
        title: record.title.take().map(Into::into),
        agent: record.agent.take(),
        provider: record.provider.take(),
        model_requested: requested,
        model_injected: injected,
        model_effective: effective,
        pattern: record.pattern.take(),
        index: record.index,
        task: record.task_id.clone(),
        path: Some(std::mem::take(&mut record.path)).filter(|path| !path.is_empty()),
        depth: record.depth,
        depends_on: Some(std::mem::take(&mut record.dependencies)),
        expected_steps: record.subtask_count,
        estimate_ms: record.estimated_duration,
        max_attempts: record.max_attempts,
        workspace: record.workspace.take().map(Into::into),
        command: record.command.take().map(Into::into),
        is_hearsay: false,
    }
}

fn handoff(record: &mut Record) -> Option<Handoff> {
    let handoff = Handoff {
        from_agent: record.from_agent.take(),
        to_agent: record.to_agent.take(),
        task_id: None,
        context: record.context.take(),
        expected_output: record.expected_output.take(),
        category: record.category.take(),
        allowed_tools: record.allowed_tools.take(),
        allowed_actions: record.allowed_actions.take(),
        max_depth: record.max_depth,
        accepted_at: record.accepted_at,
        accepted_by: record.accepted_by.take(),
        offer: record.offer.unwrap_or(false),
        command: record.guide_command.take(),
        task_number: record.task_number,
        extra: record.handoff_extra.take().unwrap_or_default(),
    };
    (handoff != Handoff::default()).then(|| Handoff { task_id: record.task_id.clone(), ..handoff })
}

fn status(record: &mut Record, kind: NodeKind) -> Option<StatusReport> {
    let canonical = record.status?;
    let field = field_of(kind);
    // The raw word only where it means the same in its place here.
    let raw = record.raw_status.take().filter(|raw| meaning(SourceKind::Engine, field, raw) == canonical);
    Some(StatusReport {
        field,
        word: raw.map_or(Cow::Borrowed(canonical.as_str()), |raw| Cow::Owned(raw.into())),
        why: record.reason.take().map(Into::into),
        retryable: record.retryable,
        attempt: record.attempt,
    })
}

/// Returns the field in which a node of this kind has its status word.
pub fn field_of(kind: NodeKind) -> Field {
    match kind {
        NodeKind::Delegation => Field::Delegation,
        NodeKind::Subtask => Field::Task,
        NodeKind::Session | NodeKind::Agent | NodeKind::Group => Field::Session,
    }
}

fn report(usage: UsageRecord) -> UsageReport {
    // Ids were once made of more: a message must be known again whenever it was written down.
    let parts = usage.id.as_deref().and_then(|id| id.split_once('+'));
    let id = parts.and_then(|(message, request)| UsageReport::id_of(Some(message), Some(request)));
    UsageReport {
        id: id.or(usage.id),
        scope: if usage.total { Scope::Total } else { Scope::Message },
        model: usage.model,
        tokens: usage.tokens,
        cost: usage.cost,
        by_table: usage.by_table,
        ..UsageReport::default()
    }
}

fn receipt_facts(receipt: Receipt, source: SourceId, out: &mut Vec<Fact>) {
    let mut tell = |at, fact| {
        out.push(Fact { source, at, about: About::Command(receipt.command_id.clone(), fact) });
    };
    let kind: Option<String> = receipt.kind.map(Into::into);
    if receipt.accepted_at.is_some() || receipt.target.is_some() || !receipt.state.is_final() {
        let accepted = CommandFact::Accepted {
            kind: kind.clone().unwrap_or_default(),
            target: receipt.target,
            by: receipt.by.map(Into::into),
            options: receipt.options,
            deadline: receipt.deadline,
        };
        tell(receipt.accepted_at, accepted);
    }
    match receipt.state {
        ReceiptState::Accepted | ReceiptState::Overdue => {}
        ReceiptState::Confirmed { at, proof, effects } => {
            tell(at, CommandFact::Confirmed { kind, proof: proof.map(Into::into), effects });
        }
        ReceiptState::Refused { at, code, reason } => {
            let (code, reason) = (code.map(Into::into), reason.map(Into::into));
            tell(at, CommandFact::Refused { kind, code, reason });
        }
    }
}
