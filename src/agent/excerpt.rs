//! Text from agents' files, cut to what a title, a line or a log entry needs.

use serde_json::Value;

/// How much of a prompt is a title.
const LONGEST_TITLE: usize = 160;
/// How much of a tool's input or answer is kept: the whole is in the agent's own file.
const LONGEST_BRIEF: usize = 400;

/// Returns what a prompt is about: its first line that says something.
pub fn title(prompt: &str) -> Option<String> {
    prompt.lines().map(str::trim).find(|line| !line.is_empty()).map(|line| cut(line, LONGEST_TITLE))
}

/// Returns a text in short.
pub fn brief(text: &str) -> String {
    cut(text.trim(), LONGEST_BRIEF)
}

/// Returns a value in short: a text as it is, anything else as JSON.
pub fn brief_value(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => brief(text),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => brief(&value.to_string()),
    }
}

/// Returns what a tool is used for: the field of its input that says most, else all of it.
pub fn purpose(input: &Value) -> String {
    /// What tools call the thing that they are used on, the most telling first.
    const TELLING: [&str; 14] = [
        "command",
        "cmd",
        "file_path",
        "filePath",
        "path",
        "dir_path",
        "pattern",
        "query",
        "url",
        "description",
        "agent_name",
        "task_name",
        "message",
        "prompt",
    ];
    let telling = TELLING.iter().find_map(|name| input.get(*name));
    match telling {
        // A command as a list of words.
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            brief(&words.join(" "))
        }
        Some(value) => brief_value(value),
        None => brief_value(input),
    }
}

/// Returns what is done with which tool, in one line.
pub fn action(tool: &str, purpose: &str) -> String {
    let what = title(purpose).unwrap_or_default();
    if what.is_empty() { tool.to_owned() } else { format!("{tool}: {what}") }
}

fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_title_is_the_first_line_that_says_something() {
        assert_eq!(title("\n  \n Fix the door. \nIt creaks.").as_deref(), Some("Fix the door."));
        assert_eq!(title(" \n"), None);
        assert_eq!(title(&"é".repeat(200)).unwrap().chars().count(), LONGEST_TITLE + 1);
    }

    #[test]
    fn an_action_names_the_tool_and_what_it_is_used_on() {
        assert_eq!(
            action("shell", &purpose(&json!({"workdir": "/", "command": ["ls", "-l"]}))),
            "shell: ls -l"
        );
        assert_eq!(action("read", &purpose(&json!({"file_path": "a.rs"}))), "read: a.rs");
        assert_eq!(action("stop", &purpose(&Value::Null)), "stop");
        assert_eq!(action("odd", &purpose(&json!([1, 2]))), "odd: [1,2]");
    }
}
