//! The example file and the page of the documents, made from the table of settings. Pure.

use std::fmt::Write;

use super::keys::{KEYS, Key, Kind};
use super::name::kebab;

const HEAD: &str = "\
# Every setting of Quarterdeck with its built-in value. A line that is commented out changes nothing.
# In a project this file is `quarterdeck.toml`; yours for all projects is `quarterdeck.toml` in
# $XDG_CONFIG_HOME/quarterdeck or ~/.config/quarterdeck. The project's counts more.
# `quarterdeck config` shows what is in force, and which file says so.
";

const AGENTS: &str = "
# The agents, each by a name of yours.
# [agents.claude]
# kind = \"claude\"
# model = \"opus\"
# [agents.mine]
# kind = \"command\"
# command = [\"my-agent\", \"--task\", \"{prompt}\"]

# Commands that are run when something happens, with the event as JSON on standard input: a line for the
# shell, or a list of words. There are on-subtask-start, on-subtask-complete, on-subtask-failed, on-progress,
# on-complete, on-failed and on-needs-me; each may take so many milliseconds.
# [callbacks]
# on-needs-me = [\"notify-send\", \"Quarterdeck needs you\"]
# timeout = 10000
";

/// Returns the example file: every setting, commented out, with its built-in value.
pub fn text() -> String {
    let mut out = HEAD.to_owned();
    let mut open = "";
    for key in KEYS {
        let (table, own) = key.place();
        if table != open {
            let _ = write!(out, "\n[{table}]\n");
            open = table;
        } else if open.is_empty() {
            out.push('\n');
        }
        let _ = writeln!(out, "# {}", key.says);
        let _ = writeln!(out, "# {}", sentence(key));
        let _ = writeln!(out, "# {} = {}", kebab(own), shown(key));
    }
    out.push_str(AGENTS);
    out
}

/// What it may be, and what its built-in value does.
fn sentence(key: &Key) -> String {
    let range = key.range();
    let mut letters = range.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().collect::<String>()).unwrap_or_default();
    let warns = if key.only_warns { " Unless you set it, it only warns." } else { "" };
    format!("{first}{}.{warns}", letters.as_str())
}

/// The built-in value as TOML has it.
fn shown(key: &Key) -> String {
    match key.kind {
        Kind::Name => "\"claude\"".into(),
        Kind::Money => "2.50".into(),
        Kind::Tokens => "1000000".into(),
        Kind::Words => key.default.replace(',', ", "),
        Kind::Word(_) | Kind::Whole { .. } | Kind::Switch | Kind::Hints | Kind::Pairs => {
            key.default.to_owned()
        }
    }
}

/// Returns the table of settings for the documents.
pub fn table() -> String {
    let mut out = "| setting | built-in | what it may be | what it does |\n|---|---|---|---|\n".to_owned();
    for key in KEYS {
        let default = match key.default {
            "null" => "none".to_owned(),
            default => format!("`{}`", default.replace(',', ", ")),
        };
        let mark = if key.only_warns { " (only warns)" } else { "" };
        let _ = writeln!(out, "| `{}` | {default}{mark} | {} | {} |", key.name, key.range(), key.says);
    }
    out
}
