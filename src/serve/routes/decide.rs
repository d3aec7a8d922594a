//! Whether a task should be handed over: asked without doing anything. The decision, several at once, a quick look, and
//! the check before a task is carried out.

use std::sync::PoisonError;

use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::super::Api;
use super::super::problem::Problem;
use crate::config::decide::deciding;
use crate::config::{Layer, tasks};
use crate::decide::decision::{Options, to_json};
use crate::decide::hint;
use crate::decide::settings::Settings;
use crate::decide::task::{Agent, Task};
use crate::model::event::{Body, payload as p};
use crate::model::handoff::Decision;
use crate::model::time::Stamp;

/// So many tasks may be asked about at once.
const MOST: usize = 1_000;

/// What is asked about, and under which settings.
pub(super) struct Asked {
    pub id: Option<String>,
    pub task: Task,
    pub settings: Settings,
    pub now: Stamp,
    logs: bool,
    /// The task as it is planned, where it is.
    pub planned: Option<tasks::Task>,
}

/// `POST /api/delegation/decision`
pub(super) async fn decision(
    State(api): State<Api>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let mut fields = super::fields(body)?;
    let (options, agent) = (take_options(&mut fields)?, take_agent(&mut fields)?);
    let asked = take_asked(&api, &mut fields).await?;
    nothing_else(&fields)?;
    let decision = weigh(&api, &asked, agent.as_ref(), options);
    if let Some(id) = asked.id.filter(|_| asked.logs) {
        let (task_id, decision) = (Some(id.into()), Some(Box::new(decision.clone())));
        let told = p::Decided { task_id, decision, ..Default::default() };
        api.0.door.note(Body::Decided(told)).await?;
    }
    Ok(Json(json!({ "decision": to_json(&decision) })).into_response())
}

/// `POST /api/delegation/decision/batch`
pub(super) async fn batch(
    State(api): State<Api>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let mut fields = super::fields(body)?;
    let (options, agent) = (take_options(&mut fields)?, take_agent(&mut fields)?);
    let Some(Value::Array(list)) = fields.remove("tasks") else {
        return Err(Problem::malformed("`tasks` must be a list of tasks, or of their ids."));
    };
    nothing_else(&fields)?;
    if list.len() > MOST {
        return Err(Problem::malformed(&format!("There are {} tasks.\nAsk for {MOST} at most.", list.len())));
    }
    let mut decisions = Vec::with_capacity(list.len());
    for told in list {
        let name = if told.is_string() { "taskId" } else { "task" };
        let asked = take_asked(&api, &mut Map::from_iter([(name.to_owned(), told)])).await?;
        decisions.push(to_json(&weigh(&api, &asked, agent.as_ref(), options)));
    }
    Ok(Json(json!({ "decisions": decisions })).into_response())
}

/// `GET /api/delegation/hint/{task}`
pub(super) async fn quick(State(api): State<Api>, Path(task): Path<String>) -> Result<Response, Problem> {
    let asked = find(&api, task).await?;
    let hint = hint::hint(&asked.task, &asked.settings);
    if let Some(id) = asked.id.filter(|_| hint.should_consider_delegation && asked.logs) {
        let parts = u32::try_from(hint.quick_factors.subtask_potential).ok();
        // A quick look weighs nothing: how sure it is and how to split it are not known.
        let told = p::Hint {
            task_id: id.into(),
            should_delegate: Some(true),
            subtask_count: parts,
            ..Default::default()
        };
        api.0.door.note(Body::Hint(told)).await?;
    }
    Ok(Json(hint).into_response())
}

/// `POST /api/delegation/check`
pub(super) async fn check(
    State(api): State<Api>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let mut fields = super::fields(body)?;
    let (options, agent) = (take_options(&mut fields)?, take_agent(&mut fields)?);
    let asked = take_asked(&api, &mut fields).await?;
    nothing_else(&fields)?;
    let decision = weigh(&api, &asked, agent.as_ref(), options);
    let is_worth_it = decision.should_delegate == Some(true);
    let mode = asked.settings.mode.as_str();
    let answer = match &asked.planned {
        Some(planned) => planned.before(mode, |_| (is_worth_it, to_json(&decision))),
        None if mode == "disabled" || !is_worth_it => json!({ "delegationSuggested": false }),
        None => json!({ "delegationSuggested": true, "decision": to_json(&decision) }),
    };
    let is_suggested = answer.get("delegationSuggested") == Some(&Value::Bool(true));
    if let Some(id) = asked.id.filter(|_| is_suggested && asked.logs) {
        api.0.door.note(Body::Hint(told(id, &decision))).await?;
    }
    Ok(Json(answer).into_response())
}

fn told(id: String, decision: &Decision) -> p::Hint {
    p::Hint {
        task_id: id.into(),
        should_delegate: decision.should_delegate,
        confidence: decision.confidence,
        suggested_pattern: decision.suggested_pattern.clone(),
        subtask_count: u32::try_from(decision.subtasks.len()).ok(),
        ..Default::default()
    }
}

/// Decides, or says again what was decided less than a minute ago.
pub(super) fn weigh(api: &Api, asked: &Asked, agent: Option<&Agent>, options: Options) -> Decision {
    // A panic while it was held leaves answers that are still true.
    let mut decider = api.0.decider.lock().unwrap_or_else(PoisonError::into_inner);
    decider.set(asked.settings.clone());
    (*decider.decide(&asked.task, agent, options, asked.now)).clone()
}

/// Returns what is asked about: a task of tasks.json by its id, or one that is told.
async fn take_asked(api: &Api, fields: &mut Map<String, Value>) -> Result<Asked, Problem> {
    let told = |value: &Value| match value.as_str() {
        Some(text) => Ok(Task::from_text(text)),
        None => Task::read(value),
    };
    match (fields.remove("taskId"), fields.remove("task")) {
        (Some(Value::String(id)), None) => find(api, id).await,
        (id, Some(task)) => {
            let task = told(&task).map_err(|why| Problem::malformed(&why))?;
            let id = id.and_then(|id| id.as_str().map(str::to_owned)).or(task.id.clone());
            let (settings, now, logs) = in_force(api, None).await?;
            Ok(Asked { id, task, settings, now, logs, planned: None })
        }
        (_, None) => Err(Problem::malformed("Name a task by its `taskId`, or tell it as `task`.")),
    }
}

/// Finds a task of the project's tasks.json.
pub(super) async fn find(api: &Api, id: String) -> Result<Asked, Problem> {
    let Some((path, shown)) = tasks::file::find(api.0.door.folder().project()) else {
        return Err(Problem::not_found(&format!(
            "There is no tasks.json here, so no task {id:?}.\nIt may be at: {}.",
            tasks::file::FILES.join(", ")
        )));
    };
    let unreadable = |why: String| Problem::malformed(&format!("{shown} cannot be read: {why}."));
    let read = tokio::task::spawn_blocking(move || tasks::file::text(&path)).await;
    let text = read.map_err(|error| unreadable(error.to_string()))?;
    let text = text.map_err(|error| unreadable(error.to_string()))?;
    let planned = tasks::task(shown, &text, &id).map_err(|error| unreadable(error.to_string()))?;
    let Some(planned) = planned else {
        return Err(Problem::not_found(&format!("{shown} has no task {id:?}.")));
    };
    // One that says little is weighed by that.
    let task = Task::read(&planned.whole).unwrap_or_else(|_| Task::from_text(&planned.prompt()));
    let (settings, now, logs) = in_force(api, Some(&planned)).await?;
    Ok(Asked { id: Some(id), task, settings, now, logs, planned: Some(planned) })
}

/// Returns the settings that hold for a task.
async fn in_force(api: &Api, task: Option<&tasks::Task>) -> Result<(Settings, Stamp, bool), Problem> {
    let own = task.map(|task| task.config.values.clone()).unwrap_or_default();
    let told = api.0.door.look(move |view| {
        let settings = view.config.settings().with(Layer::Task, &own);
        let agents = view.config.deciding().agents;
        (Settings { agents, ..deciding(&settings) }, view.now, settings.switch("logging.logDecisions"))
    });
    Ok(told.await?)
}

fn take_options(fields: &mut Map<String, Value>) -> Result<Options, Problem> {
    let mut switch = |name: &str, otherwise: bool| match fields.remove(name) {
        None | Some(Value::Null) => Ok(otherwise),
        Some(Value::Bool(is)) => Ok(is),
        Some(_) => Err(Problem::malformed(&format!("`{name}` must be true or false."))),
    };
    Ok(Options {
        skip_cache: switch("skipCache", false)?,
        include_subtasks: switch("includeSubtasks", true)?,
        include_reasoning: switch("includeReasoning", true)?,
        ..Options::default()
    })
}

/// Returns the agent that would do it: told whole, or by its id alone.
fn take_agent(fields: &mut Map<String, Value>) -> Result<Option<Agent>, Problem> {
    let id = fields.remove("agentId").and_then(|id| id.as_str().map(str::to_owned));
    let agent =
        Agent::read(&fields.remove("agent").unwrap_or_default()).map_err(|why| Problem::malformed(&why))?;
    Ok(match (agent, id) {
        (Some(agent), id) => Some(Agent { id: agent.id.clone().or(id), ..agent }),
        (None, Some(id)) => Some(Agent { id: Some(id), ..Agent::default() }),
        (None, None) => None,
    })
}

/// A typing error must not pass for a question without it.
fn nothing_else(fields: &Map<String, Value>) -> Result<(), Problem> {
    match fields.keys().next() {
        Some(stray) => Err(Problem::malformed(&format!(
            "A question knows no {stray:?}.\ndocs/api.md says what it takes."
        ))),
        None => Ok(()),
    }
}
