//! Nothing that an agent prints, and nothing that is asked for, is too long for the engine to live.

use std::fs;

use serde_json::json;

use crate::deck::{Deck, Shape};

const SHOUTS: &str = r#"
[agents.fails]
kind = "command"
command = '''printf '{"quarterdeck":"result","status":"failed","summary":"'; head -c 600000 /dev/zero | tr '\0' y; echo '"}' '''

[agents.asks]
kind = "command"
command = '''printf '{"quarterdeck":"question","id":"q1","text":"'; head -c 1048400 /dev/zero | tr '\0' y; echo '"}' '''
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_long_line_of_an_agent_is_cut_and_the_engine_goes_on() {
    let mut deck = Deck::stopped(Shape::default());
    fs::write(deck.path("quarterdeck.toml"), SHOUTS).unwrap();
    deck.start();
    let failed = deck.begin("fails").await;
    let told = deck.until_status(&failed, "failed").await;
    let error = told["subtasks"][0]["status"].as_str();
    assert_eq!(error, Some("failed"), "{told}");
    let asked = deck.begin("asks").await;
    deck.until_status(&asked, "done").await;
    deck.stop();
    deck.start();
    deck.until_status(&failed, "failed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_of_a_start_is_too_long_is_refused_with_limit() {
    let deck = Deck::new();
    let refuses = async |field: &str, value: serde_json::Value| {
        let mut body = json!({"subtasks": [{"id": "st-1", "title": "x", "prompt": "x", "agent": "echo"}]});
        body[field] = value;
        let (status, told) = deck.post("/api/delegation/start", &body.to_string()).await;
        assert_eq!((status, &told["error"]["code"]), (429, &"limit".into()), "{field}: {told}");
        assert_eq!(deck.get("/api/version").await.0, 200, "{field}: the engine lives");
    };
    // Each of these stands in an event twice.
    let long = "y".repeat(600_000);
    refuses("title", json!(long)).await;
    refuses("taskId", json!(long)).await;
    refuses("workspace", json!(long)).await;
    refuses("path", json!([long])).await;
    // And this once, with hardly any room beside it.
    refuses("by", json!("y".repeat(1_048_450))).await;
}
