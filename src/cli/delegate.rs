//! `quarterdeck delegate`, `direct` and `wait`: hand work over, and wait for its end.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;

use super::ask::{self, Live};
use super::control::resolve;
use super::{CliError, Outcome, Place, print, warn, working_folder};
use crate::engine::config::Config;
use crate::model::Model;
use crate::model::command::{Limits, Pattern, ReceiptState, Spec, StepSpec, Verb};
use crate::model::id::DelegationId;
use crate::model::key::NodeKey;
use crate::model::status::StatusWord;
use crate::monitor::app::effect::Handover;
use crate::store::disk::{Disk, RealDisk};
use crate::store::folder::StateFolder;
use crate::store::views::replace;

/// How long the engine may take to accept a delegation.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Debug, Args)]
pub(super) struct Delegate {
    /// What is to be done; with several, one step each.
    #[arg(required_unless_present = "plan")]
    task: Vec<String>,
    /// The agent, by its name in quarterdeck.toml.
    #[arg(long)]
    agent: Option<String>,
    /// How the steps hang together: parallel, sequential or direct.
    #[arg(long, short, default_value = "parallel", value_parser = pattern)]
    pattern: Pattern,
    /// How many agents may work at once.
    #[arg(long, short)]
    agents: Option<u32>,
    /// A plan as a JSON file: steps with their dependencies.
    #[arg(long, value_name = "FILE", conflicts_with = "task")]
    plan: Option<PathBuf>,
    /// Seconds that a step may take.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Do not try a failed step again.
    #[arg(long)]
    no_retry: bool,
    /// Stay until it has ended.
    #[arg(long)]
    wait: bool,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Direct {
    /// What is to be done.
    task: String,
    /// The agent, by its name in quarterdeck.toml.
    #[arg(long)]
    agent: Option<String>,
    /// Stay until it has ended.
    #[arg(long)]
    wait: bool,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Wait {
    /// The delegation; the beginning of its id is enough.
    id: String,
    /// Seconds to wait at most.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

fn pattern(text: &str) -> Result<Pattern, String> {
    match text {
        "parallel" => Ok(Pattern::Parallel),
        "sequential" => Ok(Pattern::Sequential),
        "direct" => Ok(Pattern::Direct),
        _ => Err("there are: parallel, sequential, direct".into()),
    }
}

impl Delegate {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let spec = self.spec()?;
        hand_over(place, spec, self.wait, self.json)
    }

    fn spec(&self) -> Result<Spec, Box<dyn std::error::Error>> {
        if let Some(path) = &self.plan {
            let text = std::fs::read_to_string(path)
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            let spec = serde_json::from_str::<Spec>(&text);
            return Ok(spec.map_err(|error| format!("{} is no plan: {error}", path.display()))?);
        }
        let subtasks =
            (1..).zip(&self.task).map(|(nth, task)| step(nth, task, self.agent.as_deref())).collect();
        let limits = Limits {
            max_concurrent: self.agents,
            subtask_timeout_ms: self.timeout.map(|seconds| seconds.saturating_mul(1000)),
            auto_retry: !self.no_retry,
            ..Limits::default()
        };
        Ok(Spec {
            title: self.task.first().map(|task| title(task)),
            pattern: self.pattern,
            subtasks,
            limits,
            ..Spec::default()
        })
    }
}

impl Direct {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let subtasks = vec![step(1, &self.task, self.agent.as_deref())];
        let spec =
            Spec { title: Some(title(&self.task)), pattern: Pattern::Direct, subtasks, ..Spec::default() };
        hand_over(place, spec, self.wait, self.json)
    }
}

impl Wait {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let folder = place.need()?;
        let (id, _) = resolve(&folder, &self.id)?;
        let deadline = self.timeout.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        wait_for(&folder, &id, deadline)
    }
}

fn step(nth: u32, task: &str, agent: Option<&str>) -> StepSpec {
    StepSpec {
        id: format!("st-{nth}").into(),
        title: Some(title(task)),
        prompt: task.to_owned(),
        agent: agent.map(str::to_owned),
        ..StepSpec::default()
    }
}

/// The first line of a task is its title.
fn title(task: &str) -> String {
    task.lines().next().unwrap_or_default().to_owned()
}

/// Hands over what a dialog asks for; returns the delegation's id.
pub(super) fn hand_over_from(
    folder: &StateFolder,
    handover: &Handover,
) -> Result<DelegationId, Box<dyn std::error::Error>> {
    let spec = Spec {
        title: Some(title(&handover.text)),
        pattern: handover.pattern.as_deref().map_or(Ok(Pattern::default()), pattern)?,
        subtasks: vec![step(1, &handover.text, handover.agent.as_deref())],
        limits: Limits { max_concurrent: handover.agents, ..Limits::default() },
        ..Spec::default()
    };
    let (id, command) = prepare(folder, spec)?;
    // Nothing is printed: this is asked from a full screen.
    match ask::send_telling(folder, &command, PATIENCE, &|_| ())?.map(|receipt| receipt.state) {
        Some(ReceiptState::Confirmed { .. }) => Ok(id),
        Some(ReceiptState::Refused { reason, code, .. }) => {
            let why = reason.or(code).unwrap_or_else(|| "no reason given".into());
            Err(CliError::Unreadable(format!("refused: {why}")).into())
        }
        Some(_) | None => Err(CliError::Unreadable("the engine has not answered yet.".into()).into()),
    }
}

/// Makes the command that begins a delegation, and hands the asker's variables over.
fn prepare(
    folder: &StateFolder,
    spec: Spec,
) -> Result<(DelegationId, crate::model::command::Command), Box<dyn std::error::Error>> {
    let config = Config::read(folder.project())?;
    for step in &spec.subtasks {
        // Told here and now, not after the engine has tried.
        config.agent(step.agent.as_deref()).map_err(CliError::Unreadable)?;
    }
    let random = ask::random();
    let id = DelegationId::from(format!("del-{}", random.get(..8).unwrap_or(&random)));
    let agents = spec.subtasks.iter().map(|step| step.agent.as_deref());
    let env = config.environment(agents, |name| std::env::var(name).ok());
    let env_file = folder.env_file(id.as_str())?;
    folder.create(&RealDisk)?;
    env_file.parent().map_or(Ok(()), |env| RealDisk.create_dir(env))?;
    replace(&RealDisk, &env_file, &serde_json::to_vec(&env)?)?;
    let command = ask::command(id.clone(), None, Verb::Start { spec: Box::new(spec) });
    Ok((id, command))
}

fn hand_over(place: &Place, spec: Spec, wait: bool, json: bool) -> Outcome {
    let folder = StateFolder::find_or_place(&working_folder()?, place.dir.as_deref());
    let (id, command) = prepare(&folder, spec)?;
    let receipt = ask::send(&folder, &command, PATIENCE)?;
    match &receipt {
        Some(receipt) if matches!(receipt.state, ReceiptState::Confirmed { .. }) => {
            let shown = if json { format!("{{\"delegationId\":\"{id}\"}}\n") } else { format!("{id}\n") };
            print(&shown)?;
            if wait { wait_for(&folder, &id, None) } else { Ok(ExitCode::SUCCESS) }
        }
        Some(_) | None => ask::show(&command, receipt, json),
    }
}

fn wait_for(folder: &StateFolder, id: &DelegationId, deadline: Option<Instant>) -> Outcome {
    let mut live = Live::of(folder)?;
    let key = NodeKey::Delegation(id.clone());
    let ended = |model: &Model| {
        let node = model.get(model.find(&key)?)?;
        node.status.is_ended().then(|| (node.status.word(), node.status.why().map(str::to_owned)))
    };
    let Some((word, why)) = live.wait(deadline, ended) else {
        warn(&format!("{id} has not ended yet."));
        return Ok(ExitCode::from(4));
    };
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    print(&format!("{id} {}{why}\n", word.as_str()))?;
    Ok(if word == StatusWord::Done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
