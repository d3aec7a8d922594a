//! What somebody is told of a tool call or a prompt in a few words.

use crate::agent::skim::Raw;

/// A title is no longer: the prompt itself is in the transcript.
const TITLE: usize = 200;
/// The input fields that say best what a call is about, the best first.
const TELLING: [&str; 14] = [
    "file_path",
    "notebook_path",
    "command",
    "pattern",
    "description",
    "path",
    "query",
    "url",
    "skill",
    "name",
    "subject",
    "task_id",
    "message",
    "prompt",
];
/// Prompts that nobody typed begin so.
const NOT_TYPED: [&str; 8] = [
    "<local-command-",
    "<system-reminder>",
    "<task-notification>",
    "<bash-",
    "<user-memory",
    "Caveat: The messages below",
    "[Request interrupted",
    "This session is being continued",
];

/// Returns a call as it is shown: the tool and what it is used on.
pub fn call(name: &str, input: Option<Raw<'_>>) -> String {
    let target = target(input);
    if target.is_empty() { name.to_owned() } else { [name, " ", &target].concat() }
}

/// Returns what a call is about.
pub fn target(input: Option<Raw<'_>>) -> String {
    let mut told: Option<(usize, Raw<'_>)> = None;
    let read = input.and_then(|input| {
        input.skim().members(|name, value| {
            let value = value.raw()?;
            let rank = TELLING.iter().position(|telling| telling.as_bytes() == name);
            if let Some(rank) =
                rank.filter(|rank| value.is_text() && told.is_none_or(|(best, _)| *rank <= best))
            {
                told = Some((rank, value));
            }
            Some(())
        })
    });
    let text = read.and(told).and_then(|(_, value)| value.text());
    text.map(|text| first_line(&text, TITLE)).unwrap_or_default()
}

/// Returns the title that a prompt gives its session; `None` where nobody typed it.
pub fn title(prompt: &str) -> Option<String> {
    let prompt = typed(prompt);
    if prompt.starts_with("<command-") {
        return command(prompt);
    }
    if NOT_TYPED.iter().any(|start| prompt.starts_with(start)) {
        return None;
    }
    Some(first_line(prompt, TITLE)).filter(|title| !title.is_empty())
}

/// Returns a prompt without what the tool reminds the model of before it.
pub fn typed(prompt: &str) -> &str {
    let mut rest = prompt.trim_start();
    while let Some(inner) = rest.strip_prefix("<system-reminder>") {
        let Some((_, after)) = inner.split_once("</system-reminder>") else { return rest };
        rest = after.trim_start();
    }
    rest
}

/// Returns a command as it was typed: its parts stand in either order.
fn command(prompt: &str) -> Option<String> {
    let name = between(prompt, "command-name").filter(|name| !name.is_empty())?;
    let slash = if name.starts_with('/') { "" } else { "/" };
    let words = between(prompt, "command-args").unwrap_or_default();
    Some(first_line(&format!("{slash}{name} {words}"), TITLE))
}

/// Returns the first line that is not empty, cut where it is too long.
pub fn first_line(text: &str, longest: usize) -> String {
    let text = text.trim_start();
    let end = memchr::memchr(b'\n', text.as_bytes()).unwrap_or(text.len());
    cut(text.get(..end).unwrap_or_default().trim_end(), longest)
}

/// Returns the beginning of a text.
pub fn cut(text: &str, longest: usize) -> String {
    let end = text.floor_char_boundary(longest);
    let kept = text.get(..end).unwrap_or_default();
    if kept.len() < text.len() { format!("{kept}…") } else { kept.to_owned() }
}

/// Returns what stands between two marks of a notification.
pub fn between<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{mark}>"))?;
    rest.split_once(&format!("</{mark}>")).map(|(inner, _)| inner.trim())
}
