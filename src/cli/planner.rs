//! The planner: an agent that is asked for a plan before anything of it begins. It is a step like any other, seen in
//! the tree; where it fails, the plan that was made by rules stands.

use std::time::{Duration, Instant};

use super::ask::Live;
use super::delegate;
use crate::decide::plan::{Plan, answered, asking};
use crate::decide::settings::Settings;
use crate::model::Model;
use crate::model::command::{Limits, ReceiptState};
use crate::model::id::DelegationId;
use crate::model::key::NodeKey;
use crate::model::text;
use crate::store::folder::StateFolder;

/// Asks an agent for the plan of a task; what it answers, or else the plan that there is.
pub(super) fn ask(
    folder: &StateFolder,
    (planner, limits): (&str, &Limits),
    plan: Plan,
    whole: &str,
    settings: &Settings,
    tell: &dyn Fn(&str),
) -> Plan {
    tell(&format!("Asking {} for a plan.", text::line(planner)));
    let told = answer(folder, (planner, limits), whole, settings, tell);
    match told.and_then(|told| answered(plan.clone(), planner, &told, whole)) {
        Ok(made) => made,
        Err(why) => {
            tell(&format!(
                "{} made no plan: {}. It is split by rules.",
                text::line(planner),
                text::line(&why)
            ));
            plan
        }
    }
}

fn answer(
    folder: &StateFolder,
    (planner, limits): (&str, &Limits),
    whole: &str,
    settings: &Settings,
    tell: &dyn Fn(&str),
) -> Result<String, String> {
    let spec = asking(planner, whole, settings, limits);
    let (id, state) = delegate::begin(folder, spec, tell).map_err(|error| error.to_string())?;
    match state {
        Some(ReceiptState::Refused { reason, .. }) => {
            return Err(reason.map_or_else(|| "it was refused".into(), Into::into));
        }
        Some(_) => {}
        None => return Err("the engine has not answered".into()),
    }
    let patience = Duration::from_millis(settings.limits.subtask_timeout.value);
    let give_up = Instant::now().checked_add(patience);
    wait(folder, &id, give_up)
}

/// Waits for the end of the planner's step, and returns what it said.
fn wait(folder: &StateFolder, id: &DelegationId, give_up: Option<Instant>) -> Result<String, String> {
    let key = NodeKey::Subtask(id.clone(), "st-1".into());
    let mut live = Live::of(folder).map_err(|error| error.to_string())?;
    let ended = |model: &Model| {
        let node = model.get(model.find(&key)?)?;
        let said = node.summary().map(str::to_owned);
        node.status.is_ended().then(|| (node.status.word().as_str(), said))
    };
    match live.wait(give_up, ended) {
        Some(("done", Some(said))) => Ok(said),
        Some(("done", None)) => Err("it said nothing".into()),
        Some((word, _)) => Err(format!("{id} is {word}")),
        None => Err(format!("{id} takes too long")),
    }
}
