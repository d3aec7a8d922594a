//! What is said to the orchestrator itself, and what any agent should not do to others: direct edits, questions,
//! `pkill -f`, too many agents at once, and files that another live agent changed. Pure.

use super::desk::Desk;
use super::input::Input;
use super::settings::{Settings, Strength};
use super::tools::{kind, path};

/// Endings of source files.
const SOURCE: &[&str] = &[
    "rs", "ts", "tsx", "js", "jsx", "mjs", "cjs", "py", "go", "java", "kt", "c", "h", "cc", "cpp", "hpp",
    "cs", "rb", "php", "swift", "scala", "sh", "sql", "vue", "svelte", "lua", "zig", "ex", "exs", "hs", "ml",
    "dart",
];
/// What an orchestrator may always write.
const OWN: &[&str] = &[".omc/", ".claude/", ".quarterdeck/", ".idumb/", "CLAUDE.md", "AGENTS.md"];

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// It is said, and the call happens.
    Said(String),
    /// The call does not happen.
    Denied(String),
}

fn found(strength: Strength, text: String) -> Option<Found> {
    match strength {
        Strength::Off => None,
        Strength::Warn => Some(Found::Said(text)),
        Strength::Deny => Some(Found::Denied(text)),
    }
}

/// Returns everything that should be said of a call, or should keep it from happening.
pub(super) fn check(input: &Input, desk: &Desk, settings: &Settings) -> Vec<Found> {
    let checks = [
        direct(input, settings),
        question(input),
        pkill(input),
        crowd(input, desk, settings),
        owned(input, desk, settings),
    ];
    checks.into_iter().flatten().collect()
}

/// The orchestrator changes source files itself.
fn direct(input: &Input, settings: &Settings) -> Option<Found> {
    if input.agent_id.is_some() {
        return None;
    }
    let file = match kind(input.tool.as_deref()?)? {
        "write" => path(input).filter(|path| is_source(path))?,
        "bash" => {
            let command = command(input)?;
            let words = command.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '|'));
            let changes = command.contains('>')
                || ["sed -i", "tee ", "patch "].iter().any(|word| command.contains(word));
            words.filter(|_| changes).find(|word| is_source(word.trim_start_matches('>')))?.to_owned()
        }
        _ => return None,
    };
    found(
        settings.direct,
        format!(
            "The orchestrator changes {file} itself.\nUse instead: hand it to an agent that writes code, such as executor.\nSet by hook.direct in quarterdeck.toml."
        ),
    )
}

fn is_source(path: &str) -> bool {
    let is_own = OWN.iter().any(|own| path.starts_with(own) || path.contains(&format!("/{own}")));
    let ending = path.rsplit('/').next().and_then(|file| file.rsplit_once('.')).map(|(_, ending)| ending);
    !is_own && ending.is_some_and(|ending| SOURCE.contains(&ending))
}

fn question(input: &Input) -> Option<Found> {
    let is_question = input.tool.as_deref()?.eq_ignore_ascii_case("AskUserQuestion");
    is_question.then(|| {
        Found::Said("This waits for a person; work that does not depend on the answer can go on.".into())
    })
}

fn pkill(input: &Input) -> Option<Found> {
    if kind(input.tool.as_deref()?) != Some("bash") {
        return None;
    }
    let command = command(input)?;
    let mut words = command.split_whitespace().skip_while(|word| !word.ends_with("pkill"));
    words.next()?;
    let by_line =
        words.take_while(|word| word.starts_with('-')).any(|word| word == "--full" || is_short(word, 'f'));
    by_line.then(|| {
        Found::Said(
            "`pkill -f` ends every process whose command line matches, this session's own too.\nUse instead: `kill` with the number of the process that you started."
                .into(),
        )
    })
}

fn is_short(word: &str, letter: char) -> bool {
    word.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(letter))
}

fn command(input: &Input) -> Option<String> {
    input.fields.as_ref()?.text(&["command", "cmd"])
}

/// One more agent in the background would be too many.
fn crowd(input: &Input, desk: &Desk, settings: &Settings) -> Option<Found> {
    let fields = input.fields.as_ref().filter(|_| input.delegates())?;
    if fields.get::<bool>("run_in_background") != Some(true) {
        return None;
    }
    let most = settings.deciding.limits.max_concurrent_agents;
    let running = desk.calls.values().filter(|call| call.background && call.started.is_some()).count();
    if running < usize::try_from(most).unwrap_or(usize::MAX) {
        return None;
    }
    found(
        settings.background,
        format!(
            "{running} agents work in the background already, and {most} may.\nUse instead: wait for one of them to end.\nSet by limits.max-concurrent-agents and hook.background in quarterdeck.toml."
        ),
    )
}

/// Another agent that is still at work changed this file.
fn owned(input: &Input, desk: &Desk, settings: &Settings) -> Option<Found> {
    if kind(input.tool.as_deref()?) != Some("write") {
        return None;
    }
    let file = path(input)?;
    let touch = desk.touched.get(&file)?;
    let own = input.agent_id.as_deref().unwrap_or(super::run::MAIN);
    let owner = desk.of_agent(&touch.by).filter(|_| touch.by != own)?.1;
    let who = owner.title.as_deref().or(owner.agent.as_deref()).unwrap_or("another agent");
    found(
        settings.ownership,
        format!(
            "{file} was changed by {who}, which is still at work.\nUse instead: wait for it to end, or leave this file to it.\nSet by hook.ownership in quarterdeck.toml."
        ),
    )
}
