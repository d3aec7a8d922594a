//! `quarterdeck delegate` and `direct`: hand work over, and wait for its end if told so.

mod told;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::wait::{Until, Watched};
use super::{CliError, Outcome, Place, ask, now, print, warn, working_folder};
use crate::config::tasks::{self, Task};
use crate::config::{Config, Effective, Layer, find_program};
use crate::decide;
use crate::decide::plan::{Plan, Wanted};
use crate::decide::settings::Settings;
use crate::model::command::{Limits, Pattern, Receipt, ReceiptState, Spec, StepSpec, Verb};
use crate::model::id::DelegationId;
use crate::model::status::StatusWord;
use crate::model::worktree::Isolation;
use crate::monitor::app::effect::Handover;
use crate::serve;
use crate::store::disk::{Disk, RealDisk};
use crate::store::folder::StateFolder;
use crate::store::views::replace;
use told::{acknowledgement, agents_of, check_program};

/// How long the engine may take to accept a delegation.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Delegate {
    /// What is to be done, or the id of a task in tasks.json; with several, one step each.
    #[arg(required_unless_present_any = ["plan", "task_id"])]
    task: Vec<String>,
    /// The agent, by its name in quarterdeck.toml.
    #[arg(long)]
    agent: Option<String>,
    /// The task of tasks.json that this is, by its id: it is linked there, and updated when this ends.
    #[arg(long, value_name = "ID")]
    task_id: Option<String>,
    /// How the steps hang together: parallel (as the settings say, at first), sequential or direct.
    #[arg(long, short, value_parser = pattern)]
    pattern: Option<Pattern>,
    /// One step, whatever the decision says.
    #[arg(long, conflicts_with_all = ["pattern", "plan"])]
    direct: bool,
    /// How many levels it may have, itself included, 1 to 5.
    #[arg(long, short, value_name = "LEVELS", value_parser = clap::value_parser!(u32).range(1..=5))]
    depth: Option<u32>,
    /// How many agents may work at once.
    #[arg(long, short)]
    agents: Option<u32>,
    /// How many tokens it may use, with all below it.
    #[arg(long, short, value_name = "TOKENS")]
    budget: Option<u64>,
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
    /// What it is called on screen, instead of its first line.
    #[arg(long)]
    title: Option<String>,
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
        let folder = StateFolder::find_or_place(&working_folder()?, place.dir.as_deref());
        let config = super::config::whole(&folder)?;
        let spec = self.spec(&folder, &config)?;
        if self.dry_run {
            return super::dry_run::show(&spec, &config.deciding(), self.then.json);
        }
        hand_over(place, spec, &self.then)
    }

    fn spec(&self, folder: &StateFolder, config: &Config) -> Result<Spec, Box<dyn std::error::Error>> {
        let mut settings = config.settings();
        let task = self.planned(folder)?;
        if let Some(task) = &task {
            settings.lay(Layer::Task, &task.config.values);
        }
        let mut spec = match &self.plan {
            Some(path) => plan(path, &settings.limits())?,
            None => self.weighed(folder, config, &settings, task.as_ref()),
        };
        spec.propose |= self.propose || task.is_some() && settings.switch("subtaskApproval");
        let own_mode = settings.get("mode").filter(|mode| mode.layer == Layer::Task);
        spec.mode = own_mode.and_then(|mode| mode.value.as_str().map(str::to_owned)).or(spec.mode);
        spec.task_id = task.map(|task| task.id.into()).or(spec.task_id);
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
        limits.continue_on_partial_failure &= !self.stop_on_failure;
        limits.max_depth = self.depth.or(limits.max_depth);
        limits.token_budget = self.budget.or(limits.token_budget);
        spec.workspace = workspace(self.cwd.as_deref())?.or(spec.workspace);
        spec.isolation = self.isolation.or(spec.isolation);
        Ok(spec)
    }

    /// Weighs what is to be done, and makes its steps: one each where several tasks are given, as the decision says of
    /// one.
    fn weighed(
        &self,
        folder: &StateFolder,
        config: &Config,
        settings: &Effective,
        task: Option<&Task>,
    ) -> Spec {
        let limits = settings.limits();
        let deciding =
            Settings { agents: config.deciding().agents, ..crate::config::decide::deciding(settings) };
        let (about, whole) = match (task, self.task.as_slice()) {
            (Some(task), [] | [_]) => (about(task), task.prompt()),
            (_, [only]) => (decide::task::Task::from_text(only), only.clone()),
            (_, several) => {
                // A pattern that this engine cannot run is left to whoever can.
                let by_default = || pattern(&settings.word("patterns.default")).ok();
                return Spec {
                    title: several.first().map(|task| title(task)),
                    pattern: self.pattern.or_else(by_default).unwrap_or_default(),
                    subtasks: (1..).zip(several).map(|(nth, task)| step(nth, task, None)).collect(),
                    limits,
                    ..Spec::default()
                };
            }
        };
        let own = settings.get("patterns.default").filter(|one| one.layer >= Layer::Task);
        let own = own.and_then(|own| decide::pattern::Pattern::from_name(own.value.as_str()?));
        let asked = self.pattern.and_then(|pattern| decide::pattern::Pattern::from_name(pattern.as_str()));
        let direct = self.direct.then_some(decide::pattern::Pattern::Direct);
        let wanted = Wanted { pattern: direct.or(asked).or(own) };
        let mut made = decide::plan::plan(&about, &whole, wanted, &deciding, now());
        let is_direct = wanted.pattern == Some(decide::pattern::Pattern::Direct);
        let planner = settings.name("planner").filter(|_| !is_direct && !self.dry_run);
        if let Some(planner) = planner {
            made = super::planner::ask(folder, (&planner, &limits), made, &whole, &deciding);
        }
        Spec { title: Some(title(&whole)), limits, ..spec_of_plan(made, config) }
    }

    /// Returns the task of tasks.json that is meant: the one that is named, or whose id is all that is said.
    fn planned(&self, folder: &StateFolder) -> Result<Option<Task>, Box<dyn std::error::Error>> {
        let said = match self.task.as_slice() {
            [only] if !only.contains(char::is_whitespace) => Some(only.as_str()),
            _ => None,
        };
        let Some(id) = self.task_id.as_deref().or(said) else { return Ok(None) };
        let found = tasks::file::find(folder.project());
        let task = match &found {
            Some((path, shown)) => {
                let text =
                    std::fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
                tasks::task(shown, &text, id).map_err(|error| format!("{shown} cannot be read: {error}"))
            }
            None => Ok(None),
        };
        if self.task_id.is_none() {
            // It may be a word like any other.
            return Ok(task.ok().flatten());
        }
        let task = task?.ok_or_else(|| match found {
            Some((_, shown)) => format!("{shown} has no task {id:?}."),
            None => format!(
                "there is no tasks.json here, so no task {id:?}.\nIt may be at: {}.",
                tasks::file::FILES.join(", ")
            ),
        })?;
        for fault in &task.config.faults {
            warn(&format!("warning: {fault}"));
        }
        Ok(Some(task))
    }
}

impl Direct {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let folder = StateFolder::find_or_place(&working_folder()?, place.dir.as_deref());
        let config = super::config::whole(&folder)?;
        let limits = config.settings().limits();
        let subtasks = vec![step(1, &self.task, self.agent.as_deref())];
        let (about, wanted) = (decide::task::Task::from_text(&self.task), decide::pattern::Pattern::Direct);
        let wanted = Wanted { pattern: Some(wanted) };
        let made = decide::plan::plan(&about, &self.task, wanted, &config.deciding(), now());
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

/// Returns a planned task as it is weighed; one that says little is weighed by that.
fn about(task: &Task) -> decide::task::Task {
    decide::task::Task::read(&task.whole).unwrap_or_else(|_| decide::task::Task::from_text(&task.prompt()))
}

/// Reads a plan: JSON, or TOML where the file's name says so.
fn plan(path: &Path, otherwise: &Limits) -> Result<Spec, Box<dyn std::error::Error>> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let is_toml = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"));
    let fields = if is_toml {
        toml::from_str(&text).map_err(|error| error.to_string())
    } else {
        serde_json::from_str(&text).map_err(|error| error.to_string())
    };
    Ok(fields
        .and_then(|fields| serve::plan::read(fields, otherwise))
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

/// Returns what a plan starts; a suggested agent that nobody configured is left to the default.
fn spec_of_plan(plan: Plan, config: &Config) -> Spec {
    let Plan { decision, pattern, mut steps } = plan;
    for step in &mut steps {
        step.agent = step.agent.take().filter(|agent| config.agent(Some(agent)).is_ok());
    }
    Spec { pattern, subtasks: steps, decision: Some(Box::new(decision)), ..Spec::default() }
}

/// Returns what a dialog asks for, weighed and split by the settings that hold there.
pub(super) fn spec_of(handover: &Handover, config: &Config) -> Result<Spec, String> {
    // Only what the engine can run may be asked for.
    let asked = handover.pattern.as_deref().map(pattern).transpose()?;
    let asked = asked.and_then(|pattern| decide::pattern::Pattern::from_name(pattern.as_str()));
    let about = decide::task::Task::from_text(&handover.text);
    let made =
        decide::plan::plan(&about, &handover.text, Wanted { pattern: asked }, &config.deciding(), now());
    let limits = config.settings().limits();
    let mut spec = Spec {
        title: Some(title(&handover.text)),
        limits: Limits {
            max_concurrent: handover.agents.or(limits.max_concurrent),
            max_depth: handover.depth.or(limits.max_depth),
            token_budget: handover.budget.or(limits.token_budget),
            ..limits
        },
        ..spec_of_plan(made, config)
    };
    for step in &mut spec.subtasks {
        step.agent = handover.agent.clone().or(step.agent.take());
    }
    Ok(spec)
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
    let spec = spec_of(handover, &super::config::whole(folder)?)?;
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

/// Begins a delegation; returns its id and what became of the command, if that is known.
pub(super) fn begin(
    folder: &StateFolder,
    spec: Spec,
) -> Result<(DelegationId, Option<ReceiptState>), Box<dyn std::error::Error>> {
    let (id, command) = prepare(folder, spec)?;
    let receipt = ask::send(folder, &command, PATIENCE)?;
    Ok((id, receipt.map(|receipt| receipt.state)))
}

/// Makes the command that begins a delegation, and hands the asker's variables over.
fn prepare(
    folder: &StateFolder,
    mut spec: Spec,
) -> Result<(DelegationId, crate::model::command::Command), Box<dyn std::error::Error>> {
    let config = Config::of(&super::config::places(folder))?;
    let path = std::env::var("PATH").unwrap_or_default();
    for step in &mut spec.subtasks {
        // Told here and now, not after the engine has tried; and everybody sees who does it.
        let chosen = || config.chosen(|program| find_program(program, &path).is_some());
        step.agent = step.agent.take().or_else(chosen);
        let agent = config.agent(step.agent.as_deref()).map_err(CliError::Unreadable)?;
        check_program(step.agent.as_deref(), &agent, &path)?;
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
    let agents = agents_of(&command.verb);
    let receipt = ask::send(&folder, &command, PATIENCE)?;
    if let Some(Receipt { state: ReceiptState::Confirmed { proof, .. }, .. }) = &receipt {
        let why = proof.as_deref().filter(|proof| *proof != "done");
        print(&acknowledgement(&id, &agents, why, json))?;
        if !then.wait {
            return Ok(ExitCode::SUCCESS);
        }
        let done = Until::Is(StatusWord::Done);
        return Watched { id, step: None, keep_engine: true }.wait(&folder, done, None, json);
    }
    if receipt.as_ref().is_some_and(|receipt| matches!(receipt.state, ReceiptState::Refused { .. })) {
        forget_env(&folder, &id);
    }
    ask::show(&command, receipt, json)
}

/// Takes the variables back that were handed over for what never began.
fn forget_env(folder: &StateFolder, id: &DelegationId) {
    if let Ok(path) = folder.env_file(id.as_str()) {
        // The engine may have been faster.
        let _ = std::fs::remove_file(path);
    }
}
