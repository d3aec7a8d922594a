//! The routes: one table, from which the router is made and the documents are checked. One file a group.

mod control;
mod decide;
mod hook;
mod log;
pub(super) mod past;
mod planner;
mod query;
mod settings;
mod start;

use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post, put};
use axum::{Json, Router};
use bytes::Bytes;
use serde_json::{Map, Value};

use super::problem::Problem;
use super::{Api, Version, guard, sse};
use crate::engine::door::View;
use crate::model::NodeIx;
use crate::model::id::DelegationId;
use crate::model::key::NodeKey;
use crate::report::select::{NotOne, Selection, select};
use crate::store::line::LONGEST_DRAFT;

/// One way to ask: the method, the path, and who answers.
type Route = (&'static str, &'static str, MethodRouter<Api>);

/// Every route there is.
fn table() -> Vec<Route> {
    vec![
        ("GET", "/api/version", get(version)),
        ("GET", "/api/delegation/active", get(query::active)),
        ("GET", "/api/delegation/history", get(past::history)),
        ("GET", "/api/delegation/snapshot", get(query::snapshot)),
        ("GET", "/api/delegation/events", get(sse::events)),
        ("GET", "/api/delegation/command/{command}", get(query::command)),
        ("GET", "/api/delegation/session/{session}/log", get(log::page)),
        ("GET", "/api/delegation/settings", get(settings::show)),
        ("PUT", "/api/delegation/settings", put(settings::change)),
        ("POST", "/api/delegation/decision", post(decide::decision)),
        ("POST", "/api/delegation/decision/batch", post(decide::batch)),
        ("GET", "/api/delegation/hint/{task}", get(decide::quick)),
        ("POST", "/api/delegation/check", post(decide::check)),
        ("POST", "/api/delegation/start", post(start::start)),
        ("POST", "/api/hook/record", post(hook::record)),
        ("GET", "/api/delegation/{id}", get(query::one)),
        ("GET", "/api/delegation/{id}/explain", get(query::explain)),
        ("GET", "/api/delegation/{id}/subtask/{subtask}/explain", get(query::explain_step)),
        ("POST", "/api/delegation/{id}/{verb}", post(control::on_delegation)),
        ("POST", "/api/delegation/{id}/subtask/{subtask}/{verb}", post(control::on_subtask)),
    ]
}

/// Returns the method and the path of every route.
pub fn names() -> Vec<(&'static str, &'static str)> {
    table().into_iter().map(|(method, path, _)| (method, path)).collect()
}

pub(super) fn router(api: Api) -> Router {
    let router =
        table().into_iter().fold(Router::new(), |router, (_, path, answer)| router.route(path, answer));
    router
        .fallback(unknown)
        .layer(DefaultBodyLimit::max(LONGEST_DRAFT))
        .layer(from_fn(in_one_shape))
        .layer(from_fn_with_state(api.clone(), guard::stand))
        .with_state(api)
}

async fn version(State(api): State<Api>) -> Json<Version> {
    Json(api.0.version.clone())
}

async fn unknown() -> Problem {
    Problem::not_found("There is no such route.\ndocs/api.md lists them.")
}

/// Gives what axum itself refuses (a wrong method, a path that is no text) the shape of all other errors.
async fn in_one_shape(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status();
    let is_ours = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if is_ours || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let allow = response.headers().get(axum::http::header::ALLOW).cloned();
    let text = status.canonical_reason().unwrap_or("It cannot be done.");
    let code = if status == StatusCode::METHOD_NOT_ALLOWED { "method" } else { "malformed" };
    let mut response = Problem::new(status, code, text).into_response();
    response.headers_mut().extend(allow.map(|allow| (axum::http::header::ALLOW, allow)));
    response
}

/// Reads a request's body as an object; an empty one has no fields.
fn fields(body: Result<Bytes, BytesRejection>) -> Result<Map<String, Value>, Problem> {
    let body = body?;
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_slice(&body)
        .map_err(|error| Problem::malformed(&format!("The body is no JSON object: {error}.")))
}

/// Finds the delegation whose id begins so.
fn delegation(view: &View<'_>, id: &str) -> Result<(DelegationId, NodeIx), Problem> {
    let exact = DelegationId::from(id);
    if let Some(ix) = view.model.find(&NodeKey::Delegation(exact.clone())) {
        return Ok((exact, ix));
    }
    let chosen = select(view.model, &Selection { id: Some(id.to_owned()), ..Selection::default() })?;
    let key = |ix: &NodeIx| view.model.get(*ix)?.keys.iter().find_map(NodeKey::delegation).cloned();
    let found = chosen.first().and_then(|ix| Some((key(ix)?, *ix)));
    found.ok_or_else(|| NotOne::None(id.to_owned()).into())
}

/// A number that stands for texts, the same in every process (FNV-1a).
pub(super) fn digest(parts: &[&[u8]]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = parts.iter().flat_map(|part| part.iter().chain(&[0]));
    bytes.fold(BASIS, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(PRIME))
}
