//! What is said to Claude Code while it works, and what is asked of its answer.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::deck::{Deck, node};
use crate::model_server::Served;
use crate::place::{find, prompt};

fn deck(permission: &str) -> Option<Deck> {
    let program: PathBuf = find("claude")?;
    let deck = Deck::new(&program);
    deck.configure(&format!("[agents.claude]\nkind = \"claude\"\n{permission}"));
    Some(deck)
}

const FREE: &str = "permission-mode = \"bypassPermissions\"\n";

fn used(input: u64) -> Value {
    json!({ "in": input, "out": 3 })
}

fn bash(command: &str) -> Value {
    json!({ "name": "Bash", "input": { "command": command, "description": "Run it" } })
}

fn served(deck: &Deck) -> Vec<Served> {
    deck.place.server.served().into_iter().filter(|one| !one.is_aside).collect()
}

#[test]
fn claude_goes_on_with_the_model_that_a_person_names() {
    let Some(deck) = deck(FREE) else { return };
    let script = json!([
        { "text": "I wait.", "usage": used(10),
          "tools": [bash("echo begun > begun; until [ -e go ]; do sleep 0.1; done")] },
        { "text": "Done.", "usage": used(12) },
    ]);
    let id =
        deck.delegate(&[&prompt("Wait.", &script), "--agent", "claude", "--model", "sonnet", "--no-retry"]);
    let step = format!("{id}/st-1");
    let work = deck.place.work();
    deck.wait("the command", |_| work.join("begun").exists().then_some(()));
    let told = deck.ok(&["model", &step, "haiku"]);
    assert!(told.contains("given to"), "{told}");
    let nonsense = deck.run(&["model", &step, "two words"]);
    assert!(!nonsense.status.success());
    std::fs::write(work.join("go"), "").unwrap();
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let models: Vec<String> = served(&deck).into_iter().map(|one| one.model).collect();
    assert!(
        models.first().unwrap().contains("sonnet") && models.last().unwrap().contains("haiku"),
        "{models:?}"
    );
    let nodes = deck.nodes();
    let step = node(&nodes, &step).unwrap();
    assert!(step["model"]["effective"].as_str().unwrap().contains("haiku"), "{step:#}");
    assert_eq!((&step["cost"]["basis"], &step["cost"]["by"]), (&json!("whole"), &json!("table")), "{step:#}");
}

#[test]
fn what_is_allowed_for_the_session_is_not_asked_again() {
    let Some(deck) = deck("") else { return };
    let script = json!([
        { "text": "One.", "tools": [bash("touch made; rm -f other")], "usage": used(10) },
        { "text": "Two.", "tools": [bash("touch made; rm -f other")], "usage": used(12) },
        { "text": "Written.", "usage": used(14) },
    ]);
    let id = deck.delegate(&[&prompt("Write it.", &script), "--agent", "claude", "--no-retry"]);
    let step = format!("{id}/st-1");
    let question =
        deck.wait("the question", |nodes| node(nodes, &step)?["questions"].as_array()?.first().cloned());
    deck.ok(&["answer", &step, question["questionId"].as_str().unwrap(), "allow-for-session"]);
    assert_eq!(deck.end_of(&id), "done", "a second question would have waited: {}", deck.told());
    assert_eq!(served(&deck).len(), 3);
}

#[test]
fn an_answer_without_the_form_is_asked_for_once_more_on_the_same_session() {
    let Some(deck) = deck(FREE) else { return };
    let script = json!([
        { "text": "It is all in the file.", "tools": [bash("echo words > report.md")], "usage": used(10) },
        { "text": "Done, no form.", "usage": used(12) },
        { "text": "{\"status\":\"completed\",\"summary\":\"Written.\",\"artifacts\":\
            [{\"type\":\"report\",\"path\":\"report.md\",\"summary\":\"It.\"}]}", "usage": used(14) },
    ]);
    let task = prompt("Find it out.", &script);
    let id = deck.delegate(&[&task, "--command", "review", "--agent", "claude", "--no-retry"]);
    assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
    let nodes = deck.nodes();
    let step = node(&nodes, &format!("{id}/st-1")).unwrap();
    assert_eq!(step["attempt"], 2, "{step:#}");
    assert_eq!(served(&deck).len(), 3, "the third answer is to the same talk");
    let findings = step["result"]["findings"].to_string();
    assert!(!findings.contains("not valid JSON"), "the second answer has the form: {findings}");
    assert_eq!(step["result"]["summary"], "Written.", "{step:#}");
}

#[test]
fn a_debate_and_an_ensemble_of_claudes_hear_each_other() {
    let Some(deck) = deck(FREE) else { return };
    let says = json!([{ "text": "I say TABS.\nSCORE: 80", "usage": used(10) }]);
    for (pattern, last, heard) in [("debate", "synthesis", 4), ("ensemble", "judge", 3)] {
        let before = served(&deck).len();
        let task = prompt("Tabs or spaces?", &says);
        let id = deck.delegate(&[&task, "-p", pattern, "--agent", "claude", "--no-retry"]);
        assert_eq!(deck.end_of(&id), "done", "{}", deck.told());
        let nodes = deck.nodes();
        let end = node(&nodes, &format!("{id}/{last}")).unwrap();
        assert_eq!(end["status"], "done", "{end:#}");
        let prompts = served(&deck).split_off(before);
        assert_eq!(prompts.len(), heard + 1, "{prompts:#?}");
        let words = &prompts.last().unwrap().whole;
        assert_eq!(words.matches("I say TABS.").count(), heard + 1, "the script's, and each answer: {words}");
    }
}
