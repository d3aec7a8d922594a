//! Whatever `status` lists is known to the other commands by the id that it has there, whoever runs it.

use super::*;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Returns a project with what these tools left in it, made up.
fn project_of(tool: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources");
    match tool {
        "codex" => {
            let sessions = root.join(".codex/sessions/2026/11/02");
            fs::create_dir_all(&sessions).unwrap();
            for (name, id) in
                [("root", "0000-7000-8000-000000000001"), ("lead", "0100-7000-8000-000000000002")]
            {
                let text = fs::read_to_string(fixtures.join(format!("codex/{name}.jsonl"))).unwrap();
                let text = text.replace("/home/kim/shop", &root.display().to_string());
                let file = format!("rollout-2026-11-02T09-00-00-01a1e20f-{id}.jsonl");
                fs::write(sessions.join(file), text).unwrap();
            }
        }
        "claude" => {
            painted(&root);
            let name =
                root.display().to_string().replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
            let line = serde_json::json!({
                "type": "user", "uuid": "u9", "sessionId": "s1", "agentId": "a1", "isSidechain": true,
                "timestamp": "2026-11-16T08:00:05.000Z", "cwd": root.display().to_string(),
                "message": {"role": "user", "content": "Mix the colour"},
            });
            let file = root.join(format!(".claude/projects/{name}/s1/subagents/agent-a1.jsonl"));
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, format!("{line}\n")).unwrap();
        }
        tool => copy(&fixtures.join(tool), &root),
    }
    folder
}

/// Returns every id that is listed, and the one it is under.
fn listed(root: &Path) -> Vec<(String, Option<String>)> {
    let json = quarterdeck(root).args(["status", "--json"]).output().unwrap().stdout;
    let tree: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let nodes = tree["nodes"].as_array().unwrap().iter().filter(|node| node["kind"] != "group");
    let text = |node: &serde_json::Value, field: &str| node[field].as_str().map(str::to_owned);
    nodes.map(|node| (text(node, "id").unwrap(), text(node, "parent"))).collect()
}

#[test]
fn every_id_that_is_listed_is_shown_and_explained() {
    for tool in ["omc", "idumb", "claude", "codex"] {
        let folder = project_of(tool);
        let ids = listed(folder.path());
        assert!(ids.len() > 1, "{tool}: {ids:?}");
        for (id, _) in ids {
            for command in ["status", "explain"] {
                let told = run(folder.path(), &[command, &id]);
                assert!(told.ends_with("[exit code 0]"), "{command} {id}: {told}");
            }
            let json = run(folder.path(), &["status", "--json", &id]);
            assert!(json.contains(&format!(r#""id": "{id}""#)), "{json}");
        }
    }
}

#[test]
fn an_agent_is_named_by_the_session_that_it_is_of_too() {
    for tool in ["claude", "codex"] {
        let folder = project_of(tool);
        let ids = listed(folder.path());
        let (id, above) = ids.iter().find_map(|(id, above)| Some((id, above.as_deref()?))).unwrap();
        let both = format!("{above}/{}", id.split_once(':').unwrap().1);
        assert_eq!(run(folder.path(), &["status", &both]), run(folder.path(), &["status", id]));
        assert_eq!(run(folder.path(), &["explain", &both]), run(folder.path(), &["explain", id]));
        assert!(run(folder.path(), &["logs", &both]).ends_with("[exit code 0]"));
    }
}

#[test]
fn what_another_tool_runs_refuses_a_control_with_that_tools_reason() {
    let (omc, idumb) = (project_of("omc"), project_of("idumb"));
    let shutdown = "use `omc team shutdown`";
    let cases = [
        (&omc, "cancel", "alpha", shutdown),
        (&omc, "cancel", "alpha/task-2", shutdown),
        (&omc, "pause", "alpha", "can't be paused"),
        (&omc, "retry", "alpha/task-2", "claimed with a token"),
        (&idumb, "cancel", "wp-1779294000000-a", "recall it in the session"),
        (&idumb, "pause", "tn-1779295000000-1", "no way to pause"),
    ];
    for (folder, verb, id, why) in cases {
        let told = run(folder.path(), &[verb, id]);
        assert!(told.contains(&format!("{verb} {id}: refused: ")) && told.contains(why), "{told}");
        assert!(told.ends_with("[exit code 3]"), "{told}");
        assert!(!folder.path().join(".quarterdeck").exists(), "nothing is written");
    }
    let told = run(omc.path(), &["logs", "alpha"]);
    assert!(told.contains("alpha is run by no engine") && told.ends_with("[exit code 1]"), "{told}");
    // Also beside an engine's own, whose ids are looked for first.
    quarterdeck(omc.path()).args(["synth", ".quarterdeck", "--live", "1", "--now", NOW]).assert().success();
    let told = run(omc.path(), &["cancel", "alpha"]);
    assert!(told.contains(shutdown) && told.ends_with("[exit code 3]"), "{told}");
    let told = run(omc.path(), &["cancel", "nobody"]);
    assert!(told.contains("begins with") && told.ends_with("[exit code 1]"), "{told}");
}

#[test]
fn what_is_listed_of_every_project_is_explained_and_read_from_anywhere() {
    let folder = project_of("claude");
    let root = folder.path().canonicalize().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let from_there = |arguments: &[&str]| {
        let mut command = quarterdeck(elsewhere.path());
        let output = command.env("HOME", &root).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(from_there(&["explain", "claude:s1"]).0, Some(1), "it is of another project");
    let told = from_there(&["explain", "claude:s1", "--all"]);
    assert_eq!(told, (Some(0), "claude:s1: done; no engine runs it\n".into()));
    let (code, said) = from_there(&["logs", "claude:s1", "--all"]);
    assert!(code == Some(0) && said.contains("Painted."), "{code:?} {said}");
}
