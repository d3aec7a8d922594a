//! The two views that other tools read: the delegation store and the session registry.
//!
//! Both are made from the model and never read back as the truth.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::model::Model;
use crate::model::id::{DelegationId, Seq, SessionId, SubtaskId, TaskId};
use crate::model::key::NodeKey;
use crate::model::name::Name;
use crate::model::node::{Attempt, Node};
use crate::model::record::{Record, records};
use crate::model::time::Stamp;

/// The form of the delegation store that this version writes.
const VERSION: &str = "1.0.0";

/// `delegations.json`
#[derive(Serialize)]
pub(super) struct StoreView {
    version: &'static str,
    seq: Seq,
    delegations: Vec<Record>,
}

pub(super) fn delegations(model: &Model, seq: Seq) -> StoreView {
    StoreView { version: VERSION, seq, delegations: records(model) }
}

/// One running session: the nine fields of the delegation guide, then ours.
#[derive(Serialize)]
pub(super) struct Entry {
    command: Option<Box<str>>,
    subagent: Option<Name>,
    task_number: Option<TaskId>,
    start_time: Option<Stamp>,
    timeout: Option<u64>,
    deadline: Option<Stamp>,
    status: &'static str,
    delegation_depth: usize,
    delegation_path: Vec<String>,
    delegation_id: Option<DelegationId>,
    subtask_id: Option<SubtaskId>,
    attempt: u32,
    agent: Option<Name>,
    model: Option<Name>,
    pid: Option<u32>,
    pid_start: Option<u64>,
}

/// Returns the entry of every session that has started and not ended, by session id.
pub(super) fn registry(model: &Model) -> BTreeMap<SessionId, Entry> {
    let nodes = model.nodes().filter(|(_, node)| !node.status.is_ended());
    nodes
        .filter_map(|(ix, node)| {
            let running = node.attempts.last().filter(|attempt| attempt.ended_at.is_none())?;
            let session = running.session_id.clone().filter(|_| running.started_at.is_some())?;
            let above: Vec<&Node> = model.ancestors(ix).filter_map(|ix| model.get(ix)).collect();
            Some((session, entry(node, running, &above)))
        })
        .collect()
}

/// Returns every session of what is not over: running, starting, or about to be tried again.
pub(super) fn live_sessions(model: &Model) -> BTreeSet<SessionId> {
    let nodes = model.nodes().filter(|(_, node)| !node.status.is_ended());
    nodes.flat_map(|(_, node)| &node.attempts).filter_map(|attempt| attempt.session_id.clone()).collect()
}

fn entry(node: &Node, attempt: &Attempt, above: &[&Node]) -> Entry {
    let (delegation_id, subtask_id) = node
        .keys
        .iter()
        .find_map(NodeKey::subtask)
        .map(|(delegation, subtask)| (delegation.clone(), subtask.clone()))
        .unzip();
    let agent = attempt.agent.clone().or_else(|| node.agent.clone());
    let told =
        |pick: fn(&Node) -> Option<TaskId>| pick(node).or_else(|| above.iter().find_map(|node| pick(node)));
    let guide = above.iter().find_map(|node| node.more()?.handoff.as_deref());
    let number = guide.and_then(|handoff| handoff.task_number).map(|number| number.to_string().into());
    let mut path: Vec<String> = above
        .iter()
        .find_map(|node| node.more().map(|more| more.path.clone()).filter(|path| !path.is_empty()))
        .unwrap_or_default();
    path.extend(agent.as_deref().map(str::to_owned));
    Entry {
        command: guide
            .and_then(|handoff| handoff.command.as_deref().map(Into::into))
            .or_else(|| node.more().and_then(|more| more.command.clone())),
        subagent: agent.clone(),
        task_number: number.or_else(|| told(|node| node.more().and_then(|more| more.task.clone()))),
        start_time: attempt.started_at,
        timeout: attempt.timeout,
        deadline: node.clocks.finish_by,
        status: node.status.word().as_str(),
        // A top delegation's step has depth 1: a level for each delegation above.
        delegation_depth: above
            .iter()
            .filter(|node| node.kind == crate::model::node::NodeKind::Delegation)
            .count(),
        delegation_path: path,
        delegation_id,
        subtask_id,
        attempt: attempt.attempt,
        agent,
        model: attempt.model.clone().or_else(|| node.model.best().cloned()),
        pid: attempt.pid,
        pid_start: attempt.pid_start,
    }
}
