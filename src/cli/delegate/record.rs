//! The record that goes with what is handed over: to whom, with which context, under which command of the guide.

use clap::Args;

use crate::cli::report::{own_name, own_step};
use crate::config::Config;
use crate::decide::contract::Guide;
use crate::decide::contract::command::COMMANDS;
use crate::model::command::{Pattern, Spec};
use crate::model::handoff::Handoff;

/// Who hands something over that no agent does.
const PERSON: &str = "person";

#[derive(Debug, Args)]
#[command(next_help_heading = "The record")]
pub(super) struct Record {
    /// To whom it is handed: an agent, or a role of the hierarchy.
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// What the receiver must know.
    #[arg(long, value_name = "TEXT")]
    context: Option<String>,
    /// What is to come back.
    #[arg(long, value_name = "TEXT")]
    expect: Option<String>,
    /// What kind of work it is, such as development or research: some go to certain roles only.
    #[arg(long)]
    category: Option<String>,
    /// The tools that may be used; told to the agent.
    #[arg(long, value_delimiter = ',')]
    tools: Vec<String>,
    /// The actions that may be taken; told to the agent.
    #[arg(long, value_delimiter = ',')]
    actions: Vec<String>,
    /// Ask the agent to accept it with `quarterdeck accept`; if it does not in time, it expires.
    #[arg(long)]
    offer: bool,
    /// A command of the delegation guide: research, plan, implement and revise take a task number, review, meta, todo
    /// and errors a text. It says how long the work may take, and in which form it comes back.
    #[arg(long, value_parser = guide)]
    pub(super) command: Option<Guide>,
}

fn guide(text: &str) -> Result<Guide, String> {
    let names: Vec<&str> = COMMANDS.iter().map(|command| command.as_str()).collect();
    Guide::from_name(text).ok_or_else(|| format!("there are: {}", names.join(", ")))
}

/// A command of the guide, read.
pub(super) struct Guided {
    command: Guide,
    number: Option<u64>,
    /// What its one step is told.
    pub prompt: String,
}

impl Record {
    /// Reads what was said to a command of the guide.
    pub(super) fn guided(&self, said: &[String]) -> Result<Option<Guided>, String> {
        let Some(command) = self.command else { return Ok(None) };
        let (number, prompt) = command.read(&said.join(" "))?;
        let prompt = if prompt.is_empty() { format!("/{}", command.as_str()) } else { prompt };
        Ok(Some(Guided { command, number, prompt }))
    }

    /// Fills the record of what is handed over.
    pub(super) fn fill(&self, spec: &mut Spec, config: &Config) {
        let is_told = self.to.is_some()
            || self.context.is_some()
            || self.expect.is_some()
            || self.category.is_some()
            || self.offer
            || !self.tools.is_empty()
            || !self.actions.is_empty();
        if !is_told {
            return;
        }
        let some = |list: &[String]| Some(list.to_vec()).filter(|list| !list.is_empty());
        let handoff = spec.handoff.get_or_insert_default();
        handoff.to_agent = self.to.clone().or(handoff.to_agent.take());
        handoff.context = self.context.clone().or(handoff.context.take());
        handoff.expected_output = self.expect.clone().or(handoff.expected_output.take());
        handoff.category = self.category.clone().or(handoff.category.take());
        handoff.allowed_tools = some(&self.tools).or(handoff.allowed_tools.take());
        handoff.allowed_actions = some(&self.actions).or(handoff.allowed_actions.take());
        handoff.offer |= self.offer;
        if let Some(to) = &self.to {
            for step in &mut spec.subtasks {
                step.role = Some(to.clone());
                // A role that is no agent is played by whoever is chosen.
                let own = Some(to.clone()).filter(|to| config.agent(Some(to)).is_ok());
                step.agent = step.agent.take().or(own);
            }
        }
    }
}

impl Guided {
    /// Makes a spec the command's: one step, with the command's time.
    pub(super) fn lay(&self, spec: &mut Spec, wanted_ms: Option<u64>) -> Result<(), String> {
        let time = self.command.timeout(wanted_ms)?;
        spec.pattern = Pattern::Direct;
        spec.limits.subtask_timeout_ms = Some(time);
        // What it may take as a whole is no less than what its step may take.
        spec.limits.timeout_ms = spec.limits.timeout_ms.map(|whole| whole.max(time));
        let handoff = spec.handoff.get_or_insert_default();
        handoff.command = Some(self.command.as_str().to_owned());
        handoff.task_number = self.number;
        Ok(())
    }
}

/// Hangs what an agent hands on under its own step, and says in the record who hands it to whom.
pub(super) fn hang(spec: &mut Spec) {
    let own = own_step();
    if spec.parent.is_none() {
        spec.parent = own;
    }
    if spec.parent.is_some() {
        spec.handoff.get_or_insert_default();
    }
    let to = spec.subtasks.first().and_then(|step| step.agent.clone());
    if let Some(handoff) = spec.handoff.as_deref_mut() {
        let Handoff { from_agent, to_agent, .. } = handoff;
        let giver = || if spec.parent.is_some() { own_name() } else { Some(PERSON.to_owned()) };
        *from_agent = from_agent.take().or_else(giver);
        *to_agent = to_agent.take().or(to);
        handoff.task_id = handoff.task_id.take().or_else(|| spec.task_id.clone());
    }
}
