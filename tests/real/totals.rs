//! Money that is right: what the sources read from the agents' own files equals what the model server served, for
//! every node, also after a resume, a fork and a retried request.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::model_server::Charged;
use crate::place::{Place, find, prompt, run};

/// What a sub-agent does: one call of a tool, then an answer; the numbers tell it from the others.
fn helper(nth: u64, tool: &Value) -> Value {
    json!([
        { "think": "A look first.", "text": "Looking.", "tools": [tool],
          "usage": { "in": 900 + nth, "out": 60 + nth, "cache_read": 3000 + nth, "cache_write": 100 + nth, "think": 20 } },
        { "text": format!("Part {nth} is done."),
          "usage": { "in": 40 + nth, "out": 30 + nth, "cache_read": 4000 + nth, "cache_write": 10 + nth } },
    ])
}

/// The usage of a turn of the main agent, by its number.
fn usage(nth: u64) -> Value {
    json!({ "in": 1000 * nth, "out": 100 * nth, "cache_read": 10_000 * nth, "cache_write": 7 * nth, "think": nth })
}

fn finish(place: &Place, program: &Path, arguments: &[&str]) -> String {
    let mut command = place.command(program);
    command.args(arguments);
    let output = run(command);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{}\n{said}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

/// What each task used itself, and with all below it.
type Used = BTreeMap<String, (Charged, Charged)>;

/// Returns what the tree says that the agent of each task used. A task is a sentence, and titles begin with it.
fn shown(place: &Place) -> Used {
    let mut command = place.command(Path::new(env!("CARGO_BIN_EXE_quarterdeck")));
    command.args(["status", "--json"]);
    let output = run(command);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let tree: Value = serde_json::from_str(&text).unwrap();
    let count = |usage: &Value, name: &str| usage[name].as_u64().unwrap_or(0);
    let charged = |usage: &Value| Charged {
        input: count(usage, "input"),
        output: count(usage, "output"),
        cache_read: count(usage, "cacheRead"),
        cache_write: count(usage, "cacheWrite"),
    };
    let mut used = Used::new();
    for node in tree["nodes"].as_array().unwrap() {
        let title = node["title"].as_str().unwrap_or_default();
        // OpenCode names a fork after what it was forked from.
        let task = if title.ends_with("(fork #1)") { "The fork." } else { title };
        let task = task.split_inclusive('.').next().unwrap_or_default().to_owned();
        let both = (charged(&node["usage"]["own"]), charged(&node["usage"]["subtree"]));
        let known = used.insert(task, both);
        assert_eq!(known, None, "{title} stands twice in {text}");
    }
    used
}

/// Returns what the server served to the agent of each task. `below` names who was handed each task by whom, the
/// deepest first.
fn served(place: &Place, below: &[(&str, &str)]) -> Used {
    let mut used = Used::new();
    for one in place.server.served().into_iter().filter(|one| !one.is_aside) {
        // Who puts a prompt into quotes hands on the same task.
        let (own, all) = used.entry(one.task.trim_start_matches('"').to_owned()).or_default();
        *own = own.add(one.charged.unwrap_or_default());
        *all = *own;
    }
    for (task, by) in below {
        let (_, more) = used[*task];
        let (_, all) = used.get_mut(*by).unwrap();
        *all = all.add(more);
    }
    used
}

/// Two tasks that the main agent handed on.
const PARTS: [(&str, &str); 2] = [("Part one.", "The whole."), ("Part two.", "The whole.")];

/// A script whose first request fails once, as a provider does that is overloaded.
fn overloaded() -> Value {
    json!([{
        "text": "At last.", "usage": usage(3),
        "error": { "status": 529, "type": "overloaded_error", "message": "Overloaded", "times": 1 },
    }])
}

fn failed_once(place: &Place) {
    assert_eq!(place.server.served().iter().filter(|one| one.status == 529).count(), 1);
}

/// A script for a main agent that hands two tasks to helpers, the first of which has a helper of its own.
fn claude_script() -> Value {
    let bash = json!({ "name": "Bash", "input": { "command": "echo part", "description": "Look" } });
    let agent = |task: &str, script: &Value| {
        let input = json!({
            "description": task, "subagent_type": "general-purpose", "run_in_background": false,
            "prompt": prompt(task, script),
        });
        json!({ "name": "Agent", "input": input })
    };
    let inner = agent("Part three.", &helper(3, &bash));
    let outer = json!([
        { "text": "A helper is needed.", "tools": [inner], "usage": usage(11) },
        { "text": "Part one is done.", "usage": usage(12) },
    ]);
    json!([
        { "think": "Two parts.", "text": "Handing on.", "tools": [agent("Part one.", &outer), agent("Part two.", &helper(2, &bash))],
          "usage": usage(1) },
        { "text": "All is done.", "usage": usage(2) },
    ])
}

const CLAUDE: [&str; 5] =
    ["--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions", "-p"];
const SESSION: &str = "0e9b6d3d-8c92-432c-adde-2b5bd63fa08c";

fn claude(place: &Place, program: &Path, more: &[&str], text: &str) -> String {
    let arguments: Vec<&str> = CLAUDE.into_iter().chain([text]).chain(more.iter().copied()).collect();
    finish(place, program, &arguments)
}

#[test]
fn every_token_of_claude_and_its_nested_helpers_is_counted_once_also_after_a_resume_and_a_fork() {
    let Some(program) = find("claude") else { return };
    let place = Place::new();
    let below = [("Part three.", "Part one."), PARTS[0], PARTS[1]];
    claude(&place, &program, &["--session-id", SESSION], &prompt("The whole.", &claude_script()));
    assert_eq!(shown(&place), served(&place, &below), "after the first run");
    let more = json!([{ "text": "And more.", "usage": usage(5) }]);
    claude(&place, &program, &["--resume", SESSION], &prompt("The whole.", &more));
    assert_eq!(shown(&place), served(&place, &below), "after a resume");
    let fork = json!([{ "text": "Another way.", "usage": usage(6) }]);
    claude(&place, &program, &["--resume", SESSION, "--fork-session"], &prompt("The fork.", &fork));
    assert_eq!(shown(&place), served(&place, &below), "after a fork");
}

#[test]
fn a_request_of_claude_that_failed_and_was_tried_again_counts_once() {
    let Some(program) = find("claude") else { return };
    let place = Place::new();
    claude(&place, &program, &[], &prompt("Try.", &overloaded()));
    failed_once(&place);
    assert_eq!(shown(&place), served(&place, &[]));
}

#[test]
fn every_token_of_codex_and_its_helpers_is_counted_once_also_after_a_resume_and_a_fork() {
    let Some(program) = find("codex") else { return };
    let place = Place::new();
    let look = json!({ "name": "exec_command", "input": { "cmd": "echo part" } });
    let spawn = |task: &str, nth| json!({ "name": "spawn_agent", "input": { "message": prompt(task, &helper(nth, &look)) } });
    // One after the other: waiting for several ends with the first, and what is unfinished at the end is broken off.
    let wait =
        |which: &str| json!({ "name": "wait_agent", "input": { "targets": [which], "timeout_ms": 60_000 } });
    let script = json!([
        { "tools": [{ "name": "tool_search", "input": { "query": "spawn sub-agents wait agent", "limit": 10 } }],
          "usage": usage(1) },
        { "tools": [spawn("Part one.", 1), spawn("Part two.", 2)], "usage": usage(2) },
        { "tools": [wait("$FIRST:agent_id")], "usage": usage(3) },
        { "tools": [wait("$LAST:agent_id")], "usage": usage(4) },
        { "text": "All is done.", "usage": usage(5) },
    ]);
    let said = finish(
        &place,
        &program,
        &["exec", "--json", "--skip-git-repo-check", &prompt("The whole.", &script)],
    );
    assert_eq!(shown(&place), served(&place, &PARTS), "after the first run");
    let started: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    let thread = started["thread_id"].as_str().unwrap().to_owned();
    let more = prompt("The whole.", &json!([{ "text": "And more.", "usage": usage(6) }]));
    finish(&place, &program, &["exec", "resume", "--json", "--skip-git-repo-check", &thread, &more]);
    assert_eq!(shown(&place), served(&place, &PARTS), "after a resume");
    let fork = prompt("The fork.", &json!([{ "text": "Another way.", "usage": usage(7) }]));
    finish(&place, &program, &["exec", "fork", "--json", "--skip-git-repo-check", &thread, &fork]);
    assert_eq!(shown(&place), served(&place, &PARTS), "after a fork");
}

#[test]
fn a_request_of_codex_that_failed_and_was_tried_again_counts_once() {
    let Some(program) = find("codex") else { return };
    let place = Place::new();
    finish(&place, &program, &["exec", "--json", "--skip-git-repo-check", &prompt("Try.", &overloaded())]);
    failed_once(&place);
    assert_eq!(shown(&place), served(&place, &[]));
}

#[test]
fn every_token_of_gemini_and_its_helpers_is_counted_once_also_after_a_resume() {
    let Some(program) = find("gemini") else { return };
    let place = Place::new();
    let look =
        json!({ "name": "run_shell_command", "input": { "command": "echo part", "description": "Look" } });
    let part = |nth: u64| {
        let done = json!({ "name": "complete_task", "input": { "result": { "response": "Part done." } } });
        json!([
            { "think": "**Look** first", "text": "Looking.", "tools": [look],
              "usage": { "in": 900 + nth, "out": 60 + nth, "cache_read": 3000 + nth, "think": 20 } },
            { "tools": [done], "usage": { "in": 40 + nth, "out": 30 + nth, "cache_read": 4000 + nth } },
        ])
    };
    let hand_on = |task: &str, nth| {
        let input = json!({ "agent_name": "generalist", "prompt": prompt(task, &part(nth)) });
        json!({ "name": "invoke_agent", "input": input })
    };
    let script = json!([
        { "think": "**Two** parts", "text": "Handing on.", "tools": [hand_on("Part one.", 1), hand_on("Part two.", 2)],
          "usage": usage(1) },
        { "text": "All is done.", "usage": usage(2) },
    ]);
    gemini(&place, &program, &[], &prompt("The whole.", &script));
    assert_eq!(shown(&place), served(&place, &PARTS), "after the first run");
    let more = json!([{ "text": "And more.", "usage": usage(5) }]);
    gemini(&place, &program, &["--resume", "latest"], &prompt("The whole.", &more));
    assert_eq!(shown(&place), served(&place, &PARTS), "after a resume");
}

fn gemini(place: &Place, program: &Path, more: &[&str], text: &str) -> String {
    let arguments = ["-p", text, "-o", "stream-json", "--yolo", "--skip-trust"];
    finish(place, program, &arguments.into_iter().chain(more.iter().copied()).collect::<Vec<_>>())
}

#[test]
fn a_request_of_gemini_that_failed_and_was_tried_again_counts_once() {
    let Some(program) = find("gemini") else { return };
    let place = Place::new();
    place.gemini_asks_again();
    gemini(&place, &program, &[], &prompt("Try.", &overloaded()));
    failed_once(&place);
    assert_eq!(shown(&place), served(&place, &[]));
}

fn opencode(place: &Place, program: &Path, more: &[&str], text: &str) -> String {
    let arguments = ["run", "--format", "json", "--auto"].into_iter().chain(more.iter().copied());
    finish(place, program, &arguments.chain([text]).collect::<Vec<_>>())
}

#[test]
fn every_token_of_opencode_and_its_helpers_is_counted_once_also_after_a_resume_and_a_fork() {
    let Some(program) = find("opencode") else { return };
    let place = Place::new();
    let look = json!({ "name": "bash", "input": { "command": "echo part", "description": "Look" } });
    let task = |task: &str, kind: &str, nth| {
        let input = json!({ "description": task, "subagent_type": kind, "prompt": prompt(task, &helper(nth, &look)) });
        json!({ "name": "task", "input": input })
    };
    let script = json!([
        { "think": "Two parts.", "text": "Handing on.",
          "tools": [task("Part one.", "general", 1), task("Part two.", "explore", 2)], "usage": usage(1) },
        { "text": "All is done.", "usage": usage(2) },
    ]);
    let said = opencode(&place, &program, &["--title", "The whole."], &prompt("The whole.", &script));
    assert_eq!(shown(&place), served(&place, &PARTS), "after the first run");
    let first: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    let session = first["sessionID"].as_str().unwrap().to_owned();
    let more = prompt("The whole.", &json!([{ "text": "And more.", "usage": usage(6) }]));
    opencode(&place, &program, &["-s", &session], &more);
    assert_eq!(shown(&place), served(&place, &PARTS), "after a resume");
    let fork = prompt("The fork.", &json!([{ "text": "Another way.", "usage": usage(7) }]));
    opencode(&place, &program, &["-s", &session, "--fork"], &fork);
    assert_eq!(shown(&place), served(&place, &PARTS), "after a fork");
}

#[test]
fn a_request_of_opencode_that_failed_and_was_tried_again_counts_once() {
    let Some(program) = find("opencode") else { return };
    let place = Place::new();
    opencode(&place, &program, &["--title", "Try."], &prompt("Try.", &overloaded()));
    failed_once(&place);
    assert_eq!(shown(&place), served(&place, &[]));
}
