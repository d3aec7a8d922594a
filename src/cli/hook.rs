//! `quarterdeck hook <event>`: what a coding agent's tool calls at every moment of a session.
//!
//! It never blocks by accident: whatever goes wrong here is said on standard error, and the call passes, unless the
//! project wants it otherwise. A record goes to the engine, or, where none answers at once, to the inbox.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::value::to_raw_value;

use super::{Place, now, print, warn, working_folder};
use crate::agent;
use crate::config::{Config, Effective, Places};
use crate::hook::input::{Input, Moment};
use crate::hook::output::Format;
use crate::hook::settings::Settings;
use crate::hook::{Around, run};
use crate::model::event::payload::HookRecorded;
use crate::serve::announce;
use crate::serve::client::brief;
use crate::store::disk::RealDisk;
use crate::store::folder::StateFolder;
use crate::store::inbox;

/// What the engine may take to write a record down.
const PATIENCE: Duration = Duration::from_millis(50);
/// More than this is no hook's input.
const LONGEST: u64 = 64 * 1024 * 1024;
/// Exit code that keeps the tool from going on, with standard error as the reason.
const BLOCKED: u8 = 2;

#[derive(Debug, Args)]
pub(super) struct Hook {
    /// Which moment it is, such as `PreToolUse`; without it the input says so.
    event: Option<String>,
    /// The form of the answer.
    #[arg(long, value_enum, default_value = "claude")]
    format: Form,
    /// The coding agent that asks; without it, as its transcript is named.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Deny the call where the hook itself fails, instead of letting it pass.
    #[arg(long)]
    fail_closed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// `hookSpecificOutput`, as Claude Code and Codex read it.
    Claude,
    /// `continue`, `modifiedInput` and `message`.
    Seed,
}

impl Hook {
    pub(super) fn run(&self, place: &Place) -> ExitCode {
        let mut text = Vec::new();
        let read = io::stdin().lock().take(LONGEST).read_to_end(&mut text).map_err(|error| error.to_string());
        let input = read.and_then(|_| Input::read(&text));
        let answered = input.and_then(|input| self.answer(&input, place));
        answered.unwrap_or_else(|why| self.failed(&why, self.fail_closed))
    }

    /// Says what went wrong with the hook itself.
    fn failed(&self, why: &str, closed: bool) -> ExitCode {
        let event = self.event.as_deref().unwrap_or("?");
        if closed {
            warn(&format!(
                "quarterdeck hook {event}: {why}.\nThe call is denied, since the hook is set to fail closed."
            ));
            return ExitCode::from(BLOCKED);
        }
        warn(&format!("quarterdeck hook {event}: {why}; the call passes."));
        ExitCode::SUCCESS
    }

    fn answer(&self, input: &Input, place: &Place) -> Result<ExitCode, String> {
        let name = self.event.as_deref().or(input.event.as_deref()).ok_or("no event is named")?;
        let moment = Moment::named(name).ok_or_else(|| {
            let all: Vec<&str> = Moment::ALL.iter().map(|moment| moment.as_str()).collect();
            format!("{name:?} is no event that is known here: {}", all.join(", "))
        })?;
        let here = match &input.cwd {
            Some(cwd) => PathBuf::from(cwd),
            None => working_folder().map_err(|error| error.to_string())?,
        };
        let folder = StateFolder::find(&here, place.dir.as_deref());
        let place = StateFolder::find_or_place(&here, place.dir.as_deref());
        let project = folder.as_ref().unwrap_or(&place).project().to_owned();
        let places = Places::of(&project, |name| std::env::var(name).ok());
        let mut trouble = Vec::new();
        let config = match Config::of(&places) {
            Ok(config) => config.settings(),
            Err(error) => {
                trouble.push(format!("{error}; the built-in settings are in force"));
                Effective::default()
            }
        };
        let settings = Settings::of(&config);
        let around = Around {
            folder: folder.as_ref(),
            settings: &settings,
            definitions: definitions(&project),
            tool: self.tool.as_deref().unwrap_or_else(|| whose(input)),
            now: now(),
            dashboard: self.format == Form::Seed,
        };
        let mut unrecorded = Vec::new();
        let done = run(moment, input, &around, &mut |record| {
            if let Some(folder) = &folder
                && let Err(error) = tell(folder, &record)
            {
                unrecorded.push(format!("{} is not recorded: {error}", record.kind));
            }
        });
        if let (Moment::SessionStart, Some(folder)) = (moment, &folder) {
            let days = config.whole("logging.historyRetention");
            let age = Duration::from_hours(24).saturating_mul(u32::try_from(days).unwrap_or(u32::MAX));
            inbox::sweep(&RealDisk, folder, around.now.minus(age));
        }
        let format = if self.format == Form::Seed { Format::Seed } else { Format::Claude };
        // Who does not read the answer does not want it.
        print(&done.reply.text(moment, format, input.fields.as_ref())).map_err(|error| error.to_string())?;
        if is_debugged() {
            done.debug.iter().for_each(|line| warn(line));
        }
        trouble.extend(done.trouble);
        trouble.extend(unrecorded);
        if trouble.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        let closed = (self.fail_closed || settings.fail_closed) && moment == Moment::PreToolUse;
        Ok(self.failed(&trouble.join("; "), closed))
    }
}

/// Tells the engine, or leaves it in the inbox: the same record, with the same id.
fn tell(folder: &StateFolder, record: &HookRecorded) -> Result<(), String> {
    let text = to_raw_value(record).map_err(|error| error.to_string())?;
    if let Some(socket) = announce::read_live(folder).and_then(|told| told.socket)
        && brief::post(&socket, "/api/hook/record", text.get().as_bytes(), PATIENCE).unwrap_or(false)
    {
        return Ok(());
    }
    let missing = !folder.inbox_dir().is_dir();
    if missing {
        folder.create(&RealDisk).map_err(|error| error.to_string())?;
    }
    inbox::record(&RealDisk, folder, &record.session, &record.id, &text).map_err(|error| error.to_string())
}

/// Returns the coding agent whose session this is: of those that have hooks, one calls its transcripts rollouts.
fn whose(input: &Input) -> &'static str {
    let file = input.transcript.as_deref().and_then(|path| Path::new(path).file_name()?.to_str());
    if file.is_some_and(|name| name.starts_with("rollout-")) {
        agent::codex::TOOL
    } else {
        agent::claude::TOOL
    }
}

/// Where a project, and the person, define agents.
fn definitions(project: &Path) -> Vec<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = variable("CLAUDE_CONFIG_DIR").or_else(|| variable("HOME").map(|home| home.join(".claude")));
    std::iter::once(project.join(".claude")).chain(own).map(|folder| folder.join("agents")).collect()
}

fn is_debugged() -> bool {
    let is = |name, value| std::env::var(name).is_ok_and(|set| set == value);
    is("OMC_DEBUG", "true") || is("QUARTERDECK_DEBUG", "1")
}
