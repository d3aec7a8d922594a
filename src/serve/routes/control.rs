//! The controls: each route sends one command, and answers when its receipt is final, or after a while with what is
//! true so far. Every verb takes the same way; what it needs is in the body.

use axum::Json;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::Api;
use super::super::plan::stray;
use super::super::problem::Problem;
use crate::engine::door::{Answer, Left, View};
use crate::engine::foresee::Question;
use crate::engine::kernel::Preview;
use crate::engine::kernel::spec::Code;
use crate::model::command::{Command, Receipt, ReceiptState, Verb};
use crate::model::id::{CommandId, DelegationId, SubtaskId, file_name};
use crate::model::key::NodeKey;
use crate::model::node::Node;
use crate::report::json::item_of;

/// What stands behind the question mark.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Options {
    /// Only say what it would touch.
    #[serde(default)]
    pub preview: bool,
}

/// How far a command is.
pub(super) enum Sent {
    Final(Box<Receipt>),
    /// Not done yet: the receipt so far, if there is one.
    Pending(Option<Box<Receipt>>),
}

pub(super) async fn on_delegation(
    State(api): State<Api>,
    Path((id, verb)): Path<(String, String)>,
    options: Result<Query<Options>, QueryRejection>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    control(&api, (id, None), &verb, options?.0, &headers, super::fields(body)?).await
}

pub(super) async fn on_subtask(
    State(api): State<Api>,
    Path((id, subtask, verb)): Path<(String, String, String)>,
    options: Result<Query<Options>, QueryRejection>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let target = (id, Some(SubtaskId::from(subtask)));
    control(&api, target, &verb, options?.0, &headers, super::fields(body)?).await
}

async fn control(
    api: &Api,
    (id, subtask): (String, Option<SubtaskId>),
    verb: &str,
    options: Options,
    headers: &HeaderMap,
    mut fields: Map<String, Value>,
) -> Result<Response, Problem> {
    let key = key(headers)?;
    let by = take_by(&mut fields)?;
    let verb = read_verb(verb, fields)?;
    let command = api.0.door.look(move |view| {
        let delegation_id = target(view, &id, &key)?;
        let at = view.now;
        Ok::<_, Problem>(Command { id: key, verb, delegation_id, subtask_id: subtask, by: Some(by), at })
    });
    let command = command.await??;
    if options.preview {
        return preview(api, command).await;
    }
    let sent = send(api, command.clone()).await?;
    answer(api, command, sent).await
}

/// Returns the delegation that is meant; of a command that was given before, the one that was meant then.
fn target(view: &View<'_>, id: &str, key: &CommandId) -> Result<DelegationId, Problem> {
    super::delegation(view, id).map(|(id, _)| id).or_else(|problem| {
        let receipt = view.receipt(key).ok_or_else(|| problem.clone())?;
        match receipt.target {
            Some(NodeKey::Delegation(known) | NodeKey::Subtask(known, _))
                if known.as_str().starts_with(id) =>
            {
                Ok(known)
            }
            _ => Err(problem),
        }
    })
}

/// Returns the id that a command is to have: the same key never acts twice.
pub(super) fn key(headers: &HeaderMap) -> Result<CommandId, Problem> {
    use std::hash::{BuildHasher, RandomState};
    let Some(sent) = headers.get("idempotency-key") else {
        let (one, two) = (RandomState::new().hash_one(0u8), RandomState::new().hash_one(1u8));
        return Ok(format!("cmd-{one:016x}{two:016x}").into());
    };
    let sent = sent.to_str().map_err(|_| Problem::malformed("The Idempotency-Key is no plain text."))?;
    file_name(sent).map(CommandId::from).map_err(|why| {
        Problem::malformed(&format!(
            "The Idempotency-Key {why}.\nUse letters, digits and dashes, as in a UUID."
        ))
    })
}

/// Takes who asks out of a body.
pub(super) fn take_by(fields: &mut Map<String, Value>) -> Result<String, Problem> {
    match fields.remove("by") {
        None | Some(Value::Null) => Ok("api".into()),
        Some(Value::String(by)) => Ok(by),
        Some(_) => Err(Problem::malformed("`by` says who asks, and must be text.")),
    }
}

/// Reads a verb and what it needs.
fn read_verb(kind: &str, fields: Map<String, Value>) -> Result<Verb, Problem> {
    // What the interface leaves open, for all verbs together: each takes only its own.
    let defaults = json!({"mode": "freeze", "rollback": false, "withFailure": false});
    let mut whole = if let Value::Object(defaults) = defaults { defaults } else { Map::new() };
    let given: Vec<String> = fields.keys().cloned().collect();
    whole.extend(fields);
    whole.insert("kind".into(), kind.into());
    let read = serde_json::from_value::<Verb>(Value::Object(whole));
    let verb = match read {
        Ok(Verb::Start { .. }) => {
            Err(Problem::not_found("A delegation is started by POST /api/delegation/start."))
        }
        Err(error) if error.to_string().starts_with(&format!("unknown variant `{kind}`")) => Err(
            Problem::not_found(&format!("There is no control {kind:?}.\nThere are those of docs/api.md.")),
        ),
        Err(error) => Err(Problem::malformed(&format!("{kind} cannot be understood: {error}."))),
        Ok(verb) => Ok(verb),
    }?;
    if let Some(stray) = stray(&verb, &given) {
        return Err(Problem::malformed(&format!(
            "{kind} knows no {stray:?}.\ndocs/api.md says what it takes."
        )));
    }
    Ok(verb)
}

/// Gives the command, and waits for its receipt as long as the interface waits.
pub(super) async fn send(api: &Api, command: Command) -> Result<Sent, Problem> {
    let id = command.id.clone();
    let answer = api.0.door.command(command).await?;
    match tokio::time::timeout(api.0.patience, answer).await {
        Ok(Ok(Answer::Receipt(receipt))) => Ok(Sent::Final(Box::new(receipt))),
        Ok(Ok(Answer::OtherRequest(receipt))) => {
            let kind = receipt.kind.as_deref().unwrap_or("another request");
            let text = format!(
                "The Idempotency-Key {id} was used before, for {kind}.\nUse a new one for each request."
            );
            Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "key-reused", &text))
        }
        Ok(Err(_)) => Err(Left.into()),
        Err(_) => {
            let receipt = api.0.door.look(move |view| view.receipt(&id)).await?;
            match receipt {
                Some(receipt) if receipt.state.is_final() => Ok(Sent::Final(Box::new(receipt))),
                other => Ok(Sent::Pending(other.map(Box::new))),
            }
        }
    }
}

/// Says how it ended, in the interface's shape: `success`, the target's state, and the receipt.
async fn answer(api: &Api, command: Command, sent: Sent) -> Result<Response, Problem> {
    let about = command.clone();
    let (status, mut told) = api.0.door.look(move |view| describe(view, &about)).await?;
    let (code, success, receipt) = match sent {
        Sent::Final(receipt) => {
            if let ReceiptState::Refused { code, reason, .. } = &receipt.state {
                let problem = Problem::refused(code.as_deref(), reason.as_deref(), Some((*receipt).clone()));
                return Err(problem.in_state(status));
            }
            (StatusCode::OK, true, Some(receipt))
        }
        Sent::Pending(receipt) => (StatusCode::ACCEPTED, false, receipt),
    };
    told.insert("success".into(), success.into());
    told.insert("status".into(), status.into());
    told.insert("receipt".into(), serde_json::to_value(receipt).unwrap_or_default());
    Ok((code, Json(told)).into_response())
}

/// Returns the target's state, and what the interface says of a step beside it.
fn describe(view: &View<'_>, command: &Command) -> (Option<&'static str>, Map<String, Value>) {
    let mut told = Map::new();
    let key = NodeKey::Delegation(command.delegation_id.clone());
    let mut target = view.model.find(&key);
    let steps = target.and_then(|ix| view.model.get(ix)).map(Node::children);
    let open = steps
        .into_iter()
        .flatten()
        .filter(|ix| view.model.get(**ix).is_some_and(|step| !step.status.is_ended()));
    told.insert("remaining".into(), open.count().into());
    if let Some(step) = &command.subtask_id {
        target = view.model.find(&NodeKey::Subtask(command.delegation_id.clone(), step.clone()));
        let shown = target.and_then(|ix| serde_json::to_value(item_of(view.model, ix)?).ok());
        told.insert("subtask".into(), shown.unwrap_or_default());
    }
    let status = target.and_then(|ix| view.model.get(ix)).map(|node| node.status.word().as_str());
    (status, told)
}

pub(super) async fn preview(api: &Api, command: Command) -> Result<Response, Problem> {
    let (kind, folder) = (command.verb.kind(), api.0.door.folder().clone());
    let look =
        move |view: &View<'_>| (view.kernel.preview(&command), Question::of(view.kernel, &folder, &command));
    let (preview, undone) = api.0.door.look(look).await?;
    let preview = preview?;
    let Preview { delegations, subtasks, sessions, .. } = preview;
    let subtasks: Vec<Value> = subtasks
        .iter()
        .map(|(delegation, step)| json!({"delegationId": delegation, "subtaskId": step}))
        .collect();
    let mut told =
        json!({"kind": kind, "delegations": delegations, "subtasks": subtasks, "sessions": sessions});
    if let (Some(undone), Some(told)) = (undone, told.as_object_mut()) {
        // Git may take its time.
        let answer = tokio::task::spawn_blocking(move || undone.answer()).await.map_err(|_| Left)?;
        let rollback =
            answer.map_err(|why| Problem::refused(Some(Code::Unsupported.as_str()), Some(&why), None))?;
        told.insert("rollback".into(), serde_json::to_value(rollback).unwrap_or_default());
    }
    Ok(Json(json!({ "preview": told })).into_response())
}
