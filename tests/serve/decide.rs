//! Decisions, hints and the check before a task is carried out, over the interface.

use std::fs;
use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::deck::{Deck, answer, request, send};

const TASKS: &str = r#"{"tasks": {
    "auth": {"id": "auth", "title": "Implement the complete authentication API with database and security",
        "description": "1. Design the database schema\n2. Write the API after the schema\n3. Test the security\n4. Measure the performance",
        "estimate": "8h", "phase": "implementation", "status": "ready"},
    "typo": {"id": "typo", "title": "Fix the typo", "status": "ready"},
    "held": {"id": "held", "title": "Move the whole API, database and security",
        "description": "- one part\n- another part\n- a third part\n- the last part of all integrations",
        "estimate": "8h", "delegationConfig": {"mode": "disabled"}}
}}"#;

fn planned() -> Deck {
    let deck = Deck::new();
    fs::write(deck.temp.path().join("tasks.json"), TASKS).unwrap();
    deck
}

async fn post(deck: &Deck, path: &str, body: &Value) -> (u16, Value) {
    answer(deck.router(), request("POST", path, &[], &body.to_string())).await
}

/// Listens, and returns the data of the first event of a name.
async fn first(body: &mut Body, name: &str) -> Value {
    let mut text = String::new();
    loop {
        let found = text.split_inclusive("\n\n").find(|one| one.contains(&format!("event: {name}\n")));
        if let Some(data) = found.and_then(|one| one.lines().find_map(|line| line.strip_prefix("data: "))) {
            return serde_json::from_str::<Value>(data).unwrap()["data"].clone();
        }
        let frame = tokio::time::timeout(Duration::from_mins(1), body.frame()).await;
        let frame = frame.unwrap_or_else(|_| panic!("no {name} in a minute, but {text}"));
        text.push_str(std::str::from_utf8(&frame.unwrap().unwrap().into_data().unwrap()).unwrap());
    }
}

async fn listen(deck: &Deck) -> Body {
    send(deck.router(), request("GET", "/api/delegation/events", &[], "")).await.into_body()
}

#[tokio::test(flavor = "multi_thread")]
async fn sse_event_propagation_a_decision_has_every_field_and_is_told() {
    let deck = planned();
    let mut events = listen(&deck).await;
    let body = json!({"taskId": "auth", "agentId": "agent-1", "includeSubtasks": true});
    let (code, told) = post(&deck, "/api/delegation/decision", &body).await;
    assert_eq!(code, 200, "{told}");
    let decision = &told["decision"];
    for field in [
        "shouldDelegate",
        "confidence",
        "score",
        "factors",
        "factorContributions",
        "suggestedPattern",
        "reasoning",
        "hints",
        "subtasks",
        "metadata",
    ] {
        assert!(decision.get(field).is_some(), "{field} is not in {decision}");
    }
    assert_eq!(decision["shouldDelegate"], true, "{decision}");
    assert_eq!(decision["subtasks"].as_array().unwrap().len(), 4);
    let heard = first(&mut events, "delegation:decision").await;
    assert_eq!(
        (&heard["taskId"], heard["decision"]["score"].as_f64()),
        (&json!("auth"), decision["score"].as_f64())
    );
    let without = json!({"taskId": "auth", "includeSubtasks": false, "includeReasoning": false});
    let (_, told) = post(&deck, "/api/delegation/decision", &without).await;
    assert!(told["decision"].get("subtasks").is_none() && told["decision"].get("reasoning").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_api_responses_several_tasks_are_decided_at_once() {
    let deck = planned();
    let body = json!({"tasks": ["auth", {"title": "Fix it"}]});
    let (code, told) = post(&deck, "/api/delegation/decision/batch", &body).await;
    assert_eq!(code, 200, "{told}");
    let worth: Vec<&Value> =
        told["decisions"].as_array().unwrap().iter().map(|one| &one["shouldDelegate"]).collect();
    assert_eq!(worth, [&json!(true), &json!(false)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hint_is_quick_and_of_a_known_task_and_told_where_it_says_yes() {
    let deck = planned();
    let mut events = listen(&deck).await;
    let (code, told) = deck.get("/api/delegation/hint/auth").await;
    assert_eq!((code, &told["shouldConsiderDelegation"]), (200, &json!(true)), "{told}");
    assert_eq!(told["quickFactors"]["subtaskPotential"], 4);
    let heard = first(&mut events, "delegation:hint").await;
    assert_eq!((&heard["taskId"], &heard["shouldDelegate"]), (&json!("auth"), &json!(true)));
    assert_eq!((&heard["subtaskCount"], &heard["confidence"]), (&json!(4), &Value::Null));
    assert_eq!(deck.get("/api/delegation/hint/typo").await.1["shouldConsiderDelegation"], false);
    let (code, told) = deck.get("/api/delegation/hint/nobody").await;
    assert_eq!(
        (code, told["error"]["message"].as_str().unwrap()),
        (404, "tasks.json has no task \"nobody\".")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn task_manager_hooks_the_check_before_execution_suggests_and_tells_a_hint() {
    let deck = planned();
    let mut events = listen(&deck).await;
    let (code, told) = post(&deck, "/api/delegation/check", &json!({"taskId": "auth"})).await;
    assert_eq!((code, &told["delegationSuggested"]), (200, &json!(true)), "{told}");
    let heard = first(&mut events, "delegation:hint").await;
    let expected = json!({
        "taskId": "auth", "shouldDelegate": true, "confidence": told["decision"]["confidence"],
        "suggestedPattern": told["decision"]["suggestedPattern"], "subtaskCount": 4,
    });
    assert_eq!(heard["confidence"].as_f64(), expected["confidence"].as_f64());
    for field in ["taskId", "shouldDelegate", "suggestedPattern", "subtaskCount"] {
        assert_eq!(heard[field], expected[field], "{field}");
    }
    for task in ["typo", "held"] {
        let (_, told) = post(&deck, "/api/delegation/check", &json!({"taskId": task})).await;
        assert_eq!(told, json!({"delegationSuggested": false}), "{task}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_question_is_refused_by_name() {
    let deck = planned();
    for (body, says) in [
        (json!({}), "Name a task by its `taskId`"),
        (json!({"taskId": "auth", "agnet": {}}), "\"agnet\""),
        (json!({"taskId": "auth", "includeSubtasks": 1}), "`includeSubtasks` must be true or false."),
        (json!({"task": {}}), "neither a title nor a description"),
    ] {
        let (code, told) = post(&deck, "/api/delegation/decision", &body).await;
        assert_eq!(code, 400, "{told}");
        assert!(told["error"]["message"].as_str().unwrap().contains(says), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_started_by_its_id_alone_is_split_as_the_decision_says() {
    let deck = planned();
    let (code, told) = post(&deck, "/api/delegation/start", &json!({"taskId": "auth"})).await;
    assert_eq!((code, told["subtasks"].as_array().map(Vec::len)), (200, Some(4)), "{told}");
    let direct = json!({"taskId": "auth", "pattern": "direct", "options": {"maxDepth": 1}});
    let (code, told) = post(&deck, "/api/delegation/start", &direct).await;
    assert_eq!((code, told["subtasks"].as_array().map(Vec::len)), (200, Some(1)), "{told}");
}

const PLANNER: &str = r#"
[agents.maker]
kind = "command"
command = """cat > /dev/null; echo x >> plans; while [ ! -e go ]; do sleep 0.02; done; cat answer"""
"#;

/// An engine with a planner that answers this once it may.
fn with_planner(says: &str, shape: crate::deck::Shape) -> Deck {
    let mut deck = Deck::stopped(shape);
    let config = deck.temp.path().join("quarterdeck.toml");
    let known = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("planner = \"maker\"\n{known}{PLANNER}")).unwrap();
    fs::write(deck.temp.path().join("tasks.json"), TASKS).unwrap();
    let told = json!({"quarterdeck": "result", "status": "done", "summary": says});
    fs::write(deck.temp.path().join("answer"), format!("{told}\n")).unwrap();
    deck.start();
    deck
}

#[tokio::test(flavor = "multi_thread")]
async fn the_planner_is_asked_once_for_a_start_and_its_plan_is_what_begins() {
    let says = r#"{"subtasks": [{"title": "Look at it"}, {"title": "Mend it", "dependencies": ["st-1"]}]}"#;
    let shape = crate::deck::Shape { patience: Duration::from_millis(50), ..Default::default() };
    let deck = with_planner(says, shape);
    let ask = || {
        let key = [("idempotency-key", "the-key")];
        answer(deck.router(), request("POST", "/api/delegation/start", &key, r#"{"taskId": "auth"}"#))
    };
    let (code, told) = ask().await;
    assert_eq!(code, 202, "the plan is not there yet: {told}");
    let id = told["delegationId"].as_str().unwrap().to_owned();
    assert_eq!(told["plannedIn"], format!("{id}-plan"));
    let mut events = listen(&deck).await;
    assert_eq!(ask().await.0, 202, "the same request waits for the same plan");
    fs::write(deck.temp.path().join("go"), "").unwrap();
    loop {
        let begun = first(&mut events, "delegation:started").await;
        if begun["delegationId"] == id.as_str() {
            break;
        }
    }
    let text = deck.get("/api/delegation/snapshot").await.1.to_string();
    assert!(text.contains("Look at it") && text.contains("Mend it"), "{text}");
    let plans = fs::read_to_string(deck.temp.path().join("plans")).unwrap();
    assert_eq!(plans.lines().count(), 1, "it was asked once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planner_that_makes_no_plan_leaves_the_one_by_rules_and_that_is_said() {
    let deck = with_planner("I cannot.", crate::deck::Shape::default());
    fs::write(deck.temp.path().join("go"), "").unwrap();
    let (code, told) = post(&deck, "/api/delegation/start", &json!({"taskId": "auth"})).await;
    assert_eq!((code, told["subtasks"].as_array().map(Vec::len)), (200, Some(4)), "{told}");
    let text = deck.get("/api/delegation/snapshot").await.1.to_string();
    assert!(text.contains("maker made no plan: its answer has no JSON"), "{text}");
}
