//! The command line, as people and scripts meet it: output, errors, exit codes.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails where something is not there"
)]

#[path = "cli/ids.rs"]
mod ids;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use insta::assert_snapshot;

const NOW: &str = "2026-11-16T09:00:00Z";

/// The program in a folder of its own, with nothing of this machine's environment.
fn quarterdeck(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("quarterdeck").unwrap();
    command.current_dir(folder).env_clear().env("HOME", folder).env("XDG_STATE_HOME", folder.join("state"));
    command
}

/// Runs it and returns everything that can be seen, with the folder's name taken out.
fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = quarterdeck(folder).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| {
        let root = folder.canonicalize().unwrap().display().to_string();
        String::from_utf8(bytes.to_vec()).unwrap().replace(&root, "/project")
    };
    let code = output.status.code().unwrap();
    format!("{}{}[exit code {code}]", text(&output.stdout), text(&output.stderr))
}

fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["synth", ".quarterdeck", "--ended", "2", "--live", "1", "--subtasks", "3", "--now", NOW];
    quarterdeck(folder.path()).args(arguments).assert().success();
    folder
}

#[test]
fn what_cannot_be_read_is_told_also_where_nothing_else_is_there() {
    let cut = r#"{"agents":[{"agent_id":"a1"#;
    let damaged = [
        (".omc/state/subagent-tracking.json", cut, "omc", "corrupt", 1),
        ("specs/state.json", "{", "proofchecker", "corrupt", 1),
        (
            ".local/share/opencode/opencode.db",
            "no database, but long enough for one",
            "opencode",
            "corrupt",
            1,
        ),
        (".local/share/opencode/opencode.db", "", "opencode", "partial", 0),
    ];
    for (path, text, kind, state, code) in damaged {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        // What was written a moment ago may still be in the making.
        let hour = std::time::Duration::from_hours(1);
        let long_ago = std::time::SystemTime::now().checked_sub(hour).unwrap();
        fs::File::options().append(true).open(&file).unwrap().set_modified(long_ago).unwrap();
        let told = run(folder.path(), &["status"]);
        assert!(told.contains(&format!("warning: {kind} /project/")), "{told}");
        assert!(told.contains("Nothing that can be read is delegated here"), "{told}");
        assert!(told.contains(file.file_name().unwrap().to_str().unwrap()), "{told}");
        assert!(told.ends_with(&format!("[exit code {code}]")), "{told}");
        let json = quarterdeck(folder.path()).args(["status", "--json"]).output().unwrap().stdout;
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let sources = json["sources"].as_array().unwrap();
        let states: Vec<&str> =
            sources.iter().filter(|it| it["kind"] == kind).filter_map(|it| it["state"].as_str()).collect();
        assert_eq!(states, [state], "{path}");
    }
}

#[test]
fn without_anything_delegated_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    assert_snapshot!(run(folder.path(), &[]), @r"
    Nothing is delegated here: no .quarterdeck in /project or above it.
    Hand something over with `quarterdeck delegate TASK`, or see how it looks with `quarterdeck demo`.
    [exit code 0]
    ");
    assert_snapshot!(run(folder.path(), &["status", "--json"]), @r#"
    {
      "schema": 1,
      "seq": null,
      "sources": [],
      "nodes": [],
      "anomalies": {
        "count": 0,
        "recent": []
      }
    }
    [exit code 0]
    "#);
}

#[test]
fn the_tree_is_read_from_disk_without_an_engine() {
    let folder = project();
    let shown = run(folder.path(), &["status", "--now", NOW]);
    assert_snapshot!(shown);
    assert_eq!(run(&folder.path().join(".quarterdeck/journal"), &["--now", NOW]), shown, "from any depth");
}

#[test]
fn the_json_is_one_parsable_document_with_every_node() {
    let folder = project();
    let output = quarterdeck(folder.path()).args(["status", "--json"]).output().unwrap();
    let tree: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(tree["schema"], 1);
    let nodes = tree["nodes"].as_array().unwrap();
    let ids: Vec<&str> = nodes.iter().map(|node| node["id"].as_str().unwrap()).collect();
    assert!(ids.len() >= 12, "{ids:?}");
    for node in nodes {
        // Parents stand before their children.
        let at = ids.iter().position(|id| *id == node["id"]).unwrap();
        if let Some(parent) = node["parent"].as_str() {
            assert!(ids[..at].contains(&parent), "{parent}");
        }
    }
    let sum: f64 = nodes.iter().filter_map(|node| node["cost"]["own"].as_f64()).sum();
    let tops = nodes.iter().filter(|node| node["parent"].is_null());
    let rolled: f64 = tops.filter_map(|node| node["cost"]["subtree"].as_f64()).sum();
    assert!((sum - rolled).abs() < 1e-6, "{sum} and {rolled}");
}

#[test]
fn delegations_are_chosen_by_id_task_agent_and_state() {
    let folder = project();
    let tops = |arguments: &[&str]| {
        let output = quarterdeck(folder.path()).arg("status").arg("--json").args(arguments).output().unwrap();
        let tree: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let nodes = tree["nodes"].as_array().unwrap().clone();
        nodes
            .iter()
            .filter(|node| node["parent"].is_null())
            .map(|node| node["task"].to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(tops(&[]).len(), 3);
    assert_eq!(tops(&["--active"]), [r#""task-2""#]);
    assert_eq!(tops(&["--task", "task-1"]), [r#""task-1""#]);
    assert_eq!(tops(&["--from", "orchestrator", "--to", "executor"]).len(), 3);
    assert!(tops(&["--to", "nobody"]).is_empty());
}

#[test]
fn an_id_may_be_cut_short_but_must_name_one() {
    let folder = project();
    let ids = run(folder.path(), &["status", "--now", NOW]);
    let id = ids.split_whitespace().find(|word| word.starts_with("del-")).unwrap().to_owned();
    assert!(run(folder.path(), &["status", &id[..8], "--now", NOW]).contains(&id));
    assert_snapshot!(run(folder.path(), &["status", "del-zzzz"]), @r#"
    error: no delegation's id begins with "del-zzzz".
    `quarterdeck status` lists them.
    [exit code 1]
    "#);
    let several = run(folder.path(), &["status", "del-"]);
    assert!(several.contains("3 delegations' ids begin with \"del-\""), "{several}");
}

#[test]
fn a_folder_that_was_named_must_be_there() {
    let folder = tempfile::tempdir().unwrap();
    assert_snapshot!(run(folder.path(), &["--dir", "nowhere", "status"]), @r"
    error: there is no state folder at nowhere.
    Name another with --dir, or leave it out to look from here up.
    [exit code 1]
    ");
    assert_snapshot!(run(folder.path(), &["doctor", "--folder-only"]), @r"
    error: no state folder here: /project and the folders above it have no .quarterdeck.
    Name one with --dir.
    [exit code 1]
    ");
}

#[test]
fn the_doctor_says_in_plain_words_what_is_around_a_project_with_or_without_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let around = run(folder.path(), &["doctor"]);
    assert!(
        around.starts_with("/project: no state folder here or above; the first delegation makes one.\n"),
        "{around}"
    );
    let project = project();
    let within = run(project.path(), &["doctor"]);
    assert!(within.starts_with(".quarterdeck: all is well"), "{within}");
    for said in [&around, &within] {
        for line in [
            "engine      none runs",
            "usable: simulated\n",
            "codex: ",
            "hooks       no ",
            "sources     no coding agent has left anything",
            "terminal    this output",
            "prices      of 20",
            "system      ",
        ] {
            assert!(said.contains(line), "{line}: {said}");
        }
        assert!(said.ends_with("[exit code 0]"), "{said}");
    }
}

#[test]
fn the_doctor_names_every_source_with_how_it_is_and_counts_one_that_cannot_be_read_as_wrong() {
    let whole = project();
    let tracking = |folder: &Path, text: &str| {
        let file = folder.join(".omc/state/subagent-tracking.json");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    let agents = r#"{"agents":[{"agent_id":"a1","agent_type":"executor","started_at":"2026-11-16T08:59:00Z","status":"running"}]}"#;
    for folder in [whole.path(), tempfile::tempdir().unwrap().path()] {
        tracking(folder, agents);
        let told = run(folder, &["doctor"]);
        assert!(told.contains("sources     omc in .omc: ok, ") && told.ends_with("[exit code 0]"), "{told}");
        tracking(folder, agents.get(..40).unwrap());
        let database = folder.join(".local/share/opencode/opencode.db");
        fs::create_dir_all(database.parent().unwrap()).unwrap();
        fs::write(database, "no database, but long enough for one").unwrap();
        let told = run(folder, &["doctor"]);
        assert!(
            told.contains("WRONG .omc: omc cannot be read in whole: state/subagent-tracking.json: "),
            "{told}"
        );
        assert!(told.contains("WRONG .local/share/opencode: opencode cannot be read: "), "{told}");
        assert!(told.contains("opencode in .local/share/opencode: see above"), "{told}");
        assert!(told.ends_with("[exit code 1]"), "{told}");
        for other in ["--folder-only", "--engine-only"] {
            let told = run(folder, &["doctor", other]);
            assert!(!told.contains("opencode.db"), "{told}");
        }
    }
}

#[test]
fn the_doctor_names_what_is_odd_in_settings_themes_and_keys() {
    let folder = project();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("quarterdeck.toml", "mode = \"sugest\"\n\n[limits]\nmax-depht = 3\n");
    write(".quarterdeck/themes/mine.toml", "inherits = \"nosuch\"\n");
    write(".config/quarterdeck/keys.toml", "[normal]\nfly = \"z\"\n");
    let found = run(folder.path(), &["doctor"]);
    for part in ["note  quarterdeck.toml:1: ", "sugest", "maxDepht", "nosuch", "mine.toml: ", "keys.toml: "] {
        assert!(found.contains(part), "{part:?} is not in\n{found}");
    }
    assert!(!found.contains("all is well") && found.ends_with("[exit code 0]"), "{found}");
    write("quarterdeck.toml", "mode = \n");
    for folder in [folder.path(), without_folder(&folder).path()] {
        let found = run(folder, &["doctor"]);
        assert!(found.contains("WRONG quarterdeck.toml:1: "), "{found}");
        assert!(found.ends_with("[exit code 1]"), "{found}");
    }
    assert!(run(folder.path(), &["doctor", "--folder-only"]).contains("all is well"));
}

/// A project with the settings of another one, and no state folder.
fn without_folder(other: &tempfile::TempDir) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(other.path().join("quarterdeck.toml"), folder.path().join("quarterdeck.toml")).unwrap();
    folder
}

#[test]
fn a_theme_that_is_not_there_is_refused_with_those_that_are() {
    let folder = project();
    let themes = folder.path().join(".quarterdeck/themes");
    fs::create_dir_all(&themes).unwrap();
    fs::write(themes.join("mine.toml"), "inherits = \"paper\"\n").unwrap();
    let refused = run(folder.path(), &["--plain", "--theme", "nosuch"]);
    assert!(refused.starts_with("error: there is no theme \"nosuch\"."), "{refused}");
    for part in ["midnight", "paper", "mine", "[exit code 1]"] {
        assert!(refused.contains(part), "{part:?} is not in\n{refused}");
    }
}

#[test]
fn the_doctor_finds_nothing_wrong_with_a_whole_folder() {
    let folder = project();
    assert_snapshot!(run(folder.path(), &["doctor", "--folder-only"]), @r"
    .quarterdeck: all is well (9 things looked at).
    [exit code 0]
    ");
    assert!(run(folder.path(), &["doctor", "--salvage"]).contains("there is nothing to salvage"));
}

/// Flips a byte in the middle of the first segment, far from the last batch.
fn damage(folder: &Path) {
    let path = folder.join(".quarterdeck/journal/00000000000001.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.len() / 3;
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
}

#[test]
fn damage_is_named_with_its_place_and_salvage_is_the_way_out() {
    let folder = project();
    damage(folder.path());
    let found = run(folder.path(), &["doctor"]);
    assert!(found.contains("WRONG .quarterdeck/journal/00000000000001.jsonl"), "{found}");
    assert!(found.contains("doctor --salvage") && found.ends_with("[exit code 1]"), "{found}");
    let salvaged = run(folder.path(), &["doctor", "--salvage"]);
    assert!(salvaged.contains("The originals are in .quarterdeck/salvage/1"), "{salvaged}");
    assert!(salvaged.ends_with("[exit code 0]"), "{salvaged}");
    let tree = run(folder.path(), &["status", "--now", NOW]);
    assert!(tree.contains("3 delegations ·") && tree.ends_with("[exit code 0]"), "{tree}");
}

#[test]
fn after_a_salvage_nothing_readable_is_lost_and_the_doctor_is_content() {
    let folder = project();
    let state = folder.path().join(".quarterdeck");
    let views = fs::read(state.join("delegations.json")).unwrap();
    fs::remove_dir_all(state.join("snapshot")).unwrap();
    damage(folder.path());
    let salvaged = run(folder.path(), &["doctor", "--salvage"]);
    assert!(salvaged.ends_with("[exit code 0]"), "{salvaged}");
    assert_eq!(
        fs::read(state.join("salvage/1/delegations.json")).unwrap(),
        views,
        "what was made from it is kept"
    );
    assert!(run(folder.path(), &["doctor"]).ends_with("[exit code 0]"));
}

#[test]
fn the_doctor_and_the_tree_agree_that_an_emptied_folder_is_damaged() {
    let folder = project();
    for entry in fs::read_dir(folder.path().join(".quarterdeck/journal")).unwrap() {
        fs::write(entry.unwrap().path(), "").unwrap();
    }
    fs::remove_dir_all(folder.path().join(".quarterdeck/snapshot")).unwrap();
    for command in ["status", "doctor"] {
        let shown = run(folder.path(), &[command]);
        assert!(shown.ends_with("[exit code 1]"), "{shown}");
        assert!(shown.contains("00000000000001.jsonl"), "{shown}");
    }
}

#[test]
fn what_the_journal_can_replace_is_a_note_not_an_alarm() {
    let folder = project();
    let state = folder.path().join(".quarterdeck");
    let snapshot = fs::read_dir(state.join("snapshot")).unwrap().next().unwrap().unwrap().path();
    fs::write(&snapshot, "torn").unwrap();
    fs::write(state.join("registry.json"), "").unwrap();
    let found = run(folder.path(), &["doctor"]);
    assert!(
        found.contains("note  .quarterdeck/registry.json") && found.ends_with("[exit code 0]"),
        "{found}"
    );
    assert!(run(folder.path(), &["status", "--now", NOW]).contains("3 delegations"), "read from the journal");
}

#[test]
fn the_doctor_goes_on_past_what_it_cannot_look_at() {
    for odd in ["journal", "delegations.json", "history.jsonl", "engine.lock", "inbox"] {
        let folder = project();
        let path = folder.path().join(".quarterdeck").join(odd);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
            fs::write(&path, "a file where a folder should be").unwrap();
        } else {
            let _ = fs::remove_file(&path);
            fs::create_dir(&path).unwrap();
        }
        let found = run(folder.path(), &["doctor", "-v"]);
        let named = format!("WRONG .quarterdeck/{odd}: cannot ");
        assert!(found.contains(&named) && found.contains("Check who owns it"), "{odd}: {found}");
        assert!(found.contains(".gitignore") && found.ends_with("[exit code 1]"), "{odd}: {found}");
    }
}

#[test]
fn what_left_the_model_is_found_in_the_history_by_id_and_by_task() {
    let folder = tempfile::tempdir().unwrap();
    let arguments =
        ["synth", ".quarterdeck", "--ended", "210", "--live", "0", "--subtasks", "2", "--now", NOW];
    quarterdeck(folder.path()).args(arguments).assert().success();
    let history = fs::read_to_string(folder.path().join(".quarterdeck/history.jsonl")).unwrap();
    let id = history.split('"').nth(3).unwrap().to_owned();
    assert!(!run(folder.path(), &["status", "--now", NOW]).contains(&id));
    let shown = run(folder.path(), &["status", &id[..9], "--now", NOW]);
    assert!(shown.contains(&id) && shown.contains("1 delegation · 2 steps"), "{shown}");
    assert!(run(folder.path(), &["status", "--task", "task-0", "--now", NOW]).contains(&id));
}

#[test]
fn a_relative_folder_and_an_empty_variable_are_understood() {
    let folder = project();
    let output =
        quarterdeck(folder.path()).args(["--dir", ".quarterdeck", "status", "--json"]).output().unwrap();
    let tree: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let root = folder.path().canonicalize().unwrap();
    assert_eq!(Path::new(tree["sources"][0]["root"].as_str().unwrap()).canonicalize().unwrap(), root);
    quarterdeck(folder.path()).env("QUARTERDECK_DIR", "").arg("status").assert().success();
    let elsewhere = tempfile::tempdir().unwrap();
    let named = folder.path().join(".quarterdeck");
    let output = quarterdeck(elsewhere.path()).env("QUARTERDECK_DIR", &named).arg("status").output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("3 delegations"));
}

#[test]
fn a_plain_pair_is_read_and_what_is_odd_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let store = r#"{"version":"1.0.0","delegations":[
        {"id":"deleg-1","fromAgent":{"name":"coordinator","prompt":"…"},"toAgent":"executor","taskId":191,
         "context":"Build the thing","status":"accepted","createdAt":1794816000000},
        {"id":"deleg-2","fromAgent":"coordinator","toAgent":"investigator","taskId":"tn-2","status":"pending",
         "createdAt":1794816000000,"expiresAt":1794817800000},
        {"toAgent":"nameless"}]}"#;
    let registry = r#"{"sess_1794816010_a1b2c3":{"command":"implement","subagent":"task-executor","task_number":191,
        "start_time":"2026-11-16T08:00:10Z","timeout":7200,"deadline":"2026-11-16T10:00:10Z","status":"running",
        "delegation_depth":1,"delegation_path":["orchestrator","implement","task-executor"]}}"#;
    fs::write(folder.path().join("s.json"), store).unwrap();
    fs::write(folder.path().join("r.json"), registry).unwrap();
    let pair = ["status", "--store", "s.json", "--registry", "r.json", "--now", NOW];
    assert_snapshot!(run(folder.path(), &pair));
    fs::write(folder.path().join("s.json"), &store[..200]).unwrap();
    assert_snapshot!(run(folder.path(), &["status", "--store", "s.json"]), @r"
    error: cannot read s.json: it is not JSON: EOF while parsing an object at line 3 column 56.
    Nothing of it was read before, so there is no last good state to show.
    [exit code 1]
    ");
    assert_snapshot!(run(folder.path(), &["status", "--registry", "gone.json"]), @r"
    error: gone.json is not there.
    Check the path.
    [exit code 1]
    ");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::{Command, Stdio};
    let folder = project();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("quarterdeck"))
        .args(["status", "--json"])
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn hostile_text_reaches_no_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let store = r#"{"delegations":[{"id":"d\u001b[2J","title":"\u001b]0;owned\u0007a\u202eb\u0000c","status":"\u001b[31mrunning",
        "lastAction":"\u009b31m","agent":"x\ny"}]}"#;
    fs::write(folder.path().join("s.json"), store).unwrap();
    let shown = run(folder.path(), &["status", "--store", "s.json"]);
    assert!(!shown.contains(|c: char| c != '\n' && (c.is_control() || c == '\u{202e}')), "{shown:?}");
    assert!(shown.contains("abc"), "{shown}");
}

#[test]
fn the_readmes_example_works_where_nothing_is_yet() {
    let folder = tempfile::tempdir().unwrap();
    quarterdeck(folder.path()).args(["synth", "fleet/.quarterdeck"]).assert().success();
    let shown = run(folder.path(), &["--dir", "fleet/.quarterdeck"]);
    assert!(shown.contains("16 delegations") && shown.ends_with("[exit code 0]"), "{shown}");
}

#[test]
fn help_names_every_command_and_hides_what_is_for_us() {
    let folder = tempfile::tempdir().unwrap();
    let help = run(folder.path(), &["--help"]);
    assert!(help.contains("status") && help.contains("doctor") && !help.contains("synth"), "{help}");
}

#[test]
fn a_picture_in_a_theme_that_is_none_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let shown = run(folder.path(), &["screenshot", "--demo", "--theme", "nope"]);
    assert!(shown.contains("there is no theme \"nope\".") && shown.contains("midnight, paper"), "{shown}");
    assert!(shown.ends_with("[exit code 1]"), "{shown}");
}

#[test]
fn a_picture_of_the_history_is_read_before_it_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let demo = run(folder.path(), &["screenshot", "--demo", "--keys", "4"]);
    assert!(demo.contains("1 of 18") && !demo.contains("Reading"), "{demo}");
    let arguments =
        ["synth", ".quarterdeck", "--ended", "210", "--live", "0", "--subtasks", "1", "--now", NOW];
    quarterdeck(folder.path()).args(arguments).assert().success();
    let shown = run(folder.path(), &["screenshot", "--keys", "4", "--now", NOW]);
    assert!(shown.contains("of 10") && !shown.contains("Reading"), "{shown}");
}

/// Writes a session of Claude Code that worked in a folder, and ended.
fn painted(root: &Path) {
    let cwd = root.display().to_string();
    let name: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let transcripts = root.join(".claude/projects").join(name);
    fs::create_dir_all(&transcripts).unwrap();
    let lines = format!(
        r#"{{"type":"user","uuid":"u1","sessionId":"s1","timestamp":"2026-11-16T08:00:00Z","cwd":"{cwd}","message":{{"role":"user","content":"Paint the shed"}}}}
{{"type":"assistant","uuid":"u2","sessionId":"s1","timestamp":"2026-11-16T08:00:09Z","cwd":"{cwd}","requestId":"r1","message":{{"id":"m1","model":"claude-opus-5-5","stop_reason":"end_turn","content":[{{"type":"text","text":"Painted."}}],"usage":{{"input_tokens":1000,"output_tokens":200}}}}}}
"#
    );
    fs::write(transcripts.join("s1.jsonl"), lines).unwrap();
}

#[test]
fn a_projects_own_sessions_are_shown_without_any_set_up() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    painted(&root);
    assert_snapshot!(run(&root, &["--now", NOW]), @r"
    ✔ Paint the shed  done  claude  –  9s  1.2K  <$0.01

    1 session: 1 done · 1.2K tokens · <$0.01
    [exit code 0]
    ");
    assert_snapshot!(run(&root, &["--now", NOW, "--engine-only"]), @r"
    Nothing is delegated here: no .quarterdeck in /project or above it.
    Hand something over with `quarterdeck delegate TASK`, or see how it looks with `quarterdeck demo`.
    [exit code 0]
    ");
}

#[test]
fn a_session_that_no_engine_runs_is_explained_and_its_log_is_what_its_tool_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    painted(&root);
    assert_snapshot!(run(&root, &["explain", "claude:s1"]), @r"
    claude:s1: done; no engine runs it
    [exit code 0]
    ");
    assert_snapshot!(run(&root, &["logs", "claude:s1"]), @r"
    > Paint the shed
    Painted.
    [exit code 0]
    ");
    // What is over does not grow: who follows it is not kept.
    assert_eq!(run(&root, &["logs", "-f", "claude:s"]), run(&root, &["logs", "claude:s1"]));
    let json = run(&root, &["logs", "--json", "claude:s1"]);
    assert!(json.contains(r#"{"log":"output","text":"Painted.","at":"2026-11-16T08:00:09.000Z"}"#), "{json}");
    for command in ["explain", "logs"] {
        let told = run(&root, &[command, "claude:s2"]);
        assert!(
            told.contains("Nothing here is known as claude:s2. `quarterdeck status --json` lists"),
            "{told}"
        );
        assert!(told.ends_with("[exit code 1]"), "{told}");
    }
    let told = run(&root, &["logs", "claude:s1", "--attempt", "2"]);
    assert!(told.contains("it has no attempts"), "{told}");
    for command in
        [&["cancel", "claude:s1"][..], &["pause", "claude:s1", "--preview"], &["resume", "claude:s1"]]
    {
        let told = run(&root, command);
        assert!(told.contains("claude:s1: refused: It is over (done)"), "{told}");
        assert!(told.ends_with("[exit code 3]"), "{told}");
    }
    assert!(!root.join(".quarterdeck").exists(), "nothing is written");
}

/// Returns every file below a folder, apart from the state folder's, with what is in it.
fn files(folder: &Path) -> std::collections::BTreeMap<std::path::PathBuf, String> {
    let mut found = std::collections::BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with(".quarterdeck") {
                folders.push(path);
            } else if path.is_file() {
                let text = fs::read_to_string(&path).unwrap();
                found.insert(path, text);
            }
        }
    }
    found
}

#[test]
fn a_set_up_is_shown_first_done_once_and_taken_out_to_the_last_byte() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".claude")).unwrap();
    fs::create_dir(folder.path().join(".codex")).unwrap();
    let settings = folder.path().join(".claude/settings.json");
    fs::write(&settings, "{ \"hooks\": {\"Stop\": [{\"hooks\":[{\"command\":\"say hi\"}]}]} }\n").unwrap();
    let before = files(folder.path());
    let shown = run(folder.path(), &["init", "--dry-run"]);
    assert!(
        shown.contains("changed  .claude/settings.json") && shown.contains("Nothing was written."),
        "{shown}"
    );
    assert_eq!(files(folder.path()), before);
    assert!(
        run(folder.path(), &["init"]).ends_with("Nothing was written.\n[exit code 1]"),
        "nobody said yes"
    );
    assert_eq!(files(folder.path()), before);
    let done = run(folder.path(), &["init", "--yes", "--deploy-agents"]);
    assert!(done.contains("Done.") && done.ends_with("[exit code 0]"), "{done}");
    let with = files(folder.path());
    assert!(with[&folder.path().join(".codex/hooks.json")].contains("hook PreToolUse"));
    assert!(with.contains_key(&folder.path().join(".opencode/agents/executor.md")));
    let again = run(folder.path(), &["init", "--yes", "--deploy-agents"]);
    assert_eq!(again, "Everything is set up already.\n[exit code 0]");
    let doctor = run(folder.path(), &["doctor"]);
    assert!(doctor.contains("Claude Code calls it, by .claude/settings.json"), "{doctor}");
    assert!(doctor.contains("Codex calls it, by "), "{doctor}");
    let out = run(folder.path(), &["init", "--uninstall", "--yes"]);
    assert!(out.ends_with("Taken out.\n[exit code 0]"), "{out}");
    assert_eq!(files(folder.path()), before);
}

#[test]
fn a_broken_settings_file_stops_the_set_up_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".claude")).unwrap();
    fs::write(folder.path().join(".claude/settings.json"), "{\n  \"hooks\": [,]\n}").unwrap();
    let before = files(folder.path());
    let refused = run(folder.path(), &["init", "--yes"]);
    assert!(
        refused.contains(".claude/settings.json: line 2: ") && refused.ends_with("[exit code 1]"),
        "{refused}"
    );
    assert_eq!(files(folder.path()), before);
}

#[test]
fn of_every_project_each_tree_says_whose_it_is() {
    let home = tempfile::tempdir().unwrap();
    for (id, folder, text) in [("s1", "/srv/shop", "Paint the shed"), ("s2", "/srv/desk", "Tidy up")] {
        let line = serde_json::json!({
            "type": "user", "uuid": id, "sessionId": id, "timestamp": NOW, "cwd": folder,
            "message": {"role": "user", "content": text},
        });
        let file = home.path().join(format!(".claude/projects/{}/{id}.jsonl", folder.replace('/', "-")));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{line}\n")).unwrap();
    }
    let text = run(home.path(), &["status", "--all", "--now", NOW]);
    assert!(text.contains("shop › Paint the shed") && text.contains("desk › Tidy up"), "{text}");
    let json = quarterdeck(home.path()).args(["status", "--all", "--json", "--now", NOW]).output().unwrap();
    let tree: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let of = |title: &str| {
        let nodes = tree["nodes"].as_array().unwrap();
        nodes.iter().find(|node| node["title"] == title).map(|node| node["workspace"].clone()).unwrap()
    };
    assert_eq!((of("Paint the shed"), of("Tidy up")), ("/srv/shop".into(), "/srv/desk".into()));
}
