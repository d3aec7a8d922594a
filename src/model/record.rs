//! A delegation as one whole: what the snapshot, `delegations.json` and the history hold, one form for all.
//!
//! [`records`] writes the model down, [`restore::facts`] tells it again: a model that is told its own
//! records is the same model. A record holds a delegation, its steps, and below each step the agents; a
//! nested delegation is a record of its own that names its parent. So no record nests deeper than the
//! tree of types, however deep the delegations go.

pub mod restore;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::anomaly::Anomaly;
use super::command::Receipt;
use super::event::payload::{Budget, Progress};
use super::handoff::{Decision, Outcome};
use super::id::{DelegationId, SubtaskId, TaskId};
use super::key::{NodeKey, SourceId};
use super::name::Name;
use super::node::{Attempt, Models, Moment, Node, NodeKind, Question, Spent};
use super::status::StatusWord;
use super::time::Stamp;
use super::usage::{Context, Tokens, Usd};
use super::worktree::WorkTree;
use super::{Engine, Model, NodeIx};

/// Everything that a reader needs to go on from here.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelRecord {
    pub delegations: Vec<Record>,
    pub receipts: Vec<Receipt>,
    pub engine: Engine,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub anomalies: Vec<Anomaly>,
}

/// Declares [`Record`]: optional fields, then after a semicolon lists; absent where nothing is known.
macro_rules! record {
    (
        $(#[$doc:meta])* pub struct $name:ident {
            $($(#[$maybe_doc:meta])* $maybe:ident: $type:ty,)*
            ; $($(#[$list_doc:meta])* $list:ident: [$item:ty],)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $($(#[$maybe_doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $maybe: Option<$type>,)*
            $($(#[$list_doc])* #[serde(skip_serializing_if = "Vec::is_empty")] pub $list: Vec<$item>,)*
        }
    };
}

record! {
    /// One node, whole. The hand-off's fields stand beside the others, as the delegation record has them.
    pub struct Record {
        delegation_id: DelegationId,
        subtask_id: SubtaskId,
        kind: NodeKind,
        /// The node that it hangs under, where that is not the record around it.
        parent: NodeKey,
        title: Box<str>,
        status: StatusWord,
        /// The source's own word, where it is not the canonical one.
        raw_status: Box<str>,
        since: Stamp,
        reason: Box<str>,
        retryable: bool,
        index: u32,
        task_id: TaskId,
        pattern: Name,
        agent: Name,
        provider: Name,
        model: Models,
        depth: u32,
        attempt: u32,
        max_attempts: u32,
        created_at: Stamp,
        accepted_at: Stamp,
        started_at: Stamp,
        completed_at: Stamp,
        expires_at: Stamp,
        deadline: Stamp,
        last_sign_at: Stamp,
        stale_after_ms: u64,
        estimated_duration: u64,
        subtask_count: u32,
        progress: Progress,
        last_action: Box<str>,
        next_action: Box<str>,
        workspace: Box<str>,
        tree: Box<WorkTree>,
        command: Box<str>,
        quality: f64,
        budget: Budget,
        /// How full its context is; `context` is the hand-off's.
        context_window: Context,
        from_agent: String,
        to_agent: String,
        context: String,
        expected_output: String,
        category: String,
        allowed_tools: Vec<String>,
        allowed_actions: Vec<String>,
        max_depth: u32,
        accepted_by: String,
        offer: bool,
        /// The guide's command, and the task that it is about.
        guide_command: String,
        task_number: u64,
        /// Fields of the hand-off that this version does not know.
        handoff_extra: Map<String, Value>,
        decision: Box<Decision>,
        result: Box<Outcome>,
        ;
        keys: [NodeKey],
        path: [String],
        dependencies: [SubtaskId],
        attempts: [Attempt],
        questions: [Question],
        usage: [UsageRecord],
        timeline: [Moment],
        /// The steps of a delegation, in their order.
        subtasks: [Record],
        /// Everything below a step, parents first, each with its `parent`.
        agents: [Record],
    }
}

/// One message that was paid for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UsageRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Arc<str>>,
    /// Whether it stands for a whole session.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub total: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Name>,
    pub tokens: Tokens,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
    /// Whether the cost is computed from a table of prices.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_table: bool,
}

/// Writes the whole model down, with the engine, settings and receipts of one source.
pub fn model_record(model: &Model, source: SourceId) -> ModelRecord {
    let receipts = model.receipt_order.iter().filter_map(|id| model.receipts.get(id).cloned());
    let receipts = receipts.filter(|receipt| receipt.source == source);
    let (engine, settings) = model
        .source(source)
        .map(|source| (source.engine.clone(), source.settings.clone()))
        .unwrap_or_default();
    ModelRecord {
        delegations: records(model),
        receipts: receipts.collect(),
        engine,
        settings,
        anomalies: model.anomalies.recent.iter().cloned().collect(),
    }
}

/// Writes every delegation down, parents before those nested in them.
pub fn records(model: &Model) -> Vec<Record> {
    model.roots().flat_map(|root| tree_records(model, root)).collect()
}

/// Writes down a node that begins a record, and the delegations nested below it.
pub fn tree_records(model: &Model, root: NodeIx) -> Vec<Record> {
    model
        .subtree(root)
        .filter(|(ix, node)| *ix == root || node.kind == NodeKind::Delegation)
        .map(|(ix, node)| {
            let mut record = record(model, node);
            if ix == root {
                record.parent = None;
            }
            record.subtasks = steps(model, node);
            record
        })
        .collect()
}

fn steps(model: &Model, node: &Node) -> Vec<Record> {
    let nodes = node.children().iter().filter_map(|ix| model.get(*ix));
    nodes
        .filter(|step| step.kind != NodeKind::Delegation)
        .map(|step| {
            let mut step_record = record(model, step);
            step_record.parent = None;
            step_record.agents = agents(model, step);
            step_record
        })
        .collect()
}

/// Returns all below a step that belongs to its delegation, without what nested delegations hold.
fn agents(model: &Model, step: &Node) -> Vec<Record> {
    let mut stack: Vec<NodeIx> = step.children().iter().rev().copied().collect();
    let mut found = Vec::new();
    while let Some(ix) = stack.pop() {
        let Some(node) = model.get(ix).filter(|node| node.kind != NodeKind::Delegation) else { continue };
        found.push(record(model, node));
        stack.extend(node.children().iter().rev());
    }
    found
}

/// Writes one node down, without what hangs below it.
fn record(model: &Model, node: &Node) -> Record {
    let (delegation_id, subtask_id) = own_ids(node);
    let state = node.believed();
    let believed = node.claims.iter().find(|claim| claim.status == state.as_told());
    let told = state.told();
    // Who is held was begun when it was, and is held again by what is told of those above it.
    let since = believed.filter(|_| node.is_held).map_or(node.clocks.since, |claim| claim.at);
    let mut record = Record {
        delegation_id,
        subtask_id,
        kind: Some(node.kind),
        parent: node.parent().and_then(|parent| model.get(parent)?.keys.first().cloned()),
        title: node.title.clone(),
        status: (told != StatusWord::Unknown || believed.is_some()).then_some(told),
        raw_status: believed.and_then(|claim| claim.raw.clone()),
        since,
        reason: state.why().map(Into::into),
        retryable: state.retryable(),
        index: node.index,
        pattern: node.pattern().cloned(),
        agent: node.agent.clone(),
        provider: node.provider.clone(),
        model: (node.model != Models::default()).then(|| node.model.clone()),
        attempt: (node.attempt != 0).then_some(node.attempt),
        created_at: node.clocks.created,
        started_at: node.clocks.started,
        completed_at: node.clocks.ended,
        expires_at: node.clocks.accept_by,
        deadline: node.clocks.finish_by,
        last_sign_at: node.clocks.last_sign,
        stale_after_ms: node.clocks.may_sleep,
        progress: node.progress,
        last_action: node.last_action.clone(),
        next_action: node.next_action.clone(),
        keys: node.keys.clone(),
        attempts: node.attempts.clone(),
        max_attempts: node.max_attempts,
        estimated_duration: node.estimate_ms,
        dependencies: node.depends_on.as_deref().unwrap_or_default().to_vec(),
        result: node.outcome().map(|outcome| Box::new(outcome.into_owned())),
        // What is paid elsewhere is no part of what was paid here.
        usage: node.messages().iter().filter(|spent| !spent.is_paid_elsewhere).map(usage_record).collect(),
        timeline: node.timeline.clone(),
        ..Record::default()
    };
    record_more(&mut record, node);
    record
}

fn record_more(record: &mut Record, node: &Node) {
    let Some(more) = node.more() else { return };
    record.task_id.clone_from(&more.task);
    record.path.clone_from(&more.path);
    record.depth = more.depth;
    record.subtask_count = more.expected_steps;
    record.workspace.clone_from(&more.workspace);
    record.tree.clone_from(&more.tree);
    record.command.clone_from(&more.command);
    record.quality = more.quality;
    record.budget = more.budget.as_deref().cloned();
    record.context_window = more.context;
    record.questions.clone_from(&more.questions);
    record.decision.clone_from(&more.decision);
    if let Some(handoff) = more.handoff.as_deref().cloned() {
        record.from_agent = handoff.from_agent;
        record.to_agent = handoff.to_agent;
        record.context = handoff.context;
        record.expected_output = handoff.expected_output;
        record.category = handoff.category;
        record.allowed_tools = handoff.allowed_tools;
        record.allowed_actions = handoff.allowed_actions;
        record.max_depth = handoff.max_depth;
        record.accepted_at = handoff.accepted_at;
        record.accepted_by = handoff.accepted_by;
        record.offer = Some(handoff.offer).filter(|offer| *offer);
        record.guide_command = handoff.command;
        record.task_number = handoff.task_number;
        record.task_id = handoff.task_id.or(record.task_id.take());
        record.handoff_extra = Some(handoff.extra).filter(|extra| !extra.is_empty());
    }
}

fn own_ids(node: &Node) -> (Option<DelegationId>, Option<SubtaskId>) {
    match node.keys.iter().find_map(NodeKey::subtask) {
        Some((delegation, id)) => (Some(delegation.clone()), Some(id.clone())),
        None => (node.keys.iter().find_map(NodeKey::delegation).cloned(), None),
    }
}

fn usage_record(spent: &Spent) -> UsageRecord {
    UsageRecord {
        id: spent.id.clone(),
        total: spent.is_total,
        model: spent.model.clone(),
        tokens: spent.tokens,
        cost: spent.cost,
        by_table: spent.by_table,
    }
}
