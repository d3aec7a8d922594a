//! The controls: each sends one command on a delegation or a step, and returns when its receipt is final.

use std::time::Duration;

use clap::Args;

use super::{CliError, Outcome, Place, ask, load, now, print};
use crate::engine::kernel::Kernel;
use crate::model::command::{Answer as Said, PauseMode, Verb};
use crate::model::event::Event;
use crate::model::id::{DelegationId, Seq, SubtaskId};
use crate::model::key::{NodeKey, SourceId};
use crate::report::select::{Selection, select};
use crate::source::follow::Follower;
use crate::store::disk::RealDisk;
use crate::store::folder::StateFolder;
use crate::store::{reader, snapshot};

/// How long a control may take: grace and kill of every process included.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a control is about.
#[derive(Debug, Args)]
struct Target {
    /// A delegation, or one of its steps as DELEGATION/STEP; the beginning of the id is enough.
    target: String,
    #[arg(long)]
    json: bool,
}

impl Target {
    fn send(&self, place: &Place, verb: Verb) -> Outcome {
        let folder = place.need()?;
        let (delegation, step) = resolve(&folder, &self.target)?;
        let command = ask::command(delegation, step, verb);
        let receipt = ask::send(&folder, &command, PATIENCE)?;
        ask::show(&command, receipt, self.json)
    }
}

/// Returns the ids that a person's `del-7f3/st-2` means.
pub(super) fn resolve(
    folder: &StateFolder,
    text: &str,
) -> Result<(DelegationId, Option<SubtaskId>), Box<dyn std::error::Error>> {
    let (id, step) = match text.split_once('/') {
        Some((id, step)) => (id, Some(SubtaskId::from(step))),
        None => (text, None),
    };
    let model = load(now(), Follower::new(folder.clone(), SourceId(0)));
    let chosen = select(&model, &Selection { id: Some(id.to_owned()), ..Selection::default() })?;
    let found =
        chosen.first().and_then(|ix| model.get(*ix)?.keys.iter().find_map(NodeKey::delegation).cloned());
    let found =
        found.ok_or_else(|| CliError::Unreadable(format!("{id} is no delegation of this engine.")))?;
    Ok((found, step))
}

#[derive(Debug, Args)]
pub(super) struct Pause {
    #[command(flatten)]
    target: Target,
    /// Let what runs finish, and start nothing new, instead of stopping every process now.
    #[arg(long)]
    drain: bool,
}

impl Pause {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let mode = if self.drain { PauseMode::Drain } else { PauseMode::Freeze };
        self.target.send(place, Verb::Pause { mode })
    }
}

#[derive(Debug, Args)]
pub(super) struct Resume {
    #[command(flatten)]
    target: Target,
}

impl Resume {
    pub(super) fn run(self, place: &Place) -> Outcome {
        self.target.send(place, Verb::Resume)
    }
}

#[derive(Debug, Args)]
pub(super) struct Cancel {
    #[command(flatten)]
    target: Target,
    #[arg(long)]
    reason: Option<String>,
}

impl Cancel {
    pub(super) fn run(self, place: &Place) -> Outcome {
        self.target.send(place, Verb::Cancel { rollback: false, reason: self.reason })
    }
}

#[derive(Debug, Args)]
pub(super) struct Retry {
    #[command(flatten)]
    target: Target,
    /// Tell the next attempt how the last one failed.
    #[arg(long)]
    with_failure: bool,
    /// Try it with another agent.
    #[arg(long)]
    agent: Option<String>,
    /// Try it with another model.
    #[arg(long)]
    model: Option<String>,
}

impl Retry {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let verb = Verb::Retry { with_failure: self.with_failure, agent: self.agent, model: self.model };
        self.target.send(place, verb)
    }
}

#[derive(Debug, Args)]
pub(super) struct Skip {
    #[command(flatten)]
    target: Target,
    #[arg(long)]
    reason: Option<String>,
    /// A result that the steps which depend on it are given.
    #[arg(long)]
    result: Option<String>,
}

impl Skip {
    pub(super) fn run(self, place: &Place) -> Outcome {
        self.target.send(place, Verb::Skip { reason: self.reason, result: self.result })
    }
}

#[derive(Debug, Args)]
pub(super) struct Accept {
    #[command(flatten)]
    target: Target,
    #[arg(long)]
    reason: Option<String>,
}

impl Accept {
    pub(super) fn run(self, place: &Place) -> Outcome {
        self.target.send(place, Verb::Accept { reason: self.reason })
    }
}

#[derive(Debug, Args)]
pub(super) struct Answer {
    #[command(flatten)]
    target: Target,
    /// The question's id.
    question: String,
    /// allow, deny, allow-for-session, or any text.
    #[arg(value_name = "ANSWER")]
    words: String,
}

impl Answer {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let answer = match self.words.as_str() {
            "allow" => Said::Allow,
            "deny" => Said::Deny,
            "allow-for-session" => Said::AllowForSession,
            text => Said::Text(text.to_owned()),
        };
        self.target.send(place, Verb::Answer { question_id: self.question.into(), answer })
    }
}

#[derive(Debug, Args)]
pub(super) struct Tell {
    #[command(flatten)]
    target: Target,
    /// What to say.
    text: String,
}

impl Tell {
    pub(super) fn run(self, place: &Place) -> Outcome {
        self.target.send(place, Verb::Tell { text: self.text })
    }
}

#[derive(Debug, Args)]
pub(super) struct Explain {
    #[command(flatten)]
    target: Target,
}

impl Explain {
    /// Asks the kernel as it is on disk: no engine is needed.
    pub(super) fn run(self, place: &Place) -> Outcome {
        let folder = place.need()?;
        let (delegation, step) = resolve(&folder, &self.target.target)?;
        let kernel = kernel(&folder)?;
        let Some(known) = kernel.delegations().get(&delegation) else {
            return Err(CliError::Unreadable(format!("{delegation} is not under way any more.")).into());
        };
        for task in known.tasks.iter().filter(|task| step.as_ref().is_none_or(|step| task.spec.id == *step)) {
            if let Some(why) = kernel.explain(&delegation, &task.spec.id, now()) {
                print(&format!("{delegation}/{}: {why}\n", task.spec.id))?;
            }
        }
        Ok(std::process::ExitCode::SUCCESS)
    }
}

/// Returns the engine's state of mind, folded from the journal.
fn kernel(folder: &StateFolder) -> Result<Kernel, Box<dyn std::error::Error>> {
    let saved = snapshot::newest::<serde::de::IgnoredAny>(&RealDisk, folder)?;
    let (after, mut kernel) = match saved {
        Some(saved) => (saved.seq, serde_json::from_str(saved.kernel.get()).unwrap_or_default()),
        None => (Seq(0), Kernel::default()),
    };
    let mut take = |_: Seq, line: &[u8]| {
        if let Ok(event) = Event::read(line) {
            kernel.apply(&event);
        }
        std::ops::ControlFlow::Continue(())
    };
    reader::read_all(&RealDisk, folder, after.next(), &mut take)?;
    Ok(kernel)
}
