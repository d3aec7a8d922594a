//! The settings: what is in force and why, changed for as long as it is wanted, or in a file.

use std::fs;

use serde_json::{Value, json};

use crate::deck::{Deck, answer, request};

const PATH: &str = "/api/delegation/settings";

async fn put(deck: &Deck, query: &str, body: &Value) -> (u16, Value) {
    let request = request("PUT", &format!("{PATH}{query}"), &[], &body.to_string());
    answer(deck.router(), request).await
}

/// Where each comes from, but for the agent that every project of these tests names.
fn layers(told: &Value) -> Value {
    let mut layers = told["layers"].clone();
    assert_eq!(layers.as_object_mut().unwrap().remove("defaultAgent"), Some(json!("project")));
    layers
}

#[tokio::test(flavor = "multi_thread")]
async fn the_settings_have_the_interfaces_shape_and_say_where_each_comes_from() {
    let deck = Deck::new();
    let (code, told) = deck.get(PATH).await;
    assert_eq!((code, &told["mode"], &layers(&told)), (200, &json!("suggest"), &json!({})));
    assert_eq!(
        told["limits"],
        json!({
            "maxDepth": 3, "maxConcurrentAgents": 5, "maxChildren": 7, "tokenBudgetPerChild": 1000,
            "maxTotalTokens": 50000, "subtaskTimeout": 600_000, "delegationTimeout": 3_600_000,
            "acceptTimeout": 1_800_000, "maxCostPerChild": null, "maxCost": null, "maxTokensPerDay": null,
            "maxCostPerDay": null, "maxTokensOverall": null, "maxCostOverall": null,
        })
    );
    let ui = json!({
        "showReasoningPanel": true, "expandProgressTree": false, "notificationSound": false, "compactMode": false,
        "autoCollapseCompleted": true, "showTokenUsage": true,
    });
    assert_eq!(told["ui"], ui);
    assert_eq!(
        told["thresholds"],
        json!({
            "delegationScore": 60, "autoAcceptConfidence": 85, "complexityTrigger": 50, "minSubtasks": 3,
            "effortHours": 4, "contextUtilization": 75,
        })
    );
    let recovery = json!({
        "autoRetry": true, "maxRetries": 2, "rollbackOnFailure": false, "continueOnPartialFailure": true,
        "snapshotTimeout": 3000,
    });
    assert_eq!(told["recovery"], recovery);
    let logging =
        json!({"logDecisions": true, "logProgress": true, "storeHistory": true, "historyRetention": 30});
    assert_eq!((&told["patterns"]["default"], &told["logging"]), (&json!("parallel"), &logging));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_holds_at_once_for_the_next_engine_too_and_until_it_is_taken_back() {
    let mut deck = Deck::new();
    let (code, told) = put(&deck, "", &json!({"mode": "auto", "limits": {"max-depth": 2}})).await;
    assert_eq!((code, &told["success"]), (200, &json!(true)), "{told}");
    let said = json!({"mode": "session", "limits.maxDepth": "session"});
    assert_eq!((&told["settings"]["limits"]["maxDepth"], &layers(&told["settings"])), (&json!(2), &said));
    let deepest = deck.door().look(|view| view.kernel.limits().max_depth).await.unwrap();
    assert_eq!(deepest, 2, "the kernel has it");
    deck.stop();
    deck.start();
    assert_eq!(layers(&deck.get(PATH).await.1), said);
    let (_, told) = put(&deck, "", &json!({"mode": null})).await;
    assert_eq!(
        (&told["settings"]["mode"], &layers(&told["settings"])),
        (&json!("suggest"), &json!({"limits.maxDepth": "session"}))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_is_refused_with_the_nearest_name_and_nothing_of_it_is_done() {
    let deck = Deck::new();
    let (code, told) = put(&deck, "", &json!({"mode": "auto", "limits": {"maxDept": 2}})).await;
    assert_eq!(code, 400);
    assert_eq!(told["error"]["message"], "the request: there is no setting \"limits.maxDept\".");
    assert_eq!(told["error"]["hint"], "Did you mean limits.maxDepth?");
    let (code, told) = put(&deck, "", &json!({"mode": "auto", "limits": {"maxDepth": 9}})).await;
    let message = "the request: limits.maxDepth must be a whole number of levels from 1 to 5, not 9.";
    assert_eq!((code, &told["error"]["message"]), (400, &json!(message)));
    assert_eq!(layers(&deck.get(PATH).await.1), json!({}));
    assert_eq!(put(&deck, "?save=nowhere", &json!({})).await.0, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_kept_in_the_file_that_is_named_and_a_limit_that_is_set_acts() {
    let deck = Deck::new();
    let before = fs::read_to_string(deck.path("quarterdeck.toml")).unwrap();
    let (code, told) = put(&deck, "?save=project", &json!({"limits": {"subtaskTimeout": 90_000}})).await;
    assert_eq!((code, &layers(&told["settings"])), (200, &json!({"limits.subtaskTimeout": "project"})));
    let after = fs::read_to_string(deck.path("quarterdeck.toml")).unwrap();
    assert!(after.starts_with(&before) && after.ends_with("[limits]\nsubtask-timeout = 90000\n"), "{after}");
    let id = deck.begin("slow").await;
    deck.until_file("slow.starts", 1).await;
    let door = deck.door();
    let limit = door.look(move |view| {
        let delegation = view.kernel.delegations().values().find(|one| one.id.as_str() == id);
        delegation.unwrap().limits.subtask_timeout_ms
    });
    assert_eq!(limit.await.unwrap(), Some(90_000));
    fs::write(deck.path("go"), "").unwrap();
}
