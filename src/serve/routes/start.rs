//! Begins a delegation. What the control interface leaves out of a subtask is filled in; what this engine cannot
//! keep is refused, not ignored.

use axum::Json;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::super::Api;
use super::super::plan;
use super::super::problem::Problem;
use super::control::{Options, Sent, key, preview, send, take_by};
use crate::engine::door::View;
use crate::model::command::{Command, ReceiptState, Spec, Verb};
use crate::model::id::{CommandId, DelegationId};
use crate::model::key::NodeKey;
use crate::model::node::Node;
use crate::report::json::tree;

pub(super) async fn start(
    State(api): State<Api>,
    options: Result<Query<Options>, QueryRejection>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let (options, key) = (options?.0, key(&headers)?);
    let mut fields = super::fields(body)?;
    let by = take_by(&mut fields)?;
    let delegation_id = take_id(&mut fields, &key)?;
    let max_depth = take_depth(&mut fields)?;
    let limits = api.0.door.look(|view| view.config.settings().limits()).await?;
    let spec = plan::read(fields, &limits).map_err(|why| Problem::malformed(&why))?;
    let command = api.0.door.look(move |view| {
        check(view, &spec, max_depth)?;
        let (verb, at) = (Verb::Start { spec: Box::new(spec) }, view.now);
        Ok::<_, Problem>(Command { id: key, verb, delegation_id, subtask_id: None, by: Some(by), at })
    });
    let command = command.await??;
    if options.preview {
        return preview(&api, command).await;
    }
    let id = command.delegation_id.clone();
    match send(&api, command).await? {
        Sent::Final(receipt) => {
            if let ReceiptState::Refused { code, reason, .. } = &receipt.state {
                return Err(Problem::refused(code.as_deref(), reason.as_deref(), Some((*receipt).clone())));
            }
            answer(&api, StatusCode::OK, id, serde_json::to_value(receipt).unwrap_or_default()).await
        }
        Sent::Pending(receipt) => {
            answer(&api, StatusCode::ACCEPTED, id, serde_json::to_value(receipt).unwrap_or_default()).await
        }
    }
}

async fn answer(api: &Api, code: StatusCode, id: DelegationId, receipt: Value) -> Result<Response, Problem> {
    let told = api.0.door.look(move |view| {
        let ix = view.model.find(&NodeKey::Delegation(id.clone()));
        let node = ix.and_then(|ix| view.model.get(ix));
        let steps = node.map(Node::children).unwrap_or_default();
        let shown: Vec<Value> = steps
            .iter()
            .filter_map(|ix| serde_json::to_value(tree(view.model, &[*ix]).nodes.first()).ok())
            .collect();
        json!({
            "delegationId": id,
            "status": node.map(|node| node.status.word()),
            "subtasks": shown,
            "startedAt": node.and_then(|node| node.clocks.started),
            "receipt": receipt,
        })
    });
    Ok((code, Json(told.await?)).into_response())
}

/// Returns the id that it is to have. Where none is given it follows from the key and the request, so that the
/// same request has the same one, and another request with the same key is told apart.
fn take_id(fields: &mut Map<String, Value>, key: &CommandId) -> Result<DelegationId, Problem> {
    match fields.remove("delegationId") {
        Some(Value::String(id)) => Ok(id.into()),
        None | Some(Value::Null) => {
            let request = serde_json::to_vec(fields).unwrap_or_default();
            Ok(DelegationId::mint(super::digest(&[key.as_str().as_bytes(), &request])))
        }
        Some(_) => Err(Problem::malformed("`delegationId` must be text.")),
    }
}

/// Takes the one option out that is no limit of a delegation.
fn take_depth(fields: &mut Map<String, Value>) -> Result<Option<u64>, Problem> {
    let depth = fields
        .get_mut("options")
        .and_then(Value::as_object_mut)
        .and_then(|options| options.remove("maxDepth"));
    match depth {
        None | Some(Value::Null) => Ok(None),
        Some(depth) => {
            depth.as_u64().map(Some).ok_or_else(|| Problem::malformed("`maxDepth` must be a whole number."))
        }
    }
}

/// Refuses what would fail later, or not be kept.
fn check(view: &View<'_>, spec: &Spec, max_depth: Option<u64>) -> Result<(), Problem> {
    for step in &spec.subtasks {
        view.config.agent(step.agent.as_deref()).map_err(|why| Problem::malformed(&why))?;
    }
    let most = u64::from(view.kernel.limits().max_depth);
    match max_depth {
        Some(depth) if depth < most => {
            let text = format!(
                "`maxDepth` is a setting of the engine, and {most}.\nLeave it out, or change the setting."
            );
            Err(Problem::new(StatusCode::BAD_REQUEST, "unsupported", &text))
        }
        Some(_) | None => Ok(()),
    }
}
