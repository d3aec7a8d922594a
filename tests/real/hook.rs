//! Claude Code with our hook: the model that is put in reaches the server, what is denied is not run, and the record
//! says what the server saw.

use std::path::Path;

use serde_json::{Value, json};

use crate::place::{Place, find, prompt, run};

/// Sets our hook up for every moment, and returns what is needed to see its records.
fn place(config: &str) -> Place {
    let place = Place::new();
    let state = place.work().join(".quarterdeck");
    std::fs::create_dir(&state).unwrap();
    let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o700);
    std::fs::set_permissions(&state, mode).unwrap();
    std::fs::write(place.work().join("quarterdeck.toml"), config).unwrap();
    let moments =
        ["PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop", "UserPromptSubmit", "SessionStart"];
    let hook = |moment: &str| {
        let command = format!("{} hook {moment}", env!("CARGO_BIN_EXE_quarterdeck"));
        json!([{ "hooks": [{ "type": "command", "command": command, "timeout": 60 }] }])
    };
    let hooks: serde_json::Map<String, Value> =
        moments.iter().map(|name| ((*name).to_owned(), hook(name))).collect();
    let agents = place.work().join(".claude/agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(
        agents.join("explore.md"),
        "---\nname: explore\ndescription: Looks around\n---\nLook around.\n",
    )
    .unwrap();
    std::fs::write(agents.join("executor.md"), "---\nname: executor\ndescription: Works\n---\nWork.\n")
        .unwrap();
    std::fs::write(place.work().join(".claude/settings.json"), json!({ "hooks": hooks }).to_string())
        .unwrap();
    place
}

fn claude(place: &Place, program: &Path, task: &str) -> String {
    let mut command = place.command(program);
    command.args(["-p", task, "--output-format", "stream-json", "--verbose"]);
    command.args(["--permission-mode", "bypassPermissions", "--model", "opus"]);
    command.env("CLAUDE_CODE_MAX_RETRIES", "1");
    let output = run(command);
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn nodes(place: &Place) -> Vec<Value> {
    let mut command = place.command(Path::new(env!("CARGO_BIN_EXE_quarterdeck")));
    command.args(["status", "--json"]);
    let tree: Value = serde_json::from_slice(&run(command).stdout).unwrap();
    tree["nodes"].as_array().unwrap().clone()
}

fn hand_to(agent: &str, script: &Value) -> Value {
    let input = json!({
        "description": "Look around", "prompt": prompt("Look around.", script), "subagent_type": agent,
        "run_in_background": false,
    });
    json!({ "name": "Agent", "input": input })
}

#[test]
fn a_sub_agent_runs_on_the_model_that_the_hook_put_in_and_the_record_says_so() {
    let Some(program) = find("claude") else { return };
    let place = place("");
    let looked = json!([{ "text": "Looked." }]);
    let script =
        json!([{ "text": "Handing on.", "tools": [hand_to("explore", &looked)] }, { "text": "Done." }]);
    let said = claude(&place, &program, &prompt("Do it.", &script));
    let served = place.server.served();
    let by_agent: Vec<&str> = served
        .iter()
        .filter(|one| one.task.contains("Look around.") && one.agent.is_some())
        .map(|one| one.model.as_str())
        .collect();
    assert!(
        !by_agent.is_empty() && by_agent.iter().all(|model| model.contains("haiku")),
        "{served:#?}\n{said}"
    );
    let nodes = nodes(&place);
    let agents: Vec<&Value> = nodes.iter().filter(|node| node["kind"] == "agent").collect();
    assert_eq!(agents.len(), 1, "the hook's, the transcript's: one node: {agents:#?}");
    let model = &agents[0]["model"];
    assert_eq!(model["injected"], "haiku", "{agents:#?}");
    assert_eq!(model["effective"].as_str().unwrap(), by_agent[0], "{agents:#?}");
}

#[test]
fn a_tool_that_the_hook_denies_is_not_run() {
    let Some(program) = find("claude") else { return };
    let place = place("[hook]\nmatrix = \"enforce\"\n[hook.tools]\nexecutor = [\"!bash\"]\n");
    let bash = json!({ "name": "Bash", "input": { "command": "echo ran > ran", "description": "Run" } });
    let work = json!([{ "text": "Working.", "tools": [bash] }, { "text": "Worked." }]);
    let script =
        json!([{ "text": "Handing on.", "tools": [hand_to("executor", &work)] }, { "text": "Done." }]);
    let said = claude(&place, &program, &prompt("Do it.", &script));
    assert!(!place.work().join("ran").exists(), "{said}");
    let inbox = std::fs::read_dir(place.work().join(".quarterdeck/inbox")).unwrap();
    let records: String =
        inbox.flatten().map(|file| std::fs::read_to_string(file.path()).unwrap_or_default()).collect();
    assert!(
        records.contains("\"kind\":\"denied\"") && records.contains("must not use Bash"),
        "{records}\n{said}"
    );
}
