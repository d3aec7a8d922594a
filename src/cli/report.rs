//! What an agent says of what was handed to it, from inside its session: accept, complete, reject. Its environment
//! says which step is its own.

use std::time::Duration;

use clap::Args;

use super::control::Target;
use super::{CliError, Outcome, Place, ask};
use crate::model::command::{Above, Said, Verb};
use crate::model::handoff::Outcome as Result;
use crate::session::standing;

/// How long the engine may take to write it down.
const PATIENCE: Duration = Duration::from_mins(1);

/// Returns the step whose agent runs this, if one does.
pub(super) fn own_step() -> Option<Above> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    set(crate::session::files::MARK)?;
    let (delegation, subtask) = (set(standing::DELEGATION)?, set(standing::SUBTASK)?);
    Some(Above { delegation_id: delegation.into(), subtask_id: subtask.into() })
}

/// Returns what the agent that runs this is called.
pub(super) fn own_name() -> Option<String> {
    std::env::var(standing::AGENT).ok().filter(|name| !name.is_empty())
}

/// What it is about: a step that is named, or the agent's own.
#[derive(Debug, Args)]
pub(super) struct OwnOr {
    /// A delegation, or one of its steps as DELEGATION/STEP; inside an agent its own step, where nothing is named.
    #[arg(value_name = "TARGET")]
    on: Option<String>,
    /// Only say which nodes and sessions it would touch.
    #[arg(long)]
    preview: bool,
    /// Print it as JSON, for scripts.
    #[arg(long)]
    json: bool,
}

impl OwnOr {
    /// Sends what a person wants of what is named, or what an agent says of its own step.
    pub(super) fn send(self, place: &Place, verb: Verb, said: Said) -> Outcome {
        match self.on {
            Some(on) => Target { on, preview: self.preview, json: self.json }.send(place, verb),
            None => report(place, said, self.json),
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct Complete {
    /// What shows that it is done.
    #[arg(long)]
    evidence: String,
    /// The files that were changed.
    #[arg(long, value_delimiter = ',')]
    files: Vec<String>,
    /// Which tests were run, and how they ended.
    #[arg(long)]
    tests: Option<String>,
    /// What was done, in a few sentences; else the agent's last words are the summary.
    #[arg(long)]
    summary: Option<String>,
    /// Print it as JSON, for scripts.
    #[arg(long)]
    json: bool,
}

impl Complete {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let files = self.files.into_iter().map(|file| file.trim().to_owned());
        let result = Result {
            summary: self.summary,
            evidence: Some(self.evidence),
            files_modified: files.filter(|file| !file.is_empty()).collect(),
            tests_run: self.tests,
            ..Result::default()
        };
        report(place, Said::Completed { result: Box::new(result) }, self.json)
    }
}

fn report(place: &Place, said: Said, json: bool) -> Outcome {
    let Some(own) = own_step() else {
        let told = "no target is named, and this is not run by an agent with a step of its own.\n\
            Name a delegation, or DELEGATION/STEP.";
        return Err(CliError::Unreadable(told.into()).into());
    };
    let folder = place.need()?;
    let verb = Verb::Report { said: Box::new(said) };
    let command = ask::command(own.delegation_id, Some(own.subtask_id), verb);
    let receipt = ask::send(&folder, &command, PATIENCE)?;
    ask::show(&command, receipt, json)
}
