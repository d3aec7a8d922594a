//! Codex under the engine: its tree, its tokens, its control, its failures.

use serde_json::{Value, json};

use crate::deck::{Deck, is_whole, node, own, processes};
use crate::model_server::Charged;
use crate::place::{find, prompt};

/// A command that runs until it is ended.
const LONG: &str = "echo begun > begun; python3 -c 'import time; time.sleep(300)'; echo over > over";

/// Nothing is asked, and its commands are not put into a sandbox, which not every machine has.
const FREE: &str = "never danger-full-access";

fn deck(permission: &str, more: &str) -> Option<Deck> {
    let program = find("codex")?;
    let deck = Deck::new(&program);
    deck.configure(&format!(
        "[agents.codex]\nkind = \"codex\"\nenv = [\"MODEL_KEY\"]\npermission-mode = \"{permission}\"\n{more}"
    ));
    Some(deck)
}

fn used(input: u64, out: u64) -> Value {
    json!({ "in": input, "out": out, "cache_read": input * 10 })
}

fn charged(turns: &[(u64, u64)]) -> Charged {
    let one =
        |&(input, output): &(u64, u64)| Charged { input, output, cache_read: input * 10, cache_write: 0 };
    turns.iter().map(one).fold(Charged::default(), Charged::add)
}

/// The tools for sub-agents are told only after a search for them.
fn search(input: u64) -> Value {
    let tool =
        json!({ "name": "tool_search", "input": { "query": "spawn sub-agents wait agent", "limit": 10 } });
    json!({ "tools": [tool], "usage": used(input, 2) })
}

fn spawn(task: &str, script: &Value) -> Value {
    json!({ "name": "spawn_agent", "input": { "message": prompt(task, script) } })
}

fn wait(which: &str) -> Value {
    json!({ "name": "wait_agent", "input": { "targets": [which], "timeout_ms": 60_000 } })
}

fn shell(command: &str) -> Value {
    json!({ "name": "exec_command", "input": { "cmd": command, "yield_time_ms": 30_000 } })
}

/// Returns the sub-agent whose task begins so.
fn agent<'a>(nodes: &'a [Value], task: &str) -> Option<&'a Value> {
    let is_it = |node: &&Value| {
        node["kind"] == "agent" && node["title"].as_str().is_some_and(|title| title.starts_with(task))
    };
    nodes.iter().find(is_it)
}

#[test]
fn codex_runs_sub_agents_nested_and_every_token_is_where_it_was_used() {
    let Some(deck) = deck(FREE, "") else { return };
    let part = |input| {
        json!([
            { "think": "A look first.", "text": "Looking.", "tools": [shell("echo part")], "usage": used(input, 11) },
            { "text": "Part is done.", "usage": used(input + 2, 13) },
        ])
    };
    let lead = json!([
        search(70),
        { "tools": [spawn("Helper part.", &part(90))], "usage": used(72, 3) },
        { "tools": [wait("$LAST:agent_id")], "usage": used(74, 3) },
        { "text": "Led.", "usage": used(76, 3) },
    ]);
    let script = json!([
        search(50),
        { "text": "Handing on.", "tools": [spawn("Lead part.", &lead), spawn("Other part.", &part(110))], "usage": used(52, 3) },
        { "tools": [wait("$FIRST:agent_id")], "usage": used(54, 3) },
        { "tools": [wait("$LAST:agent_id")], "usage": used(56, 3) },
        { "text": "All is done.", "usage": used(58, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Do all of it.", &script), "--agent", "codex", "--no-retry"]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let nodes = deck.nodes();
    let step = node(&nodes, &format!("{id}/st-1")).unwrap();
    let [lead, helper, other] =
        ["Lead part.", "Helper part.", "Other part."].map(|task| agent(&nodes, task).unwrap());
    let parents = [lead, other, helper].map(|agent| &agent["parent"]);
    assert_eq!(parents, [&step["id"], &step["id"], &lead["id"]], "{nodes:#?}");
    for agent in [lead, helper, other] {
        assert_eq!(agent["status"], "done", "{agent:#?}");
        assert_eq!(agent["model"]["effective"], "gpt-5.5", "{agent:#?}");
    }
    assert_eq!(nodes.iter().filter(|node| node["kind"] == "agent").count(), 3, "{nodes:#?}");
    assert!(
        nodes.iter().all(|node| node["kind"] != "session"),
        "its own file tells of the same node: {nodes:#?}"
    );
    assert_eq!(step["result"]["summary"], "All is done.");
    assert_eq!(own(lead), charged(&[(70, 2), (72, 3), (74, 3), (76, 3)]));
    assert_eq!(own(helper), charged(&[(90, 11), (92, 13)]));
    assert_eq!(own(other), charged(&[(110, 11), (112, 13)]));
    assert_eq!(own(step), charged(&[(50, 2), (52, 3), (54, 3), (56, 3), (58, 3)]));
    let served = deck.place.server.served().into_iter().filter(|one| !one.is_aside);
    let served = served.filter_map(|one| one.charged).fold(Charged::default(), Charged::add);
    assert_eq!(own(step).add(own(lead)).add(own(helper)).add(own(other)), served);
}

#[test]
fn sub_agents_of_the_second_kind_are_seen_and_waited_for_too() {
    let Some(deck) = deck(FREE, "command = [\"codex\", \"--enable\", \"multi_agent_v2\"]\n") else { return };
    let part = json!([
        { "text": "Looking.", "tools": [shell("echo part; sleep 1")], "usage": used(40, 5) },
        { "text": "Part is done.", "usage": used(42, 7) },
    ]);
    let input = json!({ "task_name": "part_b", "message": prompt("Part.", &part), "fork_turns": "none" });
    let script = json!([
        { "tools": [{ "name": "spawn_agent", "input": input }], "usage": used(10, 3) },
        { "text": "It goes on alone.", "usage": used(12, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Do it.", &script), "--agent", "codex", "--no-retry"]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let nodes = deck.nodes();
    let (step, part) = (node(&nodes, &format!("{id}/st-1")).unwrap(), agent(&nodes, "part_b").unwrap());
    assert_eq!((&part["status"], &part["parent"]), (&json!("done"), &step["id"]), "{nodes:#?}");
    assert_eq!((own(part), own(step)), (charged(&[(40, 5), (42, 7)]), charged(&[(10, 3), (12, 3)])));
}

#[test]
fn codex_asks_for_permission_and_hears_every_answer() {
    let Some(deck) = deck("untrusted danger-full-access", "") else { return };
    let script = json!([
        { "text": "I write.", "tools": [shell("touch denied")], "usage": used(10, 3) },
        { "text": "Another way.", "tools": [shell("touch made")], "usage": used(12, 3) },
        { "text": "Written.", "usage": used(14, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Write it.", &script), "--agent", "codex", "--no-retry"]);
    let step = format!("{id}/st-1");
    for (file, answer) in [("denied", "deny"), ("made", "allow")] {
        let question = deck.wait("the question", |nodes| {
            let asked = node(nodes, &step)?["questions"].as_array()?.first()?.clone();
            asked["text"].as_str()?.contains(file).then_some(asked)
        });
        assert_eq!(question["tool"], "shell", "{question:#}");
        if answer == "allow" {
            // Whoever comes after a crash can still answer.
            deck.kill_engine();
            deck.ok(&["engine", "start"]);
        }
        deck.ok(&["answer", &step, question["questionId"].as_str().unwrap(), answer]);
    }
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    assert!(deck.place.work().join("made").exists());
    assert!(!deck.place.work().join("denied").exists());
}

#[test]
fn codex_is_told_something_while_it_works() {
    let Some(deck) = deck(FREE, "") else { return };
    let script = json!([
        { "text": "Slow.", "tools": [shell("echo begun > begun; sleep 3")], "usage": used(10, 3) },
        { "text": "Not told.", "usage": used(12, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Do it.", &script), "--agent", "codex", "--no-retry"]);
    let begun = deck.place.work().join("begun");
    deck.wait("the command", |_| begun.exists().then_some(()));
    let more = json!([{ "text": "Told.", "usage": used(14, 3) }]);
    deck.ok(&["tell", &format!("{id}/st-1"), &prompt("This too.", &more)]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    assert_eq!(node(&deck.nodes(), &format!("{id}/st-1")).unwrap()["result"]["summary"], "Told.");
}

#[test]
fn a_pause_of_three_seconds_stops_codex_and_costs_no_retry() {
    let Some(deck) = deck(FREE, "") else { return };
    let turns: Vec<Value> = (0..6)
        .map(|_| json!({ "text": "On.", "tools": [shell("echo on; sleep 0.3")], "usage": used(10, 3) }))
        .chain([json!({ "text": "Done.", "usage": used(10, 3) })])
        .collect();
    let id = deck.delegate(&[&prompt("Go on.", &json!(turns)), "--agent", "codex", "--no-retry"]);
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
fn a_cancel_of_codex_in_the_middle_of_a_shell_command_leaves_no_process_and_no_request() {
    let Some(deck) = deck(FREE, "") else { return };
    let script = json!([
        { "text": "Long.", "tools": [shell(LONG)], "usage": used(10, 3) },
        { "text": "Over.", "usage": used(12, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Take long.", &script), "--agent", "codex", "--no-retry"]);
    let begun = deck.place.work().join("begun");
    deck.wait("the command", |_| begun.exists().then_some(()));
    let told = deck.ok(&["cancel", &id]);
    assert!(told.contains("ended"), "{told}");
    assert_eq!(deck.end_of(&id), "cancelled");
    let before = deck.place.server.served().len();
    let own = deck.place.work();
    let own = own.to_str().unwrap();
    let left: Vec<String> = processes().into_iter().filter(|line| line.contains(own)).collect();
    let left: Vec<&String> =
        left.iter().filter(|line| line.contains("time.sleep(300)") || line.contains("app-server")).collect();
    assert!(left.is_empty(), "{left:#?}");
    assert!(!deck.place.work().join("over").exists());
    assert_eq!(deck.place.server.served().len(), before);
}

#[test]
fn one_sub_agent_of_codex_is_cancelled_with_its_command_and_the_rest_goes_on() {
    let Some(deck) = deck(FREE, "") else { return };
    let child = json!([{ "text": "Long.", "tools": [shell(LONG)], "usage": used(40, 5) }]);
    let script = json!([
        search(10),
        { "tools": [spawn("Slow part.", &child)], "usage": used(12, 3) },
        { "tools": [shell("while [ ! -e go ]; do sleep 0.2; done")], "usage": used(14, 3) },
        { "text": "Without it, then.", "usage": used(16, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Do it.", &script), "--agent", "codex", "--no-retry"]);
    let begun = deck.place.work().join("begun");
    deck.wait("the command", |_| begun.exists().then_some(()));
    let slow = deck.wait("the agent", |nodes| Some(agent(nodes, "Slow part.")?["id"].as_str()?.to_owned()));
    let slow = slow.rsplit('/').next().unwrap().to_owned();
    let told = deck.ok(&["cancel", &format!("{id}/st-1/{slow}")]);
    assert!(told.contains("1 of 1 agent ended"), "{told}");
    let own = deck.place.work();
    deck.wait("the end of its command", |_| {
        let is_its = |line: &String| line.contains("time.sleep(300)") && line.contains(own.to_str().unwrap());
        (!processes().iter().any(is_its)).then_some(())
    });
    std::fs::write(own.join("go"), "").unwrap();
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    assert_eq!(agent(&deck.nodes(), "Slow part.").unwrap()["status"], "cancelled");
    assert!(!own.join("over").exists());
}

#[test]
fn an_engine_killed_while_codex_works_loses_nothing() {
    let Some(deck) = deck(FREE, "") else { return };
    let child = json!([
        { "text": "Working.", "tools": [shell("echo part; sleep 2")], "usage": used(40, 5) },
        { "text": "Part is done.", "usage": used(42, 7) },
    ]);
    let script = json!([
        search(10),
        { "tools": [spawn("Part.", &child)], "usage": used(12, 3) },
        { "tools": [wait("$LAST:agent_id")], "usage": used(14, 3) },
        { "text": "All done.", "usage": used(16, 3) },
    ]);
    let id = deck.delegate(&[&prompt("Do it.", &script), "--agent", "codex", "--no-retry"]);
    deck.wait("the agent", |nodes| agent(nodes, "Part.").map(drop));
    deck.kill_engine();
    deck.ok(&["engine", "start"]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let nodes = deck.nodes();
    let (step, part) = (node(&nodes, &format!("{id}/st-1")).unwrap(), agent(&nodes, "Part.").unwrap());
    assert_eq!(own(part), charged(&[(40, 5), (42, 7)]));
    assert_eq!(own(step), charged(&[(10, 2), (12, 3), (14, 3), (16, 3)]));
    assert_eq!((&step["attempt"], &part["status"]), (&json!(1), &json!("done")));
    assert_eq!(step["result"]["summary"], "All done.");
}

#[test]
fn a_failure_of_the_provider_ends_codex_in_the_words_that_it_passes_on() {
    let Some(deck) = deck(FREE, "") else { return };
    // Of some failures it tells no word of the provider's.
    let all = [
        (400, "invalid_request_error", "The provider says 400."),
        (401, "authentication_error", "The provider says 401."),
        (429, "rate_limit_error", "429 Too Many Requests"),
        (500, "api_error", "experiencing high demand"),
        (529, "overloaded_error", "The provider says 529."),
    ];
    for (status, kind, said) in all.into_iter().take(if is_whole() { all.len() } else { 2 }) {
        let message = format!("The provider says {status}.");
        let script = json!([{ "error": { "status": status, "type": kind, "message": message } }]);
        let id = deck.delegate(&[&prompt("Fail.", &script), "--agent", "codex", "--no-retry"]);
        assert_eq!(deck.end_of(&id), "failed", "{status}: {}", deck.told());
        let nodes = deck.nodes();
        let step = node(&nodes, &format!("{id}/st-1")).unwrap();
        assert!(
            step["reason"].as_str().unwrap_or_default().contains(said),
            "{status}: {step:#}\n{}",
            deck.told()
        );
    }
    if is_whole() {
        let script = json!([{ "text": "Half of it.", "cut": true }]);
        let id = deck.delegate(&[&prompt("Break.", &script), "--agent", "codex", "--no-retry"]);
        assert_eq!(deck.end_of(&id), "failed", "{}", deck.told());
        let nodes = deck.nodes();
        let told = node(&nodes, &format!("{id}/st-1")).unwrap()["reason"].as_str().unwrap_or_default();
        assert!(told.contains("stream disconnected before completion"), "{told}\n{}", deck.told());
    }
}

#[test]
fn a_retry_of_codex_goes_on_with_its_own_thread() {
    let Some(deck) = deck(FREE, "") else { return };
    let script = json!([
        { "text": "Once.", "tools": [shell("echo once >> ran")], "usage": used(10, 3) },
        { "text": "Went on.", "usage": used(12, 3),
          "error": { "status": 400, "type": "invalid_request_error", "message": "Not now.", "times": 1 } },
    ]);
    let id = deck.delegate(&[&prompt("Do it.", &script), "--agent", "codex", "--no-retry"]);
    assert_eq!(deck.end_of(&id), "failed");
    deck.ok(&["retry", &format!("{id}/st-1")]);
    deck.wait("the end of the second attempt", |nodes| (node(nodes, &id)?["status"] == "done").then_some(()));
    let ran = std::fs::read_to_string(deck.place.work().join("ran")).unwrap();
    assert_eq!(ran, "once\n", "what was done is not done again");
    let nodes = deck.nodes();
    let step = node(&nodes, &format!("{id}/st-1")).unwrap();
    assert_eq!((&step["attempt"], &step["result"]["summary"]), (&json!(2), &json!("Went on.")));
    assert_eq!(own(step), charged(&[(10, 3), (12, 3)]), "nothing is counted twice");
}
