//! What is around a state folder: the engine, the agents, the hooks, the terminal, the prices, the system. Each is
//! said in a line of plain words; none of it is wrong, but it explains what can be seen and done here.

use std::io::IsTerminal;
use std::path::Path;

use super::super::agents::{self, Listed};
use super::super::natives::Natives;
use crate::config::Config;
use crate::model::text;
use crate::model::time::Stamp;
use crate::monitor::view::theme::ColorDepth;
use crate::setup;
use crate::store::disk::RealDisk;
use crate::store::folder::StateFolder;
use crate::store::lock::{self, Holder};
use crate::store::plain;

/// Prices change; older ones than this are worth a second look.
const OLD_PRICES_DAYS: i64 = 90;
const DAY_MS: i64 = 86_400_000;

/// Returns a line for each thing, in the order in which one would ask.
pub(super) fn lines(folder: &StateFolder, now: Stamp) -> Vec<String> {
    let told = [
        ("engine", engine(lock::holder(&RealDisk, folder).as_ref())),
        ("agents", agents(folder.project())),
        ("hooks", hooks(folder.project())),
        ("terminal", terminal(|name| std::env::var(name).ok(), std::io::stdout().is_terminal())),
        ("prices", prices(folder, now)),
        ("system", system().into()),
    ];
    told.into_iter().map(|(what, text)| line(what, &text)).collect()
}

fn line(what: &str, text: &str) -> String {
    let text = text.lines().map(text::line).collect::<Vec<_>>().join("\n            ");
    format!("{what:<11} {text}\n")
}

fn engine(holder: Option<&Holder>) -> String {
    match holder {
        Some(Holder { pid, epoch, .. }) => format!("runs: pid {pid}, epoch {epoch}"),
        None => "none runs; the first command that needs one starts it".into(),
    }
}

fn agents(project: &Path) -> String {
    let config = match Config::read(project) {
        Ok(config) => config,
        Err(error) => return format!("not known, because the settings cannot be read: {error}"),
    };
    let listed = agents::list(&config, &std::env::var("PATH").unwrap_or_default());
    let (ready, not): (Vec<&Listed>, Vec<&Listed>) = listed.iter().partition(|agent| agent.is_ready);
    let named = |agent: &&Listed| match &agent.version {
        Some(version) => format!("{} ({version})", agent.name),
        None => agent.name.clone(),
    };
    let mut said = vec![format!("usable: {}", ready.iter().map(named).collect::<Vec<_>>().join(", "))];
    let why = |agent: &&Listed| {
        format!("{}: {}", agent.name, agent.why_not.as_deref().unwrap_or("it cannot be used"))
    };
    said.extend(not.iter().map(why));
    said.join("\n")
}

/// The files in which coding agents are told to call the hook, from the project's folder.
const HOOK_FILES: [(&str, &str); 2] =
    [("Claude Code", ".claude/settings.json"), ("Claude Code", ".claude/settings.local.json")];

fn hooks(project: &Path) -> String {
    let calls = |file: &str| {
        plain::text(&project.join(file), plain::SETTINGS).is_ok_and(|text| setup::hooks::is_in(&text))
    };
    let found: Vec<String> = HOOK_FILES
        .iter()
        .filter(|(_, file)| calls(file))
        .map(|(tool, file)| format!("{tool} calls it, by {file}"))
        .collect();
    if found.is_empty() {
        return "no coding agent of this project calls the hook; `quarterdeck init` sets it up".into();
    }
    found.join("\n")
}

fn terminal(var: impl Fn(&str) -> Option<String>, is_terminal: bool) -> String {
    if !is_terminal {
        return "this output is no terminal: `quarterdeck` prints the tree instead of the dashboard".into();
    }
    let colours = match ColorDepth::from_env(&var) {
        ColorDepth::None => "no colours",
        ColorDepth::Ansi16 => "16 colours",
        ColorDepth::Ansi256 => "256 colours",
        ColorDepth::True => "any colour",
    };
    let size = crossterm::terminal::size()
        .map_or_else(|_| "size not known".into(), |(columns, rows)| format!("{columns}×{rows}"));
    let name = var("TERM").filter(|name| !name.is_empty()).unwrap_or_else(|| "TERM is not set".into());
    let within = match (var("TMUX"), var("SSH_CONNECTION")) {
        (Some(_), _) => ", inside tmux: copying needs `set -g set-clipboard on`",
        (None, Some(_)) => ", over ssh: copying reaches your own clipboard where the terminal allows it",
        (None, None) => "",
    };
    format!("{name}, {size}, {colours}{within}")
}

fn prices(folder: &StateFolder, now: Stamp) -> String {
    let natives = Natives::of(folder);
    let (date, models) = natives.price_table();
    let age = Stamp::parse(&format!("{date}T00:00:00Z")).map(|then| (now.millis() - then.millis()) / DAY_MS);
    let age = match age {
        Some(days) if days > OLD_PRICES_DAYS => {
            format!(
                "{days} days old: look whether they still hold, and put newer ones into .quarterdeck/prices.toml"
            )
        }
        Some(1) => "1 day old".into(),
        Some(days) => format!("{} days old", days.max(0)),
        None => "of an unknown day".into(),
    };
    let mut said = vec![format!("of {date}, {age}; {models} models, every other has \"no price\"")];
    said.extend(natives.warnings);
    said.join("\n")
}

#[cfg(target_os = "linux")]
fn system() -> &'static str {
    "Linux: what an agent starts stays below its host, even what leaves its session (child subreaper)"
}

#[cfg(not(target_os = "linux"))]
fn system() -> &'static str {
    "this system has no child subreaper and no signal at a parent's death: what leaves its agent is found by a mark \
     in its environment, and a receipt says how many ended and that none was found, not that none is left"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_told_with_its_colours_and_with_what_stands_in_between() {
        let var = |name: &str| match name {
            "TERM" => Some("xterm-256color".to_owned()),
            "TMUX" => Some("/tmp/tmux,1,0".to_owned()),
            _ => None,
        };
        let told = terminal(var, true);
        assert!(told.starts_with("xterm-256color, ") && told.contains("256 colours, inside tmux"), "{told}");
        assert!(terminal(var, false).starts_with("this output is no terminal"));
    }

    #[test]
    fn hooks_are_found_in_the_files_that_the_tools_read() {
        let project = tempfile::tempdir().unwrap();
        assert!(hooks(project.path()).contains("quarterdeck init"));
        std::fs::create_dir(project.path().join(".claude")).unwrap();
        let settings = r#"{"hooks":{"PreToolUse":[{"hooks":[{"command":"quarterdeck hook PreToolUse"}]}]}}"#;
        std::fs::write(project.path().join(".claude/settings.json"), settings).unwrap();
        assert_eq!(hooks(project.path()), "Claude Code calls it, by .claude/settings.json");
    }

    #[test]
    fn old_prices_are_said_to_be_old() {
        let folder = StateFolder::at("/nowhere/.quarterdeck");
        let then = Stamp::parse("2026-11-17T12:00:00Z").unwrap();
        assert!(prices(&folder, then).contains("1 day old"), "{}", prices(&folder, then));
        let later = Stamp::parse("2027-11-17T12:00:00Z").unwrap();
        assert!(prices(&folder, later).contains("366 days old: look"), "{}", prices(&folder, later));
    }
}
