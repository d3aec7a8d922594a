//! The files that are ours alone: agents, commands, settings.

use std::path::{Path, PathBuf};

use super::Wish;
use crate::config::example;

/// The three agents: name, front matter for Claude Code, front matter for `OpenCode`, and what they are told.
const AGENTS: [(&str, &str, &str, &str); 3] = [
    (
        "coordinator",
        "tools: Task, Agent, Read, TodoWrite, AskUserQuestion\nmodel: opus",
        "mode: primary\npermission:\n  edit: deny\n  bash: deny\n  webfetch: deny",
        include_str!("files/coordinator.md"),
    ),
    (
        "investigator",
        "tools: Read, Grep, Glob, WebFetch, WebSearch\nmodel: sonnet",
        "mode: subagent\npermission:\n  edit: deny\n  bash: deny\n  task: deny",
        include_str!("files/investigator.md"),
    ),
    (
        "executor",
        "tools: Read, Edit, Write, Bash, Grep, Glob, TodoWrite\nmodel: sonnet",
        "mode: subagent\npermission:\n  webfetch: deny\n  task: deny",
        include_str!("files/executor.md"),
    ),
];

const COMMANDS: [(&str, &str); 3] = [
    ("delegate", include_str!("files/delegate.md")),
    ("direct", include_str!("files/direct.md")),
    ("delegation", include_str!("files/delegation.md")),
];

/// Returns every file that is wanted, with what is in it.
pub fn wanted(wish: &Wish) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    if wish.settings {
        files.push((PathBuf::from("quarterdeck.toml"), example::text()));
    }
    if wish.commands {
        files.extend(COMMANDS.iter().map(|(name, text)| {
            let text = text.replace("{program}", &wish.program);
            (Path::new(".claude/commands").join(format!("{name}.md")), text)
        }));
    }
    for (name, claude, opencode, text) in &AGENTS {
        let (says, told) = text.split_once("\n\n").unwrap_or(("", text));
        let file = format!("{name}.md");
        if wish.claude_agents {
            let front = format!("---\nname: {name}\ndescription: {says}\n{claude}\n---\n\n{told}");
            files.push((Path::new(".claude/agents").join(&file), front));
        }
        if let Some(folder) = &wish.opencode_agents {
            files.push((folder.join(&file), format!("---\ndescription: {says}\n{opencode}\n---\n\n{told}")));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_one_line_a_key_with_nothing_that_yaml_would_read_otherwise() {
        let wish = Wish {
            program: "quarterdeck".into(),
            commands: true,
            claude_agents: true,
            opencode_agents: Some("agents".into()),
            ..Wish::default()
        };
        let files = wanted(&wish);
        assert_eq!(files.len(), 9);
        for (path, text) in files {
            let (_, rest) = text.split_once("---\n").unwrap();
            let (front, told) = rest.split_once("\n---\n\n").unwrap();
            assert!(front.contains("description: ") && told.len() > 50, "{}", path.display());
            for line in front.lines().filter(|line| !line.starts_with(' ')) {
                let (_, value) = line.split_once(':').unwrap();
                let is_quoted = value.trim().starts_with('"') || line.starts_with("allowed-tools");
                assert!(is_quoted || !value.contains(": "), "{}: {line}", path.display());
            }
            assert!(!text.contains("{program}"), "{}", path.display());
        }
    }
}
