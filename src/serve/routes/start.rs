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
use super::planner::Planner;
use crate::decide;
use crate::engine::door::View;
use crate::model::command::{Command, ReceiptState, Spec, StepSpec, Verb};
use crate::model::id::{CommandId, DelegationId};
use crate::model::key::NodeKey;
use crate::model::node::Node;
use crate::report::json::item_of;

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
    let planner =
        if options.preview { None } else { planner(&api, &fields, (&delegation_id, &key), &by).await? };
    let start = Start { key, by, delegation_id, is_preview: options.preview };
    let Some(planner) = planner else { return start.begin(&api, fields, None).await };
    // A plan may take minutes: it is gone on with, whoever still waits for it.
    let (id, planning, patience) = (start.delegation_id.clone(), planner.planning(), api.0.patience);
    let begun = tokio::spawn(async move { start.begin(&api, fields, Some(planner)).await });
    if let Ok(begun) = tokio::time::timeout(patience, begun).await {
        return begun.map_err(|_| Problem::from(crate::engine::door::Left))?;
    }
    let told = json!({ "delegationId": id, "status": null, "plannedIn": planning });
    Ok((StatusCode::ACCEPTED, Json(told)).into_response())
}

/// What is to begin, and for whom.
struct Start {
    key: CommandId,
    by: String,
    delegation_id: DelegationId,
    is_preview: bool,
}

/// Returns who is asked for the steps of a start that names a task and no steps.
async fn planner(
    api: &Api,
    fields: &Map<String, Value>,
    (delegation, key): (&DelegationId, &CommandId),
    by: &str,
) -> Result<Option<Planner>, Problem> {
    let is_direct = fields.get("pattern").and_then(Value::as_str) == Some("direct");
    let names_steps = fields.contains_key("subtasks") || fields.contains_key("prompt");
    if is_direct || names_steps || !fields.contains_key("taskId") {
        return Ok(None);
    }
    let name = api.0.door.look(|view| view.config.settings().name("planner")).await?;
    let (delegation, key, by) = (delegation.clone(), key.clone(), by.to_owned());
    Ok(name.map(|name| Planner { name, delegation, key, by }))
}

impl Start {
    async fn begin(
        self,
        api: &Api,
        fields: Map<String, Value>,
        planner: Option<Planner>,
    ) -> Result<Response, Problem> {
        let Self { key, by, delegation_id, is_preview } = self;
        let otherwise = api.0.door.look(|view| plan::Otherwise {
            limits: view.config.settings().limits(),
            patterns: view.config.deciding().patterns,
        });
        let otherwise = otherwise.await?;
        let is_weighed = !fields.contains_key("subtasks");
        let spec = if is_weighed {
            weighed(api, fields, &otherwise, planner.as_ref()).await?
        } else {
            plan::read(fields, &otherwise).map_err(|why| Problem::malformed(&why))?
        };
        let command = api.0.door.look(move |view| {
            check(view, &spec)?;
            let (verb, at) = (Verb::Start { spec: Box::new(spec) }, view.now);
            Ok::<_, Problem>(Command { id: key, verb, delegation_id, subtask_id: None, by: Some(by), at })
        });
        let command = command.await??;
        if is_preview {
            return preview(api, command).await;
        }
        let id = command.delegation_id.clone();
        match send(api, command).await? {
            Sent::Final(receipt) => {
                if let ReceiptState::Refused { code, reason, .. } = &receipt.state {
                    return Err(Problem::refused(
                        code.as_deref(),
                        reason.as_deref(),
                        Some((*receipt).clone()),
                    ));
                }
                answer(api, StatusCode::OK, id, serde_json::to_value(receipt).unwrap_or_default()).await
            }
            Sent::Pending(receipt) => {
                answer(api, StatusCode::ACCEPTED, id, serde_json::to_value(receipt).unwrap_or_default()).await
            }
        }
    }
}

async fn answer(api: &Api, code: StatusCode, id: DelegationId, receipt: Value) -> Result<Response, Problem> {
    let told = api.0.door.look(move |view| {
        let ix = view.model.find(&NodeKey::Delegation(id.clone()));
        let node = ix.and_then(|ix| view.model.get(ix));
        let steps = node.map(Node::children).unwrap_or_default();
        let shown: Vec<Value> =
            steps.iter().filter_map(|ix| serde_json::to_value(item_of(view.model, *ix)?).ok()).collect();
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
            // The order in which its fields stand says nothing.
            let mut request = Value::Object(fields.clone());
            request.sort_all_objects();
            let request = serde_json::to_vec(&request).unwrap_or_default();
            Ok(DelegationId::mint(super::digest(&[key.as_str().as_bytes(), &request])))
        }
        Some(_) => Err(Problem::malformed("`delegationId` must be text.")),
    }
}

/// Reads a start that names no steps: the decision is recorded with it, and a task of tasks.json that is named by its
/// id alone becomes the steps that the decision says.
async fn weighed(
    api: &Api,
    mut fields: Map<String, Value>,
    otherwise: &plan::Otherwise,
    planner: Option<&Planner>,
) -> Result<Spec, Problem> {
    let malformed = |why: String| Problem::malformed(&why);
    if let Some(prompt) = fields.get("prompt").and_then(Value::as_str) {
        let task = decide::task::Task::from_text(prompt);
        let decision = api.0.door.look(move |view| {
            let options = decide::decision::Options { include_subtasks: false, ..Default::default() };
            decide::decision::decide(&task, None, options, &view.config.deciding(), view.now)
        });
        let decision = decision.await?;
        let spec = plan::read(fields, otherwise).map_err(malformed)?;
        return Ok(Spec { decision: spec.decision.or(Some(Box::new(decision))), ..spec });
    }
    let Some(id) = fields.get("taskId").and_then(Value::as_str).map(str::to_owned) else {
        return plan::read(fields, otherwise).map_err(malformed);
    };
    let asked = super::decide::find(api, id).await?;
    let pattern = match fields.remove("pattern") {
        None | Some(Value::Null) => None,
        Some(told) => {
            let found = told.as_str().and_then(decide::pattern::Pattern::from_name);
            let names = decide::pattern::Pattern::names();
            Some(found.ok_or_else(|| malformed(format!("{told} is no pattern.\nThere are {names}.")))?)
        }
    };
    let whole = asked.planned.as_ref().map(crate::config::tasks::Task::prompt).unwrap_or_default();
    let wanted = decide::plan::Wanted { pattern, cast: plan::take_cast(&mut fields).map_err(malformed)? };
    let mut made = decide::plan::plan(&asked.task, &whole, &wanted, &asked.settings, asked.now);
    // A pattern that makes its own steps needs no plan of anybody.
    if let Some(planner) = planner.filter(|_| !made.pattern.is_woven()) {
        let told = planner.ask(api, &whole, &asked.settings, &otherwise.limits).await;
        match told.and_then(|told| decide::plan::answered(made.clone(), &planner.name, &told, &whole)) {
            Ok(better) => made = better,
            Err(why) => made.decision.hints.push(format!("{} made no plan: {why}.", planner.name)),
        }
    }
    let known = asked.settings.agents.known;
    let steps: Vec<StepSpec> = made
        .steps
        .into_iter()
        .map(|mut step| {
            step.agent = step.agent.take().filter(|agent| known.contains(agent));
            step
        })
        .collect();
    fields.entry("title").or_insert_with(|| asked.task.title.clone().into());
    fields.insert("pattern".into(), made.pattern.as_str().into());
    fields.insert("subtasks".into(), serde_json::to_value(&steps).unwrap_or_default());
    let spec = plan::read(fields, otherwise).map_err(malformed)?;
    Ok(Spec { decision: spec.decision.or(Some(Box::new(made.decision))), ..spec })
}

/// Refuses what would fail later.
fn check(view: &View<'_>, spec: &Spec) -> Result<(), Problem> {
    for step in &spec.subtasks {
        view.config.agent(step.agent.as_deref()).map_err(|why| Problem::malformed(&why))?;
    }
    Ok(())
}
