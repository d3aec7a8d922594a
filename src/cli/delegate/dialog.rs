//! What the monitor's dialog asks for: the plan that would be started, shown first, then begun as it was shown.

use super::weigh::{Desk, Wish, planner_of};
use super::{PATIENCE, assign, forget_env, new_id, pattern, prepare};
use crate::cli::{CliError, ask, config};
use crate::config::tasks;
use crate::decide;
use crate::decide::pattern::Cast;
use crate::decide::plan::{Plan, Wanted};
use crate::decide::settings::Patterns;
use crate::model::command::{Limits, ReceiptState, Spec};
use crate::model::handoff::Decision;
use crate::model::id::DelegationId;
use crate::monitor::app::effect::{Handover, Planned, TaskName};
use crate::store::folder::StateFolder;

/// Weighs and splits what a dialog asks for; nothing of it begins, unless the planner is asked.
pub(in crate::cli) fn plan(
    folder: &StateFolder,
    handover: &Handover,
    asks_planner: bool,
    tell: &dyn Fn(&str),
) -> Result<Planned, Box<dyn std::error::Error>> {
    let config = config::whole(folder)?;
    let desk = Desk { folder, config: &config, tell };
    let wish = Wish {
        tasks: std::slice::from_ref(&handover.text),
        pattern: handover.pattern.as_deref().map(pattern).transpose()?,
        cast: cast(handover),
        asks_planner,
        ..Wish::default()
    };
    let task = desk.planned(&wish)?;
    let settings = desk.settings(task.as_ref());
    let mut spec = desk.weighed(&wish, task.as_ref())?;
    assign_named(&wish.cast, &mut spec);
    with_model(handover, &mut spec);
    spec.propose |= task.is_some() && settings.switch("subtaskApproval");
    spec.task_id = task.map(|task| task.id.into());
    limit(handover, &mut spec.limits);
    // Who does it is shown, and whether anybody can.
    let made = spec.pattern;
    let trouble = assign(&config, &mut spec).err().map(|error| error.to_string());
    Ok(Planned { spec, planner: planner_of(made, wish.pattern, &settings), trouble })
}

/// Makes a plan of a decision that an engine elsewhere told.
pub(in crate::cli) fn plan_of(handover: &Handover, decision: Decision) -> Result<Planned, String> {
    let pattern = handover.pattern.as_deref().map(pattern).transpose()?;
    let wanted = Wanted { pattern, cast: cast(handover) };
    let Plan { decision, pattern, steps } =
        decide::plan::of_decision(decision, &handover.text, &wanted, &Patterns::default());
    let mut spec = Spec {
        title: Some(super::weigh::title(&handover.text)),
        pattern,
        subtasks: steps,
        decision: Some(Box::new(decision)),
        ..Spec::default()
    };
    assign_named(&wanted.cast, &mut spec);
    with_model(handover, &mut spec);
    limit(handover, &mut spec.limits);
    Ok(Planned { spec, ..Planned::default() })
}

/// Returns who takes part, and how large a pattern is to be.
fn cast(handover: &Handover) -> Cast {
    let names = handover.agent.iter().flat_map(|names| names.split(','));
    let agents = names.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    Cast { rounds: handover.rounds, answers: handover.agents, agents }
}

/// Who is named does it, whoever was suggested; a pattern that makes its own steps has given them out already.
fn assign_named(cast: &Cast, spec: &mut Spec) {
    if !spec.pattern.is_woven() && !cast.agents.is_empty() {
        spec.subtasks.iter_mut().for_each(|step| step.agent = None);
        cast.assign(&mut spec.subtasks);
    }
}

/// The model that is named is everybody's, whatever the plan says.
fn with_model(handover: &Handover, spec: &mut Spec) {
    for step in &mut spec.subtasks {
        step.model = handover.model.clone().or(step.model.take());
    }
}

fn limit(handover: &Handover, limits: &mut Limits) {
    limits.max_concurrent = handover.agents.or(limits.max_concurrent);
    limits.max_depth = handover.depth.or(limits.max_depth);
    limits.allow(handover.budget.unwrap_or_default());
}

/// Begins what was planned; returns the delegation's id. Nothing is printed: this is asked from a full screen.
pub(in crate::cli) fn begin(
    folder: &StateFolder,
    spec: Spec,
) -> Result<DelegationId, Box<dyn std::error::Error>> {
    let (id, command) = prepare(folder, spec)?;
    match ask::send_telling(folder, &command, PATIENCE, &|_| ())?.map(|receipt| receipt.state) {
        Some(ReceiptState::Confirmed { .. }) => Ok(id),
        Some(ReceiptState::Refused { reason, code, .. }) => {
            let why = reason.or(code).unwrap_or_else(|| "no reason given".into());
            forget_env(folder, &id);
            Err(CliError::Unreadable(format!("refused: {why}")).into())
        }
        Some(_) | None => Err(CliError::Unreadable("the engine has not answered yet.".into()).into()),
    }
}

/// Returns the tasks that a project plans and nobody has done yet, for completion; none where they cannot be read.
pub(in crate::cli) fn open_tasks(folder: &StateFolder) -> Vec<TaskName> {
    let text = tasks::file::find(folder.project()).and_then(|(path, _)| tasks::file::text(&path).ok());
    let all = text.map(|text| tasks::titles(&text)).unwrap_or_default();
    let open = all.into_iter().filter(|(.., stage)| *stage != tasks::Stage::Completed);
    open.map(|(id, title, _)| TaskName { id, title }).collect()
}

/// Makes an id for a delegation that is begun elsewhere.
pub(in crate::cli) fn id() -> DelegationId {
    new_id()
}
