//! The settings: what is in force and where it comes from, and how they are changed.

use axum::Json;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::Api;
use super::super::problem::Problem;
use super::control::take_by;
use crate::config::Layer;
use crate::engine::door::Change;

pub(super) async fn show(State(api): State<Api>) -> Result<Response, Problem> {
    Ok(Json(api.0.door.look(|view| view.config.told()).await?).into_response())
}

/// Where the changed settings are to be kept.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Save {
    #[default]
    Session,
    Project,
    User,
    Claude,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    save: Save,
}

pub(super) async fn change(
    State(api): State<Api>,
    wanted: Result<Query<Wanted>, QueryRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let layer = match wanted?.0.save {
        Save::Session => Layer::Session,
        Save::Project => Layer::Project,
        Save::User => Layer::User,
        Save::Claude => Layer::Claude,
    };
    let mut fields = super::fields(body)?;
    let by = Some(take_by(&mut fields)?);
    let change = Change { settings: Value::Object(fields), layer, by };
    match api.0.door.change(change).await? {
        Ok(settings) => Ok(Json(json!({ "success": true, "settings": settings })).into_response()),
        Err(faults) => {
            let first = faults.first().map(ToString::to_string).unwrap_or_default();
            Err(Problem::malformed(&first))
        }
    }
}
