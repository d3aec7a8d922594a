//! OpenCode under the engine: its tree, its tokens, its control, its failures.
//!
//! It starts slowly, so only the tests that say most run by themselves; `QD_REAL_FULL=1` runs all.

use std::io::Write;

use serde_json::{Value, json};

use crate::deck::{Deck, node, own, titled};
use crate::model_server::Charged;
use crate::place::{find, prompt};

/// A command that runs until it is ended.
const LONG: &str = "echo begun > begun; python3 -c 'import time; time.sleep(300)'; echo over > over";

fn deck() -> Option<Deck> {
    let program = find("opencode")?;
    let deck = Deck::new(&program);
    deck.configure("[agents.opencode]\nkind = \"opencode\"\npermission-mode = \"allow\"\n");
    // Without it only its main agent has sub-agents.
    let config =
        json!({ "subagent_depth": 2, "agent": { "general": { "permission": { "task": "allow" } } } });
    std::fs::write(deck.place.work().join("opencode.json"), config.to_string()).unwrap();
    Some(deck)
}

/// The same, for what runs only when everything is to be tried.
fn full() -> Option<Deck> {
    if std::env::var_os("QD_REAL_FULL").is_none_or(|value| value.is_empty()) {
        let _ =
            writeln!(std::io::stderr(), "SKIPPED: more of opencode; set QD_REAL_FULL=1 to test all of it");
        return None;
    }
    deck()
}

fn used(input: u64, out: u64) -> Value {
    json!({ "in": input, "out": out, "cache_read": input * 10 })
}

fn hand_on(title: &str, task: &str, script: &Value) -> Value {
    let input = json!({ "description": title, "prompt": prompt(task, script), "subagent_type": "general" });
    json!({ "name": "task", "input": input })
}

fn bash(command: &str) -> Value {
    json!({ "name": "bash", "input": { "command": command, "description": "Run it" } })
}

/// Returns what the script of these turns charges.
fn charged(turns: &[(u64, u64)]) -> Charged {
    let one =
        |&(input, output): &(u64, u64)| Charged { input, output, cache_read: input * 10, cache_write: 0 };
    turns.iter().map(one).fold(Charged::default(), Charged::add)
}

#[test]
fn opencode_runs_two_sub_agents_nested_and_every_token_is_where_it_was_used() {
    let Some(deck) = deck() else { return };
    let helper = json!([
        { "text": "Helping.", "tools": [bash("echo helped")], "usage": used(90, 11) },
        { "text": "Helped.", "usage": used(92, 13) },
    ]);
    let lead = json!([
        { "think": "I need help.", "text": "Leading.", "tools": [hand_on("Helper part", "Help.", &helper)],
          "usage": used(70, 17) },
        { "text": "Led.", "usage": used(72, 19) },
    ]);
    let script = json!([
        { "text": "Handing on.", "tools": [hand_on("Lead part", "Lead.", &lead)], "usage": used(50, 23) },
        { "text": "All is done.", "usage": used(52, 29) },
    ]);
    let id = deck.delegate(&[&prompt("Do all of it.", &script), "--agent", "opencode", "--no-retry"]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let nodes = deck.nodes();
    let step = node(&nodes, &format!("{id}/st-1")).unwrap();
    let (lead, helper) = (titled(&nodes, "Lead part").unwrap(), titled(&nodes, "Helper part").unwrap());
    assert_eq!((&lead["parent"], &helper["parent"]), (&step["id"], &lead["id"]), "{nodes:#?}");
    for agent in [lead, helper] {
        assert_eq!((&agent["kind"], &agent["status"]), (&json!("agent"), &json!("done")), "{agent:#?}");
        assert_eq!((&agent["agent"], &agent["model"]["effective"]), (&json!("general"), &json!("large")));
    }
    assert_eq!(nodes.iter().filter(|node| node["kind"] == "agent").count(), 2, "{nodes:#?}");
    assert_eq!(step["result"]["summary"], "All is done.");
    assert_eq!(own(lead), charged(&[(70, 17), (72, 19)]));
    assert_eq!(own(helper), charged(&[(90, 11), (92, 13)]));
    assert_eq!(own(step), charged(&[(50, 23), (52, 29)]));
    let served = deck.place.server.served();
    assert!(served.iter().all(|one| !one.is_aside), "a title of ours costs nothing: {served:#?}");
    let served = served.into_iter().filter_map(|one| one.charged).fold(Charged::default(), Charged::add);
    assert_eq!(own(step).add(own(lead)).add(own(helper)), served);
    // As it is configured to cost: 3 and 15 dollars a million, 0.3 from the cache.
    let cost = step["cost"]["own"].as_f64().unwrap_or_else(|| panic!("{step:#}"));
    assert!((cost - (102.0 * 3.0 + 52.0 * 15.0 + 1020.0 * 0.3) / 1e6).abs() < 1e-9, "{cost}");
}

#[test]
fn a_cancel_of_opencode_in_the_middle_of_a_shell_command_leaves_no_process_and_no_request() {
    let Some(deck) = deck() else { return };
    let script = json!([
        { "text": "Long.", "tools": [bash(LONG)], "usage": used(10, 3) },
        { "text": "Over.", "usage": used(12, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Take long.", &script), "--agent", "opencode", "--no-retry"]);
    let begun = deck.place.work().join("begun");
    deck.wait("the command", |_| begun.exists().then_some(()));
    let told = deck.ok(&["cancel", &id]);
    assert!(told.contains("ended"), "{told}");
    assert_eq!(deck.end_of(&id), "cancelled");
    let before = deck.place.server.served().len();
    let own = deck.place.work();
    let left: Vec<String> =
        processes().into_iter().filter(|line| line.contains(own.to_str().unwrap())).collect();
    let left: Vec<&String> =
        left.iter().filter(|line| line.contains("time.sleep(300)") || line.contains("serve")).collect();
    assert!(left.is_empty(), "{left:#?}");
    assert!(!own.join("over").exists());
    assert_eq!(deck.place.server.served().len(), before);
}

/// Returns the command line and the working folder of every process.
fn processes() -> Vec<String> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let cwd = std::fs::read_link(entry.path().join("cwd")).ok()?;
        Some(format!("{} in {}", String::from_utf8_lossy(&line).replace('\0', " "), cwd.display()))
    })
    .collect()
}

#[test]
fn opencode_asks_for_permission_and_hears_the_answer() {
    let Some(deck) = full() else { return };
    deck.configure("[agents.opencode]\nkind = \"opencode\"\npermission-mode = \"ask\"\n");
    let script = json!([
        { "text": "I write.", "tools": [bash("touch made")], "usage": used(10, 3) },
        { "text": "And more.", "tools": [bash("mkdir more")], "usage": used(10, 3) },
        { "text": "Written.", "usage": used(12, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Write it.", &script), "--agent", "opencode", "--no-retry"]);
    let step = format!("{id}/st-1");
    let asked = |about: &str| {
        deck.wait("the question", |nodes| {
            let questions = node(nodes, &step)?["questions"].as_array()?.clone();
            questions
                .into_iter()
                .find(|question| question["text"].as_str().is_some_and(|text| text.contains(about)))
        })
    };
    let question = asked("touch made");
    assert_eq!(question["tool"], "bash", "{question:#}");
    assert!(!deck.place.work().join("made").exists());
    deck.ok(&["answer", &step, question["questionId"].as_str().unwrap(), "allow"]);
    let question = asked("mkdir more");
    deck.ok(&["answer", &step, question["questionId"].as_str().unwrap(), "deny"]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    assert!(deck.place.work().join("made").exists() && !deck.place.work().join("more").exists());
}

#[test]
fn a_pause_of_three_seconds_stops_opencode_and_costs_no_retry() {
    let Some(deck) = full() else { return };
    let turns: Vec<Value> = (0..6)
        .map(|_| json!({ "text": "On.", "tools": [bash("echo on; sleep 0.3")], "usage": used(10, 3) }))
        .chain([json!({ "text": "Done.", "usage": used(10, 3) })])
        .collect();
    let id = deck.delegate(&[&prompt("Go on.", &json!(turns)), "--agent", "opencode", "--no-retry"]);
    deck.served("the second turn", |served| served.len() >= 2);
    deck.ok(&["pause", &id]);
    let before = deck.place.server.served().len();
    std::thread::sleep(std::time::Duration::from_secs(3));
    // One request may have been on its way when everything stood still.
    assert!(deck.place.server.served().len() <= before + 1, "it went on: {:#?}", deck.place.server.served());
    deck.ok(&["resume", &id]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    assert_eq!(deck.place.server.served().len(), 7, "nothing was asked twice");
    assert_eq!(node(&deck.nodes(), &format!("{id}/st-1")).unwrap()["attempt"], 1);
}

#[test]
fn one_sub_agent_of_opencode_is_cancelled_and_the_rest_goes_on_and_is_told_something() {
    let Some(deck) = full() else { return };
    let child = json!([{ "text": "Long.", "tools": [bash(LONG)], "usage": used(40, 5) }]);
    let script = json!([
        { "text": "Away.", "tools": [hand_on("Slow part", "Take long.", &child)], "usage": used(10, 3) },
        { "text": "Without it, then.", "usage": used(12, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Do it.", &script), "--agent", "opencode", "--no-retry"]);
    let begun = deck.place.work().join("begun");
    deck.wait("the command", |_| begun.exists().then_some(()));
    let agent = deck.wait("the agent", |nodes| Some(titled(nodes, "Slow part")?["id"].as_str()?.to_owned()));
    let agent = agent.rsplit('/').next().unwrap().to_owned();
    deck.ok(&["tell", &format!("{id}/st-1"), "Hurry."]);
    let told = deck.ok(&["cancel", &format!("{id}/st-1/{agent}")]);
    assert!(told.contains("1 of 1 agent ended"), "{told}");
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    assert_eq!(titled(&deck.nodes(), "Slow part").unwrap()["status"], "cancelled");
    assert!(!deck.place.work().join("over").exists());
}

#[test]
fn an_engine_killed_while_opencode_works_loses_nothing() {
    let Some(deck) = full() else { return };
    let child = json!([
        { "text": "Working.", "tools": [bash("echo part; sleep 2")], "usage": used(40, 5) },
        { "text": "Part is done.", "usage": used(42, 7) },
    ]);
    let script = json!([
        { "text": "Away.", "tools": [hand_on("Part", "Do it.", &child)], "usage": used(10, 3) },
        { "text": "All done.", "usage": used(12, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Do it.", &script), "--agent", "opencode", "--no-retry"]);
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
fn a_failure_of_the_provider_ends_opencode_in_the_providers_words() {
    let Some(deck) = full() else { return };
    for (status, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ] {
        let message = format!("The provider says {status}.");
        let script = json!([{ "error": { "status": status, "type": kind, "message": message } }]);
        let id = deck.delegate(&[&prompt("Fail.", &script), "--agent", "opencode", "--no-retry"]);
        assert_eq!(deck.end_of(&id), "failed", "{status}: {}", deck.told());
        let nodes = deck.nodes();
        let step = node(&nodes, &format!("{id}/st-1")).unwrap();
        let told = step["reason"].as_str().unwrap_or_default();
        assert!(told.contains(&message), "{status}: {step:#}\n{}", deck.told());
    }
}

#[test]
fn a_connection_that_is_cut_ends_opencode_as_failed() {
    let Some(deck) = full() else { return };
    let script = json!([{ "text": "Half of it is", "cut": true, "usage": used(10, 3) }]);
    let id = deck.delegate(&[&prompt("Break.", &script), "--agent", "opencode", "--no-retry"]);
    assert_eq!(deck.end_of(&id), "failed", "{}", deck.told());
}

#[test]
fn a_retry_of_opencode_goes_on_with_its_own_session() {
    let Some(deck) = full() else { return };
    let script = json!([
        { "text": "Once.", "tools": [bash("echo once >> ran")], "usage": used(10, 3) },
        { "text": "Went on.", "usage": used(12, 3),
          "error": { "status": 400, "type": "invalid_request_error", "message": "Not now.", "times": 1 } },
    ]);
    let id = deck.delegate(&[&prompt("Do it.", &script), "--agent", "opencode", "--no-retry"]);
    assert_eq!(deck.end_of(&id), "failed");
    deck.ok(&["retry", &format!("{id}/st-1")]);
    deck.wait("the end of the second attempt", |nodes| (node(nodes, &id)?["status"] == "done").then_some(()));
    let ran = std::fs::read_to_string(deck.place.work().join("ran")).unwrap();
    assert_eq!(ran, "once\n", "what was done is not done again");
    let nodes = deck.nodes();
    let step = node(&nodes, &format!("{id}/st-1")).unwrap();
    assert_eq!((&step["attempt"], &step["result"]["summary"]), (&json!(2), &json!("Went on.")));
}
