//! The model server speaks every agent's language: a turn with a tool, whole, for each of them.

use serde_json::json;

use crate::place::{Place, find, prompt, run};

/// Runs an agent with a script of two turns, and returns what it printed.
fn two_turns(name: &str, tool: &str, input: &serde_json::Value, arguments: &[&str]) {
    let Some(program) = find(name) else { return };
    let place = Place::new();
    let script = json!([
        { "think": "First look.", "text": "Looking.", "tools": [{ "name": tool, "input": input }],
          "usage": { "in": 100, "out": 20, "cache_read": 1000, "cache_write": 50, "think": 5 } },
        { "text": "All is well.", "usage": { "in": 10, "out": 7, "cache_read": 1200 } },
    ]);
    let text = prompt("Look around.", &script);
    let mut command = place.command(&program);
    command.args(arguments.iter().map(|word| if *word == "PROMPT" { text.as_str() } else { word }));
    let output = run(command);
    let said = String::from_utf8_lossy(&output.stdout);
    let erred = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{said}\n{erred}", output.status);
    assert!(said.contains("All is well."), "{said}\n{erred}");
    assert!(place.work().join("made").exists(), "the tool did not run: {said}\n{erred}");
    let scripted: Vec<_> = place.server.served().into_iter().filter(|one| !one.is_aside).collect();
    assert_eq!(scripted.len(), 2, "{scripted:#?}");
}

#[test]
fn claude_works_against_the_model_server() {
    let input = json!({ "command": "touch made", "description": "Make it" });
    let arguments =
        ["-p", "PROMPT", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"];
    two_turns("claude", "Bash", &input, &arguments);
}

#[test]
fn codex_works_against_the_model_server() {
    let arguments = ["exec", "--json", "--skip-git-repo-check", "PROMPT"];
    two_turns("codex", "exec_command", &json!({ "cmd": "touch made" }), &arguments);
}

#[test]
fn opencode_works_against_the_model_server() {
    let input = json!({ "command": "touch made", "description": "Make it" });
    two_turns("opencode", "bash", &input, &["run", "--format", "json", "--auto", "PROMPT"]);
}

#[test]
fn gemini_works_against_the_model_server() {
    let input = json!({ "command": "touch made", "description": "Make it" });
    let arguments = ["-p", "PROMPT", "-o", "stream-json", "--yolo", "--skip-trust"];
    two_turns("gemini", "run_shell_command", &input, &arguments);
}
