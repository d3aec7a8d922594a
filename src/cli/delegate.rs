//! `quarterdeck delegate` and `direct`: hand work over, and wait for its end if told so.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::wait::{Until, Watched};
use super::{CliError, Outcome, Place, ask, print, working_folder};
use crate::engine::config::Config;
use crate::model::command::{Limits, Pattern, ReceiptState, Spec, StepSpec, Verb};
use crate::model::id::DelegationId;
use crate::model::status::StatusWord;
use crate::model::worktree::Isolation;
use crate::monitor::app::effect::Handover;
use crate::serve;
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
    /// A plan as a JSON or TOML file: steps with their dependencies.
    #[arg(long, value_name = "FILE", conflicts_with = "task")]
    plan: Option<PathBuf>,
    /// The folder in which its agents work, instead of the project's.
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// Whether its steps work in git work trees of their own: worktree or none.
    #[arg(long, value_parser = isolation)]
    isolation: Option<Isolation>,
    /// How long a step may take, such as 90s or 20m.
    #[arg(long, value_name = "TIME", value_parser = super::span)]
    timeout: Option<Duration>,
    /// How long all of it may take.
    #[arg(long, value_name = "TIME", value_parser = super::span)]
    total_timeout: Option<Duration>,
    /// How often a failed step is tried again.
    #[arg(long, value_name = "COUNT")]
    retries: Option<u32>,
    /// Do not try a failed step again.
    #[arg(long, conflicts_with = "retries")]
    no_retry: bool,
    /// When a step fails for good, go on with those that do not depend on it.
    #[arg(long)]
    keep_going: bool,
    #[command(flatten)]
    then: Then,
}

/// What happens when it is handed over.
#[derive(Debug, Args)]
struct Then {
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
    /// The folder in which the agent works, instead of the project's.
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// Whether it works in a git work tree of its own: worktree or none.
    #[arg(long, value_parser = isolation)]
    isolation: Option<Isolation>,
    /// How long it may take, such as 90s or 20m.
    #[arg(long, value_name = "TIME", value_parser = super::span)]
    timeout: Option<Duration>,
    #[command(flatten)]
    then: Then,
}

fn pattern(text: &str) -> Result<Pattern, String> {
    match text {
        "parallel" => Ok(Pattern::Parallel),
        "sequential" => Ok(Pattern::Sequential),
        "direct" => Ok(Pattern::Direct),
        _ => Err("there are: parallel, sequential, direct".into()),
    }
}

fn isolation(text: &str) -> Result<Isolation, String> {
    Isolation::parse(text).ok_or_else(|| "there are: worktree, none".into())
}

impl Delegate {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let spec = self.spec()?;
        hand_over(place, spec, &self.then)
    }

    fn spec(&self) -> Result<Spec, Box<dyn std::error::Error>> {
        let mut spec = match &self.plan {
            Some(path) => plan(path)?,
            None => Spec {
                title: self.task.first().map(|task| title(task)),
                pattern: self.pattern,
                subtasks: (1..).zip(&self.task).map(|(nth, task)| step(nth, task, None)).collect(),
                ..Spec::default()
            },
        };
        for step in spec.subtasks.iter_mut().filter(|step| step.agent.is_none()) {
            step.agent.clone_from(&self.agent);
        }
        // What is said here counts more than what the plan says.
        let limits = &mut spec.limits;
        limits.max_concurrent = self.agents.or(limits.max_concurrent);
        limits.subtask_timeout_ms = self.timeout.map(millis).or(limits.subtask_timeout_ms);
        limits.timeout_ms = self.total_timeout.map(millis).or(limits.timeout_ms);
        limits.max_retries = self.retries.unwrap_or(limits.max_retries);
        limits.auto_retry &= !self.no_retry;
        limits.continue_on_partial_failure |= self.keep_going;
        spec.workspace = workspace(self.cwd.as_deref())?.or(spec.workspace);
        spec.isolation = self.isolation.or(spec.isolation);
        Ok(spec)
    }
}

impl Direct {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let subtasks = vec![step(1, &self.task, self.agent.as_deref())];
        let spec = Spec {
            title: Some(title(&self.task)),
            pattern: Pattern::Direct,
            subtasks,
            limits: Limits { subtask_timeout_ms: self.timeout.map(millis), ..Limits::default() },
            workspace: workspace(self.cwd.as_deref())?,
            isolation: self.isolation,
            ..Spec::default()
        };
        hand_over(place, spec, &self.then)
    }
}

/// Reads a plan: JSON, or TOML where the file's name says so.
fn plan(path: &Path) -> Result<Spec, Box<dyn std::error::Error>> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let is_toml = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"));
    let fields = if is_toml {
        toml::from_str(&text).map_err(|error| error.to_string())
    } else {
        serde_json::from_str(&text).map_err(|error| error.to_string())
    };
    Ok(fields.and_then(serve::plan::read).map_err(|error| format!("{shown} is no plan: {error}"))?)
}

/// Returns a folder as the engine finds it, wherever that was started.
fn workspace(cwd: Option<&Path>) -> Result<Option<String>, Box<dyn std::error::Error>> {
    let Some(cwd) = cwd else { return Ok(None) };
    let whole = cwd.canonicalize().map_err(|error| format!("cannot work in {}: {error}.", cwd.display()))?;
    if !whole.is_dir() {
        return Err(format!("cannot work in {}: it is no folder.", cwd.display()).into());
    }
    let text = whole.into_os_string().into_string();
    Ok(Some(text.map_err(|_| format!("cannot work in {}: its path is not UTF-8.", cwd.display()))?))
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
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

/// Returns what a dialog asks for.
pub(super) fn spec_of(handover: &Handover) -> Result<Spec, String> {
    Ok(Spec {
        title: Some(title(&handover.text)),
        pattern: handover.pattern.as_deref().map_or(Ok(Pattern::default()), pattern)?,
        subtasks: vec![step(1, &handover.text, handover.agent.as_deref())],
        limits: Limits { max_concurrent: handover.agents, ..Limits::default() },
        ..Spec::default()
    })
}

/// Makes an id for a new delegation.
pub(super) fn new_id() -> DelegationId {
    let random = ask::random();
    DelegationId::from(format!("del-{}", random.get(..8).unwrap_or(&random)))
}

/// Hands over what a dialog asks for; returns the delegation's id.
pub(super) fn hand_over_from(
    folder: &StateFolder,
    handover: &Handover,
) -> Result<DelegationId, Box<dyn std::error::Error>> {
    let spec = spec_of(handover)?;
    let (id, command) = prepare(folder, spec)?;
    // Nothing is printed: this is asked from a full screen.
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

/// Makes the command that begins a delegation, and hands the asker's variables over.
fn prepare(
    folder: &StateFolder,
    mut spec: Spec,
) -> Result<(DelegationId, crate::model::command::Command), Box<dyn std::error::Error>> {
    let config = Config::read(folder.project())?;
    for step in &mut spec.subtasks {
        // Told here and now, not after the engine has tried; and everybody sees who does it.
        config.agent(step.agent.as_deref()).map_err(CliError::Unreadable)?;
        step.agent = step.agent.take().or_else(|| config.default_name().map(str::to_owned));
    }
    let id = new_id();
    let agents = spec.subtasks.iter().map(|step| step.agent.as_deref());
    let env = config.environment(agents, |name| std::env::var(name).ok());
    let env_file = folder.env_file(id.as_str())?;
    folder.create(&RealDisk)?;
    env_file.parent().map_or(Ok(()), |env| RealDisk.create_dir(env))?;
    replace(&RealDisk, &env_file, &serde_json::to_vec(&env)?)?;
    let command = ask::command(id.clone(), None, Verb::Start { spec: Box::new(spec) });
    Ok((id, command))
}

fn hand_over(place: &Place, spec: Spec, then: &Then) -> Outcome {
    let json = then.json;
    let folder = StateFolder::find_or_place(&working_folder()?, place.dir.as_deref());
    let (id, command) = prepare(&folder, spec)?;
    let receipt = ask::send(&folder, &command, PATIENCE)?;
    match &receipt {
        Some(receipt) if matches!(receipt.state, ReceiptState::Confirmed { .. }) => {
            let shown = if json { format!("{{\"delegationId\":\"{id}\"}}\n") } else { format!("{id}\n") };
            print(&shown)?;
            if !then.wait {
                return Ok(ExitCode::SUCCESS);
            }
            let done = Until::Is(StatusWord::Done);
            Watched { id, step: None, keep_engine: true }.wait(&folder, done, None, json)
        }
        Some(_) | None => {
            if receipt.as_ref().is_some_and(|receipt| matches!(receipt.state, ReceiptState::Refused { .. })) {
                forget_env(&folder, &id);
            }
            ask::show(&command, receipt, json)
        }
    }
}

/// Takes the variables back that were handed over for what never began.
fn forget_env(folder: &StateFolder, id: &DelegationId) {
    if let Ok(path) = folder.env_file(id.as_str()) {
        // The engine may have been faster.
        let _ = std::fs::remove_file(path);
    }
}
