//! Advice on a person's prompt: a quick look at whether it is worth delegating, and the prefixes that say so. Pure.

use crate::decide::hint::hint;
use crate::decide::mode::Mode;
use crate::decide::pattern::Pattern;
use crate::decide::settings::Settings;
use crate::decide::task::Task;

/// A prompt that is shorter is no task.
const SHORTEST: usize = 20;
/// How a question begins.
const QUESTIONS: &[&str] = &[
    "what", "how", "why", "who", "when", "where", "which", "is", "are", "do", "does", "did", "can", "could",
    "should", "would", "was", "were",
];

/// What a person put before a prompt.
#[derive(Debug, Default, PartialEq)]
struct Prefixes {
    delegate: bool,
    direct: bool,
    depth: Option<u32>,
    pattern: Option<Pattern>,
}

/// Returns what the agent should know of a prompt; nothing where there is nothing to say.
pub(super) fn advise(prompt: &str, settings: &Settings) -> Option<String> {
    let prompt = prompt.trim();
    // What the tool itself says comes this way too.
    if settings.mode == Mode::Disabled || prompt.starts_with('<') {
        return None;
    }
    let (prefixes, task) = split(prompt);
    if prefixes.direct {
        return Some(
            "[Delegation Analysis] The person wants this done directly: hand none of it to sub-agents."
                .into(),
        );
    }
    let found = hint(&Task::from_text(task), settings);
    let is_asked_for = prefixes != Prefixes::default();
    if !is_asked_for && (!found.should_consider_delegation || task.len() < SHORTEST || is_question(task)) {
        return None;
    }
    let factors = found.quick_factors;
    let text = format!(
        "[Delegation Analysis] {} (complexity {}, {} parts).",
        if is_asked_for { "The person wants this delegated" } else { "This is worth delegating" },
        factors.complexity,
        factors.subtask_potential.max(1)
    );
    let pattern = prefixes.pattern.map(|pattern| format!(" Pattern: {pattern}.")).unwrap_or_default();
    let depth = prefixes.depth.unwrap_or(settings.limits.max_depth);
    Some(format!("{text}{pattern} Hand its parts to sub-agents, at most {depth} levels deep."))
}

/// Takes the prefixes off a prompt.
fn split(prompt: &str) -> (Prefixes, &str) {
    let (mut prefixes, mut rest) = (Prefixes::default(), prompt);
    while rest.starts_with('/') {
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let known = match word.split_once('=') {
            None if word == "/delegate" => {
                prefixes.delegate = true;
                true
            }
            None if word == "/direct" => {
                prefixes.direct = true;
                true
            }
            Some(("/depth", depth)) => {
                prefixes.depth = depth.parse().ok().map(|depth: u32| depth.clamp(1, 5));
                prefixes.depth.is_some()
            }
            Some(("/pattern", pattern)) => {
                prefixes.pattern = Pattern::from_name(pattern);
                prefixes.pattern.is_some()
            }
            None | Some(_) => false,
        };
        if !known {
            break;
        }
        rest = after.trim_start();
    }
    (prefixes, rest)
}

/// Returns whether a person only asks: one sentence that begins as a question does, or ends as one.
fn is_question(text: &str) -> bool {
    let first = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let begins = QUESTIONS.iter().any(|word| word.eq_ignore_ascii_case(first));
    !text.trim().contains('\n') && (begins || text.trim_end().ends_with('?'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "Refactor the authentication architecture of the distributed api and migrate the database schema:\n1. design the security layer\n2. implement the api integration\n3. migrate the database\n4. test the performance of all services";

    #[test]
    fn a_task_that_is_worth_it_is_said_to_be_and_a_question_is_not() {
        let settings = Settings::default();
        assert!(
            advise(LONG, &settings).unwrap().starts_with("[Delegation Analysis] This is worth delegating")
        );
        for quiet in [
            "What does the authentication architecture of the distributed api and database do, and how is it tested?",
            "fix typo",
            "thanks",
            "",
            "<task-notification><task-id>a</task-id> migrate everything</task-notification>",
        ] {
            assert_eq!(advise(quiet, &settings), None, "{quiet}");
        }
        let disabled = Settings { mode: Mode::Disabled, ..Settings::default() };
        assert_eq!(advise(LONG, &disabled), None);
        assert_eq!(advise(&format!("/delegate {LONG}"), &disabled), None);
    }

    #[test]
    fn prefixes_are_honoured() {
        let settings = Settings::default();
        let text = advise("/delegate /depth=2 /pattern=review fix it", &settings).unwrap();
        assert!(text.contains("wants this delegated") && text.contains("Pattern: review."), "{text}");
        assert!(text.contains("at most 2 levels"), "{text}");
        assert!(advise(&format!("/direct {LONG}"), &settings).unwrap().contains("directly"));
        assert_eq!(split("/compact now").0, Prefixes::default());
        assert_eq!(split("/depth=9 x"), (Prefixes { depth: Some(5), ..Prefixes::default() }, "x"));
    }
}
