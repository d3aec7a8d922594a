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

/// What every page says of how a command leaves.
const EXIT_CODES: &str = "\
.SH \"EXIT STATUS\"
.TP
0
Done, or confirmed
.TP
1
An error, or something is wrong
.TP
2
The command line cannot be read; of a hook, the call is blocked
.TP
3
Refused
.TP
4
Not confirmed in time; it may still happen
";

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
    page.extend_from_slice(EXIT_CODES.as_bytes());
    pages.push((name, page));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use clap::Parser;

    use super::*;

    #[test]
    fn every_argument_says_what_it_is() {
        fn look(command: &Command, silent: &mut Vec<String>) {
            for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
                look(inner, silent);
            }
            let shown = command.get_arguments().filter(|one| !one.is_hide_set() && one.get_help().is_none());
            silent.extend(shown.map(|one| format!("{} {}", command.get_name(), one.get_id())));
        }
        let mut silent = Vec::new();
        look(&Cli::command(), &mut silent);
        assert_eq!(silent, Vec::<String>::new());
    }

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

    /// The code of a page, line by line: what is fenced, and what is indented.
    fn code(page: &str) -> Vec<&str> {
        let mut is_fenced = false;
        let is_code = |line: &&str| {
            is_fenced ^= line.trim_start().starts_with("```");
            is_fenced || line.starts_with("    ")
        };
        page.lines().filter(is_code).map(str::trim).collect()
    }

    /// The words of a command line, as a shell takes them, up to a comment or to what it is joined with.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for c in line.chars() {
            match (quote, c) {
                (Some(open), _) if open == c => quote = None,
                (None, '"' | '\'') => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (None, '#') if word.is_none() => break,
                (None, '|' | '>' | '<' | ';' | '&') => break,
                (None, ' ') => words.extend(word.take()),
                (Some(_) | None, _) => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        words
    }

    fn documents() -> Vec<(PathBuf, String)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
        let pages = docs.filter(|path| path.extension().is_some_and(|end| end == "md"));
        let all = pages.chain([root.join("README.md"), root.join("CONTRIBUTING.md")]);
        all.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
    }

    #[test]
    fn every_command_line_of_the_documents_is_understood() {
        let mut count = 0;
        for (path, page) in documents() {
            for line in code(&page) {
                let line = line.strip_prefix("$ ").unwrap_or(line);
                if !line.starts_with("quarterdeck ") && line != "quarterdeck" {
                    continue;
                }
                let arguments = words(line).into_iter().map(std::ffi::OsString::from);
                let read = super::super::slash::arguments(arguments)
                    .and_then(|all| Cli::try_parse_from(all).map_err(|error| error.to_string()));
                assert!(read.is_ok(), "{}: {line}\n{}", path.display(), read.err().unwrap_or_default());
                count += 1;
            }
        }
        assert!(count > 15, "{count}");
    }

    #[test]
    fn the_page_of_commands_names_every_one_that_is_shown() {
        let page =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/commands.md")).unwrap();
        let quoted: Vec<&str> = page.split('`').skip(1).step_by(2).collect();
        let words = quoted.iter().flat_map(|text| text.split([' ', '|', '\\', '…']));
        let named: std::collections::BTreeSet<&str> = words.collect();
        for command in Cli::command().get_subcommands().filter(|inner| !inner.is_hide_set()) {
            assert!(named.contains(command.get_name()), "docs/commands.md lacks {}", command.get_name());
        }
    }

    #[test]
    fn every_command_that_the_documents_name_is_one() {
        let whole = Cli::command();
        let known: Vec<&str> = whole.get_subcommands().map(Command::get_name).collect();
        for (path, page) in documents() {
            for quoted in page.split('`').skip(1).step_by(2) {
                let Some(rest) = quoted.strip_prefix("quarterdeck ") else { continue };
                let Some(first) = rest.split_whitespace().next() else { continue };
                for name in first.split(['|', '\\']).filter(|name| !name.is_empty()) {
                    let is_word = name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
                    let is_known = !is_word || name.starts_with('-') || known.contains(&name);
                    assert!(is_known, "{}: there is no command {name} ({quoted})", path.display());
                }
            }
        }
    }
}
