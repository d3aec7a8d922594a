//! `quarterdeck completions` and `quarterdeck man`: what shells and manuals know of the command line, made from it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use super::{Cli, Outcome, print};

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell that is to complete.
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Outcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "quarterdeck", &mut script);
        print(&String::from_utf8_lossy(&script))?;
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Debug, Args)]
pub(super) struct Manual {
    /// The folder that the pages are written to, one for each command; it is made where it is missing.
    folder: PathBuf,
}

impl Manual {
    pub(super) fn run(self) -> Outcome {
        std::fs::create_dir_all(&self.folder).map_err(|error| {
            format!("{} cannot be made: {error}.\nName another folder.", self.folder.display())
        })?;
        for (name, page) in pages()? {
            let file = self.folder.join(format!("{name}.1"));
            std::fs::write(&file, page)
                .map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns every page of the manual by its name, those of commands inside commands too.
fn pages() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut whole = Cli::command().disable_help_subcommand(true);
    whole.build();
    let mut pages = Vec::new();
    add(whole.display_name("quarterdeck"), &mut pages)?;
    Ok(pages)
}

fn add(command: Command, pages: &mut Vec<(String, Vec<u8>)>) -> std::io::Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        add(inner.clone(), pages)?;
    }
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let mut page = Vec::new();
    // Without a date: a page changes when the command line does, and at no other time.
    let source = concat!("quarterdeck ", env!("CARGO_PKG_VERSION"));
    Man::new(command).date("").source(source).manual("Quarterdeck").render(&mut page)?;
    pages.push((name, page));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    fn checked_in() -> BTreeMap<String, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/man");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let named = |file: PathBuf| {
            (file.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(file).unwrap())
        };
        files.map(named).collect()
    }

    #[test]
    fn the_manual_is_current() {
        let made: BTreeMap<String, String> = pages()
            .unwrap()
            .into_iter()
            .map(|(name, page)| (name, String::from_utf8(page).unwrap()))
            .collect();
        let there = checked_in();
        for (name, page) in &made {
            assert_eq!(there.get(name), Some(page), "docs/man/{name}.1 is old: cargo run -- man docs/man");
        }
        let gone: Vec<_> = there.keys().filter(|name| !made.contains_key(*name)).collect();
        assert!(gone.is_empty(), "no such commands: {gone:?}");
    }

    #[test]
    fn every_shell_completes_every_command_that_is_shown() {
        let whole = Cli::command();
        let shown: Vec<&str> =
            whole.get_subcommands().filter(|inner| !inner.is_hide_set()).map(Command::get_name).collect();
        assert!(shown.len() > 20, "{shown:?}");
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell, Shell::Elvish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "quarterdeck", &mut script);
            let script = String::from_utf8(script).unwrap();
            for name in &shown {
                assert!(script.contains(name), "{shell} does not know {name}");
            }
        }
    }
}
