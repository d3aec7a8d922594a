//! `quarterdeck decide` and `hint`: whether a task should be handed over, asked without doing anything.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use super::{CliError, Outcome, Place, now, print, shown, warn, working_folder};
use crate::config::{Config, tasks};
use crate::decide::decider::Decider;
use crate::decide::decision::{Options, to_json, to_text};
use crate::decide::mode::{Asker, Wish, course};
use crate::decide::settings::Settings;
use crate::decide::task::{Agent, Task};
use crate::decide::words::counted;
use crate::model::handoff::Decision;
use crate::model::text;
use crate::serve::client::{Blocking, Client};
use crate::store::folder::StateFolder;

/// The largest file that is read: no task is as long.
const LARGEST: u64 = 16 << 20;
/// What stands for standard input.
const STDIN: &str = "-";

#[derive(Debug, Args)]
pub(super) struct Decide {
    /// The task as a JSON file, `-` for standard input; a list of tasks gives a list of decisions.
    #[arg(long, value_name = "FILE")]
    task: PathBuf,
    /// The agent that would do it, as a JSON file.
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
    /// Propose no subtasks.
    #[arg(long)]
    no_subtasks: bool,
    /// Do not say why.
    #[arg(long)]
    no_reasoning: bool,
    /// Print it as JSON, for scripts.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Hint {
    /// What is to be done, or the id of a task in tasks.json
    #[arg(required = true, value_name = "TEXT OR TASK ID")]
    task: Vec<String>,
    /// Print it as JSON, for scripts.
    #[arg(long)]
    json: bool,
}

impl Decide {
    pub(super) fn run(self, place: &Place) -> Outcome {
        if self.agent.as_deref() == Some(Path::new(STDIN)) && self.task == Path::new(STDIN) {
            return Err(wrong(
                "task and agent cannot both come from standard input.\nName a file for one of them.",
            ));
        }
        let told = read(&self.task)?;
        let tasks = match told.as_array() {
            Some(list) => list.iter().map(Task::read).collect::<Result<Vec<_>, _>>(),
            None => Task::read(&told).map(|task| vec![task]),
        };
        let tasks = tasks.map_err(|why| wrong(&format!("{}: {why}", named(&self.task))))?;
        let agent = match &self.agent {
            Some(path) => {
                Agent::read(&read(path)?).map_err(|why| wrong(&format!("{}: {why}", named(path))))?
            }
            None => None,
        };
        let options = Options {
            include_subtasks: !self.no_subtasks,
            include_reasoning: !self.no_reasoning,
            ..Options::default()
        };
        let mut decider = Decider::new(settings(place)?);
        let decisions = decider.batch(&tasks, agent.as_ref(), options, now());
        if self.json {
            let mut answers: Vec<Value> = decisions.iter().map(|decision| to_json(decision)).collect();
            let one = if told.is_array() { None } else { answers.pop() };
            let answer = one.unwrap_or(Value::Array(answers));
            print(&format!("{answer:#}\n"))?;
            return Ok(ExitCode::SUCCESS);
        }
        let pages = decisions.iter().map(|decision| page(decision, decider.settings()));
        print(&pages.collect::<Vec<_>>().join("\n"))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns a decision for people, and what an agent's wish to do so would come to.
pub(super) fn page(decision: &Decision, settings: &Settings) -> String {
    let wish = Wish {
        by: Asker::Agent,
        mode: settings.mode,
        propose: false,
        subtask_approval: settings.subtask_approval,
        sure_from: settings.thresholds.auto_accept_confidence,
    };
    format!("{}If an agent asks for it: {}\n", to_text(decision), course(&wish, decision).why())
}

impl Hint {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let typed = self.task.join(" ");
        let planned = known(place, typed.trim())?;
        let is_planned = planned.is_some();
        let task = planned.unwrap_or_else(|| Task::from_text(&typed));
        if task.title.is_empty() {
            return Err(wrong("there is nothing to look at.\nSay what is to be done, or name a task."));
        }
        let hint = Decider::new(settings(place)?).hint(&task);
        if is_planned {
            tell_engine(place, typed.trim());
        }
        let shown = if self.json {
            serde_json::to_string_pretty(&hint)?
        } else {
            let factors = hint.quick_factors;
            let parts = counted(factors.subtask_potential, "part");
            format!("{} (complexity {}, {parts}).", hint.hint, factors.complexity)
        };
        print(&format!("{shown}\n"))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Lets an engine that runs here tell others of the hint; without one nobody listens.
fn tell_engine(place: &Place, id: &str) {
    // An id that is no plain part of an address is not asked for.
    let is_plain = id.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
    let folder = place.find().ok().flatten().filter(|_| is_plain);
    let Some((client, _)) = folder.and_then(|folder| Client::of(&folder)) else { return };
    // What it answers is known already.
    let _ = Blocking::new(client).map(|client| client.get(&format!("/api/delegation/hint/{id}")));
}

/// Returns the task with this id, if it can be one.
fn known(place: &Place, id: &str) -> Result<Option<Task>, Box<dyn std::error::Error>> {
    if id.is_empty() || id.contains(char::is_whitespace) {
        return Ok(None);
    }
    let Some((path, file)) = tasks::file::find(&project(place)?) else { return Ok(None) };
    let all = read(&path)?;
    let Some(task) = all.get("tasks").and_then(|tasks| tasks.get(id)) else {
        warn(&format!("No task {} in {file}: taken as text.", text::line(id)));
        return Ok(None);
    };
    let task = Task::read(task).map_err(|why| wrong(&format!("{file}, {}: {why}", text::line(id))))?;
    Ok(Some(task))
}

/// Returns the settings that hold in this project.
pub(super) fn settings(place: &Place) -> Result<Settings, Box<dyn std::error::Error>> {
    let folder = StateFolder::find_or_place(&working_folder()?, place.dir.as_deref());
    Ok(Config::of(&super::config::places(&folder))?.deciding())
}

fn project(place: &Place) -> Result<PathBuf, Box<dyn std::error::Error>> {
    Ok(match place.find()? {
        Some(folder) => folder.project().to_path_buf(),
        None => working_folder()?,
    })
}

/// Reads a JSON file; what is not UTF-8 in it does not matter.
fn read(path: &Path) -> Result<Value, Box<dyn std::error::Error>> {
    let name = named(path);
    let mut bytes = Vec::new();
    let source: Box<dyn Read> = if path == Path::new(STDIN) {
        Box::new(std::io::stdin())
    } else {
        let file = std::fs::File::open(path);
        Box::new(file.map_err(|error| wrong(&format!("cannot read {name}: {error}.")))?)
    };
    let read = source.take(LARGEST + 1).read_to_end(&mut bytes);
    let count = read.map_err(|error| wrong(&format!("cannot read {name}: {error}.")))?;
    if count as u64 > LARGEST {
        return Err(wrong(&format!("{name} is larger than {} MiB: that is no task.", LARGEST >> 20)));
    }
    let text = String::from_utf8_lossy(&bytes);
    serde_json::from_str(&text).map_err(|error| {
        wrong(&format!("{name} is no JSON: {error}.\nFor a task in words there is `quarterdeck hint`."))
    })
}

fn named(path: &Path) -> String {
    if path == Path::new(STDIN) { "standard input".into() } else { shown(path) }
}

fn wrong(why: &str) -> Box<dyn std::error::Error> {
    CliError::Unreadable(why.to_owned()).into()
}
