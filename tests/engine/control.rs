//! Delegations, controls and crashes, through the command line.

use std::fs;
use std::path::Path;

use quarterdeck::store::folder::StateFolder;
use serde_json::Value;

use crate::deck::{Deck, journal, text, wait_until};

#[test]
fn steps_run_each_gets_the_result_of_the_one_before_and_the_tree_says_done() {
    let deck = Deck::new();
    let id =
        deck.ok(&["delegate", "first task", "second task", "-p", "sequential", "--agent", "echo", "--wait"]);
    let id = id.lines().next().unwrap();
    assert_eq!(deck.node(id)["status"], "done");
    assert_eq!(deck.lines("starts"), 2, "each step ran once");
    let second = deck.node(&format!("{id}/st-2"));
    assert_eq!((second["status"].as_str(), second["attempt"].as_u64()), (Some("done"), Some(1)));
    assert_eq!(second["dependsOn"][0], "st-1");
    let log = deck.ok(&["logs", &format!("{id}/st-2")]);
    assert!(log.contains("second task"), "{log}");
    assert!(deck.ok(&["doctor"]).contains("all is well"));
    assert!(
        !Path::new(&deck.path(".quarterdeck/inbox")).read_dir().unwrap().any(|_| true),
        "the inbox is empty"
    );
}

#[test]
fn a_pause_stops_every_process_and_a_cancel_leaves_none() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "tree"]);
    wait_until("the whole tree runs", || deck.path("main.pid").exists() && deck.processes().len() >= 3);
    let preview = deck.ok(&["pause", &id, "--preview"]);
    assert!(preview.contains("1 step and 1 running session:"), "{preview}");
    for (pid, _) in deck.processes() {
        assert!(preview.contains(&pid.to_string()), "{pid} is not named: {preview}");
    }
    let preview: Value = serde_json::from_str(&deck.ok(&["cancel", &id, "--preview", "--json"])).unwrap();
    let session = preview["sessions"][0].as_str().unwrap();
    assert_eq!(preview["processes"][session].as_array().unwrap().len(), deck.processes().len(), "{preview}");
    assert_eq!(deck.node(&id)["status"], "running", "a preview does nothing");
    assert!(deck.ok(&["explain", &id]).contains("running"));
    let paused = deck.ok(&["pause", &id]);
    assert!(paused.contains("confirmed"), "{paused}");
    assert!(deck.ok(&["explain", &id]).contains("frozen"), "{}", deck.ok(&["explain", &id]));
    assert!(deck.processes().iter().all(|(_, state)| *state == 'T'), "{:?}", deck.processes());
    assert_eq!(deck.node(&id)["status"], "paused");
    deck.ok(&["resume", &id]);
    assert!(deck.processes().iter().all(|(_, state)| *state != 'T'), "{:?}", deck.processes());
    deck.ok(&["pause", &id]);
    let cancelled = deck.ok(&["cancel", &id, "--reason", "enough"]);
    assert!(cancelled.contains("confirmed"), "{cancelled}");
    assert_eq!(deck.processes(), [], "also what was in a session of its own, also though it was stopped");
    let node = deck.node(&id);
    assert_eq!(
        (node["status"].as_str(), node["receipts"].as_array().unwrap().len()),
        (Some("cancelled"), 4),
        "pause, resume, pause, cancel"
    );
}

#[test]
fn a_session_that_cannot_be_looked_at_for_a_while_is_not_lost() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "slow"]);
    wait_until("it runs", || deck.lines("slow.starts") == 1);
    deck.crash();
    let session = fs::read_dir(deck.path(".quarterdeck/sessions")).unwrap().next().unwrap().unwrap().path();
    // A folder in place of the file: reading it fails, whoever reads.
    fs::create_dir(session.join("exit.json")).unwrap();
    deck.ok(&["engine", "start"]);
    let paused = deck.spawn(&["pause", &id]);
    wait_until("the engine took the pause", || {
        deck.node(&id)["receipts"].as_array().is_some_and(|all| !all.is_empty())
    });
    assert_eq!(deck.node(&id)["status"], "running", "nobody knows better");
    fs::remove_dir(session.join("exit.json")).unwrap();
    let paused = paused.wait_with_output().unwrap();
    assert!(text(&paused.stdout).contains("1 of 1 frozen"), "{paused:?}");
    deck.ok(&["resume", &id]);
    fs::write(deck.path("go"), "").unwrap();
    deck.ok(&["wait", &id, "--until", "ended"]);
    let step = deck.node(&format!("{id}/st-1"));
    assert_eq!((step["status"].as_str(), deck.lines("slow.starts")), (Some("done"), 1), "{step}");
}

#[test]
fn no_engine_is_started_from_inside_an_agent_and_the_command_waits_in_the_inbox() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "slow"]);
    wait_until("it runs", || deck.lines("slow.starts") == 1);
    deck.crash();
    let asked = deck.run_inside_an_agent(&["cancel", &id]);
    assert_eq!(asked.status.code(), Some(4), "{}", text(&asked.stderr));
    assert!(text(&asked.stderr).contains("no engine runs; it waits in the inbox"), "{}", text(&asked.stderr));
    let asked = deck.run_inside_an_agent(&["engine", "start"]);
    assert_eq!(asked.status.code(), Some(1), "{}", text(&asked.stderr));
    let inbox = deck.path(".quarterdeck/inbox");
    assert_eq!(inbox.read_dir().unwrap().count(), 1, "it waits");
    deck.ok(&["engine", "start"]);
    wait_until("it is done", || deck.node(&id)["status"] == "cancelled");
    assert_eq!(deck.processes(), []);
}

#[test]
fn an_engine_that_is_killed_loses_nothing_and_runs_nothing_twice() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "one", "two", "--agent", "slow"]);
    wait_until("both run", || deck.lines("slow.starts") == 2);
    let agents = fs::read_to_string(deck.path("slow.starts")).unwrap();
    for _ in 0..5 {
        deck.crash();
        deck.ok(&["engine", "start"]);
        assert_eq!(deck.node(&id)["status"], "running");
    }
    let alive = deck.processes();
    assert!(
        agents.lines().all(|agent| alive.iter().any(|(pid, _)| pid.to_string() == agent)),
        "agents go on"
    );
    deck.crash();
    fs::write(deck.path("go"), "").unwrap();
    wait_until("the agents ended while no engine ran", || deck.processes().is_empty());
    deck.ok(&["engine", "start"]);
    deck.ok(&["wait", &id]);
    assert_eq!(deck.lines("slow.starts"), 2, "no step ran twice");
    assert!(deck.ok(&["logs", &format!("{id}/st-1")]).contains("finished"));
    for step in ["st-1", "st-2"] {
        let node = deck.node(&format!("{id}/{step}"));
        assert_eq!((node["status"].as_str(), node["attempt"].as_u64()), (Some("done"), Some(1)));
    }
}

#[test]
fn a_command_that_waits_while_the_engine_is_dead_is_done_once_by_the_next() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "tree"]);
    wait_until("it runs", || deck.processes().len() >= 3);
    deck.crash();
    // The control itself starts the next engine.
    let cancelled = deck.ok(&["cancel", &id]);
    assert!(cancelled.contains("confirmed"), "{cancelled}");
    assert_eq!(deck.processes(), []);
}

#[test]
fn a_lost_host_is_swept_and_its_step_tried_again() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "slow"]);
    wait_until("it runs", || deck.lines("slow.starts") == 1);
    let session = fs::read_dir(deck.path(".quarterdeck/sessions")).unwrap().next().unwrap().unwrap().path();
    let host: Value = serde_json::from_slice(&fs::read(session.join("host.json")).unwrap()).unwrap();
    let pid = i32::try_from(host["pid"].as_i64().unwrap()).unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    wait_until("another attempt runs", || deck.lines("slow.starts") == 2);
    fs::write(deck.path("go"), "").unwrap();
    deck.ok(&["wait", &id]);
    let step = deck.node(&format!("{id}/st-1"));
    assert_eq!((step["status"].as_str(), step["attempt"].as_u64()), (Some("done"), Some(2)));
    assert_eq!(deck.processes(), []);
}

#[test]
fn an_agent_that_asks_waits_for_the_answer_across_a_crash() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "ask"]);
    let step = format!("{id}/st-1");
    wait_until("it asks", || deck.node(&step)["questions"][0]["text"] == "May I?");
    deck.crash();
    deck.ok(&["engine", "start"]);
    let explained = deck.ok(&["explain", &step]);
    assert!(explained.contains("waits for an answer"), "{explained}");
    assert!(explained.contains("it asks: May I?"), "{explained}");
    assert!(explained.contains(&format!("quarterdeck answer {step} ")), "{explained}");
    let question = deck.node(&step)["questions"][0]["questionId"].as_str().unwrap().to_owned();
    let refused = deck.run(&["answer", &step, "no-such-question", "allow"]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stdout));
    assert!(deck.ok(&["answer", &step, &question, "allow"]).contains("confirmed"));
    deck.ok(&["wait", &id]);
    let node = deck.node(&step);
    assert_eq!((node["status"].as_str(), node["questions"].as_array()), (Some("done"), None));
    assert!(deck.ok(&["logs", &step]).contains("answered: allow"));
}

#[test]
fn an_agent_gets_the_askers_variables_that_its_config_names_and_the_journal_none() {
    let deck = Deck::new();
    for mark in ["one", "two"] {
        let output = deck.run_with(mark, &["delegate", "x", "--agent", "marked", "--wait"]);
        let id = text(&output.stdout).lines().next().unwrap().to_owned();
        let log = deck.ok(&["logs", &format!("{id}/st-1")]);
        assert!(log.contains(&format!("mark: {mark}, home: \n")), "{log}");
    }
    let folder = StateFolder::at(deck.path(".quarterdeck"));
    assert!(journal(&folder).iter().all(|event| !event.to_string().contains("MARK")));
}

#[test]
fn what_fails_is_tried_again_then_says_why_and_can_be_accepted() {
    let deck = Deck::new();
    let output = deck.run(&["delegate", "work", "--agent", "fails", "--no-retry", "--wait"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    let id = text(&output.stdout).lines().next().unwrap().to_owned();
    let step = deck.node(&format!("{id}/st-1"));
    assert_eq!(step["status"], "failed");
    assert!(step["reason"].as_str().unwrap().contains("broken"), "{step}");
    assert_eq!(deck.lines("tries"), 1);
    deck.ok(&["retry", &format!("{id}/st-1")]);
    let ended = deck.run(&["wait", &id]);
    assert_eq!((ended.status.code(), deck.lines("tries")), (Some(1), 2));
    deck.ok(&["accept", &format!("{id}/st-1")]);
    assert_eq!(deck.node(&format!("{id}/st-1"))["status"], "done");
}

#[test]
fn what_cannot_be_is_refused_with_the_reason_and_an_exit_code_of_its_own() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "hello", "--agent", "echo", "--wait"]);
    let id = id.lines().next().unwrap().to_owned();
    let output = deck.run(&["pause", &id]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("refused"), "{}", text(&output.stdout));
    let output = deck.run(&["cancel", "del-nope"]);
    assert_eq!(output.status.code(), Some(1));
    let output = deck.run(&["delegate", "x", "--agent", "nobody"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("Add [agents.nobody] to quarterdeck.toml"),
        "{}",
        text(&output.stderr)
    );
    let output = deck.run(&["delegate", "x", "--agent", "missing", "--no-retry", "--wait"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}{}", text(&output.stderr));
    let id = shown.lines().next().unwrap();
    let why = deck.node(&format!("{id}/st-1"))["reason"].to_string();
    assert!(why.contains("No such file"), "{why}");
}

#[test]
fn a_stopped_engine_leaves_its_agents_running_and_the_next_takes_them_up() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "work", "--agent", "slow"]);
    wait_until("it runs", || deck.lines("slow.starts") == 1);
    assert!(deck.ok(&["engine", "stop"]).contains("its agents go on"));
    assert!(!deck.processes().is_empty());
    assert_eq!(deck.run(&["engine", "status"]).status.code(), Some(1));
    fs::write(deck.path("go"), "").unwrap();
    deck.ok(&["engine", "start"]);
    deck.ok(&["wait", &id]);
    assert_eq!(deck.lines("slow.starts"), 1);
}
