//! The hooks of Claude Code and of Codex: which events call us, put into their settings and taken out again.

use serde_json::{Value, json};

use crate::config::json::{NotPut, push, read, remove, remove_items};

/// Seconds that the tool waits for the hook. A call that is held because a person paused the session ends before.
const TIMEOUT: u64 = 60;

/// What Claude Code calls us for.
pub const CLAUDE: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "SessionStart",
    "SessionEnd",
    "Notification",
    "PreCompact",
];

/// What Codex calls us for: the same, as far as it knows them.
pub const CODEX: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "SessionStart",
    "SessionEnd",
    "PreCompact",
];

/// Puts our call into each of these events where it is not there yet.
pub fn add(text: &str, program: &str, events: &[&str]) -> Result<String, NotPut> {
    let mut text = text.to_owned();
    for event in events {
        if !calls_us(&text, event) {
            text = push(&text, &["hooks", event], &call(program, event))?;
        }
    }
    Ok(text)
}

/// Takes our calls out, and the lists and objects that are empty without them.
pub fn take_out(text: &str) -> Result<String, NotPut> {
    let mut text = text.to_owned();
    let mut has_gone = false;
    for event in CLAUDE {
        let path = ["hooks", event];
        let left = remove_items(&text, &path, is_ours)?;
        if left == text {
            continue;
        }
        has_gone = true;
        text = if is_empty(&left, &path) { remove(&left, &path)? } else { left };
    }
    if has_gone && is_empty(&text, &["hooks"]) {
        text = remove(&text, &["hooks"])?;
    }
    Ok(text)
}

/// Returns whether a file has calls of ours.
pub fn is_in(text: &str) -> bool {
    CLAUDE.iter().any(|event| calls_us(text, event))
}

fn call(program: &str, event: &str) -> Value {
    let hook = json!({"type": "command", "command": format!("{program} hook {event}"), "timeout": TIMEOUT});
    // Without a matcher it is called for every tool: what is held or forbidden may be any of them.
    json!({ "hooks": [hook] })
}

fn calls_us(text: &str, event: &str) -> bool {
    let found: Option<Value> = serde_json::from_str(text).ok();
    let list = found.as_ref().and_then(|found| found.get("hooks")?.get(event)?.as_array());
    list.is_some_and(|list| list.iter().any(is_ours))
}

/// Returns whether a group of hooks is one that we put there: it calls us, and nobody else.
fn is_ours(group: &Value) -> bool {
    let hooks = group.get("hooks").and_then(Value::as_array);
    hooks.is_some_and(|hooks| {
        !hooks.is_empty()
            && hooks.iter().all(|hook| hook.get("command").and_then(Value::as_str).is_some_and(names_us))
    })
}

fn names_us(command: &str) -> bool {
    let Some((program, _)) = command.split_once(" hook ") else { return false };
    let program = program.trim().trim_matches(['"', '\'']);
    program.rsplit('/').next() == Some("quarterdeck")
}

fn is_empty(text: &str, path: &[&str]) -> bool {
    let Ok(root) = read(text) else { return false };
    let found = root.find(path).and_then(|node| text.get(node.at.clone()));
    found.and_then(|found| serde_json::from_str::<Value>(found).ok()).is_some_and(|found| match found {
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_by_a_whole_path_is_ours_too_and_one_of_another_tool_is_not() {
        assert!(names_us("quarterdeck hook Stop") && names_us("'/opt/my tools/quarterdeck' hook Stop"));
        assert!(!names_us("notquarterdeck hook Stop") && !names_us("quarterdeck status"));
        let shared = json!({"hooks": [{"command": "quarterdeck hook Stop"}, {"command": "say done"}]});
        assert!(!is_ours(&shared), "what somebody added a hook to is theirs");
    }

    #[test]
    fn another_tools_hooks_stay_as_they_are() {
        let text = "{\"hooks\": {\"Stop\": [ {\"hooks\":[{\"command\":\"say done\"}]} ]}}";
        let with = add(text, "quarterdeck", CODEX).unwrap();
        assert!(with.contains("[ {\"hooks\":[{\"command\":\"say done\"}]}, {"), "{with}");
        assert_eq!(take_out(&with).unwrap(), text);
        assert!(is_in(&with) && !is_in(text));
    }
}
