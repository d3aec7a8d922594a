//! Delegation as tools, and the hook of the other agent that has one: with the real programs.

use std::path::Path;

use serde_json::{Value, json};

use crate::place::{Place, find, prompt, run};

fn place(config: &str) -> Place {
    let place = Place::new();
    let state = place.work().join(".quarterdeck");
    std::fs::create_dir(&state).unwrap();
    let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o700);
    std::fs::set_permissions(&state, mode).unwrap();
    std::fs::write(place.work().join("quarterdeck.toml"), config).unwrap();
    place
}

fn quarterdeck(place: &Place, arguments: &[&str]) -> String {
    let mut command = place.command(Path::new(env!("CARGO_BIN_EXE_quarterdeck")));
    command.args(arguments);
    String::from_utf8(run(command).stdout).unwrap()
}

fn nodes(place: &Place) -> Vec<Value> {
    let tree: Value = serde_json::from_str(&quarterdeck(place, &["status", "--json"])).unwrap();
    tree["nodes"].as_array().unwrap().clone()
}

#[test]
fn claude_lists_the_tools_of_the_mcp_server_and_calls_one() {
    let Some(program) = find("claude") else { return };
    let place = place("[agents.codex]\nkind = \"command\"\ncommand = \"echo found\"\n");
    let servers = json!({ "mcpServers": { "quarterdeck": {
        "command": env!("CARGO_BIN_EXE_quarterdeck"), "args": ["mcp"],
    } } });
    let file = place.home().join("mcp.json");
    std::fs::write(&file, servers.to_string()).unwrap();
    let call = json!({
        "name": "mcp__quarterdeck__delegate_run", "input": { "user_prompt": "list files in my repo" },
    });
    let script = json!([{ "text": "Handing on.", "tools": [call] }, { "text": "Done." }]);
    let mut command = place.command(&program);
    command.args(["-p", &prompt("tell codex to list files.", &script)]);
    command.args(["--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions"]);
    command.arg("--mcp-config").arg(&file).arg("--strict-mcp-config");
    let output = run(command);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = said.lines().find(|line| line.contains("\"subtype\":\"init\"")).unwrap_or_default();
    for tool in ["delegate_run", "delegation_status", "delegation_control", "delegation_wait"] {
        assert!(first.contains(&format!("mcp__quarterdeck__{tool}")), "{tool}: {said}");
    }
    assert!(said.contains("✓ Delegated to codex. Task: list files in my repo"), "{said}");
    let nodes = nodes(&place);
    quarterdeck(&place, &["engine", "stop"]);
    let is_it = |node: &Value| node["kind"] == "delegation" && node["title"] == "list files in my repo";
    assert!(nodes.iter().any(is_it), "{nodes:#?}");
}

#[test]
fn codex_runs_the_hook_and_its_hand_off_is_recorded_with_the_child() {
    let Some(program) = find("codex") else { return };
    let place = place("");
    let moments = ["SessionStart", "PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop"];
    let hook = |moment: &str| {
        let command = format!("{} hook {moment} --tool codex", env!("CARGO_BIN_EXE_quarterdeck"));
        json!([{ "hooks": [{ "type": "command", "command": command }] }])
    };
    let hooks: serde_json::Map<String, Value> =
        moments.iter().map(|name| ((*name).to_owned(), hook(name))).collect();
    std::fs::write(place.home().join(".codex/hooks.json"), json!({ "hooks": hooks }).to_string()).unwrap();
    let part = json!([{ "text": "Part is done." }]);
    let search =
        json!({ "name": "tool_search", "input": { "query": "spawn sub-agents wait agent", "limit": 10 } });
    let spawn = json!({ "name": "spawn_agent", "input": { "message": prompt("Helper part.", &part) } });
    let wait =
        json!({ "name": "wait_agent", "input": { "targets": ["$LAST:agent_id"], "timeout_ms": 60_000 } });
    let script = json!([
        { "tools": [search] }, { "tools": [spawn] }, { "tools": [wait] }, { "text": "Done." },
    ]);
    let mut command = place.command(&program);
    command.args(["exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", "--json"]);
    command.arg(prompt("Do it.", &script));
    let output = run(command);
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let inbox = std::fs::read_dir(place.work().join(".quarterdeck/inbox")).unwrap();
    let records: String =
        inbox.flatten().map(|file| std::fs::read_to_string(file.path()).unwrap_or_default()).collect();
    for (kind, what) in [("session-started", ""), ("called", "Helper part."), ("started", ""), ("ended", "")]
    {
        let wanted = format!("\"kind\":\"{kind}\"");
        let is_there =
            |line: &str| line.contains(&wanted) && line.contains("\"tool\":\"codex\"") && line.contains(what);
        assert!(records.lines().any(is_there), "{kind}: {records}\n{said}");
    }
}
