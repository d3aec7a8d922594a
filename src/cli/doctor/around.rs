//! What is around a state folder: the engine, the agents, the hooks, the sources, the terminal, the prices, the system. Each is
//! said in a line of plain words; none of it is wrong, but it explains what can be seen and done here.

use std::io::IsTerminal;
use std::path::Path;

use super::super::agents::{self, Listed};
use super::super::config::places;
use super::super::hanging;
use super::super::init::codex as codex_hooks;
use super::super::natives::Natives;
use super::sources::Sources;
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
pub(super) fn lines(folder: &StateFolder, sources: Option<&Sources>, now: Stamp, wide: usize) -> Vec<String> {
    let told = [
        ("engine", engine(lock::holder(&RealDisk, folder).as_ref())),
        ("agents", agents(folder)),
        ("hooks", hooks(folder.project(), codex_hooks().as_deref())),
        ("sources", sources.map_or_else(|| "not looked at".into(), Sources::line)),
        ("terminal", terminal(|name| std::env::var(name).ok(), std::io::stdout().is_terminal())),
        ("prices", prices(folder, now)),
        ("system", system().into()),
    ];
    told.into_iter().map(|(what, text)| line(what, &text, wide)).collect()
}

fn line(what: &str, text: &str, wide: usize) -> String {
    let lines: Vec<_> = text.lines().map(text::line).collect();
    hanging(&format!("{what:<11} "), lines.iter().map(|line| &**line), wide)
}

fn engine(holder: Option<&Holder>) -> String {
    match holder {
        Some(Holder { pid, epoch, .. }) => format!("runs: pid {pid}, epoch {epoch}"),
        None => "none runs; the first command that needs one starts it".into(),
    }
}

fn agents(folder: &StateFolder) -> String {
    let Ok(config) = Config::of(&places(folder)) else {
        return "not known, because the settings cannot be read".into();
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

/// The files of a project in which coding agents are told to call the hook.
const HOOK_FILES: [(&str, &str); 2] =
    [("Claude Code", ".claude/settings.json"), ("Claude Code", ".claude/settings.local.json")];

fn hooks(project: &Path, codex: Option<&Path>) -> String {
    let in_project = HOOK_FILES.map(|(tool, file)| (tool, project.join(file), file.to_owned()));
    let of_codex = codex.map(|file| ("Codex", file.to_owned(), file.display().to_string()));
    let calls = |file: &Path| plain::text(file, plain::SETTINGS).is_ok_and(|text| setup::hooks::is_in(&text));
    let found: Vec<String> = in_project
        .into_iter()
        .chain(of_codex)
        .filter(|(_, file, _)| calls(file))
        .map(|(tool, _, shown)| format!("{tool} calls it, by {shown}"))
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
        assert!(hooks(project.path(), None).contains("quarterdeck init"));
        std::fs::create_dir(project.path().join(".claude")).unwrap();
        let settings = r#"{"hooks":{"PreToolUse":[{"hooks":[{"command":"quarterdeck hook PreToolUse"}]}]}}"#;
        std::fs::write(project.path().join(".claude/settings.json"), settings).unwrap();
        assert_eq!(hooks(project.path(), None), "Claude Code calls it, by .claude/settings.json");
        let codex = project.path().join("hooks.json");
        assert!(!hooks(project.path(), Some(&codex)).contains("Codex"), "the file is not there");
        std::fs::write(&codex, settings).unwrap();
        let told = hooks(project.path(), Some(&codex));
        assert_eq!(told.lines().last().unwrap(), format!("Codex calls it, by {}", codex.display()));
    }

    #[test]
    fn a_line_breaks_between_words_and_goes_on_below_its_beginning() {
        let told = line("agents", "usable: claude (2.1.4 (Claude Code)), codex (codex-cli 0.142.5)", 40);
        assert_eq!(
            told,
            "agents      usable: claude (2.1.4\n            (Claude Code)), codex\n            (codex-cli 0.142.5)\n"
        );
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
