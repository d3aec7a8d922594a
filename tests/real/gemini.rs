//! Gemini CLI under the engine: its tree, its tokens, its control, its failures. `QD_REAL_FULL=1` tries every failure.

use serde_json::{Value, json};

use crate::deck::{Deck, node, own, titled};
use crate::model_server::Charged;
use crate::place::{find, prompt};

/// A command that runs until it is ended.
const LONG: &str = "echo begun > begun; python3 -c 'import time; time.sleep(301)'; echo over > over";

fn deck() -> Option<Deck> {
    let deck = Deck::new(&find("gemini")?);
    // A model that is named saves it the question which one to take.
    deck.configure(
        "[agents.gemini]\nkind = \"gemini\"\npermission-mode = \"yolo\"\nmodel = \"gemini-2.5-flash\"\n",
    );
    Some(deck)
}

fn is_full() -> bool {
    std::env::var_os("QD_REAL_FULL").is_some()
}

fn used(input: u64, out: u64) -> Value {
    json!({ "in": input, "out": out, "cache_read": input * 10, "think": 2 })
}

/// Returns what the script of these turns charges.
fn charged(turns: &[(u64, u64)]) -> Charged {
    let one = |&(input, out): &(u64, u64)| Charged {
        input,
        output: out + 2,
        cache_read: input * 10,
        cache_write: 0,
    };
    turns.iter().map(one).fold(Charged::default(), Charged::add)
}

fn shell(command: &str) -> Value {
    json!({ "name": "run_shell_command", "input": { "command": command, "description": "Run it" } })
}

fn hand_on(agent: &str, task: &str, script: &Value) -> Value {
    json!({ "name": "invoke_agent", "input": { "agent_name": agent, "prompt": prompt(task, script) } })
}

/// What a sub-agent does: one command, then its answer.
fn part(nth: u64, command: &str) -> Value {
    let done = json!({ "name": "complete_task", "input": { "result": { "response": format!("Part {nth} is done.") } } });
    json!([
        { "think": "**Look** first", "text": "Looking.", "tools": [shell(command)], "usage": used(40 + nth, 5) },
        { "tools": [done], "usage": used(50 + nth, 7) },
    ])
}

fn delegate(deck: &Deck, task: &str, script: &Value) -> String {
    deck.delegate(&[&prompt(task, script), "--agent", "gemini", "--no-retry"])
}

/// Returns the node of an agent whose task begins so.
fn tasked<'a>(nodes: &'a [Value], task: &str) -> &'a Value {
    let is_it = |node: &&Value| {
        node["kind"] == "agent" && node["title"].as_str().is_some_and(|title| title.starts_with(task))
    };
    nodes.iter().find(is_it).unwrap_or_else(|| panic!("no agent {task:?} in {nodes:#?}"))
}

#[test]
fn gemini_runs_two_sub_agents_and_every_token_is_where_it_was_used() {
    let Some(deck) = deck() else { return };
    let script = json!([
        { "think": "**Two** parts", "text": "Handing on.", "usage": used(10, 3),
          "tools": [hand_on("generalist", "Part one.", &part(1, "echo one")),
                    hand_on("generalist", "Part two.", &part(2, "echo two"))] },
        { "text": "All is done.", "usage": used(12, 3) },
    ]);
    let id = delegate(&deck, "Do all of it.", &script);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let nodes = deck.nodes();
    let step = node(&nodes, &format!("{id}/st-1")).unwrap();
    assert_eq!(nodes.iter().filter(|node| node["kind"] == "agent").count(), 2, "{nodes:#?}");
    for (nth, task) in [(1, "Part one."), (2, "Part two.")] {
        let agent = tasked(&nodes, task);
        assert_eq!((&agent["parent"], &agent["status"]), (&step["id"], &json!("done")), "{agent:#}");
        assert_eq!(agent["agent"], "generalist", "{agent:#}");
        assert_eq!(agent["model"]["effective"], "gemini-2.5-flash", "{agent:#}");
        assert_eq!(agent["result"]["summary"], format!("Part {nth} is done."), "{agent:#}");
        assert_eq!(own(agent), charged(&[(40 + nth, 5), (50 + nth, 7)]), "{agent:#}");
    }
    assert_eq!(step["result"]["summary"], "All is done.");
    assert_eq!(own(step), charged(&[(10, 3), (12, 3)]));
    let served = deck.place.server.served().into_iter().filter_map(|one| one.charged);
    let all = own(step).add(own(tasked(&nodes, "Part one."))).add(own(tasked(&nodes, "Part two.")));
    assert_eq!(all, served.fold(Charged::default(), Charged::add));
    let log = deck.ok(&["logs", &format!("{id}/st-1")]);
    assert!(log.contains("Handing on.") && log.contains("parts"), "what it says and what it thinks: {log}");
}

#[test]
fn a_pause_of_three_seconds_stops_gemini_and_costs_no_retry() {
    let Some(deck) = deck() else { return };
    let turns: Vec<Value> = (0..4)
        .map(|nth| json!({ "text": format!("On {nth}."), "tools": [shell(&format!("echo {nth}; sleep 0.3"))], "usage": used(10, 3) }))
        .chain([json!({ "text": "Done.", "usage": used(10, 3) })])
        .collect();
    let id = delegate(&deck, "Go on.", &json!(turns));
    deck.served("the second turn", |served| served.len() >= 2);
    deck.ok(&["pause", &id]);
    let before = deck.place.server.served().len();
    std::thread::sleep(std::time::Duration::from_secs(3));
    // One request may have been on its way when everything stood still.
    assert!(deck.place.server.served().len() <= before + 1, "it went on: {:#?}", deck.place.server.served());
    deck.ok(&["resume", &id]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    assert_eq!(deck.place.server.served().len(), 5, "nothing was asked twice");
    assert_eq!(node(&deck.nodes(), &format!("{id}/st-1")).unwrap()["attempt"], 1);
}

#[test]
fn a_cancel_of_gemini_in_the_middle_of_a_shell_command_leaves_no_process_and_no_request() {
    let Some(deck) = deck() else { return };
    let script = json!([
        { "text": "Long.", "tools": [shell(LONG)], "usage": used(10, 3) },
        { "text": "Over.", "usage": used(12, 3) },
    ]);
    let id = delegate(&deck, "Take long.", &script);
    let work = deck.place.work();
    deck.wait("the command", |_| work.join("begun").exists().then_some(()));
    let told = deck.run(&["tell", &id, "Hurry."]);
    assert!(!told.status.success(), "it cannot be spoken to, and that is said");
    let told = deck.ok(&["cancel", &id]);
    let count: usize = told.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    assert!(told.contains("ended") && count >= 2, "the agent and its shell: {told}");
    assert_eq!(deck.end_of(&id), "cancelled");
    let before = deck.place.server.served().len();
    let own = work.to_str().unwrap();
    let left: Vec<String> = crate::deck::processes()
        .into_iter()
        .filter(|line| line.contains("time.sleep(301)") && line.contains(own))
        .collect();
    assert!(left.is_empty(), "{left:#?}");
    assert!(!work.join("over").exists());
    assert_eq!(deck.place.server.served().len(), before);
}

#[test]
fn an_engine_killed_while_gemini_works_loses_nothing() {
    let Some(deck) = deck() else { return };
    let script = json!([
        { "text": "Away.", "tools": [hand_on("generalist", "Part one.", &part(1, "echo part; sleep 2"))],
          "usage": used(10, 3) },
        { "text": "All done.", "usage": used(12, 3) },
    ]);
    let id = delegate(&deck, "Do it.", &script);
    deck.wait("the agent", |nodes| {
        nodes.iter().find(|node| node["kind"] == "agent" && node["status"] == "running").map(drop)
    });
    deck.kill_engine();
    deck.ok(&["engine", "start"]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let nodes = deck.nodes();
    let (step, agent) = (node(&nodes, &format!("{id}/st-1")).unwrap(), tasked(&nodes, "Part one."));
    assert_eq!((own(step), own(agent)), (charged(&[(10, 3), (12, 3)]), charged(&[(41, 5), (51, 7)])));
    assert_eq!((&step["attempt"], &agent["status"]), (&json!(1), &json!("done")), "{nodes:#?}");
    assert_eq!(step["result"]["summary"], "All done.");
    let log = deck.ok(&["logs", &format!("{id}/st-1"), "--json"]);
    let told = log.lines().filter(|line| line.contains("\"Away.\"")).count();
    assert_eq!(told, 1, "what was read before and after is told once: {log}");
}

#[test]
fn a_limit_of_gemini_that_says_when_it_is_over_is_waited_for_and_costs_no_retry() {
    let Some(deck) = deck() else { return };
    // It forgets a task that it could not even begin, and is then begun anew.
    let script = json!([{ "text": "At last.", "usage": used(10, 3), "error": {
        "status": 429, "type": "RESOURCE_EXHAUSTED", "message": "Quota exceeded. Please retry in 2s.", "times": 1,
    } }]);
    let id = delegate(&deck, "Wait.", &script);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    assert_eq!(sessions(&deck).len(), 2, "it ran twice");
    let nodes = deck.nodes();
    let step = node(&nodes, &format!("{id}/st-1")).unwrap();
    assert_eq!(step["result"]["summary"], "At last.");
    assert_eq!(own(step), charged(&[(10, 3)]));
}

/// Returns the ids that the tool gave the sessions.
fn sessions(deck: &Deck) -> Vec<Value> {
    let folders = std::fs::read_dir(deck.place.work().join(".quarterdeck/sessions")).unwrap().flatten();
    let read = |path: std::path::PathBuf| serde_json::from_slice::<Value>(&std::fs::read(path).ok()?).ok();
    folders.filter_map(|folder| Some(read(folder.path().join("agent.json"))?["session"].clone())).collect()
}

#[test]
fn a_retry_of_gemini_goes_on_with_its_own_session() {
    let Some(deck) = deck() else { return };
    let script = json!([
        { "text": "Once.", "tools": [shell("echo once >> ran")], "usage": used(10, 3) },
        { "text": "Went on.", "usage": used(12, 3),
          "error": { "status": 500, "type": "INTERNAL", "message": "Not now.", "times": 1 } },
    ]);
    let id = delegate(&deck, "Do it.", &script);
    assert_eq!(deck.end_of(&id), "failed", "{}", deck.told());
    deck.ok(&["retry", &format!("{id}/st-1")]);
    deck.wait("the end of the second attempt", |nodes| (node(nodes, &id)?["status"] == "done").then_some(()));
    let [one, two] = sessions(&deck).try_into().unwrap_or_else(|all| panic!("{all:?}\n{}", deck.told()));
    assert_eq!(one, two, "the second went on with the first one's session");
    let nodes = deck.nodes();
    let step = node(&nodes, &format!("{id}/st-1")).unwrap();
    assert_eq!((&step["attempt"], &step["result"]["summary"]), (&json!(2), &json!("Went on.")));
}

#[test]
fn a_failure_of_the_provider_ends_gemini_in_the_providers_words() {
    let Some(deck) = deck() else { return };
    let all = [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (529, "OVERLOADED"),
    ];
    let some = if is_full() { &all[..] } else { &all[..1] };
    for (status, kind) in some {
        let message = format!("The provider says {status}.");
        let script = json!([{ "error": { "status": status, "type": kind, "message": message } }]);
        let id = delegate(&deck, &format!("Fail {status}."), &script);
        assert_eq!(deck.end_of(&id), "failed", "{status}: {}", deck.told());
        let nodes = deck.nodes();
        let told =
            node(&nodes, &format!("{id}/st-1")).unwrap()["reason"].as_str().unwrap_or_default().to_owned();
        assert!(
            told.contains(&message) && told.contains(&status.to_string()),
            "{status}: {told}\n{}",
            deck.told()
        );
    }
    if is_full() {
        let id =
            delegate(&deck, "Break.", &json!([{ "text": "Half of a sentence that is long.", "cut": true }]));
        assert_eq!(deck.end_of(&id), "failed", "{}", deck.told());
        assert!(titled(&deck.nodes(), "Break.").is_none_or(|node| node["status"] == "failed"));
    }
}
