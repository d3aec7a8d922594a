//! What a hook saw inside an agent's own session: written down, each record once.

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use bytes::Bytes;
use serde_json::{Value, json};

use super::super::Api;
use super::super::problem::Problem;
use crate::model::event::Body;
use crate::model::event::payload::HookRecorded;

/// Takes one record; it is on disk when this answers.
pub(super) async fn record(
    State(api): State<Api>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, Problem> {
    let record: HookRecorded = serde_json::from_slice(&body?)
        .map_err(|error| Problem::malformed(&format!("The body is no hook's record: {error}.")))?;
    let id = record.id.clone();
    api.0.door.note(Body::HookRecorded(Box::new(record))).await?;
    Ok(Json(json!({ "id": id, "recorded": true })))
}
