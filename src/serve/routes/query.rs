//! What is there now: the live delegations, one of them, why its steps do not run, a receipt, and the whole model.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::Api;
use super::super::problem::Problem;
use super::past;
use crate::engine::book::SOURCE;
use crate::engine::door::View;
use crate::model::id::{CommandId, DelegationId, SubtaskId};
use crate::model::key::NodeKey;
use crate::model::node::{Node, NodeKind};
use crate::model::record::model_record;
use crate::model::status::StatusWord;
use crate::model::{Model, NodeIx};
use crate::report::json::{item_of, tree};

pub(super) async fn active(State(api): State<Api>) -> Result<Response, Problem> {
    let live = api.0.door.look(|view| {
        let all = view.model.roots().flat_map(|root| view.model.subtree(root));
        let live = all.filter(|(_, node)| node.kind == NodeKind::Delegation && node.status.word().is_live());
        live.filter_map(|(ix, node)| {
            Some(summary(view, node.keys.iter().find_map(NodeKey::delegation)?, ix, node))
        })
        .collect::<Vec<_>>()
    });
    Ok(Json(json!({ "delegations": live.await? })).into_response())
}

/// What the interface says of a delegation in a list.
fn summary(view: &View<'_>, id: &DelegationId, ix: NodeIx, node: &Node) -> Map<String, Value> {
    let agents = view.model.subtree(ix).filter(|(below, step)| *below != ix && is_working(step)).count();
    let progress = node.progress();
    let told = json!({
        "delegationId": id,
        "taskId": node.more().and_then(|more| more.task.as_ref()),
        "title": node.title,
        "status": node.status.word(),
        "pattern": node.pattern(),
        "progress": progress.map(|progress| json!({
            "completed": progress.current, "total": progress.total, "percentage": progress.percent,
        })),
        "agents": agents,
        "startedAt": node.clocks.started,
        "deadline": node.clocks.finish_by,
    });
    if let Value::Object(told) = told { told } else { Map::new() }
}

fn is_working(step: &Node) -> bool {
    step.kind == NodeKind::Subtask && matches!(step.status.word(), StatusWord::Running | StatusWord::Stale)
}

pub(super) async fn one(State(api): State<Api>, Path(id): Path<String>) -> Result<Response, Problem> {
    let wanted = id.clone();
    let found = api.0.door.look(move |view| {
        let (id, ix) = super::delegation(view, &wanted)?;
        let node = view.model.get(ix).ok_or_else(|| Problem::not_found("It is gone."))?;
        let mut told = summary(view, &id, ix, node);
        let (steps, metrics) = (subtasks(view.model, node), metrics(view, node));
        told.insert("subtasks".into(), steps);
        told.insert("metrics".into(), metrics);
        told.insert("endedAt".into(), json!(node.clocks.ended));
        told.insert("reason".into(), json!(node.status.why()));
        told.insert("budget".into(), json!(node.more().and_then(|more| more.budget.as_ref())));
        Ok::<_, Problem>(told)
    });
    match found.await? {
        // What left the model is in the history.
        Err(problem) if problem.status == StatusCode::NOT_FOUND => match past::one(&api, id).await? {
            Some(record) => Ok(Json(record).into_response()),
            None => Err(problem),
        },
        other => Ok(Json(other?).into_response()),
    }
}

/// The steps, each as a node of the tree with its own id beside.
fn subtasks(model: &Model, node: &Node) -> Value {
    let steps = node.children().iter().filter_map(|ix| Some((*ix, model.get(*ix)?)));
    let shown = steps.filter_map(|(ix, step)| {
        let (_, id) = step.keys.iter().find_map(NodeKey::subtask)?;
        let mut shown = serde_json::to_value(item_of(model, ix)?).ok()?;
        shown.as_object_mut()?.insert("subtaskId".into(), json!(id));
        Some(shown)
    });
    shown.collect()
}

/// Null where nothing is known, never 0.
fn metrics(view: &View<'_>, node: &Node) -> Value {
    let spend = node.subtree_spend();
    let tokens = Some(spend.tokens()).filter(crate::model::usage::Tokens::is_known);
    let elapsed =
        node.clocks.started.map(|start| node.clocks.ended.unwrap_or(view.now).since(start).as_millis());
    let steps = node.children().iter().filter_map(|ix| view.model.get(*ix)?.more()?.quality);
    let (sum, count) = steps.fold((0.0, 0.0), |(sum, count), quality| (sum + quality, count + 1.0));
    json!({
        "tokensUsed": tokens.map(|tokens| tokens.total()),
        "estimatedCost": (spend.priced > 0).then(|| spend.cost.dollars()),
        "elapsedTime": elapsed.and_then(|ms| u64::try_from(ms).ok()),
        "avgSubtaskQuality": (count > 0.0).then(|| sum / count),
    })
}

pub(super) async fn explain(State(api): State<Api>, Path(id): Path<String>) -> Result<Response, Problem> {
    why(&api, id, None).await
}

pub(super) async fn explain_step(
    State(api): State<Api>,
    Path((id, step)): Path<(String, String)>,
) -> Result<Response, Problem> {
    why(&api, id, Some(step.into())).await
}

async fn why(api: &Api, id: String, step: Option<SubtaskId>) -> Result<Response, Problem> {
    let told = api.0.door.look(move |view| {
        let (id, _) = super::delegation(view, &id)?;
        let known = view.kernel.delegations().get(&id);
        let known =
            known.ok_or_else(|| Problem::not_found(&format!("{id} is not the engine's any more.")))?;
        let tasks = known.tasks.iter().filter(|task| step.as_ref().is_none_or(|step| task.spec.id == *step));
        let steps: Vec<Value> = tasks
            .filter_map(|task| {
                let why = view.kernel.explain(&id, &task.spec.id, view.now)?.to_string();
                let note = view.kernel.why_not_isolated(&id, &task.spec.id);
                Some(json!({"subtaskId": task.spec.id, "status": task.word(), "why": why, "note": note}))
            })
            .collect();
        match step {
            Some(step) if steps.is_empty() => Err(Problem::not_found(&format!("{id} has no subtask {step}"))),
            _ => Ok(json!({"delegationId": id, "status": known.status, "subtasks": steps})),
        }
    });
    Ok(Json(told.await??).into_response())
}

pub(super) async fn command(State(api): State<Api>, Path(id): Path<String>) -> Result<Response, Problem> {
    let unknown = Problem::not_found(&format!("No command {id} is known.\nIt was never given, or long ago."));
    let receipt = api.0.door.look(move |view| view.receipt(&CommandId::from(id))).await?;
    Ok(Json(json!({ "receipt": receipt.ok_or(unknown)? })).into_response())
}

/// Which part of the snapshot is wanted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Shape {
    #[default]
    Whole,
    /// Only the tree, for people and scripts.
    Tree,
    /// Only the model, for programs that go on from it with the events.
    Model,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    shape: Shape,
}

/// The tree as docs/tree-json.md has it, and beside it the model as a snapshot on disk holds it.
pub(super) async fn snapshot(
    State(api): State<Api>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Response, Problem> {
    let shape = wanted?.0.shape;
    let look = api.0.door.look(move |view| {
        let roots: Vec<NodeIx> = view.model.roots().collect();
        let nodes = (shape != Shape::Model).then(|| serde_json::to_string(&tree(view.model, &roots)));
        (view.seq, nodes.transpose(), (shape != Shape::Tree).then(|| model_record(view.model, SOURCE)))
    });
    let (seq, tree, model) = look.await?;
    let failed = |error: serde_json::Error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "encode", &error.to_string())
    };
    let mut parts = vec![format!("{{\"journal\":{}", json!(api.0.version.journal))];
    if let Some(model) = model {
        parts.push(format!("\"model\":{}", serde_json::to_string(&model).map_err(failed)?));
    }
    match tree.map_err(failed)? {
        // An object like any other: what stands before its fields is put there.
        Some(tree) => parts.push(tree.trim_start_matches('{').to_owned()),
        None => parts.push(format!("\"seq\":{seq}}}")),
    }
    Ok(([(CONTENT_TYPE, "application/json")], parts.join(",")).into_response())
}
