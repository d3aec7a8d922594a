//! Proposals over the interface: full delegation flow, events as they happen, and what a dashboard asks.

use serde_json::{Value, json};

use crate::deck::{Deck, answer, request};

const START: &str = "/api/delegation/start";

fn plan(by: &str) -> Value {
    json!({"by": by, "title": "Two parts", "subtasks": [
        {"title": "One", "prompt": "one"}, {"title": "Two", "prompt": "two"}]})
}

async fn mode(deck: &Deck, mode: &str) {
    let body = json!({ "mode": mode }).to_string();
    let (code, told) = answer(deck.router(), request("PUT", "/api/delegation/settings", &[], &body)).await;
    assert_eq!(code, 200, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn full_delegation_flow_with_mock_agents_what_an_agent_asks_for_waits_is_approved_in_part_and_runs() {
    let deck = Deck::new();
    let (code, told) = deck.post(START, &plan("agent:sess_1").to_string()).await;
    assert_eq!((code, &told["status"]), (200, &json!("offered")), "{told}");
    let proof = told["receipt"]["proof"].as_str().unwrap();
    assert!(
        proof.starts_with("proposed. It waits for you: mode suggest starts nothing by itself"),
        "{proof}"
    );
    let id = told["delegationId"].as_str().unwrap().to_owned();
    let (_, why) = deck.get(&format!("/api/delegation/{id}/explain")).await;
    assert!(why["subtasks"][0]["why"].as_str().unwrap().starts_with("waits for approval until"), "{why}");

    let (code, told) = deck.post(&format!("/api/delegation/{id}/approve?preview=true"), "{}").await;
    assert_eq!((code, told["preview"]["subtasks"].as_array().unwrap().len()), (200, 2), "{told}");
    let body = json!({"by": "agent:sess_1"}).to_string();
    let (code, told) = deck.post(&format!("/api/delegation/{id}/approve"), &body).await;
    assert_eq!(code, 429, "an agent does not approve what it asked for: {told}");
    let body = json!({"subtasks": [{"id": "st-2", "title": "Two, but better"}]}).to_string();
    let (code, told) = deck.post(&format!("/api/delegation/{id}/approve"), &body).await;
    assert_eq!((code, &told["receipt"]["proof"]), (200, &json!("1 step approved")), "{told}");
    let done = |told: &Value| told["status"] == "done";
    let told = deck.until(&format!("/api/delegation/{id}"), done).await;
    let steps: Vec<(&Value, &Value)> = told["subtasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (&step["subtaskId"], &step["status"]))
        .collect();
    assert!(steps.contains(&(&json!("st-1"), &json!("skipped"))), "{steps:?}");
    assert!(steps.contains(&(&json!("st-2"), &json!("done"))), "{steps:?}");
    assert!(told["metrics"]["avgSubtaskQuality"].is_null(), "nothing speaks for or against it: {told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mode_governs_agents_and_holds_no_person() {
    let deck = Deck::new();
    mode(&deck, "disabled").await;
    let (code, told) = deck.post(START, &plan("agent").to_string()).await;
    assert_eq!((code, &told["error"]["code"]), (429, &json!("limit")), "{told}");
    assert!(told["error"]["message"].as_str().unwrap().starts_with("Delegation is disabled for agents"));
    let (code, told) = deck.post(START, &plan("me").to_string()).await;
    assert_eq!((code, &told["status"]), (200, &json!("running")), "{told}");
    let mut held = plan("me");
    held["propose"] = true.into();
    let (_, told) = deck.post(START, &held.to_string()).await;
    assert_eq!(told["status"], "offered", "{told}");
    let id = told["delegationId"].as_str().unwrap();
    let (code, told) = deck.post(&format!("/api/delegation/{id}/reject"), r#"{"reason":"no"}"#).await;
    assert_eq!((code, &told["status"]), (200, &json!("rejected")), "{told}");
}
