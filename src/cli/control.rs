//! The controls: each sends one command on a delegation or a step, and returns when its receipt is final.

pub(super) mod outside;

use std::time::Duration;

use clap::Args;

use outside::How;

use super::report::OwnOr;
use super::{CliError, Outcome, Place, ask, load, mind, now, session};
use crate::model::budget;
use crate::model::command::{Answer as Answered, Command, PauseMode, Said, Verb};
use crate::model::id::{DelegationId, SubtaskId};
use crate::model::key::{NodeKey, SourceId};
use crate::model::node::Node;
use crate::model::usage::Usd;
use crate::model::{Model, text};
use crate::report::select::{Selection, select};
use crate::source::follow::Follower;
use crate::store::folder::StateFolder;

/// How long a control may take: grace and kill of every process included.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a control is about.
#[derive(Debug, Args)]
pub(super) struct Target {
    /// A delegation, or one of its steps as DELEGATION/STEP; the beginning of the id is enough. To cancel one agent inside
    /// a step: DELEGATION/STEP/AGENT. A session that no engine runs is claude:SESSION or claude:SESSION/AGENT: its process is
    /// signalled where it is known, else its hook does it, where that is set up.
    #[arg(value_name = "TARGET")]
    pub(super) on: String,
    /// Only say which nodes and sessions it would touch.
    #[arg(long, visible_alias = "dry-run")]
    pub(super) preview: bool,
    /// Print it as JSON, for scripts.
    #[arg(long)]
    pub(super) json: bool,
}

/// How a session that no engine runs is reached.
#[derive(Debug, Args)]
struct Unasked {
    /// Of a session that no engine runs: signal its process without asking first.
    #[arg(long, short)]
    yes: bool,
}

/// How long a control through a hook may take: as long as the session takes to its next tool call.
#[derive(Debug, Args)]
struct ByHook {
    /// Of a session that no engine runs and only its hook reaches: stay until the hook's own record confirms it, at most
    /// so long (10m); then exit code 4.
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "10m", value_parser = super::span)]
    wait: Option<Duration>,
    #[command(flatten)]
    unasked: Unasked,
}

impl ByHook {
    fn how(&self) -> How {
        How { wait: self.wait, yes: self.unasked.yes }
    }
}

impl Target {
    /// Returns the step and the agent inside it, where `DELEGATION/STEP/AGENT` is meant.
    fn agent(&self) -> Option<(String, String)> {
        let (step, agent) = self.on.rsplit_once('/')?;
        step.contains('/').then(|| (step.to_owned(), agent.to_owned()))
    }

    /// Returns the delegation that is meant.
    pub(super) fn delegation(
        &self,
        folder: &StateFolder,
    ) -> Result<DelegationId, Box<dyn std::error::Error>> {
        Ok(resolve(folder, &self.on)?.0)
    }

    pub(super) fn send(&self, place: &Place, verb: Verb) -> Outcome {
        self.send_outside(place, verb, How::default())
    }

    /// Sends a command; `how` says how one is carried out that no engine can.
    fn send_outside(&self, place: &Place, verb: Verb, how: How) -> Outcome {
        if session::is_meant(&self.on) {
            return outside::control(place, self, verb, how);
        }
        let found = place.need().and_then(|folder| Ok((resolve(&folder, &self.on)?, folder)));
        match found {
            Ok(((delegation, step), folder)) => {
                self.carry(&folder, &ask::command(delegation, step, verb), PATIENCE)
            }
            Err(why) => match session::elsewhere(place, &self.on)? {
                Some((known, ix)) => outside::control_one(place, self, &known, ix, verb, how),
                None => Err(why),
            },
        }
    }

    /// Sends a command to the engine, or says what it would touch.
    fn carry(&self, folder: &StateFolder, command: &Command, patience: Duration) -> Outcome {
        if self.preview {
            return mind::preview(folder, command, self.json);
        }
        let receipt = ask::send(folder, command, patience)?;
        ask::show(command, receipt, self.json)
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
    if let Some(step) = &step {
        check_step(&model, &found, step)?;
    }
    Ok((found, step))
}

/// Says which steps there are, where one is meant that is not.
fn check_step(model: &Model, delegation: &DelegationId, step: &SubtaskId) -> Result<(), CliError> {
    /// More than a person reads in one line.
    const NAMED: usize = 12;
    if model.find(&NodeKey::Subtask(delegation.clone(), step.clone())).is_some() {
        return Ok(());
    }
    let top = model.find(&NodeKey::Delegation(delegation.clone())).and_then(|ix| model.get(ix));
    let steps = top.map(Node::children).unwrap_or_default().iter().filter_map(|ix| model.get(*ix));
    let names: Vec<&str> = steps
        .filter_map(|node| node.keys.iter().find_map(NodeKey::subtask))
        .filter(|(of, _)| *of == delegation)
        .map(|(_, step)| step.as_str())
        .collect();
    let rest = names.len().saturating_sub(NAMED);
    let mut there = names.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    if rest > 0 {
        there = format!("{there} and {rest} more");
    } else if there.is_empty() {
        there = "none".into();
    }
    let told = format!("{delegation} has no step {step}; there are: {there}.");
    Err(CliError::Unreadable(text::lines(&told).into()))
}

#[derive(Debug, Args)]
pub(super) struct Pause {
    #[command(flatten)]
    target: Target,
    /// Let what runs finish, and start nothing new, instead of stopping every process now.
    #[arg(long)]
    drain: bool,
    /// Why, for the record and for whoever looks on.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    by_hook: ByHook,
}

impl Pause {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let mode = if self.drain { PauseMode::Drain } else { PauseMode::Freeze };
        self.target.send_outside(place, Verb::Pause { mode, reason: self.reason }, self.by_hook.how())
    }
}

#[derive(Debug, Args)]
pub(super) struct Resume {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    unasked: Unasked,
}

impl Resume {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let how = How { yes: self.unasked.yes, wait: None };
        self.target.send_outside(place, Verb::Resume, how)
    }
}

#[derive(Debug, Args)]
pub(super) struct Cancel {
    #[command(flatten)]
    target: Target,
    /// Why, for the record.
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    by_hook: ByHook,
    /// When all has ended, undo what it changed in the project's files, as far as that is still as it left it.
    #[arg(long)]
    rollback: bool,
}

impl Cancel {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let Self { target, reason, rollback, by_hook } = self;
        if let Some((step, agent)) = target.agent() {
            if rollback {
                let why =
                    format!("{} is one agent of a step: only the whole step can be rolled back.", target.on);
                return Err(CliError::Unreadable(why).into());
            }
            let verb = Verb::CancelAgent { agent_id: agent.into(), reason };
            return Target { on: step, ..target }.send(place, verb);
        }
        target.send_outside(place, Verb::Cancel { rollback, reason }, by_hook.how())
    }
}

/// Undo what a step that has ended changed in the project's files, or all steps of a delegation.
#[derive(Debug, Args)]
pub(super) struct Rollback {
    #[command(flatten)]
    target: Target,
    /// Why, for the record.
    #[arg(long)]
    reason: Option<String>,
}

impl Rollback {
    pub(super) fn run(self, place: &Place) -> Outcome {
        self.target.send(place, Verb::Rollback { reason: self.reason })
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
    /// Begin anew, and do not go on with the agent's own session of the last attempt.
    #[arg(long)]
    fresh: bool,
}

impl Retry {
    pub(super) fn run(self, place: &Place) -> Outcome {
        if let (true, Some(agent)) = (self.target.preview, &self.agent) {
            // A preview asks no engine, which alone would refuse it.
            let config = super::config::configuration(&place.need()?)?;
            config.agent(Some(agent)).map_err(CliError::Unreadable)?;
        }
        let Self { with_failure, agent, model, fresh, .. } = self;
        let verb = Verb::Retry { with_failure, agent, model, fresh };
        self.target.send(place, verb)
    }
}

#[derive(Debug, Args)]
pub(super) struct Skip {
    #[command(flatten)]
    target: Target,
    /// Why, for the record.
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
    target: OwnOr,
    /// Why, for the record.
    #[arg(long)]
    reason: Option<String>,
}

impl Accept {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let said = Said::Accepted { reason: self.reason.clone() };
        self.target.send(place, Verb::Accept { reason: self.reason }, said)
    }
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false, args = ["timeout", "by", "tokens", "cost"])]
pub(super) struct Raise {
    #[command(flatten)]
    target: Target,
    /// It may run so long from now on, such as 30m; never less than it has.
    #[arg(long, value_name = "TIME", value_parser = super::span)]
    timeout: Option<Duration>,
    /// It may run so much longer than it might, such as 10m.
    #[arg(long, value_name = "TIME", value_parser = super::span)]
    by: Option<Duration>,
    /// It may use so many tokens in all, such as 300k; never less than it may. What stands still for its budget
    /// goes on.
    #[arg(long, value_name = "TOKENS", value_parser = budget::read_tokens)]
    tokens: Option<u64>,
    /// It may cost so much in all, such as $5.
    #[arg(long, value_name = "MONEY", value_parser = budget::read_money)]
    cost: Option<Usd>,
}

impl Raise {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let deadline = self.timeout.map(|timeout| now().plus(timeout));
        let by_ms = self.by.map(|by| u64::try_from(by.as_millis()).unwrap_or(u64::MAX));
        let Self { tokens, cost, .. } = self;
        self.target.send(place, Verb::Raise { tokens, cost, deadline, by_ms })
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
            "allow" => Answered::Allow,
            "deny" => Answered::Deny,
            "allow-for-session" => Answered::AllowForSession,
            text => Answered::Text(text.to_owned()),
        };
        self.target.send(place, Verb::Answer { question_id: self.question.into(), answer })
    }
}

/// Merge, keep or discard the work tree of a step, or those of all steps of a delegation.
#[derive(Debug, Args)]
pub(super) struct Tree {
    #[command(flatten)]
    target: Target,
}

impl Tree {
    pub(super) fn run(self, place: &Place, verb: Verb) -> Outcome {
        self.target.send(place, verb)
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
pub(super) struct SetModel {
    #[command(flatten)]
    target: Target,
    /// The model, by the name that the agent itself knows it by.
    #[arg(value_name = "MODEL")]
    name: String,
}

impl SetModel {
    pub(super) fn run(self, place: &Place) -> Outcome {
        self.target.send(place, Verb::SetModel { model: self.name })
    }
}
