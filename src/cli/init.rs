//! `quarterdeck init`: sets the hook, the commands, the agents and the settings up in a project, or takes them out.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::{Outcome, Place, print, working_folder};
use crate::config::{files, find_program};
use crate::setup::shown::shown;
use crate::setup::{self, Memory, Plan, Wish, remember};
use crate::store::disk::RealDisk;
use crate::store::folder::StateFolder;
use crate::store::plain;
use crate::store::views::replace;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Init {
    /// Do not ask: do it.
    #[arg(long, short)]
    yes: bool,
    /// Only show what would be written.
    #[arg(long)]
    dry_run: bool,
    /// Put the three agents (coordinator, investigator, executor) where Claude Code and `OpenCode` find them.
    #[arg(long)]
    deploy_agents: bool,
    /// Leave Codex alone; its hooks hold for every project of yours.
    #[arg(long)]
    no_codex: bool,
    /// Take out exactly what was put in.
    #[arg(long, conflicts_with = "deploy_agents")]
    uninstall: bool,
}

impl Init {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let folder = StateFolder::find_or_place(&working_folder()?, place.dir.as_deref());
        let project = folder.project().to_owned();
        let wish = self.wish(&project);
        let read = |path: &Path| {
            plain::text_if_there(&project.join(path), plain::SETTINGS)
                .map_err(|error| format!("{} cannot be read: {error}.\nNothing was changed.", path.display()))
        };
        let mut memory = remembered(&folder)?;
        let plan = if self.uninstall {
            setup::uninstall(&memory, &wish, read)?
        } else {
            setup::install(&wish, read)?
        };
        for note in &plan.notes {
            print(&format!("note     {note}\n"))?;
        }
        if plan.changes.is_empty() {
            let what =
                if self.uninstall { "Nothing of ours is here." } else { "Everything is set up already." };
            print(&format!("{what}\n"))?;
            return Ok(ExitCode::SUCCESS);
        }
        stay_within(&project, &plan)?;
        for change in &plan.changes {
            print(&shown(change))?;
        }
        if self.dry_run {
            print("Nothing was written.\n")?;
            return Ok(ExitCode::SUCCESS);
        }
        if !self.yes && !agreed("Write this?")? {
            print("Nothing was written.\n")?;
            return Ok(ExitCode::FAILURE);
        }
        self.carry_out(&folder, &plan, &mut memory)?;
        self.say_what_now(&wish)?;
        Ok(ExitCode::SUCCESS)
    }

    fn wish(&self, project: &Path) -> Wish {
        let opencode = || {
            // Both are read; who has the older name keeps it.
            let older = PathBuf::from(".opencode/agent");
            if project.join(&older).is_dir() { older } else { PathBuf::from(".opencode/agents") }
        };
        Wish {
            program: program(),
            claude: true,
            codex: if self.no_codex { None } else { codex() },
            commands: true,
            settings: true,
            claude_agents: self.deploy_agents,
            opencode_agents: self.deploy_agents.then(opencode),
        }
    }

    fn carry_out(&self, folder: &StateFolder, plan: &Plan, memory: &mut Memory) -> Result<(), String> {
        let project = folder.project();
        let failed = |path: &Path, error: &dyn std::fmt::Display| {
            format!(
                "{} cannot be written: {error}.\nWhat was written before it stays; run this again.",
                path.display()
            )
        };
        // What is about to be changed is noted first: a half-done set-up can be taken out too.
        folder.create(&RealDisk).map_err(|error| error.to_string())?;
        if !self.uninstall {
            memory.add(&plan.changes);
            keep(folder, memory).map_err(|error| error.to_string())?;
        }
        for change in &plan.changes {
            let path = project.join(&change.path);
            let done = match &change.after {
                Some(text) => files::replace(&path, text),
                None => std::fs::remove_file(&path),
            };
            done.map_err(|error| failed(&path, &error))?;
            if change.after.is_none() {
                tidy(project, &path);
            }
        }
        if self.uninstall {
            *memory = Memory::default();
            keep(folder, memory).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn say_what_now(&self, wish: &Wish) -> std::io::Result<()> {
        if self.uninstall {
            return print("Taken out.\n");
        }
        print(
            "Done. What was there before is kept in the state folder; `quarterdeck init --uninstall` puts it back.\n",
        )?;
        if wish.codex.is_some() {
            print(
                "Codex skips hooks that it was not told to trust: it asks when you start it in a terminal.\n",
            )?;
        }
        Ok(())
    }
}

/// Refuses, before anything is written, what a link would lead out of the project.
fn stay_within(project: &Path, plan: &Plan) -> Result<(), String> {
    // What is named by its whole path is meant to be elsewhere.
    for path in plan.changes.iter().map(|change| &change.path).filter(|path| path.is_relative()) {
        files::stays_within(project, &project.join(path))
            .map_err(|error| format!("{} is not written: {error}.\nNothing was changed.", path.display()))?;
    }
    Ok(())
}

/// Returns how the hook is to be called: by name, where a shell finds it.
fn program() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    if find_program("quarterdeck", &path).is_some() {
        return "quarterdeck".into();
    }
    let own = std::env::current_exe().map_or_else(|_| "quarterdeck".into(), |own| own.display().to_string());
    if own.contains(' ') { format!("'{own}'") } else { own }
}

/// Returns where Codex keeps its hooks, if it is used here at all.
pub(super) fn codex() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = set("CODEX_HOME").or_else(|| set("HOME").map(|home| home.join(".codex")))?;
    home.is_dir().then(|| home.join("hooks.json"))
}

fn remembered(folder: &StateFolder) -> Result<Memory, String> {
    let path = folder.root.join(remember::FILE);
    let Ok(text) = plain::text(&path, plain::TASKS) else { return Ok(Memory::default()) };
    serde_json::from_str(&text).map_err(|error| {
        format!(
            "{} cannot be read: {error}.\nRemove it; hooks are then still found by their looks.",
            path.display()
        )
    })
}

fn keep(folder: &StateFolder, memory: &Memory) -> Result<(), Box<dyn std::error::Error>> {
    let path = folder.root.join(remember::FILE);
    Ok(replace(&RealDisk, &path, &serde_json::to_vec_pretty(memory)?)?)
}

/// Removes the folders that are empty without a file, up to the project.
fn tidy(project: &Path, file: &Path) {
    let above =
        file.ancestors().skip(1).take_while(|folder| *folder != project && folder.starts_with(project));
    for folder in above {
        // One that is not empty cannot be removed, and is not meant.
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// Asks the person; where there is none, the answer is no.
pub(super) fn agreed(question: &str) -> std::io::Result<bool> {
    if !std::io::stdin().is_terminal() {
        print("There is nobody to ask here: say --yes.\n")?;
        return Ok(false);
    }
    print(&format!("{question} [y/N] "))?;
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
