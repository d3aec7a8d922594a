//! The command line around a running engine: waiting, following, handing over, and how things ended.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command};

use quarterdeck::store::disk::RealDisk;
use quarterdeck::store::folder::StateFolder;
use quarterdeck::store::inbox;
use serde_json::Value;

use crate::deck::{Deck, journal, text, wait_until};

/// A command that stays; what it prints is read line by line.
struct Follower {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Follower {
    fn new(deck: &Deck, arguments: &[&str]) -> Self {
        let mut child = deck.spawn(arguments);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads on until a line has this in it; the lines end only with the program.
    fn read_to(&mut self, wanted: &str) -> String {
        let found = self.lines.by_ref().map(Result::unwrap).find(|line| line.contains(wanted));
        assert!(found.is_some(), "{wanted:?} never came");
        found.unwrap()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_log_is_followed_to_the_end_of_its_step() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "slow"]);
    wait_until("it runs", || deck.lines("slow.starts") == 1);
    let mut follower = Follower::new(&deck, &["logs", "-f", &format!("{id}/st-1")]);
    fs::write(deck.path("go"), "").unwrap();
    assert_eq!(follower.read_to("finished"), "finished");
    follower.read_to("■ Done");
    assert!(follower.lines.next().is_none(), "it ends with its step");
    assert!(follower.child.wait().unwrap().success());
}

#[test]
fn the_logs_of_a_delegation_come_interleaved_each_with_its_step() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "one", "two", "--agent", "slow"]);
    wait_until("both run", || deck.lines("slow.starts") == 2);
    let mut follower = Follower::new(&deck, &["logs", "--follow", &id]);
    fs::write(deck.path("go"), "").unwrap();
    let mut seen = Vec::new();
    while seen.len() < 2 {
        seen.push(follower.read_to("finished"));
    }
    seen.sort();
    assert_eq!(seen, ["st-1 │ finished", "st-2 │ finished"]);
    deck.ok(&["wait", &id]);
    let all = deck.ok(&["logs", &id]);
    assert!(all.contains("st-1 │ ■ Done") && all.contains("st-2 │ ■ Done"), "{all}");
}

#[test]
fn a_wait_says_whether_the_state_came_or_can_no_longer_come_or_did_not_in_time() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "slow"]);
    let wait = |arguments: &[&str]| {
        let all: Vec<&str> = ["wait"].iter().chain(arguments).copied().collect();
        let output = deck.run(&all);
        (output.status.code().unwrap(), text(&output.stdout))
    };
    assert_eq!(wait(&[&id, "--until", "running", "--timeout", "60s"]).0, 0);
    let (code, told) = wait(&[&id, "--timeout", "50ms", "--json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((code, &told["status"], &told["timedOut"]), (4, &"running".into(), &true.into()));
    deck.ok(&["pause", &id]);
    assert_eq!(wait(&[&id, "--until", "paused", "--timeout", "60s"]).0, 0);
    deck.ok(&["resume", &id]);
    fs::write(deck.path("go"), "").unwrap();
    let step = format!("{id}/st-1");
    assert_eq!(wait(&[&step, "--until", "done", "--timeout", "60s"]).0, 0);
    assert_eq!(wait(&[&id, "--until", "ended", "--timeout", "60s"]).0, 0);
    let (code, told) = wait(&[&id, "--until", "paused", "--json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((code, &told["status"], &told["reached"]), (1, &"done".into(), &false.into()));
    assert_eq!(deck.run(&["wait", &id, "--until", "happy"]).status.code(), Some(2));
}

#[test]
fn an_agent_works_where_it_is_told_to() {
    let deck = Deck::new();
    let config = "[agents.where]\nkind = \"command\"\ncommand = \"pwd\"\n";
    fs::write(deck.path("quarterdeck.toml"), config).unwrap();
    fs::create_dir(deck.path("below")).unwrap();
    let below = deck.path("below").canonicalize().unwrap().display().to_string();
    for verb in ["delegate", "direct"] {
        let id = deck.ok(&[verb, "look", "--agent", "where", "--cwd", "below", "--wait"]);
        let log = deck.ok(&["logs", &format!("{}/st-1", id.lines().next().unwrap())]);
        assert!(log.lines().any(|line| line == below), "{log}");
    }
    let refused = deck.run(&["delegate", "look", "--agent", "where", "--cwd", "nowhere"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("cannot work in nowhere"), "{}", text(&refused.stderr));
}

#[test]
fn a_plan_is_read_from_toml_and_the_command_line_counts_more() {
    let deck = Deck::new();
    let plan = r#"
        title = "Two"
        [limits]
        maxConcurrent = 5
        [[subtasks]]
        id = "first"
        prompt = "one"
        [[subtasks]]
        id = "second"
        prompt = "two"
        dependencies = ["first"]
    "#;
    fs::write(deck.path("plan.toml"), plan).unwrap();
    let id = deck.ok(&["delegate", "--plan", "plan.toml", "--agent", "echo", "-a", "1", "--wait"]);
    let id = id.lines().next().unwrap();
    assert_eq!(deck.node(&format!("{id}/second"))["status"], "done");
    let journal = journal(&StateFolder::at(deck.path(".quarterdeck")));
    let started = journal.iter().find(|event| event["type"] == "delegation:started").unwrap();
    assert_eq!(started["data"]["spec"]["limits"]["maxConcurrent"], 1);
}

#[test]
fn a_deadline_is_raised_with_proof_and_the_host_keeps_it() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "slow", "--timeout", "10m", "--total-timeout", "1h"]);
    let step = format!("{id}/st-1");
    wait_until("it is told to run", || deck.node(&step)["status"] == "running");
    let before = deck.node(&step)["deadline"].as_str().unwrap().to_owned();
    let preview = deck.ok(&["raise", &step, "--by", "10m", "--preview"]);
    assert!(preview.contains("1 step and 1 running session"), "{preview}");
    assert!(deck.ok(&["raise", &step, "--by", "10m"]).contains("confirmed, 1 of 1 deadlines moved"));
    let after = deck.node(&step)["deadline"].as_str().unwrap().to_owned();
    assert!(after > before, "{before} {after}");
    assert!(deck.ok(&["raise", &id, "--timeout", "2h"]).contains("2 of 2 deadlines moved"));
    let less = deck.run(&["raise", &id, "--timeout", "1m"]);
    assert_eq!(less.status.code(), Some(3), "{}", text(&less.stdout));
    deck.crash();
    deck.ok(&["engine", "start"]);
    let session = fs::read_dir(deck.path(".quarterdeck/sessions")).unwrap().next().unwrap().unwrap().path();
    let orders = fs::read_to_string(session.join("orders")).unwrap();
    assert_eq!(orders.matches("deadline").count(), 2, "each was ordered once: {orders}");
    let kept = quarterdeck::session::look::remaining_ms(
        &quarterdeck::session::Folder(session),
        quarterdeck::store::process::awake_ms(),
    );
    assert!(kept.unwrap() > 7_000_000, "{kept:?}");
}

#[test]
fn the_history_is_searched_by_state_agent_time_and_text() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("quarterdeck"));
        command.current_dir(folder.path()).env_clear().env("HOME", folder.path());
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?} {}", text(&output.stderr));
        text(&output.stdout)
    };
    run(&[
        "synth",
        ".quarterdeck",
        "--ended",
        "480",
        "--live",
        "0",
        "--subtasks",
        "1",
        "--now",
        "2026-11-16T09:00:00Z",
    ]);
    let records = |arguments: &[&str]| -> Vec<Value> {
        let all: Vec<&str> =
            ["history", "--json", "--limit", "1000"].iter().chain(arguments).copied().collect();
        run(&all).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = records(&[]);
    assert!(all.len() > 256, "more than one page: {}", all.len());
    let failed = records(&["--status", "failed"]);
    assert!(!failed.is_empty() && failed.len() < all.len());
    assert!(failed.iter().all(|record| record["status"] == "failed"));
    let agent = all[0]["subtasks"][0]["agent"].as_str().unwrap();
    let by_agent = records(&["--agent", agent]);
    assert!(!by_agent.is_empty() && by_agent.iter().all(|record| record.to_string().contains(agent)));
    let middle = all[all.len() / 2]["completedAt"].as_str().unwrap();
    let since = records(&["--since", middle]);
    assert!(!since.is_empty() && since.len() < all.len());
    assert!(since.iter().all(|record| record["completedAt"].as_str().unwrap() >= middle));
    let id = all[7]["delegationId"].as_str().unwrap().to_uppercase();
    assert_eq!(records(&[&id]).len(), 1);
    assert_eq!(run(&["history", "no such thing"]), "Nothing in the history matches.\n");
}

#[test]
fn a_command_whose_engines_die_gives_up_and_shows_what_they_said() {
    let deck = Deck::new();
    let config = "[agents.stubborn]\nkind = \"command\"\ncommand = \"trap '' TERM; echo x >> tries; while :; do sleep 0.05; done\"\n";
    fs::write(deck.path("quarterdeck.toml"), config).unwrap();
    let id = deck.ok(&["delegate", "work", "--agent", "stubborn"]);
    wait_until("it runs", || deck.lines("tries") == 1);
    deck.crash();
    let mut cancel = deck.spawn(&["cancel", &id]);
    let mut said = String::new();
    // Each engine dies as soon as it is said to be there.
    for line in BufReader::new(cancel.stderr.take().unwrap()).lines().map(Result::unwrap) {
        let pid = line.strip_prefix("Started an engine in the background (pid ");
        if let Some(pid) = pid.and_then(|rest| rest.strip_suffix(").")) {
            let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        said = format!("{said}{line}\n");
    }
    assert_eq!(cancel.wait().unwrap().code(), Some(1), "{said}");
    assert_eq!(said.matches("Started an engine").count(), 3, "{said}");
    assert!(said.contains("3 engines were started for this, and each of them died"), "{said}");
}

#[test]
fn a_wait_without_an_engine_says_so_and_a_delegate_that_waits_starts_one() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "slow"]);
    wait_until("it runs", || deck.lines("slow.starts") == 1);
    deck.crash();
    let wait = deck.run(&["wait", &id, "--timeout", "50ms"]);
    assert_eq!((wait.status.code(), text(&wait.stderr).matches("No engine runs").count()), (Some(4), 1));
    let waiting = deck.spawn(&["delegate", "more", "--agent", "slow", "--wait"]);
    wait_until("both run", || deck.lines("slow.starts") == 2);
    deck.crash();
    fs::write(deck.path("go"), "").unwrap();
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).matches("Started an engine").count() >= 2, "{}", text(&output.stderr));
}

#[test]
fn a_plan_with_a_typing_error_is_refused_and_says_where() {
    let deck = Deck::new();
    let plans = [
        ("plan.json", r#"{"subtasks":[{"id":"a","promt":"x"}]}"#, "promt"),
        ("plan.json", r#"{"subtasks":[{"id":"a","prompt":"x"}],"limits":{"maxRetrys":1}}"#, "maxRetrys"),
        ("plan.toml", "titel = \"x\"\n[[subtasks]]\nid = \"a\"\nprompt = \"x\"\n", "titel"),
        ("plan.json", r#"{"subtasks":[{"id":"a","prompt":" "}]}"#, "no prompt"),
    ];
    for (name, plan, said) in plans {
        fs::write(deck.path(name), plan).unwrap();
        let refused = deck.run(&["delegate", "--plan", name, "--agent", "echo"]);
        let told = format!("{}{}", text(&refused.stdout), text(&refused.stderr));
        assert!(!refused.status.success() && told.contains(said), "{plan}: {told}");
    }
    assert_eq!(deck.lines("starts"), 0, "nothing ran");
}

#[test]
fn a_step_that_is_not_there_is_said_to_be_none_and_those_that_are_are_named() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "one", "two", "--agent", "echo", "--wait"]);
    let id = id.lines().next().unwrap().to_owned();
    let wrong = format!("{id}/st-99");
    for arguments in [["wait", &wrong], ["explain", &wrong], ["pause", &wrong], ["logs", &wrong]] {
        let output = deck.run(&arguments);
        let err = text(&output.stderr);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(err.contains("has no step st-99; there are: st-1, st-2"), "{arguments:?}: {err}");
    }
}

#[test]
fn each_attempt_has_its_log_and_a_retry_its_model() {
    let deck = Deck::new();
    let agents = "[agents.model]\nkind = \"command\"\nmodel = \"small\"\n\
        command = [\"/bin/sh\", \"-c\", \"echo on $1 and $QUARTERDECK_MODEL; exit 1\", \"sh\", \"{model}\"]\n";
    fs::write(deck.path("quarterdeck.toml"), agents).unwrap();
    let handed = deck.run(&["delegate", "work", "--agent", "model", "--no-retry", "--wait"]);
    let id = text(&handed.stdout).lines().next().unwrap().to_owned();
    let refused = deck.run(&["retry", &id, "--agent", "nobody"]);
    let err = text(&refused.stderr) + &text(&refused.stdout);
    assert_eq!(refused.status.code(), Some(3), "{err}");
    assert!(err.contains("There is no agent \"nobody\""), "{err}");
    assert!(!deck.run(&["retry", &id, "--agent", "nobody", "--preview"]).status.success());
    deck.ok(&["retry", &id, "--model", "large"]);
    assert_eq!(deck.run(&["wait", &id, "--until", "ended"]).status.code(), Some(0));
    let step = format!("{id}/st-1");
    assert!(deck.ok(&["logs", &step, "--attempt", "1"]).contains("on small and small"));
    let newest = deck.run(&["logs", &step]);
    assert!(text(&newest.stdout).contains("on large and large"), "{newest:?}");
    assert!(text(&newest.stderr).contains("attempts 1, 2"), "{newest:?}");
    let missing = deck.run(&["logs", &step, "--attempt", "7"]);
    assert!(text(&missing.stderr).contains("has no attempt 7; there are: 1, 2"), "{missing:?}");
    let stopped = deck.ok(&["engine", "stop"]);
    assert!(stopped.contains("no agent of it runs"), "{stopped}");
}

#[test]
fn a_start_that_is_refused_leaves_no_variables_behind() {
    let deck = Deck::new();
    let plan = serde_json::json!({"subtasks": [
        {"id": "a", "prompt": "x", "agent": "marked", "dependencies": ["b"]},
        {"id": "b", "prompt": "y", "agent": "marked", "dependencies": ["a"]},
    ]});
    fs::write(deck.path("plan.json"), plan.to_string()).unwrap();
    let refused = deck.run_with("secret", &["delegate", "--plan", "plan.json"]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    let folder = StateFolder::find(deck.folder.path(), None).unwrap();
    let place = folder.env_file("del-x").unwrap();
    let left: Vec<_> =
        fs::read_dir(place.parent().unwrap()).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_start_in_the_inbox_that_names_an_unknown_agent_is_refused_and_its_variables_are_forgotten() {
    let deck = Deck::new();
    let folder = StateFolder::find(deck.folder.path(), None).unwrap();
    let env = folder.env_file("del-x").unwrap();
    fs::create_dir_all(env.parent().unwrap()).unwrap();
    fs::write(&env, "{}").unwrap();
    let spec = serde_json::json!({"subtasks": [{"id": "a", "prompt": "x", "agent": "nobody"}]});
    let command = quarterdeck::model::command::Command {
        id: "cmd-x".into(),
        verb: serde_json::from_value(serde_json::json!({"kind": "start", "spec": spec})).unwrap(),
        delegation_id: "del-x".into(),
        subtask_id: None,
        by: None,
        at: quarterdeck::model::time::Stamp::from_millis(0),
    };
    folder.create(&RealDisk).unwrap();
    let text = serde_json::value::to_raw_value(&command).unwrap();
    inbox::send(&RealDisk, &folder, &command.id, &text).unwrap();
    deck.ok(&["engine", "start"]);
    wait_until("it is refused", || {
        journal(&folder).iter().any(|event| {
            event["type"] == "command:refused" && event["data"]["reason"].to_string().contains("no agent")
        })
    });
    wait_until("its variables are gone", || !env.exists());
}
