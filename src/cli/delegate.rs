//! `quarterdeck delegate` and `direct`: hand work over, and wait for its end if told so.

pub(super) mod dialog;
mod record;
mod told;
mod weigh;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::wait::{Until, Watched};
use super::{CliError, Outcome, Place, ask, now, print, warn, working_folder};
use crate::config::{Config, Effective, Layer, find_program};
use crate::decide;
use crate::decide::pattern::{Cast, MOST_ROUNDS};
use crate::decide::plan::Wanted;
use crate::model::budget::{self, Limit};
use crate::model::command::{Limits, Pattern, Receipt, ReceiptState, Spec, StepSpec, Verb};
use crate::model::id::DelegationId;
use crate::model::status::StatusWord;
use crate::model::worktree::Isolation;
use crate::serve;
use crate::store::disk::{Disk, RealDisk};
use crate::store::folder::StateFolder;
use crate::store::views::replace;
use record::Record;
use told::{acknowledgement, agents_of, check_program};
use weigh::{Desk, Wish, step, title};

/// How long the engine may take to accept a delegation.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Delegate {
    /// What is to be done, or the id of a task in tasks.json; with several, one step each.
    #[arg(required_unless_present_any = ["plan", "task_id", "command"])]
    task: Vec<String>,
    /// The agent: codex, claude, opencode or gemini where it is on PATH, simulated, or a name in quarterdeck.toml; with
    /// several, each takes a step in turn.
    #[arg(long, value_delimiter = ',')]
    agent: Vec<String>,
    /// The model of its agents, by the name that they know it by, instead of their own.
    #[arg(long)]
    model: Option<String>,
    /// The task of tasks.json that this is, by its id: it is linked there, and updated when this ends.
    #[arg(long, value_name = "ID")]
    task_id: Option<String>,
    /// How the steps hang together: parallel (as the settings say, at first), sequential, debate, review, ensemble or
    /// direct.
    #[arg(long, short, value_parser = pattern)]
    pattern: Option<Pattern>,
    /// How many rounds a debate or a review has.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_ROUNDS)))]
    rounds: Option<u32>,
    /// One step, whatever the decision says.
    #[arg(long, conflicts_with_all = ["pattern", "plan"])]
    direct: bool,
    /// How many levels it may have, itself included, 1 to 5.
    #[arg(long, short, value_name = "LEVELS", value_parser = clap::value_parser!(u32).range(1..=5))]
    depth: Option<u32>,
    /// How many agents may work at once; of an ensemble, how many answer.
    #[arg(long, short)]
    agents: Option<u32>,
    /// What it may spend, with all below it: tokens such as 200k, or money such as $2.50.
    #[arg(long, short, value_name = "BUDGET", value_parser = budget::read)]
    budget: Option<Limit>,
    /// What each of its steps may spend.
    #[arg(long, value_name = "BUDGET", value_parser = budget::read)]
    step_budget: Option<Limit>,
    /// Wait for a person to approve the plan before anything of it begins.
    #[arg(long)]
    propose: bool,
    /// Only show the decision and the plan; nothing is started, and nothing is written.
    #[arg(long)]
    dry_run: bool,
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
    /// When a step fails for good, go on with those that do not depend on it, as the settings say at first.
    #[arg(long)]
    keep_going: bool,
    /// When a step fails for good, stop the others.
    #[arg(long, conflicts_with = "keep_going")]
    stop_on_failure: bool,
    #[command(flatten)]
    record: Record,
    #[command(flatten)]
    then: Then,
}

/// What happens when it is handed over.
#[derive(Debug, Args)]
struct Then {
    /// Stay until it has ended.
    #[arg(long)]
    wait: bool,
    /// Print it as JSON, for scripts.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Direct {
    /// What is to be done.
    task: String,
    /// What it is called on screen, instead of its first line.
    #[arg(long)]
    title: Option<String>,
    /// The agent: codex, claude, opencode or gemini where it is on PATH, simulated, or a name in quarterdeck.toml.
    #[arg(long)]
    agent: Option<String>,
    /// Its model, by the name that it knows it by, instead of its own.
    #[arg(long)]
    model: Option<String>,
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
    Pattern::from_name(text).ok_or_else(|| format!("there are: {}", Pattern::names()))
}

fn isolation(text: &str) -> Result<Isolation, String> {
    Isolation::parse(text).ok_or_else(|| "there are: worktree, none".into())
}

impl Delegate {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let folder = StateFolder::find_or_place(&working_folder()?, place.dir.as_deref());
        let config = super::config::whole(&folder)?;
        let spec = self.spec(&folder, &config)?;
        if self.dry_run {
            return super::dry_run::show(&spec, &config.deciding(), self.then.json);
        }
        hand_over(place, spec, &self.then)
    }

    fn spec(&self, folder: &StateFolder, config: &Config) -> Result<Spec, Box<dyn std::error::Error>> {
        let guided = self.record.guided(&self.task)?;
        let desk = Desk { folder, config, tell: &warn };
        let wish = Wish {
            tasks: &self.task,
            task_id: self.task_id.as_deref(),
            pattern: if self.direct { Some(Pattern::Direct) } else { self.pattern },
            cast: self.cast(),
            asks_planner: !self.dry_run,
        };
        let task = if guided.is_some() { None } else { desk.planned(&wish)? };
        let settings = desk.settings(task.as_ref());
        let mut spec = match (&guided, &self.plan) {
            (Some(guided), _) => Spec {
                title: Some(title(&guided.prompt)),
                subtasks: vec![step(1, &guided.prompt, None)],
                limits: settings.limits(),
                ..Spec::default()
            },
            (None, Some(path)) => plan(path, &settings)?,
            (None, None) => desk.weighed(&wish, task.as_ref())?,
        };
        spec.propose |= self.propose || task.is_some() && settings.switch("subtaskApproval");
        let own_mode = settings.get("mode").filter(|mode| mode.layer == Layer::Task);
        spec.mode = own_mode.and_then(|mode| mode.value.as_str().map(str::to_owned)).or(spec.mode);
        spec.task_id = task.map(|task| task.id.into()).or(spec.task_id);
        self.cast().assign(&mut spec.subtasks);
        for step in &mut spec.subtasks {
            step.model = self.model.clone().or(step.model.take());
        }
        // What is said here counts more than what the plan says.
        let limits = &mut spec.limits;
        limits.max_concurrent = self.agents.or(limits.max_concurrent);
        limits.subtask_timeout_ms = self.timeout.map(millis).or(limits.subtask_timeout_ms);
        limits.timeout_ms = self.total_timeout.map(millis).or(limits.timeout_ms);
        limits.max_retries = self.retries.unwrap_or(limits.max_retries);
        limits.auto_retry &= !self.no_retry;
        limits.continue_on_partial_failure |= self.keep_going;
        limits.continue_on_partial_failure &= !self.stop_on_failure;
        limits.max_depth = self.depth.or(limits.max_depth);
        limits.allow(self.budget.unwrap_or_default());
        limits.allow_steps(self.step_budget.unwrap_or_default());
        spec.workspace = workspace(self.cwd.as_deref())?.or(spec.workspace);
        spec.isolation = self.isolation.or(spec.isolation);
        if let Some(guided) = guided {
            guided.lay(&mut spec, self.timeout.map(millis))?;
        }
        self.record.fill(&mut spec, config);
        Ok(spec)
    }

    /// Returns who takes part, and how large a pattern is to be.
    fn cast(&self) -> Cast {
        Cast { rounds: self.rounds, answers: self.agents, agents: self.agent.clone() }
    }
}

impl Direct {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let folder = StateFolder::find_or_place(&working_folder()?, place.dir.as_deref());
        let config = super::config::whole(&folder)?;
        let limits = config.settings().limits();
        let subtasks = vec![StepSpec { model: self.model, ..step(1, &self.task, self.agent.as_deref()) }];
        let about = decide::task::Task::from_text(&self.task);
        let wanted = Wanted { pattern: Some(Pattern::Direct), ..Wanted::default() };
        let made = decide::plan::plan(&about, &self.task, &wanted, &config.deciding(), now());
        let spec = Spec {
            decision: Some(Box::new(made.decision)),
            title: Some(self.title.unwrap_or_else(|| title(&self.task))),
            pattern: Pattern::Direct,
            subtasks,
            limits: Limits {
                subtask_timeout_ms: self.timeout.map(millis).or(limits.subtask_timeout_ms),
                ..limits
            },
            workspace: workspace(self.cwd.as_deref())?,
            isolation: self.isolation,
            ..Spec::default()
        };
        hand_over(place, spec, &self.then)
    }
}

/// Reads a plan: JSON, or TOML where the file's name says so.
fn plan(path: &Path, settings: &Effective) -> Result<Spec, Box<dyn std::error::Error>> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let is_toml = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"));
    let fields = if is_toml {
        toml::from_str(&text).map_err(|error| error.to_string())
    } else {
        serde_json::from_str(&text).map_err(|error| error.to_string())
    };
    let patterns = crate::config::decide::deciding(settings).patterns;
    let otherwise = serve::plan::Otherwise { limits: settings.limits(), patterns };
    Ok(fields
        .and_then(|fields| serve::plan::read_file(fields, &otherwise))
        .map_err(|error| format!("{shown} is no plan: {error}"))?)
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

/// Makes an id for a new delegation.
fn new_id() -> DelegationId {
    let random = ask::random();
    DelegationId::from(format!("del-{}", random.get(..8).unwrap_or(&random)))
}

/// Begins a delegation; returns its id and what became of the command, if that is known.
pub(super) fn begin(
    folder: &StateFolder,
    spec: Spec,
    tell: &dyn Fn(&str),
) -> Result<(DelegationId, Option<ReceiptState>), Box<dyn std::error::Error>> {
    let (id, command) = prepare(folder, spec)?;
    let receipt = ask::send_telling(folder, &command, PATIENCE, tell)?;
    Ok((id, receipt.map(|receipt| receipt.state)))
}

/// Says of each step who does it, and refuses who cannot: here and now, not after the engine has tried.
fn assign(config: &Config, spec: &mut Spec) -> Result<(), CliError> {
    let path = std::env::var("PATH").unwrap_or_default();
    let chosen = || config.chosen(|program| find_program(program, &path).is_some());
    for step in &mut spec.subtasks {
        step.agent = step.agent.take().or_else(chosen);
        let agent = config.agent(step.agent.as_deref()).map_err(CliError::Unreadable)?;
        check_program(step.agent.as_deref(), &agent, &path)?;
    }
    Ok(())
}

/// Makes the command that begins a delegation, and hands the asker's variables over.
pub(super) fn prepare(
    folder: &StateFolder,
    mut spec: Spec,
) -> Result<(DelegationId, crate::model::command::Command), Box<dyn std::error::Error>> {
    let config = Config::of(&super::config::places(folder))?;
    assign(&config, &mut spec)?;
    record::hang(&mut spec);
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
    if let Some(decision) = &spec.decision {
        for what in decide::plan::warnings(decision) {
            warn(&format!("warning: {what}"));
        }
    }
    let is_named = spec.subtasks.iter().all(|step| step.agent.is_some());
    let (id, command) = prepare(&folder, spec)?;
    let mut agents = agents_of(&command.verb);
    if !is_named {
        let config = Config::of(&super::config::places(&folder))?;
        agents.chosen = Some(config.why_chosen());
    }
    let receipt = ask::send(&folder, &command, PATIENCE)?;
    if let Some(Receipt { state: ReceiptState::Confirmed { proof, .. }, .. }) = &receipt {
        let why = proof.as_deref().filter(|proof| *proof != "done");
        print(&acknowledgement(&id, &agents, why, json))?;
        if !then.wait {
            return Ok(ExitCode::SUCCESS);
        }
        let done = Until::Is(StatusWord::Done);
        let shows_result = super::report::own_step().is_some();
        return Watched { id, step: None, keep_engine: true, shows_result }.wait(&folder, done, None, json);
    }
    if receipt.as_ref().is_some_and(|receipt| matches!(receipt.state, ReceiptState::Refused { .. })) {
        forget_env(&folder, &id);
    }
    ask::show(&command, receipt, json)
}

/// Takes the variables back that were handed over for what never began.
pub(super) fn forget_env(folder: &StateFolder, id: &DelegationId) {
    if let Ok(path) = folder.env_file(id.as_str()) {
        // The engine may have been faster.
        let _ = std::fs::remove_file(path);
    }
}
