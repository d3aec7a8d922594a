//! The model of a sub-agent: put into the call where it names none. It runs after everything that may deny the call.

use super::agents::Agents;
use super::input::{Fields, Input};
use crate::decide::models::{Own, Wanted, wanted};

/// What became of a call's model.
#[derive(Debug, Clone, Default)]
pub(super) struct Injected {
    /// What the call names itself.
    pub requested: Option<String>,
    /// What was put in.
    pub model: Option<String>,
    /// The input with it; `None` where nothing was changed.
    pub updated: Option<Fields>,
    /// Why nothing could be put in, where something should have been.
    pub trouble: Option<String>,
}

/// Returns what becomes of the model of a call; `own` are the models that somebody wrote down for agents.
pub(super) fn inject(input: &Input, own: &Own, deployed: &Agents) -> Injected {
    let Some(fields) = input.fields.as_ref().filter(|_| input.delegates()) else {
        return Injected::default();
    };
    let requested = fields.text(&["model"]);
    if fields.raw("model").is_some_and(|model| model.get() != "null") {
        // What the caller chose is never changed.
        return Injected { requested, ..Injected::default() };
    }
    let Some(agent) = input.called() else { return Injected::default() };
    match wanted(&agent, own) {
        None | Some(Wanted::Inherit) => Injected::default(),
        Some(Wanted::Tier(tier)) => put(fields, "model", tier.as_str(), tier.as_str()),
        // A call can only name an alias: another house's model needs an agent that is defined with it.
        Some(Wanted::Id(id)) => match deployed.with_model(&id, &agent) {
            Some(same) if same == agent => Injected { model: Some(id), ..Injected::default() },
            Some(other) => put(fields, "subagent_type", other, &id),
            None => Injected {
                trouble: Some(format!(
                    "{agent} should run on {id}, which a call cannot name, and no agent in .claude/agents has it."
                )),
                ..Injected::default()
            },
        },
    }
}

fn put(fields: &Fields, name: &str, value: &str, model: &str) -> Injected {
    let mut updated = fields.clone();
    updated.put(name, value);
    Injected { model: Some(model.to_owned()), updated: Some(updated), ..Injected::default() }
}
