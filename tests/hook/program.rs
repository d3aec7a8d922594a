//! The program as a coding agent runs it: both forms of the answer, the debug line, trouble, many at once, an engine.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use quarterdeck::model::Model;
use quarterdeck::model::key::{NodeKey, SourceId};
use quarterdeck::model::time::Stamp;
use quarterdeck::source::feed::Feed;
use quarterdeck::source::follow::Follower;
use quarterdeck::store::disk::RealDisk;
use quarterdeck::store::folder::StateFolder;
use quarterdeck::store::inbox;
use serde_json::{Value, json};

const AGENT: &str = include_str!("inputs/agent.json");
const BASH: &str = include_str!("inputs/bash.json");
/// How long an engine may take to do anything on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

fn project() -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir(temp.path().join(".quarterdeck")).unwrap();
    let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o700);
    fs::set_permissions(temp.path().join(".quarterdeck"), mode).unwrap();
    temp
}

fn quarterdeck(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("quarterdeck").unwrap();
    command.current_dir(folder).env_clear().env("HOME", folder).env("XDG_STATE_HOME", folder.join("state"));
    command
}

fn hook(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let input = input.replace("CWD", folder.to_str().unwrap());
    quarterdeck(folder).arg("hook").args(arguments).write_stdin(input).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn every_field_of_the_input_goes_back_byte_for_byte_with_the_model_behind_it() {
    let temp = project();
    let output = hook(temp.path(), &["PreToolUse"], AGENT);
    let out = text(&output.stdout);
    let given = AGENT.split_once("\"tool_input\":").unwrap().1.split_once("},\"tool_use_id\"").unwrap().0;
    assert!(out.contains(&format!("\"updatedInput\":{given},\"model\":\"haiku\"}}")), "{out}");
    assert!(output.stderr.is_empty() && output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn the_seed_form_always_answers() {
    let temp = project();
    let answer = |input| -> Value {
        serde_json::from_slice(&hook(temp.path(), &["PreToolUse", "--format", "seed"], input).stdout).unwrap()
    };
    let injected = answer(AGENT);
    assert_eq!((&injected["continue"], &injected["modifiedInput"]["model"]), (&json!(true), &json!("haiku")));
    let other = answer(BASH);
    assert_eq!(
        other,
        json!({ "continue": true, "modifiedInput": { "command": "ls", "description": "List" } })
    );
}

#[test]
fn the_older_form_tells_what_is_under_way() {
    let temp = project();
    let told = |input: &str| -> Value {
        let output = hook(temp.path(), &["PreToolUse", "--format", "seed"], input);
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["message"].clone()
    };
    assert_eq!(told(BASH), Value::Null, "nothing is");
    let message = told(AGENT);
    assert!(message.as_str().is_some_and(|text| text.contains("Explore the codebase")), "{message}");
}

#[test]
fn cases_6_and_7_the_debug_line_is_said_only_where_it_is_wanted() {
    let temp = project();
    let err = |name: &str, value: &str| {
        let input = AGENT.replace("CWD", temp.path().to_str().unwrap());
        let output = quarterdeck(temp.path())
            .env(name, value)
            .args(["hook", "PreToolUse"])
            .write_stdin(input)
            .output();
        text(&output.unwrap().stderr)
    };
    assert_eq!(err("OMC_DEBUG", "false"), "");
    let line = "[OMC] Auto-injecting model: haiku for explore";
    assert!(err("OMC_DEBUG", "true").lines().any(|said| said == line));
    assert!(err("QUARTERDECK_DEBUG", "1").lines().any(|said| said == line));
}

#[test]
fn whatever_is_wrong_with_the_hook_passes_unless_it_is_told_to_fail_closed() {
    let temp = project();
    for (arguments, input) in
        [(vec!["PreToolUse"], "{half"), (vec!["Nonsense"], "{}"), (vec![], "{}"), (vec!["Stop"], "")]
    {
        let output = hook(temp.path(), &arguments, input);
        assert!(output.status.success() && output.stdout.is_empty(), "{arguments:?}");
        assert!(text(&output.stderr).contains("the call passes"), "{arguments:?}");
    }
    let output = hook(temp.path(), &["PreToolUse", "--fail-closed"], "{half");
    assert_eq!(output.status.code(), Some(2));
    fs::write(temp.path().join("quarterdeck.toml"), "[hook\n").unwrap();
    let output = hook(temp.path(), &["PreToolUse"], AGENT);
    assert!(text(&output.stdout).contains("haiku") && text(&output.stderr).contains("built-in settings"));
}

#[test]
fn without_a_state_folder_the_model_is_put_in_and_nothing_is_made() {
    let temp = tempfile::tempdir().unwrap();
    let output = hook(temp.path(), &["PreToolUse"], AGENT);
    assert!(text(&output.stdout).contains("haiku") && output.status.success());
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
}

#[test]
fn whose_session_it_is_follows_from_its_transcript() {
    let temp = project();
    let codex =
        AGENT.replace("/nowhere/0b1f9d1e-6a1c-4c52-9f0e-2f6f2f8a1c11.jsonl", "/x/rollout-2026-1.jsonl");
    for (input, tool) in [(AGENT.to_owned(), "claude"), (codex.replace("toolu_01A", "toolu_2"), "codex")] {
        hook(temp.path(), &["PreToolUse"], &input);
        let inbox = fs::read_dir(temp.path().join(".quarterdeck/inbox")).unwrap();
        let all: String = inbox.flatten().map(|file| fs::read_to_string(file.path()).unwrap()).collect();
        assert!(all.lines().last().unwrap().contains(&format!("\"tool\":\"{tool}\"")), "{all}");
    }
}

#[test]
fn no_key_is_in_what_a_hook_records() {
    let temp = project();
    let mut input: Value = serde_json::from_str(AGENT).unwrap();
    input["tool_input"]["prompt"] = json!("log in with ghp_CanaryCanaryCanary0123 first");
    let output = hook(temp.path(), &["PreToolUse"], &input.to_string());
    assert!(text(&output.stdout).contains("ghp_CanaryCanaryCanary0123"), "the call itself is as it was");
    let inbox = fs::read_dir(temp.path().join(".quarterdeck/inbox")).unwrap();
    let all: String = inbox.flatten().map(|file| fs::read_to_string(file.path()).unwrap()).collect();
    assert!(all.contains("ghp_[redacted] first") && !all.contains("Canary"), "{all}");
}

/// Returns the ids of all records in a journal.
fn journalled(folder: &StateFolder) -> Vec<String> {
    let mut ids = Vec::new();
    for file in fs::read_dir(folder.journal_dir()).into_iter().flatten().flatten() {
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        for line in text.lines().filter(|line| line.contains("\"hook:recorded\"")) {
            let id = line.split_once("\"data\":{\"id\":\"").unwrap().1;
            ids.push(id.split('"').next().unwrap().to_owned());
        }
    }
    ids.sort();
    ids
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn many_hooks_at_once_leave_every_record_once_and_an_engine_takes_each_over_once() {
    const HOOKS: usize = 64;
    let temp = project();
    let folder = StateFolder::at(temp.path().join(".quarterdeck"));
    std::thread::scope(|scope| {
        for n in 0..HOOKS {
            let temp = &temp;
            scope.spawn(move || {
                let input = AGENT
                    .replace("toolu_01A", &format!("toolu_{n}"))
                    .replace("2f6f2f8a1c11", &format!("{}", n % 4));
                assert!(hook(temp.path(), &["PreToolUse"], &input).status.success());
            });
        }
    });
    let sessions = inbox::waiting(&RealDisk, &folder).unwrap().sessions;
    let all = |session: &String| inbox::records(&RealDisk, &folder, session, 0).unwrap();
    let mut ids: Vec<String> =
        sessions.iter().flat_map(|session| all(session).records).map(|(id, _)| id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((sessions.len(), ids.len(), sessions.iter().map(|s| all(s).bad).sum::<u64>()), (4, HOOKS, 0));
    let seen: Value =
        serde_json::from_slice(&quarterdeck(temp.path()).args(["status", "--json"]).output().unwrap().stdout)
            .unwrap();
    let agents = seen["nodes"].as_array().unwrap().iter().filter(|node| node["kind"] == "agent").count();
    assert_eq!(agents, HOOKS, "they are seen before any engine runs");
    let copy = fs::read(folder.hook_file(&sessions[0]).unwrap()).unwrap();
    quarterdeck(temp.path()).args(["engine", "start"]).assert().success();
    until("the take-over", || inbox::waiting(&RealDisk, &folder).unwrap().sessions.is_empty());
    assert_eq!(journalled(&folder), ids);
    // What an engine had taken over before it died comes again, and is known.
    fs::write(folder.hook_file(&sessions[0]).unwrap(), copy).unwrap();
    // And what is told to the engine itself is there when the hook ends, or soon after, and once.
    hook(temp.path(), &["PreToolUse"], &AGENT.replace("toolu_01A", "toolu_live"));
    hook(temp.path(), &["PreToolUse"], &AGENT.replace("toolu_01A", "toolu_live"));
    until("the second take-over", || {
        inbox::waiting(&RealDisk, &folder).unwrap().sessions.is_empty() && journalled(&folder).len() > HOOKS
    });
    quarterdeck(temp.path()).args(["engine", "stop"]).assert().success();
    ids.push("called-toolu_live".into());
    ids.sort();
    assert_eq!(journalled(&folder), ids);
}

/// So long many run at once; `QD_HOOK_SECONDS=10` for the long run.
fn storm_for() -> Duration {
    let seconds = std::env::var("QD_HOOK_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(2))
}

#[test]
fn sixty_four_at_once_without_a_pause_while_an_engine_comes_and_goes_leave_every_record_once() {
    const AT_ONCE: usize = 64;
    let temp = project();
    let folder = StateFolder::at(temp.path().join(".quarterdeck"));
    let until = Instant::now() + storm_for();
    let told: Vec<String> = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for thread in 0..AT_ONCE {
            let temp = &temp;
            threads.push(scope.spawn(move || {
                let mut told = Vec::new();
                while told.is_empty() || Instant::now() < until {
                    let call = format!("toolu_{thread}_{}", told.len());
                    let input =
                        AGENT.replace("toolu_01A", &call).replace("2f6f2f8a1c11", &format!("{}", thread % 8));
                    assert!(hook(temp.path(), &["PreToolUse"], &input).status.success());
                    told.push(format!("called-{call}"));
                }
                told
            }));
        }
        quarterdeck(temp.path()).args(["engine", "start"]).assert().success();
        quarterdeck(temp.path()).args(["engine", "stop"]).assert().success();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    quarterdeck(temp.path()).args(["engine", "start"]).assert().success();
    self::until("the last take-over", || inbox::waiting(&RealDisk, &folder).unwrap().sessions.is_empty());
    quarterdeck(temp.path()).args(["engine", "stop"]).assert().success();
    // Much of the journal is in a snapshot by now: what counts is what everybody makes of both.
    let known = remembered(&folder);
    let once: Vec<(String, usize)> = told.into_iter().map(|id| (id, 1)).collect();
    assert_eq!(known, once.into_iter().collect());
}

/// Returns how often each call was recorded, as the model of a folder has it.
fn remembered(folder: &StateFolder) -> std::collections::BTreeMap<String, usize> {
    let mut model = Model::default();
    let mut follower = Follower::new(folder.clone(), SourceId(0));
    loop {
        let batch = follower.poll(Stamp::from_millis(0));
        let _ = model.apply_all(batch.facts);
        if !batch.more {
            break;
        }
    }
    let calls = model.nodes().filter_map(|(_, node)| {
        let call = node.keys.iter().find_map(|key| {
            let NodeKey::ToolUse(call) = key else { return None };
            Some(format!("called-{call}"))
        });
        let times = node.timeline.iter().filter(|moment| moment.name.ends_with("called")).count();
        Some((call?, times))
    });
    calls.collect()
}

/// Returns the hook's answer to a tool call of a session, made while it may be held.
fn call_of(folder: &Path, session: &str) -> Output {
    hook(folder, &["PreToolUse"], &BASH.replace("0b1f9d1e-6a1c-4c52-9f0e-2f6f2f8a1c11", session))
}

#[test]
fn a_control_of_a_session_that_no_engine_runs_is_confirmed_by_its_hooks_own_record() {
    let temp = project();
    fs::write(temp.path().join("quarterdeck.toml"), "[hook]\nhold = 1000\n").unwrap();
    let control = |arguments: &[&str]| {
        let output = quarterdeck(temp.path()).args(arguments).output().unwrap();
        (output.status.code(), text(&output.stdout))
    };
    let order = temp.path().join(".quarterdeck/holds/s1.json");
    // No hook of it was ever heard: there is nobody who could do it.
    for arguments in
        [&["pause", "claude:s1"][..], &["resume", "claude:s1"], &["cancel", "claude:s1", "--preview"]]
    {
        let (code, said) = control(arguments);
        assert!(
            code == Some(3) && said.contains("refused: Nothing here is known as claude:s1"),
            "{code:?} {said}"
        );
    }
    hook(temp.path(), &["SessionStart"], r#"{"session_id":"s1","source":"startup","cwd":"CWD"}"#);
    let (code, said) = control(&["cancel", "claude:s1", "--preview"]);
    assert!(
        code == Some(0) && said.starts_with("cancel would leave word for the hook of claude:s1"),
        "{said}"
    );
    let (code, said) = control(&["resume", "claude:s1"]);
    assert!(code == Some(3) && said.contains("refused: Nothing was left for its hook"), "{code:?} {said}");
    assert!(!order.exists(), "a preview and a refusal leave nothing");
    // Nobody calls a tool: it is not done, and nothing else is said.
    let (code, said) = control(&["pause", "claude:s1", "--wait", "1s"]);
    assert!(code == Some(4) && said.contains("at its next tool call"), "{code:?} {said}");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| control(&["pause", "claude:s1", "--wait", "2m"]));
        until("the order is left", || order.exists());
        until("the pause is confirmed", || {
            // Held for a second, then denied with the request to try again.
            let held = call_of(temp.path(), "s1");
            assert!(text(&held.stdout).contains("A person paused this"), "{}", text(&held.stdout));
            waits.is_finished()
        });
        let (code, said) = waits.join().unwrap();
        assert!(
            code == Some(0) && said.contains("✓ pause claude:s1: Paused by a person."),
            "{code:?} {said}"
        );
    });
    let (code, said) = control(&["resume", "claude:s1"]);
    assert!(code == Some(0) && said.contains("✓ resume"), "{code:?} {said}");
    assert!(text(&call_of(temp.path(), "s1").stdout).is_empty());
    // The same with an engine, which writes the record down.
    quarterdeck(temp.path()).args(["engine", "start"]).assert().success();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| control(&["cancel", "claude:s1", "--wait", "2m"]));
        until("the cancel is confirmed", || {
            call_of(temp.path(), "s1");
            waits.is_finished()
        });
        let (code, said) = waits.join().unwrap();
        assert!(code == Some(0) && said.contains("Told to stop at its next tool call"), "{code:?} {said}");
    });
    quarterdeck(temp.path()).args(["engine", "stop"]).assert().success();
    // What is over calls no tool any more: no word is left for it.
    control(&["resume", "claude:s1"]);
    hook(temp.path(), &["SessionEnd"], r#"{"session_id":"s1","reason":"exit","cwd":"CWD"}"#);
    let (code, said) = control(&["cancel", "claude:s1"]);
    assert!(code == Some(3) && said.contains("refused: It is over (done)"), "{code:?} {said}");
    assert!(!order.exists());
}

#[test]
fn a_hook_that_keeps_no_record_is_known_by_what_it_keeps_between_two_calls() {
    let temp = project();
    fs::write(temp.path().join("quarterdeck.toml"), "[hook]\nrecord = false\n").unwrap();
    let cwd = temp.path().canonicalize().unwrap();
    let name: String = cwd.to_str().unwrap().replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    let transcript = temp.path().join(".claude/projects").join(name).join("s1.jsonl");
    fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let spoke = Stamp::from_millis(0).plus(since).minus(Duration::from_mins(20)).to_string();
    let line = json!({ "type": "user", "uuid": "u", "sessionId": "s1", "timestamp": spoke,
        "cwd": cwd, "message": { "role": "user", "content": "Mend it." } });
    fs::write(transcript, format!("{line}\n")).unwrap();
    let pause = || {
        let output = quarterdeck(temp.path()).args(["pause", "claude:s1"]).output().unwrap();
        (output.status.code(), text(&output.stdout))
    };
    let (code, said) = pause();
    assert!(
        code == Some(3) && said.contains("no process and no hook of it is known, no sign since 2"),
        "{said}"
    );
    assert!(said.contains("Z. `quarterdeck init` sets the hook up."), "{said}");
    hook(temp.path(), &["PreToolUse"], &AGENT.replace("0b1f9d1e-6a1c-4c52-9f0e-2f6f2f8a1c11", "s1"));
    let (code, said) = pause();
    assert!(
        code == Some(0) && said.contains("at its next tool call") && said.contains("no sign for"),
        "{said}"
    );
    assert!(temp.path().join(".quarterdeck/holds/s1.json").exists());
}
