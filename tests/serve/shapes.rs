//! What a listener hears of each turn has the fields of the control interface.

use std::fs;
use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::deck::{Deck, Shape, request, send};

/// An agent that tells how far it is, and comes back with something that can be checked.
const WORKS: &str = r#"
[agents.works]
kind = "command"
command = '''cat > /dev/null
echo '{"quarterdeck":"progress","current":1,"total":2,"lastAction":"read"}'
echo '{"quarterdeck":"usage","messageId":"m1","model":"none","tokens":{"input":1000,"output":100}}'
echo '{"quarterdeck":"result","status":"done","summary":"{\"summary\":\"made\",\"testsRun\":\"3 passed\"}"}'
'''
"#;

fn deck() -> Deck {
    let mut deck = Deck::stopped(Shape::default());
    let config = deck.path("quarterdeck.toml");
    let known = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{known}{WORKS}")).unwrap();
    deck.start();
    deck
}

/// Listens from the first event on until one of this name is heard that has this in it; returns its data.
async fn heard(deck: &Deck, name: &str, field: &str, value: &Value) -> Value {
    let mut body: Body =
        send(deck.router(), request("GET", "/api/delegation/events?after=0", &[], "")).await.into_body();
    let mut text = String::new();
    loop {
        for one in text.split_inclusive("\n\n").filter(|one| one.contains(&format!("event: {name}\n"))) {
            let data = one.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or("null");
            let data = serde_json::from_str::<Value>(data).unwrap_or_default()["data"].clone();
            if data[field] == *value {
                return data;
            }
        }
        let frame = tokio::time::timeout(Duration::from_mins(1), body.frame()).await;
        let frame =
            frame.unwrap_or_else(|_| panic!("no {name} with {field} {value} in a minute, but {text}"));
        text.push_str(std::str::from_utf8(&frame.unwrap().unwrap().into_data().unwrap()).unwrap());
    }
}

#[track_caller]
fn assert_has(data: &Value, fields: &Value) {
    for (name, value) in fields.as_object().unwrap() {
        assert_eq!(&data[name], value, "{name} of {data}");
    }
}

async fn start(deck: &Deck, body: &Value) -> String {
    let (status, told) = deck.post("/api/delegation/start", &body.to_string()).await;
    assert_eq!(status, 200, "{told}");
    told["delegationId"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delegation_its_steps_their_progress_failure_retry_and_skip_are_told_with_their_fields() {
    let deck = deck();
    let plan = json!({"taskId": "audit-1", "subtasks": [
            {"title": "Look", "agent": "works"}, {"title": "Mend", "agent": "fails", "dependencies": ["st-1"]}],
        "limits": {"maxRetries": 1, "backoffMs": 1, "continueOnPartialFailure": true}});
    let id = start(&deck, &plan).await;
    let told = heard(&deck, "delegation:started", "delegationId", &json!(id)).await;
    assert_has(&told, &json!({"taskId": "audit-1", "pattern": "parallel", "subtaskCount": 2}));
    let told = heard(&deck, "delegation:subtask-started", "subtaskId", &json!("st-1")).await;
    assert_has(&told, &json!({"delegationId": id, "subtaskIndex": 1, "title": "Look", "agentId": "works"}));
    let told = heard(&deck, "delegation:subtask-progress", "subtaskId", &json!("st-1")).await;
    assert_has(&told, &json!({"progress": {"current": 1, "total": 2}, "lastAction": "read"}));
    let told = heard(&deck, "delegation:subtask-completed", "subtaskId", &json!("st-1")).await;
    assert_has(&told, &json!({"delegationId": id, "quality": 100.0, "attempt": 1, "tokensUsed": 1100}));
    assert!(told["duration"].is_u64(), "{told}");
    let told = heard(&deck, "delegation:subtask-failed", "attempt", &json!(1)).await;
    assert_has(&told, &json!({"subtaskId": "st-2", "retryable": true}));
    assert!(told["error"].as_str().unwrap().contains("exit code 7"), "{told}");
    let told = heard(&deck, "delegation:subtask-retried", "subtaskId", &json!("st-2")).await;
    assert_has(&told, &json!({"attempt": 2}));
    let told = heard(&deck, "delegation:completed", "delegationId", &json!(id)).await;
    assert_has(
        &told,
        &json!({"taskId": "audit-1", "quality": 100.0, "status": "partial", "tokensUsed": 1100}),
    );
    assert!(told["duration"].is_u64() && told.get("cost").is_none(), "no price, no cost: {told}");
    let (status, answer) =
        deck.post(&format!("/api/delegation/{id}/subtask/st-2/skip"), r#"{"reason":"not needed"}"#).await;
    assert_eq!(status, 200, "{answer}");
    let told = heard(&deck, "delegation:subtask-skipped", "subtaskId", &json!("st-2")).await;
    assert_has(&told, &json!({"delegationId": id, "reason": "not needed"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_not_written_down_where_that_is_not_wanted() {
    let mut deck = Deck::stopped(Shape::default());
    let config = deck.path("quarterdeck.toml");
    let known = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{known}{WORKS}\n[logging]\nlog-progress = false\n")).unwrap();
    deck.start();
    let id = start(&deck, &json!({"prompt": "x", "agent": "works"})).await;
    heard(&deck, "delegation:completed", "delegationId", &json!(id)).await;
    let journal = fs::read_dir(deck.folder.journal_dir()).unwrap();
    let text: String = journal.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    assert!(text.contains("delegation:subtask-completed") && !text.contains("subtask-progress"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_a_resume_a_cancel_and_a_failure_are_told_with_their_fields() {
    let deck = deck();
    let id = deck.begin("slow").await;
    deck.until_file("slow.starts", 1).await;
    let pause = format!("/api/delegation/{id}/pause");
    // The engine's own word would be taken for its own pause.
    let (status, answer) = deck.post(&pause, r#"{"reason":"budget"}"#).await;
    assert_eq!(status, 409, "{answer}");
    let (status, answer) = deck.post(&pause, r#"{"by":"me","reason":"lunch"}"#).await;
    assert_eq!(status, 200, "{answer}");
    for event in ["delegation:paused", "delegation:subtask-paused"] {
        let told = heard(&deck, event, "delegationId", &json!(id)).await;
        assert_has(&told, &json!({"reason": "lunch"}));
    }
    assert_has(&heard(&deck, "delegation:paused", "delegationId", &json!(id)).await, &json!({"by": "me"}));
    let (status, answer) = deck.post(&format!("/api/delegation/{id}/resume"), r#"{"by":"me"}"#).await;
    assert_eq!(status, 200, "{answer}");
    assert_has(&heard(&deck, "delegation:resumed", "delegationId", &json!(id)).await, &json!({"by": "me"}));
    let (status, answer) = deck.post(&format!("/api/delegation/{id}/cancel"), r#"{"reason":"enough"}"#).await;
    assert_eq!(status, 200, "{answer}");
    let told = heard(&deck, "delegation:cancelled", "delegationId", &json!(id)).await;
    assert_has(&told, &json!({"reason": "enough"}));
    let id = deck.begin("fails").await;
    let told = heard(&deck, "delegation:failed", "delegationId", &json!(id)).await;
    assert_has(&told, &json!({"failedSubtasks": 1, "completedSubtasks": 0}));
    assert!(told["error"].as_str().unwrap().contains("1 of 1 steps failed"), "{told}");
}
