//! `quarterdeck approve` and `reject`: what becomes of a proposal, or of a result that is for review.

use clap::Args;

use super::control::Target;
use super::report::OwnOr;
use super::{CliError, Outcome, Place, mind};
use crate::model::command::{ApprovedStep, Said, Verb};
use crate::model::id::SubtaskId;

#[derive(Debug, Args)]
pub(super) struct Approve {
    #[command(flatten)]
    target: Target,
    /// Only these steps, in this order, such as st-1,st-3; the others are left out.
    #[arg(long, value_name = "STEPS", value_delimiter = ',')]
    only: Vec<String>,
    /// Give a step to another agent, such as st-2=codex.
    #[arg(long, value_name = "STEP=AGENT", value_parser = change)]
    agent: Vec<(SubtaskId, String)>,
    /// Change what a step is to do, such as "st-2=Test the parser".
    #[arg(long, value_name = "STEP=TITLE", value_parser = change)]
    title: Vec<(SubtaskId, String)>,
}

/// Reads what a person changes of a step.
fn change(text: &str) -> Result<(SubtaskId, String), String> {
    match text.split_once('=') {
        Some((step, to)) if !step.trim().is_empty() && !to.trim().is_empty() => {
            Ok((step.trim().into(), to.trim().to_owned()))
        }
        Some(_) | None => Err("not a change such as st-2=codex".into()),
    }
}

impl Approve {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let subtasks = self.steps(place)?;
        self.target.send(place, Verb::Approve { subtasks })
    }

    /// Returns the steps that are taken; none where all of them are, as they were proposed.
    fn steps(&self, place: &Place) -> Result<Option<Vec<ApprovedStep>>, Box<dyn std::error::Error>> {
        if self.only.is_empty() && self.agent.is_empty() && self.title.is_empty() {
            return Ok(None);
        }
        let folder = place.need()?;
        let only = self.only.iter().map(|step| step.trim()).filter(|step| !step.is_empty());
        let mut ids: Vec<SubtaskId> = only.map(SubtaskId::from).collect();
        if ids.is_empty() {
            ids = mind::proposed(&folder, &self.target.delegation(&folder)?)?;
        }
        let changed = self.agent.iter().chain(&self.title);
        for (step, _) in changed {
            if !ids.contains(step) {
                return Err(CliError::Unreadable(format!("{step} is changed, and not approved.")).into());
            }
        }
        let of = |changes: &[(SubtaskId, String)], id: &SubtaskId| {
            changes.iter().rev().find(|(step, _)| step == id).map(|(_, to)| to.clone())
        };
        let step =
            |id: SubtaskId| ApprovedStep { agent: of(&self.agent, &id), title: of(&self.title, &id), id };
        Ok(Some(ids.into_iter().map(step).collect()))
    }
}

#[derive(Debug, Args)]
pub(super) struct Reject {
    #[command(flatten)]
    target: OwnOr,
    /// Why, for the record.
    #[arg(long)]
    reason: Option<String>,
}

impl Reject {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let reason = self.reason.clone().unwrap_or_else(|| "no reason given".into());
        self.target.send(place, Verb::Reject { reason: self.reason }, Said::Rejected { reason })
    }
}
