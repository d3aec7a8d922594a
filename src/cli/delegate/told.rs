//! What is told of a task that is handed over: who does it, why it waits, and who cannot do it.

use std::collections::BTreeSet;

use serde_json::json;

use crate::agent::config::AgentConfig;
use crate::cli::{CliError, warn};
use crate::config::find_program;
use crate::model::command::Verb;
use crate::model::id::DelegationId;

/// Who does it, each once.
#[derive(Debug, Default)]
pub(super) struct Agents {
    pub names: Vec<String>,
    /// Why, where nobody was named.
    pub chosen: Option<&'static str>,
}

impl Agents {
    fn told(&self) -> String {
        let chosen = self.chosen.map(|why| format!(" It was not named: it is {why}."));
        format!("Handed to {}.{}", self.names.join(", "), chosen.unwrap_or_default())
    }
}

/// Returns who does it.
pub(super) fn agents_of(verb: &Verb) -> Agents {
    let Verb::Start { spec } = verb else { return Agents::default() };
    let agents: BTreeSet<&str> = spec.subtasks.iter().filter_map(|step| step.agent.as_deref()).collect();
    Agents { names: agents.into_iter().map(str::to_owned).collect(), chosen: None }
}

/// Returns what is printed of something that was handed over: its id, and why it waits or went by itself.
pub(super) fn acknowledgement(id: &DelegationId, agents: &Agents, why: Option<&str>, json: bool) -> String {
    let proposed = why.and_then(|why| why.strip_prefix("proposed. "));
    if json {
        let mut told = json!({ "delegationId": id, "agents": agents.names });
        if let (Some(chosen), Some(told)) = (agents.chosen, told.as_object_mut()) {
            told.insert("agentsBecause".into(), chosen.into());
        }
        if let (Some(why), Some(told)) = (why, told.as_object_mut()) {
            let status = if proposed.is_some() { "offered" } else { "running" };
            told.insert("status".into(), status.into());
            told.insert("reason".into(), why.into());
        }
        return format!("{told}\n");
    }
    match (proposed, why) {
        (Some(why), _) => {
            warn(&format!(
                "{why}\nSee it with: quarterdeck status {id}\nLet it begin with: quarterdeck approve {id}"
            ));
        }
        (None, Some(why)) => warn(&format!("{why}\n{}", agents.told())),
        (None, None) => warn(&agents.told()),
    }
    format!("{id}\n")
}

/// Refuses an agent whose program is not there, before anything is begun.
pub(super) fn check_program(name: Option<&str>, agent: &AgentConfig, path: &str) -> Result<(), CliError> {
    // What any other program is called is the configuration's business, and told when it does not start.
    let tool = agent.program().filter(|_| agent.kind.program().is_some());
    let Some(program) = tool.filter(|program| find_program(program, path).is_none()) else {
        return Ok(());
    };
    let name = name.unwrap_or_default();
    Err(CliError::Unreadable(format!(
        "{name} cannot be run: the program {program} is not found on PATH.\nInstall it, or set command = [\"/path/to/{program}\"] in [agents.{name}] of quarterdeck.toml."
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_it_is_told_and_why_where_nobody_was_named() {
        let mut agents = Agents { names: vec!["codex".into(), "gemini".into()], chosen: None };
        assert_eq!(agents.told(), "Handed to codex, gemini.");
        agents.chosen = Some("the first that is found on PATH");
        assert!(agents.told().ends_with("it is the first that is found on PATH."));
        let told = acknowledgement(&"del-1".into(), &agents, None, true);
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["agentsBecause"], "the first that is found on PATH");
        assert_eq!(told["agents"], json!(["codex", "gemini"]));
    }
}
