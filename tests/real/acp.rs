//! A real agent that speaks the Agent Client Protocol under the engine: `opencode acp`.

use serde_json::{Value, json};

use crate::deck::{Deck, node};
use crate::place::{find, prompt};

const CONFIG: &str = r#"
[agents.any]
kind = "acp"
command = ["opencode", "acp"]
env = ["OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_LSP_DOWNLOAD", "OPENCODE_DISABLE_DEFAULT_PLUGINS", "PWD"]
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
    assert_eq!(step["usage"]["own"]["output"], 9, "it tells of the last message of a turn: {step:#}");
    assert!(step["cost"]["own"].as_f64().unwrap() > 0.0, "{step:#}");
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
