//! Starting and steering: the shapes of the control interface, and the receipts beside them.

use std::fs;
use std::time::Duration;

use crate::deck::{Deck, Shape};

#[tokio::test(flavor = "multi_thread")]
async fn a_delegation_is_started_paused_resumed_and_cancelled_and_each_answer_has_its_receipt() {
    let deck = Deck::new();
    let body = r#"{"taskId":"audit-1","pattern":"sequential","subtasks":[
        {"title":"look around","agent":"slow","complexity":3},
        {"id":"fix","title":"fix it","description":"repair what was found","agent":"echo","dependencies":[]}],
        "options":{"maxDepth":3,"graceMs":300}}"#;
    let (status, started) = deck.post("/api/delegation/start", body).await;
    assert_eq!(status, 200, "{started}");
    let id = started["delegationId"].as_str().unwrap();
    assert_eq!(started["status"], "running");
    assert_eq!(started["subtasks"][0]["id"], format!("{id}/st-1"));
    assert_eq!(started["subtasks"][1]["dependsOn"][0], "st-1", "sequential");
    assert_eq!(started["receipt"]["state"], "confirmed");
    deck.until_file("slow.starts", 1).await;

    // The beginning of an id is enough.
    let short = &id[..8];
    let (status, paused) = deck.post(&format!("/api/delegation/{short}/pause"), "").await;
    assert_eq!(
        (status, &paused["success"], &paused["status"]),
        (200, &true.into(), &"paused".into()),
        "{paused}"
    );
    assert_eq!(paused["receipt"]["proof"], "1 of 1 frozen");
    let (status, resumed) = deck.post(&format!("/api/delegation/{id}/resume"), "{}").await;
    assert_eq!(
        (status, &resumed["success"], &resumed["status"]),
        (200, &true.into(), &"running".into()),
        "{resumed}"
    );
    let body = r#"{"rollback":false,"reason":"user-requested","by":"me"}"#;
    let (status, cancelled) = deck.post(&format!("/api/delegation/{id}/cancel"), body).await;
    assert_eq!((status, &cancelled["status"]), (200, &"cancelled".into()), "{cancelled}");
    // A shell, and what it runs just then.
    let proof = cancelled["receipt"]["proof"].as_str().unwrap();
    assert!(proof.ends_with(" ended, 1 step had not begun"), "{proof}");
    assert_eq!((&cancelled["receipt"]["by"], &cancelled["remaining"]), (&"me".into(), &0.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_answers_with_the_step_and_skip_with_how_many_remain() {
    let deck = Deck::new();
    let body = r#"{"subtasks":[{"prompt":"a","agent":"fails"},{"prompt":"b","agent":"slow"}],
        "limits":{"autoRetry":false,"continueOnPartialFailure":true,"graceMs":300}}"#;
    let (status, started) = deck.post("/api/delegation/start", body).await;
    assert_eq!(status, 200, "{started}");
    let id = started["delegationId"].as_str().unwrap();
    let failed = |told: &serde_json::Value| told["subtasks"][0]["status"] == "failed";
    deck.until(&format!("/api/delegation/{id}"), failed).await;
    let (status, retried) = deck.post(&format!("/api/delegation/{id}/subtask/st-1/retry"), "").await;
    assert_eq!((status, &retried["success"]), (200, &true.into()), "{retried}");
    assert_eq!(retried["subtask"]["id"], format!("{id}/st-1"));
    deck.until_file("tries", 2).await;
    let again = |told: &serde_json::Value| {
        told["subtasks"][0]["attempt"] == 2 && told["subtasks"][0]["status"] == "failed"
    };
    deck.until(&format!("/api/delegation/{id}"), again).await;
    let (status, skipped) =
        deck.post(&format!("/api/delegation/{id}/subtask/st-1/skip"), r#"{"reason":"not needed"}"#).await;
    assert_eq!(
        (status, &skipped["success"], &skipped["remaining"]),
        (200, &true.into(), &1.into()),
        "{skipped}"
    );
    assert_eq!(skipped["status"], "skipped");
    fs::write(deck.path("go"), "").unwrap();
    deck.until(&format!("/api/delegation/{id}"), |told| told["progress"]["completed"] == 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_stops_a_delegation_and_is_raised() {
    let deck = Deck::new();
    let body = r#"{"prompt":"a","agent":"spends","limits":{"tokenBudget":1000,"stepCostBudget":2.5}}"#;
    let (status, started) = deck.post("/api/delegation/start", body).await;
    assert_eq!(status, 200, "{started}");
    let id = started["delegationId"].as_str().unwrap();
    assert_eq!(started["subtasks"][0]["budget"]["cost"], 2.5, "{started}");
    let told = deck.until_status(id, "paused").await;
    assert_eq!((&told["reason"], &told["budget"]["tokens"]), (&"budget".into(), &1000.into()), "{told}");
    let (status, resumed) = deck.post(&format!("/api/delegation/{id}/resume"), "").await;
    assert_eq!((status, &resumed["error"]["code"]), (409, &"conflict".into()), "{resumed}");
    let why = deck.get(&format!("/api/delegation/{id}/subtask/st-1/explain")).await.1;
    assert!(why["subtasks"][0]["why"].as_str().unwrap().contains("1200 of 1000 tokens"), "{why}");
    let (status, asked) =
        deck.post(&format!("/api/delegation/{id}/raise"), r#"{"tokens":5000,"by":"agent:x"}"#).await;
    assert_eq!(status, 429, "{asked}");
    let (status, raised) = deck.post(&format!("/api/delegation/{id}/raise"), r#"{"tokens":5000}"#).await;
    assert_eq!((status, &raised["status"]), (200, &"running".into()), "{raised}");
    assert!(raised["receipt"]["proof"].as_str().unwrap().ends_with("1 of 1 continued"), "{raised}");
    fs::write(deck.path("go"), "").unwrap();
    deck.until_status(id, "done").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_asks_is_answered() {
    let deck = Deck::new();
    let id = deck.begin("ask").await;
    let asked = |told: &serde_json::Value| told["subtasks"][0]["questions"][0]["text"] == "May I?";
    let told = deck.until(&format!("/api/delegation/{id}"), asked).await;
    let question = told["subtasks"][0]["questions"][0]["questionId"].as_str().unwrap();
    let why = deck.get(&format!("/api/delegation/{id}/subtask/st-1/explain")).await.1;
    assert!(why["subtasks"][0]["why"].as_str().unwrap().contains("waits for an answer"), "{why}");
    let body = format!(r#"{{"questionId":"{question}","answer":"allow"}}"#);
    let (status, answered) = deck.post(&format!("/api/delegation/{id}/subtask/st-1/answer"), &body).await;
    assert_eq!((status, &answered["success"]), (200, &true.into()), "{answered}");
    deck.until_status(&id, "done").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_says_what_would_be_touched_and_touches_nothing() {
    let deck = Deck::new();
    let id = deck.begin("slow").await;
    deck.until_file("slow.starts", 1).await;
    // The agent is there before the journal says so: from here on nothing happens by itself.
    let started = |told: &serde_json::Value| {
        told["subtasks"][0]["why"].as_str().is_some_and(|why| why.contains("running"))
    };
    deck.until(&format!("/api/delegation/{id}/explain"), started).await;
    let before = deck.get("/api/delegation/snapshot").await.1["seq"].clone();
    let (status, told) = deck.post(&format!("/api/delegation/{id}/cancel?preview=true"), "").await;
    assert_eq!(status, 200, "{told}");
    let preview = &told["preview"];
    assert_eq!(
        (&preview["delegations"][0], &preview["subtasks"][0]["subtaskId"]),
        (&id.as_str().into(), &"st-1".into())
    );
    assert!(preview["sessions"][0].as_str().unwrap().starts_with("sess_"), "{preview}");
    let (status, told) = deck.post("/api/delegation/start?preview=true", r#"{"prompt":"x"}"#).await;
    assert_eq!((status, told["preview"]["subtasks"].as_array().unwrap().len()), (200, 1), "{told}");
    let (status, told) = deck.post(&format!("/api/delegation/{id}/resume?preview=true"), "").await;
    assert_eq!(status, 409, "what would be refused is refused: {told}");
    assert_eq!(deck.get("/api/delegation/snapshot").await.1["seq"], before);
    assert_eq!(deck.until_status(&id, "running").await["status"], "running");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_longer_is_answered_with_202_and_the_state_that_is_still_true() {
    let deck = Deck::shaped(Shape { patience: Duration::from_millis(40), ..Shape::default() });
    let id = deck.begin("stubborn").await;
    deck.until_file("stubborn.starts", 1).await;
    let (status, told) = deck.post_as("end-it", &format!("/api/delegation/{id}/cancel"), "").await;
    assert_eq!(status, 202, "{told}");
    assert_eq!((&told["success"], &told["status"]), (&false.into(), &"running".into()), "{told}");
    assert_eq!(told["receipt"]["state"], "accepted");
    let receipt =
        deck.until("/api/delegation/command/end-it", |told| told["receipt"]["state"] == "confirmed").await;
    let proof = receipt["receipt"]["proof"].as_str().unwrap();
    assert!(proof.ends_with(" ended"), "{proof}");
    let (status, told) = deck.post_as("end-it", &format!("/api/delegation/{id}/cancel"), "").await;
    assert_eq!(
        (status, &told["status"]),
        (200, &"cancelled".into()),
        "asked again, it is the last word: {told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_configuration_counts_without_a_restart_and_a_broken_one_is_named() {
    let deck = Deck::new();
    let start = r#"{"prompt":"x","agent":"new"}"#;
    assert_eq!(deck.post("/api/delegation/start", start).await.0, 400, "there is none yet");
    let file = deck.path("quarterdeck.toml");
    let before = fs::read_to_string(&file).unwrap();
    let added = "[agents.new]\nkind = \"command\"\ncommand = \"echo new\"\n";
    fs::write(&file, format!("{before}{added}")).unwrap();
    let (status, told) = deck.post("/api/delegation/start", start).await;
    assert_eq!(status, 200, "{told}");
    deck.until_status(told["delegationId"].as_str().unwrap(), "done").await;
    fs::write(&file, "[agents.newer").unwrap();
    let (status, told) = deck.post("/api/delegation/start", start).await;
    assert_eq!(status, 200, "the last good one is in force: {told}");
    let (status, told) = deck.post("/api/delegation/start", r#"{"prompt":"x","agent":"newer"}"#).await;
    assert_eq!(status, 400, "{told}");
    assert!(
        told["error"].to_string().contains("quarterdeck.toml:1: it is no TOML: unclosed table"),
        "{told}"
    );
}
