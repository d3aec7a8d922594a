//! Every way in which the interface refuses: the status, the code, and what to do.

use serde_json::Value;

use crate::deck::{Deck, Shape, answer, request};

#[track_caller]
fn assert_problem(told: &(u16, Value), status: u16, code: &str, hint: &str) {
    let (was, body) = told;
    let error = &body["error"];
    assert_eq!((*was, error["code"].as_str()), (status, Some(code)), "{body}");
    assert!(!error["message"].as_str().unwrap().is_empty(), "{body}");
    assert!(body.to_string().contains(hint), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_malformed_is_400_and_says_what() {
    let deck = Deck::new();
    let id = deck.begin("slow").await;
    let on = |verb: &str| format!("/api/delegation/{id}/{verb}");
    let start = "/api/delegation/start";
    for (path, body, code, hint) in [
        (on("pause"), "{", "malformed", "no JSON object"),
        (on("pause"), "[]", "malformed", "no JSON object"),
        (on("pause"), r#"{"mode":"gently"}"#, "malformed", "gently"),
        (on("cancel"), r#"{"reson":"typo"}"#, "malformed", "reson"),
        (on("cancel"), r#"{"by":7}"#, "malformed", "who asks"),
        (on("tell"), "", "malformed", "text"),
        (on("pause?preview=perhaps"), "", "malformed", "preview"),
        (start.into(), r#"{"prompt":"x","subtasks":[{"prompt":"y"}]}"#, "malformed", "one of them"),
        (start.into(), r#"{"subtasks":[{"prompt":"y","dependancies":["z"]}]}"#, "malformed", "dependancies"),
        (start.into(), r#"{"prompt":"x","options":{"tokenBugdet":5}}"#, "malformed", "tokenBugdet"),
        (start.into(), r#"{"prompt":"x","options":{"maxDepth":"deep"}}"#, "malformed", "no delegation"),
        (start.into(), r#"{"prompt":"x","agent":"nobody"}"#, "malformed", "quarterdeck.toml"),
        (start.into(), r#"{"prompt":"x","taskNo":1}"#, "malformed", "taskNo"),
        (start.into(), "{}", "invalid", "at least one"),
        (start.into(), r#"{"subtasks":[{"prompt":"a","dependencies":["b"]}]}"#, "invalid", "no subtask here"),
    ] {
        assert_problem(&deck.post(&path, body).await, 400, code, hint);
    }
    for bad in ["", "a/b", "..", "with space"] {
        let told = deck.post_as(bad, &on("pause"), "").await;
        assert_problem(&told, 400, "malformed", "UUID");
    }
    for path in [
        "/api/delegation/history?limit=0",
        "/api/delegation/history?limit=many",
        "/api/delegation/history?status=sung",
        "/api/delegation/history?since=yesterday",
        "/api/delegation/snapshot?shape=round",
        "/api/delegation/session/..%2fx/log",
        "/api/delegation/events?after=-1",
        "/api/delegation/%ff",
    ] {
        assert_problem(&deck.get(path).await, 400, "malformed", "");
    }
    let told =
        answer(deck.router(), request("GET", "/api/delegation/events", &[("last-event-id", "x")], "")).await;
    assert_problem(&told, 400, "malformed", "number");
    deck.begin("slow").await;
    assert_problem(&deck.get("/api/delegation/del-").await, 400, "ambiguous", "Type more");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_404() {
    let deck = Deck::new();
    let id = deck.begin("slow").await;
    for path in [
        "/api/delegation/del-nope",
        "/api/delegation/del-nope/explain",
        "/api/delegation/command/nobody-gave-it",
        "/api/delegation/session/sess_1_abcdef/log",
        "/api/nothing",
    ] {
        assert_problem(&deck.get(path).await, 404, "not-found", "");
    }
    assert_problem(
        &deck.get(&format!("/api/delegation/{id}/subtask/st-9/explain")).await,
        404,
        "not-found",
        "st-9",
    );
    assert_problem(&deck.post("/api/delegation/del-nope/pause", "").await, 404, "not-found", "status");
    assert_problem(&deck.post(&format!("/api/delegation/{id}/dance"), "").await, 404, "not-found", "dance");
    assert_problem(
        &deck.post(&format!("/api/delegation/{id}/start"), r#"{"spec":{}}"#).await,
        404,
        "not-found",
        "",
    );
    let told = deck.post(&format!("/api/delegation/{id}/subtask/st-9/retry"), "").await;
    assert_problem(&told, 404, "not-found", "st-9");
    let told = answer(deck.router(), request("DELETE", "/api/version", &[], "")).await;
    assert_problem(&told, 405, "method", "");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_state_does_not_allow_is_409_and_says_which_state() {
    let deck = Deck::new();
    let id = deck.begin("echo").await;
    deck.until_status(&id, "done").await;
    let told = deck.post(&format!("/api/delegation/{id}/pause"), "").await;
    assert_problem(&told, 409, "conflict", "");
    assert_eq!(
        (&told.1["error"]["status"], &told.1["receipt"]["state"]),
        (&"done".into(), &"refused".into())
    );
    let told = deck.post(&format!("/api/delegation/{id}/rollback"), "").await;
    assert_problem(&told, 409, "unsupported", "cannot be rolled back");
    let told = deck.post(&format!("/api/delegation/{id}/rollback?preview=true"), "").await;
    assert_problem(&told, 409, "unsupported", "cannot be rolled back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_used_for_something_else_is_422_and_does_nothing() {
    let deck = Deck::new();
    let id = deck.begin("slow").await;
    let start = "/api/delegation/start";
    let (_, first) = deck.post_as("key-1", start, r#"{"prompt":"one","agent":"slow"}"#).await;
    let (status, again) = deck.post_as("key-1", start, r#"{"agent":"slow","prompt":"one"}"#).await;
    assert_eq!((status, &again["delegationId"]), (200, &first["delegationId"]), "the same request: {again}");
    let told = deck.post_as("key-1", start, r#"{"prompt":"two","agent":"slow"}"#).await;
    assert_problem(&told, 422, "key-reused", "start");
    let told = deck.post_as("key-1", &format!("/api/delegation/{id}/pause"), "").await;
    assert_problem(&told, 422, "key-reused", "start");
    assert_eq!(deck.post_as("key-2", &format!("/api/delegation/{id}/pause"), "").await.0, 200);
    let drain = r#"{"mode":"drain"}"#;
    assert_problem(
        &deck.post_as("key-2", &format!("/api/delegation/{id}/pause"), drain).await,
        422,
        "key-reused",
        "pause",
    );
    let other = first["delegationId"].as_str().unwrap();
    assert_problem(
        &deck.post_as("key-2", &format!("/api/delegation/{other}/pause"), "").await,
        422,
        "key-reused",
        "pause",
    );
    let named = r#"{"delegationId":"del-mine","prompt":"three","agent":"slow"}"#;
    assert_eq!(deck.post_as("key-3", start, named).await.0, 200);
    let other = r#"{"delegationId":"del-mine","prompt":"four","agent":"slow"}"#;
    assert_problem(&deck.post_as("key-3", start, other).await, 422, "key-reused", "start");
    assert_eq!(deck.get("/api/delegation/active").await.1["delegations"].as_array().unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn too_long_is_413_too_many_is_429_and_a_plan_that_fits_no_event_does_not_end_the_engine() {
    let deck = Deck::shaped(Shape { streams: 1, ..Shape::default() });
    let start = "/api/delegation/start";
    let long = format!(r#"{{"prompt":"{}"}}"#, "x".repeat(1024 * 1024));
    assert_problem(&deck.post(start, &long).await, 413, "too-large", "files");
    let long = format!(r#"{{"prompt":"{}"}}"#, "x".repeat(700 * 1024));
    assert_problem(&deck.post(start, &long).await, 429, "limit", "bytes");
    // Short as a request, and far longer as what it stands for.
    let steps = vec![r#"{"prompt":"x"}"#; 12_000].join(",");
    let many = format!(r#"{{"pattern":"sequential","subtasks":[{steps}]}}"#);
    assert_problem(&deck.post(start, &many).await, 429, "limit", "bytes");
    assert_eq!(deck.get("/api/version").await.0, 200, "the engine lives");
    let listening = crate::deck::send(deck.router(), request("GET", "/api/delegation/events", &[], "")).await;
    assert_eq!(listening.status(), 200);
    assert_problem(&deck.get("/api/delegation/events").await, 429, "limit", "Close one");
    drop(listening);
    let again = crate::deck::send(deck.router(), request("GET", "/api/delegation/events", &[], "")).await;
    assert_eq!(again.status(), 200, "who leaves makes room");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_leaves_says_so_with_503() {
    let mut deck = Deck::new();
    let router = deck.router();
    deck.stop();
    let told =
        answer(router.clone(), request("POST", "/api/delegation/start", &[], r#"{"prompt":"x"}"#)).await;
    assert_problem(&told, 503, "leaving", "same Idempotency-Key");
    let told = answer(router, request("GET", "/api/delegation/active", &[], "")).await;
    assert_problem(&told, 503, "leaving", "");
}

#[tokio::test(flavor = "multi_thread")]
async fn json_that_is_nested_or_counted_without_end_is_400() {
    let deck = Deck::new();
    let id = deck.begin("slow").await;
    let (deep, digits) = (100_000, "9".repeat(100_000));
    let nested = format!("{}1{}", "[".repeat(deep), "]".repeat(deep));
    for body in [
        nested.clone(),
        format!("{{\"prompt\": {nested}}}"),
        format!("{{\"prompt\": \"x\", \"context\": {}1{}}}", "{\"a\":".repeat(deep), "}".repeat(deep)),
        format!("{{\"prompt\": \"x\", \"options\": {{\"maxDepth\": {digits}}}}}"),
        "{\"prompt\": \"x\", \"options\": {\"maxDepth\": 1e999999999}}".to_owned(),
    ] {
        for path in
            ["/api/delegation/start", "/api/delegation/decision", &format!("/api/delegation/{id}/pause")]
        {
            let told = deck.post(path, &body).await;
            assert_problem(&told, 400, "malformed", "");
        }
    }
}
