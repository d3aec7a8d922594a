//! `quarterdeck decide`, `hint` and the slash commands, as people and scripts meet them.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};

fn quarterdeck(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("quarterdeck").unwrap();
    command.current_dir(folder).env_clear().env("HOME", folder).env("XDG_STATE_HOME", folder.join("state"));
    command
}

/// What is printed and what is complained about, and whether it went well.
fn run(folder: &Path, arguments: &[&str], input: &[u8]) -> (bool, String, String) {
    let output = quarterdeck(folder).args(arguments).write_stdin(input).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

fn vectors() -> Value {
    serde_json::from_str(include_str!("../vectors/decisions.json")).unwrap()
}

#[test]
fn a_script_gets_the_decision_for_a_task_and_an_agent() {
    let folder = tempfile::tempdir().unwrap();
    let all = vectors();
    let vector =
        all["vectors"].as_array().unwrap().iter().find(|v| v["task"]["id"] == "auth" && v["agent"] == 2);
    let (vector, agent) = (vector.unwrap(), &all["agents"][2]);
    fs::write(folder.path().join("agent.json"), agent.to_string()).unwrap();
    let task = vector["task"].to_string();
    let arguments = ["decide", "--task", "-", "--agent", "agent.json", "--json"];
    let (ok, told, complaint) = run(folder.path(), &arguments, task.as_bytes());
    assert!(ok, "{complaint}");
    let told: Value = serde_json::from_str(&told).unwrap();
    for field in ["shouldDelegate", "confidence", "score", "factors", "suggestedPattern"] {
        assert_eq!(told[field], vector["expect"][field], "{field}");
    }
    assert_eq!(told["subtasks"].as_array().unwrap().len(), 5);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "asking leaves no trace");
}

#[test]
fn a_list_of_tasks_gives_a_list_of_decisions() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = json!([{"title": "One"}, {"title": "Two", "description": "- a\n- b"}]).to_string();
    fs::write(folder.path().join("tasks.json"), &tasks).unwrap();
    let (_, told, _) =
        run(folder.path(), &["decide", "--task", "tasks.json", "--json", "--no-subtasks"], b"");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!([&told[0]["factors"]["subtaskCount"], &told[1]["factors"]["subtaskCount"]], [0, 2]);
    assert!(told[1].get("subtasks").is_none());
}

#[test]
fn people_get_a_page_with_what_would_become_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let task = json!({"title": "Release \u{1b}[31mit", "description": "1. Build\n2. Publish \u{1b}]0;x\u{7}it\n3. Announce"});
    let (ok, page, _) = run(folder.path(), &["decide", "--task", "-"], task.to_string().as_bytes());
    assert!(ok);
    insta::assert_snapshot!(page);
}

#[test]
fn the_projects_depth_and_agents_are_minded() {
    let folder = tempfile::tempdir().unwrap();
    let config = "max-depth = 2\n[agents.tester]\nkind = \"simulated\"\n";
    fs::write(folder.path().join("quarterdeck.toml"), config).unwrap();
    let task = json!({"title": "x", "description": "- Test it\n- Sing"}).to_string();
    let (_, told, _) = run(folder.path(), &["decide", "--task", "-", "--json"], task.as_bytes());
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["factors"]["depthRemaining"], 2);
    assert_eq!(
        (&told["subtasks"][0]["agent"], &told["subtasks"][1]["agent"]),
        (&json!("tester"), &Value::Null)
    );
}

#[test]
fn errors_name_the_file_what_is_wrong_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let complaint = |arguments: &[&str], input: &[u8]| {
        let (ok, told, complaint) = run(folder.path(), arguments, input);
        assert!(!ok && told.is_empty(), "{told}");
        complaint
    };
    let task = ["decide", "--task", "-"];
    assert!(
        complaint(&task, b"Move it")
            .starts_with("error: standard input is no JSON: expected value at line 1")
    );
    assert!(complaint(&task, b"{\"title\": \"\xff\xfe").contains("is no JSON"));
    assert!(complaint(&task, b"[]x").contains("trailing characters"));
    assert!(
        complaint(&task, b"7")
            .contains("standard input: That is a number, and no task.\nA task is an object")
    );
    assert!(complaint(&task, b"{}").contains("neither a title nor a description"));
    let missing = complaint(&["decide", "--task", "nowhere.json"], b"");
    assert!(missing.starts_with("error: cannot read nowhere.json: No such file"), "{missing}");
    let both = complaint(&["decide", "--task", "-", "--agent", "-"], b"{}");
    assert!(both.contains("cannot both come from standard input"), "{both}");
    fs::write(folder.path().join("agent.json"), "[]").unwrap();
    let agent = complaint(&["decide", "--task", "-", "--agent", "agent.json"], b"{\"title\": \"x\"}");
    assert!(agent.contains("agent.json: That is a list, and no agent."), "{agent}");
    assert!(complaint(&["hint", "  "], b"").contains("Say what is to be done"));
}

#[test]
fn a_hint_takes_text_or_the_id_of_a_task() {
    let folder = tempfile::tempdir().unwrap();
    let hint = |arguments: &[&str]| run(folder.path(), arguments, b"");
    let (ok, told, _) = hint(&["hint", "Fix", "the", "typo"]);
    assert_eq!(
        (ok, told.as_str()),
        (true, "Task appears suitable for direct execution (complexity 5, 0 parts).\n")
    );
    let docs = folder.path().join(".claude/dev-docs");
    fs::create_dir_all(&docs).unwrap();
    let tasks =
        json!({"version": "1.1.0", "tasks": {"audit": {"title": "Audit", "acceptance": ["a", "b", "c"]}}});
    fs::write(docs.join("tasks.json"), tasks.to_string()).unwrap();
    let (_, told, _) = hint(&["hint", "audit", "--json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["quickFactors"], json!({"complexity": 11, "subtaskPotential": 3}));
    assert_eq!(told["shouldConsiderDelegation"], true);
    let (ok, _, warning) = hint(&["hint", "adit"]);
    assert!(
        ok && warning.contains("No task adit in .claude/dev-docs/tasks.json: taken as text."),
        "{warning}"
    );
    fs::write(docs.join("tasks.json"), "{").unwrap();
    assert!(!hint(&["hint", "audit"]).0, "a damaged file is told, not passed over");
}

#[test]
fn slash_commands_do_the_same_as_their_commands() {
    let folder = tempfile::tempdir().unwrap();
    let told = |arguments: &[&str]| run(folder.path(), arguments, b"");
    assert_eq!(told(&["/delegation", "hint", "Fix", "it"]), told(&["hint", "Fix it"]));
    assert_eq!(told(&["/delegation status"]), told(&["status"]));
    let wrong = told(&["/delegation", "dance"]);
    assert!(
        !wrong.0 && wrong.2.contains("/delegation dance is no command.\nThere are status,"),
        "{}",
        wrong.2
    );
    assert!(told(&["/delegate"]).2.contains("/delegate needs a task."));
    let unknown = told(&["/fly"]);
    assert!(unknown.2.contains("There are /delegate, /direct and /delegation."), "{}", unknown.2);
}
