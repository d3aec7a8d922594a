//! Claude Code under the engine: its tree, its tokens, its control, its failures.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::deck::{Deck, node, own, processes, titled};
use crate::model_server::Charged;
use crate::place::{find, prompt};

/// A command that runs until it is ended, in a session of its own as the agent's shell has it.
const LONG: &str = "echo begun > begun; python3 -c 'import time; time.sleep(300)'; echo over > over";

fn deck() -> Option<(Deck, PathBuf)> {
    let program = find("claude")?;
    let deck = Deck::new(&program);
    deck.configure("[agents.claude]\nkind = \"claude\"\npermission-mode = \"bypassPermissions\"\n");
    Some((deck, program))
}

fn used(input: u64, out: u64) -> Value {
    json!({ "in": input, "out": out, "cache_read": input * 10, "cache_write": input / 2 })
}

fn hand_on(title: &str, task: &str, script: &Value, background: bool) -> Value {
    let input = json!({
        "description": title, "prompt": prompt(task, script), "subagent_type": "general-purpose",
        "run_in_background": background,
    });
    json!({ "name": "Agent", "input": input })
}

fn bash(command: &str) -> Value {
    json!({ "name": "Bash", "input": { "command": command, "description": "Run it" } })
}

#[test]
fn claude_runs_two_sub_agents_nested_and_every_token_is_where_it_was_used() {
    let Some((deck, _)) = deck() else { return };
    let helper = json!([
        { "text": "Helping.", "tools": [bash("echo helped")], "usage": used(90, 11) },
        { "text": "Helped.", "usage": used(92, 13) },
    ]);
    let lead = json!([
        { "think": "I need help.", "text": "Leading.",
          "tools": [hand_on("Helper part", "Help.", &helper, false)], "usage": used(70, 17) },
        { "text": "Led.", "usage": used(72, 19) },
    ]);
    let script = json!([
        { "text": "Handing on.", "tools": [hand_on("Lead part", "Lead.", &lead, false)], "usage": used(50, 23) },
        { "text": "All is done.", "usage": used(52, 29) },
    ]);
    let id = deck.delegate(&[&prompt("Do all of it.", &script), "--agent", "claude_code", "--no-retry"]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let nodes = deck.nodes();
    let step = node(&nodes, &format!("{id}/st-1")).unwrap();
    let (lead, helper) = (titled(&nodes, "Lead part").unwrap(), titled(&nodes, "Helper part").unwrap());
    assert_eq!((&lead["parent"], &helper["parent"]), (&step["id"], &lead["id"]), "{nodes:#?}");
    for agent in [lead, helper] {
        assert_eq!((&agent["kind"], &agent["status"]), (&json!("agent"), &json!("done")), "{agent:#?}");
        assert_eq!(agent["agent"], "general-purpose");
        assert_eq!(agent["model"]["effective"], step["model"]["effective"]);
    }
    assert_eq!(nodes.iter().filter(|node| node["kind"] == "agent").count(), 2, "{nodes:#?}");
    assert_eq!(step["result"]["summary"], "All is done.");
    assert_eq!(own(lead), charged(&[(70, 17), (72, 19)]));
    assert_eq!(own(helper), charged(&[(90, 11), (92, 13)]));
    assert_eq!(own(step), charged(&[(50, 23), (52, 29)]));
    let served = deck.place.server.served().into_iter().filter(|one| !one.is_aside);
    let served = served.filter_map(|one| one.charged).fold(Charged::default(), Charged::add);
    assert_eq!(own(step).add(own(lead)).add(own(helper)), served);
}

/// Returns what the script of these turns charges.
fn charged(turns: &[(u64, u64)]) -> Charged {
    let one = |&(input, output): &(u64, u64)| Charged {
        input,
        output,
        cache_read: input * 10,
        cache_write: input / 2,
    };
    turns.iter().map(one).fold(Charged::default(), Charged::add)
}

#[test]
fn a_sub_agent_of_claude_in_the_background_is_waited_for() {
    let Some((deck, _)) = deck() else { return };
    let child = json!([
        { "text": "Working.", "tools": [bash("echo part; sleep 1")], "usage": used(40, 5) },
        { "text": "Part is done.", "usage": used(42, 7) },
    ]);
    let script = json!([
        { "text": "Away.", "tools": [hand_on("Part", "Do it.", &child, true)], "usage": used(10, 3) },
        { "text": "Waiting.", "usage": used(12, 3) },
        { "text": "It came back.", "usage": used(14, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Do it.", &script), "--agent", "claude", "--no-retry"]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let nodes = deck.nodes();
    let (step, part) = (node(&nodes, &format!("{id}/st-1")).unwrap(), titled(&nodes, "Part").unwrap());
    assert_eq!((&part["status"], &part["parent"]), (&json!("done"), &step["id"]), "{nodes:#?}");
    assert_eq!(own(part), charged(&[(40, 5), (42, 7)]));
    assert_eq!(own(step), charged(&[(10, 3), (12, 3), (14, 3)]));
    assert_eq!(step["result"]["summary"], "It came back.");
}

#[test]
fn a_review_by_claude_is_told_the_draft_and_ends_with_its_approval() {
    let Some((deck, _)) = deck() else { return };
    let script =
        json!([{ "text": "These are the NOTES.\nVERDICT: approved\nSCORE: 90", "usage": used(10, 3) }]);
    let task = prompt("Write the notes.", &script);
    let id = deck.delegate(&[&task, "-p", "review", "--agent", "claude", "--no-retry"]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let nodes = deck.nodes();
    let word = |step: &str| node(&nodes, &format!("{id}/{step}")).unwrap()["status"].clone();
    assert_eq!((word("draft"), word("review-1")), (json!("done"), json!("done")), "{nodes:#?}");
    assert_eq!((word("revise-2"), word("review-3")), (json!("skipped"), json!("skipped")), "{nodes:#?}");
    assert_eq!(node(&nodes, &id).unwrap()["pattern"], "review");
}

#[test]
fn what_one_claude_says_is_told_to_the_next_whose_verdict_leaves_a_step_out() {
    let Some((deck, _)) = deck() else { return };
    let says = |text: &str| json!([{ "text": text, "usage": used(10, 3) }]);
    let plan = json!({ "subtasks": [
        { "id": "write", "prompt": prompt("Write the notes.", &says("NOTES-42")), "agent": "claude" },
        { "id": "check", "agent": "claude", "dependencies": ["write"],
          "prompt": prompt("Check {result:write}", &says("VERDICT: approved\nSCORE: 90")) },
        { "id": "mend", "agent": "claude", "when": { "step": "check", "approved": false },
          "prompt": prompt("Mend {result:write}", &says("Mended.")) },
    ]});
    let file = deck.place.work().join("plan.json");
    std::fs::write(&file, plan.to_string()).unwrap();
    let id = deck.delegate(&["--plan", file.to_str().unwrap()]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let nodes = deck.nodes();
    assert_eq!(node(&nodes, &format!("{id}/mend")).unwrap()["status"], "skipped", "{nodes:#?}");
    let served = deck.place.server.served();
    let told: Vec<&str> = served.iter().filter(|one| !one.is_aside).map(|one| one.task.as_str()).collect();
    assert!(told.contains(&"Check NOTES-42"), "{told:#?}");
}

#[test]
fn claude_asks_for_permission_and_goes_on_when_it_is_given() {
    let Some((deck, _)) = deck() else { return };
    deck.configure("[agents.claude]\nkind = \"claude\"\n");
    let script = json!([
        { "text": "I write.", "tools": [bash("touch made; rm -f other")], "usage": used(10, 3) },
        { "text": "Written.", "usage": used(12, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Write it.", &script), "--agent", "claude", "--no-retry"]);
    let step = format!("{id}/st-1");
    let question =
        deck.wait("the question", |nodes| node(nodes, &step)?["questions"].as_array()?.first().cloned());
    assert_eq!(question["tool"], "Bash", "{question:#}");
    assert!(question["text"].as_str().unwrap().contains("touch made"), "{question:#}");
    assert!(!deck.place.work().join("made").exists());
    deck.ok(&["answer", &step, question["questionId"].as_str().unwrap(), "allow"]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    assert!(deck.place.work().join("made").exists());
}

#[test]
fn a_pause_of_three_seconds_stops_claude_and_costs_no_retry() {
    let Some((deck, _)) = deck() else { return };
    let turns: Vec<Value> = (0..6)
        .map(|_| json!({ "text": "On.", "tools": [bash("echo on; sleep 0.3")], "usage": used(10, 3) }))
        .chain([json!({ "text": "Done.", "usage": used(10, 3) })])
        .collect();
    let id = deck.delegate(&[&prompt("Go on.", &json!(turns)), "--agent", "claude", "--no-retry"]);
    deck.served("the second turn", |served| served.iter().filter(|one| !one.is_aside).count() >= 2);
    deck.ok(&["pause", &id]);
    let before = deck.place.server.served().len();
    std::thread::sleep(std::time::Duration::from_secs(3));
    // One request may have been on its way when everything stood still.
    assert!(deck.place.server.served().len() <= before + 1, "it went on: {:#?}", deck.place.server.served());
    deck.ok(&["resume", &id]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let served = deck.place.server.served().into_iter().filter(|one| !one.is_aside).count();
    assert_eq!(served, 7, "nothing was asked twice");
    assert_eq!(node(&deck.nodes(), &format!("{id}/st-1")).unwrap()["attempt"], 1);
}

#[test]
fn a_cancel_in_the_middle_of_a_shell_command_leaves_no_process_and_no_request() {
    let Some((deck, _)) = deck() else { return };
    let script = json!([
        { "text": "Long.", "tools": [bash(LONG)], "usage": used(10, 3) },
        { "text": "Over.", "usage": used(12, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Take long.", &script), "--agent", "claude", "--no-retry"]);
    let begun = deck.place.work().join("begun");
    deck.wait("the command", |_| begun.exists().then_some(()));
    let told = deck.ok(&["cancel", &id]);
    let count: usize = told.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    assert!(told.contains("ended") && count >= 2, "the agent and its shell: {told}");
    assert_eq!(deck.end_of(&id), "cancelled");
    let before = deck.place.server.served().len();
    let left: Vec<String> = processes().into_iter().filter(|line| line.contains("time.sleep(300)")).collect();
    let own = deck.place.work();
    let left: Vec<&String> = left.iter().filter(|line| line.contains(own.to_str().unwrap())).collect();
    assert!(left.is_empty(), "{left:#?}");
    assert!(!own.join("over").exists());
    assert_eq!(deck.place.server.served().len(), before);
}

#[test]
fn one_sub_agent_of_claude_is_cancelled_and_the_rest_goes_on() {
    let Some((deck, _)) = deck() else { return };
    let child = json!([{ "text": "Long.", "tools": [bash(LONG)], "usage": used(40, 5) }]);
    let script = json!([
        { "text": "Away.", "tools": [hand_on("Slow part", "Take long.", &child, false)], "usage": used(10, 3) },
        { "text": "Without it, then.", "usage": used(12, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Do it.", &script), "--agent", "claude", "--no-retry"]);
    let begun = deck.place.work().join("begun");
    deck.wait("the command", |_| begun.exists().then_some(()));
    let agent = deck.wait("the agent", |nodes| Some(titled(nodes, "Slow part")?["id"].as_str()?.to_owned()));
    let agent = agent.rsplit('/').next().unwrap().to_owned();
    let nobody = deck.run(&["cancel", &format!("{id}/st-1/nobody")]);
    assert!(!nobody.status.success());
    let told = deck.ok(&["cancel", &format!("{id}/st-1/{agent}")]);
    assert!(told.contains("1 of 1 agent ended"), "{told}");
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let nodes = deck.nodes();
    assert_eq!(titled(&nodes, "Slow part").unwrap()["status"], "cancelled", "{nodes:#?}");
    assert!(!deck.place.work().join("over").exists());
}

#[test]
fn an_engine_killed_while_claude_works_loses_nothing() {
    let Some((deck, _)) = deck() else { return };
    let child = json!([
        { "text": "Working.", "tools": [bash("echo part; sleep 2")], "usage": used(40, 5) },
        { "text": "Part is done.", "usage": used(42, 7) },
    ]);
    let script = json!([
        { "text": "Away.", "tools": [hand_on("Part", "Do it.", &child, false)], "usage": used(10, 3) },
        { "text": "All done.", "usage": used(12, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Do it.", &script), "--agent", "claude", "--no-retry"]);
    deck.wait("the agent", |nodes| titled(nodes, "Part").map(drop));
    deck.kill_engine();
    deck.ok(&["engine", "start"]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let nodes = deck.nodes();
    let (step, part) = (node(&nodes, &format!("{id}/st-1")).unwrap(), titled(&nodes, "Part").unwrap());
    assert_eq!((own(step), own(part)), (charged(&[(10, 3), (12, 3)]), charged(&[(40, 5), (42, 7)])));
    assert_eq!((&step["attempt"], &part["status"]), (&json!(1), &json!("done")));
    assert_eq!(step["result"]["summary"], "All done.");
}

#[test]
fn a_failure_of_the_provider_ends_claude_in_the_providers_words() {
    let Some((deck, _)) = deck() else { return };
    for (status, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ] {
        let message = format!("The provider says {status}.");
        let script = json!([{ "error": { "status": status, "type": kind, "message": message } }]);
        let id = deck.delegate(&[&prompt("Fail.", &script), "--agent", "claude", "--no-retry"]);
        assert_eq!(deck.end_of(&id), "failed", "{status}: {}", deck.told());
        let nodes = deck.nodes();
        let step = node(&nodes, &format!("{id}/st-1")).unwrap();
        let told = step["reason"].as_str().unwrap_or_default();
        assert!(told.contains(&status.to_string()), "{status}: {step:#}\n{}", deck.told());
        // A key that is not taken ends it before the provider's words come.
        assert!(status == 401 || told.contains(&message), "{status}: {told}");
    }
}

#[test]
fn a_retry_of_claude_goes_on_with_its_own_session() {
    let Some((deck, _)) = deck() else { return };
    let script = json!([
        { "text": "Once.", "tools": [bash("echo once >> ran")], "usage": used(10, 3) },
        { "text": "Went on.", "usage": used(12, 3),
          "error": { "status": 500, "type": "api_error", "message": "Not now.", "times": 2 } },
    ]);
    let id = deck.delegate(&[&prompt("Do it.", &script), "--agent", "claude", "--no-retry"]);
    assert_eq!(deck.end_of(&id), "failed");
    deck.ok(&["retry", &format!("{id}/st-1")]);
    deck.wait("the end of the second attempt", |nodes| (node(nodes, &id)?["status"] == "done").then_some(()));
    let ran = std::fs::read_to_string(deck.place.work().join("ran")).unwrap();
    assert_eq!(ran, "once\n", "what was done is not done again");
    let nodes = deck.nodes();
    let step = node(&nodes, &format!("{id}/st-1")).unwrap();
    assert_eq!((&step["attempt"], &step["result"]["summary"]), (&json!(2), &json!("Went on.")));
}
