//! Real agents that speak the Agent Client Protocol under the engine: `opencode acp` and `gemini --acp`.

use serde_json::{Value, json};

use crate::deck::{Deck, node, own};
use crate::model_server::Charged;
use crate::place::{find, prompt};

const CONFIG: &str = r#"
[agents.any]
kind = "acp"
command = ["opencode", "acp"]
env = ["OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_LSP_DOWNLOAD", "OPENCODE_DISABLE_DEFAULT_PLUGINS", "PWD"]
"#;

const GEMINI: &str = r#"
[agents.any]
kind = "acp"
command = ["gemini", "--acp"]
model = "gemini-2.5-pro"
env = ["GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GEMINI_DEFAULT_AUTH_TYPE"]
"#;

fn deck() -> Option<Deck> {
    let deck = Deck::new(&find("opencode")?);
    deck.configure(CONFIG);
    Some(deck)
}

fn bash(command: &str) -> Value {
    json!({ "name": "bash", "input": { "command": command, "description": "Work" } })
}

#[test]
fn opencode_works_by_the_protocol_and_tells_what_it_did_and_cost() {
    let Some(deck) = deck() else { return };
    let script = json!([
        { "think": "First this.", "text": "I write.", "tools": [bash("echo made > made")], "usage": { "in": 100, "out": 20 } },
        { "text": "It is written.", "usage": { "in": 130, "out": 9 } },
    ]);
    let id = deck.delegate(&[&prompt("Write it.", &script), "--agent", "any", "--no-retry"]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    assert!(deck.place.work().join("made").exists());
    let nodes = deck.nodes();
    let step = node(&nodes, &format!("{id}/st-1")).unwrap();
    assert_eq!(step["result"]["summary"], "It is written.", "{step:#}");
    assert!(step["cost"]["own"].as_f64().unwrap() > 0.0, "{step:#}");
    // By the protocol it tells of the last message of a turn only; its own files tell of each, and of the same step.
    assert_eq!((own(step).input, own(step).output), (230, 29), "{step:#}");
    assert_is_alone(&nodes, &id);
    let engines = deck.ok(&["status", "--json", "--engine-only"]);
    let engines: Value = serde_json::from_str(&engines).unwrap();
    let told = node(engines["nodes"].as_array().unwrap(), &format!("{id}/st-1")).unwrap();
    assert_eq!(own(told).output, 9, "what it said itself stays the engine's word: {told:#}");
}

/// What was read of the agent's own files is a part of the delegation, and stands nowhere else.
fn assert_is_alone(nodes: &[Value], id: &str) {
    let roots: Vec<&Value> = nodes.iter().filter(|node| node["parent"].is_null()).collect();
    assert_eq!(roots.iter().map(|root| &root["id"]).collect::<Vec<_>>(), [id], "{roots:#?}");
}

#[test]
fn gemini_by_the_protocol_is_one_node_with_what_its_own_files_tell() {
    let Some(program) = find("gemini") else { return };
    let deck = Deck::new(&program);
    deck.configure(GEMINI);
    // What needs no leave: it asks for none, and needs no trust in the folder.
    let look = json!({ "name": "list_directory", "input": { "dir_path": deck.place.work() } });
    let script = json!([
        { "text": "I look.", "tools": [look], "usage": { "in": 100, "out": 20, "cache_read": 40, "think": 3 } },
        { "text": "It is there.", "usage": { "in": 130, "out": 9, "cache_read": 50 } },
    ]);
    let id = deck.delegate(&[&prompt("Look.", &script), "--agent", "any", "--no-retry"]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let nodes = deck.nodes();
    let step = node(&nodes, &format!("{id}/st-1")).unwrap();
    let all = Charged { input: 230, output: 32, cache_read: 90, cache_write: 0 };
    assert_eq!(own(step), all, "{step:#}");
    assert_is_alone(&nodes, &id);
}

#[test]
fn a_cancel_of_opencode_in_the_middle_of_a_command_leaves_no_process() {
    let Some(deck) = deck() else { return };
    let script = json!([
        { "text": "Long.", "tools": [bash("touch begun; sleep 300; touch over")], "usage": { "in": 10, "out": 3 } },
        { "text": "Over.", "usage": { "in": 12, "out": 3 } },
    ]);
    let id = deck.delegate(&[&prompt("Take long.", &script), "--agent", "any", "--no-retry"]);
    let begun = deck.place.work().join("begun");
    deck.wait("the command", |_| begun.exists().then_some(()));
    let told = deck.ok(&["cancel", &id]);
    assert!(told.contains("ended"), "{told}");
    assert_eq!(deck.end_of(&id), "cancelled");
    assert!(!deck.place.work().join("over").exists());
}
