//! `quarterdeck agents`: which agents there are, what each can do, and what not.

use std::fmt::Write as _;
use std::io::Read;
use std::iter::once;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use super::config::places;
use super::{Outcome, Place, hanging, print, working_folder};
use crate::agent::config::{AgentConfig, Kind};
use crate::agent::kind::{Abilities, FOUND_BY_NAME};
use crate::config::{Config, SIMULATED, find_program};
use crate::model::text;
use crate::store::folder::StateFolder;

/// How long a program may take to say its version; they start slowly.
const PATIENCE: Duration = Duration::from_secs(20);
/// So much of what it says is read.
const LONGEST: u64 = 4096;

#[derive(Debug, Args)]
pub(super) struct Agents {
    /// Print it as JSON, for scripts.
    #[arg(long)]
    json: bool,
}

/// One agent that can be named with `--agent`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    pub name: String,
    kind: &'static str,
    /// Whether a step that names no agent is done by this one.
    is_default: bool,
    is_configured: bool,
    /// Whether it can be run now.
    pub is_ready: bool,
    /// Why it cannot be.
    pub why_not: Option<String>,
    program: Option<PathBuf>,
    pub version: Option<String>,
    can: Can,
}

/// What can be done with it. Every agent can be paused and cancelled: that is the system's doing, down to its last
/// process.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Can {
    pause: bool,
    cancel: bool,
    #[serde(flatten)]
    more: Abilities,
}

impl Agents {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let folder = StateFolder::find_or_place(&working_folder()?, place.dir.as_deref());
        let config = Config::of(&places(&folder))?;
        let path = std::env::var("PATH").unwrap_or_default();
        let listed = list(&config, &path);
        if self.json {
            print(&format!("{}\n", serde_json::to_string_pretty(&listed)?))?;
        } else {
            print(&table(&listed, super::terminal_width()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Lists the agents; their programs are asked for their versions at the same time, since some start slowly.
pub(super) fn list(config: &Config, path: &str) -> Vec<Listed> {
    let default = config.chosen(|program| find_program(program, path).is_some());
    let built_in = FOUND_BY_NAME.into_iter().map(Kind::as_str).chain([SIMULATED]);
    let built_in = built_in.filter(|name| !config.agents.contains_key(*name)).map(str::to_owned);
    let names: Vec<String> = config.agents.keys().cloned().chain(built_in).collect();
    let default = default.as_ref();
    let agent = &|name: &String| {
        let configured = config.agents.get(name).cloned();
        let is_configured = configured.is_some();
        let agent = configured.or_else(|| Kind::named(name).map(AgentConfig::of_kind))?;
        Some(listed(name.clone(), &agent, is_configured, default == Some(name), path))
    };
    std::thread::scope(|scope| {
        let asked: Vec<_> = names.iter().map(|name| scope.spawn(move || agent(name))).collect();
        asked.into_iter().filter_map(|asked| asked.join().ok().flatten()).collect()
    })
}

fn listed(name: String, agent: &AgentConfig, is_configured: bool, is_default: bool, path: &str) -> Listed {
    let program = agent.program().and_then(|program| find_program(program, path));
    let why_not = match agent.program() {
        Some(wanted) if program.is_none() => Some(format!("{wanted} is not found on PATH")),
        Some(_) | None => None,
    };
    let is_tool = agent.kind.program().is_some();
    let version = program.as_deref().filter(|_| is_tool).and_then(version);
    let mut more = agent.kind.abilities();
    more.tell |= agent.has_channel();
    Listed {
        name,
        kind: agent.kind.as_str(),
        is_default,
        is_configured,
        is_ready: why_not.is_none(),
        why_not,
        program,
        version,
        can: Can { pause: true, cancel: true, more },
    }
}

/// Asks a program for its version, and waits no longer than patience lasts.
fn version(program: &Path) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let out = child.stdout.take()?;
    let read = std::thread::spawn(move || {
        let mut said = Vec::new();
        out.take(LONGEST).read_to_end(&mut said).map(|_| said)
    });
    let deadline = Instant::now() + PATIENCE;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() >= deadline {
            // One that does not answer has no version; it is gone either way.
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let said = read.join().ok()?.ok()?;
    let said = String::from_utf8_lossy(&said);
    said.lines().next().map(|line| text::line(line.trim()).into()).filter(|line: &String| !line.is_empty())
}

fn table(listed: &[Listed], wide: usize) -> String {
    let mut table = String::new();
    for agent in listed {
        let sign = if agent.is_ready { "●" } else { "○" };
        let default = if agent.is_default { ", default" } else { "" };
        let version = agent.version.as_deref().map_or_else(String::new, |version| format!("  {version}"));
        let _ = writeln!(table, "{sign} {} ({}{default}){version}", text::line(&agent.name), agent.kind);
        let mut say =
            |what: &str, said: &str| table.push_str(&hanging(&format!("    {what} "), once(said), wide));
        if let Some(why) = &agent.why_not {
            say("not usable:", &text::line(why));
            continue;
        }
        if let Some(program) = &agent.program {
            say("runs", &text::line(&program.display().to_string()));
        }
        let (can, cannot): (Vec<_>, Vec<_>) = words(&agent.can).into_iter().partition(|(able, _)| *able);
        let list =
            |words: Vec<(bool, &str)>| words.into_iter().map(|(_, word)| word).collect::<Vec<_>>().join(", ");
        say("can", &list(can));
        if !cannot.is_empty() {
            say("cannot", &list(cannot));
        }
        if agent.kind == Kind::Acp.as_str() {
            say("as far as it takes that:", "it says so when it is greeted");
        }
    }
    table
}

fn words(can: &Can) -> [(bool, &'static str); 9] {
    [
        (can.pause, "be paused"),
        (can.cancel, "be cancelled"),
        (can.more.tell, "be told something"),
        (can.more.ask_permission, "ask for permission"),
        (can.more.sub_agents, "show its sub-agents"),
        (can.more.cancel_child, "cancel one sub-agent"),
        (can.more.resume, "go on after a retry"),
        (can.more.report_usage, "report tokens"),
        (can.more.report_cost, "report cost"),
    ]
}
