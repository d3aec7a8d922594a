//! Decisions, plans and proposals as a person or an agent meets them on the command line.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::deck::{Deck, journal, text, wait_until};
use quarterdeck::store::folder::StateFolder;

const LONG: &str = "Rework the complete API with security, database and performance integration\n\
    1. Design the async database schema\n2. Implement the API after the schema\n\
    3. Test the security of all endpoints\n4. Measure the performance of the full integration";

/// Everything below a folder, with what it holds.
fn all(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.push((path.display().to_string(), Vec::new()));
            found.extend(all(&path));
        } else {
            found.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_dry_run_shows_the_decision_and_the_plan_and_leaves_no_trace() {
    let deck = Deck::new();
    let before = all(deck.folder.path());
    let page = deck.ok(&["delegate", "--dry-run", "--agent", "echo", LONG]);
    for part in [
        "hand it over (",
        "complexity ",
        "(parallel, plan built-in)",
        "├─ st-1  Design the async database schema",
        "└─ st-4  Measure the performance of the full integration",
        "Nothing was started.",
    ] {
        assert!(page.contains(part), "{part:?} is not in\n{page}");
    }
    let told: Value = serde_json::from_str(&deck.ok(&["delegate", "--dry-run", "--json", LONG])).unwrap();
    assert_eq!(
        (&told["decision"]["shouldDelegate"], told["plan"]["subtasks"].as_array().unwrap().len()),
        (&true.into(), 4)
    );
    let slash = deck.ok(&["/delegate", "--dry-run", "-d", "2", "-b", "9000", "Fix the typo"]);
    assert!(slash.contains("└─ st-1  Fix the typo"), "{slash}");
    assert_eq!(all(deck.folder.path()), before, "nothing was written, and no engine started");
}

#[test]
fn what_is_worth_it_is_split_and_its_decision_is_recorded() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "--agent", "echo", "--wait", LONG]);
    let id = id.lines().next().unwrap();
    let steps =
        deck.nodes().into_iter().filter(|node| node["id"].as_str().unwrap().starts_with(&format!("{id}/")));
    assert_eq!(steps.count(), 4);
    let told = journal(&StateFolder::at(deck.path(".quarterdeck")));
    let decided = told.iter().find(|event| event["type"] == "delegation:decision").unwrap();
    assert_eq!(decided["data"]["delegationId"], id);
    assert_eq!(decided["data"]["decision"]["plannedBy"], "built-in");
    let course = decided["data"]["decision"]["course"].as_str().unwrap();
    assert_eq!(course, "You asked for it: no mode and no score holds it.");
    let direct = deck.ok(&["delegate", "--direct", "--agent", "echo", "--wait", LONG]);
    let direct = direct.lines().next().unwrap();
    let steps = deck
        .nodes()
        .into_iter()
        .filter(|node| node["id"].as_str().unwrap().starts_with(&format!("{direct}/")));
    assert_eq!(steps.count(), 1);
}

#[test]
fn user_interaction_with_delegation_suggestions_the_mode_governs_what_an_agent_asks_for_and_says_why() {
    let deck = Deck::new();
    deck.ok(&["delegate", "--agent", "echo", "--wait", "begin"]);
    let asked = deck.run_inside_an_agent(&["delegate", "--agent", "echo", "Fix the typo"]);
    assert!(asked.status.success(), "{}", text(&asked.stderr));
    let id = text(&asked.stdout).trim().to_owned();
    let why = text(&asked.stderr);
    assert!(why.contains("mode suggest starts nothing by itself"), "{why}");
    assert!(why.contains(&format!("quarterdeck approve {id}")), "{why}");
    assert_eq!(deck.node(&id)["status"], "offered");
    let own = deck.run_inside_an_agent(&["approve", &id]);
    assert_eq!(own.status.code(), Some(3));
    assert!(text(&own.stdout).contains("Only a person can approve it"), "{}", text(&own.stdout));
    deck.ok(&["approve", &id]);
    deck.ok(&["wait", &id, "--timeout", "60s"]);
    deck.ok(&["/delegation", "config", "--mode=disabled"]);
    let refused = deck.run_inside_an_agent(&["delegate", "--agent", "echo", "Fix it"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(
        text(&refused.stdout).contains("Delegation is disabled for agents and hooks"),
        "{}",
        text(&refused.stdout)
    );
    deck.ok(&["delegate", "--agent", "echo", "--wait", "a person is the yes"]);
}

#[test]
fn a_planner_is_asked_first_and_what_is_no_plan_falls_back_to_the_rules() {
    let deck = Deck::new();
    let agents = r#"
planner = "plans"
default-agent = "echo"

[agents.echo]
kind = "command"
command = "cat; echo; echo started >> starts"

[agents.plans]
kind = "command"
command = "cat > asked; cat answer"
"#;
    fs::write(deck.path("quarterdeck.toml"), agents).unwrap();
    let plan = r#"{"subtasks": [{"title": "Look"}, {"title": "Change", "dependencies": ["st-1"]}]}"#;
    let say = |summary: &str| {
        let told = json!({"quarterdeck": "result", "status": "done", "summary": summary});
        fs::write(deck.path("answer"), format!("{told}\n")).unwrap();
    };
    say(plan);
    deck.ok(&["delegate", "--wait", "Tidy the shed"]);
    let asked = fs::read_to_string(deck.path("asked")).unwrap();
    assert!(asked.contains("Answer with JSON") && asked.ends_with("Tidy the shed"), "{asked}");
    let planned_by = |nth: usize| {
        let told = journal(&StateFolder::at(deck.path(".quarterdeck")));
        let mut decided = told.into_iter().filter(|event| event["type"] == "delegation:decision");
        decided.nth(nth).unwrap()["data"]["decision"]["plannedBy"].clone()
    };
    assert_eq!((planned_by(0), deck.lines("starts")), ("plans".into(), 2));
    say("I would rather not.");
    let told = deck.run(&["delegate", "--wait", "Tidy the shed"]);
    let warned = text(&told.stderr);
    assert!(warned.contains("plans made no plan: its answer has no JSON. It is split by rules."), "{warned}");
    assert_eq!((planned_by(1), deck.lines("starts")), ("built-in".into(), 3));
}

#[test]
fn the_steps_that_a_person_changes_are_named_or_refused() {
    let deck = Deck::new();
    let id = deck.ok(&["delegate", "--propose", "--agent", "echo", LONG]);
    let wrong = deck.run(&["approve", &id, "--only", "st-1", "--agent", "st-2=echo"]);
    assert!(text(&wrong.stderr).contains("st-2 is changed, and not approved."), "{}", text(&wrong.stderr));
    let unknown = deck.run(&["approve", &id, "--agent", "st-2=nobody"]);
    assert!(text(&unknown.stdout).contains("There is no agent \"nobody\""), "{}", text(&unknown.stdout));
    deck.ok(&["approve", &id, "--title", "st-1=Sketch the schema"]);
    wait_until("it runs with what was changed", || {
        deck.node(&format!("{id}/st-1"))["title"] == "Sketch the schema"
    });
    deck.ok(&["wait", &id, "--timeout", "60s"]);
}
