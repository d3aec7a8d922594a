//! From what somebody asks for to what would be started: weighed, split, and put under the limits that hold. One way
//! for the command line and for the monitor's dialog, so that both come to the same plan.

use crate::cli::{now, planner};
use crate::config::tasks::{self, Task};
use crate::config::{Config, Effective, Layer};
use crate::decide;
use crate::decide::pattern::Cast;
use crate::decide::plan::{Plan, Wanted};
use crate::decide::settings::Settings;
use crate::model::command::{Pattern, Spec, StepSpec};
use crate::store::folder::StateFolder;

/// What is asked for.
#[derive(Debug, Default)]
pub(super) struct Wish<'a> {
    /// What is to be done, or the id of a task; several are a step each.
    pub tasks: &'a [String],
    /// A task of tasks.json that is named as such.
    pub task_id: Option<&'a str>,
    pub pattern: Option<Pattern>,
    /// Who takes part, and how large a pattern is to be.
    pub cast: Cast,
    /// Whether the planner is asked, where one is set.
    pub asks_planner: bool,
}

/// Where it is asked, and who is told what happens meanwhile.
pub(super) struct Desk<'a> {
    pub folder: &'a StateFolder,
    pub config: &'a Config,
    pub tell: &'a dyn Fn(&str),
}

impl Desk<'_> {
    /// Returns the settings that hold for a task.
    pub fn settings(&self, task: Option<&Task>) -> Effective {
        let mut settings = self.config.settings();
        if let Some(task) = task {
            settings.lay(Layer::Task, &task.config.values);
        }
        settings
    }

    /// Weighs what is to be done, and makes its steps: one each where several tasks are given, as the decision says
    /// of one.
    pub fn weighed(&self, wish: &Wish<'_>, task: Option<&Task>) -> Result<Spec, String> {
        let settings = &self.settings(task);
        let limits = settings.limits();
        let deciding =
            Settings { agents: self.config.deciding().agents, ..crate::config::decide::deciding(settings) };
        let (about, whole) = match (task, wish.tasks) {
            (Some(task), [] | [_]) => (about(task), task.prompt()),
            (_, [only]) => (decide::task::Task::from_text(only), only.clone()),
            (_, several) => {
                if several.iter().any(|task| task.trim().is_empty()) {
                    return Err(NOTHING.into());
                }
                if let Some(woven) = wish.pattern.filter(|pattern| pattern.is_woven()) {
                    let count = several.len();
                    return Err(format!(
                        "The pattern {woven} is for one task, and here are {count}.\nPut them into one text."
                    ));
                }
                // A pattern that makes its own steps is not what several steps are for.
                let by_default = super::pattern(&settings.word("patterns.default"));
                let by_default = by_default.ok().filter(|pattern| !pattern.is_woven());
                return Ok(Spec {
                    title: several.first().map(|task| title(task)),
                    pattern: wish.pattern.or(by_default).unwrap_or_default(),
                    subtasks: (1..).zip(several).map(|(nth, task)| step(nth, task, None)).collect(),
                    limits,
                    ..Spec::default()
                });
            }
        };
        if whole.trim().is_empty() {
            return Err(NOTHING.into());
        }
        let own = settings.get("patterns.default").filter(|one| one.layer >= Layer::Task);
        let pattern = wish.pattern.or(own.and_then(|own| Pattern::from_name(own.value.as_str()?)));
        // How many work at once is how many answer, where it is or may come to an ensemble.
        let is_ensemble = pattern.is_none_or(|pattern| pattern == Pattern::Ensemble);
        let answers = wish.cast.answers.filter(|_| is_ensemble);
        let wanted = Wanted { pattern, cast: Cast { answers, ..wish.cast.clone() } };
        let mut made = decide::plan::plan(&about, &whole, &wanted, &deciding, now());
        let planner = planner_of(made.pattern, pattern, settings).filter(|_| wish.asks_planner);
        if let Some(planner) = planner {
            made = planner::ask(self.folder, (&planner, &limits), made, &whole, &deciding, self.tell);
        }
        Ok(Spec { title: Some(title(&whole)), limits, ..spec_of_plan(made, self.config) })
    }

    /// Returns the task of tasks.json that is meant: the one that is named, or whose id is all that is said.
    pub fn planned(&self, wish: &Wish<'_>) -> Result<Option<Task>, String> {
        let said = match wish.tasks {
            [only] if !only.contains(char::is_whitespace) && !only.is_empty() => Some(only.as_str()),
            _ => None,
        };
        let Some(id) = wish.task_id.or(said) else { return Ok(None) };
        let found = tasks::file::find(self.folder.project());
        let task = match &found {
            Some((path, shown)) => {
                let text =
                    tasks::file::text(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
                tasks::task(shown, &text, id).map_err(|error| format!("{shown} cannot be read: {error}"))
            }
            None => Ok(None),
        };
        if wish.task_id.is_none() {
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
            (self.tell)(&format!("warning: {fault}"));
        }
        Ok(Some(task))
    }
}

/// What is said to somebody who hands nothing over.
const NOTHING: &str = "there is nothing to hand over.\nSay what is to be done, or name a task.";

/// Returns the planner that would be asked for steps, were it asked: not where one step is wanted, nor where the pattern
/// makes its own.
pub(super) fn planner_of(made: Pattern, wanted: Option<Pattern>, settings: &Effective) -> Option<String> {
    settings.name("planner").filter(|_| wanted != Some(Pattern::Direct) && !made.is_woven())
}

/// Returns a planned task as it is weighed; one that says little is weighed by that.
fn about(task: &Task) -> decide::task::Task {
    decide::task::Task::read(&task.whole).unwrap_or_else(|_| decide::task::Task::from_text(&task.prompt()))
}

/// Returns a step that does all of a task.
pub(super) fn step(nth: u32, task: &str, agent: Option<&str>) -> StepSpec {
    StepSpec {
        id: format!("st-{nth}").into(),
        title: Some(title(task)),
        prompt: task.to_owned(),
        agent: agent.map(str::to_owned),
        ..StepSpec::default()
    }
}

/// The first line of a task is its title.
pub(super) fn title(task: &str) -> String {
    task.lines().next().unwrap_or_default().to_owned()
}

/// Returns what a plan starts; a suggested agent that nobody configured is left to the default.
pub(super) fn spec_of_plan(plan: Plan, config: &Config) -> Spec {
    let Plan { decision, pattern, mut steps } = plan;
    for step in &mut steps {
        step.agent = step.agent.take().filter(|agent| config.agent(Some(agent)).is_ok());
    }
    Spec { pattern, subtasks: steps, decision: Some(Box::new(decision)), ..Spec::default() }
}
