//! Who may use which tools: one table from kinds of tools to what each coding agent calls them, and one from agents to
//! the kinds that they may use, which a project can change.
//!
//! A rule is a list of words: `read` allows, `!bash` denies, `task:status,list` allows only these actions, and
//! `write@.idumb/` only these paths. A kind that is not in the list is allowed: nothing is said of it.

use std::collections::BTreeMap;

use super::input::{Input, is_delegation};
use crate::decide::models::bare;
use crate::decide::rules::role;

/// What each kind of tool is called, in lower case, by Claude Code, Codex, `OpenCode`, Gemini and idumb.
const KINDS: &[(&str, &[&str])] = &[
    (
        "read",
        &[
            "read",
            "notebookread",
            "grep",
            "glob",
            "read_file",
            "read_many_files",
            "search_file_content",
            "idumb_read",
        ],
    ),
    (
        "write",
        &[
            "write",
            "edit",
            "multiedit",
            "notebookedit",
            "patch",
            "apply_patch",
            "write_file",
            "replace",
            "idumb_write",
        ],
    ),
    (
        "bash",
        &[
            "bash",
            "bashoutput",
            "killshell",
            "shell",
            "local_shell",
            "exec_command",
            "run_shell_command",
            "idumb_bash",
        ],
    ),
    ("scan", &["ls", "list", "list_directory", "idumb_scan"]),
    ("codemap", &["idumb_codemap", "lsp"]),
    (
        "webfetch",
        &["webfetch", "websearch", "web_fetch", "web_search", "google_web_search", "idumb_webfetch"],
    ),
    (
        "task",
        &[
            "todowrite",
            "todoread",
            "taskcreate",
            "taskupdate",
            "tasklist",
            "taskget",
            "update_plan",
            "write_todos",
            "idumb_task",
            "govern_task",
        ],
    ),
    ("delegate", &["task", "agent", "spawn_agent", "govern_delegate", "delegate_run"]),
    ("status", &["idumb_status", "delegation_status"]),
];

/// What the three agents of the protocol may use.
const BUILT_IN: &[(&str, &[&str])] = &[
    ("coordinator", &["task", "delegate", "status", "!write", "!scan", "!bash"]),
    (
        "investigator",
        &["read", "scan", "codemap", "webfetch", "task:status,list", "write@.idumb/", "!bash", "!delegate"],
    ),
    (
        "executor",
        &["write", "bash", "read", "task:complete,status", "!scan", "!codemap", "!webfetch", "!delegate"],
    ),
];

/// Returns the kind of a tool; `None` of one that is in no table.
pub(super) fn kind(tool: &str) -> Option<&'static str> {
    let name = tool.rsplit("__").next().unwrap_or(tool).to_ascii_lowercase();
    if is_delegation(tool) {
        return Some("delegate");
    }
    KINDS.iter().find(|(_, tools)| tools.contains(&name.as_str())).map(|(kind, _)| *kind)
}

/// What the table says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Says {
    /// No rule names the agent.
    NoRule,
    Allowed,
    /// Not allowed: why, and what could be used instead.
    Denied {
        why: String,
        instead: String,
    },
}

/// Returns what the table says of an agent's call; `own` is what the project changed of it.
pub(super) fn ask(own: &BTreeMap<String, Vec<String>>, agent: &str, input: &Input) -> Says {
    let Some(rule) = rule_of(own, agent) else { return Says::NoRule };
    let Some(tool) = input.tool.as_deref() else { return Says::Allowed };
    let Some(kind) = kind(tool) else { return Says::Allowed };
    let instead = || {
        let may: Vec<&str> = rule.iter().map(String::as_str).filter(|word| !word.starts_with('!')).collect();
        format!("{} may use: {}.", bare(agent), may.join(", "))
    };
    let of_kind = |word: &&String| word.trim_start_matches('!').split([':', '@']).next() == Some(kind);
    let Some(word) = rule.iter().find(of_kind) else { return Says::Allowed };
    if word.starts_with('!') {
        let why = format!("{} has no {kind} tools.", bare(agent));
        return Says::Denied { why, instead: instead() };
    }
    if let Some((_, actions)) = word.split_once(':')
        && let Some(action) = action(input)
        && !actions.split(',').any(|may| may.trim() == action)
    {
        let why = format!("{} may {actions} with {kind} tools, and not {action}.", bare(agent));
        return Says::Denied { why, instead: instead() };
    }
    if let Some((_, place)) = word.split_once('@')
        && let Some(path) = path(input)
        && !is_within(&path, place)
    {
        let why = format!("{} may use {kind} tools only in {place}.", bare(agent));
        return Says::Denied { why, instead: instead() };
    }
    Says::Allowed
}

fn rule_of(own: &BTreeMap<String, Vec<String>>, agent: &str) -> Option<Vec<String>> {
    let name = role(bare(agent));
    let of_project =
        own.get(agent).or_else(|| own.iter().find(|(own, _)| role(own) == name).map(|(_, rule)| rule));
    let built_in = || {
        let found = BUILT_IN.iter().find(|(role, _)| role.eq_ignore_ascii_case(name));
        found.map(|(_, rule)| rule.iter().map(|word| (*word).to_owned()).collect())
    };
    of_project.cloned().or_else(built_in)
}

/// Returns whether a list of tools, as a record or a definition has it, names a tool: by its own name, by its kind, or
/// with what may be said to it in brackets.
pub(super) fn lists(allowed: &[String], tool: &str) -> bool {
    let kind = kind(tool);
    allowed.iter().any(|word| {
        let word = word.split('(').next().unwrap_or_default().trim();
        let own = word.strip_prefix("idumb_").unwrap_or(word);
        word == "*"
            || word.eq_ignore_ascii_case(tool)
            || kind.is_some_and(|kind| own.eq_ignore_ascii_case(kind))
    })
}

/// Returns the action that a call asks a tool for, if it names one.
pub(super) fn action(input: &Input) -> Option<String> {
    input.fields.as_ref()?.text(&["action"])
}

/// Returns the file that a call would change or read.
pub(super) fn path(input: &Input) -> Option<String> {
    input.fields.as_ref()?.text(&["file_path", "filePath", "path", "notebook_path"])
}

fn is_within(path: &str, place: &str) -> bool {
    path.starts_with(place) || path.contains(&format!("/{place}"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn call(tool: &str, fields: &str) -> Input {
        Input { tool: Some(tool.into()), fields: serde_json::from_str(fields).ok(), ..Input::default() }
    }

    /// The permission matrix of the protocol, row by row; with and without the family's name.
    #[rstest]
    #[case("coordinator", "TodoWrite", "{}", true)]
    #[case("coordinator", "Agent", "{}", true)]
    #[case("coordinator", "Write", "{}", false)]
    #[case("coordinator", "idumb_scan", "{}", false)]
    #[case("coordinator", "Bash", "{}", false)]
    #[case("coordinator", "idumb_status", "{}", true)]
    #[case("investigator", "Read", "{}", true)]
    #[case("investigator", "idumb_scan", "{}", true)]
    #[case("investigator", "idumb_codemap", "{}", true)]
    #[case("investigator", "WebFetch", "{}", true)]
    #[case("investigator", "Edit", r#"{"file_path":"/p/src/a.rs"}"#, false)]
    #[case("investigator", "idumb_write", r#"{"path":".idumb/brain/x.json"}"#, true)]
    #[case("investigator", "run_shell_command", "{}", false)]
    #[case("investigator", "govern_task", r#"{"action":"status"}"#, true)]
    #[case("investigator", "govern_task", r#"{"action":"complete"}"#, false)]
    #[case("investigator", "mcp__x__govern_delegate", "{}", false)]
    #[case("executor", "apply_patch", "{}", true)]
    #[case("executor", "exec_command", "{}", true)]
    #[case("executor", "read_file", "{}", true)]
    #[case("executor", "idumb_task", r#"{"action":"complete"}"#, true)]
    #[case("executor", "idumb_task", r#"{"action":"start"}"#, false)]
    #[case("executor", "list_directory", "{}", false)]
    #[case("executor", "idumb_codemap", "{}", false)]
    #[case("executor", "google_web_search", "{}", false)]
    #[case("executor", "Task", "{}", false)]
    #[case("executor", "SomethingNew", "{}", true)]
    fn the_matrix(#[case] agent: &str, #[case] tool: &str, #[case] fields: &str, #[case] may: bool) {
        for agent in [agent.to_owned(), format!("idumb-{agent}"), format!("plugin:idumb-{agent}")] {
            let says = ask(&BTreeMap::new(), &agent, &call(tool, fields));
            assert_eq!(says == Says::Allowed, may, "{agent} {tool}: {says:?}");
        }
    }

    #[test]
    fn an_agent_that_no_rule_names_is_said_to_have_none() {
        assert_eq!(ask(&BTreeMap::new(), "general-purpose", &call("Bash", "{}")), Says::NoRule);
        assert!(ask(&BTreeMap::new(), "idumb-supreme-coordinator", &call("Bash", "{}")) != Says::NoRule);
    }

    #[test]
    fn a_project_changes_the_table() {
        let own =
            [("executor".to_owned(), vec!["!write".to_owned()]), ("docs".to_owned(), vec!["!bash".into()])]
                .into();
        assert!(matches!(ask(&own, "idumb-executor", &call("Write", "{}")), Says::Denied { .. }));
        assert_eq!(ask(&own, "executor", &call("WebFetch", "{}")), Says::Allowed);
        let Says::Denied { why, .. } = ask(&own, "docs", &call("Bash", "{}")) else { panic!("denied") };
        assert_eq!(why, "docs has no bash tools.");
    }

    #[test]
    fn a_list_of_tools_names_them_by_name_by_kind_or_with_brackets() {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert!(lists(&list(&["Read", "Bash(git:*)"]), "bash"));
        assert!(lists(&list(&["idumb_write"]), "Edit") && lists(&list(&["*"]), "X"));
        assert!(!lists(&list(&["Read"]), "Bash") && !lists(&[], "Read"));
    }
}
