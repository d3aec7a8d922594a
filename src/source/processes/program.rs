//! Which coding agent a command line is, and which session it names. Pure.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How much of a command line is worth showing.
const SHOWN: usize = 200;

/// The tools, and what in a path betrays them where they are started by an interpreter.
const TOOLS: [(&str, &str); 4] = [
    ("claude", "/@anthropic-ai/claude-code/"),
    ("codex", "/@openai/codex"),
    ("opencode", "/opencode-ai/"),
    ("gemini", "/@google/gemini-cli/"),
];

/// Programs whose first argument is the program that is meant.
const INTERPRETERS: [&str; 5] = ["node", "bun", "deno", "python", "python3"];

/// A coding agent's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    pub tool: &'static str,
    /// What was started, as a person would type it.
    pub command: Box<str>,
    /// The session that the command line names, if it names one.
    pub session: Option<Arc<str>>,
}

impl Program {
    /// Recognises a coding agent by its command line.
    pub fn of(arguments: &[String]) -> Option<Self> {
        let (first, rest) = arguments.split_first()?;
        let is_interpreter = INTERPRETERS.contains(&stem(first));
        let (program, rest) = if is_interpreter {
            let at = rest.iter().position(|word| !word.starts_with('-'))?;
            (rest.get(at)?, rest.get(at + 1..)?)
        } else {
            (first, rest)
        };
        let by_name = TOOLS.iter().find(|(tool, _)| stem(program) == *tool);
        let by_path = || TOOLS.iter().find(|(_, path)| is_interpreter && program.contains(path));
        let (tool, _) = by_name.or_else(by_path)?;
        if is_service(rest) {
            return None;
        }
        let words = std::iter::once(*tool).chain(rest.iter().map(String::as_str));
        Some(Self { tool, command: shown(words), session: session(rest) })
    }

    /// Takes a command line for a tool's that is known to be its: it is shown as it was started.
    pub fn named(tool: &'static str, arguments: &[String]) -> Option<Self> {
        let (_, rest) = arguments.split_first()?;
        Some(Self { tool, command: shown(arguments.iter().map(String::as_str)), session: session(rest) })
    }

    /// Returns what to call it while nobody knows what it works on.
    pub fn title(&self, folder: Option<&Path>) -> String {
        match folder.and_then(Path::file_name) {
            Some(folder) => format!("{} in {}", self.tool, folder.to_string_lossy()),
            None => self.tool.to_owned(),
        }
    }

    /// Returns the session that the open files of this program tell, if they do.
    pub fn session_of_files(&self, files: &[PathBuf]) -> Option<Arc<str>> {
        if self.tool != "codex" {
            return None;
        }
        // Its helpers' rollouts are open too, and are younger: the name begins with the time.
        let rollouts = files.iter().filter_map(|file| file.file_name()?.to_str());
        let oldest = rollouts
            .filter(|name| name.starts_with("rollout-"))
            .filter(|name| rollout_id(name).is_some())
            .min()?;
        rollout_id(oldest).map(Arc::from)
    }
}

/// Returns a command line as far as it is worth showing.
fn shown<'a>(words: impl Iterator<Item = &'a str>) -> Box<str> {
    let mut command = words.collect::<Vec<_>>().join(" ");
    command.truncate(command.floor_char_boundary(SHOWN));
    command.into()
}

/// Returns the thread of a rollout's name, `rollout-<time>-<uuid>.jsonl`.
fn rollout_id(name: &str) -> Option<&str> {
    const UUID: usize = 36;
    let stem = name.strip_suffix(".jsonl")?;
    let id = stem.get(stem.len().checked_sub(UUID)?..)?;
    is_id(id).then_some(id)
}

/// Returns whether this is a session host of ours.
pub(super) fn is_our_host(arguments: &[String]) -> bool {
    let mut words = arguments.iter();
    let is_ours = words.next().is_some_and(|program| stem(program) == "quarterdeck");
    is_ours && words.any(|word| word == "session-host")
}

/// Returns the name of a program without its folder and its kind.
fn stem(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    let ends = [".exe", ".js", ".mjs", ".cjs"];
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// Returns whether it serves others instead of working on a session: what it serves is told by them.
fn is_service(words: &[String]) -> bool {
    const SERVICES: [&str; 7] = ["mcp", "mcp-server", "app-server", "serve", "acp", "--acp", "--ripgrep"];
    words.first().is_some_and(|word| SERVICES.contains(&word.as_str()))
}

/// Returns the session that a command line names, where it goes on under the same id.
fn session(words: &[String]) -> Option<Arc<str>> {
    const NAMES: [&str; 6] = ["--session-id", "--resume", "-r", "resume", "-s", "--session"];
    if words.iter().any(|word| matches!(word.as_str(), "--fork-session" | "--fork" | "fork")) {
        return None;
    }
    let pairs = words.iter().zip(words.iter().skip(1));
    let apart = pairs.filter(|(name, _)| NAMES.contains(&name.as_str())).map(|(_, id)| id.as_str());
    let joined = words.iter().filter_map(|word| {
        let (name, id) = word.split_once('=')?;
        NAMES.contains(&name).then_some(id)
    });
    apart.chain(joined).find(|id| is_id(id)).map(Arc::from)
}

/// Returns whether a word is a session's id: a UUID, or one of OpenCode's.
fn is_id(word: &str) -> bool {
    let is_uuid = word.len() == 36
        && word.bytes().enumerate().all(|(at, byte)| {
            if matches!(at, 8 | 13 | 18 | 23) { byte == b'-' } else { byte.is_ascii_hexdigit() }
        });
    is_uuid || word.strip_prefix("ses_").is_some_and(|id| id.len() >= 8)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const ID: &str = "0191b2c3-0000-7000-8000-00000000abcd";

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[rstest]
    #[case("claude", Some("claude"))]
    #[case("/usr/local/bin/claude -p hello", Some("claude"))]
    #[case("/opt/npm/node_modules/@anthropic-ai/claude-code/bin/claude.exe", Some("claude"))]
    #[case("node --no-warnings /lib/node_modules/@google/gemini-cli/bundle/gemini.js -p x", Some("gemini"))]
    #[case("node /lib/node_modules/@openai/codex/bin/start.js exec", Some("codex"))]
    #[case("opencode run", Some("opencode"))]
    #[case("codex app-server", None)]
    #[case("opencode serve --port 1", None)]
    #[case("vim /home/me/claude", None)]
    #[case("node server.js claude", None)]
    #[case("claudette", None)]
    fn an_agent_is_known_by_its_program(#[case] line: &str, #[case] tool: Option<&str>) {
        assert_eq!(Program::of(&words(line)).map(|found| found.tool), tool);
    }

    #[rstest]
    #[case(format!("claude --resume {ID}"), Some(ID))]
    #[case(format!("claude --session-id={ID} -p x"), Some(ID))]
    #[case(format!("codex exec resume {ID} go"), Some(ID))]
    #[case("opencode run -s ses_12345678".to_owned(), Some("ses_12345678"))]
    #[case(format!("claude --resume {ID} --fork-session"), None)]
    #[case("gemini -r latest".to_owned(), None)]
    #[case("claude --resume".to_owned(), None)]
    fn a_session_is_named_by_its_id_only(#[case] line: String, #[case] id: Option<&str>) {
        assert_eq!(Program::of(&words(&line)).unwrap().session.as_deref(), id);
    }

    #[test]
    fn of_the_rollouts_that_codex_has_open_the_oldest_is_its_own() {
        let program = Program::of(&words("codex")).unwrap();
        let child = "0191b2c4-0000-7000-8000-00000000ffff";
        let files = [
            PathBuf::from(format!("/h/.codex/sessions/2026/11/16/rollout-2026-11-16T10-00-09-{child}.jsonl")),
            PathBuf::from(format!("/h/.codex/sessions/2026/11/16/rollout-2026-11-16T10-00-00-{ID}.jsonl")),
            PathBuf::from("/dev/null"),
        ];
        assert_eq!(program.session_of_files(&files).as_deref(), Some(ID));
        assert_eq!(program.session_of_files(&files[2..]), None);
    }

    #[test]
    fn a_command_line_is_cut_where_a_character_ends() {
        let long = format!("claude -p {}", "ä".repeat(500));
        let program = Program::of(&words(&long)).unwrap();
        assert!(program.command.len() <= SHOWN && program.command.starts_with("claude -p ä"));
    }
}
